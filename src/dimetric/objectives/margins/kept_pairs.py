r"""Pairs of a sample and a possible impostor, which are kept from one evaluation to the next.

A solver evaluates LMNN's objective at many maps that differ little from each other, and nearly all
pairs are too far apart to be impostors. A list holds all pairs whose distance is at most that of
an impostor plus a slack s, as in the neighbour lists of molecular dynamics [1]_. Suppose that each
point z has moved by :math:`m = |z - z^0|` since then. By the triangle inequality,

.. math:: d_{il} \ge d^0_{il} - m_i - m_l,

so the list still contains all impostors of sample i, whose distance is below :math:`r_i`, if

.. math:: r_i + m_i + \max_l m_l \le r^0_i + s.

References
----------
.. [1] L. Verlet, "Computer experiments on classical fluids", Physical Review 159, 1967.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from math import log

import numpy as np

from dimetric.objectives.listed import Graph
from dimetric.objectives.margins.tiles import ImpostorSearch, LowerBounds, over_tile_rows, tiles
from dimetric.objectives.side import Side

# Slacks relative to the mean radius. The least one allows for rounding errors.
LEAST_SLACK, MOST_SLACK = 1e-4, 0.15
# If points move by h between evaluations, a list with slack s serves for about s / h of them, and
# has exp(GROWTH s) times as many pairs. So the time is least if s is about proportional to sqrt(h).
# Both numbers were chosen by experiment.
SLACK_OF_MOVES, GROWTH = 0.5, 16.0
# Limits on the number of pairs in a list. With more pairs, tiles of all pairs are faster.
MAX_PAIRS, MAX_PAIRS_PER_SAMPLE, MAX_FRACTION = 2**20, 16, 1 / 128
# A list is searched for if the last evaluation found at most this fraction of the limit.
FEW = 1 / 2
# If the impostors are more than this fraction of all pairs, all pairs are added without a search.
MANY = 1 / 16
SAFETY = 0.999  # allows for rounding errors of the distances that the points have moved


@dataclass(frozen=True)
class PairList:
    """The pairs near each other at some map.

    Attributes
    ----------
    points : ndarray of shape (n, p)
        The points at which the pairs were found.
    bounds : ndarray of shape (n,)
        Distance of each point up to which its pairs are in the list.
    slack : float
        The part of these distances that allows for movements.
    samples, impostors : ndarray of shape (m,)
        The pairs.
    graph : Graph
        The graph of all pairs of a sample and a target, followed by the pairs of this list.
    """

    points: np.ndarray
    bounds: np.ndarray
    slack: float
    samples: np.ndarray
    impostors: np.ndarray
    graph: Graph

    def needed_slack(self, Z: np.ndarray, radii: np.ndarray) -> float:
        """Return the slack with which the list would contain all pairs within the radii."""
        if Z.shape != self.points.shape:
            return np.inf
        moved = Z - self.points
        moves = np.sqrt(np.einsum("ij,ij->i", moved, moved))
        missing = float((radii + moves - self.bounds).max(initial=-np.inf))
        return self.slack + missing + float(moves.max(initial=0.0)) / SAFETY


class KeptPairs:
    """Find the pairs near each other, and keep them while they are valid."""

    def __init__(self) -> None:
        self._list: PairList | None = None
        self._target_rows = np.empty((0, 2), np.int64)  # pairs of a sample and a target
        self._target_graph: Graph | None = None
        self._n, self._most = 0, 0  # number of samples, and largest number of pairs in a list
        self._n_moves = 0  # how often the list was used for other points than its own
        self._are_few = True  # whether the last evaluation found few impostors
        self._last_size = 0.0  # number of pairs in the last list, or of impostors
        self._last_slack = 0.0  # slack of the last list, relative to the mean radius
        self.are_many = False  # whether it found so many that a search takes longer than it saves

    def within(
        self, Z: np.ndarray, reach: np.ndarray, targets: np.ndarray, side: Side, n_points: int
    ) -> PairList | None:
        """Return a list that contains all impostors, or None if there are many.

        Parameters
        ----------
        Z : ndarray of shape (n, p)
            Mapped samples, sorted by class.
        reach : ndarray of shape (n,)
            A sample of another class is an impostor if its squared distance is below this.
        targets : ndarray of shape (n, k)
            Targets of the samples.
        side : Side
            Labels of the samples. Labels of further points may follow.
        n_points : int
            Number of points.
        """
        radii = np.sqrt(np.maximum(reach, 0.0, dtype=np.float64))
        mean_radius = float(radii.sum()) / len(radii)
        needed = np.inf if self._list is None else self._list.needed_slack(Z, radii)
        # Written so that NaN fails the comparison.
        if self._list is not None and needed <= self._list.slack:
            self._n_moves += needed > LEAST_SLACK * mean_radius
            return self._list
        step = needed / (self._n_moves + 1)
        self._list, self._n_moves = None, 0
        if self._are_few:
            n = self._n = len(Z)
            self._most = min(MAX_PAIRS, MAX_PAIRS_PER_SAMPLE * n + int(MAX_FRACTION * n * n))
            slack = self._next_slack(step, mean_radius)
            bounds = radii + slack
            # Samples without targets have no impostors.
            found = _pairs_within(Z, np.where(reach > 0, bounds**2, -1.0), side, self._most)
            self._are_few = found is not None
            if found is not None:
                self._last_size, self._last_slack = len(found[0]), slack / (mean_radius or 1.0)
                rows = np.concatenate([self._to_targets(targets), np.stack(found, axis=1)])
                self._list = PairList(Z, bounds, slack, *found, Graph(rows, n_points))
        return self._list

    def _next_slack(self, step: float, mean_radius: float) -> float:
        """Return the slack of the next list, if points move by `step` between evaluations."""
        room = self._last_slack + log(max(self._most, 1) / max(self._last_size, 1)) / GROWTH
        slack = min(
            MOST_SLACK * mean_radius,
            SLACK_OF_MOVES * (step * mean_radius) ** 0.5,
            room * mean_radius,  # a list with more pairs would be discarded
        )
        return slack if slack > step else LEAST_SLACK * mean_radius

    def note_impostors(self, number: float) -> None:
        """Note the number of impostors, which decides how the next evaluation searches for them."""
        self._are_few = number <= FEW * self._most
        self._last_size, self._last_slack = number, 0.0
        self.are_many = number > MANY * self._n**2

    def target_graph(self, targets: np.ndarray, n_points: int) -> Graph:
        """Return the graph of all pairs of a sample and a target."""
        if self._target_graph is None:
            self._target_graph = Graph(self._to_targets(targets), n_points)
        return self._target_graph

    def _to_targets(self, targets: np.ndarray) -> np.ndarray:
        """Return all pairs of a sample and a target."""
        if not len(self._target_rows):
            n, k = targets.shape
            self._target_rows = np.stack([np.repeat(np.arange(n), k), targets.ravel()], axis=1)
        return self._target_rows


def _pairs_within(
    Z: np.ndarray, reach: np.ndarray, side: Side, most: int
) -> tuple[np.ndarray, np.ndarray] | None:
    """Return the pairs of a sample and another one in its reach, or None if more than `most`."""
    bounds = LowerBounds.of(Z, reach)

    def work(firsts: Iterator[int]) -> list[tuple[np.ndarray, np.ndarray]] | None:
        parts, size, search = [], 0, ImpostorSearch(bounds)
        for tile in tiles(side, len(Z), firsts):
            found = search.find(tile, most - size)
            if found is None:
                return None
            parts.append(found)
            size += len(found[0])
        return parts

    parts = list[tuple[np.ndarray, np.ndarray]]()
    for part in over_tile_rows(work, len(Z)):
        if part is None:
            return None
        parts += part
    if not parts:
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    samples, impostors = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return (samples, impostors) if len(samples) <= most else None
