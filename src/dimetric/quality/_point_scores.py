"""The scores of single points: all that is computed from a block of rows of distances."""

import numpy as np

from dimetric._arrays.namespaces import Array, to_host
from dimetric.linalg.correlation import moments
from dimetric.quality._distances import Distances
from dimetric.quality._ranks import neighbour_order, ranks_along
from dimetric.quality._scores import RankScores, Scores, neighbourhood_hits
from dimetric.quality._shepard import DistanceRanks, RankInfluence


class PointScores:
    """The scores of each point of a block of rows.

    Parameters
    ----------
    before, after : Distances
        Among the data and in the embedding.
    points : ndarray
        All rows that are scored.
    k : int
        Number of neighbours.
    codes : array of shape (n,), or None
        Labels as integers, for ``neighborhood_hit``.
    """

    def __init__(
        self,
        before: Distances,
        after: Distances,
        points: np.ndarray,
        k: int,
        codes: Array | None,
    ) -> None:
        self._before, self._after, self._k, self._codes = before, after, k, codes
        self.by_rank = RankScores(before.n, k)
        self._ranks = F, G = DistanceRanks(before, points), DistanceRanks(after, points)
        self._influence = None  # which only the standard error of a sample needs
        if len(points) < before.n:
            self._influence = RankInfluence(before, after, F, G, points)

    def __call__(self, rows: np.ndarray) -> tuple[Scores, np.ndarray]:
        """Return the scores of some rows, and the histogram of each pair's larger rank.

        ``distances``, ``ranks`` and ``influence`` are sums from which scores of all points follow.
        """
        index, D, E = self._before.index(rows), self._before(rows), self._after(rows)
        near, shown = neighbour_order(D, index), neighbour_order(E, index)
        scores, counts = self.by_rank(ranks_along(near, shown, index))
        if self._codes is not None:
            near_shown = shown[:, : self._k]
            scores["neighborhood_hit"] = neighbourhood_hits(self._codes, index, near_shown)
        scores["distances"] = moments(D, E)
        F, G = self._ranks
        cells = F.cells(D), G.cells(E)
        ranks = F(cells[0], index), G(cells[1], index)
        scores["ranks"] = moments(*ranks)
        if self._influence is not None:
            scores["influence"] = self._influence(*cells, *ranks)
        return {name: to_host(value) for name, value in scores.items()}, counts
