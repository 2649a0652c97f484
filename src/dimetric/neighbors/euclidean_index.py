r"""Euclidean neighbours of new queries among fixed points, which are prepared once.

There are three ways to search, and all are exact:

- **Differences.** For little work, the distances to all points are computed.
- **Products.** Squared distances to all points, up to rounding, come from a matrix product in
  single precision. The nearest k points and a few more are candidates.
- **Tree.** A k-d tree (:mod:`dimetric.neighbors.compiled.tree`) compares only some of the points.

In all cases the distances are sums of squared differences in double precision. If, according to a
bound on the rounding errors, a point outside the candidates of a product could be as near, the
query is repeated in double precision.

**Choice.** The time of a query is about

.. math:: t_{tree} = 7\, s, \qquad t_{product} = n\, (0.9 + 0.022\, d)

nanoseconds. The constants are rounded from a few measurements on one processor. s is the number of
points that a query of the tree compares, the mean over 64 of the points. The tree is used if its
time is less.

**Rounding.** With centred points, the error of a squared distance from a product depends on the
norms of q and p (:func:`~dimetric._arrays.squared_distances.single_precision_error`). Suppose that
a point p is nearer to q than the k-th candidate, at distance r. Then :math:`|p| < |q| + r`. Hence a
few points that are far away do not matter.
"""

import sys
from collections.abc import Callable, Iterator
from functools import cached_property
from math import frexp
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from dimetric._arrays.blocks import row_blocks
from dimetric._arrays.compiled import import_compiled
from dimetric._arrays.namespaces import smallest_in_rows
from dimetric._arrays.squared_distances import single_precision_error, squared_norms
from dimetric._arrays.threads import run_on_threads
from dimetric.neighbors.euclidean_search import euclidean_neighbors

SPARE_CANDIDATES = 4  # candidates of a product in addition to the k neighbours
TILE_POINTS = 512  # points in a tile; the product with a block of queries fits into the cache
BLOCK_QUERIES = 128
LANE_QUERIES = 48  # for fewer queries, vectors of queries are too short
MAX_PARTS = 4  # parts of the points that several threads search
GROUP_DISTANCES = 2**18  # distances that NumPy computes at once
MEASURED_VALUES = 2**18  # coordinates of candidates in memory at once
COMPILED_VALUES = 2**20  # coordinates of candidates that one thread measures
MIN_PART_NANOSECONDS = 1.5e6  # for less work, searching the points in parts takes longer
MIN_THREADED_NANOSECONDS = 8e5  # for less work, starting threads takes longer
# numba takes half a second to import, so products use it from this much work on.
MIN_COMPILED_NANOSECONDS = 4e6
TREE_POINTS = 5_000  # for fewer points, products are as fast as a tree
TREE_FEATURES = 64  # for more features, building a tree takes too long
PROBED_FEATURES = 8  # for more features, a tree of some points shows whether to build one of all
PROBED_PART = 16  # one of this many points
SCAN_NANOSECONDS = 7.0  # per point that a tree compares
PAIR_NANOSECONDS, FEATURE_NANOSECONDS = 0.9, 0.022  # per point of a product
# Coordinates of differences. For more, products take less time, with or without numba.
MAX_DIFFERENCES, MAX_DIFFERENCES_WITHOUT_NUMBA = 2**15, 2**18
READ_NANOSECONDS = 0.16  # per coordinate of a point, for all queries of a block together
FAR_SQUARED = np.float32(1e30)  # larger than all squared distances


class EuclideanIndex:
    """Exact search for the points nearest to queries.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        Points of dtype float32 or float64. They should be distinct, because a tree cannot separate
        equal points.

    Examples
    --------
    >>> index = EuclideanIndex(np.array([[0.0], [1.0], [5.0]]))
    >>> index.nearest(np.array([[2.0]]), 2)
    (array([[1., 2.]]), array([[1, 0]]))
    """

    def __init__(self, points: np.ndarray) -> None:
        self._points = points
        self._nanoseconds = 0.0  # work done without numba so far

    def build(self) -> None:
        """Prepare the search now. Otherwise the first query prepares it."""
        if self._tree is None:
            _ = self._product

    def nearest(self, Q: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the distances and indices of the k nearest points of every row, nearest first.

        Distances are in double precision. The order of points at equal distance is arbitrary.
        """
        if self._tree is not None:
            squares, found = self._tree.nearest(Q, k)
            return np.sqrt(squares, out=squares), found.astype(np.int64)
        n_values, (n, d) = len(Q) * self._points.size, self._points.shape
        if n_values <= MAX_DIFFERENCES:
            return self._by_differences(Q, k)
        compiled = self._compiled(len(Q) * n * _nanoseconds_per_distance(d))
        if compiled is None and n_values <= MAX_DIFFERENCES_WITHOUT_NUMBA:
            return self._by_differences(Q, k)
        rough, norms, distances, indices = self._by_products(Q, k)
        if rough.shape[1] == len(self._points):
            return distances, indices
        kth = self._product.scale * distances[:, -1]
        with np.errstate(over="ignore", invalid="ignore"):
            lengths = np.sqrt(norms)
            error = single_precision_error(Q.shape[1], lengths, lengths + kth)
            # Written so that NaN, of queries too large for single precision, is not certain.
            certain = (rough[:, -1] + norms - error >= kth**2) & (norms < FAR_SQUARED / 4)
        if not np.all(certain):
            rows = np.flatnonzero(~certain)
            points = self._points.astype(np.float64, copy=False)
            with np.errstate(over="ignore", invalid="ignore"):
                found = euclidean_neighbors(Q[rows].astype(np.float64, copy=False), k, points)[1]
            distances[rows], indices[rows] = self._measured(Q[rows], found.astype(np.int32), k)
        return distances, indices

    def _by_differences(self, Q: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the nearest points of a few queries, by the distances to all points."""
        # cdist adds one feature after the other, as the compiled code does.
        squares, indices = smallest_in_rows(cdist(Q, self._in_double, "sqeuclidean"), k)
        return np.sqrt(squares, out=squares), indices

    @cached_property
    def _in_double(self) -> np.ndarray:
        """The points in double precision, row by row in memory."""
        return np.ascontiguousarray(self._points, dtype=np.float64)

    def squared_distances(self, Q: np.ndarray, candidates: np.ndarray) -> np.ndarray:
        """Return the squared distances from every row of Q to its candidates, of shape (n, m)."""
        (n_queries, m), d = candidates.shape, self._points.shape[1]
        squares = np.empty((n_queries, m))
        compiled = self._compiled(0)
        measure = _measure if compiled is None else compiled.measure

        def work(tasks: Iterator[slice]) -> None:
            for b in tasks:
                measure(Q[b], self._points, candidates[b], squares[b])

        # Compiled code needs no memory for the coordinates, but starting threads takes time.
        values = MEASURED_VALUES if compiled is None else COMPILED_VALUES
        blocks = list(row_blocks(n_queries, max(1, values // (m * d))))
        if len(blocks) > 1:
            run_on_threads(work, blocks, shared_queue=True)
        else:
            work(iter(blocks))
        return squares

    @cached_property
    def _tree(self) -> Any:
        """A tree, if it is faster than products. It requires numba."""
        n, d = self._points.shape
        if n < TREE_POINTS or d > TREE_FEATURES:
            return None
        compiled = import_compiled("neighbors.compiled.tree")
        if compiled is None:
            return None
        limit = n * _nanoseconds_per_distance(d) / SCAN_NANOSECONDS
        if d > PROBED_FEATURES:
            # The number of compared points grows slower than the square root of all points.
            part = compiled.Tree(self._points[::PROBED_PART])
            if part.scanned * PROBED_PART**0.5 > limit:
                return None
        tree = compiled.Tree(self._points)
        return tree if tree.scanned < limit else None

    @cached_property
    def _product(self) -> "_CentredPoints":
        return _CentredPoints(self._points)

    def _by_products(self, Q: np.ndarray, k: int) -> tuple[np.ndarray, ...]:
        """Return the nearest points of queries among the candidates of products.

        These are the smallest squared distances in single precision, less the norms of the
        queries, the squared norms of the queries, and the exact distances and the indices of the k
        nearest candidates.
        """
        (n_queries, d), points, product = Q.shape, self._points, self._product
        tiles, m = product.tiles, min(k + SPARE_CANDIDATES, len(points))
        search, rescale, measure = self._functions(n_queries, m)
        # A few queries are divided by points instead, so that several threads share the work.
        time = len(points) * (n_queries * _nanoseconds_per_distance(d) + READ_NANOSECONDS * d)
        n_parts = max(1, int(min(time / MIN_PART_NANOSECONDS, MAX_PARTS, len(tiles))))
        n_parts = n_parts if n_queries <= BLOCK_QUERIES else 1
        rough = np.full((n_parts, n_queries, m), FAR_SQUARED)
        candidates, norms = np.zeros((n_parts, n_queries, m), np.int32), np.empty(n_queries)
        distances, indices = np.empty((n_queries, k)), np.empty((n_queries, k), np.int64)
        tasks = [
            (part, tiles_of_part, b)
            for part, tiles_of_part in enumerate(row_blocks(len(tiles), -(-len(tiles) // n_parts)))
            for b in row_blocks(n_queries, -(-n_queries // -(-n_queries // BLOCK_QUERIES)))
        ]

        def work(tasks: Iterator[tuple[int, slice, slice]]) -> None:
            for part, t, b in tasks:
                block, first = np.ascontiguousarray(Q[b]), t.start * TILE_POINTS
                A = rescale(block, product.centre, product.scale, norms[b])
                search(A, tiles[t], product.norms[t], rough[part, b], candidates[part, b], first)
                if n_parts == 1:
                    measure(block, points, candidates[0, b], distances[b], indices[b])

        # For little work, starting threads takes longer.
        max_threads = 1 if time < MIN_THREADED_NANOSECONDS else None
        run_on_threads(work, tasks, max_threads=max_threads, shared_queue=True)
        if n_parts > 1:
            near = _merged(rough, candidates)
            return near[0], norms, *self._measured(Q, near[1], k)
        return rough[0], norms, distances, indices

    def _functions(self, n_queries: int, m: int) -> tuple[Callable[..., Any], ...]:
        """Return the fastest functions that find m candidates, rescale and measure."""
        compiled = self._compiled(0)
        if compiled is None:
            return _keep_smallest, _rescaled, _measure_nearest
        search, lanes = compiled.keep_smallest_of_queries, None
        if n_queries >= LANE_QUERIES:
            lanes = import_compiled("neighbors.compiled.query_lanes")
        if lanes is not None and m <= TILE_POINTS // lanes.GROUP_POINTS:
            search = lanes.keep_smallest_of_many
        return search, compiled.rescaled, compiled.measure_nearest

    def _measured(
        self, Q: np.ndarray, candidates: np.ndarray, k: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the distances and indices of the k nearest candidates of every row of Q."""
        distances, indices = np.empty((len(Q), k)), np.empty((len(Q), k), np.int64)
        compiled = self._compiled(0)
        measure = _measure_nearest if compiled is None else compiled.measure_nearest
        measure(np.ascontiguousarray(Q), self._points, candidates, distances, indices)
        return distances, indices

    def _compiled(self, nanoseconds: float) -> Any:
        """Return the module that needs numba, or None. It is not imported for little work."""
        if "numba" not in sys.modules and self._nanoseconds < MIN_COMPILED_NANOSECONDS:
            self._nanoseconds += nanoseconds
            if self._nanoseconds < MIN_COMPILED_NANOSECONDS:
                return None
        return import_compiled("neighbors.compiled.query_search")


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


class _CentredPoints:
    """Points, centred and rescaled, in single precision, in tiles of the same size.

    The last tile ends with points that are far away.
    """

    def __init__(self, points: np.ndarray) -> None:
        n, d = points.shape
        self.centre, self.scale = centre_and_scale(points)
        n_tiles = -(-n // TILE_POINTS)
        self.tiles = np.zeros((n_tiles, d, TILE_POINTS), np.float32)
        self.norms = np.full((n_tiles, TILE_POINTS), FAR_SQUARED)
        for t, b in enumerate(row_blocks(n, TILE_POINTS)):
            rows = ((points[b] - self.centre) * self.scale).astype(np.float32)
            self.tiles[t, :, : len(rows)] = rows.T
            self.norms[t, : len(rows)] = squared_norms(rows.astype(np.float64))


def _rescaled(Q: np.ndarray, centre: np.ndarray, scale: float, norms: np.ndarray) -> np.ndarray:
    """Return -2 times the centred and rescaled queries, and store their squared norms.

    ``compiled.query_search.rescaled`` does the same.
    """
    A = np.empty(Q.shape, np.float32)
    with np.errstate(over="ignore"):
        Q = Q - centre
        Q *= scale
        np.multiply(Q, -2, out=A, casting="same_kind")
        norms[:] = squared_norms(Q)
    return A


def _keep_smallest(
    A: np.ndarray,
    tiles: np.ndarray,
    norms: np.ndarray,
    rough: np.ndarray,
    indices: np.ndarray,
    first: int,
) -> None:
    """Update the candidates of queries with tiles of points.

    ``compiled.query_search.keep_smallest_of_queries`` does the same.
    """
    m, size = rough.shape[1], max(1, GROUP_DISTANCES // (len(A) * TILE_POINTS))
    for group in row_blocks(len(tiles), size):
        with np.errstate(over="ignore", invalid="ignore"):
            squares = np.matmul(A, tiles[group]) + norms[group, None, :]
        squares = squares.transpose(1, 0, 2).reshape(len(A), -1)
        values, columns = smallest_in_rows(squares, min(m, squares.shape[1]))
        columns += first + group.start * TILE_POINTS
        if len(tiles) > size or values.shape[1] < m:
            values, columns = _merged([rough, values], [indices, columns], m)
        rough[:], indices[:] = values, columns


def _measure(
    X: np.ndarray, points: np.ndarray, candidates: np.ndarray, squares: np.ndarray
) -> None:
    """Compute the squared distances between rows of X and their candidates.

    ``compiled.query_search.measure`` does the same. The features are summed in order, because that
    function does so, and not by pairs as in ``np.sum``.
    """
    near = points[candidates.T].astype(np.float64, copy=False)
    near -= X.astype(np.float64, copy=False)
    with np.errstate(over="ignore"):
        near *= near
        # A sum over an axis other than the last adds one row after the other.
        squares[:] = np.add.reduce(np.ascontiguousarray(near.transpose(2, 0, 1)), axis=0).T


def _measure_nearest(
    X: np.ndarray,
    points: np.ndarray,
    candidates: np.ndarray,
    distances: np.ndarray,
    indices: np.ndarray,
) -> None:
    """Compute the distances and the indices of the nearest candidates of every row of X.

    ``compiled.query_search.measure_nearest`` does the same.
    """
    squares = np.empty(candidates.shape)
    for b in row_blocks(len(X), max(1, MEASURED_VALUES // (candidates.shape[1] * X.shape[1]))):
        _measure(X[b], points, candidates[b], squares[b])
    order = np.argsort(squares, axis=1, kind="stable")[:, : distances.shape[1]]
    order += candidates.shape[1] * np.arange(len(X))[:, None]  # faster than a pair of indices
    np.sqrt(squares.take(order), out=distances)
    indices[:] = candidates.take(order)


def _merged(rough: Any, indices: Any, m: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return the m nearest of several lists of candidates of the same queries, nearest first."""
    values, indices = np.concatenate(rough, axis=1), np.concatenate(indices, axis=1)
    m = rough[0].shape[1] if m is None else m
    order = np.argsort(values, axis=1)[:, :m]
    return np.take_along_axis(values, order, axis=1), np.take_along_axis(indices, order, axis=1)


def _nanoseconds_per_distance(n_features: int) -> float:
    return PAIR_NANOSECONDS + FEATURE_NANOSECONDS * n_features
