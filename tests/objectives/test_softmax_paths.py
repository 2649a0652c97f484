"""Tests of the fast implementations of softmax rules for many samples: the engine is the oracle."""

from unittest.mock import patch

import numpy as np
import pytest
import scipy.linalg
from numpy.testing import assert_allclose

from dimetric import MCML, NCA
from dimetric.learners._fitting.convex import FLOAT32_ERROR
from dimetric.learners.ldml import LDMLRule
from dimetric.learners.mcml import MCMLRule
from dimetric.learners.nca import NCARule
from dimetric.objectives import pairwise
from dimetric.objectives.engine import laplacian_product
from dimetric.objectives.fast import kernel_pairs, near_pairs
from dimetric.objectives.fast.kernel_pairs import KernelPairs
from dimetric.objectives.fast.near_pairs import NearPairSearch
from dimetric.objectives.objective import on_maps
from dimetric.objectives.pairwise import PairwiseObjective, half_scatter
from dimetric.objectives.side import Side

N = 611
rng = np.random.default_rng(0)
POINTS = rng.normal(size=(N, 6))
V = rng.normal(size=(N, 3))
LABELS = np.concatenate([[0], np.sort(rng.integers(1, 7, N - 1))])  # class 0 has one sample
RULES = {"nca": NCARule(), "mcml": MCMLRule()}


def with_outlier(Z):
    """Return points of which one is far from all others."""
    return np.vstack([[[40.0] + [0.0] * 5], Z[1:]])


def assert_equals_engine(rule, Z, weights=None, rtol=1e-11):
    side = Side.of(Z, labels=LABELS, weights=weights)
    loss, product, _ = rule.fast(Z, V.astype(Z.dtype), side, None)
    expected = laplacian_product(
        rule, Z.astype(float), V, Side.of(Z.astype(float), labels=LABELS, weights=weights)
    )
    assert_allclose(loss, expected[0], rtol=rtol)
    assert_allclose(product, expected[1], rtol=rtol, atol=rtol * np.abs(expected[1]).max())


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scale", [0.1, 1.0, 10.0])
def test_fast_paths_equal_the_engine(rule, dtype, scale):
    rtol = 1e-11 if dtype == np.float64 else 1e-5 * max(1.0, scale) ** 2
    assert_equals_engine(RULES[rule], (scale * POINTS).astype(dtype), rtol=rtol)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("scale", [1.0, 10.0])
def test_fast_paths_with_weights_equal_the_engine(rule, scale):
    assert_equals_engine(RULES[rule], scale * POINTS, weights=rng.uniform(0.5, 2.0, N))


@pytest.mark.parametrize("rule", RULES)
def test_sums_too_small_for_the_kernel_are_computed_by_row(rule):
    Z = with_outlier(POINTS)
    kernel = KernelPairs(Z, V)
    assert kernel.sums()[0] < kernel.smallest_sum
    assert_equals_engine(RULES[rule], Z)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("n", [512, 600, N])
def test_kept_and_recomputed_kernels_give_the_same_bits(rule, n, monkeypatch):
    Z, side = POINTS[:n], Side.of(POINTS[:n], labels=LABELS[:n])
    loss, product, _ = RULES[rule].fast(Z, V[:n], side, None)
    monkeypatch.setattr(kernel_pairs, "MAX_KEPT_BYTES", 0)
    again, same, _ = RULES[rule].fast(Z, V[:n], side, None)
    assert loss == again
    np.testing.assert_array_equal(product, same)


def test_a_second_product_computes_the_overwritten_kernel_again():
    kernel, terms = KernelPairs(POINTS, V), np.linspace(0, 1, N)
    sums = kernel.sums()
    first = kernel.product(terms)
    np.testing.assert_array_equal(kernel.product(terms), first)
    np.testing.assert_array_equal(kernel.sums(), sums)


def test_near_pairs_are_all_pairs_within_reach():
    Z = 10 * POINTS
    search = NearPairSearch.if_few(Z)
    assert search is not None
    assert NearPairSearch.if_few(POINTS) is None
    D = np.sum((Z[:, None] - Z) ** 2, axis=2)
    np.fill_diagonal(D, np.inf)
    found = np.zeros((N, N), dtype=bool)
    for pairs in search.blocks(iter(range(0, N, near_pairs.BLOCK_ROWS))):
        rows = pairs.by_pair(np.arange(pairs.rows.start, pairs.rows.stop))
        found[rows, pairs.columns] = True
        assert_allclose(pairs.squared_distances, D[rows, pairs.columns])
        assert_allclose(pairs.nearest(), D[pairs.rows].min(axis=1))
    left_out = np.where(found, 0.0, np.exp(D.min(axis=1, keepdims=True) - D))
    assert left_out.sum(axis=1).max() < 1e-13
    assert found.mean() < near_pairs.MAX_FRACTION


def test_near_pairs_in_several_products(monkeypatch):
    monkeypatch.setattr(near_pairs, "PAIRS_PER_PRODUCT", 100)
    assert_equals_engine(NCARule(), 10 * POINTS)


def test_points_that_are_not_finite_have_no_near_pairs():
    Z = 10 * POINTS
    Z[3] = np.inf
    assert NearPairSearch.if_few(Z) is None


@pytest.mark.parametrize("weights", [None, rng.uniform(0.5, 2.0, N)])
def test_approximation_in_float32(weights):
    exact = PairwiseObjective(MCMLRule(), POINTS, LABELS, weights=weights)
    approximation = exact.in_float32()
    L = rng.normal(size=(4, 6)) / 3
    found, expected = (on_maps(objective)(L.ravel()) for objective in (approximation, exact))
    assert found[0] != expected[0]
    assert_allclose(found[0], expected[0], rtol=1e-6)
    assert_allclose(found[1], expected[1], rtol=1e-4, atol=1e-6 * np.abs(expected[1]).max())
    # Large distances would lose digits in float32.
    for a, b in zip(
        *(on_maps(objective)(1e3 * L.ravel()) for objective in (approximation, exact)), strict=True
    ):
        np.testing.assert_array_equal(a, b)


def test_no_approximation_of_few_samples_float32_or_a_rule_that_is_not_convex():
    assert PairwiseObjective(NCARule(), POINTS, LABELS).in_float32() is None
    assert PairwiseObjective(MCMLRule(), POINTS[:99], LABELS[:99]).in_float32() is None
    assert PairwiseObjective(MCMLRule(), POINTS.astype("f4"), LABELS).in_float32() is None


@pytest.mark.parametrize("tol", [1e-5, 1e-9])
def test_fit_with_approximation_reaches_the_optimum(tol, monkeypatch):
    X = POINTS + LABELS[:, None] % 3 * [1.0, 0.5, 0, 0, 0, 0]
    learner = MCML(reg=0.0, tol=tol, max_iter=500)
    found = learner.fit(X, LABELS // 2).metadata()
    maps = [learner.components_]
    monkeypatch.setattr(pairwise, "MIN_SAMPLES_FOR_APPROXIMATION", N + 1)
    expected = learner.fit(X, LABELS // 2).metadata()
    assert found["converged"]
    assert_allclose(found["final_objective"], expected["final_objective"], rtol=1e-6)
    assert_allclose(found["gap"], expected["gap"], atol=1e-5)
    if tol < 1e-5:
        maps.append(learner.components_)
        M, expected_M = (A.T @ A for A in maps)
        assert_allclose(M, expected_M, atol=1e-3 * np.abs(expected_M).max())


@pytest.mark.filterwarnings("ignore:NCA did not converge")
def test_nca_by_near_pairs_equals_nca_by_all_pairs(monkeypatch):
    X = POINTS + LABELS[:, None] % 3
    learner = NCA(reg=0.0, tol=1e-5, max_iter=10)
    found = learner.fit(X, LABELS // 2).metadata()
    monkeypatch.setattr(near_pairs, "MIN_SAMPLES", N + 1)
    expected = learner.fit(X, LABELS // 2).metadata()
    assert_allclose(found["final_objective"], expected["final_objective"], rtol=1e-9)


@pytest.mark.parametrize("weights", [None, rng.uniform(0.5, 2.0, N)])
@pytest.mark.parametrize("Z", [POINTS, with_outlier(POINTS), POINTS[:90]], ids=len)
@pytest.mark.parametrize("rule", [MCMLRule(), LDMLRule(1.5)], ids=["mcml", "ldml"])
def test_half_of_the_products_give_the_same_scatter(rule, Z, weights):
    labels, weights = LABELS[: len(Z)], None if weights is None else weights[: len(Z)]
    side = Side.of(Z, labels=labels, weights=weights)
    loss, product, dtheta = rule.fast(Z, Z, side, None)
    found = half_scatter(rule, Z, Z, side, None)
    expected = Z.T @ product
    assert (found[0], found[2]) == pytest.approx((loss, dtheta), rel=1e-12)
    assert_allclose(found[1], expected, atol=1e-11 * np.abs(expected).max())


@pytest.mark.parametrize("rule", [MCMLRule(), LDMLRule()], ids=["mcml", "ldml"])
def test_gradient_at_the_last_map_is_kept(rule):
    exact, theta = PairwiseObjective(rule, POINTS, LABELS, [1.0]), np.array([1.0])
    L = rng.normal(size=(6, 6)) / 3
    loss, gradient, _ = exact.gradient_in_map(L, theta)
    with patch.object(type(rule), "fast", None):  # no evaluation
        again, S, _ = exact.gradient_in_metric(L, theta)
    assert again == loss
    assert_allclose(gradient, 2 * L @ S)
    Z = POINTS @ L.T
    expected = 2 * exact.evaluate(Z, Z, theta)[1].T @ POINTS
    assert_allclose(gradient, expected, atol=1e-10 * np.abs(expected).max())
    other = exact.gradient_in_metric(1.1 * L, theta)
    assert other[0] != loss


@pytest.mark.parametrize("correlated", [False, True])
@pytest.mark.parametrize("rule", [MCMLRule(), LDMLRule()], ids=["mcml", "ldml"])
def test_float32_error_of_a_tangent_is_far_below_its_bound(rule, correlated):
    X = POINTS.copy()
    if correlated:
        X[:, 5] = X[:, 4] + 1e-3 * X[:, 5]
        X[:, 0] *= 1e4
    exact, theta = PairwiseObjective(rule, X, LABELS, [1.0]), np.array([2.0])
    S = np.cov(X, rowvar=False, ddof=0)
    L = np.linalg.inv(np.linalg.cholesky(S)) / 2
    found, expected = (f.gradient_in_metric(L, theta) for f in (exact.in_float32(), exact))
    n = exact.n_terms
    assert found[0] != expected[0]
    assert abs(found[0] - expected[0]) / n < FLOAT32_ERROR / 5
    errors = scipy.linalg.eigvalsh((found[1] - expected[1]) / n, S)
    assert np.abs(errors).max() < FLOAT32_ERROR / 5
