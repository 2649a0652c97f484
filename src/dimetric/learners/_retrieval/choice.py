"""Choose the regularisation of an adapter by cross-validation over queries."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np
from scipy.special import stdtrit

from dimetric._arrays.namespaces import Array, take_rows, to_host
from dimetric._arrays.random_state import random_generator
from dimetric.learners._retrieval.function import Maps, mapped
from dimetric.learners._retrieval.solve import Fit, Options, fit_maps, part_of, softmax_documents
from dimetric.neighbors.ranking import ndcg_of_ranking, ranked_documents
from dimetric.supervision.relevance import Relevance

REGS = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003, 0.001)  # from a map close to the start to a free one
N_RANKED = 10  # the criterion is nDCG@10
MAX_QUERIES = 1000  # for larger sets, the choice uses a random part of the queries
MAX_ITER = 30  # of a fit, which continues the fit before it
LEVEL = 0.05  # of the test that the best adapter is better than the identity


@dataclass(frozen=True)
class Choice:
    """The result of the cross-validation.

    Attributes
    ----------
    reg : float or None
        The best value, or None if no adapter is better than the identity.
    scores : dict
        Mean nDCG@10 of held-out queries for each tried value. The key ``"identity"`` stands for no
        adapter.
    gain, standard_error : float
        Mean gain of the best value over the identity, and its standard error over queries, or over
        groups if there are groups.
    timed_out : bool
        Whether the time limit ended the search, so that smaller values were not tried.
    """

    reg: float | None
    scores: dict[Any, float]
    gain: float
    standard_error: float
    timed_out: bool = False


@dataclass(frozen=True)
class Fold:
    """Queries to train on, documents to train on, and held-out queries, as positions."""

    train: np.ndarray
    documents: np.ndarray
    test: np.ndarray


def choose_reg(
    queries: Array,
    documents: Array,
    relevance: Relevance,
    groups: np.ndarray | None,
    initial: Maps,
    options: Options,
    n_splits: int,
) -> Choice:
    """Return the value of `reg` with the best nDCG@10 of held-out queries.

    Values are tried from large to small, each fit starting at the maps of the one before. The
    search ends when the score has fallen by more than a standard error, or when there is no time
    for another value before ``options.deadline``. The first value is tried in any case.
    """
    options = replace(options, max_iter=min(options.max_iter, MAX_ITER))
    parts = list(folds(relevance, groups, n_splits, options.seed, MAX_QUERIES))
    training = [
        _training_set(queries, documents, relevance, each, initial, options) for each in parts
    ]
    tested = np.concatenate([fold.test for fold in parts])
    units = tested if groups is None else groups[tested]
    identity = _scores(queries, documents, relevance, tested, initial)
    starts: list[Maps] = [initial] * len(parts)
    scores: dict[Any, float] = {"identity": float(np.mean(identity))}
    best = Choice(None, scores, -np.inf, 0.0)
    timed_out = False
    for reg in REGS:
        values, began = [], perf_counter()
        for number, fold in enumerate(parts):
            known, weights = training[number]
            fit = fit_maps(*known, initial, reg, options, start=starts[number], weights=weights)
            starts[number] = fit.maps
            values.append(_scores(queries, documents, relevance, fold.test, fit.maps))
        now = perf_counter()
        timed_out = now > options.deadline
        if timed_out and len(scores) > 1:
            break  # some fits may have been cut short
        gains = np.concatenate(values) - identity
        gain = float(np.mean(gains))
        # The error over few groups may be too small by chance.
        error = max(standard_error(gains, units), standard_error(gains, tested))
        scores[reg] = scores["identity"] + gain
        if gain > best.gain:
            best = Choice(reg, scores, gain, error)
        elif gain < best.gain - error:
            break
        timed_out = reg != REGS[-1] and now + (now - began) > options.deadline
        if timed_out:
            break
    # The best of several values is tested, so the level is divided by their number (Bonferroni).
    n_units = len(np.unique(units))
    helps = best.gain > stdtrit(n_units - 1, 1 - LEVEL / len(REGS)) * best.standard_error
    return replace(best, reg=best.reg if helps else None, timed_out=timed_out)


def standard_error(values: np.ndarray, groups: np.ndarray) -> float:
    r"""Return the standard error of a mean of values that are independent between groups only.

    With G groups and n values, it is

    .. math:: \sqrt{\frac{G}{G - 1} \sum_g \Bigl(\sum_{i \in g} (x_i - \bar x)\Bigr)^2} \Big/ n

    Examples
    --------
    >>> x = np.array([1.0, 2.0, 3.0, 4.0])
    >>> round(standard_error(x, np.arange(4)), 3)  # the standard deviation, divided by 2
    0.645
    >>> round(standard_error(x, np.array([0, 0, 1, 1])), 3)  # the groups have means 1.5 and 3.5
    1.0
    """
    codes = np.unique(groups, return_inverse=True)[1]
    sums = np.bincount(codes, weights=values - np.mean(values))
    return float((len(sums) / (len(sums) - 1) * np.sum(sums**2)) ** 0.5 / len(values))


def _training_set(
    queries: Array,
    documents: Array,
    relevance: Relevance,
    fold: Fold,
    initial: Maps,
    options: Options,
) -> tuple[tuple[Array, Array, Relevance], np.ndarray | None]:
    """Return the training queries of a fold, documents, relevance, and weights of the documents.

    If there are too many documents, those of the softmax are chosen once, by the initial maps.
    """
    known = relevance.take(fold.train).with_documents(fold.documents)
    usable = np.flatnonzero(known.n_relevant)
    Q, D = take_rows(queries, fold.train[usable]), part_of(documents, fold.documents)
    known = known.take(usable)
    if D.shape[0] <= options.n_candidates:
        return (Q, D, known), None
    chosen, weights = softmax_documents(Q, D, known, initial, options)
    return (Q, take_rows(D, chosen), known.with_documents(chosen)), weights


def folds(
    relevance: Relevance,
    groups: np.ndarray | None,
    n_splits: int,
    seed: int,
    max_queries: int | None = None,
) -> Iterator[Fold]:
    """Divide the queries, or `max_queries` random ones, into folds that do not split groups.

    Documents that are held-out queries are left out of the training documents. So are, if there
    are groups, documents that are relevant to held-out queries only: they stand for documents of
    groups that do not exist yet.
    """
    rng = random_generator(seed)
    chosen = np.sort(rng.permutation(relevance.n_queries)[:max_queries])
    units = chosen if groups is None else groups[chosen]
    values, codes = np.unique(units, return_inverse=True)
    if len(values) < 2:
        kind = "queries" if groups is None else "groups"
        raise ValueError(
            f"Cross-validation needs at least 2 {kind} with relevant documents, but there is only "
            f"{len(values)}. To fit RetrievalAdapter without it, set reg to a number, such as 0.01."
        )
    n_splits = min(n_splits, len(values))
    fold_of_unit = rng.permutation(np.arange(len(values)) % n_splits)
    for number in range(n_splits):
        is_test = fold_of_unit[codes] == number
        train, test = chosen[~is_test], chosen[is_test]
        is_used = np.ones(relevance.n_documents, dtype=bool)
        if groups is not None:
            is_used[relevance.take(test).documents] = False
            is_used[relevance.take(train).documents] = True
        if relevance.own_documents is not None:
            own = relevance.own_documents[test]
            is_used[own[own >= 0]] = False
        yield Fold(train, np.flatnonzero(is_used), test)


def _scores(
    queries: Array, documents: Array, relevance: Relevance, rows: np.ndarray, maps: Maps
) -> np.ndarray:
    """Return the nDCG@10 of some queries among all documents."""
    U = mapped(take_rows(queries, rows), maps.queries)[0]
    V, known = mapped(documents, maps.documents)[0], relevance.take(rows)
    ranking = to_host(ranked_documents(U, V, N_RANKED, known.own_documents)[1])
    return ndcg_of_ranking(ranking, known, N_RANKED)


def fit_metadata(fit: Fit | None, choice: Choice | None) -> dict[str, Any]:
    """Return the metadata about the solver and the choice of `reg`."""
    metadata: dict[str, Any] = {}
    if choice is not None:
        metadata["cv_scores"] = choice.scores
        metadata["cv_gain"], metadata["cv_standard_error"] = choice.gain, choice.standard_error
        metadata["cv_timed_out"] = choice.timed_out
    if fit is None:
        reason = (
            f"the best adapter changes the nDCG@10 of held-out queries by "
            f"{metadata['cv_gain']:+.4f} (standard error {metadata['cv_standard_error']:.4f}), "
            "which is no clear gain"
        )
        return metadata | {"n_iter": 0, "converged": True, "reason": reason}
    return metadata | {
        "n_iter": fit.result.n_iter,
        "initial_objective": fit.result.history[0],
        "final_objective": fit.result.value,
        "converged": fit.result.converged,
        "reason": fit.result.reason,
        "n_candidates": fit.n_candidates,
        "n_rounds": fit.n_rounds,
    }
