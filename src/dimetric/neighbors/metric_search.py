"""Exact neighbours under any metric, on the host, by the fastest method that applies."""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from dimetric._arrays.blocks import row_blocks
from dimetric._arrays.compiled import import_compiled
from dimetric._arrays.threads import run_on_threads
from dimetric.neighbors.euclidean.search import euclidean_neighbors

if TYPE_CHECKING:
    from dimetric.neighbors.approximate.log import SearchLog

Metric = str | Callable[..., float]

TREE_FEATURES = 12  # up to this many features, a tree is faster than matrix products
BLOCK_DISTANCES = 2**20  # distances that one call computes
# A tree is queried in slices of rows, each of which takes at most a few tenths of a second. A query
# in d dimensions compares about VISITED_VALUES * 2**d coordinates if the data are normal.
VISITED_VALUES = 200
SLICE_VALUES = 4 * 10**6  # coordinates that a slice compares
SLICE_NEIGHBORS = 2**22  # rows of a slice times neighbours
MIN_SLICE_ROWS, MAX_SLICE_ROWS = 16, 256


def metric_neighbors(
    X: Any,
    k: int,
    points: Any = None,
    *,
    metric: Metric = "euclidean",
    metric_params: dict[str, Any] | None = None,
    search: "SearchLog | None" = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the k nearest points of every row of X under any metric, nearest first.

    By default, the search is exact. For Euclidean distances between dense samples it uses a tree if
    there are few features, and matrix products otherwise. These are compiled by numba if it is
    installed, and computed by :func:`~dimetric.neighbors.euclidean.search.euclidean_neighbors`
    otherwise. In all other cases it uses scikit-learn.

    Parameters
    ----------
    X : array or sparse array of shape (n, d)
        Queries, on the host.
    k : int
        Number of neighbours.
    points : array or sparse array of shape (m, d), optional
        Points to search. By default, X is searched, and a row is not its own neighbour.
    metric, metric_params
        A metric of :class:`sklearn.neighbors.NearestNeighbors` and its parameters.
    search : SearchLog, optional
        An approximate search in Euclidean distance. It is used if X itself is searched and has
        enough rows.

    Returns
    -------
    distances, indices : ndarray of shape (n, k)
        Distances in ascending order, and row indices of `points`.

    Examples
    --------
    >>> distances, indices = metric_neighbors(
    ...     np.array([[0.0], [1.0], [5.0]]), 1, metric="cityblock"
    ... )
    >>> distances.ravel(), indices.ravel()
    (array([1., 1., 4.]), array([1, 0, 1]))
    """
    available = X.shape[0] - 1 if points is None else points.shape[0]
    if k > available:
        raise ValueError(
            f"n_neighbors={k} must be at most the number of other samples, {available}."
        )
    if search is not None and points is None and search.is_approximate(available + 1):
        distances, indices = search.nearest_others(X, k)
        return distances.astype(X.dtype, copy=False), indices
    if not is_euclidean(metric, metric_params) or sparse.issparse(X):
        model = nearest_neighbors_model(metric, metric_params).fit(X if points is None else points)
        return model.kneighbors(None if points is None else X, k)
    if X.shape[1] <= TREE_FEATURES:
        return _tree_neighbors(X, k, points)
    compiled = import_compiled("neighbors.compiled.graph_search") if points is None else None
    if compiled is not None:
        return compiled.nearest_other_rows(X, k)
    return euclidean_neighbors(X, k, points)


def distances_between(
    X: Any,
    points: Any,
    *,
    metric: Metric = "euclidean",
    metric_params: dict[str, Any] | None = None,
) -> np.ndarray:
    """Return all distances between the rows of X and of `points`, on the host, in X's dtype.

    Euclidean distances are computed from differences, because matrix products are inaccurate for
    small distances.

    Examples
    --------
    >>> distances_between(np.zeros((1, 2)), np.array([[3.0, 4.0], [0.0, 0.0]]))
    array([[5., 0.]])
    """
    if is_euclidean(metric, metric_params) and not sparse.issparse(X):
        return _euclidean_distances(X, points)
    from sklearn.metrics import pairwise_distances

    distances = pairwise_distances(X, points, metric=metric, **(metric_params or {}))
    return distances.astype(X.dtype, copy=False)


def _euclidean_distances(X: np.ndarray, points: np.ndarray) -> np.ndarray:
    from scipy.spatial.distance import cdist

    distances = np.empty((len(X), len(points)), X.dtype)

    def work(blocks: Iterator[slice]) -> None:
        for b in blocks:
            distances[b] = cdist(X[b], points)

    blocks = list(row_blocks(len(X), max(1, BLOCK_DISTANCES // max(1, len(points)))))
    run_on_threads(work, blocks, n_rows=len(X), shared_queue=True)
    return distances


def nearest_neighbors_model(metric: Metric, metric_params: dict[str, Any] | None) -> Any:
    """Return an unfitted NearestNeighbors, with `p` taken out of the metric parameters."""
    from sklearn.neighbors import NearestNeighbors

    other_params = dict(metric_params or {})
    p = other_params.pop("p", 2)
    return NearestNeighbors(metric=metric, p=p, metric_params=other_params or None)


def check_metric(X: Any, metric: Metric, metric_params: dict[str, Any] | None) -> None:
    """Raise if a metric is unknown, lacks a parameter, or does not support sparse X."""
    if callable(metric) or is_euclidean(metric, metric_params):
        return
    from sklearn.neighbors import VALID_METRICS, VALID_METRICS_SPARSE

    names = sorted({*VALID_METRICS["brute"], "precomputed"} - {"nan_euclidean", "pyfunc"})
    if metric not in names:
        raise ValueError(
            f"metric={metric!r} is unknown. Use a function or one of {', '.join(names)}."
        )
    if sparse.issparse(X) and metric not in VALID_METRICS_SPARSE["brute"]:
        raise ValueError(f"metric={metric!r} does not support sparse samples. Pass a dense array.")
    required = {"mahalanobis": "VI", "seuclidean": "V"}.get(metric)
    if required and required not in (metric_params or {}):
        raise ValueError(
            f"metric={metric!r} requires metric_params={{{required!r}: ...}}, but "
            f"metric_params={metric_params!r}."
        )


def is_euclidean(metric: Metric, metric_params: dict[str, Any] | None) -> bool:
    """Return whether a metric is the unweighted Euclidean metric."""
    params = metric_params or {}
    return (metric in ("euclidean", "l2") and not params) or (
        metric == "minkowski" and params.get("p", 2) == 2 and params.keys() <= {"p"}
    )


def _tree_neighbors(X: np.ndarray, k: int, points: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the k nearest points from a k-d tree, ordered by index at equal distance.

    The query is repeated with more neighbours until the last one is farther than the k-th, so that
    all ties are known. The order of duplicate rows is arbitrary.
    """
    from scipy.spatial import cKDTree

    tree, exclude_self = cKDTree(X if points is None else points), points is None
    distances, indices = np.empty((len(X), k)), np.empty((len(X), k), np.int64)
    rows, width = np.arange(len(X)), k + exclude_self + 1
    while len(rows):
        width = min(width, tree.n)
        near, near_indices = _query(tree, X[rows], width)
        last = near[:, -1].copy()
        if exclude_self:
            near[near_indices == rows[:, None]] = np.inf
        order = np.lexsort((near_indices, near))[:, :k]
        distances[rows] = np.take_along_axis(near, order, axis=1)
        indices[rows] = np.take_along_axis(near_indices, order, axis=1)
        kth = distances[rows, -1]
        rows = rows[(last == kth) & (kth > 0) & (width < tree.n)]
        width *= 2
    return distances.astype(X.dtype, copy=False), indices


def _query(tree: Any, X: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the distances and indices of the k nearest points in a k-d tree.

    The search uses :func:`run_on_threads` instead of ``tree.query(workers=-1)``. An interrupt of
    the latter can crash the interpreter, because SciPy's threads continue to run.
    """
    distances, indices = np.empty((len(X), k)), np.empty((len(X), k), np.int64)
    compared = min(tree.data.size, 2**tree.m * VISITED_VALUES)
    rows = min(MAX_SLICE_ROWS, SLICE_VALUES // compared, SLICE_NEIGHBORS // k)

    def work(blocks: Iterator[slice]) -> None:
        for b in blocks:
            distances[b], indices[b] = tree.query(X[b], np.arange(1, k + 1))

    blocks = list(row_blocks(len(X), max(MIN_SLICE_ROWS, rows)))
    run_on_threads(work, blocks, n_rows=len(X), shared_queue=True)
    return distances, indices
