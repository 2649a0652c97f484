r"""Ranks of neighbours.

The neighbours of each point are sorted by distance, once in the data and once in the embedding. All
rank-based scores are computed from one table: :math:`s_i(r)` is the rank in the embedding of the
r-th nearest neighbour of i in the data.
"""

import array_api_compat as compat
import numpy as np

from dimetric._arrays.namespaces import Array, namespace, to_host
from dimetric.quality._distances import with_self_entries

MAX_PARTITION_FRACTION = 0.25  # for a larger fraction of neighbours, whole rows are sorted


def neighbor_order(
    D: Array, index: Array, k: int | None = None, *, overwrite: bool = False
) -> Array:
    """Return the columns of each row of D, nearest first, without the point itself.

    Equal distances are in column order.

    Parameters
    ----------
    D : array of shape (b, n)
        Distances, float64.
    index : array of shape (b,)
        Column of the point itself in each row.
    k : int, optional
        Number of neighbours to return. By default, all other points are returned.
    overwrite : bool, default=False
        Whether D may be overwritten, which saves a copy.

    Returns
    -------
    order : array of shape (b, k)

    Examples
    --------
    >>> D = np.array([[0.0, 3.0, 1.0], [3.0, 0.0, 3.0]])
    >>> neighbor_order(D, np.array([0, 1]))
    array([[2, 1],
           [0, 2]])
    """
    k = D.shape[1] - 1 if k is None else k
    if not compat.is_numpy_array(D):
        xp = namespace(D)
        return xp.argsort(with_self_entries(D, index, xp.inf), axis=1, stable=True)[:, :k]
    keys, column_mask = _sort_keys(D if overwrite else D.copy(), index)
    if k < MAX_PARTITION_FRACTION * D.shape[1]:
        keys.partition(k - 1, axis=1)
        keys = keys[:, :k]
    keys.sort(axis=1)
    return keys[:, :k] & column_mask


def _sort_keys(D: np.ndarray, index: np.ndarray) -> tuple[np.ndarray, int]:
    """Convert distances in place to integers that sort by distance, then by column.

    Non-negative floats sort like their bit patterns. The last bits of a key are replaced by the
    column. The second result is the mask of these bits. A plain sort of the keys is many times
    faster than a stable argsort. Up to a million points, the replaced bits lie beyond the 9th digit
    of the distance.
    """
    column_mask = (1 << int(D.shape[1] - 1).bit_length()) - 1
    keys = D.view(np.int64)
    keys &= np.iinfo(np.int64).max - column_mask
    keys |= np.arange(D.shape[1])
    return with_self_entries(keys, index, np.iinfo(np.int64).max), column_mask


def ranks_of(near: Array, D: Array, index: Array) -> Array:
    """Return the ranks of the given columns in each row, when sorted by distance.

    Parameters
    ----------
    near : array of shape (b, k)
        Columns.
    D : array of shape (b, n)
        Distances, float64. They are overwritten.
    index : array of shape (b,)
        Column of the point itself in each row, which has no rank.

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
        return ranks_in_order(near, neighbor_order(D, index), index)
    keys, _ = _sort_keys(D, index)
    wanted = np.take_along_axis(keys, near, axis=1)
    keys.sort(axis=1)
    return np.stack([np.searchsorted(*row) for row in zip(keys, wanted, strict=True)]) + 1


def ranks_in_order(columns: Array, order: Array, index: Array) -> Array:
    """Return the ranks of the given columns in each row, from the order of all columns.

    Parameters
    ----------
    columns : array of shape (b, k)
        Columns of neighbours.
    order : array of shape (b, n - 1)
        All neighbours in order, as returned by :func:`neighbor_order`.
    index : array of shape (b,)
        Column of the point itself, which is in neither array.

    Returns
    -------
    ranks : array of shape (b, k)
        From 1 to n - 1.

    Examples
    --------
    >>> ranks_in_order(np.array([[3, 1, 2]]), np.array([[1, 2, 3]]), np.array([0]))
    array([[3, 1, 2]])
    """
    xp = namespace(columns)
    if not compat.is_numpy_array(columns):
        position = xp.argsort(order, axis=1)  # by column, without the point itself
        shifted = columns - xp.astype(columns > index[:, None], columns.dtype)
        return xp.take_along_axis(position, shifted, axis=1) + 1
    b, m = order.shape
    start = (m + 1) * np.arange(b)[:, None]
    ranks = np.empty(b * (m + 1), dtype=np.int64)
    ranks[order + start] = np.arange(1, m + 1)
    return ranks.take(columns + start)


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
