"""Tests of gradient descent: learning rates and failures."""

import numpy as np
import pytest
from scipy.optimize import rosen, rosen_der
from solving import gradient_descent


def rosenbrock(x):
    return rosen(x), rosen_der(x)


def quadratic(curvatures):
    curvatures = np.asarray(curvatures, dtype=float)
    return lambda x: (0.5 * float(curvatures @ x**2), curvatures * x)


class Recorded:
    """An objective that records the points at which it is evaluated."""

    def __init__(self, objective):
        self.objective, self.points = objective, []

    def __call__(self, x):
        self.points.append(x.copy())
        return self.objective(x)


def test_constant_rate_accepts_every_step():
    x, f = np.array([1.0, -2.0, 0.5, 1.5]), rosenbrock
    result = gradient_descent(f, x, learning_rate="constant", eta0=1e-3, max_iter=20)
    values = [rosen(x)]
    for _ in range(20):
        x = x - 1e-3 * rosen_der(x)
        values.append(rosen(x))
    np.testing.assert_array_equal(result.history, values)
    np.testing.assert_array_equal(result.x, x)


@pytest.mark.parametrize("eta0", [None, 1e-6, 1.0, 1e6])
@pytest.mark.parametrize("f", [rosenbrock, quadratic([1, 1e2, 1e4, 1e4])])
def test_values_decrease_strictly_with_an_adaptive_rate(f, eta0):
    result = gradient_descent(
        f, np.array([1.2, -1.0, 0.5, 2.0]), eta0=eta0, max_iter=200, tol=1e-12
    )
    assert (np.diff(result.history) < 0).all()
    assert result.n_iter == 200
    assert result.value == result.history[-1] == f(result.x)[0]


def test_adaptive_rate_increases_and_decreases():
    """The function decreases linearly up to x = 9, and is NaN beyond."""
    wall = Recorded(lambda x: (-float(x[0]), -np.ones(1)) if x[0] < 9 else (np.nan, np.ones(1)))
    gradient_descent(wall, np.zeros(1), eta0=1.0, increase=2.0, decrease=0.25, max_iter=4)
    # The rates are 1, 2 and 4. Then 8 and 2 are rejected, and 0.5 is accepted.
    assert [float(x[0]) for x in wall.points] == [0, 1, 3, 7, 15, 9, 7.5]


def test_rejected_steps_are_not_iterations():
    f = Recorded(quadratic([1.0, 1.0]))
    result = gradient_descent(f, np.ones(2), eta0=2.0**20, max_iter=1)
    assert len(f.points) > 15
    assert (result.n_iter, len(result.history)) == (1, 2)


@pytest.mark.parametrize("rate", ["constant", "adaptive"])
@pytest.mark.parametrize(("height", "unit"), [(1e-8, 1.0), (1e8, 1.0), (1.0, 1e-6), (1.0, 1e6)])
def test_default_rate_does_not_depend_on_units(rate, height, unit):
    x0 = np.array([1.2, -1.0, 0.5, 2.0])

    def rescaled(x):
        return height * rosen(x / unit), height / unit * rosen_der(x / unit)

    expected = gradient_descent(rosenbrock, x0, learning_rate=rate, tol=0.0, max_iter=20)
    found = gradient_descent(rescaled, x0 * unit, learning_rate=rate, tol=0.0, max_iter=20)
    np.testing.assert_allclose(found.x / unit, expected.x, rtol=1e-6)
    assert expected.value < 0.5 * expected.history[0]


@pytest.mark.parametrize("x0", [np.zeros(2), np.ones(2)])
@pytest.mark.parametrize("curvature", [1e-12, 1e-3, 1.0, 1e9])
def test_default_rate_is_the_inverse_curvature(x0, curvature):
    f = Recorded(lambda x: quadratic([curvature] * 2)(x - 1e3))
    gradient_descent(f, x0, learning_rate="constant", max_iter=1, tol=0.0)
    step = np.linalg.norm(f.points[-1] - x0) / np.linalg.norm(f(x0)[1])
    assert 0.5 <= step * curvature <= 1


def test_objective_without_a_lower_bound():
    result = gradient_descent(lambda x: (-float(x[0]), -np.ones(1)), np.ones(1), max_iter=5)
    assert result.reason == "max_iter=5 reached"
    assert np.isfinite(result.x).all()


@pytest.mark.parametrize("eta0", [1.0, 1e300])
def test_large_constant_rate_diverges(eta0):
    result = gradient_descent(quadratic([1, 3]), np.ones(2), learning_rate="constant", eta0=eta0)
    assert result.reason.startswith("diverged: the objective rose from ")
    assert not result.converged
    assert result.n_iter < 20
    assert result.value == min(result.history) == quadratic([1, 3])(result.x)[0]


def test_plateau_above_the_start_is_not_an_optimum():
    def well(x):
        return -float(np.exp(-(x[0] ** 2))), 2 * x * np.exp(-(x**2))

    result = gradient_descent(well, np.ones(1), learning_rate="constant", eta0=100.0)
    assert not result.converged
    assert result.reason == "stalled at -0, above the initial objective"
    assert result.x == 1


def test_crossing_a_valley_is_not_convergence():
    """Steps from one side to the other at the same height do not change the objective."""
    f = quadratic([1.0])
    result = gradient_descent(f, np.ones(1), learning_rate="constant", eta0=2 - 1e-9, max_iter=30)
    assert result.reason == "max_iter=30 reached"
    adaptive = gradient_descent(f, np.ones(1), eta0=2 - 1e-9, max_iter=1000)
    assert adaptive.converged
    assert adaptive.value < 1e-5


def test_solver_stops_if_no_rate_is_accepted():
    for start in (0.0, 1.0):
        f = Recorded(lambda x: (float(x[0]), -np.ones(1)))
        result = gradient_descent(f, np.array([start]), eta0=1.0)
        assert len(f.points) < 150
        assert (result.n_iter, result.converged) == (0, False)
        assert result.reason == "the step size became too small"
