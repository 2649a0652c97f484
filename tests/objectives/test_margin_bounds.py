"""Tests of lower bounds of LMNN's objective: the optimum of a convex solver as reference."""

import numpy as np
import oracles
import pytest
from numpy.testing import assert_allclose

from dimetric.linalg.psd import metric_of
from dimetric.objectives.margins.bounds import MarginBounds
from dimetric.objectives.margins.objective import MarginObjective
from dimetric.objectives.margins.targets import nearest_targets
from dimetric.objectives.objective import on_maps
from dimetric.solvers import LBFGS


def problem(seed=0, n=30, d=3):
    rng = np.random.default_rng(seed)
    codes = np.repeat([0, 1], n // 2)
    X = rng.normal(size=(n, d)) + codes[:, None] * (np.arange(d) == 0)
    return X - X.mean(axis=0), codes, nearest_targets(X, codes, 2)[0]


def degenerate():
    """Return samples with a free direction, a redundant feature and a constant feature.

    In the free direction, samples differ from impostors but not from their targets.
    """
    X, codes, _ = problem()
    X[:, 2] = np.repeat(np.tile([0.0, 1.0, 3.0], 5), 2)
    X = np.column_stack([X, X[:, 0] - 2 * X[:, 1], np.ones(30)])
    return X, codes, (np.arange(30) ^ 1)[:, None]


PROBLEMS = {"plain": problem(), "seed": problem(1), "flat": degenerate(), "sizes": problem(2)}
PROBLEMS["sizes"][0][:] *= [1e-4, 1.0, 1e4]


def as_pairs(targets):
    return np.stack([np.repeat(np.arange(len(targets)), targets.shape[1]), targets.ravel()], axis=1)


@pytest.mark.parametrize("ridge", [0.0, 0.05])
@pytest.mark.parametrize("name", PROBLEMS)
def test_bounds_are_below_the_objective(name, ridge, rng):
    X, codes, targets = PROBLEMS[name]
    objective = MarginObjective(X, codes, targets, mu=0.4)
    f = on_maps(objective, ridge=ridge)
    bounds = MarginBounds(objective, ridge)
    spread = np.diag(1 / np.maximum(X.std(axis=0), 1e-9))
    for width in (0.05, 0.5, 3.0):
        bounds.add(rng.normal(size=(2, X.shape[1])) @ spread * rng.exponential(), width)
    for _ in range(30):
        L = rng.normal(size=(2, X.shape[1])) @ spread * rng.exponential()
        value = f(L.ravel())[0]
        for c, G in bounds._bounds:
            bound = c + np.vdot(G, metric_of(L @ bounds._E))
            assert value >= bound - 1e-9 * max(1, abs(bound))


@pytest.mark.parametrize("ridge", [0.0, 0.05])
@pytest.mark.parametrize("name", ["plain", "seed", "flat"])
def test_certified_gap_bounds_the_true_gap(name, ridge, rng):
    X, codes, targets = PROBLEMS[name]
    d = X.shape[1]
    M, best = oracles.lmnn_optimum(
        X, codes, as_pairs(targets), reg=ridge / oracles.ridge_weight(X, 1.0)
    )
    objective = MarginObjective(X, codes, targets, mu=0.5)
    f = on_maps(objective, ridge=ridge)
    values, V = np.linalg.eigh(M)
    optimal = (V * np.sqrt(values.clip(0))).T
    for noise in (1e-4, 1e-2, 1.0, 30.0):
        L = optimal + noise * rng.normal(size=(d, d))
        bounds, value = MarginBounds(objective, ridge), f(L.ravel())[0]
        bounds.add(L, 0.1)
        found = bounds.certificate(value, L)
        assert value - best - 1e-6 <= found.gap <= value * (1 + 1e-9)
        assert found.proven
        assert np.trace(M) <= found.radius


def test_gap_is_small_at_the_optimum():
    X, codes, targets = PROBLEMS["plain"]
    objective = MarginObjective(X, codes, targets, mu=0.5)
    smooth = on_maps(objective.smoothed(1e-3))
    found = LBFGS().minimise(smooth, np.eye(3).ravel(), tol=1e-9, max_iter=5000)
    L, value = found.x.reshape(3, 3), on_maps(objective)(found.x)[0]
    bounds = MarginBounds(objective, 0.0)
    bounds.add(L, 1e-3)
    assert bounds.certificate(value, L).gap < 5e-3


def test_gap_is_0_if_all_samples_are_identical():
    objective = MarginObjective(
        np.zeros((4, 2)), np.array([0, 0, 1, 1]), np.array([[1], [0], [3], [2]]), mu=0.5
    )
    bounds = MarginBounds(objective, 0.0)
    bounds.add(np.eye(2), 0.1)
    found = bounds.certificate(on_maps(objective)(np.eye(2).ravel())[0], np.eye(2))
    assert_allclose(found.gap, 0, atol=1e-12)
    assert found.proven


def test_certified_gap_bounds_the_true_gap_in_float32(rng):
    X, codes, targets = PROBLEMS["plain"]
    best = oracles.lmnn_optimum(X, codes, as_pairs(targets))[1]
    objective = MarginObjective(X.astype(np.float32), codes, targets, mu=0.5)
    for _ in range(10):
        L = rng.normal(size=(3, 3))
        bounds, value = MarginBounds(objective, 0.0), on_maps(objective)(L.ravel())[0]
        bounds.add(L, 0.1)
        assert value - best - 1e-4 <= bounds.certificate(value, L).gap


@pytest.mark.parametrize("ridge", [0.0, 0.05])
@pytest.mark.parametrize("name", ["plain", "seed", "flat", "sizes"])
def test_bound_from_the_last_gradient_of_a_solver_is_the_same(name, ridge, rng):
    X, codes, targets = PROBLEMS[name]
    objective = MarginObjective(X, codes, targets, mu=0.4)
    L = rng.normal(size=(X.shape[1], X.shape[1])) / np.maximum(X.std(axis=0), 1e-9)
    found, expected = MarginBounds(objective, ridge), MarginBounds(objective, ridge)
    smooth = objective.smoothed(0.5)
    on_maps(smooth)(L.ravel())
    found.add_last(L, 0.5, smooth)
    expected.add(L, 0.5)
    assert_allclose(found._bounds[0][0], expected._bounds[0][0])
    scale = np.abs(expected._bounds[0][1]).max()
    assert_allclose(found._bounds[0][1], expected._bounds[0][1], atol=1e-9 * scale)
