"""Detect plateaus, where a solver stops because the gradient is small, far from an optimum."""

from dataclasses import replace
from typing import TypeVar

import numpy as np

from dimetric._arrays.namespaces import asarray_like, to_host
from dimetric.learners._fitting.problem import Problem, Solution
from dimetric.learners._fitting.start import MAX_SAMPLES_FOR_RESCALING, squared_size
from dimetric.objectives.objective import Objective, metric_gradient, ridge_penalty
from dimetric.solvers import Result
from dimetric.solvers.result import (
    FLAT_START,
    GRADIENT_BELOW_TOL,
    NO_DECREASE,
    SLOW_START,
    STOPPED_EARLY,
)

TOO_LARGE = "too large"
TOO_SMALL = "too small or all 0"
LARGE_SQUARED_SIZE = 1.0  # losses are flat at squared distances much larger or smaller than this
# Largest slope in the scale at a solution, as a multiple of the objective. It is much smaller at an
# optimum.
MAX_SLOPE = 0.1

LossT = TypeVar("LossT", bound=Objective)


def checked_for_plateau(
    problem: Problem[LossT], solution: Solution, tol: float, *, named_start: bool
) -> Result:
    """Return the result, changed to not converged if the solution is on a plateau.

    Parameters
    ----------
    problem, solution
        The problem and its solution.
    tol : float
        The tolerance of the gradient.
    named_start : bool
        Whether the start was chosen by name, so that its scale is not far too large.
    """
    result, reason = solution.result, ""
    if result.n_iter == 0 and result.reason == GRADIENT_BELOW_TOL:
        why = plateau(problem, solution, tol)
        reason = f"{FLAT_START}, because distances are {why}" if why else ""
    elif result.reason in (NO_DECREASE, STOPPED_EARLY) and not named_start:
        is_steep = slope_in_scale(problem, solution) > MAX_SLOPE * max(1.0, abs(result.value))
        reason = f"{SLOW_START}, because distances are {TOO_LARGE}" if is_steep else ""
    return replace(result, converged=False, reason=reason) if reason else result


def slope_in_scale(problem: Problem[LossT], solution: Solution) -> float:
    """Return the derivative of the objective with respect to the logarithm of the map's scale."""
    slopes = _slopes(problem.objective.part(MAX_SAMPLES_FOR_RESCALING), solution)[0]
    return float(np.sum(slopes)) + 2 * ridge_penalty(solution.map, problem.ridge)


def plateau(problem: Problem[LossT], solution: Solution, tol: float) -> str:
    """Return ``TOO_LARGE`` or ``TOO_SMALL`` if a solution is on a plateau, or an empty string.

    The texts describe the distances under the map of the solution.

    The gradient with respect to the map is a sum of contributions of the samples. It is small at an
    optimum, where the contributions cancel, and also on a plateau, where each of them is small. If
    the distances are small, the solution can still be optimal: then the objective increases in all
    directions of the metric.

    Parameters
    ----------
    problem : Problem
        The problem.
    solution : Solution
        A solution at which the gradient is small.
    tol : float
        The tolerance of the gradient.
    """
    objective = problem.objective.part(MAX_SAMPLES_FOR_RESCALING)
    slopes, Z = _slopes(objective, solution)
    if np.sum(np.abs(slopes)) > tol:
        return ""
    if squared_size(Z) > LARGE_SQUARED_SIZE:
        return TOO_LARGE
    _, G, _ = metric_gradient(objective, solution.map, solution.theta, ridge=problem.ridge)
    slopes = np.diag(G) if problem.diagonal else np.linalg.eigvalsh(G)
    return TOO_SMALL if np.min(slopes) < -tol else ""


def _slopes(objective: Objective, solution: Solution) -> tuple[np.ndarray, np.ndarray]:
    """Return the derivatives of the mean loss with respect to the logarithms of all coordinates.

    The coordinates are those of the mapped points, which are returned, too.
    """
    Z = objective.points @ asarray_like(solution.map, objective.points).T
    product = to_host(objective.evaluate(Z, Z, solution.theta)[1]).astype(np.float64)
    Z = to_host(Z).astype(np.float64)
    return 2 * product * Z / objective.n_terms, Z
