"""Candidates for the neighbours of many queries, with numba (the extra ``fast``).

The kernel computes the same as :mod:`dimetric.neighbors.compiled.query_search`, for blocks of
queries. A vector instruction handles the same point of several queries, so that even the selection
of the smallest distances has few branches, which a processor predicts badly.

In each tile, the points form groups, and the smallest squared distance of each group bounds those
of its points. Only points of groups below the bound of a query are compared one by one. In the
first tile, the bound is the m-th smallest of the minima of the groups. It is not less than the m-th
smallest distance, because each of m groups has a point up to it.
"""

import numpy as np
from numba import njit

from dimetric.neighbors.compiled._insert import insert, sift
from dimetric.neighbors.compiled.query_search import FAR

GROUP_POINTS = 8  # points whose minimum is compared first


@njit(nogil=True, cache=True, inline="always")
def _lower_minima(minima, products, norm):  # type: ignore # pragma: no cover - compiled
    """Lower the minima of a group to the squared distances of a point that are smaller."""
    for i in range(len(minima)):
        square = products[i] + norm
        minima[i] = square if square < minima[i] else minima[i]


@njit(nogil=True, cache=True)
def _fill_far(values):  # type: ignore # pragma: no cover - compiled
    """Set all values to `FAR`. numba compiles loops faster than assignments to slices."""
    for p in range(values.shape[0]):
        for i in range(values.shape[1]):
            values[p, i] = FAR


@njit(nogil=True, cache=True)
def _sift(values, smallest):  # type: ignore # pragma: no cover - compiled
    """Insert a value of each query into its sorted values, which are columns. Changes `values`."""
    for p in range(len(smallest)):
        row = smallest[p]
        for i in range(len(values)):
            kept, value = row[i], values[i]
            row[i] = kept if kept < value else value
            values[i] = value if kept < value else kept


@njit(nogil=True, cache=True)
def _bounds_of_smallest(minima, smallest, values, bounds):  # type: ignore # pragma: no cover
    """Compute bounds that are larger than the m smallest squared distances of each query."""
    _fill_far(smallest)
    for g in range(len(minima)):
        for i in range(len(values)):
            values[i] = minima[g, i]
        _sift(values, smallest)
    for i in range(len(bounds)):
        bounds[i] = np.nextafter(smallest[-1, i], FAR)


@njit(nogil=True, cache=True)
def _any_smaller(values, bounds):  # type: ignore # pragma: no cover - compiled
    """Return whether a value is less than its bound."""
    hits = np.int32(0)
    for i in range(len(values)):
        hits += np.int32(values[i] < bounds[i])
    return hits > 0


@njit(nogil=True, cache=True)
def _choose(  # type: ignore # pragma: no cover - compiled
    minima, bounds, products, norms, hits, chosen, counts
):
    """List the points of each query that are nearer than its bound, in order of their index.

    Writing each number and counting only some of them needs no branch.
    """
    n_queries = len(bounds)
    counts[:] = 0
    for g in range(len(minima)):
        if not _any_smaller(minima[g], bounds):
            continue
        n_hits = 0
        for i in range(n_queries):
            hits[n_hits] = i
            n_hits += minima[g, i] < bounds[i]
        for i in hits[:n_hits]:
            n, bound, row = counts[i], bounds[i], chosen[i]
            for j in range(g * GROUP_POINTS, (g + 1) * GROUP_POINTS):
                row[n] = j
                n += products[j, i] + norms[j] < bound
            counts[i] = n


@njit(nogil=True, cache=True)
def _fill(  # type: ignore # pragma: no cover - compiled
    products, norms, chosen, counts, by_rank, values, squares, indices, first
):
    """Fill empty lists of candidates with the nearest of the chosen points."""
    n_queries, m = squares.shape
    at_rank, places = np.empty((m, n_queries), np.int32), np.empty(n_queries, np.int32)
    for p in range(max(m, counts.max())):
        for i in range(n_queries):
            places[i] = chosen[i, p] if p < counts[i] else 0
            values[i] = products[places[i], i] + norms[places[i]] if p < counts[i] else FAR
        sift(values, places, by_rank, at_rank, p)
    for i in range(n_queries):
        for rank in range(min(m, counts[i])):
            squares[i, rank], indices[i, rank] = by_rank[rank, i], first + at_rank[rank, i]


@njit(nogil=True, cache=True)
def _update(  # type: ignore # pragma: no cover - compiled
    products, norms, chosen, counts, squares, indices, first
):
    """Insert the chosen points that are near enough into the lists of candidates."""
    for i in range(len(counts)):
        for j in chosen[i, : counts[i]]:
            square = products[j, i] + norms[j]
            if square < squares[i, -1]:
                insert(squares[i], indices[i], square, first + j)


@njit(nogil=True, cache=True)
def keep_smallest_of_many(  # type: ignore # pragma: no cover - compiled
    A, tiles, norms, squares, indices, first
):
    """Set the candidates of queries to the nearest points of tiles.

    The squared distances lack the norms of the queries, and are `FAR` at first. The first point
    has the index `first`. There are at most as many candidates as groups in a tile.
    """
    n_queries, m = squares.shape
    size = tiles.shape[2]
    n_groups = size // GROUP_POINTS
    products = np.empty((size, n_queries), np.float32)
    minima = np.empty((n_groups, n_queries), np.float32)
    smallest = np.empty((m, n_queries), np.float32)
    values, bounds = np.empty(n_queries, np.float32), np.empty(n_queries, np.float32)
    hits, chosen = np.empty(n_queries + 1, np.int32), np.empty((n_queries, size + 1), np.int32)
    counts = np.empty(n_queries, np.int32)
    by_feature = np.ascontiguousarray(A.T)
    for t in range(len(tiles)):
        np.dot(tiles[t].T, by_feature, products)
        _fill_far(minima)
        for j in range(size):
            _lower_minima(minima[j // GROUP_POINTS], products[j], norms[t, j])
        if t == 0:
            _bounds_of_smallest(minima, smallest, values, bounds)
        else:
            for i in range(n_queries):
                bounds[i] = squares[i, -1]
        _choose(minima, bounds, products, norms[t], hits, chosen, counts)
        if t == 0:
            into = squares, indices, first + t * size
            _fill(products, norms[t], chosen, counts, smallest, values, *into)
        else:
            _update(products, norms[t], chosen, counts, squares, indices, first + t * size)
