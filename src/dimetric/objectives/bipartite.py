"""Objectives over all pairs of a sample and another point: a reference, a document, a centroid."""

from typing import Any

import numpy as np

from dimetric._arrays.namespaces import Array, namespace, take_rows, to_host
from dimetric.objectives.engine import Rule, bipartite_product
from dimetric.objectives.objective import Objective
from dimetric.objectives.side import Side


class BipartiteObjective(Objective):
    """A rule over all pairs of a sample and another point.

    The samples are the rows of the rule's blocks, the other points the columns. Mini-batches are
    made of samples, and keep all other points.

    Parameters
    ----------
    rule : Rule
        What is summed.
    X : array of shape (n, d)
        Samples, centred.
    Y : array of shape (m, d)
        The other points, in X's namespace.
    rows : Side of n points
        What is known about the samples: ``Side.of(X, ...)``.
    columns : Side of m points
        What is known about the other points: ``Side.of(Y, ..., first=n)``, as none is a sample.
    theta : sequence of float
        Start of the rule's extra parameters.
    """

    def __init__(
        self, rule: Rule, X: Array, Y: Array, rows: Side, columns: Side, theta: Any = ()
    ) -> None:
        self.rule, self.rows, self.columns = rule, rows, columns
        self.points = namespace(X).concat([X, Y])
        self.theta = np.asarray(theta, dtype=np.float64)
        self.strata = to_host(0 * rows.positions if rows.labels is None else rows.labels)
        self.n_terms, self.infimum = rule.n_terms(rows, columns), rule.infimum(rows, columns)

    def evaluate(
        self, Z: Array, V: Array, theta: np.ndarray
    ) -> tuple[float, Array, np.ndarray | float]:
        """Return what ``Objective.evaluate`` does, by the engine."""
        loss, by_row, by_column, dtheta = bipartite_product(
            self.rule, self._split(Z), self._split(V), self.rows, self.columns, theta
        )
        return loss, namespace(V).concat([by_row, by_column]), dtheta

    def batch(self, rows: np.ndarray) -> "BipartiteObjective":
        """Return the objective of some samples and all other points."""
        X, Y = self._split(self.points)
        some = self.rows.take(rows)
        return BipartiteObjective(self.rule, take_rows(X, rows), Y, some, self.columns, self.theta)

    def _split(self, points: Array) -> tuple[Array, Array]:
        """Return the part of the samples, and that of the other points."""
        n = len(self.rows)
        return points[:n, :], points[n:, :]
