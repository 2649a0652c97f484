"""Learners whose objective is convex in the metric, with a bound on the distance to the optimum."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, ClassVar, TypeVar

import numpy as np

from dimetric._arrays.namespaces import eps, to_host, triangular_factor
from dimetric.learners._base import NamedObjects
from dimetric.learners._fitting.functions import loss_over
from dimetric.learners._fitting.mean_loss import MeanLossMetric
from dimetric.learners._fitting.problem import MapFunction, Problem, Solution
from dimetric.linalg.psd import inverse_square_root, metric_of
from dimetric.linalg.sample_span import least_penalty, span_of_moments
from dimetric.objectives.objective import (
    Certifiable,
    Objective,
    Ridge,
    metric_gradient,
    ridge_matrix,
)
from dimetric.solvers import LBFGS, SGD, GradientDescent, ProjectedGradient, Result, Solver
from dimetric.solvers.certificates import (
    Certificate,
    certify_by_lower_bound,
    gap_from_lower_bound,
    radius_from_linear,
)

# (c, G) such that c + <G, N> is a lower bound of the objective at every metric N.
LinearBound = tuple[float, np.ndarray]

# The following numbers are chosen by experiment.
RIDGE_CURVATURE = 3.0  # curvature of the ridge, relative to that of the loss per unit variance
PRECONDITIONER_RIDGE = 1e-6  # bounds the amplification of directions without variance
# Factors of M and of the whitening of the scatter within classes, whose sum is a larger metric.
LARGER_METRICS = ((1.0, 0.3), (1.05, 0.1), (1.0, 1.0))
# Bound on the rounding errors of a tangent in float32: of G relative to the covariance, and of
# c. The largest errors found are a fifth of it.
FLOAT32_ERROR = 32 * float(np.finfo(np.float32).eps)

ConvexT = TypeVar("ConvexT", bound=Certifiable)


class ConvexMetric(MeanLossMetric[ConvexT]):
    r"""A learner that minimises a mean loss that is convex in :math:`M = L^T L`.

    The metadata contains a certificate. ``gap`` bounds how far the objective is above its minimum:
    over all metrics if ``gap_proven``, else over metrics of trace at most ``gap_radius``. There is
    no certificate if the solver uses mini-batches, if the map has too few rows or is diagonal, or
    with references.
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
        T = problem.preconditioner
        if solver.models_curvature:
            T = _preconditioner(problem.objective, problem.ridge)
        return loss_over(solver, problem, preconditioner=T, random_state=self.random_state)

    def _enough_rows(self, d: int) -> int:
        """Return the number of rows of a map that suffices to reach the optimal metric."""
        return d

    def _theta_of_tangent(self, objective: ConvexT, L: np.ndarray, theta: np.ndarray) -> np.ndarray:
        """Return a theta for a good tangent at a map L, given the theta of the solution."""
        return theta

    def _tangent(self, problem: Problem[ConvexT], L: np.ndarray, theta: np.ndarray) -> LinearBound:
        """Return the tangent of the objective at the metric L^T L and at theta."""
        value, G, _ = metric_gradient(problem.objective, L, theta, ridge=problem.ridge)
        return value - float(np.vdot(L @ G, L)), G

    def _extra_metadata(self, problem: Problem[ConvexT], solution: Solution) -> dict[str, Any]:
        extra = super()._extra_metadata(problem, solution)
        (k, d), solver = solution.map.shape, self._solver()
        over_maps = solver.steps_over == "maps"
        if solver.uses_batches or self.diagonal or (over_maps and k < self._enough_rows(d)):
            return extra
        if not isinstance(problem.objective, Certifiable):  # rows may vary where references do not
            return extra

        def tangent(L: np.ndarray, objective: ConvexT) -> LinearBound:
            theta = self._theta_of_tangent(objective, L, solution.theta)
            return self._tangent(replace(problem, objective=objective), L, theta)

        result = solution.result
        at_solution = self._tangent(problem, solution.map, solution.theta)
        certificate = certify(problem, result.value, solution.map, at_solution, tangent)
        return extra | certificate_metadata(
            certificate, result, problem.objective.infimum, problem.sample_scale
        )


def certificate_metadata(
    certificate: Certificate, result: Result, floor: float, sample_scale: float
) -> dict[str, Any]:
    """Return a certificate as metadata.

    Parameters
    ----------
    certificate : Certificate
        The certificate in the coordinates of the problem.
    result : Result
        The result that the certificate is for.
    floor : float
        A lower bound of the objective over all metrics, or -inf.
    sample_scale : float
        Points of the problem are samples multiplied by this factor.
    """
    if not certificate.proven and not result.converged and floor > -np.inf:
        # Without a proven radius, the gap is only meaningful close to the optimum.
        certificate = Certificate(result.value - floor, np.inf, proven=True)
    return {
        "gap": float(certificate.gap),
        "gap_radius": float(certificate.radius) * sample_scale**2,
        "gap_proven": certificate.proven,
    }


def _preconditioner(objective: Objective, ridge: Ridge) -> np.ndarray:
    """Return a preconditioner T, with L = A T, for a solver that works on A.

    The curvature of the loss in a direction grows with the variance of the samples, and the
    curvature of the ridge is constant. T is about the inverse square root of the curvature, so the
    curvature in A is about the same in all directions. Convex objectives then need a quarter of the
    iterations or fewer.
    """
    S = _covariance(objective)
    S = S + RIDGE_CURVATURE * ridge_matrix(ridge, len(S))
    deviation = np.sqrt(np.diag(S))
    deviation[deviation == 0] = 1
    # In directions without variance the gradient is a rounding error, which T must not amplify.
    correlation = S / deviation / deviation[:, None]
    return inverse_square_root(correlation + PRECONDITIONER_RIDGE * np.eye(len(S))) / deviation


def certify(
    problem: Problem[ConvexT],
    value: float,
    L: np.ndarray,
    at_map: LinearBound,
    tangent: Callable[[np.ndarray, ConvexT], LinearBound],
) -> Certificate:
    r"""Return a bound on how far a value is above the minimum of a convex objective.

    The tangent at M bounds the objective f from below: :math:`f(N) \ge c + \langle G, N \rangle`.
    If G has a negative eigenvalue, this bound is poor for large N. A second lower bound
    :math:`f(N) \ge c' + \langle P, N \rangle` with a positive definite P excludes large N: no
    metric N with :math:`\langle P, N \rangle > f(M) - c'` is better than M. All other N satisfy

    .. math:: \langle G, N \rangle \ge (f(M) - c')
              \min(0, \lambda_{\min}(P^{-1/2} G P^{-1/2})).

    Parameters
    ----------
    problem : Problem
        The problem that was solved.
    value : float
        Value of the mean objective plus the ridge.
    L : ndarray of shape (k, d)
        Map with that value.
    at_map : tuple
        c and G of the tangent at L.
    tangent : callable
        Function that returns c and G of the tangent at another map, for an objective.
    """
    objective, ridge = problem.objective, problem.ridge
    moments = objective.moments(root=True)
    B, E, Q = span_of_moments(moments, round(moments.n_samples))
    if B.shape[1] == 0:  # all samples are identical: every metric is optimal
        return Certificate(0.0, np.inf, proven=True)

    def on_samples(G: np.ndarray) -> np.ndarray:
        # Of all metrics with the same distances between samples, use the one of smallest penalty.
        penalty = least_penalty(ridge, E) if isinstance(ridge, np.ndarray) else ridge * Q
        return B.T @ (G - ridge_matrix(ridge, len(G))) @ B + penalty

    rounding = 16 * eps(objective.points) * np.eye(B.shape[1])
    c, G = at_map
    certificate = certify_by_lower_bound(value, c, G, metric_of(L))
    for c_far, P in _definite_bounds(objective, L, B, tangent, ridge):
        P = on_samples(P) - rounding
        if np.isfinite(radius_from_linear(value, P, floor=c_far)):
            T = inverse_square_root(P)
            gap = gap_from_lower_bound(value, c, T @ on_samples(G) @ T, value - c_far)
            radius = (value - c_far) * float(np.linalg.eigvalsh(T @ Q @ T)[-1])
            certificate = Certificate(gap, radius, proven=True)
            break
    if value - objective.infimum < certificate.gap:  # the infimum is a bound over all metrics
        certificate = Certificate(value - objective.infimum, np.inf, proven=True)
    return certificate


def _definite_bounds(
    objective: ConvexT,
    L: np.ndarray,
    B: np.ndarray,
    tangent: Callable[[np.ndarray, ConvexT], LinearBound],
    ridge: Ridge,
) -> Iterator[LinearBound]:
    """Yield lower bounds (c, G) whose G may be positive definite, the best ones first.

    The first are tangents at metrics slightly larger than the optimum. There, the scatter within
    classes outweighs close pairs of different classes, so the objective increases in every
    direction, unless the classes are separable. With a ridge, the last is the infimum plus the
    ridge penalty.
    """
    within = objective.within_class_covariance()
    white = inverse_square_root(B.T @ within @ B) @ B.T  # whitens the scatter within classes
    white *= float(np.vdot(L @ within, L) / len(within)) ** 0.5 or 1.0  # to the scale of L
    coarse: Any = objective.in_float32()
    for growth, added in LARGER_METRICS:
        larger = triangular_factor(np.vstack([growth**0.5 * L, added**0.5 * white]))
        if coarse is not None:
            c, G = tangent(larger, coarse)
            error = FLOAT32_ERROR * _covariance(coarse)
            c_error = FLOAT32_ERROR * abs(c) + float(np.vdot(larger @ error, larger))
            yield c - c_error, G - error
            if np.linalg.eigvalsh(B.T @ (G + error) @ B)[0] <= 0:
                continue  # so the exact G is not positive definite either
        yield tangent(larger, objective)
    if np.any(ridge) and np.isfinite(objective.infimum):
        yield objective.infimum, ridge_matrix(ridge, len(within))


def _covariance(objective: Objective) -> np.ndarray:
    """Return the covariance of the points of an objective."""
    moments = objective.moments(root=False)
    return np.asarray(to_host(moments.scatter) / moments.n_samples)
