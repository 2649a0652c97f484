r"""Nearest neighbours of queries. Points that are tied at the k-th distance share weight.

If :math:`a` points are nearer than the k-th distance and :math:`t` points are at it, each of these
t tied points has the weight :math:`(k - a) / t`. So results do not depend on the order of points.

**Ties.** Distances that are equal in exact arithmetic can differ by rounding errors. So distances
count as equal if they differ by at most a tolerance. For a query q with the k-th distance d, the
tolerance is

.. math:: \tau\, (d + s) + 16\, \epsilon\, |q|

The first term bounds the errors of distances, and of the map if a learner mapped the samples.
:math:`\tau` is :math:`2^{-42} = 1024\,\epsilon` in double and :math:`2^{-18} = 32\,\epsilon` in
single precision, where :math:`\epsilon` is the machine epsilon of the samples' dtype. Large terms
of a map can cancel, so its errors are relative to s, the median norm of all mapped points. Without
a map, s is 0. The second term bounds the errors of the query's coordinates, for example after
scaling. Features that are constant do not count in :math:`|q|`, because they do not contribute to
distances.

Points are tied if their distances, smaller or larger, are within the tolerance of the k-th.

**Cost.** Equal points are searched only once. Without ties, the cost is that of a search for k + 1
neighbours. If a search needs more than `MAX_COLUMNS` neighbours to find all tied points of a query,
the distances to all distinct points are computed instead.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from dimetric._arrays.blocks import row_blocks
from dimetric._arrays.namespaces import Array, smallest_in_rows
from dimetric._arrays.row_order import equal_rows
from dimetric.neighbors.index import NeighborIndex
from dimetric.neighbors.metric_search import Metric
from dimetric.neighbors.neighbor_block import NeighborBlock, Shares, dense_sums, ordered
from dimetric.neighbors.queries import Queries

MAX_DISTANCES_PER_BLOCK = 2**22  # 32 MiB in float64
COLUMN_GROWTH = 4  # factor by which each repeated search increases the number of neighbours
MAX_COLUMNS = 64  # largest number of neighbours in a repeated search
MIN_GROUPED_QUERIES = 32  # for fewer queries, finding equal points takes longer than the search

# Returns the weights of neighbours, given their distances. Both arrays have shape (n, k).
WeightFunction = Callable[[np.ndarray], np.ndarray]


class Neighborhoods:
    """The k nearest points of each query, and all points that are tied with the k-th.

    Parameters
    ----------
    Z : array or sparse array of shape (n, d)
        Queries, in any namespace. With ``metric="precomputed"``, their distances to the points.
    k : int
        Largest number of neighbours that is needed.
    points : array or sparse array of shape (m, d), optional
        Points to search. By default, Z itself is searched, and a row is not its own neighbour.
    metric, metric_params
        A metric of :class:`sklearn.neighbors.NearestNeighbors` and its parameters.
    is_mapped : bool, default=False
        Whether the samples were mapped by a learner. See the tolerance above.
    index : NeighborIndex, optional
        The points, or Z if there are none, prepared by an earlier search. The metric, its
        parameters and `is_mapped` are then those of the index. The points may be in another
        namespace than those of the index.

    Examples
    --------
    >>> X, y = np.array([[3.0], [1.0], [1.0], [1.0]]), np.array([9.0, 1.0, 2.0, 6.0])
    >>> near = Neighborhoods(np.array([[0.0]]), 2, X)
    >>> near.listed(2)[1]
    array([[1, 2]])
    >>> near.sums(y[:, None], 2)  # two thirds of 1 + 2 + 6
    array([[6.]])
    """

    def __init__(
        self,
        Z: Array,
        k: int,
        points: Array | None = None,
        *,
        metric: Metric = "euclidean",
        metric_params: dict[str, Any] | None = None,
        is_mapped: bool = False,
        index: NeighborIndex | None = None,
    ) -> None:
        self.k, self._n = k, Z.shape[0]
        self._excludes_self = points is None
        built = index is not None
        index = index or NeighborIndex(
            Z if points is None else points, metric, metric_params, is_mapped=is_mapped
        )
        many = self._n >= MIN_GROUPED_QUERIES and index.metric != "precomputed"
        # Without an index from earlier, finding equal points pays only for many queries.
        self._equal = index.equal if built or many or points is None else None
        self._totals = index.totals if self._equal is not None else lambda values: values
        # Equal queries are rare if all points differ, and then cost little.
        group_queries = many and points is not None and (not built or self._equal is not None)
        equal_queries = equal_rows(Z) if group_queries else None
        self._equal_queries = self._equal if points is None else equal_queries
        on_same_points = points is index.points
        if self._equal is not None and points is not None:
            points = index.distinct if on_same_points else self._equal.distinct(points)
        self._query = Queries(
            Z if self._equal_queries is None else self._equal_queries.distinct(Z),
            points,
            index.metric,
            index.metric_params,
            index.spread,
            index.varies if on_same_points and index.metric != "precomputed" else None,
            index.euclidean if built and (on_same_points or index.is_approximate) else None,
        )
        self._complete, self._wide = self._searched()

    def listed(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the k nearest points of each query, ordered by distance, then by row number.

        Returns
        -------
        distances, indices : ndarray of shape (n, k)
        """
        n_queries, width = self._query.n, k + self._has_own_entries
        distances, indices = np.empty((n_queries, width)), np.empty((n_queries, width), np.int64)
        for block in self._blocks():
            listed = block.listed(k, width, self._equal)
            distances[block.queries], indices[block.queries] = listed
        if self._equal_queries is not None:
            index = self._equal_queries.index
            distances, indices = distances[index], indices[index]
        if self._has_own_entries:
            others = indices != np.arange(self._n)[:, None]
            others[np.all(others, axis=1), -1] = False
            distances, indices = distances[others], indices[others]
        distances = distances.reshape(-1, k).astype(self.dtype, copy=False)
        return distances, indices.reshape(-1, k)

    def sums(self, values: Any, k: int, weights: WeightFunction | None = None) -> np.ndarray:
        """Return the weighted sum of values over the k nearest points. Tied points share weight.

        Parameters
        ----------
        values : ndarray or sparse array of shape (m, c)
            Values of the points.
        k : int
            Number of neighbours, at most that of the constructor.
        weights : callable, optional
            Function that returns the weights of neighbours from their distances. Distances that are
            0 up to rounding are passed as 0. By default, all weights are 1.

        Returns
        -------
        sums : ndarray of shape (n, c)
        """
        n_queries = self._query.n
        at_points = self._totals(values)
        sums, own = np.empty((n_queries, values.shape[1])), np.zeros(n_queries)
        rank_weights = None if weights is None else self._rank_weights(k, weights)
        for block in self._blocks():
            b = block.queries
            if rank_weights is None and block.can_share_compiled(at_points):
                tolerance = self._query.tolerance(b, block.kth(k))
                sums[b] = block.shared_sums(at_points, k, tolerance)
                continue
            shares = self._shares(block, k, None if rank_weights is None else rank_weights[b])
            sums[b] = shares.sums(at_points)
            if self._has_own_entries:
                own[b] = shares.weights[block.starts[:-1]]
        if self._equal_queries is not None:
            index = self._equal_queries.index
            sums, own = sums[index], own[index]
        if self._has_own_entries:
            sums -= dense_sums(values * own[:, None])
        return sums

    def sums_between(self, values: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Return the sum of the values of the points whose distances are between two bounds.

        `values` has shape (m,). The bounds, of shape (n,), are at most the k-th distance of each
        query, up to the tolerance.
        """
        first = np.arange(self._n) if self._equal_queries is None else self._equal_queries.first
        low, high = low[first], high[first]
        at_points = values if self._equal is None else self._equal.totals(values)
        sums, has_own = np.empty(self._query.n), np.zeros(self._query.n)
        for block in self._blocks():
            queries, first = block.queries, block.starts[:-1]
            inside = block.split(low[queries], high[queries])[1]
            sums[queries] = np.add.reduceat(at_points[block.points] * inside, first)
            has_own[queries] = inside[first]
        index = slice(None) if self._equal_queries is None else self._equal_queries.index
        return sums[index] - has_own[index] * values if self._has_own_entries else sums[index]

    def tolerance(self, distances: np.ndarray) -> np.ndarray:
        """Return the tolerance of a distance of each query."""
        rows = np.arange(self._n) if self._equal_queries is None else self._equal_queries.index
        return self._query.tolerance(rows, distances)

    def shares(self, k: int, weights: np.ndarray | None = None) -> Iterator[Shares]:
        """Yield the weights of the neighbours of blocks of queries.

        Row numbers in a block refer to the distinct rows of Z and of `points`.

        Parameters
        ----------
        k : int
            Number of neighbours.
        weights : ndarray of shape (number of distinct queries, k), optional
            Weights of the k nearest points of each query. By default, all weights are 1.
        """
        for block in self._blocks():
            yield self._shares(block, k, None if weights is None else weights[block.queries])

    def _shares(self, block: NeighborBlock, k: int, weights: np.ndarray | None) -> Shares:
        b, kth = len(block.queries), block.kth(k)
        tolerance = self._query.tolerance(block.queries, kth)
        nearer, tied = block.split(kth - tolerance, kth + tolerance)
        n_nearer, n_tied = block.n_points(nearer), block.n_points(tied)
        if weights is None:
            point_weights = np.where(nearer, 1.0, 0.0)
            tied_weights = (k - n_nearer) / n_tied
        else:
            running = np.cumsum(np.insert(weights, 0, 0.0, axis=1), axis=1)
            owners = block.owners
            first, last = (np.minimum(ranks, k) for ranks in block.ranks)
            sums = running[owners, last] - running[owners, first]
            point_weights = np.where(nearer, sums / np.maximum(block.counts, 1), 0.0)
            tied_weights = (running[:, -1] - running[np.arange(b), n_nearer]) / n_tied
        point_weights = np.where(tied, block.at_entries(tied_weights), point_weights)
        return Shares(block, point_weights, n_nearer, n_tied)

    def _rank_weights(self, k: int, weights: WeightFunction) -> np.ndarray:
        """Return the weights of the k nearest points of each distinct query.

        The function is called once with the distances of all queries, because its weights may
        depend on all of them.
        """
        ranked = np.empty((self._query.n, k))
        for block in self._blocks():
            near = block.ranked(k)
            zero = self._query.tolerance(block.queries, np.zeros(len(near)))[:, None]
            ranked[block.queries] = np.where(near <= zero, 0, near)
        ranked = ranked.astype(self.dtype, copy=False)
        if self._equal_queries is None:
            return weights(ranked)
        return weights(ranked[self._equal_queries.index])[self._equal_queries.first]

    @property
    def dtype(self) -> np.dtype:
        """The dtype of distances."""
        return self._query.dtype

    @property
    def _has_own_entries(self) -> bool:
        """Whether a block lists each query as its own neighbour, to count the rows equal to it."""
        return self._excludes_self and self._equal is not None

    def _searched(self) -> tuple[list[NeighborBlock], np.ndarray]:
        """Return blocks of queries with all their tied points, and the queries with too many."""
        available = self._query.n_points - self._excludes_self
        rows, width = np.arange(self._query.n), min(self.k + 1, available)
        blocks: list[NeighborBlock] = []
        while True:
            D, points = self._query.nearest(width, None if len(rows) == self._query.n else rows)
            block = self._block(rows, D, points)
            if width == available:
                return [*blocks, block], rows[:0]
            kth = block.kth(self.k)
            complete = D[:, -1] > kth + self._query.tolerance(rows, kth)
            if np.all(complete):
                return [*blocks, block], rows[:0]
            if np.any(complete):
                blocks.append(self._block(rows[complete], D[complete], points[complete]))
            rows = rows[~complete]
            width = min(COLUMN_GROWTH * width, available)
            if width > MAX_COLUMNS:
                return blocks, rows

    def _blocks(self) -> Iterator[NeighborBlock]:
        """Yield the neighbours of all queries."""
        yield from self._complete
        size = max(1, MAX_DISTANCES_PER_BLOCK // self._query.n_points)
        for part in row_blocks(len(self._wide), size):
            rows = self._wide[part]
            D = self._query.all_distances(rows)
            kth = self._block(rows, *smallest_in_rows(D, self.k)).kth(self.k)
            bound = kth + self._query.tolerance(rows, kth)
            widths = np.sum(bound[:, None] >= D, axis=1)
            near, points = smallest_in_rows(D, int(widths.max()))
            yield self._block(rows, near, points, widths)

    def _block(
        self,
        queries: np.ndarray,
        D: np.ndarray,
        points: np.ndarray,
        widths: np.ndarray | None = None,
    ) -> NeighborBlock:
        """Return a block. Each row of D and `points` is sorted, and its first `widths` count."""
        D = D.astype(np.float64, copy=False)
        points = ordered(D, points)
        if self._has_own_entries:
            D = np.insert(D, 0, 0.0, axis=1)
            points = np.insert(points, 0, queries, axis=1)
            widths = None if widths is None else widths + 1
        starts = np.arange(len(queries) + 1) * D.shape[1]
        width = (D.shape[1] or None) if widths is None and self._equal is None else None
        if widths is None:
            D, points = D.ravel(), points.ravel()
        else:
            used = np.arange(D.shape[1]) < widths[:, None]
            D, points = D[used], points[used]
            starts = np.append(0, np.cumsum(widths))
        counts = np.ones(len(points), np.int64)
        if self._equal is not None:
            counts = self._equal.counts[points]
        if self._has_own_entries:
            counts[starts[:-1]] -= 1
        return NeighborBlock(queries, starts, points, D, counts, width)
