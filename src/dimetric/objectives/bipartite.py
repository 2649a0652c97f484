"""Objectives over all pairs of a sample and another point, such as a document or a centroid."""

from typing import Any

import numpy as np

from dimetric._arrays.namespaces import Array, namespace, take_rows, to_host
from dimetric.objectives.engine import Rule, bipartite_product
from dimetric.objectives.objective import Objective
from dimetric.objectives.side import Side


class BipartiteObjective(Objective):
    """The sum of a rule over all pairs of a sample and another point.

    In the blocks that the rule gets, rows are samples and columns are the other points. A
    mini-batch contains some of the samples and all other points.

    Parameters
    ----------
    rule : Rule
        Computes the terms of the sum.
    X : array of shape (n, d)
        Samples, centred.
    Y : array of shape (m, d)
        The other points, in X's namespace.
    rows : Side of n points
        Labels, targets and weights of the samples: ``Side.of(X, ...)``.
    columns : Side of m points
        Labels, targets and weights of the other points: ``Side.of(Y, ..., first=n)``. Numbering
        the other points from n marks them as different from all samples.
    theta : sequence of float
        Initial values of the rule's extra parameters.
    """

    def __init__(
        self, rule: Rule, X: Array, Y: Array, rows: Side, columns: Side, theta: Any = ()
    ) -> None:
        self.rule, self.rows, self.columns = rule, rows, columns
        self.points = namespace(X).concat([X, Y])
        self.theta = np.asarray(theta, dtype=np.float64)
        self.strata = to_host(0 * rows.positions if rows.labels is None else rows.labels)
        self.n_terms = rule.n_terms(rows, columns) or 1.0
        self.infimum = rule.infimum(rows, columns)

    def evaluate(
        self, Z: Array, V: Array, theta: np.ndarray
    ) -> tuple[float, Array, np.ndarray | float]:
        """Return the objective, the product and dtheta. See :meth:`Objective.evaluate`."""
        loss, by_row, by_column, dtheta = bipartite_product(
            self.rule, self._split(Z), self._split(V), self.rows, self.columns, theta
        )
        return loss, namespace(V).concat([by_row, by_column]), dtheta

    def batch(self, rows: np.ndarray) -> "BipartiteObjective":
        """Return the objective of some samples and all other points."""
        X, Y = self._split(self.points)
        side = self.rows.take(rows)
        return BipartiteObjective(self.rule, take_rows(X, rows), Y, side, self.columns, self.theta)

    def _split(self, points: Array) -> tuple[Array, Array]:
        """Split an array over all points into the rows of samples and of other points."""
        n = len(self.rows)
        return points[:n, :], points[n:, :]
