"""Ranks of all distances: the rank correlation of Shepard's diagram, in little memory."""

from functools import reduce

import numpy as np

from dimetric._xp import Array, like, namespace, to_host
from dimetric.evaluate._pairs import Distances, over_blocks, with_own
from dimetric.evaluate._ranks import counts_of


class DistanceRanks:
    """The ranks of distances among all of them, as shares between -1/2 and 1/2.

    Ranks are looked up by cells of the logarithm, whose distances share their mean rank: memory
    does not grow with the number of pairs, and a rank correlation keeps five digits.

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
        pilot = np.sort(to_host(distances(rows[:: -(-len(rows) // 16)])).ravel())
        pilot = np.log(pilot[pilot > 0]) if pilot[-1] > 0 else np.zeros(1)
        outside = len(pilot) // 10_000
        self._low = float(pilot[outside])
        self._per_unit = (self.n_cells - 2) / max(float(pilot[-1 - outside]) - self._low, 1e-9)

        def count(block: np.ndarray) -> np.ndarray:
            return counts_of(self.cells(distances(block)), self.n_cells)

        counts = reduce(np.add, over_blocks(count, rows, distances))
        counts[0] -= len(rows)  # each point's distance to itself
        below = np.cumsum(counts) - counts
        self._shares = (below + counts / 2) / counts.sum() - 0.5

    def cells(self, D: Array) -> Array:
        """Return the cells of a block of distances."""
        xp = namespace(D)
        logs = xp.log(D + float(np.finfo(float).tiny))
        logs -= self._low
        logs *= self._per_unit
        logs += 1.0
        return xp.astype(xp.clip(logs, 0, self.n_cells - 1), xp.int64)

    def __call__(self, D: Array, index: Array) -> Array:
        """Return the ranks of a block of distances; 0 for those of points to themselves."""
        xp = namespace(D)
        cells = xp.reshape(self.cells(D), (-1,))
        ranks = xp.reshape(xp.take(like(self._shares, D), cells), D.shape)
        return with_own(ranks, index, 0.0)


def rank_influence(
    before: Distances,
    after: Distances,
    ranks: tuple[DistanceRanks, DistanceRanks],
    rows: np.ndarray,
) -> np.ndarray:
    r"""Return by how much each point moves the mean product of the ranks F and G.

    A pair of distances (a, b) counts by its own product, and by raising the ranks of all
    distances above: :math:`F(a) G(b) + E[1(a' > a) G(b')] + E[1(b' > b) F(a')]`.
    """
    first, second = ranks

    def look_up(block: np.ndarray) -> tuple[np.ndarray, ...]:
        index, D, E = before.index(block), before(block), after(block)
        arrays = first.cells(D), second.cells(E), first(D, index), second(E, index)
        return tuple(to_host(array) for array in arrays)

    def above(block: np.ndarray) -> np.ndarray:
        a, b, F, G = (array.ravel() for array in look_up(block))
        n = DistanceRanks.n_cells
        return np.stack([np.bincount(a, G, n), np.bincount(b, F, n)])

    n_pairs = len(rows) * before.n
    sums = reduce(np.add, over_blocks(above, rows, before)) / n_pairs
    raised = np.cumsum(sums[:, ::-1], axis=1)[:, ::-1] - sums / 2

    def influence(block: np.ndarray) -> np.ndarray:
        a, b, F, G = look_up(block)
        return np.mean(F * G + raised[0].take(a) + raised[1].take(b), axis=1)

    return np.concatenate(list(over_blocks(influence, rows, before)))
