"""Objectives that are sums over the blocks of a source."""

from collections.abc import Callable
from typing import Any

import numpy as np

from dimetric._arrays.blocks import row_blocks
from dimetric._arrays.namespaces import Array
from dimetric._arrays.validation import ignoring_overflow
from dimetric.blocks.block import Block
from dimetric.blocks.source import Source
from dimetric.linalg.reductions import JointSum
from dimetric.linalg.scatter import Moments
from dimetric.objectives.objective import Certifiable, Objective

# Samples whose objective is built at once. It copies them, so a block may be larger.
MAX_ROWS = 2**15


class BlockSum(Certifiable):
    """An objective that is a sum over samples, which are read in blocks for each evaluation.

    Parameters
    ----------
    source : Source
        The samples.
    objective_of : callable
        Returns the objective of a block, ``objective_of(block)``, or None if the block has none of
        the samples. It must be picklable.
    example : Objective
        The objective of some of the samples, for searches along a line.
    n_terms : float
        Number of terms, or the sum of their weights.
    moments : Moments
        Moments of all points as one class, with a root.
    within_class_covariance : ndarray of shape (d, d)
        The within-class covariance of the samples.
    """

    def __init__(
        self,
        source: Source,
        objective_of: Callable[[Block], Objective | None],
        example: Objective,
        *,
        n_terms: float,
        moments: Moments,
        within_class_covariance: np.ndarray,
    ) -> None:
        self._source, self._objective_of, self._example = source, objective_of, example
        self._moments, self._within = moments, within_class_covariance
        self.points, self.n_terms, self.infimum = example.points[:0], n_terms, example.infimum
        self.theta, self.strata = example.theta, example.strata

    def evaluate(self, Z: Array, V: Array, theta: np.ndarray) -> Any:
        """Raise, because not all points are in memory."""
        raise NotImplementedError("Use gradient_in_map or gradient_in_metric.")

    def gradient_in_map(self, L: Array, theta: np.ndarray) -> tuple[float, Array, Any]:
        """Return the objective and its gradients. See :meth:`Objective.gradient_in_map`."""
        return self._sum("gradient_in_map", L, theta)

    def gradient_in_metric(self, L: Array, theta: np.ndarray) -> tuple[float, Array, Any]:
        """Return the objective and its gradients. See :meth:`Objective.gradient_in_metric`."""
        return self._sum("gradient_in_metric", L, theta)

    def part(self, max_units: int) -> Objective:
        """Return the objective of some of the samples."""
        return self._example

    def moments(self, *, root: bool) -> Moments:
        """Return the moments of all points, with a root."""
        return self._moments

    def within_class_covariance(self) -> np.ndarray:
        """Return the within-class covariance of the samples."""
        return self._within

    def _sum(self, method: str, L: Array, theta: np.ndarray) -> tuple[float, Array, Any]:
        total = self._source.reduce(_of_block, self._objective_of, method, L, theta)
        loss, gradient, dtheta = total.parts
        return float(loss), gradient, dtheta


@ignoring_overflow()  # as in on_maps
def _of_block(
    block: Block,
    objective_of: Callable[[Block], Objective | None],
    method: str,
    L: np.ndarray,
    theta: np.ndarray,
) -> JointSum | None:
    total = None
    for rows in row_blocks(len(block.X), MAX_ROWS):
        objective = objective_of(block.take(rows))
        if objective is None:
            continue
        loss, gradient, dtheta = getattr(objective, method)(L, theta)
        # Sums over many blocks are in float64.
        part = JointSum((loss, gradient.astype(np.float64), dtheta))
        total = part if total is None else total + part
    return total
