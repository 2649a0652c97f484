r"""Ranks of neighbours.

The neighbours of each point are sorted by distance, once in the data and once in the embedding. All
rank-based scores are computed from one table: :math:`s_i(r)` is the rank in the embedding of the
r-th nearest neighbour of i in the data. The scores of points with tied distances are computed from
the ranges of tied ranks instead, see :mod:`dimetric.quality._ties`.
"""

from dataclasses import replace

import array_api_compat as compat
import numpy as np

from dimetric._arrays.compiled import import_compiled
from dimetric._arrays.namespaces import Array, namespace, to_host
from dimetric.quality._distances import Rounding, with_self_entries

MAX_COUNTED_NEIGHBORS = 20  # for more neighbours, sorting a row is faster than counting
MAX_PARTITION_FRACTION = 0.25  # for a larger fraction of neighbours, whole rows are sorted


def neighbor_order(D: Array, index: Array, rounding: Rounding) -> tuple[Array, np.ndarray]:
    """Return the columns of each row of D, nearest first, and which rows have tied distances.

    Parameters
    ----------
    D : array of shape (b, n)
        Distances, float64.
    index : array of shape (b,)
        Column of the point itself in each row, which is omitted.
    rounding : Rounding
        Rounding errors of the distances.

    Returns
    -------
    order : array of shape (b, n - 1)
        Columns. Tied distances are in any order.
    tied : ndarray of shape (b,)
        Whether two distances in the row are tied.

    Examples
    --------
    >>> D = np.array([[0.0, 3.0, 1.0], [3.0, 0.0, 3.0]])
    >>> neighbor_order(D, np.array([0, 1]), Rounding(1e-15, np.zeros((2, 1))))
    (array([[2, 1],
           [0, 2]]), array([False,  True]))
    """
    if not compat.is_numpy_array(D):
        xp = namespace(D)
        D = with_self_entries(D, index, xp.inf)
        order = xp.argsort(D, axis=1, stable=True)[:, :-1]
        sorted_ = to_host(xp.take_along_axis(D, order, axis=1))
        return order, np.any(rounding.ties(sorted_[:, :-1], sorted_[:, 1:]), axis=1)
    keys, column_mask = _sort_keys(D.copy(), index)
    keys.sort(axis=1)
    keys = keys[:, :-1]
    order = keys & column_mask
    values = keys.view(np.float64)
    rows, ranks = np.nonzero(_for_keys(rounding, column_mask).ties(values[:, :-1], values[:, 1:]))
    near, far = D[rows, order[rows, ranks]], D[rows, order[rows, ranks + 1]]
    is_tie = rounding[rows].ties(np.minimum(near, far)[:, None], np.maximum(near, far)[:, None])
    # In a run of three or more similar keys, tied distances may have others between them.
    in_run = (np.diff(rows, prepend=-1) == 0) & (np.diff(ranks, prepend=-1) == 1)
    tied = np.zeros(len(D), dtype=bool)
    tied[rows[is_tie[:, 0] | in_run]] = True
    return order, tied


def ranks_of_nearest(
    D: np.ndarray, E: np.ndarray, index: np.ndarray, k: int, roundings: tuple[Rounding, Rounding]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the ranks in D of the k nearest columns in E, and which rows may have ties.

    This is faster than :func:`neighbor_order`, because only the nearest columns of E are sorted,
    and D is sorted only for many neighbours.

    Parameters
    ----------
    D, E : ndarray of shape (b, n)
        Distances, float64. They are overwritten.
    index : ndarray of shape (b,)
        Column of the point itself in each row, which has no rank.
    k : int
        Number of columns, less than n - 1.
    roundings : pair of Rounding
        Rounding errors of the distances in D and E.

    Returns
    -------
    ranks : ndarray of shape (b, k)
        From 1 to n - 1.
    tied : ndarray of shape (b,)
        Whether the choice of the columns or their ranks may depend on the order of tied distances.

    Examples
    --------
    >>> D, E = np.array([[0.0, 3.0, 1.0, 2.0]]), np.array([[0.0, 1.0, 1.0, 5.0]])
    >>> rounding = Rounding(1e-15, np.zeros((1, 1)))
    >>> ranks_of_nearest(D, E, np.array([0]), 1, (rounding, rounding))
    (array([[3]]), array([ True]))
    """
    keys, column_mask = _sort_keys(E, index)
    if k + 1 < MAX_PARTITION_FRACTION * E.shape[1]:
        keys.partition(k, axis=1)
        keys = keys[:, : k + 1]
    keys.sort(axis=1)
    near, values = keys[:, :k] & column_mask, keys.view(np.float64)
    in_data, in_embedding = (_for_keys(each, column_mask) for each in roundings)
    tied = in_embedding.ties(values[:, k - 1 : k], values[:, k : k + 1])[:, 0]
    if k <= MAX_COUNTED_NEIGHBORS:
        ranks, ties = _counted_ranks(D, index, near, roundings[0])
        return ranks, tied | ties
    keys, _ = _sort_keys(D, index)
    wanted = np.take_along_axis(keys, near, axis=1)
    keys.sort(axis=1)
    ranks = np.stack([np.searchsorted(*row) for row in zip(keys, wanted, strict=True)])
    # The last key is that of the point itself. As a float, it is NaN, which is not tied.
    before, here, after = (
        np.take_along_axis(keys, each, axis=1).view(np.float64)
        for each in (np.maximum(ranks - 1, 0), ranks, ranks + 1)
    )
    ties = (in_data.ties(before, here) & (ranks > 0)) | in_data.ties(here, after)
    return ranks + 1, tied | np.any(ties, axis=1)


def _counted_ranks(
    D: np.ndarray, index: np.ndarray, columns: np.ndarray, rounding: Rounding
) -> tuple[np.ndarray, np.ndarray]:
    """Return the ranks of the given columns of D, and which rows have ties with one of them.

    The rank of a distance is 1 plus the number of smaller distances. Counting them is faster than
    sorting the row if there are only a few columns.
    """
    D = with_self_entries(D, index, np.inf)
    lower, upper = rounding.range_of_ties(np.take_along_axis(D, columns, axis=1))
    compiled = import_compiled("quality._compiled")
    count = _count_in_rows if compiled is None else compiled.count_in_rows
    n_smaller, n_not_larger = count(D, lower, upper)
    return n_smaller + 1, np.any(n_not_larger - n_smaller != 1, axis=1)


def _count_in_rows(
    D: np.ndarray, lower: np.ndarray, upper: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return how many values of a row of D are less than `lower`, and how many at most `upper`."""
    n_smaller, n_not_larger = np.empty((2, *lower.shape), dtype=np.int64)
    for i, row in enumerate(D):
        for j in range(lower.shape[1]):
            n_smaller[i, j] = np.count_nonzero(row < lower[i, j])
            n_not_larger[i, j] = np.count_nonzero(row <= upper[i, j])
    return n_smaller, n_not_larger


def _for_keys(rounding: Rounding, column_mask: int) -> Rounding:
    """Return looser bounds for distances whose last bits are replaced, see :func:`_sort_keys`."""
    replaced = column_mask * float(np.finfo(np.float64).eps)
    return replace(rounding, relative=rounding.relative + 2 * replaced)


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
