"""Tests of LMNN's objective with a metric for each class: a loop and finite differences."""

import numpy as np
import pytest
from estimators import host, samples
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import check_grad

from dimetric.objectives.margins import multi_metric as module
from dimetric.objectives.margins.multi_metric import MultiMetricMargins

X, y = samples(n=30)
ORDER = np.argsort(y, kind="stable")
MAPS = np.random.default_rng(0).normal(size=(3, 4, 4)) / 3


def naive(X, codes, targets, maps, mu, weights=None, sample_weights=None):
    weights = np.ones(targets.shape) if weights is None else weights
    w = np.ones(len(X)) if sample_weights is None else sample_weights

    def d2(i, j):
        return float(np.sum((maps[codes[j]] @ (X[i] - X[j])) ** 2))

    total = 0.0
    for i in range(len(X)):
        for j, weight in zip(targets[i], weights[i], strict=True):
            total += w[i] * weight * (1 - mu) * d2(i, j)
            for l in range(len(X)):
                if codes[l] != codes[i]:
                    total += w[i] * w[l] * weight * mu * max(0.0, 1 + d2(i, j) - d2(i, l))
    return total / len(X)


@pytest.mark.parametrize("fraction", [0.0, 1.1])
def test_objective_matches_a_naive_loop(namespace, fraction, monkeypatch):
    monkeypatch.setattr(module, "SPARSE_FRACTION", fraction)
    Z = X[ORDER] - X.mean(axis=0)
    objective = MultiMetricMargins(namespace.asarray(Z), y[ORDER], 2, 0.3)
    targets = host(objective._targets)
    assert_array_equal(y[ORDER][targets], y[ORDER][:, None].repeat(2, axis=1))
    value, grad = objective.evaluate(MAPS, 0.0)
    assert_allclose(value, naive(Z, y[ORDER], targets, MAPS, 0.3))
    assert grad.shape == MAPS.shape


def test_sample_weights(namespace, rng):
    Z, codes = X[ORDER] - X.mean(axis=0), y[ORDER]
    w = rng.uniform(0.1, 3, size=len(Z))
    w /= w.mean()
    plain = MultiMetricMargins(namespace.asarray(Z), codes, 2, 0.3)
    objective = MultiMetricMargins(namespace.asarray(Z), codes, 2, 0.3, w)
    value = objective.evaluate(MAPS, 0.0)[0]
    assert_allclose(value, naive(Z, codes, host(plain._targets), MAPS, 0.3, sample_weights=w))
    error = check_grad(
        lambda flat: objective.evaluate(flat.reshape(MAPS.shape), 0.5)[0],
        lambda flat: objective.evaluate(flat.reshape(MAPS.shape), 0.5)[1].ravel(),
        MAPS.ravel(),
    )
    assert error < 1e-4
    constant = MultiMetricMargins(namespace.asarray(Z), codes, 2, 0.3, np.ones(len(Z)))
    assert_allclose(constant.evaluate(MAPS, 0.1)[0], plain.evaluate(MAPS, 0.1)[0])
    assert_allclose(constant.evaluate(MAPS, 0.1)[1], plain.evaluate(MAPS, 0.1)[1])


@pytest.mark.parametrize("fraction", [0.0, 1.1])
def test_tied_targets_have_weights(namespace, fraction, monkeypatch, rng):
    monkeypatch.setattr(module, "SPARSE_FRACTION", fraction)
    A, codes = rng.integers(0, 2, size=(18, 4)).astype(float), np.arange(18) // 6
    objective = MultiMetricMargins(namespace.asarray(A), codes, 2, 0.3)
    targets, weights = host(objective._targets), host(objective._target_weights)
    assert_allclose(weights.sum(axis=1), 2)
    assert_array_equal(weights > 0, targets >= 0)
    value = objective.evaluate(MAPS, 0.0)[0]
    assert_allclose(value, naive(A, codes, targets, MAPS, 0.3, weights))
    error = check_grad(
        lambda flat: objective.evaluate(flat.reshape(MAPS.shape), 0.5)[0],
        lambda flat: objective.evaluate(flat.reshape(MAPS.shape), 0.5)[1].ravel(),
        MAPS.ravel(),
    )
    assert error < 1e-4
    order = np.concatenate([6 * c + rng.permutation(6) for c in range(3)])
    permuted = MultiMetricMargins(namespace.asarray(A[order]), codes, 2, 0.3)
    assert_allclose(permuted.evaluate(MAPS, 0.0)[0], value)


@pytest.mark.parametrize("fraction", [0.0, 1.1])
@pytest.mark.parametrize("width", [0.0, 0.1, 1.0])
def test_gradient_matches_finite_differences(width, fraction, monkeypatch):
    monkeypatch.setattr(module, "SPARSE_FRACTION", fraction)
    objective = MultiMetricMargins(X[ORDER] - X.mean(axis=0), y[ORDER], 3, 0.5)
    error = check_grad(
        lambda flat: objective.evaluate(flat.reshape(MAPS.shape), width)[0],
        lambda flat: objective.evaluate(flat.reshape(MAPS.shape), width)[1].ravel(),
        MAPS.ravel(),
    )
    assert error < 1e-4


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.filterwarnings("ignore:.*samples have fewer than")
def test_sparse_and_dense_weights_agree(dtype, monkeypatch):
    codes = np.sort(np.where(np.arange(30) < 1, 7, y), kind="stable")
    codes = np.unique(codes, return_inverse=True)[1]  # one class has a single sample
    found = []
    for fraction in (0.0, 1.1):
        monkeypatch.setattr(module, "SPARSE_FRACTION", fraction)
        objective = MultiMetricMargins(X[ORDER].astype(dtype), codes, 3, 0.4)
        found.append(objective.evaluate(MAPS[[0, 1, 2, 0]], 0.5))
    tolerance = 1e-10 if dtype == "float64" else 1e-4
    assert_allclose(found[0][0], found[1][0], rtol=tolerance)
    assert_allclose(found[0][1], found[1][1], atol=tolerance * np.abs(found[0][1]).max())
