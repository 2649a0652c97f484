"""Divergences: axioms, invariances, quadrature, and closed forms by hand."""

from math import inf, log

import array_api_strict
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import multivariate_normal, norm

from dimetric.linalg.divergence import gaussian_jeffrey, gaussian_kl, logdet_divergence

SINGULAR = np.outer([1.0, 2.0, -3.0], [1.0, 2.0, -3.0]) / 7
INDEFINITE = np.diag([1.0, 1.0, -1.0])


def definite(rng, d):
    """A positive definite matrix with eigenvalues between 0.1 and 10."""
    Q = np.linalg.qr(rng.normal(size=(d, d))).Q
    return (Q * rng.uniform(0.1, 10, d)) @ Q.T


@st.composite
def gaussians(draw):
    """Means and covariances of two Gaussians, and the generator for more."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    d = draw(st.integers(1, 6))
    return rng.normal(size=d), definite(rng, d), rng.normal(size=d), definite(rng, d), rng


@given(gaussians())
def test_logdet_is_its_formula(pair):
    _, M, _, M0, _ = pair
    ratio = M @ np.linalg.inv(M0)
    expected = np.trace(ratio) - np.linalg.slogdet(ratio).logabsdet - len(M)
    assert logdet_divergence(M, M0) == pytest.approx(expected, rel=1e-9, abs=1e-12)


@given(gaussians())
def test_logdet_is_the_bregman_divergence_of_minus_log_det(pair):
    """The gap between phi(M) and its tangent at M0, whose slope is taken numerically."""
    _, M, _, M0, _ = pair

    def phi(t):
        return -np.linalg.slogdet(M0 + t * (M - M0)).logabsdet

    h = 1e-3 / np.linalg.norm(np.linalg.solve(M0, M - M0))
    slope = (8 * (phi(h) - phi(-h)) - phi(2 * h) + phi(-2 * h)) / (12 * h)
    assert logdet_divergence(M, M0) == pytest.approx(phi(1) - phi(0) - slope, rel=1e-6, abs=1e-8)


@given(gaussians())
def test_logdet_is_zero_only_where_equal(pair):
    _, M, _, M0, rng = pair
    assert 0 <= logdet_divergence(M, M.copy()) < 1e-24
    assert logdet_divergence(M, M0) > 0
    step = definite(rng, len(M))
    assert logdet_divergence(M + 1e-9 * step, M) > 0


@pytest.mark.parametrize("h", [1e-3, 1e-6, 1e-9, 1e-12])
def test_logdet_is_accurate_near_zero(h):
    """Where its formula cancels: sum of h - log(1 + h) = h^2 / 2 - ..."""
    expected = 3 * (h**2 / 2 - h**3 / 3 + h**4 / 4)
    assert logdet_divergence((1 + h) * np.eye(3), np.eye(3)) == pytest.approx(expected, rel=1e-3)


@given(gaussians(), st.floats(-6, 6))
def test_logdet_is_invariant_under_congruence(pair, exponent):
    """Rotations, shears, and units from micrometres to megametres."""
    _, M, _, M0, rng = pair
    A = rng.normal(size=M.shape)
    assume(np.linalg.cond(A) < 1e3)
    expected = logdet_divergence(M, M0)
    assert logdet_divergence(A @ M @ A.T, A @ M0 @ A.T) == pytest.approx(
        expected, rel=1e-6, abs=1e-9
    )
    units = np.diag(10.0 ** np.linspace(-exponent, exponent, len(M)))
    assert logdet_divergence(units @ M @ units, units @ M0 @ units) == pytest.approx(
        expected, rel=1e-9, abs=1e-12
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_logdet_of_badly_scaled_matrices(dtype):
    variances = np.array([1e-9, 1.0, 1e9], dtype=dtype)
    expected = float(np.sum(variances - 1 - np.log(variances), dtype=float))
    I = np.eye(3, dtype=dtype)
    assert logdet_divergence(np.diag(variances), I) == pytest.approx(expected, rel=1e-6)
    assert logdet_divergence(I, np.diag(1 / variances)) == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("M", [SINGULAR, INDEFINITE, np.zeros((3, 3)), np.full((3, 3), np.nan)])
def test_no_divergence_without_definite_matrices(M):
    M0 = definite(np.random.default_rng(0), 3)
    zero = np.zeros(3)
    assert logdet_divergence(M, M0) == inf
    assert gaussian_kl(zero, M, zero, M0) == inf
    with pytest.raises(ValueError, match="M0 must be positive definite"):
        logdet_divergence(M0, M)
    for divergence in (gaussian_kl, gaussian_jeffrey):
        with pytest.raises(ValueError, match="cov_q must be positive definite"):
            divergence(zero, M0, zero, M)
    with pytest.raises(ValueError, match="cov_p must be positive definite"):
        gaussian_jeffrey(zero, M, zero, M0)


@given(st.integers(0, 2**32 - 1))
def test_rounding_does_not_make_a_singular_matrix_definite(seed):
    """The smallest computed eigenvalue of such a product is positive half of the time."""
    R = np.random.default_rng(seed).normal(size=(5, 3))
    assert logdet_divergence(R @ R.T, np.eye(5)) == inf
    with pytest.raises(ValueError, match="M0 must be positive definite"):
        logdet_divergence(np.eye(5), R @ R.T)


@pytest.mark.parametrize(
    ("mean_p", "sd_p", "mean_q", "sd_q"),
    [(0.0, 1.0, 0.0, 2.0), (1.0, 0.5, -0.5, 1.5), (2.0, 2.0, 0.0, 0.7)],
)
def test_one_dimension_against_quadrature(mean_p, sd_p, mean_q, sd_q):
    p, q = norm(mean_p, sd_p), norm(mean_q, sd_q)
    args = np.array([mean_p]), np.array([[sd_p**2]]), np.array([mean_q]), np.array([[sd_q**2]])

    def integral(function):
        return quad(function, mean_p - 12 * max(sd_p, sd_q), mean_p + 12 * max(sd_p, sd_q))[0]

    kl = integral(lambda x: p.pdf(x) * (p.logpdf(x) - q.logpdf(x)))
    assert gaussian_kl(*args) == pytest.approx(kl, rel=1e-7)
    jeffrey = integral(lambda x: (p.pdf(x) - q.pdf(x)) * (p.logpdf(x) - q.logpdf(x)))
    assert gaussian_jeffrey(*args) == pytest.approx(jeffrey, rel=1e-7)


def test_two_dimensions_by_hand():
    """P = [[2, 1], [1, 2]], det 3; Q = diag(1, 4), det 4; means differ by (1, 2)."""
    mean_p, P = np.array([1.0, 3.0]), np.array([[2.0, 1.0], [1.0, 2.0]])
    mean_q, Q = np.array([0.0, 1.0]), np.diag([1.0, 4.0])
    to_q = 0.5 * (2 + 0.5 - 2 + log(4 / 3) + 1 + 1)
    to_p = 0.5 * (2 / 3 + 8 / 3 - 2 + log(3 / 4) + 2)
    assert gaussian_kl(mean_p, P, mean_q, Q) == pytest.approx(to_q)
    assert gaussian_kl(mean_q, Q, mean_p, P) == pytest.approx(to_p)
    assert gaussian_jeffrey(mean_p, P, mean_q, Q) == pytest.approx(to_q + to_p)


@given(gaussians())
def test_kl_is_the_mean_log_ratio(pair):
    """Log densities are quadratic, so the mean over p is exact at d pairs of sigma points."""
    mean_p, P, mean_q, Q, _ = pair
    offsets = np.sqrt(len(P)) * np.linalg.cholesky(P).T
    points = np.concatenate([mean_p + offsets, mean_p - offsets])
    ratio = multivariate_normal.logpdf(points, mean_p, P) - multivariate_normal.logpdf(
        points, mean_q, Q
    )
    assert gaussian_kl(mean_p, P, mean_q, Q) == pytest.approx(np.mean(ratio), rel=1e-8, abs=1e-12)


@given(gaussians())
def test_kl_of_equal_means_is_half_the_logdet(pair):
    mean, P, _, Q, _ = pair
    expected = logdet_divergence(P, Q) / 2
    assert gaussian_kl(None, P, None, Q) == expected
    assert gaussian_kl(mean, P, mean, Q) == expected
    assert gaussian_kl(mean, P, None, Q) == gaussian_kl(mean, P, np.zeros_like(mean), Q) > expected
    assert gaussian_kl(None, P, mean, Q) == gaussian_kl(np.zeros_like(mean), P, mean, Q) > expected


@given(gaussians())
def test_jeffrey_is_symmetric_and_its_formula(pair):
    mean_p, P, mean_q, Q, _ = pair
    value = gaussian_jeffrey(mean_p, P, mean_q, Q)
    assert value == gaussian_jeffrey(mean_q, Q, mean_p, P)
    delta, P_inv, Q_inv = mean_p - mean_q, np.linalg.inv(P), np.linalg.inv(Q)
    expected = np.trace(P @ Q_inv + P_inv @ Q) / 2 - len(P) + delta @ (P_inv + Q_inv) @ delta / 2
    assert value == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_every_namespace_gives_what_numpy_gives(namespace, dtype):
    rng = np.random.default_rng(0)
    args = rng.normal(size=4), definite(rng, 4), rng.normal(size=4), definite(rng, 4)
    cast = [namespace.asarray(a, dtype=getattr(namespace, dtype)) for a in args]
    rel = 1e-12 if dtype == "float64" else 1e-5
    for divergence in (gaussian_kl, gaussian_jeffrey):
        value = divergence(*cast)
        assert type(value) is float
        assert value == pytest.approx(divergence(*args), rel=rel)
    assert logdet_divergence(cast[1], cast[3]) == pytest.approx(
        logdet_divergence(args[1], args[3]), rel=rel
    )
    with pytest.raises(ValueError, match="M0 must be positive definite"):
        logdet_divergence(cast[1], -cast[3])
    assert logdet_divergence(-cast[1], cast[3]) == inf


def test_the_first_matrix_says_where_to_work():
    rng = np.random.default_rng(0)
    M, M0 = definite(rng, 4), definite(rng, 4)
    mixed = logdet_divergence(array_api_strict.asarray(M), M0)
    assert mixed == pytest.approx(logdet_divergence(M, M0), rel=1e-12)
