"""Tests specific to DMLMJ: the divergence, its eigenvectors and the map with all rows."""

import numpy as np
import pytest
import scipy.linalg
from oracles import jeffrey_divergence
from scipy.spatial.distance import pdist
from sklearn.datasets import load_digits, load_iris, load_wine

from dimetric import DMLMJ
from dimetric.linalg.spectral import fixed_signs


def covariances(X, y, k, alpha):
    """Return Sigma_S and Sigma_D by their definitions, with loops over samples and neighbours."""
    covariances = []
    for same in (True, False):
        means = []
        for i, x in enumerate(X):
            others = np.delete(np.arange(len(X)), i)
            others = others[(y[others] == y[i]) == same]
            order = np.argsort([np.sum((x - X[j]) ** 2) for j in others], kind="stable")
            differences = x - X[others[order[:k]]]
            if len(differences):
                means.append(differences.T @ differences / len(differences))
        S = np.mean(means, axis=0)
        covariances.append((1 - alpha) * S + alpha * np.trace(S) / len(S) * np.eye(len(S)))
    return covariances


def wine():
    X, y = load_wine(return_X_y=True)
    return (X - X.mean(0)) / X.std(0), y


@pytest.mark.parametrize("alpha", [0.0, 0.001, 0.3])
@pytest.mark.parametrize("k", [1, 4])
def test_components_are_eigenvectors_of_largest_divergence(alpha, k):
    X, y = wine()
    near, far = covariances(X, y, k, alpha)
    values, vectors = scipy.linalg.eigh(far, near)
    order = np.argsort(-(values + 1 / values))[:5]
    dmlmj = DMLMJ(5, n_neighbors=k, alpha=alpha, weighting=None).fit(X, y)
    L = dmlmj.components_
    np.testing.assert_allclose(L @ near @ L.T, np.eye(5), atol=1e-10)
    np.testing.assert_allclose(L, fixed_signs(vectors.T[order]), atol=1e-8)
    scores = values + 1 / values
    facts = dmlmj.metadata()
    np.testing.assert_allclose(facts["accumulated_eigenvalues"], scores[order].sum() / scores.sum())
    np.testing.assert_allclose(
        facts["final_objective"], jeffrey_divergence(L @ near @ L.T, L @ far @ L.T)
    )


def test_small_eigenvalues_count_as_much_as_large_ones(rng):
    """In directions with an eigenvalue below 1, friends are farther apart than enemies."""
    X, y = wine()
    near, far = covariances(X, y, 3, 0.0)
    dmlmj = DMLMJ(13, alpha=0.0, weighting=None).fit(X, y)
    values = np.diag(dmlmj.components_ @ far @ dmlmj.components_.T)
    assert (np.diff(values + 1 / values) <= 1e-9).all()
    best = DMLMJ(2, alpha=0.0).fit(X, y).metadata()["final_objective"]
    for _ in range(200):
        L = rng.normal(size=(2, 13))
        assert jeffrey_divergence(L @ near @ L.T, L @ far @ L.T) <= best


@pytest.mark.parametrize("alpha", [0.0, 0.01])
@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_metric_with_all_rows_is_the_inverse_covariance_of_friends(load, alpha):
    X, y = load(return_X_y=True)
    X = X + np.random.default_rng(0).normal(size=X.shape) * 1e-6  # no ties
    expected = np.linalg.inv(covariances(X, y, 3, alpha)[0])
    M = DMLMJ(alpha=alpha, weighting=None).fit(X, y).metric()
    np.testing.assert_allclose(M, expected, atol=1e-7 * np.abs(expected).max())


@pytest.mark.parametrize("alpha", [0.0, 0.2])
def test_rows_are_weighted_by_their_ratio(alpha):
    X, y = wine()
    near, far = covariances(X, y, 3, alpha)
    inverse = np.linalg.inv(near)
    M = DMLMJ(alpha=alpha).fit(X, y).metric()
    expected = inverse @ far @ inverse
    np.testing.assert_allclose(M, expected, atol=1e-8 * np.abs(expected).max())
    two, plain = (DMLMJ(2, alpha=alpha, weighting=w).fit(X, y) for w in ("ratio", None))
    assert two.metadata()["final_objective"] == plain.metadata()["final_objective"]
    ratios = np.diag(plain.components_ @ far @ plain.components_.T)
    np.testing.assert_allclose(
        two.components_, np.sqrt(ratios)[:, None] * plain.components_, rtol=1e-6
    )


@pytest.mark.parametrize(("n", "d", "alpha"), [(200, 4, 0.1), (100, 30, 0.3), (30, 60, 0.7)])
def test_automatic_alpha_is_features_per_sample(n, d, alpha, rng):
    X, y = rng.normal(size=(n, d)), np.arange(n) % 3
    found = DMLMJ().fit(X, y)
    assert found.metadata()["reg"] == alpha
    expected = DMLMJ(alpha=alpha).fit(X, y)
    np.testing.assert_array_equal(found.components_, expected.components_)


@pytest.mark.filterwarnings("ignore:.*fewer than")
def test_samples_of_small_classes_have_fewer_friends(rng):
    X, y = rng.normal(size=(30, 4)), np.repeat([0, 1, 2, 3], [1, 2, 3, 24])
    expected = np.linalg.inv(covariances(X, y, 3, 0.0)[0])
    M = DMLMJ(alpha=0.0, weighting=None).fit(X, y).metric()
    np.testing.assert_allclose(M, expected, rtol=1e-8)


@pytest.mark.parametrize("k", [2, 15, 40])
@pytest.mark.parametrize("alpha", [0.001, 0.2])
def test_fewer_samples_than_features(k, alpha, rng):
    """Solving in the span of the samples gives the same result as solving with all features."""
    X, y = rng.normal(size=(24, 40)), np.arange(24) % 3
    X[:, 0] += 5 * y
    near, far = covariances(X, y, 3, alpha)
    values = scipy.linalg.eigvalsh(far, near)
    scores = np.sort(values + 1 / values)[::-1]
    dmlmj = DMLMJ(k, alpha=alpha, weighting=None).fit(X, y)
    L, facts = dmlmj.components_, dmlmj.metadata()
    np.testing.assert_allclose(L @ near @ L.T, np.eye(k), atol=1e-8)
    np.testing.assert_allclose(facts["final_objective"], scores[:k].sum() / 2 - k, atol=1e-8)
    np.testing.assert_allclose(
        facts["accumulated_eigenvalues"], scores[:k].sum() / scores.sum(), rtol=1e-8
    )


def test_zero_alpha_drops_directions_in_which_friends_are_equal(rng):
    X, y = load_iris(return_X_y=True)
    wider = np.hstack([X, np.ones((150, 1)), X[:, :1] + X[:, 1:2]])
    plain, wide = DMLMJ(alpha=0.0).fit(X, y), DMLMJ(alpha=0.0, n_neighbors=3).fit(wider, y)
    assert wide.components_.shape == (4, 6)
    with pytest.warns(UserWarning, match=r"only 4 direction\(s\), so DMLMJ returns 4 component"):
        DMLMJ(5, alpha=0.0).fit(wider, y)
    assert DMLMJ(5).fit(wider, y).components_.shape == (5, 6)
    assert plain.components_.shape == (4, 4)
    few = DMLMJ(alpha=0.0).fit(rng.normal(size=(20, 50)), np.arange(20) % 2)
    assert few.components_.shape == (18, 50)


def test_zero_alpha_is_accurate_for_ill_conditioned_samples(rng):
    """The last feature equals the first up to 1e-7."""
    X, y = load_iris(return_X_y=True)
    X = X + rng.normal(size=X.shape) * 1e-3
    mixed = np.hstack([X, X[:, :1] + 1e-7 * rng.normal(size=(150, 1))])
    dmlmj = DMLMJ(alpha=0.0, weighting=None).fit(mixed, y)
    L = dmlmj.components_
    assert L.shape == (5, 5)
    near, _ = covariances(mixed, y, 3, 0.0)
    np.testing.assert_allclose(L @ near @ L.T, np.eye(5), atol=1e-1)


def test_constant_pixels_of_digits():
    X, y = load_digits(return_X_y=True)
    dmlmj = DMLMJ().fit(X, y)
    assert dmlmj.metadata()["rank"] == 64
    assert np.isfinite(pdist(dmlmj.transform(X[:50]))).all()


def test_friends_at_distance_0_raise():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=r"distance 0 from its friends.*Increase n_neighbors"):
        DMLMJ(n_neighbors=1).fit(np.repeat(X, 2, axis=0), np.repeat(y, 2))
