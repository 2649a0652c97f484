"""Exact Euclidean neighbours by matrix products, in any array namespace."""

from collections.abc import Callable, Sequence
from math import frexp

import array_api_compat as compat

from dimetric._arrays.blocks import row_blocks
from dimetric._arrays.namespaces import Array, eps, is_host, namespace, smallest_in_rows
from dimetric._arrays.squared_distances import left_factor, right_factor
from dimetric._arrays.threads import map_on_threads

TILE_POINTS = 2**13  # columns of one product
SPARE = 6  # candidates of the first attempt beyond those asked for
MORE = 4  # times as many candidates in each further attempt
HOST_BLOCK, DEVICE_BLOCK = 128, 4096  # queries: what fits a cache, what keeps a device busy

# A slice of the points, and a function that hides some of them: hide(D, rows, columns) returns the
# distances D from queries to points with infinity where a point is hidden.
Part = tuple[slice, Callable[[Array, Array, slice], Array] | None]


def euclidean_neighbors(
    X: Array, k: int, points: Array | None = None, *, block: int | None = None
) -> tuple[Array, Array]:
    """Return the k nearest points of every row of X in Euclidean distance, nearest first.

    Exact, see :class:`EuclideanSearch`.

    Parameters
    ----------
    X : array of shape (n, d)
        Queries.
    k : int
        Number of neighbours.
    points : array of shape (m, d), optional
        Where to search. By default X itself, and a row is not its own neighbour.
    block : int, optional
        Number of queries handled at once; the default depends on the device.

    Returns
    -------
    distances : array of shape (n, k)
        Ascending.
    indices : array of shape (n, k)
        Rows of `points`.

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
        raise ValueError(f"k={k} neighbours were asked for; there can be 1 to {available}.")
    search = EuclideanSearch(X, points)
    everywhere = [(slice(0, n_points), None)]
    return search.over_blocks(lambda rows: search.nearest(rows, k, everywhere), block)


class EuclideanSearch:
    r"""Exact search for the neighbours of queries, among all points or among some of them.

    Squared distances come from one matrix product a tile, in single precision, which is the
    fastest way (see :mod:`dimetric._arrays.squared_distances`). Its rounding is relative to the
    norms, so it only finds candidates, whose distances are then computed from the differences.
    If another point could be as near, by a bound of the rounding, the query is repeated in double
    precision, with more and more candidates. Of points at equal distance the first rows come
    first, except among copies of the query.

    Parameters
    ----------
    X : array of shape (n, d)
        Queries.
    points : array of shape (m, d), optional
        Where to search. By default among the queries; none is its own neighbour.
    """

    def __init__(self, X: Array, points: Array | None = None) -> None:
        xp = namespace(X)
        self._X, self._points, self._alone = X, X if points is None else points, points is None
        self._centre = xp.astype(xp.mean(self._points, axis=0), xp.float64)
        B = xp.astype(self._points, xp.float64) - self._centre
        largest = float(xp.max(xp.abs(B)))
        if points is not None:
            largest = max(largest, float(xp.max(xp.abs(X - self._centre))))
        # A power of two that brings all values into the range of single precision.
        self._unit = 2.0 ** -frexp(largest)[1]
        self._double = right_factor(self._unit * B)
        self._single = xp.astype(self._double, xp.float32)
        if compat.is_torch_array(X) and xp.get_float32_matmul_precision() != "highest":
            self._single = self._double  # torch may round more than the bound below allows
        self._reach = xp.sqrt(xp.max(self._double[:, -1]))

    def nearest(self, block: slice, k: int, among: Sequence[Part]) -> tuple[Array, Array]:
        """Return the distances and indices of the k nearest points of a block of queries.

        Parameters
        ----------
        block : slice
            Rows of the queries.
        k : int
            Number of neighbours. Missing ones have index -1 and an infinite distance.
        among : sequence of (slice, callable or None)
            Where to search: at least k points beside the query itself, and a function that hides
            some of them.
        """
        xp = namespace(self._X)
        rows = xp.arange(block.start, block.stop, device=compat.device(self._X))
        m = k + SPARE
        near, indices, sure = self._attempt(rows, k, m, among, self._single)
        while not bool(xp.all(sure)):
            m = MORE * m
            doubtful = ~sure
            near[doubtful], indices[doubtful], sure[doubtful] = self._attempt(
                rows[doubtful], k, m, among, self._double
            )
        return xp.astype(near, self._X.dtype, copy=False), indices

    def over_blocks(
        self, work: Callable[[slice], tuple[Array, Array]], block: int | None = None
    ) -> tuple[Array, Array]:
        """Return ``work(block)`` of all blocks of queries, concatenated.

        NumPy's blocks are handled by several threads: selecting neighbours uses one core.
        """
        xp = namespace(self._X)
        n = self._X.shape[0]
        if block is None:
            block = HOST_BLOCK if is_host(self._X) else DEVICE_BLOCK
        blocks = list(row_blocks(n, block))
        by_threads = compat.is_numpy_array(self._X)
        found = list(map_on_threads(work, blocks, n_rows=n) if by_threads else map(work, blocks))
        return xp.concat([near for near, _ in found]), xp.concat([those for _, those in found])

    def _attempt(
        self, rows: Array, k: int, m: int, among: Sequence[Part], factor: Array
    ) -> tuple[Array, Array, Array]:
        """Return distances and indices from m candidates, and whether they are surely right."""
        xp = namespace(rows)
        X = xp.take(self._X, rows, axis=0)
        A = left_factor(self._unit * (xp.astype(X, xp.float64) - self._centre))
        norms = A[:, -2]
        A = xp.astype(A, factor.dtype)
        n_points = sum(part.stop - part.start for part, _ in among)
        m = min(m, n_points)
        rough, indices = _candidates(A, factor, rows, m, among)
        hidden = xp.isinf(rough) | (self._alone & (indices == rows[:, None]))
        indices = xp.where(hidden, -1, indices)
        indices = xp.sort(indices, axis=1)  # points at equal distance come in their order
        exact = _distances_to(X, self._points, indices)
        order = xp.argsort(exact, axis=1, stable=True)[:, :k]
        near = xp.take_along_axis(exact, order, axis=1)
        size = (xp.sqrt(norms) + self._reach) ** 2
        rounding = (A.shape[1] + 2) * eps(A) * size + float(xp.finfo(A.dtype).smallest_normal)
        farther = rough[:, -1] - rounding >= (self._unit * near[:, -1]) ** 2  # all others
        sure = farther | (near[:, -1] == 0) | (m == n_points)
        return near, xp.take_along_axis(indices, order, axis=1), sure


def _candidates(
    A: Array, factor: Array, rows: Array, m: int, among: Sequence[Part]
) -> tuple[Array, Array]:
    """Return the m smallest squared distances, up to rounding, and the indices of the points."""
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
    rough, best = smallest_in_rows(xp.concat(values, axis=1), m)
    return rough, xp.take_along_axis(xp.concat(indices, axis=1), best, axis=1)


def _distances_to(X: Array, points: Array, indices: Array) -> Array:
    """Return the distances between row i of X and the points ``indices[i]``; inf where it is -1."""
    xp = namespace(X)
    missing = indices < 0
    indices = xp.where(missing, 0, indices)
    by_rank = []
    for rank in range(indices.shape[1]):
        difference = X - xp.take(points, indices[:, rank], axis=0)
        difference = xp.astype(difference, xp.float64, copy=False)
        by_rank.append(xp.sqrt(xp.sum(difference * difference, axis=1)))
    return xp.where(missing, xp.inf, xp.stack(by_rank, axis=1))
