"""All solvers stop for the same reasons, and say so in the same words."""

from functools import partial

import numpy as np
import pytest
from scipy.optimize import rosen, rosen_der
from solving import gradient_descent, projected_gradient, sgd

from dimetric.solvers import LBFGS


def anywhere(x):
    return x


def sgd_of_one_batch(objective, x0, **kwargs):
    return sgd(lambda k: [objective], x0, **kwargs)


SOLVERS = {
    "lbfgs": LBFGS().minimise,
    "bgd": gradient_descent,
    "bgd constant": partial(gradient_descent, learning_rate="constant"),
    "sgd": sgd_of_one_batch,
    "sgd constant": partial(sgd_of_one_batch, learning_rate="constant"),
    "fista": lambda f, x0, **kwargs: projected_gradient(f, anywhere, x0, **kwargs),
    "plain": lambda f, x0, **kwargs: projected_gradient(
        f, anywhere, x0, accelerated=False, **kwargs
    ),
}
each_solver = pytest.mark.parametrize("solve", SOLVERS.values(), ids=SOLVERS.keys())


def rosenbrock(x):
    return rosen(x), rosen_der(x)


def bowl(x):
    return float(np.array([1.0, 3.0, 5.0]) @ (x - 1) ** 2), 2 * np.array([1.0, 3.0, 5.0]) * (x - 1)


@each_solver
def test_optimum(solve):
    result = solve(bowl, np.zeros(3), tol=1e-9, max_iter=1000)
    np.testing.assert_allclose(result.x, 1, atol=1e-4)
    assert result.converged
    assert result.n_iter == len(result.history) - 1 > 1
    assert result.history[0] == 9
    assert result.value == min(result.history)


@each_solver
def test_gradient_below_tol(solve):
    def wide(x):
        return 0.005 * float(x @ x), 0.01 * x

    result = solve(wide, np.array([100.0, 20.0]), tol=0.1)
    assert (result.reason, result.converged) == ("gradient below tol", True)
    assert result.n_iter > 0
    assert np.abs(result.x).max() <= 10
    at_once = solve(wide, np.full(2, 9.0), tol=0.1)
    assert (at_once.reason, at_once.n_iter) == ("gradient below tol", 0)


@each_solver
def test_objective_no_longer_decreases(solve):
    """Far below tol of its size, but with a gradient that is not small."""

    def high(x):
        return 1e9 + bowl(x)[0], bowl(x)[1]

    result = solve(high, np.zeros(3), tol=1e-6, max_iter=1000)
    assert result.reason == "objective no longer decreases"
    assert result.converged


@each_solver
def test_max_iter(solve):
    result = solve(rosenbrock, np.zeros(4), max_iter=2)
    assert (result.n_iter, result.converged) == (2, False)
    assert result.reason == "max_iter=2 reached"


@each_solver
def test_infimum(solve):
    def falls_forever(x):
        return 4e-3 * float(np.exp(-x[0])), -4e-3 * np.exp(-x)

    for start in (0.0, 60.0):
        result = solve(falls_forever, np.array([start]), infimum=0.0, tol=1e-3)
        assert result.reason == "within tol of the infimum"
        assert result.converged
        assert np.isfinite(result.x).all()


@each_solver
def test_a_large_tolerance_says_nothing_of_the_infimum(solve):
    result = solve(lambda x: (float(x @ x), 2 * x), np.full(1, 0.3), infimum=-0.1, tol=0.5)
    assert result.reason != "within tol of the infimum"


@each_solver
def test_callback(solve):
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
def test_no_finite_start(solve, value):
    with pytest.raises(
        ValueError, match=r"at the starting point.* smaller init or reg, or scale X"
    ):
        solve(lambda x: (value, np.ones(1)), np.ones(1))


@pytest.mark.parametrize("name", [name for name in SOLVERS if name != "lbfgs"])
def test_a_gradient_that_is_not_a_number(name):
    """Not for L-BFGS: SciPy's line search goes there, and a ValueError says so."""
    solve = SOLVERS[name]
    result = solve(lambda x: (float(x[0]), np.full(1, np.nan)), np.ones(1))
    assert not result.converged
    np.testing.assert_array_equal(result.x, 1)


@each_solver
def test_the_start_is_left_as_it_is(solve):
    x0 = np.zeros(3)
    result = solve(bowl, x0, max_iter=3)
    assert not x0.any()
    assert result.x is not x0
