"""Tests of SpaceMap against SciPy and scikit-learn."""

import pickle

import numpy as np
import pytest
from scipy.linalg import orthogonal_procrustes
from sklearn.base import clone
from sklearn.linear_model import Ridge

from dimetric import SpaceMap


@pytest.fixture
def pairs():
    rng = np.random.RandomState(0)
    X = rng.randn(200, 6)
    return X, X @ rng.randn(6, 6) + 0.1 * rng.randn(200, 6)


def test_procrustes_equals_scipy(pairs):
    X, Y = pairs
    R = SpaceMap().fit(X, Y).components_
    np.testing.assert_allclose(R, orthogonal_procrustes(X, Y)[0].T, atol=1e-10)
    np.testing.assert_allclose(R @ R.T, np.eye(6), atol=1e-10)


def test_ridge_equals_scikit_learn(pairs):
    X, Y = pairs
    R = SpaceMap("ridge", reg=0.2).fit(X, Y).components_
    alpha = 0.2 * np.trace(X.T @ X) / 6
    expected = Ridge(alpha=alpha, fit_intercept=False).fit(X, Y).coef_
    np.testing.assert_allclose(R, expected, atol=1e-10)


@pytest.mark.parametrize("rank", [1, 3, 6])
def test_low_rank_is_the_best_map_of_its_rank(pairs, rank):
    X, Y = pairs
    space_map = SpaceMap("low_rank", n_components=rank, reg=0.0).fit(X, Y)
    R = space_map.components_
    assert np.linalg.matrix_rank(R, tol=1e-8) == rank
    # The best fitted values are the truncated SVD of those of least squares.
    full = X @ np.linalg.lstsq(X, Y, rcond=None)[0]
    u, s, v = np.linalg.svd(full, full_matrices=False)
    np.testing.assert_allclose(X @ R.T, (u[:, :rank] * s[:rank]) @ v[:rank], atol=1e-8)
    error = np.mean(np.sum((X @ R.T - Y) ** 2, axis=1))
    assert space_map.metadata()["mean_squared_error"] == pytest.approx(error)


@pytest.mark.parametrize(("d", "p"), [(6, 4), (4, 6)])
def test_spaces_of_different_dimensions(pairs, d, p):
    X, Y = pairs[0][:, :d], pairs[1][:, :p]
    R = SpaceMap().fit(X, Y).components_
    assert R.shape == (p, d)
    product = R @ R.T if p < d else R.T @ R
    np.testing.assert_allclose(product, np.eye(min(d, p)), atol=1e-10)
    assert SpaceMap("ridge").fit(X, Y).transform(X).shape == Y.shape


def naive_recall(Z, Y, k):
    Z, Y = (A / np.linalg.norm(A, axis=1, keepdims=True) for A in (Z, Y))
    shares = []
    for i in range(len(Y)):
        others = [j for j in range(len(Y)) if j != i]
        wanted = sorted(others, key=lambda j: -Y[i] @ Y[j])[:k]
        found = sorted(others, key=lambda j: -Z[i] @ Y[j])[:k]
        shares.append(len(set(wanted) & set(found)) / k)
    return np.mean(shares)


def test_recall_is_measured_on_held_out_pairs(pairs):
    X, Y = pairs
    metadata = SpaceMap("ridge", n_neighbors=5, random_state=0).fit(X, Y).metadata()
    test = np.sort(np.random.RandomState(0).permutation(200)[:40])
    train = np.setdiff1d(np.arange(200), test)
    R = SpaceMap("ridge").fit(X[train], Y[train]).components_
    assert metadata["n_test"] == 40
    assert metadata["recall"] == pytest.approx(naive_recall(X[test] @ R.T, Y[test], 5))
    assert metadata["baseline_recall"] == pytest.approx(naive_recall(X[test], Y[test], 5))
    assert metadata["recall"] > metadata["baseline_recall"] + 0.3


def test_estimator_interface(pairs):
    torch = pytest.importorskip("torch")
    X, Y = pairs
    space_map = SpaceMap("ridge", test_size=0.0)
    fitted = clone(space_map).fit(X, Y)
    assert fitted.metadata()["n_test"] == 0
    assert np.array_equal(pickle.loads(pickle.dumps(fitted)).transform(X), fitted.transform(X))
    tensor = clone(space_map).fit(torch.asarray(X), torch.asarray(Y))
    np.testing.assert_allclose(tensor.transform(torch.asarray(X)), fitted.transform(X), atol=1e-9)
    assert SpaceMap().fit(X.astype(np.float32), Y).components_.dtype == np.float32


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda X, Y: SpaceMap().fit(X, Y[:5]), "200 vectors and Y has 5"),
        (lambda X, Y: SpaceMap("low_rank").fit(X, Y), "needs n_components from 1 to 6"),
        (lambda X, Y: SpaceMap("low_rank", n_components=7).fit(X, Y), "n_components=7"),
        (lambda X, Y: SpaceMap(n_components=2).fit(X, Y), "needs method='low_rank'"),
        (lambda X, Y: SpaceMap("linear").fit(X, Y), "method"),
        (lambda X, Y: SpaceMap().fit(X, Y).transform(X[:, :3]), "fitted with 6"),
        (lambda X, Y: SpaceMap().fit(X, Y * np.nan), "NaN"),
    ],
)
def test_errors(pairs, call, message):
    with pytest.raises(ValueError, match=message):
        call(*pairs)
