"""Tests specific to ANMM: the margin, its eigenvectors and the learned subspace."""

import numpy as np
import pytest
import scipy.linalg
from sklearn.datasets import load_iris, load_wine

from dimetric import ANMM
from dimetric.linalg.spectral import fixed_signs


def margin_matrix(X, y, n_friends, n_enemies):
    """Return S - C by its definition, with loops over samples and their neighbours."""
    total = np.zeros((X.shape[1], X.shape[1]))
    for i, x in enumerate(X):
        others = np.delete(np.arange(len(X)), i)
        others = others[np.argsort([np.sum((x - X[j]) ** 2) for j in others], kind="stable")]
        near = others[y[others] == y[i]][:n_friends]
        far = others[y[others] != y[i]][:n_enemies]
        for sign, neighbours in ((1, far), (-1, near)):
            for j in neighbours:
                total += sign / len(neighbours) * np.outer(x - X[j], x - X[j])
    return total


def wine():
    X, y = load_wine(return_X_y=True)
    return (X - X.mean(0)) / X.std(0), y


@pytest.mark.parametrize(("n_friends", "n_enemies"), [(3, 1), (1, 5)])
def test_components_are_top_eigenvectors_of_the_margin_matrix(n_friends, n_enemies):
    X, y = wine()
    values, vectors = scipy.linalg.eigh(margin_matrix(X, y, n_friends, n_enemies))
    anmm = ANMM(4, n_friends=n_friends, n_enemies=n_enemies, weighting=None).fit(X, y)
    np.testing.assert_allclose(anmm.components_, fixed_signs(vectors.T[::-1][:4]), atol=1e-9)
    facts = anmm.metadata()
    np.testing.assert_allclose(facts["margin"], values[::-1][:4].sum())
    fraction = values[::-1][:4].clip(0).sum() / values.clip(0).sum()
    np.testing.assert_allclose(facts["accumulated_eigenvalues"], fraction)


def test_margin_matches_mapped_samples_and_is_maximal(rng):
    X, y = wine()
    anmm = ANMM(2, weighting=None).fit(X, y)
    A, L = margin_matrix(X, y, 3, 3), anmm.components_
    np.testing.assert_allclose(anmm.metadata()["margin"], np.trace(L @ A @ L.T))
    others = [np.linalg.qr(rng.normal(size=(13, 2)))[0].T for _ in range(200)]
    assert max(np.trace(Q @ A @ Q.T) for Q in others) <= anmm.metadata()["margin"]


def test_map_with_all_rows_is_a_rotation():
    X, y = load_iris(return_X_y=True)
    np.testing.assert_allclose(ANMM(weighting=None).fit(X, y).metric(), np.eye(4), atol=1e-12)


@pytest.mark.parametrize("k", [None, 3])
def test_rows_are_weighted_by_their_margin(k):
    X, y = wine()
    values, V = scipy.linalg.eigh(margin_matrix(X, y, 3, 3))
    values, V = values[::-1], V.T[::-1]
    M = sum(
        (max(w, 0) / values[0] + 0.1) * np.outer(v, v)
        for w, v in zip(values[:k], V[:k], strict=True)
    )
    anmm = ANMM(k).fit(X, y)
    np.testing.assert_allclose(anmm.metric(), M, atol=1e-10)
    margin = ANMM(k, weighting=None).fit(X, y).metadata()["margin"]
    assert anmm.metadata()["margin"] == margin
    np.testing.assert_allclose(ANMM(k).fit(100 * X, y).metric(), M, atol=1e-10)


def test_without_a_positive_margin_the_map_is_a_rotation():
    X, y = np.arange(12.0)[:, None] * [1.0, 2.0], np.arange(12) % 2
    assert ANMM(weighting=None).fit(X, y).metadata()["margin"] < 0
    np.testing.assert_allclose(ANMM().fit(X, y).metric(), np.eye(2), atol=1e-12)
    np.testing.assert_allclose(ANMM().fit(0 * X, y).metric(), np.eye(2), atol=1e-12)


@pytest.mark.filterwarnings("ignore:.*fewer than")
def test_samples_of_small_classes_have_fewer_friends(rng):
    X, y = rng.normal(size=(30, 4)), np.repeat([0, 1, 2, 3], [1, 2, 3, 24])
    expected = scipy.linalg.eigh(margin_matrix(X, y, 3, 2))[1].T[::-1]
    L = ANMM(n_enemies=2, weighting=None).fit(X, y).components_
    np.testing.assert_allclose(L, fixed_signs(expected), atol=1e-9)


@pytest.mark.parametrize("k", [2, 19, 25, 60])
def test_fewer_samples_than_features(k, rng):
    """Directions outside the span of the samples have the eigenvalue 0."""
    X, y = rng.normal(size=(20, 60)), np.arange(20) % 3
    values = scipy.linalg.eigvalsh(margin_matrix(X, y, 3, 3))[::-1]
    anmm = ANMM(k, weighting=None).fit(X, y)
    np.testing.assert_allclose(anmm.components_ @ anmm.components_.T, np.eye(k), atol=1e-10)
    margin = anmm.metadata()["margin"]
    np.testing.assert_allclose(margin, values[:k].sum(), atol=1e-9 * values[0])
    A = margin_matrix(X, y, 3, 3)
    L = anmm.components_
    np.testing.assert_allclose(np.trace(L @ A @ L.T), margin, atol=1e-9 * values[0])


def test_margin_scales_with_the_squared_unit_of_samples():
    X, y = load_iris(return_X_y=True)
    margin = ANMM(2).fit(X, y).metadata()["margin"]
    for unit in (2.0**-300, 2.0**300):  # so small and large that samples are rescaled
        np.testing.assert_allclose(ANMM(2).fit(unit * X, y).metadata()["margin"], unit**2 * margin)
