"""Ranks of all distances with little memory, for the rank correlation of a Shepard diagram."""

from functools import reduce

import numpy as np

from dimetric._arrays.namespaces import Array, asarray_like, namespace, to_host
from dimetric.quality._distances import Distances, over_blocks, with_self_entries
from dimetric.quality._ranks import counts_of

PILOT_POINTS = 64  # points whose distances estimate the range of all distances
DISTANCES_PER_OUTLIER = 10_000  # one of so many distances may lie outside the range, on each side
RELATIVE_ROUNDING = 1e-13  # distances that differ by less are equal up to rounding
MAX_TIE_ERROR = 1e-6  # largest error of a rank correlation that ties within bins may cause


class DistanceRanks:
    """Ranks of distances among all distances, scaled to the interval from -1/2 to 1/2.

    Distances are binned by their logarithm, and all distances in a bin get the mean rank of the
    bin. So memory does not grow with the number of pairs. For distant clusters, so many distances
    may fall into a few bins that the sixth digit of a rank correlation is wrong. The edges of the
    bins are then quantiles of a sample of the distances, which is slower.

    Parameters
    ----------
    distances : Distances
        Distances to rank.
    rows : ndarray
        Row indices of the points whose distances to all points are ranked.
    """

    n_bins = 2**16  # ties within so many bins hardly change a rank correlation

    def __init__(self, distances: Distances, rows: np.ndarray) -> None:
        # A few rows estimate the range. Distances outside it fall into the first or last bin.
        pilot_rows = distances.pilot_rows(rows, PILOT_POINTS)
        pilot = np.sort(to_host(distances(pilot_rows)).ravel())
        pilot = pilot[pilot > 0] if pilot[-1] > 0 else np.ones(1)
        logs = np.log(pilot)
        n_outside = len(logs) // DISTANCES_PER_OUTLIER
        self._low = float(logs[n_outside])
        self._bins_per_log = (self.n_bins - 2) / max(float(logs[-1 - n_outside]) - self._low, 1e-9)

        self._edges: np.ndarray | None = None

        def count(block: np.ndarray) -> np.ndarray:
            return counts_of(self.bins(distances(block)), self.n_bins)

        counts = reduce(np.add, over_blocks(count, rows, distances))
        if np.sum((counts[1:] / max(1, counts[1:].sum())) ** 3) > MAX_TIE_ERROR:
            quantiles = np.linspace(0, len(pilot) - 1, self.n_bins - 1).astype(int)
            edges = pilot[quantiles]
            edges = edges[np.diff(edges, prepend=0) > RELATIVE_ROUNDING * edges]
            # Between distances, so that rounding does not put equal distances into two bins.
            self._edges = edges * (1 - RELATIVE_ROUNDING / 2)
            counts = reduce(np.add, over_blocks(count, rows, distances))
        counts[0] -= len(rows)  # each point's distance to itself
        below = np.cumsum(counts) - counts
        self._ranks = (below + counts / 2) / counts.sum() - 0.5

    def bins(self, D: Array) -> Array:
        """Return the bin of each distance in a block."""
        xp = namespace(D)
        if self._edges is not None:
            flat = xp.searchsorted(asarray_like(self._edges, D), xp.reshape(D, (-1,)), side="right")
            return xp.astype(xp.reshape(flat, D.shape), xp.int64)
        logs = xp.log(D + float(np.finfo(float).tiny))
        logs -= self._low
        logs *= self._bins_per_log
        logs += 1.0
        return xp.astype(xp.clip(logs, 0, self.n_bins - 1), xp.int64)

    def __call__(self, bins: Array, index: Array) -> Array:
        """Return the ranks of distances, given their bins.

        The distance of a point to itself gets rank 0.
        """
        return with_self_entries(_look_up(self._ranks, bins), index, 0.0)


class RankInfluence:
    r"""Influence of each point on the mean product of the ranks F and G of distances.

    The influence of a pair of distances (a, b) is :math:`F(a) G(b) + E[1(a' > a) G(b')] +
    E[1(b' > b) F(a')]`: its own product, and its effect on the ranks of all larger distances. The
    expectations are estimated from a few rows, which is enough for a standard error.

    Parameters
    ----------
    before, after : Distances
        Distances in the data and in the embedding.
    F, G : DistanceRanks
        Ranks of the distances in the data and in the embedding.
    rows : ndarray
        Row indices of the points whose distances are ranked.
    """

    def __init__(
        self,
        before: Distances,
        after: Distances,
        F: DistanceRanks,
        G: DistanceRanks,
        rows: np.ndarray,
    ) -> None:
        def sums_by_bin(block: np.ndarray) -> np.ndarray:
            a, b, index = F.bins(before(block)), G.bins(after(block)), before.index(block)
            pairs = (a, G(b, index)), (b, F(a, index))
            host = ((to_host(bins).ravel(), to_host(ranks).ravel()) for bins, ranks in pairs)
            return np.stack([np.bincount(bins, ranks, F.n_bins) for bins, ranks in host])

        pilot = rows[:: -(-len(rows) // PILOT_POINTS)]
        means = reduce(np.add, over_blocks(sums_by_bin, pilot, before)) / (len(pilot) * before.n)
        self._expectations = np.cumsum(means[:, ::-1], axis=1)[:, ::-1] - means / 2

    def __call__(self, a: Array, b: Array, F: Array, G: Array) -> Array:
        """Return the mean influence of each row of distances, given their bins and ranks."""
        xp = namespace(a)
        total = xp.vecdot(F, G)
        for bins, expectations in zip((a, b), self._expectations, strict=True):
            total = total + xp.sum(_look_up(expectations, bins), axis=1)
        return total / a.shape[1]


def _look_up(table: np.ndarray, bins: Array) -> Array:
    """Return ``table[bins]`` in the array namespace of `bins`."""
    xp = namespace(bins)
    flat = xp.reshape(bins, (-1,))
    return xp.reshape(xp.take(asarray_like(table, bins, dtype=xp.float64), flat), bins.shape)
