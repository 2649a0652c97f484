"""Exact Euclidean neighbours by matrix products, in any array namespace."""

from collections.abc import Callable, Sequence
from math import frexp

import array_api_compat as compat

from dimetric._arrays.blocks import row_blocks
from dimetric._arrays.namespaces import Array, eps, is_host, namespace, smallest_in_rows
from dimetric._arrays.squared_distances import left_factor, right_factor
from dimetric._arrays.threads import map_on_threads

TILE_POINTS = 2**13  # points in one matrix product
SPARE_CANDIDATES = 6  # candidates of the first attempt in addition to the k neighbours
CANDIDATE_GROWTH = 4  # factor by which each further attempt increases the candidates
HOST_BLOCK_QUERIES = 128  # the distances of a block fit into the cache
# With few points, a block has more queries, because calling NumPy would take longer than computing
# so few distances.
MAX_HOST_BLOCK_QUERIES, MIN_HOST_BLOCK_DISTANCES = 512, 2**16
DEVICE_BLOCK_QUERIES = 4096  # large enough to keep a device busy

# A slice of the points, and an optional function that hides some of them: hide(D, rows, columns)
# returns the distances D from queries to points, set to infinity where a point is hidden.
Part = tuple[slice, Callable[[Array, Array, slice], Array] | None]


def euclidean_neighbors(
    X: Array, k: int, points: Array | None = None, *, block: int | None = None
) -> tuple[Array, Array]:
    """Return the k nearest points of every row of X in Euclidean distance, nearest first.

    The search is exact. See :class:`EuclideanSearch`.

    Parameters
    ----------
    X : array of shape (n, d)
        Queries.
    k : int
        Number of neighbours.
    points : array of shape (m, d), optional
        Points to search. By default, X is searched, and a row is not its own neighbour.
    block : int, optional
        Number of queries handled at once. The default depends on the device.

    Returns
    -------
    distances : array of shape (n, k)
        Distances in ascending order.
    indices : array of shape (n, k)
        Row indices of `points`.

    Examples
    --------
    >>> import numpy as np
    >>> distances, indices = euclidean_neighbors(np.array([[0.0], [1.0], [5.0]]), 1)
    >>> distances.ravel(), indices.ravel()
    (array([1., 1., 4.]), array([1, 0, 1]))
    """
    n_points = X.shape[0] if points is None else points.shape[0]
    available = n_points - (points is None)
    if not 1 <= k <= available:
        raise ValueError(
            f"k={k} must be between 1 and the number of possible neighbours, {available}."
        )
    search = EuclideanSearch(X, points)
    all_points = [(slice(0, n_points), None)]
    return search.map_blocks(lambda rows: search.nearest(rows, k, all_points), block)


class EuclideanSearch:
    r"""Exact search for the nearest neighbours of queries, among all points or a subset.

    Candidates are found by squared distances from matrix products in single precision, the
    fastest method (see :mod:`dimetric._arrays.squared_distances`). The distances of the candidates
    are then computed from the differences between the vectors. If, according to a bound on the
    rounding errors, a point outside the candidates could be as near, the query is repeated in
    double precision with more candidates. Points at equal distance are ordered by index. The order
    of duplicates of the query is arbitrary.

    Parameters
    ----------
    X : array of shape (n, d)
        Queries.
    points : array of shape (m, d), optional
        Points to search. By default, X is searched, and a row is not its own neighbour.
    """

    def __init__(self, X: Array, points: Array | None = None) -> None:
        xp = namespace(X)
        self._X, self._points = X, X if points is None else points
        self._excludes_self = points is None
        self._centre = xp.astype(xp.mean(self._points, axis=0), xp.float64)
        B = xp.astype(self._points, xp.float64) - self._centre
        largest = float(xp.max(xp.abs(B)))
        if points is not None:
            largest = max(largest, float(xp.max(xp.abs(X - self._centre))))
        # A power of two that scales all values into the range of single precision.
        self._scale = 2.0 ** min(-frexp(largest)[1], 1023)
        self._double = right_factor(self._scale * B)
        self._single = xp.astype(self._double, xp.float32)
        if compat.is_torch_array(X) and xp.get_float32_matmul_precision() != "highest":
            self._single = self._double  # torch may round more than the error bound allows
        self._largest_norm = xp.sqrt(xp.max(self._double[:, -1]))

    def nearest(self, block: slice, k: int, among: Sequence[Part]) -> tuple[Array, Array]:
        """Return the distances and indices of the k nearest points for a block of queries.

        Parameters
        ----------
        block : slice
            Rows of the queries.
        k : int
            Number of neighbours. A missing neighbour has index -1 and infinite distance.
        among : sequence of (slice, callable or None)
            Parts of the points to search, each with a function that hides some of them. Together
            they contain at least k points other than the query.
        """
        xp = namespace(self._X)
        rows = xp.arange(block.start, block.stop, device=compat.device(self._X))
        m = k + SPARE_CANDIDATES
        near, indices, certain = self._attempt(rows, k, m, among, self._single)
        while not bool(xp.all(certain)):
            m = CANDIDATE_GROWTH * m
            uncertain = ~certain
            near[uncertain], indices[uncertain], certain[uncertain] = self._attempt(
                rows[uncertain], k, m, among, self._double
            )
        return xp.astype(near, self._X.dtype, copy=False), indices

    def map_blocks(
        self, work: Callable[[slice], tuple[Array, Array]], block: int | None = None
    ) -> tuple[Array, Array]:
        """Return the concatenated results of ``work(block)`` over all blocks of queries.

        For NumPy, several threads handle the blocks, because selecting neighbours uses one core.
        """
        xp = namespace(self._X)
        n = self._X.shape[0]
        if block is None:
            block = DEVICE_BLOCK_QUERIES
            if is_host(self._X):
                block = MIN_HOST_BLOCK_DISTANCES // self._points.shape[0]
                block = min(max(HOST_BLOCK_QUERIES, block), MAX_HOST_BLOCK_QUERIES)
        blocks = list(row_blocks(n, block))
        by_threads = compat.is_numpy_array(self._X)
        parts = list(map_on_threads(work, blocks, n_rows=n) if by_threads else map(work, blocks))
        return xp.concat([near for near, _ in parts]), xp.concat([index for _, index in parts])

    def _attempt(
        self, rows: Array, k: int, m: int, among: Sequence[Part], factor: Array
    ) -> tuple[Array, Array, Array]:
        """Return the k nearest of m candidates, and whether no other point can be nearer."""
        xp = namespace(rows)
        X = xp.take(self._X, rows, axis=0)
        A = left_factor(self._scale * (xp.astype(X, xp.float64) - self._centre))
        norms = A[:, -2]
        A = xp.astype(A, factor.dtype)
        n_points = sum(part.stop - part.start for part, _ in among)
        m = min(m, n_points)
        rough, indices = _candidates(A, factor, rows, m, among)
        hidden = xp.isinf(rough) | (self._excludes_self & (indices == rows[:, None]))
        indices = xp.where(hidden, -1, indices)
        indices = xp.sort(indices, axis=1)  # order points at equal distance by index
        exact = _distances_to(X, self._points, indices)
        order = xp.argsort(exact, axis=1, stable=True)[:, :k]
        near = xp.take_along_axis(exact, order, axis=1)
        size = (xp.sqrt(norms) + self._largest_norm) ** 2
        rounding = (A.shape[1] + 2) * eps(A) * size + float(xp.finfo(A.dtype).smallest_normal)
        # Whether all points outside the candidates are at least as far as the k-th neighbour.
        farther = rough[:, -1] - rounding >= (self._scale * near[:, -1]) ** 2
        certain = farther | (near[:, -1] == 0) | (m == n_points)
        return near, xp.take_along_axis(indices, order, axis=1), certain


def _candidates(
    A: Array, factor: Array, rows: Array, m: int, among: Sequence[Part]
) -> tuple[Array, Array]:
    """Return the m smallest squared distances, up to rounding, and the indices of their points."""
    xp = namespace(A)
    values, indices = [], []
    for part, hide in among:
        for start in range(part.start, part.stop, TILE_POINTS):
            tile = slice(start, min(start + TILE_POINTS, part.stop))
            D = A @ factor[tile, :].T
            D = D if hide is None else hide(D, rows, tile)
            value, column = smallest_in_rows(D, min(m, D.shape[1]))
            values.append(value)
            indices.append(start + column)
    if len(values) == 1:
        return values[0], indices[0]
    rough, best = smallest_in_rows(xp.concat(values, axis=1), m)
    return rough, xp.take_along_axis(xp.concat(indices, axis=1), best, axis=1)


def _distances_to(X: Array, points: Array, indices: Array) -> Array:
    """Return the distances from row i of X to the points ``indices[i]``, infinite for index -1."""
    xp = namespace(X)
    missing = indices < 0
    indices = xp.where(missing, 0, indices)
    by_rank = []
    for rank in range(indices.shape[1]):
        difference = X - xp.take(points, indices[:, rank], axis=0)
        difference = xp.astype(difference, xp.float64, copy=False)
        by_rank.append(xp.sqrt(xp.sum(difference * difference, axis=1)))
    return xp.where(missing, xp.inf, xp.stack(by_rank, axis=1))
