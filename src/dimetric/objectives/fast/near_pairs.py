r"""Softmax weights of near pairs only, for maps under which most weights vanish.

A sample i picks a neighbour j with a probability proportional to :math:`e^{-d^2_{ij}}`. Under the
maps that NCA learns, a sample has only a few neighbours with a probability above rounding errors.
A float32 matrix product finds the pairs whose squared distances are near the smallest one of their
row. Everything else is computed for these pairs alone, in the precision of the points. The
probabilities that are left out add up to less than 1e-13 in each row.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy import sparse

from dimetric._arrays.squared_distances import left_factor, right_factor, squared_norms
from dimetric.objectives.fast.all_pairs import BLOCK_ROWS, over_row_blocks

MIN_SAMPLES = 500  # with fewer samples, a product with all pairs takes no longer
MAX_FRACTION = 0.01  # if more pairs are near, products with all pairs take less time
CUTOFF = 30.0  # e^-30 is about 1e-13
MAX_FLOAT32_ERROR = 1.0  # of squared distances that only select pairs
PAIRS_PER_PRODUCT = 2**17  # bounds the memory for pairs


@dataclass(frozen=True)
class NearPairs:
    """Near pairs of consecutive rows, sorted by row.

    Attributes
    ----------
    rows : slice
        The rows. Each has at least one pair.
    starts : ndarray of shape (b,)
        The first pair of each row.
    columns : ndarray of shape (m,)
        The column of each pair.
    squared_distances : ndarray of shape (m,)
        Squared distance of each pair.
    """

    rows: slice
    starts: np.ndarray
    columns: np.ndarray
    squared_distances: np.ndarray

    def by_pair(self, by_row: np.ndarray) -> np.ndarray:
        """Return, for each pair, the number of its row."""
        return np.repeat(by_row, self.counts())

    def counts(self) -> np.ndarray:
        """Return the number of pairs of each row."""
        return np.diff(self.starts, append=len(self.columns))

    def row_sums(self, by_pair: np.ndarray) -> np.ndarray:
        """Return the sum of the numbers of the pairs of each row."""
        return np.add.reduceat(by_pair, self.starts)

    def nearest(self) -> np.ndarray:
        """Return the smallest squared distance of each row."""
        return np.minimum.reduceat(self.squared_distances, self.starts)


class NearPairSearch:
    """Find the pairs of points that are near, relative to the nearest neighbour of the row.

    Parameters
    ----------
    Z : ndarray of shape (n, k)
        Points, centred.
    """

    def __init__(self, Z: np.ndarray) -> None:
        n, k = Z.shape
        self._Z = Z
        # Bound of the rounding errors of squared distances, which are products of k + 2 terms.
        largest = 4 * float(np.max(squared_norms(Z)))
        error = (k + 4) * float(np.finfo(np.float32).eps) * largest
        dtype = np.float32 if error <= MAX_FLOAT32_ERROR else Z.dtype
        self._left = left_factor(Z).astype(dtype)
        self._right = np.ascontiguousarray(right_factor(Z).T, dtype=dtype)
        self._reach = CUTOFF + float(np.log(n)) + 2 * min(error, MAX_FLOAT32_ERROR)

    @classmethod
    def if_few(cls, Z: np.ndarray) -> Self | None:
        """Return a search if few pairs are near, judged by some of the rows, else None."""
        n = len(Z)
        if n < MIN_SAMPLES or not np.all(np.isfinite(squared_norms(Z))):
            return None
        search = cls(Z)
        rows = np.arange(0, n, 1 + n // BLOCK_ROWS)
        is_near = np.empty((len(rows), n), np.bool_)
        search._compare(rows, search._left[rows] @ search._right, is_near)
        return search if np.mean(is_near) <= MAX_FRACTION else None

    def blocks(self, firsts: Iterator[int]) -> Iterator[NearPairs]:
        """Yield the near pairs of blocks of rows."""
        Z, (n, k) = self._Z, self._Z.shape
        # New arrays in every block would take much of the time, so blocks share buffers.
        D, is_near = (np.empty((min(BLOCK_ROWS, n), n), t) for t in (self._left.dtype, np.bool_))
        differences = ends = np.empty((0, k), Z.dtype)
        for first in firsts:
            block = slice(first, min(first + BLOCK_ROWS, n))
            size = block.stop - first
            np.matmul(self._left[block], self._right, out=D[:size])
            self._compare(np.arange(first, block.stop), D[:size], is_near[:size])
            rows, columns = np.divmod(np.flatnonzero(is_near[:size]), n)
            m = len(rows)
            if m > len(differences):
                differences, ends = (np.empty((2 * m, k), Z.dtype) for _ in range(2))
            np.take(Z, first + rows, axis=0, out=differences[:m], mode="clip")
            np.take(Z, columns, axis=0, out=ends[:m], mode="clip")
            np.subtract(differences[:m], ends[:m], out=differences[:m])
            squares = np.einsum("ij,ij->i", differences[:m], differences[:m])
            yield NearPairs(block, np.searchsorted(rows, np.arange(size)), columns, squares)

    def _compare(self, rows: np.ndarray, D: np.ndarray, is_near: np.ndarray) -> None:
        """Find out which squared distances D of some rows are near the smallest one of the row."""
        D[np.arange(len(rows)), rows] = np.inf
        np.less_equal(D, D.min(axis=1, keepdims=True) + D.dtype.type(self._reach), out=is_near)


def near_product(
    weigh: Callable[[NearPairs], tuple[float, np.ndarray]], search: NearPairSearch, V: np.ndarray
) -> tuple[float, np.ndarray]:
    """Return a loss, and the Laplacian of its weights W times V.

    ``weigh(pairs)`` returns the loss of some rows, and the weights of their pairs.
    """
    V1 = np.hstack([V, np.ones_like(V[:, :1])])

    def work(firsts: Iterator[int]) -> tuple[float, np.ndarray]:
        loss, total = 0.0, np.zeros_like(V1)
        blocks: list[NearPairs] = []
        weights: list[np.ndarray] = []
        for pairs in search.blocks(firsts):
            block_loss, W = weigh(pairs)
            loss += block_loss
            blocks.append(pairs)
            weights.append(W)
            if sum(map(len, weights)) >= PAIRS_PER_PRODUCT:
                _add_product(total, V1, blocks, weights)
                blocks, weights = [], []
        if blocks:
            _add_product(total, V1, blocks, weights)
        return loss, total

    results = over_row_blocks(work, len(V))
    total = np.sum([result[1] for result in results], axis=0)
    return sum(result[0] for result in results), total[:, -1:] * V - total[:, :-1]


def _add_product(
    total: np.ndarray, V1: np.ndarray, blocks: list[NearPairs], weights: list[np.ndarray]
) -> None:
    """Add the products of sparse weights, and of their transpose, with V1 to the total."""
    rows = np.concatenate([np.arange(pairs.rows.start, pairs.rows.stop) for pairs in blocks])
    ends = np.cumsum(np.concatenate([pairs.counts() for pairs in blocks]))
    columns = np.concatenate([pairs.columns for pairs in blocks])
    parts = np.concatenate(weights), columns, np.concatenate([[0], ends])
    W = sparse.csr_array(parts, shape=(len(rows), len(V1)))
    total[rows] += W @ V1
    total += W.T @ V1[rows]
