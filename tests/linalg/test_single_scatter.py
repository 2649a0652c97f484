"""Scatter matrices from products in single precision, against double precision."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from dimetric import PCA
from dimetric.linalg.principal_axes import axes_from_moments, axes_in_single_precision
from dimetric.linalg.scatter import Moments
from dimetric.linalg.single_scatter import is_accurate, single_scatter

DATA = {
    "centred": lambda X: X,
    "means much larger than deviations": lambda X: X + 1000,
    "sorted": lambda X: X[np.argsort(X[:, 0])],
    "groups far apart": lambda X: X + 100 * (np.arange(len(X))[:, None] > 4000),
    "one feature with a large mean": lambda X: X + np.eye(1, X.shape[1]) * 50,
}


@pytest.mark.parametrize("n", [5, 2048, 9001])
@pytest.mark.parametrize("data", DATA)
def test_moments_match_double_precision(data, n, rng):
    X = DATA[data](rng.normal(size=(9001, 6)) @ rng.normal(size=(6, 6)))[:n].astype(np.float32)
    moments, expected = single_scatter(X), Moments.of_all(X.astype(float), root=False)
    assert moments.n_samples == n
    scale = np.sqrt(np.diag(expected.spread))
    assert_allclose(
        moments.spread / scale / scale[:, None], expected.spread / scale / scale[:, None], atol=1e-6
    )
    assert_allclose(moments.means, expected.means, rtol=1e-7, atol=5e-7 * scale.max() / n**0.5)


def test_constant_features_have_no_spread(rng):
    X = rng.normal(size=(5000, 3)).astype(np.float32)
    X[:, 1] = 0.1
    S = single_scatter(X).spread
    assert_array_equal(S[1], 0)
    assert_array_equal(S[:, 1], 0)


@pytest.mark.parametrize("smallest", [0.5, 1e-3])
def test_principal_variances_keep_their_digits(smallest, rng):
    """If the variances differ much, products in single precision are not used."""
    X = (
        rng.normal(size=(8000, 5))
        * np.geomspace(1, smallest, 5)
        @ np.linalg.qr(rng.normal(size=(5, 5)))[0]
    )
    X = X.astype(np.float32)
    assert is_accurate(X, 5) == (smallest > 0.1)
    single, double = PCA().fit(X), PCA().fit(X.astype(float))
    assert single.components_.dtype == np.float32
    assert_allclose(single.explained_variance_, double.explained_variance_, rtol=2e-6)
    assert_allclose(single.components_, double.components_, atol=1e-5)
    assert_allclose(single.offset_, double.offset_, atol=1e-6)


def test_few_or_double_precision_samples_are_not_examined(rng):
    X = rng.normal(size=(300, 5))
    assert not is_accurate(X, 5)
    assert is_accurate(X.astype(np.float32), 5)
    assert not is_accurate(X[:60].astype(np.float32), 5)


@pytest.mark.parametrize("k", [1, 3, 30])
def test_axes_match_double_precision(k, rng):
    """Few axes are computed by another function of LAPACK than all of them."""
    X = rng.normal(size=(9000, 30)) * np.linspace(1, 0.5, 30) + rng.normal(size=30)
    X = X.astype(np.float32)
    axes = axes_in_single_precision(X, k)
    expected = axes_from_moments(Moments.of_all(X.astype(float), root=False), k)
    assert axes.V.shape == (k, 30)
    assert axes.n == expected.n
    assert_allclose(axes.s, expected.s, rtol=2e-6)
    assert_allclose(axes.V, expected.V, atol=1e-5)
    assert_allclose(axes.total, expected.total, rtol=2e-6)
    assert_allclose(axes.mean, expected.mean, atol=1e-6)


@pytest.mark.parametrize("size", [1e-17, 1e17])
def test_samples_that_need_rescaling_are_left_to_double_precision(size, rng):
    X = rng.normal(size=(4000, 4)).astype(np.float32)
    single, scaled = PCA(2).fit(X), PCA(2).fit(X * np.float32(size))
    assert axes_in_single_precision(X * np.float32(size), 2) is None
    assert_allclose(scaled.components_, single.components_, atol=1e-4)
    assert_allclose(scaled.explained_variance_, size**2 * single.explained_variance_, rtol=1e-5)


def test_all_samples_decide_whether_single_precision_is_accurate(rng):
    X = rng.normal(size=(12_800, 5))
    X[1:] += 1e3 * rng.normal(size=(12_799, 1)) * (np.arange(1, 12_800) % 100 > 0)[:, None]
    X = X.astype(np.float32)
    assert is_accurate(X, 2)  # by the rows that it examines
    assert axes_in_single_precision(X, 2) is None
    double = PCA(2).fit(X.astype(float))
    assert_allclose(PCA(2).fit(X).explained_variance_, double.explained_variance_, rtol=2e-6)
