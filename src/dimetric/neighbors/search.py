"""Exact nearest neighbours, block by block."""

from collections.abc import Callable, Sequence
from math import frexp

import array_api_compat as compat

from dimetric._arrays.blocks import row_blocks
from dimetric._arrays.namespaces import Array, eps, namespace, smallest
from dimetric._arrays.squared_distances import left_factor, right_factor
from dimetric._arrays.threads import map_on_threads

TILE = 2**13  # points looked at together

# A slice of the points, and what hides some in it: hide(D, rows, columns) returns the distances D
# from queries to points with infinities.
Part = tuple[slice, Callable[[Array, Array, slice], Array] | None]


def nearest(
    X: Array, k: int, points: Array | None = None, *, block: int | None = None
) -> tuple[Array, Array]:
    """Return the k nearest points of every row of X, nearest first.

    Exact, see :class:`Search`.

    Parameters
    ----------
    X : array of shape (n, d)
        Queries.
    k : int
        Number of neighbours.
    points : array of shape (m, d), optional
        Where to search. By default X itself, and a row is not its own neighbour.
    block : int, optional
        Queries handled at once; by default as many as suit the device.

    Returns
    -------
    distances : array of shape (n, k)
        Euclidean, ascending.
    indices : array of shape (n, k)
        Rows of `points`.

    Examples
    --------
    >>> import numpy as np
    >>> distances, indices = nearest(np.array([[0.0], [1.0], [5.0]]), 1)
    >>> distances.ravel(), indices.ravel()
    (array([1., 1., 4.]), array([1, 0, 1]))
    """
    n_points = X.shape[0] if points is None else points.shape[0]
    available = n_points - (points is None)
    if not 1 <= k <= available:
        raise ValueError(f"k={k} neighbours were asked for; there can be 1 to {available}.")
    search = Search(X, points)
    everywhere = [(slice(0, n_points), None)]
    return search.over_blocks(lambda rows: search.nearest(rows, k, everywhere), block)


class Search:
    r"""Exact search for the neighbours of queries, among points that they may not all see.

    Squared distances come from one matrix product a tile, of augmented rows
    :math:`[-2x, |x|^2, 1] \cdot [p, 1, |p|^2]` in single precision: nothing else is as fast. That
    rounds relative to the norms, so it only tells candidates, whose distances are then taken from
    the differences themselves. Where by a bound of the rounding another point could be as near,
    the query is asked again in double precision, with more and more candidates. So, of points at
    equal distance the first come first; only among copies of the query any may come.

    Parameters
    ----------
    X : array of shape (n, d)
        Queries.
    points : array of shape (m, d), optional
        Where to search. By default among the queries, which are no neighbours of themselves.
    """

    def __init__(self, X: Array, points: Array | None = None) -> None:
        xp = namespace(X)
        self._X, self._points, self._alone = X, X if points is None else points, points is None
        self._centre = xp.astype(xp.mean(self._points, axis=0), xp.float64)
        B = xp.astype(self._points, xp.float64) - self._centre
        largest = float(xp.max(xp.abs(B)))
        if points is not None:
            largest = max(largest, float(xp.max(xp.abs(X - self._centre))))
        # A power of two that brings all into the range of single precision.
        self._unit = 2.0 ** -frexp(largest)[1]
        self._double = right_factor(self._unit * B)
        self._single = xp.astype(self._double, xp.float32)
        if compat.is_torch_array(X) and xp.get_float32_matmul_precision() != "highest":
            self._single = self._double  # torch was allowed to round more than the bound allows
        self._reach = xp.sqrt(xp.max(self._double[:, -1]))

    def nearest(self, block: slice, k: int, among: Sequence[Part]) -> tuple[Array, Array]:
        """Return the distances and indices of the k nearest points of a block of queries.

        Parameters
        ----------
        block : slice
            Rows of the queries.
        k : int
            Number of neighbours. Missing ones have index -1 and are infinitely far.
        among : sequence of (slice, callable or None)
            Where to search, among k points at least beside the query itself, and what hides some.
        """
        xp = namespace(self._X)
        rows = xp.arange(block.start, block.stop, device=compat.device(self._X))
        m = k + 6
        near, indices, sure = self._attempt(rows, k, m, among, self._single)
        while not bool(xp.all(sure)):
            m = 4 * m
            doubtful = ~sure
            near[doubtful], indices[doubtful], sure[doubtful] = self._attempt(
                rows[doubtful], k, m, among, self._double
            )
        return xp.astype(near, self._X.dtype, copy=False), indices

    def over_blocks(
        self, work: Callable[[slice], tuple[Array, Array]], block: int | None = None
    ) -> tuple[Array, Array]:
        """Return ``work(block)`` of all blocks of queries together.

        On NumPy by as many threads as BLAS may use: to select neighbours takes one core.
        """
        xp = namespace(self._X)
        n = self._X.shape[0]
        if block is None:  # large kernels keep an accelerator busy, small blocks a cache
            block = 128 if "cpu" in str(compat.device(self._X)).lower() else 4096
        blocks = list(row_blocks(n, block))
        by_threads = compat.is_numpy_array(self._X)
        found = list(map_on_threads(work, blocks, n_rows=n) if by_threads else map(work, blocks))
        return xp.concat([near for near, _ in found]), xp.concat([those for _, those in found])

    def _attempt(
        self, rows: Array, k: int, m: int, among: Sequence[Part], factor: Array
    ) -> tuple[Array, Array, Array]:
        """Return distances and indices from m candidates, and whether they are right for sure."""
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
        indices = xp.sort(indices, axis=1)  # equal distances come in the points' order
        exact = _distances_to(X, self._points, indices)
        order = xp.argsort(exact, axis=1, stable=True)[:, :k]
        near = xp.take_along_axis(exact, order, axis=1)
        size = (xp.sqrt(norms) + self._reach) ** 2
        rounding = (A.shape[1] + 2) * eps(A) * size + float(xp.finfo(A.dtype).smallest_normal)
        farther = rough[:, -1] - rounding >= (self._unit * near[:, -1]) ** 2  # are all others
        sure = farther | (near[:, -1] == 0) | (m == n_points)
        return near, xp.take_along_axis(indices, order, axis=1), sure


def _candidates(
    A: Array, factor: Array, rows: Array, m: int, among: Sequence[Part]
) -> tuple[Array, Array]:
    """Return the m smallest squared distances, up to rounding, and the points that they lead to."""
    xp = namespace(A)
    values, indices = [], []
    for part, hide in among:
        for start in range(part.start, part.stop, TILE):
            tile = slice(start, min(start + TILE, part.stop))
            D = A @ factor[tile, :].T
            D = D if hide is None else hide(D, rows, tile)
            value, column = smallest(D, min(m, D.shape[1]))
            values.append(value)
            indices.append(start + column)
    rough, best = smallest(xp.concat(values, axis=1), m)
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
