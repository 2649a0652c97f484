"""Scores of held-out queries under several methods."""

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from time import perf_counter
from typing import Any

import numpy as np

from dimetric._arrays.namespaces import Array, take_rows, to_host
from dimetric._errors import error_text
from dimetric.advice._retrieval.rivals import RIVALS, NotApplicableError, Transform, fit_rival
from dimetric.learners import RetrievalAdapter
from dimetric.learners._retrieval.choice import Fold
from dimetric.learners._retrieval.solve import part_of
from dimetric.neighbors.ranking import ranked_documents
from dimetric.quality.retrieval import average_precision, mrr, ndcg, precision, recall
from dimetric.supervision import Relevance

K = 10
N_RANKED = 100
METRICS: dict[str, Callable[[Any, Relevance], np.ndarray]] = {
    f"ndcg@{K}": lambda ranking, known: ndcg(ranking, known, K),
    f"mrr@{K}": lambda ranking, known: mrr(ranking, known, K),
    f"recall@{K}": lambda ranking, known: recall(ranking, known, K),
    f"precision@{K}": lambda ranking, known: precision(ranking, known, K),
    f"map@{N_RANKED}": lambda ranking, known: average_precision(ranking, known, N_RANKED),
}
IDENTITY, ADAPTER = "identity", "adapter"
ADAPTER_SHARE = 0.7  # of the time; the rest is for the other methods


@dataclass
class HeldOut:
    """Scores of queries, each from a fold in which it was held out.

    Attributes
    ----------
    scores : dict
        For each method and metric, the scores of all queries, NaN where not tested.
    first : dict
        For each method, the position of the first document of each query, or -1.
    skipped : dict
        For each method that failed, does not apply or takes too long, the reason.
    n_folds : int
        Number of folds that were run.
    """

    scores: dict[str, dict[str, np.ndarray]]
    first: dict[str, np.ndarray]
    skipped: dict[str, str]
    n_folds: int = 0

    @property
    def tested(self) -> np.ndarray:
        """Positions of the tested queries."""
        return np.flatnonzero(self.first[IDENTITY] >= 0)


def held_out_scores(
    queries: Array,
    documents: Array,
    relevance: Relevance,
    groups: np.ndarray | None,
    folds: list[Fold],
    adapter: RetrievalAdapter,
    seconds: float,
    rng: np.random.RandomState,
) -> HeldOut:
    """Fit each method without the held-out queries of each fold, and score these queries.

    Identity and adapter run first. Each fit of the adapter gets an equal part of its time, and the
    first fold runs in any case. Other methods follow while time is left. One that does not run in
    all of these folds is left out altogether, so all methods have scores for the same queries.
    """
    n, started = relevance.n_queries, perf_counter()
    result = HeldOut({}, {}, {})

    def run(name: str, fold: Fold, seconds: float = inf) -> None:
        maps = _fitted(name, queries, documents, relevance, groups, fold, adapter, rng, seconds)
        known = relevance.take(fold.test)
        ranking = _ranking(queries, documents, known, fold.test, *maps)
        _store(result, name, n, fold.test, ranking, known)

    for number, fold in enumerate(folds):
        left = ADAPTER_SHARE * seconds - (perf_counter() - started)
        if number and left <= 0:
            break
        run(IDENTITY, fold)
        run(ADAPTER, fold, left / (len(folds) - number))
        result.n_folds += 1
    for name in RIVALS:
        try:
            for fold in folds[: result.n_folds]:
                if perf_counter() - started > seconds:
                    raise NotApplicableError("the budget is too short")
                run(name, fold)
        except NotApplicableError as reason:
            result.skipped[name] = str(reason)
        except (ValueError, np.linalg.LinAlgError) as error:
            result.skipped[name] = f"it failed ({error_text(error)})"
    for name in result.skipped:
        result.scores.pop(name, None)
        result.first.pop(name, None)
    return result


def _fitted(
    name: str,
    queries: Array,
    documents: Array,
    relevance: Relevance,
    groups: np.ndarray | None,
    fold: Fold,
    adapter: RetrievalAdapter,
    rng: np.random.RandomState,
    seconds: float,
) -> tuple[Transform, Transform]:
    """Return the maps of queries and documents that a method learns from the training part."""
    if name == IDENTITY:
        return _unchanged, _unchanged
    known = relevance.take(fold.train).with_documents(fold.documents)
    usable = np.flatnonzero(known.n_relevant)
    rows, known = fold.train[usable], known.take(usable)
    Q, D = take_rows(queries, rows), part_of(documents, fold.documents)
    if name == ADAPTER:
        adapter._fit(Q, D, known, None if groups is None else groups[rows], seconds)
        return adapter.transform_queries, adapter.transform_documents
    transform = fit_rival(name, Q, D, known, rng)
    return transform, transform


def _unchanged(X: Array) -> Array:
    return X


def _ranking(
    queries: Array,
    documents: Array,
    known: Relevance,
    rows: np.ndarray,
    map_queries: Transform,
    map_documents: Transform,
) -> np.ndarray:
    U, V = map_queries(take_rows(queries, rows)), map_documents(documents)
    return to_host(ranked_documents(U, V, N_RANKED, known.own_documents)[1])


def _store(
    result: HeldOut, name: str, n: int, rows: np.ndarray, ranking: np.ndarray, known: Relevance
) -> None:
    """Store the scores of the held-out queries of a fold."""
    scores = result.scores.setdefault(name, {each: np.full(n, np.nan) for each in METRICS})
    for metric, score in METRICS.items():
        scores[metric][rows] = score(ranking, known)
    result.first.setdefault(name, np.full(n, -1))[rows] = ranking[:, 0]
