"""Objectives over all pairs of a row and a reference."""

from copy import copy
from functools import partial
from typing import Any

import numpy as np

from dimetric._arrays.namespaces import Array
from dimetric.blocks.source import Source
from dimetric.objectives.objective import Objective
from dimetric.objectives.pairwise import PairwiseObjective
from dimetric.objectives.references.references import References
from dimetric.objectives.references.sums import Sums, count_terms, pair_sums


class ReferenceObjective(Objective):
    """The sum of a rule over all pairs of a row of a source and a reference.

    Each evaluation is a pass over the source. If all rows are references, the objective is that of
    :class:`~dimetric.objectives.pairwise.PairwiseObjective`.

    Parameters
    ----------
    source : Source
        All rows.
    references : References
        The references.
    sample : PairwiseObjective
        The objective over all pairs of references. It has the rule, and the points are references
        in the coordinates of the solver. Mini-batches are those of this objective.
    projection : float or ndarray of shape (r, d)
        Points are rows times this number, or this matrix. They may also be shifted.
    rule : object, optional
        Counts and weighs the terms. The default is the rule of the sample.
    """

    def __init__(
        self,
        source: Source,
        references: References,
        sample: PairwiseObjective,
        projection: float | np.ndarray,
        rule: Any = None,
    ) -> None:
        self.sample = sample
        self.rule: Any = sample.rule if rule is None else rule
        self.points, self.theta, self.strata = sample.points, sample.theta, sample.strata
        self.is_constant = sample.is_constant
        self._source, self._references = source, source.share(references)
        self._projection = projection
        self._dtype: Any = None  # of tiles; None stands for that of the samples
        n_rows, n_terms, total = source.reduce(
            count_terms, self._references, self.rule, numbered=True
        )
        self.fraction_met = len(references.X) / float(n_rows)
        self.n_terms = float(n_terms) or 1.0
        self.infimum = float(total) / self.n_terms

    def evaluate(
        self, Z: Array, V: Array, theta: np.ndarray
    ) -> tuple[float, Array, np.ndarray | float]:
        """Raise, because the mapped points are not all rows."""
        raise NotImplementedError("Use gradient_in_map, gradient_in_metric or value.")

    def gradient_in_map(
        self, L: Array, theta: np.ndarray
    ) -> tuple[float, Array, np.ndarray | float]:
        """Return the objective and its gradients. See :meth:`Objective.gradient_in_map`."""
        sums = self._sums(L, theta, "map")
        return sums.loss, 2 * self._of_points(sums.gradient), sums.dtheta

    def gradient_in_metric(
        self, L: Array, theta: np.ndarray
    ) -> tuple[float, Array, np.ndarray | float]:
        """Return the objective and its gradients. See :meth:`Objective.gradient_in_metric`."""
        sums = self._sums(L, theta, "metric")
        return sums.loss, self._of_points(self._of_points(sums.gradient).T), sums.dtheta

    def value(self, L: Array, theta: np.ndarray) -> tuple[float, np.ndarray | float]:
        """Return the objective and dtheta. See :meth:`Objective.value`."""
        sums = self._sums(L, theta, "value")
        return sums.loss, sums.dtheta

    def in_float32(self) -> "ReferenceObjective | None":
        """Return an approximation, if the rule is convex. See :meth:`Objective.in_float32`."""
        if self.sample.in_float32() is None:
            return None
        coarse = copy(self)
        coarse._dtype = np.float32
        return coarse

    def batch(self, rows: np.ndarray) -> PairwiseObjective | None:
        """Return the objective of some references."""
        return self.sample.batch(rows)

    def part(self, max_units: int) -> Objective:
        """Return the objective of some references."""
        return self.sample.part(max_units)

    def _sums(self, L: Array, theta: np.ndarray, of: str) -> Sums:
        """Return the sums over all rows. The gradients are those with respect to the samples."""
        stat = partial(self._statistic(), of=of, dtype=self._dtype)
        A = self._of_samples(L)
        sums: Sums = self._source.reduce(stat, self._references, A, theta, self.rule, numbered=True)
        return sums

    def _statistic(self) -> Any:
        """Return the function that computes the sums of a block."""
        return pair_sums

    def _of_samples(self, L: Array) -> np.ndarray:
        """Convert a map of the points to the map of samples with the same distances."""
        P, A = self._projection, np.asarray(L, dtype=np.float64)
        return A @ P if isinstance(P, np.ndarray) else A * P

    def _of_points(self, gradient: np.ndarray) -> np.ndarray:
        """Convert the columns of a gradient from features to the coordinates of the points."""
        P = self._projection
        return gradient @ P.T if isinstance(P, np.ndarray) else gradient * P
