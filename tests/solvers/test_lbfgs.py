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
