"""Candidates for the neighbours of queries, and their distances, with numba (the extra ``fast``).

:mod:`dimetric.neighbors.euclidean.products` calls these kernels for blocks of queries. They release
the GIL, and contain the matrix product, because threads that return to the interpreter for each
product would wait for each other.
"""

import numpy as np
from numba import njit

from dimetric.neighbors.compiled._insert import insert, sift

CHUNK = 128  # entries compared at once by vector instructions
GROUPS = 64  # groups of the points of a tile whose minima bound the smallest entries
FAR = np.float32(1e30)  # the square of a missing candidate
# Sifting needs enough queries for vector instructions. Many candidates are inserted faster one by
# one, because they are nearly sorted.
MIN_SIFTED_QUERIES, MAX_SIFTED_CANDIDATES = 8, 32
FEW_QUERIES = 10  # up to this many, BLAS copies a tile for longer than it multiplies


@njit(nogil=True, cache=True, fastmath={"contract", "reassoc", "nsz"})
def _any_smaller(products, norms, bound):  # type: ignore # pragma: no cover - compiled
    """Return whether a squared distance is less than a bound, by vector instructions.

    LLVM vectorises this loop because it does not know the length of the arrays.
    """
    hits = np.int32(0)
    for j in range(len(products)):
        hits += np.int32(products[j] + norms[j] < bound)
    return hits > 0


@njit(nogil=True, cache=True)
def _lower_minima(minima, products, norms):  # type: ignore # pragma: no cover - compiled
    """Lower the minima of groups to squared distances that are smaller."""
    for j in range(len(minima)):
        square = products[j] + norms[j]
        minima[j] = square if square < minima[j] else minima[j]


@njit(nogil=True, cache=True)
def _bound_of_smallest(  # type: ignore # pragma: no cover - compiled
    products, norms, m, minima, smallest
):
    """Return a bound that is larger than the m smallest squared distances of a query to a tile.

    The m-th smallest of the minima of groups is such a bound, because each of m groups has an entry
    up to it. So few entries of the first tile need to be compared with each other.
    """
    if m > GROUPS:
        return FAR
    minima[:] = FAR
    for start in range(0, len(products), GROUPS):
        _lower_minima(minima, products[start : start + GROUPS], norms[start : start + GROUPS])
    smallest[:] = FAR
    for minimum in minima:
        if minimum < smallest[-1]:
            p = m - 1
            while p > 0 and smallest[p - 1] > minimum:
                smallest[p] = smallest[p - 1]
                p -= 1
            smallest[p] = minimum
    return np.nextafter(smallest[-1], FAR)


@njit(nogil=True, cache=True, fastmath={"contract"})
def _add_to_row(tile, a, f, row):  # type: ignore # pragma: no cover - compiled
    """Add the terms of four features, from f on, to the products of a query."""
    t0, t1, t2, t3 = tile[f], tile[f + 1], tile[f + 2], tile[f + 3]
    a0, a1, a2, a3 = a[f], a[f + 1], a[f + 2], a[f + 3]
    for j in range(len(row)):
        row[j] += a0 * t0[j] + a1 * t1[j] + a2 * t2[j] + a3 * t3[j]


@njit(nogil=True, cache=True, fastmath={"contract"})
def _add_to_two_rows(tile, a, b, f, row, next_row):  # type: ignore # pragma: no cover - compiled
    """Add the terms of four features to the products of two queries. Read the tile once."""
    t0, t1, t2, t3 = tile[f], tile[f + 1], tile[f + 2], tile[f + 3]
    a0, a1, a2, a3 = a[f], a[f + 1], a[f + 2], a[f + 3]
    b0, b1, b2, b3 = b[f], b[f + 1], b[f + 2], b[f + 3]
    for j in range(len(row)):
        row[j] += a0 * t0[j] + a1 * t1[j] + a2 * t2[j] + a3 * t3[j]
        next_row[j] += b0 * t0[j] + b1 * t1[j] + b2 * t2[j] + b3 * t3[j]


@njit(nogil=True, cache=True, fastmath={"contract"})
def products_of_few(A, tile, products):  # type: ignore # pragma: no cover - compiled
    """Compute the matrix product of a few queries and a tile."""
    n_queries, d = A.shape
    products[:] = 0
    by_four = d - d % 4
    for f in range(0, by_four, 4):
        for i in range(0, n_queries - 1, 2):
            _add_to_two_rows(tile, A[i], A[i + 1], f, products[i], products[i + 1])
        if n_queries % 2:
            _add_to_row(tile, A[-1], f, products[-1])
    for f in range(by_four, d):
        for i in range(n_queries):
            for j in range(tile.shape[1]):
                products[i, j] += A[i, f] * tile[f, j]


@njit(nogil=True, cache=True, fastmath={"contract", "reassoc", "nsz"})
def keep_smallest_of_queries(  # type: ignore # pragma: no cover - compiled
    A, tiles, norms, squares, indices, first
):
    """Update the candidates of queries with tiles of points.

    The squared distances lack the norms of the queries. The first point has the index `first`.
    """
    size = tiles.shape[2]
    products = np.empty((len(A), size), np.float32)
    hits = np.empty(CHUNK + 1, np.int64)
    minima, smallest = np.empty(GROUPS, np.float32), np.empty(squares.shape[1], np.float32)
    for t in range(len(tiles)):
        if len(A) <= FEW_QUERIES:
            products_of_few(A, tiles[t], products)
        else:
            np.dot(A, tiles[t], products)
        for i in range(len(A)):
            row, product = squares[i, -1], products[i]
            if row >= FAR:
                row = _bound_of_smallest(product, norms[t], squares.shape[1], minima, smallest)
            for start in range(0, size, CHUNK):
                stop = start + CHUNK
                if not _any_smaller(product[start:stop], norms[t, start:stop], row):
                    continue
                # Without a branch, finding the few entries is faster.
                n_hits = 0
                for j in range(start, stop):
                    hits[n_hits] = j
                    n_hits += product[j] + norms[t, j] < row
                for j in hits[:n_hits]:
                    square = product[j] + norms[t, j]
                    if square < row:
                        insert(squares[i], indices[i], square, first + t * size + j)
                        row = min(row, squares[i, -1])


@njit(nogil=True, cache=True)
def rescaled(Q, centre, scale, norms):  # type: ignore # pragma: no cover - compiled
    """Return -2 times the centred and rescaled queries, and store their squared norms."""
    A = np.empty(Q.shape, np.float32)
    for i in range(Q.shape[0]):
        total = 0.0
        for f in range(Q.shape[1]):
            value = (np.float64(Q[i, f]) - centre[f]) * scale
            total += value * value
            A[i, f] = -2 * value
        norms[i] = total
    return A


@njit(nogil=True, cache=True)
def measure(X, points, candidates, squares):  # type: ignore # pragma: no cover - compiled
    """Compute the squared distances between rows of X and their candidates in double precision.

    The features are summed in order, as ``np.cumsum`` does, so that NumPy gets the same bits. Four
    sums at once are faster, because each addition waits for the one before.
    """
    m = candidates.shape[1]
    for i in range(len(X)):
        for rank in range(0, m - 3, 4):
            a, b = points[candidates[i, rank]], points[candidates[i, rank + 1]]
            c, d = points[candidates[i, rank + 2]], points[candidates[i, rank + 3]]
            of_a, of_b, of_c, of_d = 0.0, 0.0, 0.0, 0.0
            for f in range(X.shape[1]):
                value = np.float64(X[i, f])
                of_a += (value - np.float64(a[f])) ** 2
                of_b += (value - np.float64(b[f])) ** 2
                of_c += (value - np.float64(c[f])) ** 2
                of_d += (value - np.float64(d[f])) ** 2
            squares[i, rank], squares[i, rank + 1] = of_a, of_b
            squares[i, rank + 2], squares[i, rank + 3] = of_c, of_d
        for rank in range(m - m % 4, m):
            a, total = points[candidates[i, rank]], 0.0
            for f in range(X.shape[1]):
                total += (np.float64(X[i, f]) - np.float64(a[f])) ** 2
            squares[i, rank] = total


@njit(nogil=True, cache=True)
def _sort_few(squares, candidates, distances, indices):  # type: ignore # pragma: no cover - compiled
    """Store the distances and indices of the nearest candidates, one query after the other."""
    k, m = distances.shape[1], candidates.shape[1]
    for i in range(len(squares)):
        near, row = distances[i], indices[i]
        for rank in range(m):
            if rank < k:
                near[rank] = np.inf
                insert(near[: rank + 1], row[: rank + 1], squares[i, rank], candidates[i, rank])
            elif squares[i, rank] < near[-1]:
                insert(near, row, squares[i, rank], candidates[i, rank])
        for p in range(k):
            near[p] = np.sqrt(near[p])


@njit(nogil=True, cache=True)
def _sort_many(  # type: ignore # pragma: no cover - compiled
    squares, candidates, distances, indices
):
    """Store the distances and indices of the nearest candidates, for all queries together."""
    (n, m), k = squares.shape, distances.shape[1]
    by_rank, at_rank = np.empty((k, n)), np.empty((k, n), np.int32)
    values, places = np.empty(n), np.empty(n, np.int32)
    for rank in range(m):
        for i in range(n):
            values[i], places[i] = squares[i, rank], rank
        sift(values, places, by_rank, at_rank, rank)
    for i in range(n):
        for r in range(k):
            distances[i, r] = np.sqrt(by_rank[r, i])
            indices[i, r] = candidates[i, at_rank[r, i]]


@njit(nogil=True, cache=True)
def measure_nearest(  # type: ignore # pragma: no cover - compiled
    X, points, candidates, distances, indices
):
    """Compute the distances and the indices of the nearest candidates of every row of X.

    Candidates at equal distance stay in their order.
    """
    squares = np.empty(candidates.shape)
    measure(X, points, candidates, squares)
    if len(X) >= MIN_SIFTED_QUERIES and candidates.shape[1] <= MAX_SIFTED_CANDIDATES:
        _sort_many(squares, candidates, distances, indices)
    else:
        _sort_few(squares, candidates, distances, indices)


@njit(nogil=True, cache=True)
def weighted_sums(weights, points, starts, values):  # type: ignore # pragma: no cover - compiled
    """Return the weighted sums of the values of points, of shape (m, c), for each query.

    The points of query i are the entries ``starts[i]`` to ``starts[i + 1] - 1``.
    """
    sums = np.zeros((len(starts) - 1, values.shape[1]))
    for i in range(len(sums)):
        for e in range(starts[i], starts[i + 1]):
            for c in range(values.shape[1]):
                sums[i, c] += weights[e] * values[points[e], c]
    return sums


@njit(nogil=True, cache=True, error_model="numpy")
def shared_sums(  # type: ignore # pragma: no cover - compiled
    distances, points, k, tolerance, values
):
    """Return the sums of the values of the k nearest points, of shape (n, c), for each query.

    Points whose distances are within the tolerance of the k-th share the weight that the nearer
    ones leave. ``Neighborhoods.shares`` computes the same weights.
    """
    n, width = distances.shape
    sums = np.zeros((n, values.shape[1]))
    for i in range(n):
        near = distances[i]
        low, high = near[k - 1] - tolerance[i], near[k - 1] + tolerance[i]
        n_nearer, n_tied = 0, 0
        for rank in range(width):
            is_nearer = low > near[rank]
            n_nearer += is_nearer
            n_tied += not is_nearer and high >= near[rank]
        share = (k - n_nearer) / n_tied
        for rank in range(width):
            weight = 1.0 if low > near[rank] else (share if high >= near[rank] else 0.0)
            for c in range(values.shape[1]):
                sums[i, c] += weight * values[points[i, rank], c]
    return sums
