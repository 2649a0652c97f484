"""Scores of single points, computed from a block of rows of the distance matrices."""

import numpy as np

from dimetric._arrays.namespaces import Array, to_host
from dimetric.linalg.correlation import moments
from dimetric.quality._distances import Distances
from dimetric.quality._ranks import neighbor_order, ranks_in_order
from dimetric.quality._scores import RankScores, Scores, neighborhood_hits
from dimetric.quality._shepard import DistanceRanks, RankInfluence


class PointScores:
    """Function that returns the scores of each point in a block of rows.

    Parameters
    ----------
    before, after : Distances
        Distances in the data and in the embedding.
    points : ndarray
        Row indices of all scored points.
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
        self.rank_scores = RankScores(before.n, k)
        self._ranks = F, G = DistanceRanks(before, points), DistanceRanks(after, points)
        self._influence = None  # only the standard errors of a sample of points use it
        if len(points) < before.n:
            self._influence = RankInfluence(before, after, F, G, points)

    def __call__(self, rows: np.ndarray) -> tuple[Scores, np.ndarray]:
        """Return the scores of a block of rows, and the histogram of ranks of :class:`RankScores`.

        ``distances``, ``ranks`` and ``influence`` are not scores, but sums from which overall
        scores and standard errors are computed.
        """
        index, D, E = self._before.index(rows), self._before(rows), self._after(rows)
        order_before, order_after = neighbor_order(D, index), neighbor_order(E, index)
        scores, counts = self.rank_scores(ranks_in_order(order_before, order_after, index))
        if self._codes is not None:
            neighbors = order_after[:, : self._k]
            scores["neighborhood_hit"] = neighborhood_hits(self._codes, index, neighbors)
        scores["distances"] = moments(D, E)
        F, G = self._ranks
        bins = F.bins(D), G.bins(E)
        ranks = F(bins[0], index), G(bins[1], index)
        scores["ranks"] = moments(*ranks)
        if self._influence is not None:
            scores["influence"] = self._influence(*bins, *ranks)
        return {name: to_host(value) for name, value in scores.items()}, counts
