"""Tests of projected gradient descent: constrained optima, momentum, stopping."""

import cvxpy as cp
import numpy as np
import pytest
from oracles import is_psd
from scipy.optimize import nnls
from solving import projected_gradient

from dimetric.linalg.psd import project_psd
from dimetric.solvers import LBFGS, ProjectedGradient

with_and_without_momentum = pytest.mark.parametrize("accelerated", [True, False])


def to_cone(d):
    return lambda x: project_psd(x.reshape(d, d)).ravel()


def symmetric(rng, d):
    A = rng.normal(size=(d, d))
    return (A + A.T) / 2


def weighted_distance(A, W):
    """Return half the weighted squared distance to A. Its curvatures are the weights W."""

    def value_and_grad(x):
        R = x.reshape(A.shape) - A
        return 0.5 * float(np.sum(W * R**2)), (W * R).ravel()

    return value_and_grad


def logistic_loss(Z, sign):
    """Return the mean of log(1 + exp(-sign (1 - z^T M z))) over the rows of Z, plus a ridge."""
    m, d = Z.shape

    def value_and_grad(x):
        M = x.reshape(d, d)
        margin = sign * (1 - np.sum(Z @ M * Z, axis=1))
        p = 1 / (1 + np.exp(margin))
        gradient = Z.T @ (Z * (sign * p / m)[:, None]) + 0.01 * np.eye(d)
        return float(np.logaddexp(0, -margin).mean() + 0.01 * np.trace(M)), gradient.ravel()

    return value_and_grad


@with_and_without_momentum
def test_nearest_psd_matrix_matches_the_projection(accelerated):
    A = symmetric(np.random.default_rng(0), 6)
    f = weighted_distance(A, np.ones((6, 6)))
    result = projected_gradient(f, to_cone(6), np.eye(6).ravel(), accelerated=accelerated, tol=1e-9)
    assert result.converged
    np.testing.assert_allclose(result.x.reshape(6, 6), project_psd(A), atol=1e-4)
    assert f(result.x)[0] == pytest.approx(f(project_psd(A).ravel())[0], abs=1e-9)


@with_and_without_momentum
def test_weighted_nearest_psd_matrix_matches_cvxpy(accelerated):
    rng = np.random.default_rng(1)
    A, w = symmetric(rng, 5), np.logspace(0, 1, 5)
    f = weighted_distance(A, np.outer(w, w))
    M = cp.Variable((5, 5), PSD=True)
    distance = cp.sum_squares(cp.multiply(np.sqrt(np.outer(w, w)), M - A)) / 2
    best = cp.Problem(cp.Minimize(distance)).solve(solver=cp.CLARABEL)
    result = projected_gradient(
        f, to_cone(5), np.eye(5).ravel(), accelerated=accelerated, tol=1e-8, max_iter=2000
    )
    assert result.converged
    assert result.value == pytest.approx(best, abs=1e-6)
    np.testing.assert_allclose(result.x.reshape(5, 5), M.value, atol=1e-3)
    assert is_psd(result.x.reshape(5, 5))


@with_and_without_momentum
def test_logistic_loss_on_the_cone_matches_cvxpy(accelerated):
    rng = np.random.default_rng(2)
    Z = rng.normal(size=(60, 4)) * [2.0, 1.0, 0.5, 0.3]
    sign = np.where(Z[:, 0] ** 2 + rng.normal(size=60) < 2, 1.0, -1.0)
    M = cp.Variable((4, 4), PSD=True)
    margin = cp.multiply(sign, 1 - cp.sum(cp.multiply(Z @ M, Z), axis=1))
    loss = cp.sum(cp.logistic(-margin)) / 60 + 0.01 * cp.trace(M)
    best = cp.Problem(cp.Minimize(loss)).solve(solver=cp.CLARABEL)
    result = projected_gradient(
        logistic_loss(Z, sign), to_cone(4), np.zeros(16), accelerated=accelerated, tol=1e-8,
        max_iter=2000,
    )  # fmt: skip
    assert result.converged
    assert result.value == pytest.approx(best, abs=1e-7)
    assert np.linalg.matrix_rank(M.value, tol=1e-4) < 4  # the constraint is active


@with_and_without_momentum
def test_nonnegative_least_squares_match_scipy(accelerated):
    rng = np.random.default_rng(3)
    A, b = rng.normal(size=(30, 8)), rng.normal(size=30)
    best, _ = nnls(A, b)
    result = projected_gradient(
        lambda x: (0.5 * float(np.sum((A @ x - b) ** 2)), A.T @ (A @ x - b)),
        lambda x: np.maximum(x, 0),
        np.ones(8),
        accelerated=accelerated,
        tol=1e-10,
        max_iter=2000,
    )
    assert result.converged
    np.testing.assert_allclose(result.x, best, atol=1e-5)
    assert (best == 0).any()


@with_and_without_momentum
def test_values_decrease_strictly(accelerated):
    rng = np.random.default_rng(4)
    f = weighted_distance(symmetric(rng, 8), np.logspace(0, 3, 64).reshape(8, 8))
    result = projected_gradient(f, to_cone(8), np.eye(8).ravel(), accelerated=accelerated, tol=0.0)
    assert (np.diff(result.history) < 0).all()
    assert f(result.x)[0] == result.value == result.history[-1]


def test_momentum_needs_fewer_evaluations():
    """On Nesterov's chain, each gradient step reaches only one more coordinate."""
    T = 2 * np.eye(50) - np.eye(50, k=1) - np.eye(50, k=-1)
    first = np.eye(50)[0]
    best = -0.5 * float(first @ np.linalg.solve(T, first))
    count = {}
    for accelerated in (True, False):
        points = []

        def f(x, points=points):
            points.append(x)
            return 0.5 * float(x @ T @ x) - float(x[0]), T @ x - first

        projected_gradient(
            f,
            lambda x: np.maximum(x, 0),
            np.zeros(50),
            accelerated=accelerated,
            tol=0.0,
            max_iter=10**4,
            callback=lambda x, value, n_iter: value < best + 1e-6,
        )
        count[accelerated] = len(points)
    assert count[True] < 0.5 * count[False]


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_result_does_not_depend_on_units(unit):
    A = np.diag([1.0, 2.0, -1.0]) * unit
    f = weighted_distance(A, np.ones((3, 3)) / unit**2)
    result = projected_gradient(f, to_cone(3), np.eye(3).ravel() * unit, tol=0.0)
    np.testing.assert_allclose(result.x.reshape(3, 3) / unit, project_psd(A) / unit, atol=1e-6)


def test_start_outside_of_the_set_is_projected():
    seen = []

    def f(x):
        seen.append(x.copy())
        return float(x @ x), 2 * x

    projected_gradient(f, lambda x: np.maximum(x, 1), np.array([-5.0, 3.0]))
    np.testing.assert_array_equal(seen[0], [1, 3])


def test_stops_at_a_start_that_is_optimal_on_the_boundary():
    """The gradient is not 0 there, but the residual is."""
    f = weighted_distance(-np.eye(3), np.ones((3, 3)))
    result = projected_gradient(f, to_cone(3), np.zeros(9))
    assert (result.n_iter, result.reason) == (0, "gradient below tol")
    assert np.abs(f(result.x)[1]).max() == 1


def test_solver_stops_when_the_residual_is_below_tol():
    """The residual is the gradient plus a normal vector of the set."""
    target = np.array([3.0, -4.0])
    reasons = []

    def f(x):
        return 0.01 * float(np.sum((x - target) ** 2)), 0.02 * (x - target)

    for tol in (1e-1, 1e-2, 1e-3):
        result = projected_gradient(f, lambda x: np.maximum(x, 0), np.array([50.0, 50.0]), tol=tol)
        reasons.append(result.reason)
        if result.reason == "gradient below tol":
            assert result.x[1] == 0  # the normal vector cancels the second entry
            assert abs(f(result.x)[1][0]) <= tol
    assert "gradient below tol" in reasons


def test_matches_lbfgs_without_constraints():
    rng = np.random.default_rng(6)
    A = rng.normal(size=(20, 5))
    b = rng.normal(size=20)

    def f(x):
        return float(np.sum((A @ x - b) ** 2)), 2 * A.T @ (A @ x - b)

    found = projected_gradient(f, lambda x: x, np.zeros(5), tol=1e-9, max_iter=1000)
    np.testing.assert_allclose(found.x, LBFGS().minimise(f, np.zeros(5), tol=1e-9).x, atol=1e-4)


@pytest.mark.parametrize("start", [0.0, 1.0])
def test_solver_stops_if_no_step_is_accepted(start):
    result = projected_gradient(
        lambda x: (float(x[0]), -np.ones(1)), lambda x: x, np.array([start])
    )
    assert (result.n_iter, result.converged) == (0, False)
    assert result.reason == "the step size became too small"


def test_momentum_stays_in_the_domain():
    """The objective is NaN outside of the set, where momentum would lead."""
    points = []

    def f(x):
        points.append(x)
        value = 50 * (x[0] - 1) ** 2 + x[1] if x[1] >= 0 else np.nan
        return float(value), np.array([100 * (x[0] - 1), 1.0]) * (value - value + 1)

    def project(x):
        assert np.isfinite(x).all()
        return np.maximum(x, 0)

    result = projected_gradient(f, project, np.array([2.0, 1.0]), max_iter=500)
    assert np.min(points) >= 0
    assert result.converged
    np.testing.assert_allclose(result.x, [1, 0], atol=1e-3)


@with_and_without_momentum
@pytest.mark.parametrize("offset", [1.0, 1e6])
def test_rounding_errors_count_as_convergence(accelerated, offset):
    """With tol=0, the solver continues until any decrease is below rounding."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        A = rng.normal(size=(6, 4))

        def f(x, A=A):  # the optimum is at x = 0, so small steps are not lost to rounding
            return offset + float(np.sum((A @ x) ** 2)), 2 * A.T @ (A @ x)

        result = projected_gradient(
            f, lambda x: x, np.ones(4), accelerated=accelerated, tol=0.0, max_iter=10**4
        )
        assert result.converged, result.reason
        assert np.abs(result.x).max() < 1e-3


@pytest.mark.parametrize("tol", [1e-2, 1e-3, 1e-4, 1e-5])
def test_small_decrease_with_momentum_is_not_convergence(tol):
    """When the solver stops, a step without momentum does not lower the objective either."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        A, w = symmetric(rng, 4), 10 ** rng.uniform(0, 1.5, size=4)
        f = weighted_distance(A, np.outer(w, w))
        result = projected_gradient(f, to_cone(4), np.eye(4).ravel(), tol=tol, max_iter=10**4)
        assert result.reason == "objective no longer decreases"
        small = tol * max(1.0, result.value) / 10
        value, gradient = f(result.x)
        step = 1 / np.max(w) ** 2
        assert value - f(to_cone(4)(result.x - step * gradient))[0] <= small
        assert np.sum(-np.diff(result.history) <= small) <= 4


def test_error_for_a_function_without_a_projection():
    with pytest.raises(
        TypeError, match=r"ProjectedGradient needs a function with a method project\(x\), but got"
    ):
        ProjectedGradient().minimise(lambda x: (float(x @ x), 2 * x), np.ones(2))
