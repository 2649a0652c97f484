r"""Weights of friends and enemies that are tied at the k-th distance.

Suppose that :math:`a` friends of a sample are nearer than its k-th friend, and :math:`t` friends
are as far, up to rounding (see :mod:`dimetric.neighbors.ties`). These t friends share the remaining
places: each has the weight :math:`(k - a) / t`. If several friends are equal, one of them stands
for all, with the sum of their weights. So weighted sums over friends depend neither on the order of
the rows nor on the axes of the features.

To limit the cost, at most `MAX_TIED` distinct friends share the remaining places. If more are
tied, those that come first in the order of coordinates are chosen.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np

from dimetric._arrays.blocks import row_blocks
from dimetric._arrays.namespaces import Array, namespace, to_host
from dimetric._arrays.row_order import EqualRows, canonical_order
from dimetric._arrays.squared_distances import squared_norms
from dimetric.neighbors.metric_search import distances_between
from dimetric.neighbors.queries import tie_tolerance

MAX_TIED = 64  # distinct tied friends of a sample
MAX_DISTANCES_PER_BLOCK = 2**22  # 32 MiB in float64


@dataclass(frozen=True)
class Shares:
    """Weights of neighbours, as a list of entries that is sorted by sample."""

    rows: np.ndarray  # row indices of the samples
    columns: np.ndarray  # row indices of the neighbours
    weights: np.ndarray

    @property
    def ranks(self) -> np.ndarray:
        """The rank of each entry among those of its sample, from 0."""
        is_first = np.append(True, self.rows[1:] != self.rows[:-1])
        starts = np.flatnonzero(is_first)
        return np.arange(len(self.rows)) - starts[np.cumsum(is_first) - 1]


@dataclass(frozen=True)
class TieTolerance:
    """The tolerance of distances from each of n samples. See :mod:`dimetric.neighbors.ties`.

    A learner may have mapped the samples, so the tolerance includes the rounding errors of maps.
    """

    X: Array
    norms: np.ndarray  # (n,)
    spread: float

    @classmethod
    def of(cls, X: Array) -> Self:
        """Return the tolerance for samples, the rows of X."""
        centred = X - namespace(X).mean(X, axis=0)
        norms = to_host(squared_norms(X)).astype(np.float64) ** 0.5
        return cls(X, norms, float(np.median(to_host(squared_norms(centred)))) ** 0.5)

    def __call__(self, distances: np.ndarray) -> np.ndarray:
        """Return the tolerance of a distance of each sample."""
        return np.asarray(tie_tolerance(distances, self.X, self.norms, self.spread))


def shares_of_ties(
    X: np.ndarray,
    codes: np.ndarray,
    tied: np.ndarray,
    k: int,
    radii: np.ndarray,
    equal: EqualRows | None,
    *,
    same_class: bool,
) -> Shares:
    """Return the weights of the friends, or enemies, of samples with ties at the k-th distance.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Samples.
    codes : ndarray of shape (n,)
        Classes as integers.
    tied : ndarray of shape (m,)
        Row indices of the samples with ties, ascending.
    k : int
        Number of friends or enemies.
    radii : ndarray of shape (n, 2)
        Smallest and largest distance that is tied with the k-th, for each sample.
    equal : EqualRows or None
        Groups of equal samples, or None if all samples differ.
    same_class : bool
        Whether to return friends, which have the class of the sample, or enemies.
    """
    places = np.arange(len(X)) if equal is None else equal.index
    parts = []
    for c in np.unique(codes[tied]):
        candidates = _Candidates(X, places, np.flatnonzero((codes == c) == same_class), same_class)
        parts.append(candidates.shares(tied[codes[tied] == c], k, radii))
    arrays = zip(*((each.rows, each.columns, each.weights) for each in parts), strict=True)
    return Shares(*(np.concatenate(each) for each in arrays))


class _Candidates:
    """Possible neighbours of the samples of one class, grouped into places of equal samples."""

    def __init__(
        self, X: np.ndarray, places: np.ndarray, rows: np.ndarray, includes_queries: bool
    ) -> None:
        self._X, self._places, self._includes_queries = X, places, includes_queries
        rows = rows[np.argsort(places[rows], kind="stable")]
        found, starts, counts = np.unique(places[rows], return_index=True, return_counts=True)
        by_content = canonical_order(X[rows[starts]], np.zeros(len(starts), dtype=np.int64))
        self._found, self._counts = found[by_content], counts[by_content]
        self._first = rows[starts[by_content]]
        # The second sample at each place. It replaces the first in the list of that sample itself.
        self._second = rows[np.minimum(starts[by_content] + 1, len(rows) - 1)]

    def shares(self, queries: np.ndarray, k: int, radii: np.ndarray) -> Shares:
        """Return the weights of the k nearest neighbours of queries.

        Parameters
        ----------
        queries : ndarray
            Row indices of samples.
        k, radii
            See :func:`shares_of_ties`.
        """
        _, first, index = np.unique(self._places[queries], return_index=True, return_inverse=True)
        size = max(1, MAX_DISTANCES_PER_BLOCK // len(self._found))
        parts = [
            self._entries(queries[first[block]], k, radii) for block in row_blocks(len(first), size)
        ]
        counts = np.concatenate([each[0] for each in parts])
        found, weights = (np.concatenate([each[i] for each in parts]) for i in (1, 2))
        # All queries at a place have the same entries.
        starts, repeats = np.cumsum(counts) - counts, counts[index]
        entries = np.arange(repeats.sum()) - np.repeat(np.cumsum(repeats) - repeats, repeats)
        entries += np.repeat(starts[index], repeats)
        rows = np.repeat(queries, repeats)
        columns = self._first[found[entries]]
        columns = np.where(columns == rows, self._second[found[entries]], columns)
        return Shares(rows, columns, weights[entries])

    def _entries(
        self, queries: np.ndarray, k: int, radii: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the numbers of neighbours of different queries, their places and weights."""
        D = distances_between(self._X[queries], self._X[self._first]).astype(np.float64)
        counts = np.broadcast_to(self._counts, D.shape)
        if self._includes_queries:
            counts = counts - (self._places[queries][:, None] == self._found)
        low, high = radii[queries, :1], radii[queries, 1:]
        nearer = (low > D) & (counts > 0)
        tied = (low <= D) & (high >= D) & (counts > 0)
        tied &= np.cumsum(tied, axis=1) <= MAX_TIED
        n_nearer, n_tied = (np.sum(counts, axis=1, where=each) for each in (nearer, tied))
        share = (k - n_nearer) / n_tied
        weights = counts * np.where(nearer, 1.0, tied * share[:, None])
        rows, found = np.nonzero(weights)
        order = np.lexsort((D[rows, found], rows))
        rows, found = rows[order], found[order]
        return np.bincount(rows, minlength=len(queries)), found, weights[rows, found]
