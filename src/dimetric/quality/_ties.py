"""Neighbourhoods of points with tied distances.

If several neighbours of a point are at the same distance, all their orders are equally likely. Each
of them then belongs to the k nearest neighbours with a probability, its share. Shares do not depend
on the order of the rows.
"""

import numpy as np

from dimetric.quality._distances import Rounding, with_self_entries


class TiedRanks:
    """Ranges of the ranks that neighbours may have.

    Parameters
    ----------
    D : ndarray of shape (b, n)
        Distances, float64. They are overwritten.
    index : ndarray of shape (b,)
        Column of the point itself in each row. Its rank is n.
    rounding : Rounding
        Rounding errors of the distances.

    Attributes
    ----------
    first, last : ndarray of shape (b, n)
        Smallest and largest rank of each column. Ranks start at 1.
    sizes, places : ndarray of shape (b, n)
        Entry K - 1 describes the columns whose ranges contain K: their number, and how many of them
        are among the first K.

    Examples
    --------
    >>> rounding = Rounding(1e-15, np.zeros((1, 1)))
    >>> ranks = TiedRanks(np.array([[0.0, 2.0, 1.0, 2.0]]), np.array([0]), rounding)
    >>> ranks.first, ranks.last
    (array([[4, 2, 1, 2]]), array([[4, 3, 1, 3]]))
    """

    def __init__(self, D: np.ndarray, index: np.ndarray, rounding: Rounding) -> None:
        n = D.shape[1]
        D = with_self_entries(D, index, np.inf)
        order = np.argsort(D, axis=1)
        values = np.take_along_axis(D, order, axis=1)[:, :-1]
        starts = np.ones(
            (len(D), n + 1), dtype=bool
        )  # whether a range starts at rank 1, ..., n + 1
        starts[:, 1 : n - 1] = ~rounding.ties(values[:, :-1], values[:, 1:])
        ranks = np.arange(1, n + 1)
        first = np.maximum.accumulate(np.where(starts[:, :-1], ranks, 1), axis=1)
        ends = np.where(starts[:, 1:], ranks, n)
        last = np.minimum.accumulate(ends[:, ::-1], axis=1)[:, ::-1]
        self.sizes, self.places = last - first + 1, ranks - first + 1
        self.first, self.last = np.empty_like(first), np.empty_like(last)
        np.put_along_axis(self.first, order, first, axis=1)
        np.put_along_axis(self.last, order, last, axis=1)

    def shares(self, k: int) -> np.ndarray:
        """Return the probability that each column is among the k nearest."""
        return np.clip((k - self.first + 1) / (self.last - self.first + 1), 0, 1)

    def excesses(self, k: int) -> np.ndarray:
        """Return the mean of rank - k of each column, if its rank is larger than k, otherwise 0."""
        smallest = np.maximum(self.first - k, 1)
        return np.where(self.last > k, (smallest + self.last - k) / 2, 0.0)


def common_neighbors(before: TiedRanks, after: TiedRanks) -> np.ndarray:
    r"""Return the number of common neighbours, for neighbourhoods of size K = 1, ..., n - 1.

    It is :math:`\sum_j \min(p_j, p'_j)`, where :math:`p_j` and :math:`p'_j` are the shares of j in
    the K nearest neighbours before and after. All shares other than 0 and 1 are equal, so it
    suffices to count the neighbours that have them.

    Returns
    -------
    common : ndarray of shape (b, n - 1)

    Examples
    --------
    >>> D, rounding = np.array([[0.0, 2.0, 1.0, 2.0]]), Rounding(1e-15, np.zeros((1, 1)))
    >>> tied = TiedRanks(D.copy(), np.array([0]), rounding)
    >>> untied = TiedRanks(D + [0, 0, 0, 1], np.array([0]), rounding)
    >>> common_neighbors(tied, tied), common_neighbors(tied, untied)
    (array([[1., 2., 3.]]), array([[1. , 1.5, 3. ]]))
    """
    a, b, c, d = before.first, before.last, after.first, after.last
    n = b.shape[1]
    common = _counts_between(np.maximum(b, d), np.full_like(b, n)).astype(np.float64)
    common += _counts_between(np.maximum(a, d), b) * before.places / before.sizes
    common += _counts_between(np.maximum(b, c), d) * after.places / after.sizes
    both = _counts_between(np.maximum(a, c), np.minimum(b, d))
    common += np.minimum(both * before.places / before.sizes, both * after.places / after.sizes)
    return common[:, :-1]


def penalties(near: TiedRanks, far: TiedRanks, k: int) -> np.ndarray:
    r"""Return the sum of the ranks beyond k that near neighbours have in the other space.

    It is :math:`\sum_j \max(0, p_j - p'_j)\, e'_j`, where :math:`p_j` and :math:`p'_j` are the
    shares of j in the k nearest neighbours in both spaces, and :math:`e'_j` is the mean of its rank
    minus k in the second space, if it is not among the k nearest.

    Parameters
    ----------
    near, far : TiedRanks
        Ranks in the first and in the second space.
    k : int
        Number of neighbours.
    """
    lost = np.maximum(near.shares(k) - far.shares(k), 0)
    return np.asarray(np.sum(lost * far.excesses(k), axis=1))


def _counts_between(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return, for K = 1, ..., n, the number of columns of each row with low <= K < high."""
    rows, n = low.shape
    start = (n + 1) * np.arange(rows)[:, None]
    high = np.maximum(low, high)
    size = rows * (n + 1)
    changes = np.bincount((start + low).ravel(), minlength=size)
    changes -= np.bincount((start + high).ravel(), minlength=size)
    return np.cumsum(changes.reshape(rows, n + 1), axis=1)[:, 1:]
