r"""Softmax rules by a symmetric kernel matrix, which takes two thirds of the matrix products.

A sample i picks a neighbour j with the probability :math:`p_{ij} = K_{ij} / s_i`, where
:math:`K_{ij} = e^{-d^2_{ij}}` and :math:`s_i = \sum_{l \ne i} K_{il}`. K is symmetric. If the
weights W of a rule are K times a term for each row, then :math:`W + W^T` is K times the sum of a
term of the row and one of the column. So the upper triangle is enough: a first pass computes the
sums, and a second pass multiplies. The second pass computes K again, unless there are so few
samples that the first one kept it.
"""

from collections.abc import Iterator

import numpy as np

from dimetric._arrays.compiled import exp_in_place
from dimetric.objectives.fast.all_pairs import (
    BLOCK_ROWS,
    EXPONENT_FRACTION,
    AllPairs,
    over_row_blocks,
)
from dimetric.objectives.side import Side

MAX_KEPT_BYTES = 2**25  # of the kernel; about 2,800 samples in float64, and 4,000 in float32


class KernelPairs:
    """The kernel of all pairs of points, without the pairs of a point with itself.

    Parameters
    ----------
    Z : ndarray of shape (n, k)
        Points.
    V : ndarray of shape (n, m)
        Matrix that is multiplied by the Laplacian.
    half : bool, default=False
        See :func:`dimetric.objectives.fast.all_pairs.weighted_product`.
    """

    def __init__(self, Z: np.ndarray, V: np.ndarray, *, half: bool = False) -> None:
        self._pairs, self._dtype = AllPairs(Z, V, upper=True, half=half), Z.dtype
        self._lowest = 2 * EXPONENT_FRACTION * float(np.log(np.finfo(Z.dtype).tiny))
        # Smaller sums have lost digits to the smallest exponent.
        self.smallest_sum = float(np.exp(self._lowest / 2))
        n_entries = _first_entry(len(Z) + BLOCK_ROWS, len(Z))  # enough for a last block of any size
        is_small = n_entries * Z.dtype.itemsize <= MAX_KEPT_BYTES
        self._memory = np.empty(n_entries, Z.dtype) if is_small else None
        self._is_kept = False  # whether the memory holds the kernel

    def _kept_block(self, first: int) -> np.ndarray:
        """Return the memory of the block of a first row."""
        assert self._memory is not None
        n, start = self._pairs.n, _first_entry(first, self._pairs.n)
        shape = min(BLOCK_ROWS, n - first), n - first
        return self._memory[start : start + shape[0] * shape[1]].reshape(shape)

    def _blocks(self, firsts: Iterator[int]) -> Iterator[tuple[slice, slice, np.ndarray]]:
        """Yield rows, columns and kernel of blocks. Columns start at the first row."""
        if self._is_kept:
            for first in firsts:
                K = self._kept_block(first)
                yield slice(first, first + len(K)), slice(first, self._pairs.n), K
            return
        memory = None if self._memory is None else self._kept_block
        for rows, columns, K in self._pairs.blocks(firsts, memory):
            np.negative(K, out=K)
            np.clip(K, self._lowest, 0, out=K)
            exp_in_place(K, self._pairs.n)
            np.fill_diagonal(K, 0)
            yield rows, columns, K

    def sums(self) -> np.ndarray:
        """Return the sum of the kernel over all other points, for each point."""
        n = self._pairs.n

        def work(firsts: Iterator[int]) -> np.ndarray:
            sums = np.zeros(n)
            for rows, _, K in self._blocks(firsts):
                sums[rows] += K.sum(axis=1)
                sums[rows.stop :] += K[:, rows.stop - rows.start :].sum(axis=0)
            return sums

        total = np.sum(over_row_blocks(work, n), axis=0)
        self._is_kept = self._memory is not None
        return np.asarray(total)

    def sums_by_class(self, side: Side) -> tuple[np.ndarray, np.ndarray]:
        """Return, for each point, the sums over all other points and over those of its class."""
        n = self._pairs.n

        def work(firsts: Iterator[int]) -> np.ndarray:
            sums = np.zeros((2, n))
            for rows, columns, K in self._blocks(firsts):
                first, last = columns.start, rows.stop
                sums[0, rows] += K.sum(axis=1)
                sums[0, last:] += K[:, last - first :].sum(axis=0)
                for run, members in side.class_runs(first, last):
                    part = K[run.start - first : run.stop - first]
                    here = slice(max(members.start - first, 0), members.stop - first)
                    sums[1, run] += part[:, here].sum(axis=1)
                    after = slice(last, max(last, members.stop))
                    sums[1, after] += part[:, last - first : after.stop - first].sum(axis=0)
            return sums

        total = np.sum(over_row_blocks(work, n), axis=0)
        self._is_kept = self._memory is not None
        return total[0], total[1]

    def product(
        self, terms: np.ndarray, class_terms: np.ndarray | None = None, side: Side | None = None
    ) -> np.ndarray:
        r"""Return the Laplacian of :math:`K_{ij} (a_i + a_j)` times V.

        Parameters
        ----------
        terms : ndarray of shape (n,)
            The numbers :math:`a_i`.
        class_terms : ndarray of shape (n,), optional
            Other numbers :math:`a_i` for pairs of the same class.
        side : Side, optional
            The classes of the points, for `class_terms`.
        """
        pairs, n = self._pairs, self._pairs.n
        a = terms.astype(self._dtype)
        c = None if class_terms is None else class_terms.astype(self._dtype)

        def work(firsts: Iterator[int]) -> np.ndarray:
            total, buffer = pairs.zeros(), np.empty(0, self._dtype)
            for rows, columns, K in self._blocks(firsts):
                if K.size > buffer.size:
                    buffer = np.empty(K.size, self._dtype)
                factors = np.add.outer(a[rows], a[columns], out=buffer[: K.size].reshape(K.shape))
                first = rows.start
                if c is not None and side is not None:
                    for run, members in side.class_runs(first, rows.stop):
                        same = slice(max(members.start, first), members.stop)
                        of_class = factors[run.start - first : run.stop - first]
                        of_class = of_class[:, same.start - first : same.stop - first]
                        np.add.outer(c[run], c[same], out=of_class)
                K *= factors
                pairs.add_symmetric(total, rows, K)
            return total

        total = np.sum(over_row_blocks(work, n), axis=0)
        self._is_kept = False  # the weights have overwritten the kernel
        return pairs.laplacian_product(total)


def _first_entry(first: int, n: int) -> int:
    """Return the number of entries in the blocks of the upper triangle before a first row."""
    return first * n - first * (first - BLOCK_ROWS) // 2
