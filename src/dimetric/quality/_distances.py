"""Distances between all pairs of points, a block of rows at a time."""

from collections.abc import Callable, Iterator
from math import frexp
from typing import Any, TypeVar

import array_api_compat as compat
import numpy as np
from scipy import sparse
from sklearn.metrics import pairwise_distances

from dimetric._arrays.blocks import row_blocks
from dimetric._arrays.namespaces import Array, asarray_like, is_host, namespace, to_host
from dimetric._arrays.squared_distances import left_factor, right_factor
from dimetric._arrays.threads import map_on_threads
from dimetric.neighbors.metric_search import Metric, is_euclidean

T = TypeVar("T")

FEW_FEATURES = 8  # up to so many, differences are as fast as a product, and lose no digits
PILOT_POINTS = 16  # points at either end that show how many digits a product loses
RELATIVE_ERROR = 1e-9  # of a distance, that its rank may depend on
BLOCK_ENTRIES = 2**18  # of a block of distances, which fits a cache
DEVICE_BLOCK_ENTRIES = 2**26  # of a block on an accelerator


class Distances:
    """The distances from some points to all of them, in float64.

    Parameters
    ----------
    X : array or sparse array of shape (n, d), or (n, n) if precomputed
        Points.
    metric, params
        ``"euclidean"``, ``"precomputed"``, or what scikit-learn's ``pairwise_distances`` takes.
    """

    def __init__(
        self, X: Array, metric: Metric = "euclidean", params: dict[str, Any] | None = None
    ) -> None:
        self.n: int = X.shape[0]
        self.metric, self._params = metric, params or {}
        self._like = X
        self._squared: Callable[[Array, Array], Array] | None = None
        if metric == "precomputed":
            self._X = X
        elif not is_euclidean(metric, params) or sparse.issparse(X):
            self._X = X if sparse.issparse(X) else to_host(X)
        else:
            self._left, self._right, self._squared = _for_squares(X)

    def __call__(self, rows: np.ndarray, *, root: bool = True) -> Array:
        """Return the distances of shape (len(rows), n); a point is at distance 0 of itself.

        Without the root Euclidean distances are squared: for their order alone.
        """
        index = self.index(rows)
        xp = namespace(index)
        if self.metric == "precomputed":
            D = xp.astype(xp.take(self._X, index, axis=0), xp.float64)
        elif self._squared is None:
            D = asarray_like(self._by_metric(rows), self._like, dtype=xp.float64)
        else:
            D = self._squared(xp.take(self._left, index, axis=0), self._right)
            D = xp.sqrt(D) if root else D
        return with_own(D, index, 0.0)

    def index(self, rows: np.ndarray) -> Array:
        """Return row numbers where the points are."""
        xp = namespace(self._like)
        return asarray_like(rows, self._like, dtype=xp.int64)

    def _by_metric(self, rows: np.ndarray) -> np.ndarray:
        D = pairwise_distances(self._X[rows], self._X, metric=self.metric, **self._params)
        if not (np.isfinite(D).all() and D.min() >= -1e-9 * D.max()):
            raise ValueError(f"metric={self.metric!r} gives distances that are negative or NaN.")
        return D.clip(0)  # rounding may leave less


def _for_squares(X: Array) -> tuple[Array, Array, Callable[[Array, Array], Array]]:
    """Return two forms of the points, and the fastest function that gives squared distances.

    It takes some rows of the first form and all rows of the second. A matrix product is only
    taken if it is as precise as the order of the distances asks for.
    """
    xp = namespace(X)
    X = xp.astype(X, xp.float64)
    X = X - _coarse_mean(X)
    if X.shape[1] <= FEW_FEATURES:
        return X, X, _by_differences
    left, right = left_factor(X), right_factor(X)
    # Points on both ends: what a product loses is relative to the largest norms.
    order = xp.argsort(right[:, -1])
    ends = xp.concat([order[-PILOT_POINTS:], order[:: max(1, X.shape[0] // PILOT_POINTS)]])
    exact = _by_differences(xp.take(X, ends, axis=0), X)
    rough = _by_product(xp.take(left, ends, axis=0), right)
    if bool(xp.any((xp.abs(rough - exact) > RELATIVE_ERROR * exact) & (exact > 0))):
        return X, X, _by_differences
    return left, right, _by_product


def _coarse_mean(X: Array) -> Array:
    """Return about the mean, in so few digits that integers stay exact when it is subtracted."""
    xp = namespace(X)
    mean = xp.mean(X, axis=0)
    unit = 2.0 ** frexp(float(xp.max(xp.abs(X - mean))))[1]
    return xp.round(mean / unit) * unit


def _by_differences(A: Array, B: Array) -> Array:
    """Return squared distances feature by feature."""
    D: Any = None
    for f in range(A.shape[1]):
        difference = A[:, f][:, None] - B[:, f][None, :]
        difference *= difference
        if D is None:
            D = difference
        else:
            D += difference
    return D


def _by_product(left: Array, right: Array) -> Array:
    """Return squared distances from one product of factors."""
    D = left @ right.T
    if compat.is_numpy_array(D):
        return np.maximum(D, 0, out=D)
    return namespace(D).clip(D, 0)


def with_own(D: Array, index: Array, value: float) -> Array:
    """Return D with `value` where a row meets its own column, ``index[row]``; NumPy's in place."""
    xp = namespace(D)
    if compat.is_numpy_array(D):
        D[np.arange(len(D)), index] = value
        return D
    columns = xp.arange(D.shape[1], dtype=index.dtype, device=compat.device(D))
    return xp.where(index[:, None] == columns[None, :], value, D)


def over_blocks(
    work: Callable[[np.ndarray], T], rows: np.ndarray, distances: Distances
) -> Iterator[T]:
    """Yield ``work(block of rows)`` of each block, in order.

    NumPy works on one core: it gets a worker a core, with one BLAS thread each. An accelerator
    gets larger blocks.
    """
    index = distances.index(rows[:1])
    host = compat.is_numpy_array(index)
    small = is_host(index)
    block = max(8, (BLOCK_ENTRIES if small else DEVICE_BLOCK_ENTRIES) // distances.n)
    blocks = [rows[b] for b in row_blocks(len(rows), block)]
    yield from map_on_threads(work, blocks, n_rows=len(rows)) if host else map(work, blocks)
