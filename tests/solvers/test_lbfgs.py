"""L-BFGS reaches optima, and says why it stops."""

import numpy as np
import pytest
from scipy.optimize import rosen, rosen_der
from sklearn.exceptions import ConvergenceWarning

from dimetric.solvers import LBFGS


def rosenbrock(x):
    return rosen(x), rosen_der(x)


def test_optimum_history_and_reason():
    result = LBFGS().minimise(rosenbrock, np.zeros(4), tol=1e-12, max_iter=500)
    np.testing.assert_allclose(result.x, 1, atol=1e-5)
    assert result.converged
    assert result.n_iter == len(result.history) - 1 > 5
    assert result.history[0] == rosen(np.zeros(4))
    assert result.history[-1] == result.value
    assert (np.diff(result.history) <= 0).all()


def test_a_stationary_start():
    result = LBFGS().minimise(lambda x: (float(x @ x), 2 * x), np.zeros(3))
    assert (result.n_iter, result.converged, result.reason) == (0, True, "gradient below tol")


def test_out_of_iterations_warns_with_a_remedy():
    result = LBFGS().minimise(rosenbrock, np.zeros(4), max_iter=2)
    assert not result.converged
    with pytest.warns(ConvergenceWarning, match=r"Toy did not converge: max_iter=2 .* Do this\."):
        result.warn_unless_converged("Toy", "Do this.")
