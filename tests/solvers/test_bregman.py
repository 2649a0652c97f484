"""Cyclic Bregman projections: one constraint in closed form, the dual, and how they stop."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from dimetric.solvers.bregman import bregman_projections, primal_value
from dimetric.solvers.result import GAP_CLOSED


@pytest.mark.parametrize("gamma", [0.1, 1.0, 10.0])
@pytest.mark.parametrize(("is_similar", "bound"), [(True, 0.5), (False, 4.0)])
def test_one_constraint_changes_one_direction(is_similar, bound, gamma, rng):
    v = rng.normal(size=3)
    v /= np.linalg.norm(v)
    args = v[None], np.array([is_similar]), np.array([bound]), gamma

    def along(t):
        return primal_value(np.eye(3) + (t - 1) * np.outer(v, v), *args)

    best = minimize_scalar(along, bounds=(1e-3, 10), method="bounded", options={"xatol": 1e-10})
    result, gap = bregman_projections(*args, tol=1e-10)
    assert result.reason == GAP_CLOSED
    assert result.converged
    M = result.x.reshape(3, 3)
    np.testing.assert_allclose(M, np.eye(3) + (best.x - 1) * np.outer(v, v), atol=1e-4)
    assert result.value == pytest.approx(best.fun, abs=1e-8)
    assert gap <= 1e-8


def test_stops_at_max_iter_with_the_best_metric(rng):
    V, similar = rng.normal(size=(60, 3)), np.arange(60) < 30
    bounds = np.where(similar, 0.1, 9.0)
    result, gap = bregman_projections(V, similar, bounds, 1.0, max_iter=3, tol=1e-12)
    assert result.reason == "max_iter=3 reached"
    assert not result.converged
    assert result.n_iter == 3
    assert result.value == min(result.history)
    exact, _ = bregman_projections(V, similar, bounds, 1.0, max_iter=5000, tol=1e-9)
    assert 0 < result.value - exact.value <= gap


def test_met_bounds_leave_the_identity(rng):
    V = rng.normal(size=(5, 3))
    result, gap = bregman_projections(V, np.ones(5, bool), np.full(5, 1e3), 1.0)
    np.testing.assert_array_equal(result.x, np.eye(3).ravel())
    assert (result.n_iter, gap) == (0, 0)


def test_a_callback_stops():
    V, similar = np.eye(2), np.array([True, False])
    bounds = np.array([0.5, 4.0])
    result, _ = bregman_projections(V, similar, bounds, 1.0, callback=lambda *_: True, tol=0.0)
    assert result.reason == "stopped by a callback"
    assert result.n_iter == 1
