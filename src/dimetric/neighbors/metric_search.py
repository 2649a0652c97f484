"""Exact neighbours under any metric, on the host, by the fastest method that applies."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from dimetric.neighbors._compiled import compiled
from dimetric.neighbors.euclidean_search import euclidean_neighbors

Metric = str | Callable[..., float]

TREE_FEATURES = 12  # up to so many features a tree is faster than matrix products


def metric_neighbors(
    X: Any,
    k: int,
    points: Any = None,
    *,
    metric: Metric = "euclidean",
    metric_params: dict[str, Any] | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the k nearest points of every row of X under any metric, nearest first.

    Exact. Euclidean neighbours of dense samples come from a tree if there are few features, else
    from matrix products (:func:`~dimetric.neighbors.euclidean_search.euclidean_neighbors`, or with
    numba a search that uses every product twice). All others come from scikit-learn.

    Parameters
    ----------
    X : array or sparse array of shape (n, d)
        Queries, on the host.
    k : int
        Number of neighbours.
    points : array or sparse array of shape (m, d), optional
        Where to search. By default X itself, and a row is not its own neighbour.
    metric, metric_params
        Any of :class:`sklearn.neighbors.NearestNeighbors`.

    Returns
    -------
    distances, indices : ndarray of shape (n, k)

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
    if not is_euclidean(metric, metric_params) or sparse.issparse(X):
        model = neighbors_under(metric, metric_params).fit(X if points is None else points)
        return model.kneighbors(None if points is None else X, k)
    if X.shape[1] <= TREE_FEATURES:
        return _from_tree(X, k, points)
    numba_search = compiled("numba_search") if points is None else None
    if numba_search is not None:
        return numba_search.neighbors_of_each_other(X, k)
    return euclidean_neighbors(X, k, points)


def distances_between(
    X: Any,
    points: Any,
    *,
    metric: Metric = "euclidean",
    metric_params: dict[str, Any] | None = None,
) -> np.ndarray:
    """Return all distances between the rows of X and points, on the host, in X's dtype.

    Euclidean distances are computed from differences: a matrix product would lose small ones.

    Examples
    --------
    >>> distances_between(np.zeros((1, 2)), np.array([[3.0, 4.0], [0.0, 0.0]]))
    array([[5., 0.]])
    """
    if is_euclidean(metric, metric_params) and not sparse.issparse(X):
        from scipy.spatial.distance import cdist

        return cdist(X, points).astype(X.dtype, copy=False)
    from sklearn.metrics import pairwise_distances

    distances = pairwise_distances(X, points, metric=metric, **(metric_params or {}))
    return distances.astype(X.dtype, copy=False)


def neighbors_under(metric: Metric, metric_params: dict[str, Any] | None) -> Any:
    """Return scikit-learn's search under a metric; it takes p apart from other parameters."""
    from sklearn.neighbors import NearestNeighbors

    others = dict(metric_params or {})
    p = others.pop("p", 2)
    return NearestNeighbors(metric=metric, p=p, metric_params=others or None)


def is_euclidean(metric: Metric, metric_params: dict[str, Any] | None) -> bool:
    """Tell whether a metric is the Euclidean one, without weights."""
    params = metric_params or {}
    return (metric in ("euclidean", "l2") and not params) or (
        metric == "minkowski" and params.get("p", 2) == 2 and params.keys() <= {"p"}
    )


def _from_tree(X: np.ndarray, k: int, points: Any) -> tuple[np.ndarray, np.ndarray]:
    """Ask a tree for more and more neighbours, until the last is farther than the k-th.

    Then of points at equal distance the first rows come first, except among copies of a row.
    """
    from scipy.spatial import cKDTree

    tree, alone = cKDTree(X if points is None else points), points is None
    distances, indices = np.empty((len(X), k)), np.empty((len(X), k), np.int64)
    rows, width = np.arange(len(X)), k + alone + 1
    while len(rows):
        width = min(width, tree.n)
        near, those = tree.query(X[rows], np.arange(1, width + 1), workers=-1)
        last = near[:, -1].copy()
        if alone:
            near[those == rows[:, None]] = np.inf
        order = np.lexsort((those, near))[:, :k]
        distances[rows] = np.take_along_axis(near, order, axis=1)
        indices[rows] = np.take_along_axis(those, order, axis=1)
        kth = distances[rows, -1]
        rows = rows[(last == kth) & (kth > 0) & (width < tree.n)]
        width *= 2
    return distances.astype(X.dtype, copy=False), indices
