"""Smallest eigenvectors of sparse matrices against dense ones."""

import numpy as np
import pytest
from scipy import sparse

from dimetric.linalg.smallest_eigenvectors import smallest_eigenvectors


def laplacian(n, rng):
    """Return the Laplacian of a random weighted graph: symmetric, M 1 = 0."""
    edges = sparse.random_array((n, n), density=8 / n, rng=rng) + sparse.eye_array(n, k=1)
    weights = edges + edges.T
    return (sparse.diags_array(weights.sum(axis=0)) - weights).tocsc()


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize("k", [1, 4])
def test_eigenpairs_match_dense_ones_without_the_constant_vector(k, dense, rng):
    M = laplacian(300, rng)
    expected, vectors = np.linalg.eigh(M.toarray())
    values, V = smallest_eigenvectors(M, k, dense=dense)
    np.testing.assert_allclose(values, expected[1 : k + 1], rtol=1e-9)
    np.testing.assert_allclose(V @ V.T, np.eye(k), atol=1e-10)
    np.testing.assert_allclose(V.sum(axis=1), 0, atol=1e-10)
    overlap = np.abs(np.sum(V * vectors[:, 1 : k + 1].T, axis=1))
    np.testing.assert_allclose(overlap, 1, atol=1e-9)


@pytest.mark.parametrize("dense", [True, False])
def test_further_null_vectors_are_found(dense):
    # The null space of second differences also contains the linear functions.
    n = 400
    second = sparse.diags_array([1.0, -2.0, 1.0], offsets=[0, 1, 2], shape=(n - 2, n))
    values, V = smallest_eigenvectors((second.T @ second).tocsc(), 2, dense=dense)
    line = np.arange(n) - (n - 1) / 2
    assert abs(values[0]) < 1e-12
    assert values[1] > 1e-11
    np.testing.assert_allclose(V[0] / V[0, -1], line / line[-1], atol=1e-4)


def test_tiny_eigenvalues_are_separated():
    # A chain with two weak links has eigenvalues of order 1e-10 and 1e-12.
    links = np.ones(299)
    links[[49, 149]] = 1e-10, 1e-8
    chain = sparse.diags_array([-1.0, 1.0], offsets=[0, 1], shape=(299, 300))
    M = (chain.T @ sparse.diags_array(links) @ chain).tocsc()
    values, V = smallest_eigenvectors(M, 2)
    expected, exact = smallest_eigenvectors(M, 2, dense=True)
    np.testing.assert_allclose(values, expected, rtol=1e-3)
    np.testing.assert_allclose(V, exact, atol=1e-3)


def test_matrix_of_size_2():
    M = sparse.csc_array([[1.0, -1.0], [-1.0, 1.0]])
    values, V = smallest_eigenvectors(M, 1, dense=True)
    np.testing.assert_allclose(values, 2)
    np.testing.assert_allclose(np.abs(V), 0.5**0.5)
