r"""In-place NumPy paths of the pairwise rules, each tested equal to the engine.

Samples come sorted by class, so that "same class" is a slice of columns instead of a mask. Squared
distances of a block are one matrix product into a buffer, which everything else works in. Blocks
are dealt out to threads, see :mod:`dimetric._arrays.threads`.
"""

from collections.abc import Callable, Iterator
from typing import TypeVar

import numpy as np

from dimetric._arrays.squared_distances import left_factor, right_factor
from dimetric._arrays.threads import run_on_threads
from dimetric.objectives.side import Side

BLOCK_ROWS = 128  # a block fits the cache at a few thousand samples
SOFTMIN_REACH = 40.0  # weights below e^-40 of the largest count for nothing

T = TypeVar("T")


def over_row_blocks(work: Callable[[Iterator[int]], T], n_samples: int) -> list[T]:
    """Call ``work(first rows of its blocks)`` on every thread, and return the results."""
    return run_on_threads(work, range(0, n_samples, BLOCK_ROWS), n_rows=n_samples)


class _AllPairs:
    """All pairs of points, block by block: from squared distances to a Laplacian product.

    Parameters
    ----------
    Z : ndarray of shape (n, k)
        Points.
    V : ndarray of shape (n, m)
        What the Laplacian is applied to.
    upper : bool, default=False
        Pair the points of a block with those from its first one on, instead of with all.
    """

    def __init__(self, Z: np.ndarray, V: np.ndarray, *, upper: bool = False) -> None:
        self.n, self.upper, self.V = len(Z), upper, V
        self._left, self._right = left_factor(Z), np.ascontiguousarray(right_factor(Z).T)
        # The sums of weights, the degrees, are their products with a column of ones.
        self._V1 = np.hstack([V, np.ones_like(V[:, :1])])

    def blocks(self, firsts: Iterator[int]) -> Iterator[tuple[slice, slice, np.ndarray]]:
        """Yield rows, columns and squared distances of blocks, in memory that the next one uses."""
        n = self.n
        buffer = np.empty(min(BLOCK_ROWS, n) * n, self._left.dtype)
        for first in firsts:
            rows = slice(first, min(first + BLOCK_ROWS, n))
            columns = slice(first if self.upper else 0, n)
            shape = rows.stop - first, n - columns.start
            D = buffer[: shape[0] * shape[1]].reshape(shape)
            np.matmul(self._left[rows], self._right[:, columns], out=D)
            yield rows, columns, D

    def zeros(self) -> np.ndarray:
        """Return a sum of products to which nothing has been added yet."""
        return np.zeros_like(self._V1)

    def add(self, total: np.ndarray, rows: slice, columns: slice, W: np.ndarray) -> None:
        """Add the products of the weights W and of their transpose with V."""
        total[rows] += W @ self._V1[columns]
        total[columns] += W.T @ self._V1[rows]

    def laplacian_product(self, total: np.ndarray) -> np.ndarray:
        """Return the Laplacian of all weights times V, from the sum of products."""
        return np.asarray(total[:, -1:] * self.V - total[:, :-1])


def _product(
    weigh: Callable[[np.ndarray, int, int], float],
    Z: np.ndarray,
    V: np.ndarray,
    *,
    upper: bool = False,
) -> tuple[float, np.ndarray, np.ndarray]:
    """Return a loss, the Laplacian of its weights W times V, and the degrees of W.

    ``weigh(D, first, last)`` turns the squared distances of the points first:last to all points,
    or to those from `first` on if `upper`, into their weights, in place, and returns the loss.
    """
    pairs = _AllPairs(Z, V, upper=upper)

    def work(firsts: Iterator[int]) -> tuple[float, np.ndarray]:
        loss, total = 0.0, pairs.zeros()
        for rows, columns, W in pairs.blocks(firsts):
            loss += weigh(W, rows.start, rows.stop)
            pairs.add(total, rows, columns, W)
        return loss, total

    parts = over_row_blocks(work, len(Z))
    loss = sum(part[0] for part in parts)
    total = np.sum([part[1] for part in parts], axis=0)
    return loss, pairs.laplacian_product(total), total[:, -1]


def _softmax(P: np.ndarray, first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
    """Turn squared distances P of the points first:last into softmax weights, up to their scale.

    Returns the squared distance of each point's nearest neighbour, whose weight is 1, and the sum
    of the weights.
    """
    # Weights below this share of the largest do not matter, and must not become subnormal numbers:
    # arithmetic with those takes a hundred times as long.
    negligible = P.dtype.type(0.4) * np.log(np.finfo(P.dtype).tiny)
    itself = np.arange(last - first), np.arange(first, last)
    P[itself] = np.inf
    nearest = P.min(axis=1, keepdims=True)
    np.subtract(nearest, P, out=P)
    np.maximum(P, negligible, out=P)
    np.exp(P, out=P)
    P[itself] = 0
    return nearest, P.sum(axis=1, keepdims=True)


def nca(
    Z: np.ndarray, V: np.ndarray, side: Side, theta: np.ndarray
) -> tuple[float, np.ndarray, float]:
    """Return what ``engine.laplacian_product`` does for ``learners.nca.NCARule``."""
    tiny = np.finfo(Z.dtype).tiny

    def weigh(P: np.ndarray, first: int, last: int) -> float:
        scale = 1 / _softmax(P, first, last)[1]
        loss = 0.0
        for rows, own in side.class_runs(first, last):
            here = slice(rows.start - first, rows.stop - first)
            # W = P (same - p): -p P everywhere, then (p - 1) / p times that in the own class.
            p = P[here, own].sum(axis=1, keepdims=True) * scale[here]
            loss -= float(p.sum(dtype=np.float64))
            p = np.maximum(p, tiny)
            P[here] *= -p * scale[here]
            P[here, own] *= (p - 1) / p
        return loss

    return *_product(weigh, Z, V)[:2], 0.0


def mcml(
    Z: np.ndarray, V: np.ndarray, side: Side, theta: np.ndarray
) -> tuple[float, np.ndarray, float]:
    """Return what ``engine.laplacian_product`` does for ``learners.mcml.MCMLRule``."""
    starts = side.class_starts
    sizes = np.diff(starts)
    is_anchor = np.repeat(sizes > 1, sizes)[:, None]

    def weigh(P: np.ndarray, first: int, last: int) -> float:
        nearest, scale = _softmax(P, first, last)
        anchors = is_anchor[first:last]
        P *= np.where(anchors, -1 / scale, 0)
        return float(np.sum(np.log(scale) - nearest, where=anchors, dtype=np.float64))

    loss, product, _ = _product(weigh, Z, V)
    # The other term is linear in M: the scatter of each class.
    for start, size in zip(starts[:-1].tolist(), sizes.tolist(), strict=True):
        if size > 1:
            members, weight = slice(start, start + size), 2 * size / (size - 1)
            deviation = Z[members] - Z[members].mean(axis=0)
            loss += weight * float(np.sum(deviation**2, dtype=np.float64))
            product[members] += weight * (V[members] - V[members].mean(axis=0))
    return loss, product, 0.0


def ldml(Z: np.ndarray, V: np.ndarray, side: Side, b: float) -> tuple[float, np.ndarray, float]:
    """Return what ``engine.laplacian_product`` does for ``learners.ldml.LDMLRule``."""
    far = -0.4 * float(np.log(np.finfo(Z.dtype).tiny))  # e^-far counts for nothing
    lower = np.tri(min(BLOCK_ROWS, len(Z)), dtype=bool)

    def weigh(T: np.ndarray, first: int, last: int) -> float:
        size = last - first
        corner, seen = T[:, :size], lower[:size, :size]  # a pair counts once, a sample never
        runs = [
            (slice(rows.start - first, rows.stop - first), own.stop - first)
            for rows, own in side.class_runs(first, last)
        ]
        # With t = d2 - b the loss is log(1 + e^-t), plus t for the similar pairs.
        T -= b
        corner[seen] = 0
        loss = sum(float(T[rows, :similar].sum()) for rows, similar in runs)
        if b > far:  # there log(1 + e^-t) is -t
            loss -= float(np.minimum(T + far, 0).sum())
        corner[seen] = far
        np.clip(T, -far, far, out=T)
        np.negative(T, out=T)
        np.exp(T, out=T)
        T += 1
        loss += float(np.log(T).sum())
        np.reciprocal(T, out=T)
        for rows, similar in runs:
            T[rows, similar:] -= 1
        corner[seen] = 0
        return loss

    loss, product, degrees = _product(weigh, Z, V, upper=True)
    return loss, product, -float(degrees.sum(dtype=np.float64)) / 2


def lsi(Z: np.ndarray, V: np.ndarray, side: Side, eps: float) -> tuple[float, np.ndarray, float]:
    """Return what ``engine.laplacian_product`` does for ``learners.lsi.DistanceRule``."""

    def weigh(T: np.ndarray, first: int, last: int) -> float:
        loss = 0.0
        for rows, own in side.class_runs(first, last):
            here, after = slice(rows.start - first, rows.stop - first), own.stop - first
            T[here, :after] = 0  # the same class, or pairs that another block holds
            R = T[here, after:]
            np.maximum(R, 0, out=R)
            R += eps
            np.sqrt(R, out=R)
            loss += float(R.sum(dtype=np.float64))
            np.divide(0.5, R, out=R, where=R > 0)
        return loss

    return *_product(weigh, Z, V, upper=True)[:2], 0.0


def softmin(
    Z: np.ndarray, V: np.ndarray, side: Side, mu: float, left_out: np.ndarray
) -> tuple[float, float, np.ndarray]:
    r"""Return the least squared distance of different classes, and weights relative to it.

    Weights are :math:`e^{-d^2 / \mu}`: their sum, and their Laplacian times V. Pairs ``left_out``,
    of shape (m, 2), the smaller number first and ascending, do not count.
    """
    pairs = _AllPairs(Z, V, upper=True)

    def work(firsts: Iterator[int]) -> tuple[float, np.ndarray]:
        least, total = np.inf, pairs.zeros()
        for rows, columns, W in pairs.blocks(firsts):
            first, last = rows.start, rows.stop
            for own_rows, own in side.class_runs(first, last):
                W[own_rows.start - first : own_rows.stop - first, : own.stop - first] = np.inf
            some = left_out[slice(*np.searchsorted(left_out[:, 0], [first, last]))] - first
            W[some[:, 0], some[:, 1]] = np.inf
            low = max(0.0, float(W.min()))
            if low == np.inf or low > least + SOFTMIN_REACH * mu:  # no near pair in this block
                continue
            if low < least:
                total *= np.exp((low - least) / mu)
                least = low
            np.subtract(least, W, out=W)
            W /= mu
            np.clip(W, -700, 0, out=W)  # smaller weights do not matter, and are slow to compute
            np.exp(W, out=W)
            pairs.add(total, rows, columns, W)
        return least, total

    parts = over_row_blocks(work, len(Z))
    least = min(part[0] for part in parts)
    shares = [np.exp((least - low) / mu) if low < np.inf else 0.0 for low, _ in parts]
    total = np.sum([share * part for share, (_, part) in zip(shares, parts, strict=True)], axis=0)
    return least, float(total[:, -1].sum()) / 2, pairs.laplacian_product(total)
