"""Exact nearest neighbours, block by block."""

import array_api_compat as compat

from dimetric._xp import Array, namespace, smallest
from dimetric.pairwise.engine import squared_distances
from dimetric.reduce.tree import row_blocks


def nearest(
    X: Array, k: int, points: Array | None = None, *, block: int = 1024
) -> tuple[Array, Array]:
    """Return the k nearest points of every row of X, nearest first.

    Candidates are found from one matrix product a block; their distances are then taken from
    the differences themselves, so that near-duplicates keep their digits.

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
    X, points = X - centre, points - centre
    index = xp.arange(points.shape[0], device=compat.device(X))
    distances, indices = [], []
    for b in row_blocks(X.shape[0], block):
        D = squared_distances(X[b, :], points)
        if alone:
            D = xp.where(index[b][:, None] == index[None, :], xp.inf, D)
        # A few candidates more than asked for: rounding may have swapped the last ones.
        _, columns = smallest(D, min(k + 4, available))
        exact = _distances_to(X[b, :], points, columns)
        near, order = smallest(exact, k)
        distances.append(near)
        indices.append(xp.take_along_axis(columns, order, axis=1))
    return xp.concat(distances), xp.concat(indices)


def _distances_to(X: Array, points: Array, columns: Array) -> Array:
    """Return the distances between row i of X and the points ``columns[i]``."""
    xp = namespace(X)
    by_rank = []
    for rank in range(columns.shape[1]):
        difference = X - xp.take(points, columns[:, rank], axis=0)
        by_rank.append(xp.sqrt(xp.sum(difference * difference, axis=1)))
    return xp.stack(by_rank, axis=1)
