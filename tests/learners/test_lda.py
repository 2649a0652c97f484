"""Tests specific to LDA: the generalised eigenvalue problem, shrinkage and singular scatters."""

import warnings

import numpy as np
import pytest
import scipy.linalg
from scipy.spatial.distance import cdist, pdist
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from dimetric import LDA, NCA, Kernelized
from dimetric._arrays.namespaces import to_host
from dimetric.linalg.spectral import fixed_signs


def scatters(X, y):
    """Return S_w and S_b by their definitions."""
    n, mean = len(X), X.mean(0)
    within = between = 0
    for c in np.unique(y):
        Xc = X[y == c]
        within = within + (Xc - Xc.mean(0)).T @ (Xc - Xc.mean(0)) / n
        between = between + len(Xc) / n * np.outer(Xc.mean(0) - mean, Xc.mean(0) - mean)
    return within, between


@pytest.mark.parametrize("load", [load_iris, load_wine])
def test_components_are_generalised_eigenvectors(load):
    X, y = load(return_X_y=True)
    within, between = scatters(X, y)
    values, vectors = scipy.linalg.eigh(between, within)
    lda = LDA().fit(X, y)
    np.testing.assert_allclose(lda.components_ @ within @ lda.components_.T, np.eye(2), atol=1e-10)
    np.testing.assert_allclose(lda.components_, fixed_signs(vectors.T[::-1][:2]), rtol=1e-6)
    np.testing.assert_allclose(lda.explained_variance_ratio_, values[::-1][:2] / values.sum())
    np.testing.assert_allclose(lda.means_, [X[y == c].mean(0) for c in range(3)])
    np.testing.assert_allclose(lda.offset_, X.mean(0))


@pytest.mark.parametrize("shrinkage", [0.0, 0.3, 0.9, "auto"])
def test_shrinkage_matches_scikit_learn(shrinkage):
    X, y = load_wine(return_X_y=True)
    ours = LDA(shrinkage=shrinkage).fit(X, y)
    theirs = LinearDiscriminantAnalysis(solver="eigen", shrinkage=shrinkage).fit(X, y)
    expected = theirs.scalings_.T[:2]
    np.testing.assert_allclose(ours.metric(), expected.T @ expected, rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(
        ours.explained_variance_ratio_, theirs.explained_variance_ratio_, rtol=1e-6
    )


def test_reg_adds_to_the_within_scatter():
    X, y = load_iris(return_X_y=True)
    within, between = scatters(X, y)
    ridged = within + 0.2 * np.trace(within) / 4 * np.eye(4)
    _, vectors = scipy.linalg.eigh(between, ridged)
    lda = LDA(reg=0.2).fit(X, y)
    np.testing.assert_allclose(lda.components_, fixed_signs(vectors.T[::-1][:2]), rtol=1e-6)
    assert lda.metadata()["reg"] == 0.2


@pytest.mark.parametrize("parameters", [{"reg": 0}, {"shrinkage": 0.2}, {"reg": 0.1}])
def test_fewer_samples_than_features(parameters, rng):
    X, y = rng.normal(size=(30, 300)), np.arange(30) % 3
    X[:, 0] += 4 * y
    lda = LDA(**parameters).fit(X, y)
    within, _ = scatters(X, y)
    trace = np.trace(within) / 300 * np.eye(300)
    s = parameters.get("shrinkage", 0)
    pooled = (1 - s) * within + (s + parameters.get("reg", 0)) * trace
    np.testing.assert_allclose(lda.components_ @ pooled @ lda.components_.T, np.eye(2), atol=1e-8)


def test_constant_and_collinear_features_do_not_change_distances():
    X, y = load_iris(return_X_y=True)
    wider = np.hstack([X, np.ones((150, 1)), X[:, :1] + X[:, 1:2]])
    np.testing.assert_allclose(
        pdist(LDA().fit_transform(wider, y)), pdist(LDA().fit_transform(X, y)), rtol=1e-6
    )


def test_distances_do_not_depend_on_units(rng):
    X, y = load_wine(return_X_y=True)
    units = 10.0 ** rng.integers(-9, 9, X.shape[1])
    np.testing.assert_allclose(
        pdist(LDA().fit_transform(X * units, y)), pdist(LDA().fit_transform(X, y)), rtol=1e-6
    )


def test_too_few_directions_within_classes_warn(rng):
    y = np.arange(40) % 4
    X = np.eye(4)[y] * 3
    X[:, 0] += rng.normal(size=40)
    with pytest.warns(UserWarning, match=r"only 1 direction.* LDA returns 1 component\(s\)"):
        assert LDA(reg=0).fit(X, y).components_.shape == (1, 4)
    assert LDA(reg=0.1).fit(X, y).components_.shape == (3, 4)


def test_identical_samples_within_classes_raise():
    with pytest.raises(ValueError, match="All samples of each class are identical"):
        LDA().fit(np.repeat([[0.0, 1.0], [2.0, 3.0]], 4, axis=0), np.repeat([0, 1], 4))


def test_too_many_components_raise():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=r"n_components=3 must be at most .*=2"):
        LDA(3).fit(X, y)


def test_partial_fit_accepts_new_classes():
    X, y = load_digits(return_X_y=True)
    order = np.argsort(y, kind="stable")
    lda = LDA(reg=1e-3)
    lda.partial_fit(X[order[:50]], y[order[:50]])
    assert not lda.__sklearn_is_fitted__()
    for block in np.array_split(order[50:], 9):
        lda.partial_fit(X[block], y[block])
    expected = LDA(reg=1e-3).fit(X, y)
    np.testing.assert_array_equal(lda.classes_, expected.classes_)
    np.testing.assert_allclose(lda.components_, expected.components_, atol=1e-8)
    np.testing.assert_allclose(lda.means_, expected.means_, atol=1e-10)


def test_automatic_shrinkage_needs_all_samples():
    X, y = load_iris(return_X_y=True)
    assert not hasattr(LDA(shrinkage="auto"), "partial_fit")
    with pytest.raises(AttributeError) as error:
        LDA(shrinkage="auto").partial_fit(X, y)
    assert "needs all samples at once" in str(error.value.__cause__)


@pytest.mark.parametrize("value", [0.1, 1 / 3, 1e6 / 7])
@pytest.mark.parametrize("n", [137, 149, 150])
def test_rounding_errors_do_not_count_as_variance(value, n):
    X, y = load_iris(return_X_y=True)
    X, y = X[-n:], y[-n:]
    constant_within_classes = [np.full(n, value), value * np.array([0.1, 0.2, 0.7])[y]]
    expected = pdist(LDA().fit_transform(X, y))
    for column in constant_within_classes:
        wider = np.column_stack([X, column])
        blocks = LDA(reg=0).partial_fit(wider[::2], y[::2]).partial_fit(wider[1::2], y[1::2])
        for lda in (LDA(reg=0).fit(wider, y), blocks):
            np.testing.assert_allclose(pdist(lda.transform(wider)), expected, rtol=1e-6)


def test_distances_do_not_depend_on_units_with_fewer_samples_than_features(rng):
    X, y = rng.normal(size=(20, 50)), np.arange(20) % 3
    units = 10.0 ** rng.integers(-6, 6, 50)
    np.testing.assert_allclose(
        pdist(LDA().fit_transform(X * units, y)), pdist(LDA().fit_transform(X, y)), rtol=1e-6
    )


@pytest.mark.parametrize(
    ("n", "d", "reg"),
    [(400, 40, 0.0), (398, 40, 1e-3), (100, 40, 0.15), (40, 50, 0.575), (9, 80, 1)],
)
def test_automatic_reg_depends_on_samples_per_feature(n, d, reg, rng):
    X, y = rng.normal(size=(n, d)), np.arange(n) % 3
    lda = LDA().fit(X, y)
    np.testing.assert_allclose(lda.metadata()["reg"], reg)
    # Repeated samples add no information.
    repeated = LDA().fit(np.vstack([X, X, X]), np.tile(y, 3))
    np.testing.assert_allclose(repeated.components_, lda.components_, atol=1e-8)
    blocks = LDA().partial_fit(X[: n // 2], y[: n // 2]).partial_fit(X[n // 2 :], y[n // 2 :])
    np.testing.assert_allclose(blocks.components_, lda.components_, atol=1e-8)


def test_automatic_reg_is_a_ridge_on_standardised_features(rng):
    X, y = rng.normal(size=(60, 12)) * 10.0 ** rng.integers(-6, 6, 12), np.arange(60) % 3
    lda = LDA().fit(X, y)
    given = LDA(reg=lda.metadata()["reg"]).fit(X / X.std(axis=0), y)
    np.testing.assert_allclose(
        pdist(lda.transform(X)), pdist(given.transform(X / X.std(axis=0))), rtol=1e-6
    )


KEPT = "class means differ in a direction in which no class varies"


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("mix", [False, True])
def test_directions_that_are_constant_within_classes_are_kept(unit, mix, rng):
    """The classes 0 and 1 differ only in a direction without variance within classes."""
    X, y = rng.normal(size=(300, 4)), np.arange(300) % 3
    X[:, 3] = unit * (y == 1)
    X[:, 0] += 5 * (y == 2)
    if mix:  # the direction is a combination of features
        X[:, 3] += unit * X[:, 1]
    with pytest.warns(UserWarning, match=KEPT):
        lda = LDA().fit(X, y)
    assert lda.metadata()["reg"] == 1e-3
    Z = lda.transform(X)
    gap = np.linalg.norm(Z[y == 0].mean(axis=0) - Z[y == 1].mean(axis=0))
    assert gap > 10 * Z[y == 0].std(axis=0).max()
    Z = LDA(reg=0).fit_transform(X, y)  # without a warning
    assert np.linalg.norm(Z[y == 0].mean(axis=0) - Z[y == 1].mean(axis=0)) < 1


def test_constant_features_with_fewer_samples_than_features_are_kept(rng):
    X, y = rng.normal(size=(30, 100)), np.arange(30) % 3
    assert LDA().fit(X, y).metadata()["reg"] == 1.0
    X[:, 7] = y
    with pytest.warns(UserWarning, match=KEPT):
        lda = LDA().fit(X, y)
    assert np.argmax(np.sum(lda.components_**2, axis=0)) == 7


def test_a_feature_that_is_constant_within_classes_separates_them_despite_many_others(rng):
    X, y = rng.normal(size=(120, 40)), np.arange(120) % 3
    X[:, 0] = y
    with pytest.warns(UserWarning, match=KEPT):
        lda = LDA().fit(X[:60], y[:60])
    assert lda.metadata()["reg"] == pytest.approx(1e-3)
    Z = lda.transform(X)
    nearest = np.argmin(cdist(Z[60:], Z[:60]), axis=1)
    assert np.mean(y[:60][nearest] == y[60:]) > 0.98


def test_starts_by_lda_do_not_warn(rng):
    X, y = rng.normal(size=(300, 4)), np.arange(300) % 3
    X[:, 3] = y
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert NCA(2, init="lda").fit(X, y).metadata()["converged"]


def test_kernels_use_the_same_ridge_in_all_directions(rng):
    """In the feature space of the linear kernel, the axes are not those of the features."""
    X, y = rng.normal(size=(40, 6)), np.arange(40) % 3
    kernelized = Kernelized(LDA(), kernel="linear").fit(X, y)
    reg = kernelized.metadata()["reg"]
    assert reg > 0
    expected = LDA(reg=reg).fit(X, y)
    np.testing.assert_allclose(
        pdist(kernelized.transform(X)), pdist(expected.transform(X)), rtol=1e-6
    )


def test_explained_variance_ratios_with_fewer_samples_than_features(rng):
    X, y = rng.normal(size=(20, 50)), np.arange(20) % 3
    theirs = LinearDiscriminantAnalysis(solver="eigen", shrinkage=0.3).fit(X, y)
    ours = LDA(shrinkage=0.3).fit(X, y)
    np.testing.assert_allclose(ours.explained_variance_ratio_, theirs.explained_variance_ratio_)


def test_partial_fit_rejects_labels_of_another_type():
    X, y = load_iris(return_X_y=True)
    lda = LDA().partial_fit(X, y)
    with pytest.raises(ValueError, match="must have the same type"):
        lda.partial_fit(X, y.astype(str))
    np.testing.assert_array_equal(lda.classes_, [0, 1, 2])


def test_partial_fit_accepts_blocks_of_another_namespace():
    strict = pytest.importorskip("array_api_strict")
    X, y = load_iris(return_X_y=True)
    lda = LDA().partial_fit(X[::2], y[::2]).partial_fit(strict.asarray(X[1::2]), y[1::2])
    np.testing.assert_allclose(to_host(lda.metric()), LDA().fit(X, y).metric(), rtol=1e-6)


def test_order_of_samples_does_not_matter_with_nearly_collinear_features(rng):
    X, y = load_iris(return_X_y=True)
    X = np.column_stack([X, X[:, :3].mean(1) + 1e-8 * rng.normal(size=150)])
    p = rng.permutation(150)
    np.testing.assert_allclose(
        LDA().fit(X[p], y[p]).transform(X), LDA().fit(X, y).transform(X), atol=1e-5
    )


def test_automatic_shrinkage_of_zero(monkeypatch):
    # With many samples the shrinkage is about 0, so collinear features leave S_w singular.
    monkeypatch.setattr("sklearn.covariance.ledoit_wolf", lambda X: (X.T @ X / len(X), 0.0))
    X, y = load_iris(return_X_y=True)
    wider = np.column_stack([X, X[:, 0] + X[:, 1]])
    np.testing.assert_allclose(
        pdist(LDA(shrinkage="auto").fit_transform(wider, y)),
        pdist(LDA().fit_transform(X, y)),
        rtol=1e-6,
    )
