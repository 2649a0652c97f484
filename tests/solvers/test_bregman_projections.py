"""Tests of cyclic Bregman projections: optimum of one constraint, dual gap, stopping."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from dimetric.solvers import BregmanProjections
from dimetric.solvers.bregman_projections import BoundedDivergence
from dimetric.solvers.result import GAP_BELOW_TOL


def minimise(V, *args, **keywords):
    """Minimise a BoundedDivergence with differences V and other arguments `args`."""
    start = np.eye(V.shape[1]).ravel()
    return BregmanProjections().minimise(BoundedDivergence(V, *args), start, **keywords)


def test_value_and_gradient_match_the_definition(rng):
    V, B, similar = rng.normal(size=(20, 3)), rng.normal(size=(3, 3)), np.arange(20) < 10
    function = BoundedDivergence(V, similar, np.where(similar, 0.5, 20.0), 0.7)
    M = B @ B.T + np.eye(3)
    value, gradient = function(M.ravel())
    squares = [v @ M @ v for v in V]
    violated = [(q, b) for q, s, b in zip(squares, similar, function.bounds, strict=True)
           if (q > b if s else q < b)]  # fmt: skip
    penalty = sum(q / b - np.log(q / b) - 1 for q, b in violated)
    divergence = np.trace(M) - np.log(np.linalg.det(M)) - 3
    assert value == pytest.approx(divergence + 0.7 * penalty)
    for step in rng.normal(size=(5, 9)):
        slope = (function(M.ravel() + 1e-6 * step)[0] - function(M.ravel() - 1e-6 * step)[0]) / 2e-6
        assert slope == pytest.approx(gradient @ step, rel=1e-6)


def test_error_for_another_start_or_function():
    function = BoundedDivergence(np.eye(2), np.array([True, False]), np.array([0.5, 4.0]), 1.0)
    with pytest.raises(ValueError, match="x0 must be the flattened identity"):
        BregmanProjections().minimise(function, 2 * np.eye(2).ravel())
    with pytest.raises(TypeError, match="BregmanProjections needs a BoundedDivergence, but got"):
        BregmanProjections().minimise(lambda x: (0.0, x), np.eye(2).ravel())


@pytest.mark.parametrize("gamma", [0.1, 1.0, 10.0])
@pytest.mark.parametrize(("is_similar", "bound"), [(True, 0.5), (False, 4.0)])
def test_one_constraint_changes_only_its_direction(is_similar, bound, gamma, rng):
    v = rng.normal(size=3)
    v /= np.linalg.norm(v)
    args = v[None], np.array([is_similar]), np.array([bound]), gamma

    def along(t):
        return BoundedDivergence(*args)((np.eye(3) + (t - 1) * np.outer(v, v)).ravel())[0]

    best = minimize_scalar(along, bounds=(1e-3, 10), method="bounded", options={"xatol": 1e-10})
    result = minimise(*args, tol=1e-10)
    assert result.reason == GAP_BELOW_TOL
    assert result.converged
    M = result.x.reshape(3, 3)
    np.testing.assert_allclose(M, np.eye(3) + (best.x - 1) * np.outer(v, v), atol=1e-4)
    assert result.value == pytest.approx(best.fun, abs=1e-8)
    assert result.gap <= 1e-8


def test_stops_at_max_iter_with_the_best_metric(rng):
    V, similar = rng.normal(size=(60, 3)), np.arange(60) < 30
    bounds = np.where(similar, 0.1, 9.0)
    result = minimise(V, similar, bounds, 1.0, max_iter=3, tol=1e-12)
    assert result.reason == "max_iter=3 reached"
    assert not result.converged
    assert result.n_iter == 3
    assert result.value == min(result.history)
    exact = minimise(V, similar, bounds, 1.0, max_iter=5000, tol=1e-9)
    assert 0 < result.value - exact.value <= result.gap


def test_best_metric_is_returned_if_a_sweep_raises_the_value(rng):
    V, similar = rng.normal(size=(40, 4)), np.arange(40) < 20
    args = V, similar, np.where(similar, 0.5, 9.0), 1.0
    result = minimise(*args, max_iter=1)
    assert result.history[1] > result.history[0]
    assert result.value == BoundedDivergence(*args)(result.x)[0] == result.history[0]


def test_identity_is_returned_if_no_bound_is_violated(rng):
    V = rng.normal(size=(5, 3))
    result = minimise(V, np.ones(5, bool), np.full(5, 1e3), 1.0)
    np.testing.assert_array_equal(result.x, np.eye(3).ravel())
    assert (result.n_iter, result.gap) == (0, 0)


def test_callback_stops_the_solver():
    V, similar = np.eye(2), np.array([True, False])
    bounds = np.array([0.5, 4.0])
    result = minimise(V, similar, bounds, 1.0, callback=lambda *_: True, tol=0.0)
    assert result.reason == "stopped by a callback"
    assert result.n_iter == 1
