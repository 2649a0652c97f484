"""Tests of L-BFGS: optimum, history, reasons to stop."""

import numpy as np
import pytest
from scipy.optimize import rosen, rosen_der
from sklearn.exceptions import ConvergenceWarning

from dimetric.solvers import LBFGS


def rosenbrock(x):
    return rosen(x), rosen_der(x)


def test_reaches_the_optimum_and_records_the_history():
    result = LBFGS().minimise(rosenbrock, np.zeros(4), tol=1e-12, max_iter=500)
    np.testing.assert_allclose(result.x, 1, atol=1e-5)
    assert result.converged
    assert result.n_iter == len(result.history) - 1 > 5
    assert result.history[0] == rosen(np.zeros(4))
    assert result.history[-1] == result.value
    assert (np.diff(result.history) <= 0).all()


def test_stops_at_a_stationary_start():
    result = LBFGS().minimise(lambda x: (float(x @ x), 2 * x), np.zeros(3))
    assert (result.n_iter, result.converged, result.reason) == (0, True, "gradient below tol")


def test_warning_states_reason_and_remedy():
    result = LBFGS().minimise(rosenbrock, np.zeros(4), max_iter=2)
    assert not result.converged
    with pytest.warns(ConvergenceWarning, match=r"Toy did not converge: max_iter=2 .* Do this\."):
        result.warn_unless_converged("Toy", "Do this.")


class Approximated:
    """A convex function with an approximation, which count their evaluations."""

    def __init__(self, error):
        self.error, self.n_exact, self.n_approximate = error, 0, 0

    def __call__(self, x):
        self.n_exact += 1
        return float(np.sum(np.cosh(x - 1))), np.sinh(x - 1)

    def approximation(self, x):
        self.n_approximate += 1
        value, gradient = float(np.sum(np.cosh(x - 1))), np.sinh(x - 1)
        return value * (1 + self.error * np.sin(1e6 * x[0])), gradient


def test_approximation_replaces_most_evaluations():
    function = Approximated(1e-9)
    x0 = np.linspace(-2, 2, 7)
    result = LBFGS().minimise(function, x0, tol=1e-5)
    assert function.n_exact <= 3 < function.n_approximate
    assert result.converged
    assert result.value == Approximated(0)(result.x)[0] == result.history[-1]
    np.testing.assert_allclose(result.value, 7, rtol=1e-6)


def test_function_is_used_when_the_decrease_is_small():
    function = Approximated(1e-9)
    result = LBFGS().minimise(function, np.linspace(-2, 2, 7), tol=1e-12)
    assert function.n_exact > 1
    np.testing.assert_allclose(result.x, 1, atol=1e-6)


def test_poor_approximation_does_not_prevent_convergence():
    function = Approximated(0.3)
    result = LBFGS().minimise(function, np.linspace(-2, 2, 7), tol=1e-6)
    assert result.converged
    np.testing.assert_allclose(result.value, 7, rtol=1e-6)


def test_infimum_is_confirmed_by_the_function():
    class Shifted(Approximated):
        def approximation(self, x):
            value, gradient = super().approximation(x)
            return value - 0.1, gradient

    result = LBFGS().minimise(Shifted(0.0), np.full(3, 4.0), tol=1e-3, infimum=3 - 0.05)
    assert result.reason != "within tol of the infimum"
    assert result.value == Approximated(0)(result.x)[0] > 3 - 0.05
