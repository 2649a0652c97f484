"""Tests of the Frank-Wolfe method over metrics of trace 1."""

import numpy as np
import pytest

from dimetric.solvers import FrankWolfe
from dimetric.solvers.frank_wolfe import top_eigenvector
from dimetric.solvers.result import GAP_BELOW_TOL


def linear(C):
    return lambda x: (float(x @ C.ravel()), C.ravel())


def test_linear_objective_converges_to_an_eigenvector(rng):
    B = rng.normal(size=(5, 5))
    C = B + B.T
    result = FrankWolfe().minimise(linear(C), np.eye(5).ravel() / 5, max_iter=2000, tol=1e-2)
    assert result.reason == GAP_BELOW_TOL
    assert result.converged
    lowest = np.linalg.eigvalsh(C)[0]
    assert lowest - 1e-12 <= result.value <= lowest + 1e-2 * max(1, abs(result.value))


@pytest.mark.parametrize("schedule", ["smoothed", "averaging"])
def test_iterates_are_metrics_of_trace_1(schedule, rng):
    B = rng.normal(size=(4, 4))
    seen = []

    def distance(x):
        return float(np.sum((x - B.ravel()) ** 2)), 2 * (x - B.ravel())

    def callback(x, value, n_iter):
        seen.append(x.reshape(4, 4))
        assert value == distance(x)[0]
        return n_iter == 7

    solver, start = FrankWolfe(schedule=schedule), np.eye(4).ravel() / 4
    result = solver.minimise(distance, start, callback=callback)
    assert result.n_iter == len(seen) == 7
    assert result.reason == "stopped by a callback"
    for M in seen:
        assert np.trace(M) == pytest.approx(1)
        assert np.linalg.eigvalsh(M)[0] >= -1e-12
    assert result.value == min(result.history)


def test_averaging_returns_the_mean_of_start_and_vertices(rng):
    B = rng.normal(size=(3, 3))
    C = B + B.T
    v = top_eigenvector(-C)
    solver, start = FrankWolfe(schedule="averaging"), np.eye(3).ravel() / 3
    result = solver.minimise(linear(C), start, max_iter=3, tol=0.0)
    mean = (np.eye(3) / 3 + 3 * np.outer(v, v)) / 4
    np.testing.assert_allclose(result.x.reshape(3, 3), mean, atol=1e-12)


@pytest.mark.parametrize("d", [1, 2, 49, 50, 120])
def test_top_eigenvector_has_the_largest_eigenvalue(d, rng):
    B = rng.normal(size=(d, d))
    S = B + B.T
    v = top_eigenvector(S)
    assert np.linalg.norm(v) == pytest.approx(1)
    assert v @ S @ v == pytest.approx(np.linalg.eigvalsh(S)[-1])


def test_error_for_an_unknown_schedule():
    with pytest.raises(ValueError, match="'schedule' parameter of FrankWolfe must be a str among"):
        FrankWolfe(schedule="fast").minimise(linear(np.eye(2)), np.eye(2).ravel() / 2)
