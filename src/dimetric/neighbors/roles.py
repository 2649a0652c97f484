"""Friends and enemies: the nearest samples of the same class, and of other classes."""

import warnings
from dataclasses import dataclass

import numpy as np

from dimetric._arrays.namespaces import Array, asarray_like, namespace
from dimetric.neighbors.euclidean_search import EuclideanSearch, Part


@dataclass(frozen=True)
class Neighbors:
    """The friends, or the enemies, of each of n samples."""

    indices: Array  # (n, k) rows, nearest first; the sample itself where there are fewer than k
    counts: np.ndarray  # (n,) how many there are, at most k


def friends(X: Array, codes: np.ndarray, k: int) -> Neighbors:
    """Return the k nearest samples of the same class, without the sample itself.

    Exact, block by block. Of friends at equal distance the first rows come first, except among
    copies of the sample. In a class of k samples or fewer, all others are friends, with a warning.

    Parameters
    ----------
    X : array of shape (n, d)
        Samples, sorted by class.
    codes : ndarray of shape (n,)
        Their classes, as integers from 0, ascending.
    k : int
        Number of friends.

    Examples
    --------
    >>> X, codes = np.array([[0.0], [2.0], [9.0], [1.0]]), np.array([0, 0, 0, 1])
    >>> with warnings.catch_warnings(action="ignore"):
    ...     found = friends(X, codes, 1)
    >>> found.indices.ravel(), found.counts
    (array([1, 0, 1, 3]), array([1, 1, 1, 0]))
    """
    return _neighbors(X, codes, k, "friends")


def enemies(X: Array, codes: np.ndarray, k: int) -> Neighbors:
    """Return the k nearest samples of other classes; see :func:`friends`.

    Examples
    --------
    >>> X, codes = np.array([[0.0], [2.0], [1.0], [9.0]]), np.array([0, 0, 1, 1])
    >>> enemies(X, codes, 2).indices
    array([[2, 3],
           [2, 3],
           [0, 1],
           [1, 0]])
    """
    return _neighbors(X, codes, k, "enemies")


def _neighbors(X: Array, codes: np.ndarray, k: int, role: str) -> Neighbors:
    if np.any(np.diff(codes) < 0):
        raise ValueError("codes must be ascending: sort the samples by class.")
    xp = namespace(X)
    n = len(codes)
    sizes = np.bincount(codes)[codes]
    counts = np.minimum(sizes - 1 if role == "friends" else n - sizes, min(k, n))
    _warn_of_missing(counts, k, role)
    k = int(counts.max())
    if k == 0:
        return Neighbors(asarray_like(np.empty((n, 0)), X, dtype=xp.int64), counts)
    found = _found(X, codes, k, role)
    itself = asarray_like(np.arange(n)[:, None], X, dtype=xp.int64)
    return Neighbors(xp.where(found < 0, itself, found), counts)


def _found(X: Array, codes: np.ndarray, k: int, role: str) -> Array:
    """Return the indices of k neighbours of all samples; -1 where there are fewer."""
    xp = namespace(X)
    n = len(codes)
    search, labels = EuclideanSearch(X), asarray_like(codes, X, dtype=xp.int64)

    def hide(D: Array, rows: Array, columns: slice) -> Array:
        same = xp.take(labels, rows)[:, None] == labels[columns][None, :]
        return xp.where(same == (role == "friends"), D, xp.inf)

    def of_block(block: slice) -> tuple[Array, Array]:
        first, last = codes[block.start], codes[block.stop - 1]
        low = int(np.searchsorted(codes, first))
        high = int(np.searchsorted(codes, last, side="right"))
        hiding = None if first == last else hide
        among: list[Part] = [(slice(low, high), hiding)]
        if role == "enemies":
            among = [(slice(0, low), None), (slice(high, n), None), *(among if hiding else [])]
        if sum(part.stop - part.start for part, _ in among) <= k:  # too few: some have more
            among = [(slice(0, n), hide)]
        return search.nearest(block, k, among)

    return search.over_blocks(of_block)[1]


def _warn_of_missing(counts: np.ndarray, k: int, role: str) -> None:
    few = int(np.sum(counts < k))
    if few:
        whose = "their classes" if role == "friends" else "other classes"
        none = int(np.sum(counts == 0))
        warnings.warn(
            f"{few} of {len(counts)} samples have fewer than {k} {role}, because {whose} are "
            f"too small: they are compared with those there are ({none} with none).",
            stacklevel=2,
        )
