"""Tests of certificates: a certified gap is at least the true gap, and small at an optimum."""

from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest
from oracles import (
    ldml_optimum,
    lmnn_optimum,
    lmnn_value,
    mcml_optimum,
    mcml_value,
    nearest_targets,
    ridge_weight,
    squared_distances,
)
from scipy.linalg import expm
from scipy.special import softmax
from solving import projected_gradient

from dimetric.linalg.psd import project_psd
from dimetric.solvers.certificates import (
    Certificate,
    certify_by_lower_bound,
    gap_from_lower_bound,
    radius_from_linear,
    radius_from_ridge,
)


def tangent_value(G, M):
    """Return <G, M>, rounded up. This is f(M) - c for the tangent c + <G, N> at M."""
    terms = (G + G.T) / 2 * (M + M.T) / 2
    rounding = float(G.size * np.finfo(float).eps * np.sum(np.abs(terms)))
    return float(np.sum(terms)) + rounding


def gap_bound(G, M, radius):
    """Bound the gap at M by the tangent at M."""
    return gap_from_lower_bound(tangent_value(G, M), 0.0, G, radius)


def certify(G, M, radius=np.inf):
    """Certify M by the tangent at M."""
    return certify_by_lower_bound(tangent_value(G, M), 0.0, G, M, radius=radius)


def random_psd(rng, d, rank=None):
    A = rng.normal(size=(d, rank or d)) * 10 ** rng.uniform(-2, 1)
    return A @ A.T


class Quadratic:
    """A convex quadratic function of metrics with a known optimum M*.

    f(M) = |H (M - M*) H|^2 / 2 + <Z, M - M*>, where Z >= 0 and Z M* = 0.
    """

    def __init__(self, rng, d, rank):
        V = np.linalg.qr(rng.normal(size=(d, d)))[0]
        values = 10 ** rng.uniform(-1, 1, size=d)
        self.optimum = (V[:, :rank] * values[:rank]) @ V[:, :rank].T
        self.Z = (V[:, rank:] * values[rank:]) @ V[:, rank:].T
        self.H = random_psd(rng, d)
        self.H /= np.linalg.norm(self.H)

    def gap(self, M):
        R = self.H @ (M - self.optimum) @ self.H
        return 0.5 * np.sum(R * R) + np.sum(self.Z * (M - self.optimum))

    def gradient(self, M):
        H2 = self.H @ self.H
        return H2 @ (M - self.optimum) @ H2 + self.Z


@pytest.mark.parametrize("seed", range(10))
def test_bound_is_at_least_the_gap(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 8))
    f = Quadratic(rng, d, rank=int(rng.integers(0, d + 1)))
    radius = float(np.trace(f.optimum))
    for distance in 10.0 ** np.arange(-12, 4):
        for M in (
            project_psd(f.optimum + distance * random_psd(rng, d)),
            project_psd(f.optimum - distance * random_psd(rng, d)),
            distance * random_psd(rng, d, rank=1),
        ):
            assert gap_bound(f.gradient(M), M, radius) >= f.gap(M)
            assert gap_bound(f.gradient(M), M, 2 * radius) >= gap_bound(f.gradient(M), M, radius)


@pytest.mark.parametrize("seed", range(10))
def test_bound_is_0_at_the_optimum(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 8))
    f = Quadratic(rng, d, rank=int(rng.integers(0, d + 1)))
    bound = gap_bound(f.gradient(f.optimum), f.optimum, np.trace(f.optimum))
    assert 0 <= bound < 1e-11 * (1 + np.trace(f.optimum))


def test_bound_is_the_largest_decrease_of_the_tangent():
    """The metric of largest trace along the lowest eigenvector attains it."""
    rng = np.random.default_rng(0)
    M, G = random_psd(rng, 4), rng.normal(size=(4, 4))
    M, G = M / np.trace(M), G + G.T
    v = np.linalg.eigh(G)[1][:, 0]
    assert gap_bound(G, M, 5.0) == pytest.approx(np.sum(G * (M - 5 * np.outer(v, v))), rel=1e-12)
    definite = expm(G)
    assert gap_bound(definite, M, 5.0) == pytest.approx(np.sum(definite * M), rel=1e-12)


def test_only_the_symmetric_part_of_a_gradient_matters():
    rng = np.random.default_rng(1)
    M, G, skew = random_psd(rng, 4), rng.normal(size=(4, 4)), rng.normal(size=(4, 4))
    assert gap_bound(G + skew - skew.T, M, 3.0) == pytest.approx(gap_bound(G, M, 3.0), rel=1e-12)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_bounds_are_infinite_for_values_that_are_not_finite(bad):
    G = np.eye(2)
    G[0, 0] = bad
    assert gap_bound(G, np.eye(2), 1.0) == np.inf
    assert gap_from_lower_bound(1.0, 0.0, G, 1.0) == np.inf
    assert gap_from_lower_bound(np.nan, 0.0, np.eye(2), 1.0) == np.inf
    assert radius_from_linear(1.0, G) == np.inf
    assert radius_from_ridge(np.nan, 1.0, floor=0.0) == np.inf


def test_bound_allows_for_rounding_errors_of_eigenvalues():
    """A smallest eigenvalue of 0, up to rounding, may be negative."""
    rng = np.random.default_rng(2)
    for _ in range(200):
        G = random_psd(rng, 6, rank=3)
        assert gap_bound(G, np.zeros((6, 6)), 1.0) > 0


def test_bounds_hold_in_exact_arithmetic():
    rng = np.random.default_rng(4)
    for _ in range(200):
        M, G = random_psd(rng, 3), rng.normal(size=(3, 3))
        G = G + G.T  # terms sometimes almost cancel
        exact = sum(Fraction(g) * Fraction(m) for g, m in zip(G.flat, M.flat, strict=True))
        assert Fraction(gap_bound(G, M, 0.0)) >= exact
        value, floor, ridge = rng.uniform(0, [10, 1e-3, 1e-3]).tolist()
        exact = max(Fraction(value) - Fraction(floor), Fraction(0))
        assert Fraction(gap_from_lower_bound(value, floor, G, 0.0)) >= exact
        assert Fraction(radius_from_ridge(value, ridge, floor=floor)) >= exact / Fraction(ridge)


def test_certificate_without_a_radius_is_not_proven():
    M = np.diag([1.0, 2.0])
    G = np.diag([-1.0, 0.0])
    assert certify(G, M) == Certificate(gap_bound(G, M, 30.0), 30.0, False)
    assert certify(G, M, radius=4.0) == Certificate(gap_bound(G, M, 4.0), 4.0, True)
    certificate = certify_by_lower_bound(3.0, 1.0, G, M, radius=4.0)
    assert certificate == Certificate(gap_from_lower_bound(3.0, 1.0, G, 4.0), 4.0, True)
    at_zero = certify(G, np.zeros((2, 2)))
    assert (at_zero.gap, at_zero.radius, at_zero.proven) == (np.inf, np.inf, False)


def test_radius_is_where_the_lower_bound_reaches_the_value():
    rng = np.random.default_rng(3)
    P = random_psd(rng, 4)
    V = np.linalg.eigh(P)[1]
    R = radius_from_linear(7.0, P, floor=2.0)
    N = R * np.outer(V[:, 0], V[:, 0])
    assert 2.0 + np.sum(P * N) == pytest.approx(7.0, rel=1e-6)
    assert radius_from_linear(7.0, 0.5 * np.eye(4)) == pytest.approx(14.0)
    assert radius_from_ridge(7.0, 0.5, floor=2.0) == pytest.approx(10.0)
    assert radius_from_ridge(7.0, 0.5, floor=2.0) >= 10.0
    assert radius_from_ridge(7.0, 0.0, floor=2.0) == np.inf
    assert radius_from_linear(7.0, random_psd(rng, 4, rank=3)) == np.inf
    assert radius_from_linear(7.0, np.diag([1.0, -1.0])) == np.inf


# Objectives of learners


def labelled(seed, n=15, d=3):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    return rng.normal(size=(n, d)) * [2.0, 1.0, 0.5] + y[:, None] * [0.5, 1.0, 0.0], y


def scatter(X, W):
    A = np.diag(W.sum(axis=0) + W.sum(axis=1)) - W - W.T
    return X.T @ A @ X


def mcml_gradient(X, y, M, reg):
    same = (y[:, None] == y[None, :]) & ~np.eye(len(y), dtype=bool)
    D = squared_distances(X, M) + np.diag(np.full(len(X), np.inf))
    W = same / same.sum(axis=1, keepdims=True) - softmax(-D, axis=1)
    return scatter(X, W) / len(X) + ridge_weight(X, reg) * np.eye(len(M))


@pytest.mark.parametrize("seed", [0, 1])
def test_certificate_of_mcml_with_a_ridge(seed):
    """The floor is 0, because the loss is a cross-entropy."""
    X, y = labelled(seed)
    reg, d = 0.1, 3
    best, lowest = mcml_optimum(X, y, reg=reg)
    rng = np.random.default_rng(seed)
    metrics = [0 * best, np.eye(d), *(random_psd(rng, d) for _ in range(5)), 0.9 * best, best]
    for M in metrics:
        value = mcml_value(X, y, M, reg=reg)
        radius = radius_from_ridge(value, ridge_weight(X, reg), floor=0.0)
        assert radius >= np.trace(best) - 1e-6
        assert certify(mcml_gradient(X, y, M, reg), M, radius=radius).gap >= value - lowest - 1e-6
    result = projected_gradient(
        lambda x: (
            mcml_value(X, y, x.reshape(d, d), reg=reg),
            mcml_gradient(X, y, x.reshape(d, d), reg).ravel(),
        ),
        lambda x: project_psd(x.reshape(d, d)).ravel(),
        np.eye(d).ravel(),
        tol=1e-12,
        max_iter=5000,
    )
    assert result.value == pytest.approx(lowest, abs=1e-6)
    M = result.x.reshape(d, d)
    radius = radius_from_ridge(result.value, ridge_weight(X, reg), floor=0.0)
    assert certify(mcml_gradient(X, y, M, reg), M, radius=radius).gap < 1e-4


class HingeBounds:
    """Lower bounds of LMNN's objective, which are linear in the metric.

    For any slopes a in [0, 1], the sum of (1 - mu) d2(i,j) and mu a (1 + d2(i,j) - d2(i,l)),
    divided by n, is a lower bound.
    """

    def __init__(self, X, y, targets, mu):
        self.triplets = np.array([(i, j, l) for i, j in targets for l in np.flatnonzero(y != y[i])])
        i, j, l = self.triplets.T
        self.weight = mu / len(X)
        near, far = X[i] - X[j], X[i] - X[l]
        self.push = near[:, :, None] * near[:, None, :] - far[:, :, None] * far[:, None, :]
        pulled = X[targets[:, 0]] - X[targets[:, 1]]
        self.pull = (1 - mu) / len(X) * pulled.T @ pulled

    def bound(self, a):
        return self.weight * np.sum(a), self.pull + self.weight * np.tensordot(a, self.push, 1)

    def slopes(self, X, M, softness):
        """Return the slopes of hinges, smoothed around their kinks, at a metric."""
        i, j, l = self.triplets.T
        D = squared_distances(X, M)
        return np.clip((1 + D[i, j] - D[i, l]) / softness + 0.5, 0, 1)

    def best_slopes(self):
        """Return the slopes of the highest lower bound."""
        a = cp.Variable(len(self.triplets), bounds=[0, 1])
        G = self.pull + self.weight * cp.reshape(
            a @ self.push.reshape(len(self.triplets), -1), self.pull.shape, order="C"
        )
        problem = cp.Problem(cp.Maximize(cp.sum(a)), [(G + G.T) / 2 >> 0])
        problem.solve(solver=cp.CLARABEL)
        return np.clip(a.value, 0, 1)


@pytest.mark.parametrize("seed", [0, 1])
def test_certificate_of_lmnn(seed):
    X, y = labelled(seed)
    targets, mu = nearest_targets(X, y, 2), 0.5
    best, lowest = lmnn_optimum(X, y, targets, mu=mu)
    rng = np.random.default_rng(seed)
    bounds = HingeBounds(X, y, targets, mu)
    best_slopes = bounds.best_slopes()

    def certified(M, a):
        value = lmnn_value(X, y, M, targets, mu=mu)
        radius = radius_from_linear(value, bounds.pull)
        assert radius >= np.trace(best) - 1e-6
        certificate = certify_by_lower_bound(value, *bounds.bound(a), M, radius=radius)
        assert certificate.proven
        assert certificate.gap >= value - lowest - 1e-6
        return certificate.gap

    for M in (0 * best, np.eye(3), *(random_psd(rng, 3) for _ in range(5)), 0.9 * best):
        for softness in (1e-9, 1e-3, 1.0):
            certified(M, bounds.slopes(X, M, softness))
        gap = lmnn_value(X, y, M, targets, mu=mu) - lowest
        assert certified(M, best_slopes) == pytest.approx(gap, rel=1e-3, abs=1e-5)
    assert certified(best, best_slopes) < 1e-5


def test_certificate_of_ldml_at_its_optimum():
    """At the optimal threshold, the gradient in M gives a certificate."""
    X, y = labelled(0)
    reg = 0.05
    best, b, lowest = ldml_optimum(X, y, reg=reg)
    i, j = np.triu_indices(len(X), 1)
    sign = np.where(y[i] == y[j], 1.0, -1.0)
    W = np.zeros((len(X), len(X)))
    W[i, j] = sign / (1 + np.exp(sign * (b - squared_distances(X, best)[i, j]))) / len(i)
    G = scatter(X, W) + ridge_weight(X, reg) * np.eye(3)
    radius = radius_from_ridge(lowest, ridge_weight(X, reg), floor=0.0)
    assert abs(W.sum()) < 1e-6
    assert 0 <= certify(G, best, radius=radius).gap < 1e-3
