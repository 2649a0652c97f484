"""Friends and enemies: the nearest samples of the same class, and of other classes."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dimetric._arrays.namespaces import Array, asarray_like, namespace, to_host
from dimetric._arrays.row_order import EqualRows, equal_rows
from dimetric._warnings import warn
from dimetric.linalg.scatter import difference_scatter
from dimetric.neighbors.approximate.log import SearchLog
from dimetric.neighbors.approximate.roles import approximate_roles
from dimetric.neighbors.euclidean.search import EuclideanSearch, Part
from dimetric.neighbors.role_shares import Shares, TieTolerance, shares_of_ties


@dataclass(frozen=True)
class Neighbors:
    """The friends, or the enemies, of each of n samples."""

    indices: Array  # (n, m), nearest first; filled up with the sample itself if there are fewer
    counts: np.ndarray  # (n,) number of friends or enemies, at most k
    # (n, m) weights on the host. Those of a sample sum to its count, and missing neighbours have
    # weight 0. None if no neighbours are tied, so that all weights are 1.
    weights: np.ndarray | None = None

    def difference_scatter(
        self, X: Array, sample_weight: np.ndarray | None, *, root: bool
    ) -> Array:
        """Return the scatter of the differences between samples and their friends or enemies.

        See :func:`dimetric.linalg.scatter.difference_scatter`.
        """
        return difference_scatter(
            X, self.indices, self.counts, self.weights, sample_weight, root=root
        )


def friends(
    X: Array,
    codes: np.ndarray,
    k: int,
    *,
    share_ties: bool = False,
    search: SearchLog | None = None,
) -> Neighbors:
    """Return the k nearest other samples of the same class, for each sample.

    By default, the search is exact. Friends at equal distance are ordered by index. The order of
    duplicates of the sample is arbitrary. If a class has at most k samples, they are all friends of
    each other, and a warning is issued.

    Parameters
    ----------
    X : array of shape (n, d)
        Samples, sorted by class.
    codes : ndarray of shape (n,)
        Classes as integers from 0, in ascending order.
    k : int
        Number of friends.
    share_ties : bool, default=False
        Whether friends that are tied at the k-th distance share the remaining places, as described
        in :mod:`dimetric.neighbors.role_shares`. Then a sample may have more than k friends, with
        weights.
    search : SearchLog, optional
        An approximate search, used if there are enough samples. Then friends do not share places.

    Examples
    --------
    >>> X, codes = np.array([[0.0], [2.0], [9.0], [1.0]]), np.array([0, 0, 0, 1])
    >>> import warnings
    >>> with warnings.catch_warnings(action="ignore"):
    ...     nearest = friends(X, codes, 1)
    >>> nearest.indices.ravel(), nearest.counts
    (array([1, 0, 1, 3]), array([1, 1, 1, 0]))
    >>> friends(np.array([[0.0], [2.0], [-2.0]]), np.zeros(3, int), 1, share_ties=True).weights
    array([[0.5, 0.5],
           [1. , 0. ],
           [1. , 0. ]])
    """
    return _neighbors(_Samples(X, codes), k, "friends", share_ties, search)


def enemies(
    X: Array,
    codes: np.ndarray,
    k: int,
    *,
    share_ties: bool = False,
    search: SearchLog | None = None,
) -> Neighbors:
    """Return the k nearest samples of other classes, for each sample. See :func:`friends`.

    Examples
    --------
    >>> X, codes = np.array([[0.0], [2.0], [1.0], [9.0]]), np.array([0, 0, 1, 1])
    >>> enemies(X, codes, 2).indices
    array([[2, 3],
           [2, 3],
           [0, 1],
           [1, 0]])
    """
    return _neighbors(_Samples(X, codes), k, "enemies", share_ties, search)


def friends_and_enemies(
    X: Array,
    codes: np.ndarray,
    n_friends: int,
    n_enemies: int,
    *,
    share_ties: bool = False,
    search: SearchLog | None = None,
) -> tuple[Neighbors, Neighbors]:
    """Return the nearest friends and enemies of each sample. See :func:`friends`."""
    samples = _Samples(X, codes)
    return (
        _neighbors(samples, n_friends, "friends", share_ties, search),
        _neighbors(samples, n_enemies, "enemies", share_ties, search),
    )


@dataclass(frozen=True)
class _Samples:
    """Samples, sorted by class, and what both searches need to know about them."""

    X: Array
    codes: np.ndarray

    @cached_property
    def search(self) -> EuclideanSearch:
        return EuclideanSearch(self.X)

    @cached_property
    def equal(self) -> EqualRows | None:
        return equal_rows(to_host(self.X))

    @cached_property
    def tie_tolerance(self) -> TieTolerance:
        return TieTolerance.of(self.X)


def _neighbors(
    samples: _Samples, k: int, role: str, share_ties: bool, search: SearchLog | None
) -> Neighbors:
    X, codes = samples.X, samples.codes
    if np.any(np.diff(codes) < 0):
        raise ValueError("codes must be in ascending order. Sort the samples by class.")
    xp = namespace(X)
    n = len(codes)
    sizes = np.bincount(codes)[codes]
    available = sizes - 1 if role == "friends" else n - sizes
    counts = np.minimum(available, min(k, n))
    _warn_about_missing(counts, k, role)
    k = int(counts.max())
    if k == 0:
        return Neighbors(asarray_like(np.empty((n, 0)), X, dtype=xp.int64), counts)
    largest = int(sizes.max() if role == "friends" else available.max())  # set that is searched
    itself = asarray_like(np.arange(n)[:, None], X, dtype=xp.int64)
    if search is not None and search.is_approximate(largest):
        _, found = approximate_roles(to_host(X), codes, k, role, search)
        indices = asarray_like(found, X, dtype=xp.int64)
        return Neighbors(xp.where(indices < 0, itself, indices), counts)
    may_tie = share_ties and bool(np.any(available > k))
    # The distance of one more neighbour shows whether the k-th is tied.
    distances, indices = _nearest(samples, k + may_tie, role)
    nearest = Neighbors(xp.where(indices < 0, itself, indices)[:, :k], counts)
    if not may_tie:
        return nearest
    kth, next_ = (to_host(distances[:, rank]).astype(np.float64) for rank in (k - 1, k))
    kth = np.where(available > k, kth, 0.0)  # samples with fewer neighbours have no ties
    radii = kth[:, None] + samples.tie_tolerance(kth)[:, None] * [-1.0, 1.0]
    tied = np.flatnonzero(next_ <= radii[:, 1])
    if not len(tied):
        return nearest
    shares = shares_of_ties(
        to_host(X), codes, tied, k, radii, samples.equal, same_class=role == "friends"
    )
    return _with_shares(nearest, tied, shares)


def _with_shares(nearest: Neighbors, tied: np.ndarray, shares: Shares) -> Neighbors:
    """Replace the neighbours of the tied samples by the entries of `shares`."""
    n, k = nearest.indices.shape
    width = max(k, int(shares.ranks.max()) + 1)
    indices, weights = np.repeat(np.arange(n)[:, None], width, axis=1), np.zeros((n, width))
    indices[:, :k] = to_host(nearest.indices)
    weights[:, :k] = np.arange(k) < nearest.counts[:, None]
    indices[tied], weights[tied] = tied[:, None], 0.0
    indices[shares.rows, shares.ranks] = shares.columns
    weights[shares.rows, shares.ranks] = shares.weights
    dtype = namespace(nearest.indices).int64
    return Neighbors(asarray_like(indices, nearest.indices, dtype=dtype), nearest.counts, weights)


def _nearest(samples: _Samples, k: int, role: str) -> tuple[Array, Array]:
    """Return distances and indices of k friends or enemies, inf and -1 where there are fewer."""
    xp, codes, search = namespace(samples.X), samples.codes, samples.search
    n, labels = len(codes), asarray_like(codes, samples.X, dtype=xp.int64)

    def hide(D: Array, rows: Array, columns: slice) -> Array:
        same = xp.take(labels, rows)[:, None] == labels[columns][None, :]
        return xp.where(same == (role == "friends"), D, xp.inf)

    def of_block(block: slice) -> tuple[Array, Array]:
        first, last = codes[block.start], codes[block.stop - 1]
        low = int(np.searchsorted(codes, first))
        high = int(np.searchsorted(codes, last, side="right"))
        hide_others = None if first == last else hide
        among: list[Part] = [(slice(low, high), hide_others)]
        if role == "enemies":
            among = [(slice(0, low), None), (slice(high, n), None), *(among if hide_others else [])]
        if sum(part.stop - part.start for part, _ in among) <= k:
            # A query may have fewer than k other points in these parts, so search all points.
            among = [(slice(0, n), hide)]
        return search.nearest(block, k, among)

    return search.map_blocks(of_block)


def _warn_about_missing(counts: np.ndarray, k: int, role: str) -> None:
    few = int(np.sum(counts < k))
    if few:
        whose = "their classes" if role == "friends" else "other classes"
        none = int(np.sum(counts == 0))
        warn(
            f"{few} of {len(counts)} samples have fewer than {k} {role}, because {whose} are "
            f"too small. Fewer {role} are used for these samples ({none} have none).",
        )
