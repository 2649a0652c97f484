"""Distances between all pairs of points, a block of rows at a time, and what is read off them."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import array_api_compat as compat
import numpy as np
from scipy import sparse
from sklearn.metrics import pairwise_distances

from dimetric._threads import _one_blas_thread
from dimetric._xp import Array, like, namespace, to_host
from dimetric.reduce.tree import row_blocks

T = TypeVar("T")
Metric = str | Callable[..., float]

_FEW_FEATURES = 8  # differences are then as fast as a product, and lose no digits
_ENTRIES = 2**18  # of a block of distances: fits a cache


class Distances:
    """The distances from some points to all of them, in float64.

    Parameters
    ----------
    X : array or sparse array of shape (n, d), or (n, n) if precomputed
        Points.
    metric : str or callable
        ``"euclidean"``, ``"precomputed"``, or what scikit-learn's ``pairwise_distances`` takes.
    """

    def __init__(self, X: Array, metric: Metric = "euclidean") -> None:
        self.n: int = X.shape[0]
        self.metric = metric
        self._like = X
        xp = namespace(X)
        if metric == "precomputed":
            self._X = X
        elif metric != "euclidean" or sparse.issparse(X):
            self._X = X if sparse.issparse(X) else to_host(X)
        else:
            X = xp.astype(X, xp.float64)
            X = X - xp.mean(X, axis=0)
            if X.shape[1] > _FEW_FEATURES:
                squares = xp.vecdot(X, X)[:, None]
                X = xp.concat([X, squares, xp.ones_like(squares)], axis=1)
            self._X = X

    def __call__(self, rows: np.ndarray, *, root: bool = True) -> Array:
        """Return the distances of shape (len(rows), n); a point is at distance 0 of itself.

        Without the root Euclidean distances are squared: for their order alone.
        """
        index = self.index(rows)
        xp = namespace(index)
        if self.metric == "precomputed":
            D = xp.astype(xp.take(self._X, index, axis=0), xp.float64)
        elif self.metric != "euclidean" or sparse.issparse(self._X):
            D = like(self._by_metric(rows), self._like, dtype=xp.float64)
        else:
            rows_of = xp.take(self._X, index, axis=0)
            few = self._X.shape[1] <= _FEW_FEATURES
            D = (_by_differences if few else _by_product)(rows_of, self._X)
            D = xp.sqrt(D) if root else D
        return with_own(D, index, 0.0)

    def index(self, rows: np.ndarray) -> Array:
        """Return row numbers where the points are."""
        xp = namespace(self._like)
        return like(rows, self._like, dtype=xp.int64)

    def _by_metric(self, rows: np.ndarray) -> np.ndarray:
        D = pairwise_distances(self._X[rows], self._X, metric=self.metric)
        if not (np.isfinite(D).all() and D.min() >= -1e-9 * D.max()):
            raise ValueError(f"metric={self.metric!r} gives distances that are negative or NaN.")
        return D.clip(0)  # rounding may leave less


def _by_differences(A: Array, B: Array) -> Array:
    """Return squared distances feature by feature."""
    D: Any = None
    for f in range(A.shape[1]):
        difference = A[:, f][:, None] - B[:, f][None, :]
        difference *= difference
        D = difference if D is None else D + difference
    return D


def _by_product(A: Array, B: Array) -> Array:
    """Return squared distances from one product of rows that end on their square and 1."""
    xp, d = namespace(A), A.shape[1] - 2
    A = xp.concat([-2 * A[:, :d], A[:, d + 1 :], A[:, d : d + 1]], axis=1)
    return xp.clip(A @ B.T, 0)


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
    small = host or "cpu" in str(compat.device(index)).lower()
    block = max(8, (_ENTRIES if small else 2**26) // distances.n)
    blocks = [rows[b] for b in row_blocks(len(rows), block)]
    if not host:
        yield from map(work, blocks)
        return
    with _one_blas_thread() as allowed, ThreadPoolExecutor(min(allowed, len(blocks))) as pool:
        yield from pool.map(work, blocks)
