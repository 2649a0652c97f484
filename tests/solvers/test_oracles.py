"""Tests of oracles.py: values computed by hand, and optima found by Nelder-Mead."""

import numpy as np
import pytest
from oracles import (
    friends,
    is_psd,
    jeffrey_divergence,
    ldml_optimum,
    ldml_value,
    lmnn_optimum,
    lmnn_value,
    logdet_divergence,
    mcml_optimum,
    mcml_value,
    nearest_targets,
    squared_distances,
    weighted_scatter,
)
from scipy.optimize import minimize
from scipy.spatial.distance import cdist

X2, y2 = np.array([[0.0], [1.0], [3.0]]), np.array([0, 0, 1])
rng = np.random.default_rng(0)
X, y = rng.normal(size=(10, 2)) * [2.0, 0.7], np.arange(10) % 2
TARGETS = nearest_targets(X, y, 2)


def test_values_match_values_by_hand():
    """Three points on a line have squared distances 1, 9 and 4 under M = 1, and variance 14/9."""
    reg, M = 3.0 * 9 / 14, np.array([[2.0]])
    D = {(0, 1): 2.0, (0, 2): 18.0, (1, 2): 8.0}
    first = D[0, 1] + np.log(np.exp(-D[0, 1]) + np.exp(-D[0, 2]))
    second = D[0, 1] + np.log(np.exp(-D[0, 1]) + np.exp(-D[1, 2]))
    assert mcml_value(X2, y2, M, reg=reg) == pytest.approx((first + second) / 2 + 6.0)
    pairs = np.log1p(np.exp(D[0, 1] - 5)) + np.log1p(np.exp(5 - D[0, 2]))
    pairs += np.log1p(np.exp(5 - D[1, 2]))
    assert ldml_value(X2, y2, M, 5.0, reg=reg) == pytest.approx(pairs / 3 + 6.0)
    targets = nearest_targets(X2, y2, 1)
    assert targets.tolist() == [[0, 1], [1, 0]]
    small = np.array([[0.25]])  # the hinges are at 1 + 0.25 - 2.25 < 0 and 1 + 0.25 - 1
    value = lmnn_value(X2, y2, small, targets, mu=0.2, reg=reg)
    assert value == pytest.approx((0.8 * 0.5 + 0.2 * 0.25) / 3 + 0.75)


def test_distances_and_friends_match_scipy_and_values_by_hand():
    M = np.array([[2.0, 0.5], [0.5, 1.0]])
    L = np.linalg.cholesky(M).T
    np.testing.assert_allclose(squared_distances(X, M), cdist(X @ L.T, X @ L.T) ** 2, atol=1e-12)
    assert friends([0, 0, 1]).tolist() == [[False, True, False], [True, False, False], [False] * 3]


def test_divergences_match_values_by_hand():
    """The determinant of P is 3, and that of Q is 4."""
    P, Q = np.array([[2.0, 1.0], [1.0, 2.0]]), np.diag([1.0, 4.0])
    to_q, to_p = 2 + 0.5 - 2 + np.log(4 / 3), 2 / 3 + 8 / 3 - 2 + np.log(3 / 4)
    assert logdet_divergence(P, Q) == pytest.approx(to_q)
    assert jeffrey_divergence(P, Q) == pytest.approx((to_q + to_p) / 2)


def test_weighted_scatter_with_equal_weights_is_the_covariance():
    n = len(X)
    S = weighted_scatter(X, np.full((n, n), 1 / (2 * n * (n - 1))))
    np.testing.assert_allclose(S, np.cov(X.T), rtol=1e-10)


@pytest.mark.parametrize(("least", "answer"), [(0.0, True), (-1e-17, True), (-1e-12, False)])
def test_is_psd_tolerates_only_rounding_errors(least, answer):
    assert is_psd(np.diag([1.0, least])) is answer
    assert not is_psd(np.array([[1.0, 1.0], [0.0, 1.0]]))  # not symmetric


def best_over_maps(value, *extra):
    """Return the minimum over L, where M = L^T L.

    The problem is not convex in L, but it has no other local optima here.
    """

    def value_at(p):
        L = p[:4].reshape(2, 2)
        return value(L.T @ L, *p[4:])

    attempts = [
        minimize(value_at, [*start.ravel(), *extra], method="Nelder-Mead", tol=1e-9,
                 options={"maxiter": 10**4, "maxfev": 10**4})
        for start in (np.eye(2), np.array([[0.3, -0.5], [0.2, 0.9]]))
    ]  # fmt: skip
    return min(found.fun for found in attempts)


@pytest.mark.parametrize("reg", [0.0, 0.2])
def test_mcml_optimum_matches_nelder_mead(reg):
    M, value = mcml_optimum(X, y, reg=reg)
    assert value == pytest.approx(mcml_value(X, y, M, reg=reg), abs=1e-12)
    assert value == pytest.approx(best_over_maps(lambda M: mcml_value(X, y, M, reg=reg)), abs=1e-6)


@pytest.mark.parametrize("reg", [0.0, 0.2])
def test_ldml_optimum_matches_nelder_mead(reg):
    M, b, value = ldml_optimum(X, y, reg=reg)
    assert value == pytest.approx(ldml_value(X, y, M, b, reg=reg), abs=1e-12)
    other = best_over_maps(lambda M, b: ldml_value(X, y, M, b, reg=reg), 1.0)
    assert value == pytest.approx(other, abs=1e-6)
    optimum = ldml_optimum(X, y, b=3.0, reg=reg)
    assert optimum[1] == 3
    other = best_over_maps(lambda M: ldml_value(X, y, M, 3.0, reg=reg))
    assert optimum[2] == pytest.approx(other, abs=1e-6)


@pytest.mark.parametrize("reg", [0.0, 0.2])
@pytest.mark.parametrize("mu", [0.3, 0.5])
def test_lmnn_optimum_matches_nelder_mead(mu, reg):
    M, value = lmnn_optimum(X, y, TARGETS, mu=mu, reg=reg)
    assert value == pytest.approx(lmnn_value(X, y, M, TARGETS, mu=mu, reg=reg), abs=1e-12)
    other = best_over_maps(lambda M: lmnn_value(X, y, M, TARGETS, mu=mu, reg=reg))
    assert value == pytest.approx(other, abs=1e-6)
