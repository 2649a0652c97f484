"""Compare retrieval with and without an adapter on held-out queries."""

from collections import Counter
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.base import clone

from dimetric._arguments import check_types
from dimetric._arrays.namespaces import Array
from dimetric._arrays.random_state import random_generator
from dimetric._warnings import warn
from dimetric.advice._retrieval.comparison import GroupGain, QueryChange, RetrievalComparison
from dimetric.advice._retrieval.held_out import ADAPTER, IDENTITY, HeldOut, held_out_scores
from dimetric.learners import RetrievalAdapter
from dimetric.learners._retrieval.choice import folds
from dimetric.learners._retrieval.vectors import checked_sets
from dimetric.quality.retrieval import grouped_means
from dimetric.stats import correlated_t_test, verdict
from dimetric.supervision import Relevance
from dimetric.supervision._groups import checked_groups, group_values

N_FOLDS = 3
MIN_GROUPS = 3  # each training part has at least 2 groups for its own folds
HELD_OUT_SHARE = 0.7  # of the budget; the rest is for the adapter that is returned
MIN_QUERIES = 6  # each training part has at least 4 queries for its own folds
ROPE = 0.005  # a smaller difference in nDCG@10 counts as none
CRITERION = "ndcg@10"


@check_types
def compare_retrieval(
    queries: Any,
    documents: Any,
    relevance: Any,
    *,
    groups: Any = None,
    query_texts: Any = None,
    document_texts: Any = None,
    adapter: RetrievalAdapter | None = None,
    budget: float = 300.0,
    random_state: Any = 0,
) -> RetrievalComparison:
    """Say whether an adapter improves retrieval for queries that it has not seen.

    Queries are divided into three folds. In each fold, the adapter and other maps are learned
    from the other two folds, including the choice of their parameters, and rank the documents for
    the held-out queries. The verdict compares the nDCG@10 of the adapter with that of the unchanged
    vectors by a Bayesian paired t-test over the held-out queries, or over the groups if there are
    groups. Differences below 0.005 count as equivalent. The adapter that is returned is fitted to
    all queries.

    The other maps are whitening and, if relevance divides the items into classes, LDA, NCA and
    LMNN. The verdict does not depend on them.

    Parameters
    ----------
    queries, documents : array-like of shape (n_queries, n_features), (n_documents, n_features)
        Vectors.
    relevance : Relevance or array-like of shape (m, 2) or (m, 3)
        The relevant documents, as in :meth:`dimetric.learners.RetrievalAdapter.fit`.
    groups : array-like of shape (n_queries,), optional
        Groups of queries. Folds do not split groups, so the verdict is about new groups.
    query_texts, document_texts : sequence of str, optional
        Texts for the list of queries that got worse or better.
    adapter : RetrievalAdapter, optional
        The adapter to compare. By default, ``RetrievalAdapter()``.
    budget : float, default=300.0
        Approximate time in seconds. If it is short, other maps are skipped, the search for the
        `reg` of the adapter ends early, and then folds are skipped.
    random_state : int, RandomState or None, default=0
        Random seed.

    Returns
    -------
    RetrievalComparison
        Verdict, scores, gains by group, losers and the fitted adapter.

    Examples
    --------
    >>> from dimetric.supervision import Relevance
    >>> rng = np.random.RandomState(0)
    >>> topics, noise = rng.randn(5, 8), 3 * rng.randn(300, 8) * (np.arange(8) > 3)
    >>> X = topics[np.arange(300) % 5] + noise
    >>> relevance = Relevance.from_labels(np.arange(200) % 5, np.arange(100) % 5)
    >>> comparison = compare_retrieval(X[:200], X[200:], relevance)
    >>> comparison.verdict
    'adapter is better than identity (100 % probability).'
    """
    started = perf_counter()
    if not budget > 0:
        raise ValueError(f"budget={budget} must be a positive number of seconds.")
    data = _checked_data(queries, documents, relevance, groups, query_texts, document_texts)
    rng = random_generator(random_state)
    fold_seed, adapter_seed = rng.randint(2**31 - 1, size=2).tolist()
    model = RetrievalAdapter() if adapter is None else clone(adapter)
    model.set_params(random_state=adapter_seed)
    codes = None if data.groups is None else checked_groups(data.groups, len(data.groups))
    parts = list(folds(data.relevance, codes, N_FOLDS, fold_seed))
    training = data.queries, data.documents, data.relevance, codes
    held_out = held_out_scores(*training, parts, clone(model), HELD_OUT_SHARE * budget, rng)
    model._metadata = model._fit(*training, budget - (perf_counter() - started))
    posterior = correlated_t_test(*_paired_scores(held_out, codes), ROPE, 0)
    changes = _changes(held_out, data)
    return RetrievalComparison(
        verdict=verdict(IDENTITY, ADAPTER, posterior),
        posterior=posterior,
        scores={
            name: {metric: float(np.nanmean(values)) for metric, values in scores.items()}
            for name, scores in held_out.scores.items()
        },
        query_scores={
            name: data.of_all_queries(scores[CRITERION]) for name, scores in held_out.scores.items()
        },
        skipped=held_out.skipped | _untried(model),
        adapter=model,
        group_gains=_group_gains(held_out, data.groups),
        losers=tuple(each for each in changes if each.after < each.before),
        winners=tuple(each for each in changes[::-1] if each.after > each.before),
        n_queries=data.relevance.n_queries,
        n_documents=data.relevance.n_documents,
        n_tested=len(held_out.tested),
        n_folds=held_out.n_folds,
        split_by="query" if groups is None else "group",
        seconds=perf_counter() - started,
    )


@dataclass(frozen=True)
class _Data:
    """Unit vectors of all documents, and of the queries that have relevant documents."""

    queries: Array
    documents: Array
    relevance: Relevance
    groups: np.ndarray | None
    rows: np.ndarray  # positions of these queries among all queries
    n_all_queries: int
    query_texts: list[str] | None  # of all queries
    document_texts: list[str] | None

    def of_all_queries(self, values: np.ndarray) -> np.ndarray:
        """Return the values of all queries, NaN for those without relevant documents."""
        result = np.full(self.n_all_queries, np.nan)
        result[self.rows] = values
        return result


def _checked_data(
    queries: Any,
    documents: Any,
    relevance: Any,
    groups: Any,
    query_texts: Any,
    document_texts: Any,
) -> _Data:
    """Return the validated input. Warn about queries that are left out."""
    Q, D, known, rows = checked_sets(queries, documents, relevance)
    n, m = len(queries), D.shape[0]
    labels = None if groups is None else group_values(groups, n)[rows]
    if len(rows) < MIN_QUERIES:
        raise ValueError(
            f"A comparison needs at least {MIN_QUERIES} queries with relevant documents, but there "
            f"are only {len(rows)}. To fit an adapter without it, use RetrievalAdapter(reg=0.01)."
        )
    n_groups = MIN_GROUPS if labels is None else int(np.max(checked_groups(labels, len(rows)))) + 1
    if n_groups < MIN_GROUPS:
        raise ValueError(
            f"groups has {n_groups} different values, but a comparison for new groups needs at "
            f"least {MIN_GROUPS}. Omit groups to compare for new queries of the same groups."
        )
    if len(rows) < n:
        warn(f"{n - len(rows)} of {n} queries have no relevant document and are left out.")
    texts = (
        _checked_texts(query_texts, n, "query_texts"),
        _checked_texts(document_texts, m, "document_texts"),
    )
    return _Data(Q, D, known, labels, rows, n, *texts)


def _checked_texts(texts: Any, n: int, name: str) -> list[str] | None:
    if texts is None:
        return None
    found = [str(text) for text in texts]
    if len(found) != n:
        raise ValueError(f"{name} has {len(found)} texts, but there are {n} vectors.")
    return found


def _untried(adapter: RetrievalAdapter) -> dict[str, str]:
    """Return the values of `reg` that there was no time for, as a skipped method."""
    metadata = adapter.metadata()
    if not metadata.get("cv_timed_out", False):
        return {}
    smallest = min(reg for reg in metadata["cv_scores"] if reg != IDENTITY)
    return {f"{ADAPTER} with reg < {smallest:g}": "the budget is too short"}


def _paired_scores(held_out: HeldOut, codes: np.ndarray | None) -> tuple[np.ndarray, np.ndarray]:
    """Return the scores of identity and adapter for each tested query, or for each group.

    Queries of a group are not independent, so the means of the groups are compared.
    """
    rows = held_out.tested
    scores = [held_out.scores[name][CRITERION][rows] for name in (IDENTITY, ADAPTER)]
    if codes is not None:
        scores = [np.array(list(grouped_means(each, codes[rows]).values())) for each in scores]
    return scores[0], scores[1]


def _group_gains(held_out: HeldOut, groups: np.ndarray | None) -> tuple[GroupGain, ...]:
    """Return the gain of each group, largest loss first."""
    if groups is None:
        return ()
    rows = held_out.tested
    before, after = (
        grouped_means(held_out.scores[name][CRITERION][rows], groups[rows])
        for name in (IDENTITY, ADAPTER)
    )
    counts = Counter(groups[rows].tolist())
    gains = [GroupGain(group, counts[group], before[group], after[group]) for group in before]
    return tuple(sorted(gains, key=lambda each: each.after - each.before))


def _changes(held_out: HeldOut, data: _Data) -> list[QueryChange]:
    """Return the changes of all tested queries, largest loss first."""
    before, after = (held_out.scores[name][CRITERION] for name in (IDENTITY, ADAPTER))
    order = held_out.tested[np.argsort((after - before)[held_out.tested], kind="stable")]
    return [
        QueryChange(
            query=int(data.rows[row]),
            before=float(before[row]),
            after=float(after[row]),
            text=None if data.query_texts is None else data.query_texts[data.rows[row]],
            group=None if data.groups is None else data.groups[row : row + 1].tolist()[0],
            first_before=int(held_out.first[IDENTITY][row]),
            first_after=int(held_out.first[ADAPTER][row]),
            first_text_before=_text(data.document_texts, held_out.first[IDENTITY][row]),
            first_text_after=_text(data.document_texts, held_out.first[ADAPTER][row]),
        )
        for row in order
    ]


def _text(texts: list[str] | None, position: int) -> str | None:
    return None if texts is None else texts[position]
