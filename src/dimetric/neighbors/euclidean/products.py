r"""Exact neighbours of queries among fixed points, by matrix products.

1. Squared distances to all points, up to rounding, come from a matrix product in single precision.
   The nearest k points and a few more are candidates.
2. The distances to the first k candidates are computed in double precision, as sums of squared
   differences.
3. If, according to a bound on the rounding errors, another candidate could be nearer, the
   distances to all candidates are computed in this way.
4. If a point outside the candidates could still be nearer, the query is repeated in double
   precision.

Few queries need steps 3 and 4.

**Rounding.** With centred points, the error of a squared distance from a product depends on the
norms of q and p (:func:`~dimetric._arrays.squared_distances.single_precision_error`). Let r be
the distance from q to the k-th candidate. If a point p is nearer, then :math:`|p| < |q| + r`. Hence
a few points that are far away do not matter.
"""

from collections.abc import Callable, Iterator
from math import frexp
from typing import Any, NamedTuple

import numpy as np

from dimetric._arrays.blocks import row_blocks
from dimetric._arrays.compiled import import_compiled
from dimetric._arrays.squared_distances import single_precision_error, squared_norms
from dimetric._arrays.threads import run_on_threads
from dimetric.neighbors.euclidean import in_numpy
from dimetric.neighbors.euclidean.search import euclidean_neighbors

SPARE_CANDIDATES = 4  # candidates in addition to the k neighbours
TILE_POINTS = 512  # points in a tile; the product with a block of queries fits into the cache
BLOCK_QUERIES = 192
LANE_QUERIES = 48  # for fewer queries, vectors of queries are too short
MAX_PARTS = 4  # parts of the points that several threads search
MIN_PART_NANOSECONDS = 5e5  # for less work, searching the points in parts takes longer
# Several threads are used from this time of all work on, or from this time of the products alone.
# Products divide better among threads, so their limit is lower.
MIN_THREADED_NANOSECONDS, MIN_THREADED_PRODUCT_NANOSECONDS = 5e5, 3e5
PAIR_NANOSECONDS, FEATURE_NANOSECONDS = 0.9, 0.022  # per point of a product
READ_NANOSECONDS = 0.16  # per coordinate of a point, for all queries of a block together
FAR_SQUARED = np.float32(1e30)  # larger than all squared distances
MAX_SQUARED_NORM = 1e29  # of a rescaled query, so that its products are far below FAR_SQUARED


def nanoseconds_per_distance(n_features: int) -> float:
    """Return the approximate time of a product for each distance."""
    return PAIR_NANOSECONDS + FEATURE_NANOSECONDS * n_features


def centre_and_scale(points: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the mean of points, and a power of two that scales centred points to at most 1.

    Examples
    --------
    >>> centre_and_scale(np.array([[1.0], [7.0]]))
    (array([4.]), 0.25)
    """
    centre = points.mean(axis=0, dtype=np.float64)
    largest = max(np.max(points.max(axis=0) - centre), np.max(centre - points.min(0)))
    return centre, 2.0 ** min(-frexp(float(largest))[1], 1023)


class _Candidates(NamedTuple):
    """Candidates for the neighbours of queries, from a product.

    Attributes
    ----------
    rough : ndarray of shape (n_queries, m)
        Squared distances in single precision minus `norms`, in ascending order.
    points : ndarray of shape (n_queries, m)
        Indices of the points.
    norms : ndarray of shape (n_queries,)
        Squared norms of the centred and rescaled queries.
    """

    rough: np.ndarray
    points: np.ndarray
    norms: np.ndarray


class ProductIndex:
    """Search for the points nearest to queries, by matrix products.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        Points of dtype float32 or float64.

    Attributes
    ----------
    tiles : ndarray of shape (n_tiles, d, TILE_POINTS)
        The points, centred and rescaled, in single precision, in tiles of the same size. The last
        tile ends with points that are far away.
    norms : ndarray of shape (n_tiles, TILE_POINTS)
        Squared norms of the points in the tiles.
    """

    def __init__(self, points: np.ndarray) -> None:
        self._points, (n, d) = points, points.shape
        self.centre, self.scale = centre_and_scale(points)
        n_tiles = -(-n // TILE_POINTS)
        self.tiles = np.zeros((n_tiles, d, TILE_POINTS), np.float32)
        self.norms = np.full((n_tiles, TILE_POINTS), FAR_SQUARED)
        for t, b in enumerate(row_blocks(n, TILE_POINTS)):
            rows = ((points[b] - self.centre) * self.scale).astype(np.float32)
            self.tiles[t, :, : len(rows)] = rows.T
            self.norms[t, : len(rows)] = squared_norms(rows.astype(np.float64))

    def nearest(self, Q: np.ndarray, k: int, functions: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return the distances and indices of the k nearest points of every row, nearest first.

        `functions` is the module with the inner loops, compiled or in NumPy.
        """
        n = len(self._points)
        found, distances, indices = self._search(Q, k, functions)
        if k == n:
            return distances, indices
        rows = np.flatnonzero(self._may_be_nearer(found.rough[:, k], found.norms, distances))
        if len(rows):
            near = self._measured(Q[rows], found.points[rows], k, functions)
            distances[rows], indices[rows] = near
        if len(rows) and found.rough.shape[1] < n:
            rough, norms = found.rough[rows, -1], found.norms[rows]
            rows = rows[self._may_be_nearer(rough, norms, distances[rows])]
            if len(rows):
                distances[rows], indices[rows] = self._nearest_in_double(Q[rows], k, functions)
        return distances, indices

    def _search(
        self, Q: np.ndarray, k: int, functions: Any
    ) -> tuple[_Candidates, np.ndarray, np.ndarray]:
        """Return candidates, and the distances and indices of the first k, nearest first."""
        (n_queries, d), points, tiles = Q.shape, self._points, self.tiles
        m = min(k + SPARE_CANDIDATES, len(points))
        search = _search_function(functions, n_queries, m)
        time = len(points) * (n_queries * nanoseconds_per_distance(d) + READ_NANOSECONDS * d)
        product_time = len(points) * n_queries * FEATURE_NANOSECONDS * d
        is_small = time < MIN_THREADED_NANOSECONDS
        is_small = is_small and product_time < MIN_THREADED_PRODUCT_NANOSECONDS
        max_threads = 1 if is_small else None
        n_parts, n_blocks = 1, -(-n_queries // BLOCK_QUERIES)
        if n_blocks == 1:  # threads share the points, or else the queries
            n_parts = max(1, int(min(time / MIN_PART_NANOSECONDS, MAX_PARTS, len(tiles))))
            if n_parts == 1 and max_threads is None:
                n_blocks = max(1, min(2, n_queries // LANE_QUERIES))
        rough = np.full((n_parts, n_queries, m), FAR_SQUARED)
        candidates, norms = np.zeros((n_parts, n_queries, m), np.int32), np.empty(n_queries)
        distances, indices = np.empty((n_queries, k)), np.empty((n_queries, k), np.int64)
        tasks = [
            (part, tiles_of_part, b)
            for part, tiles_of_part in enumerate(row_blocks(len(tiles), -(-len(tiles) // n_parts)))
            for b in row_blocks(n_queries, -(-n_queries // n_blocks))
        ]

        def work(tasks: Iterator[tuple[int, slice, slice]]) -> None:
            for part, t, b in tasks:
                block, first = np.ascontiguousarray(Q[b]), t.start * TILE_POINTS
                A = functions.rescaled(block, self.centre, self.scale, norms[b])
                if not norms[b].max() < MAX_SQUARED_NORM:  # written so that NaN is too large
                    A[~(norms[b] < MAX_SQUARED_NORM)] = 0  # nearest() repeats these queries
                search(A, tiles[t], self.norms[t], rough[part, b], candidates[part, b], first)
                if n_parts == 1:
                    first_k = np.ascontiguousarray(candidates[0, b, :k])
                    functions.measure_nearest(block, points, first_k, distances[b], indices[b])

        run_on_threads(work, tasks, max_threads=max_threads, shared_queue=True)
        if n_parts == 1:
            return _Candidates(rough[0], candidates[0], norms), distances, indices
        found = _Candidates(*in_numpy.merged(rough, candidates), norms)
        return found, *self._measured(Q, found.points[:, :k], k, functions)

    def _may_be_nearer(
        self, rough: np.ndarray, norms: np.ndarray, distances: np.ndarray
    ) -> np.ndarray:
        """Return whether points with a rough distance could be nearer than the k-th exact one."""
        kth = self.scale * distances[:, -1]
        with np.errstate(over="ignore", invalid="ignore"):
            lengths = np.sqrt(norms)
            error = single_precision_error(self._points.shape[1], lengths, lengths + kth)
            # Written so that NaN counts as nearer. Queries too large for float32 yield NaN.
            return ~((rough + norms - error >= kth**2) & (norms < MAX_SQUARED_NORM))

    def _nearest_in_double(
        self, Q: np.ndarray, k: int, functions: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the distances and indices of the k nearest points, found in double precision."""
        points = self._points.astype(np.float64, copy=False)
        with np.errstate(over="ignore", invalid="ignore"):
            found = euclidean_neighbors(Q.astype(np.float64, copy=False), k, points)[1]
        return self._measured(Q, found.astype(np.int32), k, functions)

    def _measured(
        self, Q: np.ndarray, candidates: np.ndarray, k: int, functions: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the distances and indices of the k nearest candidates of every row of Q."""
        distances, indices = np.empty((len(Q), k)), np.empty((len(Q), k), np.int64)
        Q, candidates = np.ascontiguousarray(Q), np.ascontiguousarray(candidates)
        functions.measure_nearest(Q, self._points, candidates, distances, indices)
        return distances, indices


def _search_function(functions: Any, n_queries: int, m: int) -> Callable[..., None]:
    """Return the fastest function that keeps the m smallest squared distances of each query."""
    if functions is not in_numpy and n_queries >= LANE_QUERIES:
        lanes = import_compiled("neighbors.compiled.query_lanes")
        if lanes is not None and m <= TILE_POINTS // lanes.GROUP_POINTS:
            return lanes.keep_smallest_of_many
    return functions.keep_smallest_of_queries
