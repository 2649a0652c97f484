"""All pairs of points, in blocks of rows that threads share."""

from collections.abc import Callable, Iterator
from typing import TypeVar

import numpy as np

from dimetric._arrays.squared_distances import left_factor, right_factor
from dimetric._arrays.threads import run_on_threads

BLOCK_ROWS = 128  # a block fits into the cache for up to a few thousand samples
# Arithmetic with subnormal numbers is about 100 times slower, so exponents are clipped. Products of
# two weights are normal numbers too if exponents are at least this fraction of the logarithm of the
# smallest normal number.
EXPONENT_FRACTION = 0.4

T = TypeVar("T")


def over_row_blocks(work: Callable[[Iterator[int]], T], n_samples: int) -> list[T]:
    """Call `work` on several threads, and return the result of each call.

    Each call gets the first row of each block of `BLOCK_ROWS` rows that it has to process.
    """
    return run_on_threads(work, range(0, n_samples, BLOCK_ROWS), n_rows=n_samples)


class AllPairs:
    """Squared distances of all pairs in blocks, and the Laplacian product of their weights.

    Parameters
    ----------
    Z : ndarray of shape (n, k)
        Points.
    V : ndarray of shape (n, m)
        Matrix that is multiplied by the Laplacian.
    upper : bool, default=False
        Skip the columns before the first row of each block, so that the blocks cover the upper
        triangle.
    half : bool, default=False
        Multiply V by twice the weights W, instead of by :math:`W + W^T`. See
        :func:`weighted_product`.
    """

    def __init__(
        self, Z: np.ndarray, V: np.ndarray, *, upper: bool = False, half: bool = False
    ) -> None:
        self.n, self.upper, self.V, self._half = len(Z), upper, V, half
        self._left, self._right = left_factor(Z), np.ascontiguousarray(right_factor(Z).T)
        # The column of ones yields the degrees, which are sums of weights.
        self._V1 = np.hstack([V, np.ones_like(V[:, :1])])

    def blocks(
        self, firsts: Iterator[int], memory: Callable[[int], np.ndarray] | None = None
    ) -> Iterator[tuple[slice, slice, np.ndarray]]:
        """Yield rows, columns and squared distances of blocks.

        By default, all blocks share one buffer. Otherwise, ``memory(first)`` returns the array for
        the block of a first row.
        """
        n = self.n
        buffer = np.empty(0 if memory else min(BLOCK_ROWS, n) * n, self._left.dtype)
        for first in firsts:
            rows = slice(first, min(first + BLOCK_ROWS, n))
            columns = slice(first if self.upper else 0, n)
            shape = rows.stop - first, n - columns.start
            D = memory(first) if memory else buffer[: shape[0] * shape[1]].reshape(shape)
            np.matmul(self._left[rows], self._right[:, columns], out=D)
            yield rows, columns, D

    def zeros(self) -> np.ndarray:
        """Return a zero total, to be passed to :meth:`add`. Its columns are points."""
        return np.zeros(self._V1.shape[::-1], self._V1.dtype)

    def add(
        self,
        total: np.ndarray,
        rows: slice,
        columns: slice,
        W: np.ndarray,
        row_factors: np.ndarray | None = None,
    ) -> None:
        """Add the products of the weights W, and of their transpose, with V to the total.

        If `row_factors` of shape (b, 1) are given, each row of W is multiplied by its factor.
        """
        by_row, V1 = W @ self._V1[columns], self._V1[rows]
        if row_factors is not None:
            by_row, V1 = row_factors * by_row, row_factors * V1
        if self._half:
            by_row[:, :-1] *= 2
            total[-1, columns] += V1[:, -1] @ W
        else:
            total[:, columns] += V1.T @ W  # BLAS computes W.T @ V1 more slowly
        total[:, rows] += by_row.T

    def add_symmetric(self, total: np.ndarray, rows: slice, W: np.ndarray) -> None:
        """Add the product of symmetric weights with V to the total, given an upper block of W."""
        size, V1 = rows.stop - rows.start, self._V1[rows]
        by_row = W @ self._V1[rows.start :]
        if self._half:
            by_row[:, :-1] *= 2
            by_row[:, :-1] -= W[:, :size] @ V1[:, :-1]  # has both entries of each pair
            total[-1, rows.stop :] += V1[:, -1] @ W[:, size:]
        else:
            total[:, rows.stop :] += V1.T @ W[:, size:]
        total[:, rows] += by_row.T

    def laplacian_product(self, total: np.ndarray) -> np.ndarray:
        """Return the Laplacian of all weights times V, given the total."""
        return np.asarray(total[-1:].T * self.V - total[:-1].T)


def weighted_product(
    weigh: Callable[[np.ndarray, int, int], float],
    Z: np.ndarray,
    V: np.ndarray,
    *,
    upper: bool = False,
    row_factors: np.ndarray | None = None,
    half: bool = False,
) -> tuple[float, np.ndarray, np.ndarray]:
    """Return a loss, the Laplacian of its weights W times V, and the degrees (sums of weights).

    ``weigh(D, first, last)`` gets the squared distances D between the points first:last and all
    points. If `upper` is true, the columns start at the point `first`. The function overwrites D
    with the weights, and returns the loss of the block. If an array `row_factors` of shape (n, 1)
    is given, `weigh` also overwrites its rows first:last, and D times these factors are the
    weights. This is faster than to multiply D.

    If `half` is true, V is multiplied by 2 W instead of :math:`W + W^T`, which takes half of the
    time. The symmetric part of :math:`V^T P` is the same for this product P.
    """
    pairs = AllPairs(Z, V, upper=upper, half=half)

    def work(firsts: Iterator[int]) -> tuple[float, np.ndarray]:
        loss, total = 0.0, pairs.zeros()
        for rows, columns, W in pairs.blocks(firsts):
            loss += weigh(W, rows.start, rows.stop)
            factors = None if row_factors is None else row_factors[rows]
            pairs.add(total, rows, columns, W, factors)
        return loss, total

    parts = over_row_blocks(work, len(Z))
    loss = sum(part[0] for part in parts)
    total = np.sum([part[1] for part in parts], axis=0)
    return loss, pairs.laplacian_product(total), total[-1]
