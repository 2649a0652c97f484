"""Tests of the stopping criteria and reasons that all solvers share."""

from functools import partial

import numpy as np
import pytest
from scipy.optimize import rosen, rosen_der
from solving import gradient_descent, projected_gradient, sgd

from dimetric.solvers import LBFGS


def identity(x):
    return x


def sgd_with_one_batch(objective, x0, **kwargs):
    return sgd(lambda k: [objective], x0, **kwargs)


SOLVERS = {
    "lbfgs": LBFGS().minimise,
    "bgd": gradient_descent,
    "bgd constant": partial(gradient_descent, learning_rate="constant"),
    "sgd": sgd_with_one_batch,
    "sgd constant": partial(sgd_with_one_batch, learning_rate="constant"),
    "fista": lambda f, x0, **kwargs: projected_gradient(f, identity, x0, **kwargs),
    "plain": lambda f, x0, **kwargs: projected_gradient(
        f, identity, x0, accelerated=False, **kwargs
    ),
}
each_solver = pytest.mark.parametrize("solve", SOLVERS.values(), ids=SOLVERS.keys())


def rosenbrock(x):
    return rosen(x), rosen_der(x)


def quadratic(x):
    return float(np.array([1.0, 3.0, 5.0]) @ (x - 1) ** 2), 2 * np.array([1.0, 3.0, 5.0]) * (x - 1)


@each_solver
def test_solver_reaches_the_optimum(solve):
    result = solve(quadratic, np.zeros(3), tol=1e-9, max_iter=1000)
    np.testing.assert_allclose(result.x, 1, atol=1e-4)
    assert result.converged
    assert result.n_iter == len(result.history) - 1 > 1
    assert result.history[0] == 9
    assert result.value == min(result.history)


@each_solver
def test_stops_if_the_gradient_is_below_tol(solve):
    def wide(x):
        return 0.005 * float(x @ x), 0.01 * x

    result = solve(wide, np.array([100.0, 20.0]), tol=0.1)
    assert (result.reason, result.converged) == ("gradient below tol", True)
    assert result.n_iter > 0
    assert np.abs(result.x).max() <= 10
    at_start = solve(wide, np.full(2, 9.0), tol=0.1)
    assert (at_start.reason, at_start.n_iter) == ("gradient below tol", 0)


@each_solver
def test_stops_if_the_objective_no_longer_decreases(solve):
    """The gradient is not small, but any decrease is far below tol times the value."""

    def high(x):
        return 1e9 + quadratic(x)[0], quadratic(x)[1]

    result = solve(high, np.zeros(3), tol=1e-6, max_iter=1000)
    assert result.reason == "objective no longer decreases"
    assert result.converged


@each_solver
def test_stops_at_max_iter(solve):
    result = solve(rosenbrock, np.zeros(4), max_iter=2)
    assert (result.n_iter, result.converged) == (2, False)
    assert result.reason == "max_iter=2 reached"


@each_solver
def test_stops_near_the_infimum(solve):
    def unattained(x):
        return 4e-3 * float(np.exp(-x[0])), -4e-3 * np.exp(-x)

    for start in (0.0, 60.0):
        result = solve(unattained, np.array([start]), infimum=0.0, tol=1e-3)
        assert result.reason == "within tol of the infimum"
        assert result.converged
        assert np.isfinite(result.x).all()


@each_solver
def test_large_tol_does_not_count_as_near_the_infimum(solve):
    result = solve(lambda x: (float(x @ x), 2 * x), np.full(1, 0.3), infimum=-0.1, tol=0.5)
    assert result.reason != "within tol of the infimum"


@each_solver
def test_callback_gets_iterates_and_stops_the_solver(solve):
    seen = []

    def stop_at_third(x, value, n_iter):
        seen.append((x.copy(), value, n_iter))
        return n_iter == 3

    result = solve(rosenbrock, np.zeros(4), callback=stop_at_third)
    assert result.n_iter == 3
    assert [n_iter for _, _, n_iter in seen] == [1, 2, 3]
    assert (result.reason, result.converged) == ("stopped by a callback", False)
    assert [value for _, value, _ in seen] == list(result.history[1:])
    np.testing.assert_array_equal(seen[-1][0], result.x)
    assert rosen(result.x) == result.value


@each_solver
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_error_for_a_start_without_a_finite_value(solve, value):
    with pytest.raises(
        ValueError, match=r"at the starting point.* smaller init or reg, or scale X"
    ):
        solve(lambda x: (value, np.ones(1)), np.ones(1))


@pytest.mark.parametrize("name", [name for name in SOLVERS if name != "lbfgs"])
def test_nan_gradient_returns_the_start(name):
    """L-BFGS raises a ValueError instead, because SciPy's line search moves to NaN."""
    solve = SOLVERS[name]
    result = solve(lambda x: (float(x[0]), np.full(1, np.nan)), np.ones(1))
    assert not result.converged
    np.testing.assert_array_equal(result.x, 1)


@each_solver
def test_start_is_not_modified(solve):
    x0 = np.zeros(3)
    result = solve(quadratic, x0, max_iter=3)
    assert not x0.any()
    assert result.x is not x0
