"""Distances between all pairs of points, computed in blocks of rows."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import frexp, prod
from threading import local
from typing import Any, TypeVar

import array_api_compat as compat
import numpy as np
from scipy import sparse
from sklearn.metrics import pairwise_distances

from dimetric._arrays.blocks import row_blocks
from dimetric._arrays.compiled import import_compiled
from dimetric._arrays.namespaces import (
    Array,
    asarray_like,
    eps,
    is_host,
    namespace,
    to_host,
)
from dimetric._arrays.row_order import canonical_order
from dimetric._arrays.squared_distances import left_factor, right_factor, squared_norms
from dimetric._arrays.threads import map_on_threads
from dimetric.neighbors.metric_search import Metric, is_euclidean

T = TypeVar("T")
Buffers = tuple["_Buffer", "_Buffer"]  # for the results and for one more array of their shape

MAX_DIFFERENCE_FEATURES = 8  # up to this many, differences are as fast as a matrix product
MIN_POINTS_COMPILED = 2048  # for fewer points, importing numba takes longer than all differences
PILOT_POINTS = 16  # points on which the precision of a matrix product is tested
MAX_RELATIVE_ERROR = 1e-9  # largest error of computed distances that is accepted as rounding
BLOCK_ENTRIES = 2**18  # distances per block, to fit a CPU cache
DEVICE_BLOCK_ENTRIES = 2**26  # distances per block on an accelerator
MIN_BLOCK_ROWS = 8  # a block has at least this many rows, even if its entries exceed the limit
SMALLEST_NORMAL = float(np.finfo(np.float64).smallest_normal)
ROUNDINGS_PER_DISTANCE = 16  # rounding errors of a distance, in addition to one per feature


@dataclass(frozen=True)
class Rounding:
    """Bounds on the rounding errors in a block of distances. Two distances within them are tied.

    Parameters
    ----------
    relative : float
        Bound relative to a distance.
    absolute : ndarray of shape (b, 1)
        Bound for the distances in each row.
    square : float
        Bound for a squared distance.
    """

    relative: float
    absolute: np.ndarray
    square: float = SMALLEST_NORMAL  # squares of smaller distances underflow

    def ties(self, nearer: np.ndarray, farther: np.ndarray) -> np.ndarray:
        """Return whether distances are tied. Both arrays have one row for each row of the block."""
        error = self.absolute + self.relative * farther
        difference_of_squares = (farther - nearer) * (farther + nearer)
        return np.asarray(difference_of_squares <= 2 * error * farther + self.square)

    def range_of_ties(self, distances: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return bounds of all distances that are tied with the given ones, rounded outwards.

        The bounds solve the quadratic inequality of :meth:`ties` for either of its arguments.
        """
        slack = 8 * float(np.finfo(np.float64).eps)
        squares, rest = distances**2, 1 - 2 * self.relative
        error = self.absolute + self.relative * distances
        lower = squares * (1 - slack) - 2 * error * distances - self.square
        root = np.sqrt(self.absolute**2 + rest * (squares + self.square))
        return np.sqrt(np.maximum(lower, 0.0)), (self.absolute + root) / rest * (1 + slack)

    def __getitem__(self, rows: np.ndarray) -> "Rounding":
        """Return the bounds for some rows of the block."""
        return Rounding(self.relative, self.absolute[rows], self.square)


def rounding_of_differences(X: Array) -> Rounding:
    """Return bounds for distances from the rows of X that are computed from differences.

    The errors are relative to the coordinates of a row, because coordinates that are nearly equal
    have nearly the same size. A map that computed X causes errors relative to the typical size of
    all rows.
    """
    relative, norms = _relative_rounding(X, X.shape[1]), to_host(squared_norms(X)) ** 0.5
    return Rounding(relative, relative * (norms[:, None] + np.median(norms)))


class _Buffer(local):
    """Memory for one array in each thread, because allocating it takes as long as filling it."""

    def __init__(self) -> None:
        self._memory = np.empty(0)

    def of_shape(self, *shape: int) -> np.ndarray:
        """Return an array of this shape, which uses the memory of the last one."""
        size = prod(shape)
        if self._memory.size < size:
            self._memory = np.empty(size)
        return self._memory[:size].reshape(shape)


class Distances:
    """Distances from selected points to all points, in float64.

    Parameters
    ----------
    X : array or sparse array of shape (n, d), or (n, n) if precomputed
        Points.
    metric, params
        Metric and its parameters: ``"euclidean"``, ``"precomputed"``, or any metric of
        scikit-learn's ``pairwise_distances``.
    """

    def __init__(
        self, X: Array, metric: Metric = "euclidean", params: dict[str, Any] | None = None
    ) -> None:
        self.n: int = X.shape[0]
        self.metric, self._params = metric, params or {}
        self._points = X
        self._squared: Callable[[Array, Array, Buffers], Array] | None = None
        self._buffers = _Buffer(), _Buffer()
        if metric == "precomputed":
            self._X = X
        elif not is_euclidean(metric, params) or sparse.issparse(X):
            self._X = X if sparse.issparse(X) else to_host(X)
        else:
            self._left, self._right, self._squared = _squared_distance_method(X)
        if self._squared is _by_differences:
            self._difference_rounding = rounding_of_differences(self._left)
        self._square_rounding = self._rounding_of_products()

    def __call__(self, rows: np.ndarray) -> Array:
        """Return distances of shape (len(rows), n). The distance of a point to itself is 0.

        Euclidean distances in NumPy are overwritten by the next call on the same thread.
        """
        index = self.index(rows)
        xp = namespace(index)
        if self.metric == "precomputed":
            D = xp.astype(xp.take(self._X, index, axis=0), xp.float64)
        elif self._squared is None:
            D = asarray_like(self._by_metric(rows), self._points, dtype=xp.float64)
        else:
            D = self._squared(xp.take(self._left, index, axis=0), self._right, self._buffers)
            D = _roots(D, self._square_rounding)  # duplicates have distance 0
        return with_self_entries(D, index, 0.0)

    def rounding(self, rows: np.ndarray, D: Array) -> Rounding:
        """Return bounds on the rounding errors of the distances D from the given rows."""
        if self._squared is _by_differences:
            return self._difference_rounding[rows]
        if self._square_rounding > 0:
            return Rounding(0.0, np.zeros((len(rows), 1)), self._square_rounding)
        n_features = 0 if self.metric == "precomputed" else self._points.shape[1]
        sizes = to_host(namespace(D).max(D, axis=1))[:, None]
        return Rounding(0.0, _relative_rounding(self._points, n_features) * sizes)

    def _rounding_of_products(self) -> float:
        """Return a bound for squared distances computed from products, otherwise 0."""
        if self._squared is _by_product:
            norms = self._right[:, -1]
            relative = _relative_rounding(norms, self._points.shape[1])
            return 4 * relative * float(namespace(norms).max(norms))
        if sparse.issparse(self._points) and is_euclidean(self.metric, self._params):
            X = self._points
            return 4 * _relative_rounding(X, X.shape[1]) * float(X.multiply(X).sum(axis=1).max())
        return 0.0

    def pilot_rows(self, rows: np.ndarray, n_wanted: int) -> np.ndarray:
        """Return some of the rows. The choice does not depend on the order of the rows.

        Parameters
        ----------
        rows : ndarray
            Row indices.
        n_wanted : int
            Maximum number of rows to return.
        """
        X = self._points
        if self.metric == "precomputed" or sparse.issparse(X):
            sums = X.sum(axis=1) if sparse.issparse(X) else to_host(namespace(X).sum(X, axis=1))
            order = np.argsort(sums[rows], kind="stable")
        else:
            order = canonical_order(to_host(X)[rows], np.zeros(len(rows), dtype=np.int64))
        return rows[order[:: -(-len(rows) // n_wanted)]]

    def index(self, rows: np.ndarray) -> Array:
        """Return row indices in the array namespace and on the device of the points."""
        xp = namespace(self._points)
        return asarray_like(rows, self._points, dtype=xp.int64)

    def _by_metric(self, rows: np.ndarray) -> np.ndarray:
        D = pairwise_distances(self._X[rows], self._X, metric=self.metric, **self._params)
        if not (np.isfinite(D).all() and D.min() >= -MAX_RELATIVE_ERROR * D.max()):
            raise ValueError(f"metric={self.metric!r} returns negative, infinite or NaN distances.")
        return D.clip(0)  # rounding can make distances slightly negative


def _squared_distance_method(
    X: Array,
) -> tuple[Array, Array, Callable[[Array, Array, Buffers], Array]]:
    """Return the fastest function that computes squared distances precisely, and its arguments.

    With the results ``left, right, function``, ``function(left[rows], right, buffers)`` returns the
    squared distances from the selected rows of X to all rows. The function is a matrix product if
    the relative error of a product on pilot points is at most ``MAX_RELATIVE_ERROR``.
    """
    xp = namespace(X)
    X = xp.astype(X, xp.float64)
    X = X - _coarse_mean(X)
    if X.shape[1] <= MAX_DIFFERENCE_FEATURES:
        return X, xp.asarray(X.T, copy=True), _by_differences
    left, right = left_factor(X), right_factor(X)
    # The error of a product grows with the norms. Test the points with the largest norms, and
    # points spread over all norms.
    order = xp.argsort(right[:, -1])
    pilots = xp.concat([order[-PILOT_POINTS:], order[:: max(1, X.shape[0] // PILOT_POINTS)]])
    exact = _by_differences(xp.take(X, pilots, axis=0), X.T, (_Buffer(), _Buffer()))
    product = _by_product(xp.take(left, pilots, axis=0), right, (_Buffer(), _Buffer()))
    if bool(xp.any((xp.abs(product - exact) > MAX_RELATIVE_ERROR * exact) & (exact > 0))):
        return X, xp.asarray(X.T, copy=True), _by_differences
    return left, right, _by_product


def _relative_rounding(X: Array, n_features: int) -> float:
    """Return a bound on the relative error of a sum over features, in the precision of X."""
    precision = np.finfo(X.dtype).eps if sparse.issparse(X) else eps(X)
    return 2 * (ROUNDINGS_PER_DISTANCE + n_features) * float(precision)


def _coarse_mean(X: Array) -> Array:
    """Return the mean, rounded so coarsely that subtracting it from integers is exact."""
    xp = namespace(X)
    mean = xp.mean(X, axis=0)
    unit = 2.0 ** frexp(float(xp.max(xp.abs(X - mean))))[1]
    return xp.round(mean / unit) * unit


def _by_differences(A: Array, columns: Array, buffers: Buffers) -> Array:
    """Return squared distances from rows of points to columns, summed feature by feature."""
    if not compat.is_numpy_array(A):
        return sum((A[:, f][:, None] - columns[f, :][None, :]) ** 2 for f in range(A.shape[1]))
    D, difference = (buffer.of_shape(len(A), columns.shape[1]) for buffer in buffers)
    if columns.shape[1] >= MIN_POINTS_COMPILED and columns.flags.c_contiguous:
        compiled = import_compiled("quality._compiled")
        if compiled is not None:
            compiled.squared_differences(np.ascontiguousarray(A), columns, D)
            return D
    D[...] = 0
    for a, b in zip(A.T, columns, strict=True):
        np.subtract(a[:, None], b, out=difference)
        difference *= difference
        D += difference
    return D


def _by_product(left: Array, right: Array, buffers: Buffers) -> Array:
    """Return squared distances as the matrix product of two factors."""
    if not compat.is_numpy_array(left):
        return namespace(left).clip(left @ right.T, 0)
    D = np.matmul(left, right.T, out=buffers[0].of_shape(len(left), len(right)))
    return np.maximum(D, 0, out=D)


def _roots(squares: Array, smallest: float) -> Array:
    """Return square roots, with 0 for squares up to `smallest`. NumPy arrays are overwritten."""
    if compat.is_numpy_array(squares):
        if smallest > 0:
            squares[squares <= smallest] = 0
        return np.sqrt(squares, out=squares)
    xp = namespace(squares)
    return xp.sqrt(xp.where(squares <= smallest, 0.0, squares))


def with_self_entries(D: Array, index: Array, value: float) -> Array:
    """Return D with ``D[i, index[i]] = value`` in each row i. NumPy arrays change in place."""
    xp = namespace(D)
    if compat.is_numpy_array(D):
        D[np.arange(len(D)), index] = value
        return D
    columns = xp.arange(D.shape[1], dtype=index.dtype, device=compat.device(D))
    return xp.where(index[:, None] == columns[None, :], value, D)


def over_blocks(
    work: Callable[[np.ndarray], T], rows: np.ndarray, distances: Distances
) -> Iterator[T]:
    """Yield ``work(block)`` for each block of rows, in order.

    NumPy blocks run on one thread per core, each with one BLAS thread. Blocks on an accelerator
    are larger.
    """
    index = distances.index(rows[:1])
    is_numpy = compat.is_numpy_array(index)
    entries = BLOCK_ENTRIES if is_host(index) else DEVICE_BLOCK_ENTRIES
    block = max(MIN_BLOCK_ROWS, entries // distances.n)
    blocks = [rows[b] for b in row_blocks(len(rows), block)]
    yield from map_on_threads(work, blocks, n_rows=len(rows)) if is_numpy else map(work, blocks)
