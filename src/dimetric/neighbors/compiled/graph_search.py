r"""Exact Euclidean neighbours within a set of samples with numba (the extra ``fast``).

Each distance is computed once for both of its samples, so half of the matrix product is enough.
Products are computed in single precision, in blocks that fit into a core's cache. A vectorised
comparison with the farthest candidate of each row and of each column rejects nearly all entries.
The distances of the remaining candidates are computed in double precision. If, according to a bound
on the rounding errors, another sample could be as near, the row is searched again in double
precision: by products if there are many such rows, and by differences otherwise.

Every thread collects its own candidates. The kernels release the GIL.
"""

from collections.abc import Iterator
from math import frexp
from typing import Any

import numpy as np
from numba import njit
from scipy.spatial.distance import cdist

from dimetric._arrays.blocks import row_blocks
from dimetric._arrays.squared_distances import single_precision_error, squared_norms
from dimetric._arrays.threads import map_on_threads, run_on_threads
from dimetric.neighbors.compiled._insert import insert
from dimetric.neighbors.euclidean.search import euclidean_neighbors

BLOCK_ROWS = 256  # samples in a block; a multiple of CHUNK
SPARE_CANDIDATES = 4  # candidates in addition to the k neighbours
TASK_BLOCKS = 512  # blocks that a task compares with another block
CHUNK = 64  # entries compared at once by vector instructions
MAX_COMPARED_ROWS = 16  # rows to search again by differences; more are faster by products
BLOCK_VALUES = 2**20  # coordinates of samples that a task compares with a row
FAR_SQUARED = np.float32(1e30)  # larger than all squared distances; norm of padding rows


def nearest_other_rows(X: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the distances and indices of the k nearest other rows of each row, nearest first.

    Rows at equal distance are ordered by index. The order of duplicate rows is arbitrary.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Samples.
    k : int
        Number of neighbours, less than n.

    Examples
    --------
    >>> distances, indices = nearest_other_rows(np.array([[0.0], [1.0], [5.0]]), 1)
    >>> distances.ravel(), indices.ravel()
    (array([1., 1., 4.]), array([1, 0, 1]))
    """
    n, d = X.shape
    m = min(k + SPARE_CANDIDATES, n - 1)
    points, norms, scale = _in_single_precision(X)
    rough, indices = _candidates(points, norms, m)
    rough, indices = rough[:n], indices[:n]
    distances = np.empty((n, m))

    blocks = list(row_blocks(n, BLOCK_ROWS))

    def measure(tasks: Iterator[slice]) -> None:
        for b in tasks:
            _sort_by_distance(X[b], X, indices[b], distances[b])

    run_on_threads(measure, blocks, shared_queue=True)
    lengths = np.sqrt(norms.ravel()[:n].astype(np.float64))
    kth = scale * distances[:, k - 1]
    # Only a sample of this norm or less can be nearer than the k-th neighbour.
    rounding = single_precision_error(d, lengths, np.minimum(lengths + kth, lengths.max()))
    farther = rough[:, -1] - rounding >= kth**2  # so all other samples are at least as far
    uncertain = np.flatnonzero(~farther & (m < n - 1))
    distances, indices = distances[:, :k], indices[:, :k].astype(np.int64)
    if len(uncertain):
        distances[uncertain], indices[uncertain] = _search_again(X, uncertain, k)
    return distances.astype(X.dtype, copy=False), indices


def _in_single_precision(X: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Return the centred and rescaled samples in blocks, their squared norms, and the factor."""
    n, d = X.shape
    blocks = list(row_blocks(n, BLOCK_ROWS))

    def summary(b: slice) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        return X[b].sum(axis=0, dtype=np.float64), X[b].max(axis=0), X[b].min(axis=0)

    sums, highs, lows = zip(*map_on_threads(summary, blocks, n_rows=n), strict=True)
    centre = np.sum(sums, axis=0) / n
    largest = max(np.max(np.max(highs, axis=0) - centre), np.max(centre - np.min(lows, axis=0)))
    scale = 2.0 ** -frexp(float(largest))[1]
    points = np.zeros((len(blocks) * BLOCK_ROWS, d), np.float32)
    norms = np.full(len(points), FAR_SQUARED)

    def convert(tasks: Iterator[slice]) -> None:
        for b in tasks:
            points[b] = (X[b] - centre) * scale
            norms[b] = squared_norms(points[b].astype(np.float64))

    run_on_threads(convert, blocks, shared_queue=True)
    shape = len(blocks), BLOCK_ROWS
    return points.reshape(*shape, d), norms.reshape(shape), scale


def _candidates(points: np.ndarray, norms: np.ndarray, m: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the m smallest squared distances of each sample, up to rounding, and their indices."""
    n_blocks = len(points)
    tasks = [
        (b, c.start + b, c.stop + b)
        for b in range(n_blocks)
        for c in row_blocks(n_blocks - b, TASK_BLOCKS)
    ]

    def search(tasks: Iterator[tuple[int, int, int]]) -> tuple[np.ndarray, np.ndarray]:
        squares = np.full((n_blocks * BLOCK_ROWS, m), FAR_SQUARED)
        indices = np.zeros((n_blocks * BLOCK_ROWS, m), np.int32)
        for b, first, last in tasks:
            _search_blocks(points, norms, squares, indices, b, first, last)
        return squares, indices

    parts = run_on_threads(search, tasks, shared_queue=True)
    squares = np.concatenate([part[0] for part in parts], axis=1)
    indices = np.concatenate([part[1] for part in parts], axis=1)
    if len(parts) > 1:
        order = np.argsort(squares, axis=1)[:, :m]
        squares = np.take_along_axis(squares, order, axis=1)
        indices = np.take_along_axis(indices, order, axis=1)
    return squares, indices


@njit(nogil=True, cache=True)
def _search_blocks(  # type: ignore # pragma: no cover - compiled
    points, norms, squares, indices, b, first, last
):
    """Update the candidates with the distances between block b and blocks `first` to `last`."""
    products = np.empty((points.shape[1], points.shape[1]), np.float32)
    for c in range(first, last):
        # The comparison adds the norms to the products, which is faster than including them in
        # the product as further columns.
        np.dot(points[b], points[c].T, products)
        _keep_smallest(products, norms[b], norms[c], squares, indices, b, c)


@njit(nogil=True, cache=True, fastmath={"contract", "reassoc", "nsz"})
def _any_near(  # type: ignore # pragma: no cover - compiled
    products, norm, norms, row, columns
):
    """Return whether a squared distance is less than the bound of its row or of its column.

    LLVM vectorises this loop because it does not know the length of the arrays.
    """
    hits, two = np.int32(0), np.float32(2)
    for j in range(len(products)):
        square = norm + norms[j] - two * products[j]
        hits += np.int32(square < row) + np.int32(square < columns[j])
    return hits > 0


@njit(nogil=True, cache=True, fastmath={"contract", "reassoc", "nsz"})
def _keep_smallest(  # type: ignore # pragma: no cover - compiled
    products, left, right, squares, indices, b, c
):
    """Update the candidates of the rows and of the columns with a block of squared distances."""
    size = len(left)
    two = np.float32(2)
    columns = np.full(size, -FAR_SQUARED)  # within a block, rows find all neighbours
    hits = np.empty(CHUNK + 1, np.int64)
    if b != c:
        for j in range(size):
            columns[j] = squares[c * size + j, -1]
    for r in range(size):
        i = b * size + r
        row, norm, product = squares[i, -1], left[r], products[r]
        for start in range(0, size, CHUNK):
            stop = start + CHUNK
            if not _any_near(
                product[start:stop], norm, right[start:stop], row, columns[start:stop]
            ):
                continue
            n_hits = 0  # without a branch, finding the few entries is faster
            for j in range(start, stop):
                hits[n_hits] = j
                square = norm + right[j] - two * product[j]
                n_hits += (square < row) | (square < columns[j])
            for j in hits[:n_hits]:
                square, other = norm + right[j] - two * product[j], c * size + j
                if square < row and other != i:
                    insert(squares[i], indices[i], square, other)
                    row = squares[i, -1]
                if square < columns[j]:
                    insert(squares[other], indices[other], square, i)
                    columns[j] = squares[other, -1]


@njit(nogil=True, cache=True, fastmath={"reassoc"})
def _sort_by_distance(X, points, indices, distances):  # type: ignore # pragma: no cover - compiled
    """Compute the distances of the candidates in double precision, and sort by them."""
    for i in range(len(X)):
        for rank in range(indices.shape[1]):
            index, total = indices[i, rank], 0.0
            for f in range(X.shape[1]):
                difference = np.float64(X[i, f]) - np.float64(points[index, f])
                total += difference * difference
            distance, p = np.sqrt(total), rank
            while p > 0 and (
                distances[i, p - 1] > distance
                or (distances[i, p - 1] == distance and indices[i, p - 1] > index)
            ):
                distances[i, p], indices[i, p] = distances[i, p - 1], indices[i, p - 1]
                p -= 1
            distances[i, p], indices[i, p] = distance, index


def _search_again(X: np.ndarray, rows: np.ndarray, k: int) -> tuple[Any, Any]:
    """Repeat the search in double precision for the given rows."""
    if len(rows) > MAX_COMPARED_ROWS:
        distances, indices = euclidean_neighbors(
            X[rows].astype(np.float64), k + 1, X.astype(np.float64, copy=False)
        )
        others = indices != rows[:, None]
        others[others.all(axis=1), -1] = False
        return distances[others].reshape(-1, k), indices[others].reshape(-1, k)
    # The matrix products need several copies of X in double precision, which take longer.
    found = [_nearest_by_differences(X, row, k) for row in rows]
    indices = np.array(found)
    distances = np.empty(indices.shape)
    _sort_by_distance(X[rows], X, indices, distances)
    return distances, indices


def _nearest_by_differences(X: np.ndarray, row: int, k: int) -> np.ndarray:
    """Return the k nearest other rows, from the differences to all rows."""
    distances = np.empty(len(X))

    def measure(tasks: Iterator[slice]) -> None:
        for b in tasks:
            distances[b] = cdist(X[row : row + 1], X[b])[0]

    blocks = list(row_blocks(len(X), max(1, BLOCK_VALUES // X.shape[1])))
    run_on_threads(measure, blocks, shared_queue=True)
    distances[row] = np.inf
    kth = np.partition(distances, k - 1)[k - 1]
    near = np.flatnonzero(distances <= kth)  # may include more than k rows at equal distance
    return near[np.argsort(distances[near], kind="stable")[:k]]
