"""Principal coordinates against eigenvectors of the dense Gram matrix."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist
from sklearn.manifold import ClassicalMDS

from dimetric.linalg import centred_products, classical_scaling
from dimetric.linalg.classical_scaling import additive_constant, centred_gram, principal_coordinates


def dissimilarities(n, kind, rng):
    X = rng.normal(size=(n, 6)) * [9, 6, 3, 1, 1, 1]
    if kind == "Euclidean":
        return cdist(X, X)
    if kind == "city block":
        return cdist(X, X, "cityblock") ** 1.5
    D = rng.uniform(size=(n, n))  # not even a metric
    return np.triu(D, 1) + np.triu(D, 1).T


KINDS = ["Euclidean", "city block", "random"]
# Each row has the number of samples, the smallest number for which some samples are tried that may
# span all others, and the largest for which the squares of D are in memory.
SIZES = [(40, 2048, 1024), (700, 2048, 1024), (700, 2048, 256), (700, 700, 256)]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n", "n_with_span", "n_in_memory"), SIZES)
def test_coordinates_are_eigenvectors_of_the_gram_matrix(
    n, n_with_span, n_in_memory, kind, namespace, rng, monkeypatch
):
    monkeypatch.setattr(classical_scaling, "MIN_SAMPLES_FOR_SPAN", n_with_span)
    monkeypatch.setattr(centred_products, "MAX_SAMPLES_ON_ONE_THREAD", n_in_memory)
    D = dissimilarities(n, kind, rng)
    found = principal_coordinates(namespace.asarray(D), 3)
    B = centred_gram(D)
    values = np.linalg.eigvalsh(B)
    assert_allclose(found.values, values[::-1][:3], rtol=1e-10)
    assert_allclose(found.V @ B, found.values[:, None] * found.V, atol=1e-9 * values[-1])
    assert_allclose(found.means, np.mean(D**2, axis=1), rtol=1e-12)
    assert_allclose(found.norm, np.linalg.norm(B), rtol=1e-10)
    assert_allclose(
        found.strain, np.linalg.norm(values[:-3]) / n, rtol=1e-8, atol=1e-8 * values[-1]
    )
    assert found.smallest >= values[0] - 1e-12 * values[-1]
    tol = 1e-12 if n == 40 else 0.02
    assert_allclose(found.smallest, values[0], rtol=1e-12, atol=tol * values[-1])
    reference = ClassicalMDS(3, metric="precomputed").fit(D).embedding_
    assert_allclose(
        np.abs(found.coordinates), np.abs(reference), atol=1e-8 * np.abs(reference).max()
    )


def test_one_product_is_enough_if_some_samples_span_all_others(rng, monkeypatch):
    monkeypatch.setattr(classical_scaling, "MIN_SAMPLES_FOR_SPAN", 700)
    D, products = dissimilarities(700, "Euclidean", rng), []
    gram = centred_products.SquaredGram
    multiply = gram.__call__
    monkeypatch.setattr(gram, "__call__", lambda B, V: products.append(1) or multiply(B, V))
    expected = ClassicalMDS(3, metric="precomputed").fit(D).embedding_
    found = principal_coordinates(D, 3).coordinates
    assert_allclose(np.abs(found), np.abs(expected), atol=1e-9 * np.abs(expected).max())
    assert len(products) == 1


@pytest.mark.parametrize("change", [0.5, 40.0])
def test_a_distance_between_other_samples_changes_the_result(change, rng, monkeypatch):
    monkeypatch.setattr(classical_scaling, "MIN_SAMPLES_FOR_SPAN", 700)
    D = dissimilarities(700, "Euclidean", rng)
    rows = np.linspace(0, 699, classical_scaling.SPAN_SAMPLES).astype(int)
    i, j = np.setdiff1d(np.arange(700), rows)[:2]
    D[i, j] = D[j, i] = D[i, j] + change * D.max()
    values = np.linalg.eigvalsh(centred_gram(D))
    found = principal_coordinates(D, 3)
    assert_allclose(found.values, values[::-1][:3], rtol=1e-10)
    assert_allclose(found.smallest, values[0], atol=0.02 * np.abs(values).max())


def rod_through_a_grid():
    """Return samples of a large grid in a plane, and of a few on a long line across the plane."""
    side = np.arange(46) - 22.5
    grid = np.stack([*np.meshgrid(side, side), np.zeros((46, 46))]).reshape(3, -1).T
    return np.vstack([grid, np.outer(np.linspace(-1000, 1000, 10), [0, 0, 1])])


def categories(n):
    """Return samples whose dominant coordinates differ from 0 only outside the tried samples."""
    rows = np.linspace(0, n - 1, classical_scaling.SPAN_SAMPLES).astype(int)
    others = np.setdiff1d(np.arange(n), rows)
    X = np.zeros((n, 20))
    X[others, 4 + np.arange(len(others)) % 16] = 5.0
    X[:, :4] = np.random.default_rng(0).normal(size=(n, 4))
    return X


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("k", [1, 2, 5])
def test_directions_that_few_samples_have_are_found(seed, k):
    grid = rod_through_a_grid()
    for X in (grid[np.random.default_rng(seed).permutation(len(grid))], categories(2100 + seed)):
        X = X - X.mean(axis=0)
        expected = np.zeros(k)
        squares = np.linalg.svd(X, compute_uv=False)[:k] ** 2
        expected[: len(squares)] = squares
        found = principal_coordinates(cdist(X, X), k)
        assert_allclose(found.values, expected, rtol=1e-9, atol=1e-9 * expected[0])


def test_a_sample_far_away_in_the_span_of_the_others(rng, monkeypatch):
    monkeypatch.setattr(classical_scaling, "MIN_SAMPLES_FOR_SPAN", 700)
    X = rng.normal(size=(700, 3)) * [1, 1, 1e-4]
    X[1] = [1e9, 1e9, 1e9]
    found = principal_coordinates(cdist(X, X), 3)
    assert_allclose(found.values[0], np.linalg.svd(X - X.mean(axis=0))[1][0] ** 2, rtol=1e-9)
    assert np.isfinite(found.coordinates).all()


def test_identical_samples_have_coordinates_of_0(monkeypatch):
    monkeypatch.setattr(classical_scaling, "MIN_SAMPLES_FOR_SPAN", 700)
    assert_allclose(principal_coordinates(np.zeros((700, 700)), 2).coordinates, 0, atol=0)


@pytest.mark.parametrize("n", [40, 700])
def test_float32_is_squared_in_float64(n, rng):
    D = dissimilarities(n, "Euclidean", rng).astype(np.float32)
    assert_allclose(
        principal_coordinates(D, 2).coordinates,
        principal_coordinates(D.astype(float), 2).coordinates,
        rtol=0,
        atol=1e-7 * D.max(),
    )


@pytest.mark.parametrize("kind", KINDS)
def test_place_returns_the_coordinates_of_the_samples_of_the_fit(kind, namespace, rng):
    D = dissimilarities(60, kind, rng)
    found = principal_coordinates(D, 3)
    placed = found.place(namespace.asarray(D))
    assert type(placed) is type(namespace.asarray(D))
    assert_allclose(np.asarray(placed), found.coordinates, atol=1e-9 * D.max())


def test_place_preserves_distances_if_all_dimensions_are_kept(rng):
    X, new = rng.normal(size=(50, 3)), rng.normal(size=(9, 3))
    found = principal_coordinates(cdist(X, X), 3)
    Z = found.place(cdist(new, X))
    assert_allclose(cdist(Z, found.coordinates), cdist(new, X), atol=1e-10)
    assert_allclose(cdist(Z, Z), cdist(new, new), atol=1e-10)


def test_coordinates_without_variance_are_0(rng):
    X = rng.normal(size=(30, 2))
    found = principal_coordinates(cdist(X, X), 5)
    assert_allclose(found.coordinates[:, 2:], 0, atol=0)
    assert_allclose(found.place(cdist(X[:4], X))[:, 2:], 0, atol=0)
    identical = principal_coordinates(np.zeros((9, 9)), 2)
    assert_allclose(identical.coordinates, 0, atol=0)
    assert_allclose(identical.place(np.ones((1, 9))), 0, atol=0)


def test_coordinates_of_negative_eigenvalues_are_0():
    D = np.array([[0.0, 1, 1, 1], [1, 0, 2, 2], [1, 2, 0, 2], [1, 2, 2, 0]])
    found = principal_coordinates(D, 4)
    assert found.smallest == found.values[-1] < -0.1
    assert_allclose(found.coordinates[:, -1], 0, atol=0)
    assert np.isfinite(found.coordinates).all()


@pytest.mark.parametrize(("n", "dense"), [(5, True), (60, True), (60, False)])
def test_additive_constant_is_the_smallest_that_makes_them_euclidean(n, dense, rng, monkeypatch):
    monkeypatch.setattr(classical_scaling, "DENSE_SAMPLES", 512 if dense else 0)
    D = dissimilarities(n, "random", rng)
    c, off_diagonal = additive_constant(D), 1 - np.eye(n)
    assert c > 0
    values = np.linalg.eigvalsh(centred_gram(D + c * off_diagonal))
    assert_allclose(values[0], 0, atol=1e-8 * values[-1])
    smaller = np.linalg.eigvalsh(centred_gram(D + 0.99 * c * off_diagonal))
    assert smaller[0] < -1e-4 * values[-1]


def test_additive_constant_of_euclidean_distances_is_0(rng):
    D = dissimilarities(30, "Euclidean", rng)
    assert_allclose(additive_constant(D), 0, atol=1e-6 * D.max())


def test_coordinates_scale_with_the_dissimilarities(rng):
    D = dissimilarities(700, "Euclidean", rng)
    plain = principal_coordinates(D, 2).coordinates
    for factor in (1e-60, 1e60):
        assert_allclose(principal_coordinates(D * factor, 2).coordinates / factor, plain, rtol=1e-6)
