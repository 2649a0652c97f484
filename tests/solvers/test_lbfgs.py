"""L-BFGS reaches optima, and says why it stops."""

import numpy as np
import pytest
from scipy.optimize import rosen, rosen_der
from sklearn.exceptions import ConvergenceWarning

from dimetric.solvers.lbfgs import SEPARABLE, lbfgs


def rosenbrock(x):
    return rosen(x), rosen_der(x)


def test_optimum_history_and_reason():
    result = lbfgs(rosenbrock, np.zeros(4), tol=1e-12, max_iter=500)
    np.testing.assert_allclose(result.x, 1, atol=1e-5)
    assert result.converged
    assert result.n_iter == len(result.history) - 1 > 5
    assert result.history[0] == rosen(np.zeros(4))
    assert result.history[-1] == result.value
    assert (np.diff(result.history) <= 0).all()


def test_a_stationary_start():
    result = lbfgs(lambda x: (float(x @ x), 2 * x), np.zeros(3))
    assert (result.n_iter, result.converged, result.reason) == (0, True, "gradient below tol")


def test_out_of_iterations_warns_with_a_remedy():
    result = lbfgs(rosenbrock, np.zeros(4), max_iter=2)
    assert not result.converged
    with pytest.warns(ConvergenceWarning, match=r"Toy did not converge: max_iter=2 .* Do this\."):
        result.warn_unless_converged("Toy", "Do this.")


def test_a_callback_stops_where_it_says_so():
    seen = []

    def stop_at_third(x, value, n_iter):
        seen.append((value, n_iter))
        return n_iter == 3

    result = lbfgs(rosenbrock, np.zeros(4), callback=stop_at_third)
    assert result.n_iter == 3
    assert result.reason == "stopped by a callback"
    assert seen[-1] == (result.value, 3)
    assert rosen(result.x) == result.value


@pytest.mark.parametrize("start", [0.0, 60.0])
def test_an_infimum_that_is_not_attained(start):
    def falls_forever(x):
        return float(np.exp(-x[0])), -np.exp(-x)

    result = lbfgs(falls_forever, np.array([start]), infimum=0.0, tol=1e-6)
    assert result.reason == SEPARABLE
    assert result.converged
    assert np.isfinite(result.x).all()
