"""Ranks of all distances: the rank correlation of Shepard's diagram, in little memory."""

from functools import reduce

import numpy as np

from dimetric._arrays.namespaces import Array, asarray_like, namespace, to_host
from dimetric.quality._distances import Distances, over_blocks, with_own
from dimetric.quality._ranks import counts_of

PILOT_POINTS = 64  # points whose distances show the range of all
MAX_TIE_ERROR = 1e-6  # what ties within cells may cost of a rank correlation


class DistanceRanks:
    """The ranks of distances among all of them, as shares between -1/2 and 1/2.

    Ranks are looked up by cells of the logarithm, whose distances share their mean rank: memory
    does not grow with the number of pairs. Where cells are so crowded that a rank correlation
    would lose its sixth digit, as in clusters far apart, the cells lie between quantiles instead,
    which takes longer.

    Parameters
    ----------
    distances : Distances
        Where distances come from.
    rows : ndarray
        Points whose distances count.
    """

    n_cells = 2**16

    def __init__(self, distances: Distances, rows: np.ndarray) -> None:
        # A few rows tell the range; what lies outside shares the cell of 0, or the last one.
        pilot = np.sort(to_host(distances(rows[:: -(-len(rows) // PILOT_POINTS)])).ravel())
        quantiles = pilot[pilot > 0] if pilot[-1] > 0 else np.ones(1)
        pilot = np.log(quantiles)
        outside = len(pilot) // 10_000
        self._low = float(pilot[outside])
        self._per_unit = (self.n_cells - 2) / max(float(pilot[-1 - outside]) - self._low, 1e-9)

        self._edges: np.ndarray | None = None

        def count(block: np.ndarray) -> np.ndarray:
            return counts_of(self.cells(distances(block)), self.n_cells)

        counts = reduce(np.add, over_blocks(count, rows, distances))
        if np.sum((counts[1:] / max(1, counts[1:].sum())) ** 3) > MAX_TIE_ERROR:
            chosen = np.linspace(0, len(quantiles) - 1, self.n_cells - 1).astype(int)
            self._edges = np.unique(quantiles[chosen])
            counts = reduce(np.add, over_blocks(count, rows, distances))
        counts[0] -= len(rows)  # each point's distance to itself
        below = np.cumsum(counts) - counts
        self._shares = (below + counts / 2) / counts.sum() - 0.5

    def cells(self, D: Array) -> Array:
        """Return the cells of a block of distances."""
        xp = namespace(D)
        if self._edges is not None:
            flat = xp.searchsorted(asarray_like(self._edges, D), xp.reshape(D, (-1,)), side="right")
            return xp.astype(xp.reshape(flat, D.shape), xp.int64)
        logs = xp.log(D + float(np.finfo(float).tiny))
        logs -= self._low
        logs *= self._per_unit
        logs += 1.0
        return xp.astype(xp.clip(logs, 0, self.n_cells - 1), xp.int64)

    def __call__(self, cells: Array, index: Array) -> Array:
        """Return the ranks of a block of distances; 0 for those of points to themselves."""
        return with_own(_looked_up(self._shares, cells), index, 0.0)


class RankInfluence:
    r"""By how much points move the mean product of the ranks F and G of distances.

    A pair of distances (a, b) counts by its own product, and by raising the ranks of all
    distances above: :math:`F(a) G(b) + E[1(a' > a) G(b')] + E[1(b' > b) F(a')]`. The expectations
    are taken over a few rows: this is for a standard error.

    Parameters
    ----------
    before, after : Distances
        Among the data and in the embedding.
    F, G : DistanceRanks
        Of either.
    rows : ndarray
        Points whose distances count.
    """

    def __init__(
        self,
        before: Distances,
        after: Distances,
        F: DistanceRanks,
        G: DistanceRanks,
        rows: np.ndarray,
    ) -> None:
        def above(block: np.ndarray) -> np.ndarray:
            a, b, index = F.cells(before(block)), G.cells(after(block)), before.index(block)
            pairs = (a, G(b, index)), (b, F(a, index))
            host = ((to_host(cells).ravel(), to_host(ranks).ravel()) for cells, ranks in pairs)
            return np.stack([np.bincount(cells, ranks, F.n_cells) for cells, ranks in host])

        few = rows[:: -(-len(rows) // PILOT_POINTS)]
        sums = reduce(np.add, over_blocks(above, few, before)) / (len(few) * before.n)
        self._raised = np.cumsum(sums[:, ::-1], axis=1)[:, ::-1] - sums / 2

    def __call__(self, a: Array, b: Array, F: Array, G: Array) -> Array:
        """Return the mean influence of each row of distances, given their cells and ranks."""
        xp = namespace(a)
        total = xp.vecdot(F, G)
        for cells, raised in zip((a, b), self._raised, strict=True):
            total = total + xp.sum(_looked_up(raised, cells), axis=1)
        return total / a.shape[1]


def _looked_up(table: np.ndarray, cells: Array) -> Array:
    """Return the entries of a table, in the shape of `cells`."""
    xp = namespace(cells)
    flat = xp.reshape(cells, (-1,))
    return xp.reshape(xp.take(asarray_like(table, cells, dtype=xp.float64), flat), cells.shape)
