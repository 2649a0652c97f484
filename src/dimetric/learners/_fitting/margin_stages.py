"""Minimise LMNN's objective for fixed targets, with hinges that are made sharper in stages."""

from dataclasses import replace
from typing import Any

import numpy as np

from dimetric._arrays.namespaces import asarray_like
from dimetric._arrays.validation import ignoring_overflow
from dimetric.learners._fitting.functions import loss_over
from dimetric.learners._fitting.problem import (
    MapCallback,
    Problem,
    Solution,
    converged_in_float32,
    solve,
    with_iteration_offset,
)
from dimetric.objectives.margins.bounds import MarginBounds
from dimetric.objectives.margins.objective import pull_scale
from dimetric.objectives.objective import Ridge, Smoothable, ridge_penalty
from dimetric.solvers import Result, Solver
from dimetric.solvers.result import LINE_SEARCH_FAILED, max_iter_reached

# Stages of the continuation, each with the width of the hinge's smooth part and a tolerance as a
# multiple of tol. The second stage runs only if the gap after the first is not yet small. Later
# stages have a looser tolerance, because sharp hinges are hard to minimise and change little.
STAGES = ((0.1, 1.0), (0.1, 0.1), (0.01, 10.0), (0.001, 10.0))
MAX_SMOOTHING_ERROR_IN_TOLS = 300.0  # the hinge is sharp enough below this error of the objective
TIGHT_GAP_RATIO = 0.007  # a gap is small if it is at most this fraction of the objective
MAX_TERMS_EVALUATED = 20_000  # with SGD and more terms, mini-batches estimate the objective


def solve_in_stages(
    problem: Problem[Smoothable],
    solver: Solver,
    callback: MapCallback,
    *,
    max_iter: int,
    tol: float,
    random_state: Any,
) -> Solution:
    """Return the best map for fixed targets, with a certificate if there is one.

    Parameters
    ----------
    problem : Problem
        The problem, whose hinges are not smooth.
    solver : Solver
        The solver. Only solvers that model the curvature need smooth hinges.
    callback : callable
        Called after every iteration.
    max_iter : int
        Maximum number of iterations of all stages.
    tol : float
        Tolerance of the solver.
    random_state : int, RandomState or None
        Seed of the mini-batches.
    """
    objective, ridge, L = problem.objective, problem.ridge, problem.start
    smooth = solver.models_curvature
    T = pull_scale(objective, ridge) if smooth else problem.preconditioner
    over_metrics = solver.steps_over == "metrics"
    is_convex = over_metrics or (not solver.uses_batches and len(L) >= L.shape[1])
    is_convex = is_convex and not problem.diagonal and objective.has_bounds
    bounds = MarginBounds(objective, ridge) if is_convex else None
    done, history, certificate = 0, list[float](), None
    last_width, is_sharp, is_tight = np.inf, False, True
    for width, tol_factor in STAGES if smooth else ((0.0, 1.0),):
        if width == last_width and is_tight:
            continue
        if width < last_width and is_sharp:
            break
        left = max_iter - done
        stage = replace(problem, objective=objective.smoothed(width), start=L)
        function = loss_over(solver, stage, preconditioner=T, random_state=random_state)
        offset_callback = with_iteration_offset(callback, done)
        solution = solve(
            function, solver, max_iter=left, tol=tol_factor * tol, callback=offset_callback
        )
        result = converged_in_float32(solution.result, objective)
        L, last_width = solution.map, width
        value = sharp_objective(objective, L, ridge, solver, estimate=result.value)
        done, history = done + result.n_iter, [*history, *result.history]
        if bounds is not None:
            if width:
                bounds.add_last(L, width, stage.objective)
            else:
                bounds.add(L, STAGES[0][0])
            certificate = bounds.certificate(value, L)
            is_tight = certificate.gap <= TIGHT_GAP_RATIO * max(1.0, value)
        is_sharp = result.value - value <= MAX_SMOOTHING_ERROR_IN_TOLS * tol * max(1.0, value)
        if not result.converged or done == max_iter:
            break
    converged, reason = result.converged, result.reason
    if reason == max_iter_reached(left) or (done == max_iter and not is_sharp):
        converged, reason = False, max_iter_reached(max_iter)
    elif reason.startswith(LINE_SEARCH_FAILED) and certificate is not None and is_tight:
        converged, reason = True, f"at most {certificate.gap:.2g} above the optimum"
    result = Result(L.ravel(), value, done, converged, reason, tuple(history))
    return Solution(L, solution.theta, result, certificate)


@ignoring_overflow()  # as in on_maps
def sharp_objective(
    objective: Smoothable, L: np.ndarray, ridge: Ridge, solver: Solver, *, estimate: float
) -> float:
    """Return the objective without smoothing, or the estimate if evaluation takes too long."""
    if solver.uses_batches and objective.n_terms > MAX_TERMS_EVALUATED:
        return estimate
    loss, _ = objective.value(asarray_like(L, objective.points), objective.theta)
    return loss / objective.n_terms + ridge_penalty(L, ridge)
