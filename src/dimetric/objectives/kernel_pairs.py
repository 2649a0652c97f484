r"""Softmax rules by a symmetric kernel matrix, which takes two thirds of the matrix products.

A sample i picks a neighbour j with the probability :math:`p_{ij} = K_{ij} / s_i`, where
:math:`K_{ij} = e^{-d^2_{ij}}` and :math:`s_i = \sum_{l \ne i} K_{il}`. K is symmetric. If the
weights W of a rule are K times a term for each row, then :math:`W + W^T` is K times the sum of a
term of the row and one of the column. So the upper triangle is enough: a first pass computes the
sums, and a second pass computes K again and multiplies.
"""

from collections.abc import Iterator

import numpy as np

from dimetric.objectives.fast_paths import EXPONENT_FRACTION, AllPairs, over_row_blocks
from dimetric.objectives.side import Side


class KernelPairs:
    """The kernel of all pairs of points, without the pairs of a point with itself.

    Parameters
    ----------
    Z : ndarray of shape (n, k)
        Points.
    V : ndarray of shape (n, m)
        Matrix that is multiplied by the Laplacian.
    """

    def __init__(self, Z: np.ndarray, V: np.ndarray) -> None:
        self._pairs, self._dtype = AllPairs(Z, V, upper=True), Z.dtype
        self._lowest = 2 * EXPONENT_FRACTION * float(np.log(np.finfo(Z.dtype).tiny))
        # Smaller sums have lost digits to the smallest exponent.
        self.smallest_sum = float(np.exp(self._lowest / 2))

    def _blocks(self, firsts: Iterator[int]) -> Iterator[tuple[slice, slice, np.ndarray]]:
        """Yield rows, columns and kernel of blocks. Columns start at the first row."""
        for rows, columns, K in self._pairs.blocks(firsts):
            np.negative(K, out=K)
            np.clip(K, self._lowest, 0, out=K)
            np.exp(K, out=K)
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

        return np.asarray(np.sum(over_row_blocks(work, n), axis=0))

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

        return pairs.laplacian_product(np.sum(over_row_blocks(work, n), axis=0))
