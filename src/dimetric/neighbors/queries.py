r"""Distances from queries to points under any metric, and the errors of these distances."""

from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from dimetric._arrays.namespaces import (
    Array,
    eps,
    is_foreign,
    namespace,
    smallest_in_rows,
    take_rows,
    to_host,
)
from dimetric._arrays.squared_distances import squared_norms
from dimetric.neighbors.approximate.index import ApproximateIndex
from dimetric.neighbors.euclidean.index import EuclideanIndex
from dimetric.neighbors.euclidean.search import euclidean_neighbors
from dimetric.neighbors.metric_search import (
    TREE_FEATURES,
    Metric,
    distances_between,
    is_euclidean,
    metric_neighbors,
)

MAX_PRODUCT_SAMPLES = 5_000  # with fewer, a matrix product beats importing compiled code
# Distances that differ by less than this fraction are equal up to rounding: 1024 and 32 machine
# epsilons. In single precision, 1024 of them would make clearly different distances equal.
RELATIVE_TOLERANCE = {"float64": 2.0**-42, "float32": 2.0**-18}
COORDINATE_ROUNDINGS = 16  # errors of single coordinates, in machine epsilons
NORMS = {"cityblock": 1, "l1": 1, "manhattan": 1, "minkowski": 2, "chebyshev": 2}
BOUNDED_METRICS = ("cosine", "correlation")  # 1 minus a correlation, so errors are relative to 1


def relative_tolerance(*arrays: Array) -> float:
    """Return the fraction by which equal numbers may differ, in the least precise of the dtypes.

    Examples
    --------
    >>> relative_tolerance(np.zeros(1, np.float32), np.zeros(1)) == 2.0**-18
    True
    """
    return max(
        RELATIVE_TOLERANCE["float32" if host_dtype(a) == np.float32 else "float64"] for a in arrays
    )


def host_dtype(a: Array) -> np.dtype:
    """Return the NumPy dtype of an array of any namespace.

    Examples
    --------
    >>> host_dtype(np.zeros(1, np.float32))
    dtype('float32')
    """
    if isinstance(a, np.ndarray):
        return a.dtype
    return np.dtype(str(a.dtype).rpartition(".")[2])  # torch writes torch.float32


def tie_tolerance(distances: Array, samples: Array, sizes: Any = 0.0, spread: Any = 0.0) -> Array:
    r"""Return the difference up to which distances count as equal to given distances.

    .. math:: \tau\, (d + s) + 16\, \epsilon\, |q|

    See :mod:`dimetric.neighbors.ties`.

    Parameters
    ----------
    distances : array of shape (n,)
        Distances d of queries, for example to their k-th neighbours.
    samples : array
        The samples. Their dtype determines :math:`\tau` and :math:`\epsilon`.
    sizes : array of shape (n,), default=0
        Norms :math:`|q|` of the queries.
    spread : float, default=0
        Size s of the points, if a learner mapped them.

    Examples
    --------
    >>> X = np.array([[0.1], [0.2], [0.3]])
    >>> abs(X[1] - X[0]) == abs(X[2] - X[1])
    array([False])
    >>> abs(X[1] - X[0] - 0.1) <= tie_tolerance(np.array([0.1]), X)
    array([ True])
    """
    tau = relative_tolerance(samples)
    return tau * (distances + spread) + COORDINATE_ROUNDINGS * eps(samples) * sizes


class Queries:
    """Queries, and the points that are searched for their neighbours.

    Parameters
    ----------
    Z, points, metric, metric_params
        As in :class:`~dimetric.neighbors.ties.Neighborhoods`.
    spread : float, default=0
        Size of the points. See :func:`tie_tolerance`.
    varies : array of shape (d,), optional
        :func:`varying_features` of the points, if they are known.
    index : EuclideanIndex or ApproximateIndex, optional
        The points, or Z if there are none, prepared for a search. It is used if Z is dense. An
        EuclideanIndex is used only if Z is on the host, and there are points.
    """

    def __init__(
        self,
        Z: Array,
        points: Array | None,
        metric: Metric = "euclidean",
        metric_params: dict[str, Any] | None = None,
        spread: float = 0.0,
        varies: Array | None = None,
        index: EuclideanIndex | ApproximateIndex | None = None,
    ) -> None:
        if not is_euclidean(metric, metric_params) or sparse.issparse(Z) or sparse.issparse(points):
            Z, points = _host(Z), _host(points)
        if points is not None and sparse.issparse(Z) != sparse.issparse(points):
            Z, points = sparse.csr_array(Z), sparse.csr_array(points)
        self._Z, self._points = Z, points
        self._metric, self._params = metric, metric_params
        self._spread, self._varies = spread, varies
        is_used = points is not None and isinstance(Z, np.ndarray)
        if isinstance(index, ApproximateIndex):
            is_used = not sparse.issparse(Z)
        self._index = index if is_used else None
        self.n, self.excludes_self = Z.shape[0], points is None
        self.n_points = Z.shape[0] if points is None else points.shape[0]
        self.dtype = host_dtype(Z)

    def nearest(self, width: int, rows: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """Return distances and row numbers of the nearest points, of shape (n, width).

        The choice among points at equal distance is arbitrary.

        Parameters
        ----------
        width : int
            Number of neighbours.
        rows : ndarray, optional
            Row numbers of the queries. By default, all queries are searched.
        """
        if width == 0:
            return np.empty((self.n, 0)), np.empty((self.n, 0), np.int64)
        if self._metric == "precomputed":
            return smallest_in_rows(self.all_distances(rows), width)
        if rows is None and (self._points is not None or self._index is None):
            return self._search(self._Z, width, self._points)
        rows = np.arange(self.n) if rows is None else rows
        Z = self._Z[rows] if sparse.issparse(self._Z) else take_rows(self._Z, rows)
        if self._points is not None:
            return self._search(Z, width, self._points)
        distances, indices = self._search(Z, width + 1, self._Z)
        others = indices != rows[:, None]
        others[np.all(others, axis=1), -1] = False
        return distances[others].reshape(-1, width), indices[others].reshape(-1, width)

    def all_distances(self, rows: np.ndarray | None = None) -> np.ndarray:
        """Return the distances from some queries to all points, infinite to the query itself."""
        rows = np.arange(self.n) if rows is None else rows
        Z, points = self._on_host
        if self._metric == "precomputed":
            D = Z[rows]
        else:
            D = distances_between(
                Z[rows],
                Z if points is None else points,
                metric=self._metric,
                metric_params=self._params,
            )
        self._require_numbers(D)
        if self.excludes_self:
            D[np.arange(len(rows)), rows] = np.inf
        return D

    def tolerance(self, rows: np.ndarray, distances: np.ndarray) -> np.ndarray:
        """Return the tolerance of distances from some queries. See :func:`tie_tolerance`."""
        sizes, (tau, epsilon) = self._sizes[rows], self._precision
        tolerance = tau * (distances + self._spread) + COORDINATE_ROUNDINGS * epsilon * sizes
        if sparse.issparse(self._Z) and is_euclidean(self._metric, self._params):
            # Squared distances between sparse rows are computed from products, so their errors are
            # relative to the squared norms.
            scale = COORDINATE_ROUNDINGS * epsilon
            noise = scale * (2 * sizes + distances) ** 2
            # The distance whose square is larger by this error, without cancellation.
            tolerance = tolerance + noise / np.maximum(
                distances + np.sqrt(distances**2 + noise), np.finfo(np.float64).tiny
            )
        return tolerance

    def _search(self, Z: Array, k: int, points: Array | None) -> tuple[np.ndarray, np.ndarray]:
        if self._index is not None:
            distances, indices = self._index.nearest(to_host(Z), k)
            return distances.astype(self.dtype, copy=False), indices
        if is_euclidean(self._metric, self._params) and _use_matrix_product(Z):
            found = euclidean_neighbors(Z, k, points)
        else:
            found = metric_neighbors(Z, k, points, metric=self._metric, metric_params=self._params)
        distances, indices = (to_host(a) for a in found)
        self._require_numbers(distances)
        return distances, indices

    def _require_numbers(self, distances: np.ndarray) -> None:
        """Raise if the metric returned NaN, as "correlation" does for a sample of equal values."""
        if not is_euclidean(self._metric, self._params) and np.any(np.isnan(distances)):
            raise ValueError(
                f"metric={self._metric!r} returned NaN, because it is undefined for some of the "
                "samples. Choose another metric, or leave these samples out."
            )

    @cached_property
    def _on_host(self) -> tuple[Any, Any]:
        return _host(self._Z), _host(self._points)

    @cached_property
    def _precision(self) -> tuple[float, float]:
        """The relative tolerance and the machine epsilon of the less precise dtype."""
        both = (self._Z,) if self._points is None else (self._Z, self._points)
        return relative_tolerance(*both), max(eps(each) for each in both)

    @cached_property
    def _sizes(self) -> np.ndarray:
        """The norms of the queries."""
        if self._metric in BOUNDED_METRICS:
            return np.ones(self.n)
        varies = self._varies
        if varies is None:
            varies = varying_features(self._Z if self._points is None else self._points)
        return norms_of(self._Z, varies, self._metric, self._params)


def varying_features(points: Array) -> Array:
    """Return a mask of the features that are not constant. Sparse features count as not constant.

    Examples
    --------
    >>> varying_features(np.array([[1.0, 5.0], [2.0, 5.0]]))
    array([ True, False])
    """
    if sparse.issparse(points):
        return np.ones(points.shape[1], dtype=bool)
    xp = namespace(points)
    return xp.max(points, axis=0) > xp.min(points, axis=0)


def norms_of(
    Z: Array, varies: Array, metric: Metric, metric_params: dict[str, Any] | None
) -> np.ndarray:
    """Return the norm of each row of Z on the host, without the features that do not vary.

    The norms are 0 for metrics that do not depend on a norm.

    Examples
    --------
    >>> norms_of(np.array([[3.0, 4.0]]), np.array([True, False]), "euclidean", None)
    array([3.])
    """
    order = 2 if is_euclidean(metric, metric_params) else NORMS.get(str(metric))
    if order is None:
        return np.zeros(Z.shape[0])
    if sparse.issparse(Z):
        from scipy.sparse.linalg import norm

        return norm(Z, ord=order, axis=1)
    xp = namespace(Z)
    Z = xp.astype(Z, xp.float64, copy=False)
    Z = Z if bool(xp.all(varies)) else xp.where(varies, Z, 0.0)
    if order == 1:
        return to_host(xp.sum(xp.abs(Z), axis=1))
    return np.sqrt(to_host(squared_norms(Z)))


def _use_matrix_product(Z: Array) -> bool:
    """Return whether to search by a matrix product in the namespace of Z."""
    if is_foreign(Z):
        return True
    return (
        not sparse.issparse(Z) and Z.shape[1] > TREE_FEATURES and Z.shape[0] < MAX_PRODUCT_SAMPLES
    )


def _host(points: Array | None) -> Any:
    return to_host(points) if is_foreign(points) else points
