"""Tests specific to Covariance: the inverse, and the pseudo-inverse if there is no inverse."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from sklearn.datasets import load_digits, load_iris, load_wine

from dimetric import PCA, Covariance


@pytest.mark.parametrize("load", [load_iris, load_wine])
@pytest.mark.parametrize("reg", [0.0, 0.3])
def test_metric_is_the_inverse_covariance(load, reg):
    X = load().data
    S = np.cov(X.T)
    expected = np.linalg.inv(S + reg * np.trace(S) / len(S) * np.eye(len(S)))
    M = Covariance(reg=reg).fit(X).metric()
    np.testing.assert_allclose(M, expected, rtol=1e-8, atol=1e-8 * np.abs(expected).max())


def test_mapped_samples_have_identity_covariance():
    X = load_wine().data
    np.testing.assert_allclose(np.cov(Covariance().fit_transform(X).T), np.eye(13), atol=1e-9)


SINGULAR = {
    "constant": (lambda X: np.hstack([X, np.ones((150, 1))]), 4),
    "rounded mean": (lambda X: np.hstack([X, np.full((150, 2), [0.1, 1e5 / 3])]), 4),
    "repeated": (lambda X: X[:, [0, 1, 2, 3, 1]], 4),
    "dependent": (lambda X: np.hstack([X, X[:, :2] @ [[2.0], [1.0]], 0 * X[:, :1]]), 4),
    "few samples": (lambda X: X[:4] + np.eye(4), 3),
    "wide": (lambda X: np.random.default_rng(0).normal(size=(20, 50)), 19),
    "two samples": (lambda X: X[[0, 99]], 1),
}


@pytest.mark.parametrize("case", SINGULAR)
def test_metric_is_the_pseudo_inverse_of_a_singular_covariance(case):
    make, rank = SINGULAR[case]
    X = make(load_iris().data)
    learner = Covariance().fit(X)
    expected = np.linalg.pinv(np.cov(X.T), rcond=1e-12)
    assert learner.components_.shape == (rank, X.shape[1])
    assert learner.metadata()["n_components"] == learner.metadata()["rank"] == rank
    np.testing.assert_allclose(learner.metric(), expected, atol=1e-8 * np.abs(expected).max())


def test_constant_feature_of_many_samples_is_dropped(rng):
    """The rounding error of the mean grows with the number of samples."""
    X = np.hstack([rng.normal(size=(30_000, 2)), np.full((30_000, 1), 0.1)])
    learner = Covariance().fit(X)
    assert learner.components_.shape == (2, 3)
    assert (learner.components_[:, 2] == 0).all()


def test_ridge_applies_to_all_directions(rng):
    X = rng.normal(size=(20, 50))
    S = np.cov(X.T)
    M = Covariance(reg=0.01).fit(X).metric()
    np.testing.assert_allclose(
        M @ (S + 0.01 * np.trace(S) / 50 * np.eye(50)), np.eye(50), atol=1e-8
    )


def test_distances_do_not_depend_on_units(rng):
    X = load_wine().data
    units = 10.0 ** rng.integers(-9, 9, X.shape[1])
    for more in (X, np.hstack([X, np.ones((len(X), 1))])):
        scaled = more * np.append(units, 7.0)[: more.shape[1]]
        np.testing.assert_allclose(
            pdist(Covariance().fit_transform(scaled)),
            pdist(Covariance().fit_transform(X)),
            rtol=1e-6,
        )


def test_accurate_for_ill_conditioned_samples(rng):
    """Squaring a condition number of 1e10 would lose the smallest direction."""
    Q = np.linalg.qr(rng.normal(size=(5, 5)))[0]
    white = rng.normal(size=(300, 5))
    white = white @ np.linalg.inv(np.linalg.cholesky(np.cov(white.T))).T
    X = white * np.logspace(0, -10, 5) @ Q.T
    np.testing.assert_allclose(pdist(Covariance().fit_transform(X)), pdist(white), rtol=1e-4)


def test_distances_match_whitened_pca():
    X = load_digits().data
    with pytest.warns(UserWarning, match="3 of 64 components have no variance"):
        expected = pdist(PCA(whiten=True).fit_transform(X)[:300])
    np.testing.assert_allclose(pdist(Covariance().fit_transform(X)[:300]), expected, rtol=1e-8)


def test_identical_samples_raise():
    with pytest.raises(ValueError, match="All samples are identical"):
        Covariance().fit(np.full((5, 2), 3.0))
