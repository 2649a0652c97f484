"""Learners whose objective is convex in the metric, and how far from its optimum they end."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, ClassVar, TypeVar

import numpy as np

from dimetric._arrays.namespaces import eps, to_host, triangular_factor
from dimetric.learners._base import NamedObjects
from dimetric.learners._fitting.functions import loss_over
from dimetric.learners._fitting.mean_loss import MeanLossMetric
from dimetric.learners._fitting.problem import MapFunction, Problem, Solution
from dimetric.learners._fitting.start import rescaled_start
from dimetric.linalg.psd import inverse_square_root, metric_of
from dimetric.linalg.sample_span import sample_span
from dimetric.linalg.scatter import Moments
from dimetric.objectives.objective import Certifiable, Objective, metric_gradient
from dimetric.solvers import LBFGS, SGD, GradientDescent, ProjectedGradient, Result, Solver
from dimetric.solvers.certificates import (
    Certificate,
    certify_from_below,
    gap_from_below,
    radius_from_linear,
)

# c and G of a linear function c + <G, N> that is above the objective at no metric N.
Below = tuple[float, np.ndarray]

ConvexT = TypeVar("ConvexT", bound=Certifiable)


class ConvexMetric(MeanLossMetric[ConvexT]):
    r"""A learner that minimises a mean of losses, convex in :math:`M = L^T L`.

    The metadata then hold a certificate: ``gap`` bounds what is left to gain among metrics of trace
    at most ``gap_radius``, and among all metrics if ``gap_proven``. There is none where the metric
    was not solved for: a map of fewer rows, mini-batches.
    """

    _named_objects: ClassVar[NamedObjects] = {
        "solver": {
            "lbfgs": LBFGS,
            "bgd": GradientDescent,
            "sgd": SGD,
            "sdp": ProjectedGradient,
        }
    }

    def _function(self, problem: Problem[ConvexT], solver: Solver) -> MapFunction:
        start, theta = rescaled_start(problem, keep_size=self._start_is_given())
        scale = _scale(problem.objective, problem.ridge) if solver.models_curvature else None
        return loss_over(
            solver,
            replace(problem, start=start),
            theta=theta,
            scale=scale,
            random_state=self.random_state,
        )

    def _enough_rows(self, d: int) -> int:
        """Return how many rows a map needs to be as good as any metric of d features."""
        return d

    def _tangent(self, problem: Problem[ConvexT], L: np.ndarray, theta: np.ndarray) -> Below:
        """Return the tangent at a map's metric; `theta` starts a search for the best one there."""
        value, G, _ = metric_gradient(problem.objective, L, theta, ridge=problem.ridge)
        return value - float(np.vdot(L @ G, L)), G

    def _facts(self, problem: Problem[ConvexT], solution: Solution) -> dict[str, Any]:
        facts, (k, d), solver = (
            super()._facts(problem, solution),
            solution.map.shape,
            self._solver(),
        )
        over_maps = solver.steps_over == "maps"
        if solver.uses_batches or (over_maps and k < self._enough_rows(d)):
            return facts

        def tangent(L: np.ndarray) -> Below:
            return self._tangent(problem, L, solution.theta)

        result = solution.result
        found = certified(problem, result.value, solution.map, tangent)
        return facts | certificate_facts(found, result, problem.objective.infimum, problem.unit)


def certificate_facts(
    found: Certificate, result: Result, floor: float, unit: float
) -> dict[str, Any]:
    """Return a certificate as metadata.

    Parameters
    ----------
    found : Certificate
        The certificate in the coordinates of the problem.
    result : Result
        What it certifies.
    floor : float
        A lower bound of the objective over all metrics, or -inf.
    unit : float
        The points of the problem are the samples times this factor.
    """
    if not found.proven and not result.converged and floor > -np.inf:
        # A guess at the optimum's size may do near the optimum; far away it is worth nothing.
        found = Certificate(result.value - floor, np.inf, proven=True)
    return {
        "gap": float(found.gap),
        "gap_radius": float(found.radius) * unit**2,
        "gap_proven": found.proven,
    }


def _scale(objective: Objective, ridge: float) -> np.ndarray:
    """Return T for steps in A, L = A T: about a root of the inverse Hessian.

    The effect of a step on the loss grows with the spread of the samples in its direction, and that
    on the ridge with its length. With T the curvature is about the same in all directions: convex
    objectives take a quarter of the iterations, or less.
    """
    X = objective.points
    S = to_host(Moments.of_all(X, root=False).spread) / X.shape[0]
    S += 3 * ridge * np.eye(len(S))
    unit = np.sqrt(np.diag(S))
    unit[unit == 0] = 1
    # In a direction without variance the gradient is rounding alone, which T must not amplify.
    return inverse_square_root(S / unit / unit[:, None] + 1e-6 * np.eye(len(S))) / unit


def certified(
    problem: Problem[ConvexT],
    value: float,
    L: np.ndarray,
    tangent: Callable[[np.ndarray], Below],
) -> Certificate:
    r"""Return a bound of how far a value is above the minimum of a convex objective.

    The tangent at M bounds the objective f from below, :math:`f(N) \ge c + \langle G, N \rangle`.
    Far away the bound is poor if G is not quite positive semidefinite. So take another bound
    :math:`f(N) \ge c' + \langle P, N \rangle` with P positive definite. No metric N with
    :math:`\langle P, N \rangle > f(M) - c'` is better than M, and for all others

    .. math:: \langle G, N \rangle \ge (f(M) - c')
              \min(0, \lambda_{\min}(P^{-1/2} G P^{-1/2})).

    Parameters
    ----------
    problem : Problem
        What has been minimised.
    value : float
        The mean objective, with the ridge.
    L : ndarray of shape (k, d)
        Map where it has that value.
    tangent : callable
        Returns c and G at a map.
    """
    objective, ridge = problem.objective, problem.ridge
    B, _, Q = sample_span(objective.points)
    if B.shape[1] == 0:  # all samples are one point: every metric is as good
        return Certificate(0.0, np.inf, proven=True)

    def on_samples(G: np.ndarray) -> np.ndarray:
        # Of all metrics with the same distances between samples, the ridge prefers the smallest.
        return B.T @ (G - ridge * np.eye(len(G))) @ B + ridge * Q

    rounding = 16 * eps(objective.points) * np.eye(B.shape[1])
    c, G = tangent(L)
    found = certify_from_below(value, c, G, metric_of(L))
    for c_far, P in _definite(objective, L, B, tangent, ridge):
        P = on_samples(P) - rounding
        if np.isfinite(radius_from_linear(value, P, floor=c_far)):
            T = inverse_square_root(P)
            gap = gap_from_below(value, c, T @ on_samples(G) @ T, value - c_far)
            radius = (value - c_far) * float(np.linalg.eigvalsh(T @ Q @ T)[-1])
            found = Certificate(gap, radius, proven=True)
            break
    if value - objective.infimum < found.gap:  # which is true of all metrics
        found = Certificate(value - objective.infimum, np.inf, proven=True)
    return found


def _definite(
    objective: Certifiable,
    L: np.ndarray,
    B: np.ndarray,
    tangent: Callable[[np.ndarray], Below],
    ridge: float,
) -> Iterator[Below]:
    """Yield linear bounds that may grow in all directions, the best ones first.

    At a metric that is a little too large, the spread within classes outweighs near pairs of
    different classes: the objective rises in every direction there, unless classes separate.
    """
    within = objective.within()
    white = inverse_square_root(B.T @ within @ B) @ B.T  # the map that whitens classes,
    white *= float(np.vdot(L @ within, L) / len(within)) ** 0.5 or 1.0  # as large as L is to them
    for growth, more in ((1.0, 0.3), (1.05, 0.1), (1.0, 1.0)):  # found to do on many data sets
        yield tangent(triangular_factor(np.vstack([growth**0.5 * L, more**0.5 * white])))
    if ridge > 0 and np.isfinite(objective.infimum):
        yield objective.infimum, ridge * np.eye(len(within))
