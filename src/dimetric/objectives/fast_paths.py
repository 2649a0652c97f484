r"""Fast NumPy implementations of some pairwise rules.

Each gives the same results as the reference implementation in :mod:`dimetric.objectives.engine`,
which tests check. These implementations are faster for three reasons. Samples are sorted by class,
so that the columns of a class are a slice instead of a mask. The squared distances of a block are
one matrix product into a buffer, and all further steps work in place. Several threads share the
blocks (see :mod:`dimetric._arrays.threads`).
"""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from dimetric._arrays.compiled import exp_in_place
from dimetric._arrays.squared_distances import left_factor, right_factor
from dimetric._arrays.threads import run_on_threads
from dimetric.objectives.side import Side

BLOCK_ROWS = 128  # a block fits into the cache for up to a few thousand samples
SOFTMIN_CUTOFF = 40.0  # weights below e^-40 times the largest weight are negligible
# Arithmetic with subnormal numbers is about 100 times slower, so exponents are clipped. Products of
# two weights are normal numbers too if exponents are at least this fraction of the logarithm of the
# smallest normal number.
EXPONENT_FRACTION = 0.4
SMALLEST_FLOAT64_EXPONENT = -700.0  # e^-700 is a normal number in float64

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
        Multiply V by the weights, and not by their transpose. See :func:`weighted_product`.
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
            by_row[:, :-1] -= W[:, :size] @ V1[:, :-1]  # contains both entries of each pair
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


def _pair_sum(A: np.ndarray, side: Side, rows: slice, columns: slice, dtype: Any = None) -> float:
    """Return the sum over pairs, each times the product of its samples' weights, if any."""
    if side.weights is None:
        return float(A.sum(dtype=dtype))
    by_row = A @ side.weights[columns]
    return float(np.sum(by_row * side.weights[rows], dtype=dtype))


def _multiply_by_weights(W: np.ndarray, side: Side, rows: slice, columns: slice) -> None:
    """Multiply the entry of each pair by the weights of its samples, in place."""
    if side.weights is not None:
        W *= side.weights[rows][:, None]
        W *= side.weights[columns]


def ldml(
    Z: np.ndarray, V: np.ndarray, side: Side, b: float, *, half: bool = False
) -> tuple[float, np.ndarray, float]:
    r"""Return the loss, Laplacian product and dloss/db for ``learners.ldml.LDMLRule``.

    With :math:`t = d^2 - b`, the loss of a pair is :math:`\log(1 + e^{-t})`, plus t if the pair is
    similar. The sum of these t has a closed form. The sum of the logarithms is that of products of
    many factors :math:`1 + e^{-t}`, because a product is faster than a logarithm. As
    :math:`t \ge -b`, it is known how many factors can be multiplied without overflow.
    """
    info = np.finfo(Z.dtype)
    cutoff = -EXPONENT_FRACTION * float(np.log(info.tiny))  # e^-cutoff is negligible
    largest = max(b, 0.0) if b < cutoff else cutoff  # written so that NaN yields the cutoff
    n_factors = max(1, int(np.log(info.max) / (largest + 1)))
    lower_triangle = np.tri(min(BLOCK_ROWS, len(Z)), dtype=bool)

    def weigh(T: np.ndarray, first: int, last: int) -> float:
        size, loss = last - first, 0.0
        here, after = slice(first, last), slice(first, None)
        # Count each pair once, and no pair of a sample with itself.
        corner, skipped = T[:, :size], lower_triangle[:size, :size]
        np.subtract(b, T, out=T)
        corner[skipped] = -cutoff
        if b > cutoff:  # some t may be below -cutoff, where log(1 + e^-t) = -t
            loss += _pair_sum(np.maximum(T - cutoff, 0), side, here, after)
            np.minimum(T, cutoff, out=T)
        np.clip(T, -cutoff, np.inf, out=T)  # faster than np.maximum
        exp_in_place(T, len(Z))
        T += 1
        if side.weights is None:
            for start in range(0, size, n_factors):
                products = np.multiply.reduce(T[start : start + n_factors], axis=0)
                loss += float(np.log(products, out=products).sum(dtype=np.float64))
        else:
            loss += _pair_sum(np.log(T), side, here, after)
        np.reciprocal(T, out=T)
        for rows, members in side.class_runs(first, last):
            T[rows.start - first : rows.stop - first, members.stop - first :] -= 1
        corner[skipped] = 0
        _multiply_by_weights(T, side, here, after)
        return loss

    loss, product, degrees = weighted_product(weigh, Z, V, upper=True, half=half)
    loss += _similar_sum(Z, side, b)
    return loss, product, -float(degrees.sum(dtype=np.float64)) / 2


def _similar_sum(Z: np.ndarray, side: Side, b: float) -> float:
    r"""Return the sum of :math:`d^2 - b` over all pairs of the same class.

    The sum of the squared distances in a class of n samples is n times the sum of the squared
    distances to its mean.
    """
    total = 0.0
    for first, last in pairwise(side.class_starts):
        part = Z[first:last].astype(np.float64, copy=False)
        w = np.ones(len(part)) if side.weights is None else side.weights[first:last]
        size = float(np.sum(w, dtype=np.float64))
        if size > 0:
            spread = float(w @ np.sum((part - w @ part / size) ** 2, axis=1))
            total += size * spread - b * (size**2 - float(np.vdot(w, w))) / 2
    return total


def lsi(Z: np.ndarray, V: np.ndarray, side: Side, eps: float) -> tuple[float, np.ndarray, float]:
    """Return the loss, Laplacian product and 0 for ``learners.lsi.DistanceRule``."""

    def weigh(T: np.ndarray, first: int, last: int) -> float:
        loss = 0.0
        for rows, members in side.class_runs(first, last):
            here, after = slice(rows.start - first, rows.stop - first), members.stop - first
            T[here, :after] = 0  # same class, or counted in another block
            R = T[here, after:]
            np.maximum(R, 0, out=R)
            R += eps
            np.sqrt(R, out=R)
            loss += _pair_sum(R, side, rows, dissimilar := slice(members.stop, None), np.float64)
            np.divide(0.5, R, out=R, where=R > 0)
            _multiply_by_weights(R, side, rows, dissimilar)
        return loss

    return *weighted_product(weigh, Z, V, upper=True)[:2], 0.0


def softmin(
    Z: np.ndarray,
    V: np.ndarray,
    side: Side,
    mu: float,
    left_out: np.ndarray,
    log_weights: np.ndarray | None = None,
) -> tuple[float, float, np.ndarray]:
    r"""Return the parts of a smooth minimum of squared distances between different classes.

    Parameters
    ----------
    Z, V, side
        Points, the matrix that is multiplied by the Laplacian, and the labels of the points.
    mu : float
        Smoothing parameter :math:`\mu`.
    left_out : ndarray of shape (m, 2)
        Pairs of points that are ignored, in ascending order, each with the smaller row index
        first.
    log_weights : ndarray of shape (n,), optional
        Logarithms of the weights of the points. The squared distance of a pair is reduced by
        :math:`\mu \log(w_i w_j)`.

    Returns
    -------
    least : float
        Smallest squared distance :math:`d^2_{\min}`, reduced as described.
    total : float
        Sum of the weights :math:`e^{(d^2_{\min} - d^2) / \mu}` over all pairs.
    product : ndarray
        Laplacian of the weights times V.
    """
    pairs = AllPairs(Z, V, upper=True)

    def work(firsts: Iterator[int]) -> tuple[float, np.ndarray]:
        least, total = np.inf, pairs.zeros()
        for rows, columns, W in pairs.blocks(firsts):
            _leave_out(W, rows, side, left_out)
            if log_weights is None:
                low = max(0.0, float(W.min()))
            else:
                W -= mu * log_weights[rows][:, None]
                W -= mu * log_weights[columns]
                low = float(W.min())
            if low == np.inf or low > least + SOFTMIN_CUTOFF * mu:  # all weights are negligible
                continue
            if low < least:
                total *= np.exp((low - least) / mu)
                least = low
            np.subtract(least, W, out=W)
            W /= mu
            np.clip(W, SMALLEST_FLOAT64_EXPONENT, 0, out=W)
            exp_in_place(W, len(Z))
            pairs.add(total, rows, columns, W)
        return least, total

    parts = over_row_blocks(work, len(Z))
    least = min(part[0] for part in parts)
    # Each thread computed its weights relative to the smallest distance that it found.
    scales = [np.exp((least - low) / mu) if low < np.inf else 0.0 for low, _ in parts]
    total = np.sum([scale * part for scale, (_, part) in zip(scales, parts, strict=True)], axis=0)
    return least, float(total[-1].sum()) / 2, pairs.laplacian_product(total)


def nearest_dissimilar(Z: np.ndarray, side: Side, left_out: np.ndarray) -> np.ndarray:
    """Return the smallest squared distance of each point to those of other classes after it.

    It is infinite for points of the last class. The squared distances come from a matrix product.
    See :func:`softmin` for the parameters.
    """
    pairs, nearest = AllPairs(Z, Z[:, :0], upper=True), np.empty(len(Z), Z.dtype)

    def work(firsts: Iterator[int]) -> None:
        for rows, _, D in pairs.blocks(firsts):
            _leave_out(D, rows, side, left_out)
            np.min(D, axis=1, out=nearest[rows])

    over_row_blocks(work, len(Z))
    return nearest


def _leave_out(D: np.ndarray, rows: slice, side: Side, pairs: np.ndarray) -> None:
    """Set the distances of the given pairs and within classes to infinity, in an upper block."""
    first, last = rows.start, rows.stop
    for run, members in side.class_runs(first, last):
        D[run.start - first : run.stop - first, : members.stop - first] = np.inf
    in_block = pairs[slice(*np.searchsorted(pairs[:, 0], [first, last]))] - first
    D[in_block[:, 0], in_block[:, 1]] = np.inf
