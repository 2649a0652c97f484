r"""LMNN's objective over triplets.

In a triplet (i, j, l), the squared distance from the anchor i to l should exceed that to j by a
margin of 1:

.. math:: \sum_{(i, j, l)} (1 - \mu)\, d^2_{ij} + \mu\, h(1 + d^2_{ij} - d^2_{il})

The first term is a pull and the second a push, as in
:mod:`dimetric.objectives.margins.objective`. The objective is a sum over a list of pairs: all
(i, j), followed by all (i, l).
"""

from copy import copy
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from dimetric._arrays.namespaces import Array, to_host
from dimetric.objectives.listed import ListedObjective
from dimetric.objectives.margins.hinge import hinge
from dimetric.objectives.objective import Smoothable


@dataclass(frozen=True)
class TripletRule:
    """The sum of all pulls and pushes over triplets.

    In place of dtheta, it returns the derivative of the loss with respect to the margin, like
    ``MarginRule``.

    Parameters
    ----------
    mu : float
        Weight of the pushes. The pulls have weight ``1 - mu``.
    width : float
        Width of the smooth part of the hinge.
    """

    mu: float
    width: float

    def listed(
        self, xp: Any, D: Array, kinds: Array, theta: np.ndarray
    ) -> tuple[float, Array, float]:
        """Return the loss, w, and the derivative for the margin. See ``listed.ListRule``."""
        m = D.shape[0] // 2
        near, far = D[:m], D[m:]
        value, slope = hinge(1 + near - far, self.width)
        terms = (1 - self.mu) * near + self.mu * value
        slope = self.mu * slope
        w = xp.concat([1 - self.mu + slope, -slope])
        return float(xp.sum(terms, dtype=xp.float64)), w, float(xp.sum(slope, dtype=xp.float64))


class TripletObjective(ListedObjective[TripletRule], Smoothable):
    """LMNN's objective over triplets.

    Parameters
    ----------
    X : array of shape (n, d)
        Samples, centred. Samples that are not in any triplet are dropped.
    triplets : ndarray of shape (m, 3)
        Row indices of the anchor, the near sample and the far sample of each triplet.
    mu : float
        Weight of the pushes. The pulls have weight ``1 - mu``.
    width : float, default=0.0
        Width of the smooth part of the hinge.
    """

    def __init__(self, X: Array, triplets: np.ndarray, *, mu: float, width: float = 0.0) -> None:
        rows = np.concatenate([triplets[:, [0, 1]], triplets[:, [0, 2]]])
        kinds = np.repeat([0, 1], len(triplets))
        super().__init__(TripletRule(mu, width), X, rows, kinds)
        self.mu, self.n_terms = mu, float(len(triplets))
        self.strata = np.zeros(len(triplets), dtype=np.int64)  # mini-batches sample triplets
        m = len(triplets)
        self.triplets = np.stack([self.rows[:m, 0], self.rows[:m, 1], self.rows[m:, 1]], axis=1)

    def smoothed(self, width: float) -> Self:
        """Return the same objective with another width of the hinges' smooth part."""
        return self._with(rule=replace(self.rule, width=width))

    def with_points(self, X: Array, *, single: bool = False) -> Self:
        """Return the same objective for other points, with the same triplets.

        The option `single` has no effect.
        """
        return self._with(points=X)

    def batch(self, rows: np.ndarray) -> "TripletObjective":
        """Return the objective of some triplets."""
        return TripletObjective(self.points, self.triplets[rows], mu=self.mu, width=self.rule.width)

    def pull_matrix(self) -> np.ndarray:
        r"""Return P such that :math:`\langle P, M \rangle` is the mean pull under a metric M."""
        X = to_host(self.points).astype(np.float64)
        m = len(self.triplets)
        weights = np.repeat([(1 - self.mu) / m, 0.0], m)
        return np.asarray(X.T @ self._graph.laplacian_product(weights, X))

    def _with(self, **changed: Any) -> Self:
        other = copy(self)
        vars(other).update(changed)
        return other
