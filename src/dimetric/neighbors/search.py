"""Exact nearest neighbours, block by block."""

import array_api_compat as compat

from dimetric._xp import Array, eps, namespace, smallest
from dimetric.pairwise.engine import squared_distances
from dimetric.reduce.tree import row_blocks


def nearest(
    X: Array, k: int, points: Array | None = None, *, block: int = 1024
) -> tuple[Array, Array]:
    """Return the k nearest points of every row of X, nearest first.

    Candidates are found from one matrix product a block, which rounds relative to the norms of
    the samples; their distances are then taken from the differences themselves. Candidates are
    added until no other point can be nearer, whatever the rounding.

    Parameters
    ----------
    X : array of shape (n, d)
        Queries.
    k : int
        Number of neighbours.
    points : array of shape (m, d), optional
        Where to search. By default X itself, and a row is not its own neighbour.
    block : int, default=1024
        Queries handled at once: memory is O(block m).

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
    xp = namespace(X)
    alone = points is None
    points = X if points is None else points
    available = points.shape[0] - alone
    if not 1 <= k <= available:
        raise ValueError(f"k={k} neighbours were asked for; there can be 1 to {available}.")
    centre = xp.mean(points, axis=0)
    A, B = X - centre, points - centre  # candidates come from these, distances do not
    index = xp.arange(points.shape[0], device=compat.device(X))
    reach = xp.max(xp.sqrt(xp.sum(B * B, axis=1)))
    distances, indices = [], []
    for b in row_blocks(X.shape[0], block):
        D = squared_distances(A[b, :], B)
        if alone:
            D = xp.where(index[b][:, None] == index[None, :], xp.inf, D)
        norms = xp.sqrt(xp.sum(A[b, :] ** 2, axis=1))
        rounding = (X.shape[1] + 4) * eps(X) * (norms + reach) ** 2
        near, columns = _nearest_in_block(X[b, :], points, D, rounding, k, available)
        distances.append(near)
        indices.append(columns)
    return xp.concat(distances), xp.concat(indices)


def _nearest_in_block(
    X: Array, points: Array, D: Array, rounding: Array, k: int, available: int
) -> tuple[Array, Array]:
    """Return exact distances and columns, given squared distances D up to `rounding`."""
    xp = namespace(X)
    m = k + 4
    while True:
        m = min(m, available)
        approximate, columns = smallest(D, min(m + 1, available))
        columns = xp.sort(columns[:, :m], axis=1)  # equal distances come in the points' order
        exact = _distances_to(X, points, columns)
        order = xp.argsort(exact, axis=1, stable=True)[:, :k]
        near = xp.take_along_axis(exact, order, axis=1)
        left_out = approximate[:, -1] - rounding
        if m == available or bool(xp.all(left_out >= near[:, -1] ** 2)):
            return near, xp.take_along_axis(columns, order, axis=1)
        m = 4 * m


def _distances_to(X: Array, points: Array, columns: Array) -> Array:
    """Return the distances between row i of X and the points ``columns[i]``."""
    xp = namespace(X)
    by_rank = []
    for rank in range(columns.shape[1]):
        difference = X - xp.take(points, columns[:, rank], axis=0)
        by_rank.append(xp.sqrt(xp.sum(difference * difference, axis=1)))
    return xp.stack(by_rank, axis=1)
