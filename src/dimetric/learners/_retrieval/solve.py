"""Minimise the retrieval loss, over all documents or over some that are chosen in rounds."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np

from dimetric._arrays.namespaces import Array, eps, take_rows, to_host
from dimetric.learners._retrieval.function import Maps, RetrievalFunction, Sides, mapped
from dimetric.linalg.spectral import top_eigenvectors
from dimetric.neighbors.ranking import ranked_documents
from dimetric.solvers import Result, Solver
from dimetric.solvers.result import (
    LINE_SEARCH_FAILED,
    NO_DECREASE,
    STOPPED_BY_CALLBACK,
    max_iter_reached,
)
from dimetric.supervision.relevance import Relevance

N_ROUNDS = 3  # the documents of the softmax are chosen anew in each round
TOP_DOCUMENTS = 50  # best documents of each query that may be chosen
RANDOM_SHARE = 0.5  # part of the documents that is random
TIME_LIMIT_REACHED = "the time limit was reached"


@dataclass(frozen=True)
class Options:
    """Settings of a fit, as described in :class:`dimetric.learners.RetrievalAdapter`.

    A fit ends after the first iteration that ends after `deadline`, a time of ``perf_counter``.
    """

    sides: Sides
    learns_scale: bool
    n_candidates: int
    solver: Solver
    max_iter: int
    tol: float
    seed: int
    deadline: float = np.inf


@dataclass(frozen=True)
class Fit:
    """The learned maps, the result of the solver, and the number of documents in the softmax.

    The history and the number of iterations cover all rounds.
    """

    maps: Maps
    result: Result
    n_candidates: int
    n_rounds: int


def initial_maps(queries: Array, documents: Array, k: int, scale: float) -> Maps:
    """Return the identity, or the k leading axes of all vectors if k is smaller than d.

    The axes are those of the second moments, which are not centred, because they preserve inner
    products best.
    """
    d = queries.shape[1]
    if k == d:
        return Maps(np.eye(d), np.eye(d), scale)
    moments = queries.T @ queries / queries.shape[0] + documents.T @ documents / documents.shape[0]
    axes = to_host(top_eigenvectors(moments, k)[1]).astype(np.float64)
    return Maps(axes, axes, scale)


def fit_maps(
    queries: Array,
    documents: Array,
    relevance: Relevance,
    initial: Maps,
    reg: float,
    options: Options,
    *,
    start: Maps | None = None,
    weights: np.ndarray | None = None,
    callback: Callable[[float, int], None] | None = None,
) -> Fit:
    """Learn the maps from unit vectors. Every query must have a relevant document.

    The ridge pulls the maps towards `initial`. The solver starts there, or at `start`. If `weights`
    are given, the documents are those of the softmax, and have these weights.
    """
    maps, done = start or initial, 0
    history: list[float] = []
    uses_all = weights is not None or documents.shape[0] <= options.n_candidates
    n_rounds = 1 if uses_all else min(N_ROUNDS, options.max_iter)
    for number in range(n_rounds):
        chosen = np.arange(documents.shape[0])
        if not uses_all:
            chosen, weights = softmax_documents(queries, documents, relevance, maps, options)
        function = RetrievalFunction(
            queries,
            _softmax_vectors(documents, chosen, maps, options),
            relevance if uses_all else relevance.with_documents(chosen),
            weights,
            initial,
            options.sides,
            reg,
            options.learns_scale,
        )
        rest = options.max_iter - done
        result = options.solver.minimise(
            function,
            function.encode(maps),
            max_iter=rest if number == n_rounds - 1 else max(1, options.max_iter // n_rounds),
            tol=options.tol,
            callback=_counted(callback, done, options.deadline),
        )
        maps, done = function.decode(result.x), done + result.n_iter
        history += result.history
        if result.reason == STOPPED_BY_CALLBACK:
            result = replace(result, reason=TIME_LIMIT_REACHED)
            break
    result = replace(_converged_in_float32(result, queries), n_iter=done, history=tuple(history))
    if done >= options.max_iter and not result.converged and result.reason != TIME_LIMIT_REACHED:
        result = replace(result, reason=max_iter_reached(options.max_iter))
    return Fit(maps, result, len(chosen), number + 1)


def softmax_documents(
    queries: Array, documents: Array, relevance: Relevance, maps: Maps, options: Options
) -> tuple[np.ndarray, np.ndarray]:
    """Return the documents of the softmax, ascending, and their weights.

    These are all judged documents, the best documents of each query under the current maps, and
    random ones. The random documents represent all documents that are left out, so their weight is
    the number of documents that each of them stands for. They are the same in each round, except
    for those among the best.
    """
    m, n = documents.shape[0], options.n_candidates
    is_chosen = np.zeros(m, dtype=bool)
    is_chosen[relevance.documents] = True
    U, V = mapped(queries, maps.queries)[0], mapped(documents, maps.documents)[0]
    best = to_host(ranked_documents(U, V, TOP_DOCUMENTS, relevance.own_documents)[1])
    flat = best.ravel(order="F")  # the best document of each query, then the second best, ...
    candidates = flat[np.sort(np.unique(flat, return_index=True)[1])]
    candidates = candidates[~is_chosen[candidates]]
    n_best = max(0, n - int(RANDOM_SHARE * n) - int(is_chosen.sum()))
    is_chosen[candidates[:n_best]] = True
    n_random = max(int(RANDOM_SHARE * n), n - int(is_chosen.sum()))
    order = np.random.RandomState(options.seed).permutation(m)
    rest = order[~is_chosen[order]]
    drawn = rest[:n_random]
    weights = np.ones(m)
    weights[drawn] = len(rest) / max(1, len(drawn))
    is_chosen[drawn] = True
    chosen = np.flatnonzero(is_chosen)
    return chosen, weights[chosen]


def _softmax_vectors(documents: Array, chosen: np.ndarray, maps: Maps, options: Options) -> Array:
    """Return the vectors of the chosen documents, mapped if their map is not learned."""
    documents = part_of(documents, chosen)
    return mapped(documents, maps.documents)[0] if options.sides == "query" else documents


def part_of(X: Array, rows: np.ndarray) -> Array:
    """Return some rows of X, given in ascending order. X is not copied if they are all rows."""
    return X if len(rows) == X.shape[0] else take_rows(X, rows)


def _counted(
    callback: Callable[[float, int], None] | None, done: int, deadline: float
) -> Callable[[np.ndarray, float, int], bool]:
    """Return a callback of a solver, which counts iterations of earlier rounds too.

    It stops the solver after the deadline.
    """

    def report(x: np.ndarray, value: float, n_iter: int) -> bool:
        if callback is not None:
            callback(value, done + n_iter)
        return perf_counter() > deadline

    return report


def _converged_in_float32(result: Result, X: Array) -> Result:
    """Return a result with a failed line search as converged if the vectors are float32."""
    if result.reason.startswith(LINE_SEARCH_FAILED) and eps(X) > 1e-10:
        return replace(result, converged=True, reason=NO_DECREASE)
    return result
