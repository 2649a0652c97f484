r"""Approximate friends and enemies.

**Friends.** Each class is searched on its own.

**Enemies.** The classes are numbered in binary. A sample of another class differs in at least one
bit of its number. So for each bit, the samples with bit 0 are searched for neighbours of those with
bit 1, and vice versa. The nearest of all found samples are the enemies. This takes
:math:`\lceil \log_2 C \rceil` searches of each sample for C classes. One index of all samples would
not do, because all near samples may have the same class.
"""

import numpy as np

from dimetric.neighbors.approximate.index import ApproximateIndex
from dimetric.neighbors.approximate.log import SearchLog
from dimetric.neighbors.euclidean.search import EuclideanSearch, Part


def approximate_roles(
    X: np.ndarray, codes: np.ndarray, k: int, role: str, log: SearchLog
) -> tuple[np.ndarray, np.ndarray]:
    """Return the distances and row numbers of k friends or enemies, inf and -1 for missing ones.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Samples.
    codes : ndarray of shape (n,)
        Classes as integers from 0.
    k : int
        Number of neighbours.
    role : {"friends", "enemies"}
        Whether neighbours have the same class or another one.
    log : SearchLog
        The search. It keeps the recall.

    Examples
    --------
    >>> from sklearn.neighbors import NearestNeighbors
    >>> X, codes = np.array([[0.0], [2.0], [5.0], [9.0]]), np.array([0, 0, 1, 2])
    >>> approximate_roles(X, codes, 1, "enemies", SearchLog(NearestNeighbors()))[1].ravel()
    array([2, 2, 1, 2])
    """
    find = _friends if role == "friends" else _enemies
    distances, indices = find(X, codes, k, log)
    rows = log.sampled_rows(len(X))
    log.record(distances[rows], _exact_distances(X, codes, k, role, rows))
    return distances, indices


def _friends(
    X: np.ndarray, codes: np.ndarray, k: int, log: SearchLog
) -> tuple[np.ndarray, np.ndarray]:
    distances, indices = _empty(len(X), k)
    for c in np.unique(codes):
        rows = np.flatnonzero(codes == c)
        m = min(k, len(rows) - 1)
        if m:
            near, found = ApproximateIndex(X[rows], log.search).nearest_others(m)
            distances[rows, :m], indices[rows, :m] = near, rows[found]
    return distances, indices


def _enemies(
    X: np.ndarray, codes: np.ndarray, k: int, log: SearchLog
) -> tuple[np.ndarray, np.ndarray]:
    distances, indices = _empty(len(X), k)
    for bit in range(int(codes.max()).bit_length()):
        has_bit = (codes >> bit) & 1 == 1
        for queries, rows in (
            (np.flatnonzero(has_bit), np.flatnonzero(~has_bit)),
            (np.flatnonzero(~has_bit), np.flatnonzero(has_bit)),
        ):
            if len(queries) and len(rows):
                index = ApproximateIndex(X[rows], log.search)
                near, found = index.nearest(X[queries], min(k, len(rows)))
                distances[queries], indices[queries] = _merged(
                    (distances[queries], near), (indices[queries], rows[found])
                )
    return distances, indices


def _empty(n: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    return np.full((n, k), np.inf), np.full((n, k), -1, np.int64)


def _merged(
    distances: tuple[np.ndarray, np.ndarray], indices: tuple[np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the nearest of two lists of neighbours, as many as in the first list.

    A neighbour may be in both lists, and then counts once.
    """
    k = distances[0].shape[1]
    near, found = np.concatenate(distances, axis=1), np.concatenate(indices, axis=1)
    order = np.argsort(found, axis=1, kind="stable")
    near, found = (np.take_along_axis(a, order, axis=1) for a in (near, found))
    repeated = np.zeros(found.shape, bool)
    repeated[:, 1:] = found[:, 1:] == found[:, :-1]
    near[repeated], found[repeated] = np.inf, -1
    order = np.argsort(near, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(near, order, axis=1), np.take_along_axis(found, order, axis=1)


def _exact_distances(
    X: np.ndarray, codes: np.ndarray, k: int, role: str, rows: np.ndarray
) -> np.ndarray:
    """Return the exact distances from some samples to their k friends or enemies."""
    X, are_friends = X.astype(np.float64, copy=False), role == "friends"
    search, sampled = EuclideanSearch(X[rows], X), codes[rows]

    def hide(D: np.ndarray, queries: np.ndarray, columns: slice) -> np.ndarray:
        same = sampled[queries][:, None] == codes[columns]
        return np.where(same == are_friends, D, np.inf)

    among: list[Part] = [(slice(0, len(X)), hide)]
    # The nearest sample of the same class is the sample itself.
    distances, _ = search.map_blocks(lambda block: search.nearest(block, k + are_friends, among))
    return distances[:, int(are_friends) :]
