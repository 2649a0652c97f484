r"""Ranks of neighbours.

Of each point the others are ordered by distance, twice: among the data and in the embedding. All
rank-based scores are read off one table, :math:`s_i(r)`: the rank in the embedding of the r-th
neighbour among the data.
"""

import array_api_compat as compat
import numpy as np

from dimetric._arrays.namespaces import Array, namespace, to_host
from dimetric.quality._distances import with_own


def neighbour_order(D: Array, index: Array, k: int | None = None, *, spent: bool = False) -> Array:
    """Return the columns of each row of distances, nearest first, without the point itself.

    Equal distances come in the order of their columns.

    Parameters
    ----------
    D : array of shape (b, n)
        Distances, float64.
    index : array of shape (b,)
        The column of the point itself.
    k : int, optional
        How many are wanted; by default all others.
    spent : bool, default=False
        D is not needed any more, and may be written over.

    Returns
    -------
    order : array of shape (b, k)

    Examples
    --------
    >>> D = np.array([[0.0, 3.0, 1.0], [3.0, 0.0, 3.0]])
    >>> neighbour_order(D, np.array([0, 1]))
    array([[2, 1],
           [0, 2]])
    """
    k = D.shape[1] - 1 if k is None else k
    if not compat.is_numpy_array(D):
        xp = namespace(D)
        return xp.argsort(with_own(D, index, xp.inf), axis=1, stable=True)[:, :k]
    keys, columns = _keys(D if spent else D.copy(), index)
    if 4 * k < D.shape[1]:
        keys.partition(k - 1, axis=1)
        keys = keys[:, :k]
    keys.sort(axis=1)
    return keys[:, :k] & columns


def _keys(D: np.ndarray, index: np.ndarray) -> tuple[np.ndarray, int]:
    """Turn distances, in place, into integers ordered as these, then columns, are; and their bits.

    Floating numbers >= 0 are ordered as their bits are. With the column in the last bits a plain
    sort does, which is many times as fast as a stable sort of indices; the bits it costs are
    beyond the 9th digit up to a million points.
    """
    columns = (1 << int(D.shape[1] - 1).bit_length()) - 1
    keys = D.view(np.int64)
    keys &= np.iinfo(np.int64).max - columns
    keys |= np.arange(D.shape[1])
    return with_own(keys, index, np.iinfo(np.int64).max), columns


def ranks_of(near: Array, D: Array, index: Array) -> Array:
    """Return the ranks by distance of some columns of each row.

    Parameters
    ----------
    near : array of shape (b, k)
        Columns.
    D : array of shape (b, n)
        Distances, float64, which are written over.
    index : array of shape (b,)
        The column of the point itself, which has no rank.

    Returns
    -------
    ranks : array of shape (b, k)
        From 1 to n - 1.

    Examples
    --------
    >>> ranks_of(np.array([[2]]), np.array([[0.0, 3.0, 1.0]]), np.array([0]))
    array([[1]])
    """
    if not compat.is_numpy_array(D):
        return ranks_along(near, neighbour_order(D, index), index)
    keys, _ = _keys(D, index)
    wanted = np.take_along_axis(keys, near, axis=1)
    keys.sort(axis=1)
    return np.stack([np.searchsorted(*row) for row in zip(keys, wanted, strict=True)]) + 1


def ranks_along(order: Array, other: Array, index: Array) -> Array:
    """Return the ranks by `other` of the neighbours in the order of `order`.

    Parameters
    ----------
    order : array of shape (b, k)
        Columns of neighbours.
    other : array of shape (b, n - 1)
        Of :func:`neighbour_order`.
    index : array of shape (b,)
        The column of the point itself, which both leave out.

    Returns
    -------
    ranks : array of shape (b, k)
        From 1 to n - 1.

    Examples
    --------
    >>> ranks_along(np.array([[3, 1, 2]]), np.array([[1, 2, 3]]), np.array([0]))
    array([[3, 1, 2]])
    """
    xp = namespace(order)
    if not compat.is_numpy_array(order):
        position = xp.argsort(other, axis=1)  # by column, its own left out
        column = order - xp.astype(order > index[:, None], order.dtype)
        return xp.take_along_axis(position, column, axis=1) + 1
    b, m = other.shape
    start = (m + 1) * np.arange(b)[:, None]
    ranks = np.empty(b * (m + 1), dtype=np.int64)
    ranks[other + start] = np.arange(1, m + 1)
    return ranks.take(order + start)


def counts_of(values: Array, n: int) -> np.ndarray:
    """Return how often each of 0, ..., n - 1 occurs."""
    if compat.is_numpy_array(values):
        return np.bincount(values.ravel(), minlength=n)
    xp = namespace(values)
    flat = xp.reshape(values, (-1,))
    if compat.is_torch_array(values):
        return to_host(xp.bincount(flat, minlength=n))
    limits = xp.arange(n + 1, dtype=flat.dtype, device=compat.device(flat))
    return np.diff(to_host(xp.searchsorted(xp.sort(flat), limits)))
