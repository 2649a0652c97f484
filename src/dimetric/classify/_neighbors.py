"""Search for the nearest training samples, and the weights of their votes."""

from collections.abc import Callable
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from dimetric._arrays.blocks import row_blocks
from dimetric._arrays.namespaces import Array, asarray_like, is_foreign, to_host
from dimetric._compat import Interval, StrOptions
from dimetric.classify._base import DistanceEstimator
from dimetric.neighbors.euclidean_search import euclidean_neighbors
from dimetric.neighbors.metric_search import TREE_FEATURES, distances_between, metric_neighbors

MAX_DISTANCES_PER_BLOCK = 2**22  # 32 MiB in float64
MAX_PRODUCT_SAMPLES = 5_000  # with fewer, a matrix product beats importing compiled code

Weights = str | Callable[[np.ndarray], np.ndarray] | None


class NeighborsEstimator(DistanceEstimator):
    """Base class of nearest-neighbour classifiers and regressors. Stores the mapped samples."""

    n_neighbors: int
    weights: Weights
    n_samples_fit_: int
    _points: Array

    _accepts_sparse = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **DistanceEstimator._parameter_constraints,
        "n_neighbors": [Interval(Integral, 1, None, closed="left")],
        "weights": [StrOptions({"uniform", "distance"}), callable, None],
    }

    def __init__(
        self, n_neighbors: int = 3, *, learner: Any = None, weights: Weights = "uniform"
    ) -> None:
        self.n_neighbors = n_neighbors
        self.learner = learner
        self.weights = weights

    def kneighbors(
        self, X: Array | None = None, n_neighbors: int | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the training samples nearest to each sample, in order of distance.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or None
            Samples. If None, the training samples are used, and a sample is not its own neighbour.
        n_neighbors : int, optional
            Number of neighbours. The default is the parameter `n_neighbors` of the estimator.

        Returns
        -------
        distances, indices : ndarray of shape (n_samples, n_neighbors)
            Learned distances and row indices of training samples, in host memory. Samples at equal
            distance are in row order.
        """
        check_is_fitted(self)
        k = self.n_neighbors if n_neighbors is None else n_neighbors
        available = self.n_samples_fit_ - (X is None)
        if not isinstance(k, Integral) or not 1 <= k <= available:
            others = "other training samples" if X is None else "training samples"
            raise ValueError(
                f"n_neighbors={k} must be an int between 1 and the number of {others}, {available}."
            )
        return self._search(None if X is None else self._mapped(X), int(k))

    def _search(self, Z: Array | None, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the neighbours of mapped samples Z, or of the training samples if Z is None."""
        if Z is None:
            return nearest_in_order(self._points, k)
        return nearest_in_order(Z, k, points_like(self._points, Z))

    def _keep_points(self, Z: Array) -> None:
        """Store the mapped training samples."""
        n = Z.shape[0]
        if self.n_neighbors > n:
            raise ValueError(
                f"n_neighbors={self.n_neighbors} is larger than n_samples={n}. Choose a smaller "
                "n_neighbors."
            )
        self._points, self.n_samples_fit_ = Z, n

    def _neighbors_and_weights(self, X: Array | None) -> tuple[np.ndarray, np.ndarray]:
        """Return the neighbours that ``kneighbors(X)`` finds, and their weights."""
        distances, indices = self.kneighbors(X)
        return indices, weights_of(distances, self.weights)


def nearest_in_order(
    Z: Array, k: int, points: Array | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return the k points nearest to each row of Z.

    Of points at equal distance, those with the lowest index are chosen. A search may return any of
    them, but votes must not depend on this choice.

    Parameters
    ----------
    Z : array or sparse array of shape (n, d)
        Queries, in any namespace.
    k : int
        Number of neighbours.
    points : array or sparse array of shape (m, d), optional
        Points to search. By default, Z itself is searched, and a row is not its own neighbour.

    Returns
    -------
    distances, indices : ndarray of shape (n, k)
        Sorted by distance, then by index, in host memory.

    Examples
    --------
    >>> X = np.array([[3.0], [1.0], [1.0], [1.0]])
    >>> nearest_in_order(np.array([[0.0]]), 2, X)[1]
    array([[1, 2]])
    """
    available = Z.shape[0] - 1 if points is None else points.shape[0]
    n_requested = min(k + 1, available)  # one more than k, to detect ties at the k-th distance
    search = euclidean_neighbors if _use_matrix_product(Z) else metric_neighbors
    distances, indices = (to_host(a) for a in search(Z, n_requested, points))
    tied = np.flatnonzero((distances[:, k - 1] == distances[:, -1]) & (n_requested > k))
    distances, indices = distances[:, :k].copy(), indices[:, :k].copy()
    for block in row_blocks(len(tied), max(1, MAX_DISTANCES_PER_BLOCK // available)):
        rows = tied[block]
        distances[rows], indices[rows] = _nearest_with_ties_in_order(
            _host(Z), _host(points), rows, k
        )
    order = np.lexsort((indices, distances), axis=-1)
    return np.take_along_axis(distances, order, 1), np.take_along_axis(indices, order, 1)


def _use_matrix_product(Z: Array) -> bool:
    """Return whether to search by a matrix product in the namespace of Z."""
    if is_foreign(Z):
        return True
    return (
        not sparse.issparse(Z) and Z.shape[1] > TREE_FEATURES and Z.shape[0] < MAX_PRODUCT_SAMPLES
    )


def _host(points: Array | None) -> Any:
    return to_host(points) if is_foreign(points) else points


def _nearest_with_ties_in_order(
    Z: Any, points: Any, rows: np.ndarray, k: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the k points nearest to each of the rows, computed from all distances.

    Of points at equal distance, those with the lowest index are chosen.
    """
    D = distances_between(Z[rows], Z if points is None else points)
    if points is None:
        D[np.arange(len(rows)), rows] = np.inf
    farthest = np.partition(D, k - 1, axis=1)[:, k - 1 : k]
    nearer, equal = farthest > D, farthest == D
    n_missing = k - np.sum(nearer, axis=1, keepdims=True)
    chosen = nearer | (equal & (np.cumsum(equal, axis=1) <= n_missing))
    indices = np.nonzero(chosen)[1].reshape(-1, k)
    return np.take_along_axis(D, indices, axis=1), indices


def points_like(points: Array, Z: Array) -> Array:
    """Return points in the namespace of Z.

    If Z is a NumPy or SciPy array, the points keep their dtype. Otherwise they get the dtype of Z.
    """
    if is_foreign(Z):
        return asarray_like(points, Z)
    return to_host(points) if is_foreign(points) else points


def weights_of(distances: np.ndarray, weights: Weights) -> np.ndarray:
    """Return the weights of neighbours at given distances.

    Examples
    --------
    >>> weights_of(np.array([[1.0, 4.0], [0.0, 2.0]]), "distance")
    array([[1.  , 0.25],
           [1.  , 0.  ]])
    """
    if weights is None or weights == "uniform":
        return np.ones_like(distances)
    if callable(weights):
        values = np.asarray(weights(distances), dtype=np.float64)
        if values.shape != distances.shape:
            raise ValueError(
                "weights must return an array of the same shape as the distances, "
                f"{distances.shape}, but returned shape {values.shape}."
            )
        if not np.all(np.isfinite(values) & (values >= 0)):
            raise ValueError(
                "weights must return finite numbers of at least 0, but returned negative, infinite "
                "or NaN values."
            )
    else:
        with np.errstate(divide="ignore"):
            values = 1 / distances
        at_zero = np.isinf(values)  # includes distances so small that their inverse overflows
        values = np.where(np.any(at_zero, axis=1, keepdims=True), at_zero, values)
    if np.any(np.all(values == 0, axis=1)):
        raise ValueError(
            "All neighbours of a sample have weight 0. weights must return at least one positive "
            "weight for each sample."
        )
    return values


def votes(codes: np.ndarray, weights: np.ndarray, n_classes: int) -> np.ndarray:
    """Return the total weight of each class, of shape (n, n_classes).

    Examples
    --------
    >>> votes(np.array([[0, 2, 2]]), np.array([[1.0, 0.5, 2.0]]), 3)
    array([[1. , 0. , 2.5]])
    """
    n = len(codes)
    cells = (np.arange(n)[:, None] * n_classes + codes).ravel()
    return np.bincount(cells, weights.ravel(), n * n_classes).reshape(n, n_classes)
