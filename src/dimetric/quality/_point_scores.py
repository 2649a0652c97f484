"""Scores of single points, computed from a block of rows of the distance matrices."""

import numpy as np

from dimetric._arrays.namespaces import Array, take_rows, to_host
from dimetric.linalg.correlation import moments
from dimetric.quality._distances import Distances
from dimetric.quality._ranks import neighbor_order, ranks_in_order
from dimetric.quality._scores import RankScores, Scores, neighborhood_hits
from dimetric.quality._shepard import DistanceRanks, RankInfluence
from dimetric.quality._ties import TiedRanks


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
        """Return the scores of a block of rows, and their common neighbours for each size.

        The common neighbours are those of :class:`RankScores`. ``distances``, ``ranks`` and
        ``influence`` are not scores, but sums from which overall scores and standard errors are
        computed.
        """
        index, D, E = self._before.index(rows), self._before(rows), self._after(rows)
        scores, common = self._rank_scores_of(rows, index, D, E)
        scores["distances"] = moments(D, E)
        F, G = self._ranks
        bins = F.bins(D), G.bins(E)
        ranks = F(bins[0], index), G(bins[1], index)
        scores["ranks"] = moments(*ranks)
        if self._influence is not None:
            scores["influence"] = self._influence(*bins, *ranks)
        return {name: to_host(value) for name, value in scores.items()}, common

    def _rank_scores_of(
        self, rows: np.ndarray, index: Array, D: Array, E: Array
    ) -> tuple[Scores, np.ndarray]:
        """Return the rank-based scores of a block of rows, and their common neighbours."""
        roundings = self._before.rounding(rows, D), self._after.rounding(rows, E)
        before, tied_before = neighbor_order(D, index, roundings[0])
        after, tied_after = neighbor_order(E, index, roundings[1])
        is_tied = tied_before | tied_after
        tied, untied = np.flatnonzero(is_tied), np.flatnonzero(~is_tied)
        if not len(tied):
            return self._scores_without_ties(index, before, after)
        ranks = (
            TiedRanks(to_host(each)[tied], to_host(index)[tied], rounding[tied])
            for each, rounding in zip((D, E), roundings, strict=True)
        )
        scores, common = self._scores_with_ties(to_host(index)[tied], *ranks)
        if len(untied):
            parts = (take_rows(each, untied) for each in (index, before, after))
            others, other_common = self._scores_without_ties(*parts)
            order = np.argsort(np.concatenate([tied, untied]))
            scores = {
                name: np.concatenate([value, to_host(others[name])])[order]
                for name, value in scores.items()
            }
            common = common + other_common
        return scores, common

    def _scores_without_ties(
        self, index: Array, before: Array, after: Array
    ) -> tuple[Scores, np.ndarray]:
        """Return the scores of points, given the order of their neighbours."""
        scores, common = self.rank_scores(ranks_in_order(before, after, index))
        if self._codes is not None:
            scores["neighborhood_hit"] = neighborhood_hits(self._codes, index, after[:, : self._k])
        return scores, common

    def _scores_with_ties(
        self, index: np.ndarray, before: TiedRanks, after: TiedRanks
    ) -> tuple[Scores, np.ndarray]:
        """Return the scores of points with tied distances."""
        scores, common = self.rank_scores.with_ties(before, after)
        if self._codes is not None:
            codes = to_host(self._codes)
            same_label = codes[index][:, None] == codes
            shares = after.shares(self._k)
            scores["neighborhood_hit"] = np.sum(shares, axis=1, where=same_label) / self._k
        return scores, common
