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


def root_of_averages(n, rng, d=5, k=6):
    """Return I - W, where each row of W averages random neighbours with weights of either sign."""
    columns = np.argsort(rng.normal(size=(n, n)) + 1e9 * np.eye(n), axis=1)[:, :k]
    weights = rng.normal(1, 0.8, size=(n, k))
    weights /= weights.sum(axis=1, keepdims=True)
    rows = np.repeat(np.arange(n), k)
    W = sparse.csr_array((weights.ravel(), (rows, columns.ravel())), shape=(n, n))
    return (sparse.eye_array(n) - W).tocsr()


@pytest.mark.parametrize("k", [1, 5])
def test_a_root_gives_the_dense_eigenvectors(k, rng):
    R = root_of_averages(300, rng)
    M = (R.T @ R).tocsc()
    expected, vectors = np.linalg.eigh(M.toarray())
    values, V = smallest_eigenvectors(M, k, root=R)
    np.testing.assert_allclose(values, expected[1 : k + 1], rtol=1e-8)
    np.testing.assert_allclose(V @ V.T, np.eye(k), atol=1e-10)
    np.testing.assert_allclose(V.sum(axis=1), 0, atol=1e-10)
    overlap = np.linalg.svd(V @ vectors[:, 1 : k + 1], compute_uv=False)
    np.testing.assert_allclose(overlap, 1, atol=1e-9)


def test_a_root_with_samples_that_no_row_uses_and_one_closed_group(rng):
    # The first 50 samples are in no other row, so the left null vector is 0 there.
    n, free = 300, 50
    R = root_of_averages(n, rng).tolil()
    inner = root_of_averages(n - free, rng)
    R[:free, free:] = sparse.random_array((free, n - free), density=0.02, rng=rng)
    R[:free, :free] = sparse.eye_array(free)
    R[free:, :free] = 0
    R[free:, free:] = inner
    R = R.tocsr()
    R = (R - sparse.diags_array(R.sum(axis=1))).tocsr()  # R 1 = 0
    M = (R.T @ R).tocsc()
    expected = np.linalg.eigvalsh(M.toarray())
    values, V = smallest_eigenvectors(M, 3, root=R)
    np.testing.assert_allclose(values, expected[1:4], rtol=1e-7)
    np.testing.assert_allclose(M @ V.T, V.T * values, atol=1e-10)


def test_a_root_with_several_closed_groups_has_several_null_vectors(rng):
    blocks = [root_of_averages(150, rng), root_of_averages(150, rng)]
    R = sparse.block_diag(blocks, format="csr").tolil()
    R[0, 200], R[0, 0] = -0.5, R[0, 0] + 0.5  # one row links the groups, so one stays closed
    chain = sparse.block_diag([R.tocsr(), root_of_averages(100, rng)], format="csr")
    M = (chain.T @ chain).tocsc()
    values, V = smallest_eigenvectors(M, 2, root=chain)
    expected = np.linalg.eigvalsh(M.toarray())
    np.testing.assert_allclose(values, expected[1:3], atol=1e-10)
    assert values[0] < 1e-10 < values[1]
    np.testing.assert_allclose(V @ V.T, np.eye(2), atol=1e-9)
