"""Neighbours of some queries, as a ragged array."""

import sys
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from dimetric._arrays.compiled import import_compiled
from dimetric._arrays.row_order import EqualRows

MAX_GATHERED_VALUES = 2**20  # values of neighbours in memory at once


@dataclass(frozen=True)
class NeighborBlock:
    """All neighbours of some queries, up to and including those tied at the k-th distance.

    The neighbours of query i are the entries ``starts[i]`` to ``starts[i + 1] - 1``, nearest first.
    """

    queries: np.ndarray  # (b,) row numbers of the queries
    starts: np.ndarray  # (b + 1,)
    points: np.ndarray  # (e,) row numbers of the points
    distances: np.ndarray  # (e,)
    counts: np.ndarray  # (e,) numbers of equal points, without the query itself
    width: int | None = None  # number of entries of each query, if all counts are 1

    @cached_property
    def owners(self) -> np.ndarray:
        """For each entry, the position of its query in `queries`."""
        return np.repeat(np.arange(len(self.queries)), np.diff(self.starts))

    def at_entries(self, values: np.ndarray) -> np.ndarray:
        """Return values of the queries for each of their entries."""
        return values[self.owners] if self.width is None else np.repeat(values, self.width)

    @cached_property
    def ranks(self) -> tuple[np.ndarray, np.ndarray]:
        """The first rank of each entry among those of its query, and the last plus 1."""
        last = np.cumsum(self.counts)
        before = np.append(0, last)[self.starts[:-1]]
        last = last - before[self.owners]
        return last - self.counts, last

    def kth(self, k: int) -> np.ndarray:
        """Return the k-th distance of each query."""
        if self.width is not None:
            return self.distances.reshape(-1, self.width)[:, k - 1]
        first, last = self.ranks
        return self.distances[(first < k) & (last >= k)]

    def listed(self, k: int, n: int, equal: EqualRows | None) -> tuple[np.ndarray, np.ndarray]:
        """Return the nearest points of each query, by distance, then by row number.

        Parameters
        ----------
        k : int
            Number of neighbours.
        n : int
            Number of points to return: k, or k + 1 if each query is among its points.
        equal : EqualRows or None
            Groups of equal points, if the points of the block are such groups.

        Returns
        -------
        distances, points : ndarray of shape (b, n)
        """
        if self.width is not None:
            D, points = self.distances.reshape(-1, self.width), self.points.reshape(-1, self.width)
            return D[:, :n], points[:, :n]
        points, values, owners = self.points, self.distances, self.owners
        if equal is not None:
            counts = np.minimum(equal.counts[points], n)
            counts = np.where(values <= self.kth(k)[owners], counts, 0)
            points = equal.members(points, counts)
            values, owners = np.repeat(values, counts), np.repeat(owners, counts)
        order = np.lexsort((points, values, owners))
        starts = np.searchsorted(owners, np.arange(len(self.queries)))
        order = order[starts[:, None] + np.arange(n)]
        return values[order], points[order]

    def ranked(self, k: int) -> np.ndarray:
        """Return the k smallest distances of each query, of shape (b, k)."""
        first, last = self.ranks
        repeats = np.clip(np.minimum(last, k) - first, 0, None)
        return np.repeat(self.distances, repeats).reshape(-1, k)

    def split(self, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return which entries are nearer than `low`, and which are between `low` and `high`.

        Both distances are given for each query.
        """
        if self.width is not None:  # broadcasting is faster than repeating
            D, low, high = self.distances.reshape(-1, self.width), low[:, None], high[:, None]
        else:
            D, low, high = self.distances, self.at_entries(low), self.at_entries(high)
        nearer = low > D
        return nearer.ravel(), (~nearer & (high >= D)).ravel()

    def can_share_compiled(self, values: Any) -> bool:
        """Return whether :meth:`shared_sums` supports the block and these values of points."""
        return self.width is not None and _compiled_for(values) is not None

    def shared_sums(self, values: np.ndarray, k: int, tolerance: np.ndarray) -> np.ndarray:
        """Return the sums of the values of the k nearest points of each query, all of weight 1.

        :class:`Shares` does the same without numba. `tolerance` is that of the k-th distances.
        """
        shape = len(self.queries), self.width or 0
        D, points = self.distances.reshape(shape), self.points.reshape(shape)
        values = np.ascontiguousarray(values, dtype=np.float64)
        return _compiled_for(values).shared_sums(D, points, k, tolerance, values)

    def n_points(self, chosen: np.ndarray) -> np.ndarray:
        """Return the number of points of each query in the chosen entries."""
        if self.width is not None:
            return np.add.reduceat(chosen, self.starts[:-1], dtype=np.int64)
        return np.add.reduceat(self.counts * chosen, self.starts[:-1])


@dataclass(frozen=True)
class Shares:
    """Weights of the neighbours of some queries. Tied neighbours share the remaining weight."""

    block: NeighborBlock
    weights: np.ndarray  # (e,) weight of each of the equal points of an entry
    n_nearer: np.ndarray  # (b,) numbers of points nearer than the k-th distance
    n_tied: np.ndarray  # (b,) numbers of points at the k-th distance

    def sums(self, values: Any) -> np.ndarray:
        """Return the weighted sums of the values of points, of shape (m, c), for each query."""
        block, weights = self.block, self.weights
        compiled = _compiled_for(values)
        if compiled is not None:
            values = np.ascontiguousarray(values, dtype=np.float64)
            return compiled.weighted_sums(weights, block.points, block.starts, values)
        return self._sums_without_numba(values)

    def _sums_without_numba(self, values: Any) -> np.ndarray:
        block, weights = self.block, self.weights
        is_small = len(weights) * values.shape[1] <= MAX_GATHERED_VALUES
        if block.width is not None and isinstance(values, np.ndarray) and is_small:
            # For few queries, creating a sparse array takes longer than the sums. cumsum() adds
            # the terms in order, as the compiled code does, so that both give the same bits.
            terms = weights[:, None] * values.take(block.points, axis=0)
            return np.cumsum(terms.reshape(len(block.queries), block.width, -1), axis=1)[:, -1]
        shape = len(block.queries), values.shape[0]
        matrix = sparse.csr_array((weights, block.points, block.starts), shape=shape)
        return dense_sums(matrix @ values)


def ordered(D: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Return points in the order of their index where the sorted distances in D are equal.

    Otherwise, the order would depend on the way to search, and so would the last bits of sums.

    Examples
    --------
    >>> ordered(np.array([[0.0, 2.0, 2.0]]), np.array([[5, 9, 4]]))
    array([[5, 4, 9]])
    """
    rows = np.flatnonzero(np.any(D[:, 1:] == D[:, :-1], axis=1))
    if len(rows):
        order = np.lexsort((points[rows], D[rows]))
        points = points.copy()
        points[rows] = np.take_along_axis(points[rows], order, axis=1)
    return points


def _compiled_for(values: Any) -> Any:
    """Return the compiled module, or None. Sums alone are too little work to import numba."""
    if isinstance(values, np.ndarray) and "numba" in sys.modules:
        return import_compiled("neighbors.compiled.query_search")
    return None


def dense_sums(values: Any) -> np.ndarray:
    """Return sums as a dense array."""
    return values.toarray() if sparse.issparse(values) else values
