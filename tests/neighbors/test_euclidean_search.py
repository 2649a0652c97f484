"""Euclidean neighbours against scikit-learn's brute-force search."""

import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors

from dimetric._arrays.namespaces import to_host
from dimetric.neighbors.euclidean.search import EuclideanSearch, euclidean_neighbors

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 4))
points = rng.normal(size=(45, 4))


@pytest.mark.parametrize("block", [7, 1024])
def test_neighbors_within_samples_match_sklearn(block):
    distances, indices = euclidean_neighbors(X, 5, block=block)
    expected = NearestNeighbors(n_neighbors=5, algorithm="brute").fit(X).kneighbors()
    np.testing.assert_allclose(distances, expected[0])
    np.testing.assert_array_equal(indices, expected[1])


@pytest.mark.parametrize("k", [1, 44, 45])
def test_neighbors_among_other_points_match_sklearn(k):
    distances, indices = euclidean_neighbors(X, k, points)
    expected = NearestNeighbors(n_neighbors=k, algorithm="brute").fit(points).kneighbors(X)
    np.testing.assert_allclose(distances, expected[0])
    np.testing.assert_array_equal(indices, expected[1])


def test_distances_of_near_duplicates_are_accurate_far_from_the_origin():
    far = np.array([[1e6, 0.0], [1e6 + 1e-5, 0.0], [0.0, 0.0], [-1e6, 3.0]])
    distances, indices = euclidean_neighbors(far, 1)
    assert indices[:2, 0].tolist() == [1, 0]
    np.testing.assert_allclose(distances[:2, 0], 1e-5, rtol=1e-4)


def test_namespaces_match_numpy(namespace):
    distances, indices = euclidean_neighbors(namespace.asarray(X), 3, namespace.asarray(points))
    expected = euclidean_neighbors(X, 3, points)
    np.testing.assert_allclose(to_host(distances), expected[0])
    np.testing.assert_array_equal(to_host(indices), expected[1])
    assert type(distances) is type(namespace.asarray(X))


@pytest.mark.parametrize("k", [0, 60])
def test_invalid_number_of_neighbors_raises(k):
    with pytest.raises(ValueError, match=f"k={k} must be between 1 and .* 59"):
        euclidean_neighbors(X, k)


@pytest.mark.parametrize(
    ("far", "spread", "dtype"), [(1e4, 1e-5, "f8"), (1e2, 1e-1, "f4"), (10, 1e-2, "f4")]
)
def test_search_is_exact_where_matrix_products_are_inaccurate(far, spread, dtype, namespace):
    rng = np.random.default_rng(0)
    centres = np.repeat([[-far], [far]], 40, axis=0)
    A = (centres + spread * rng.normal(size=(80, 3))).astype(dtype)
    distances, indices = euclidean_neighbors(namespace.asarray(A), 3)
    pairs = np.linalg.norm((A[:, None] - A).astype(np.float64), axis=2)
    np.fill_diagonal(pairs, np.inf)
    nearest_three = np.sort(pairs, axis=1)[:, :3]
    np.testing.assert_allclose(to_host(distances), nearest_three, rtol=1e-5)
    found = np.take_along_axis(pairs, to_host(indices), axis=1)
    np.testing.assert_allclose(found, nearest_three, rtol=1e-5)


def test_points_at_equal_distance_are_ordered_by_index(namespace):
    grid = np.stack(np.meshgrid(np.arange(4.0), np.arange(4.0)), axis=-1).reshape(-1, 2)
    distances, indices = map(to_host, euclidean_neighbors(namespace.asarray(grid), 15))
    assert all(
        i < j
        for row, d in zip(indices, distances, strict=True)
        for i, j, a, b in zip(row, row[1:], d, d[1:], strict=False)
        if a == b
    )


def test_search_is_exact_with_reduced_matmul_precision_in_torch(rng):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    A = rng.normal(size=(3000, 20))
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("medium")
    try:
        _, indices = euclidean_neighbors(torch.asarray(A), 5)
    finally:
        torch.set_float32_matmul_precision(before)
    np.testing.assert_array_equal(to_host(indices), euclidean_neighbors(A, 5)[1])


@pytest.mark.parametrize("size", [1e-140, 1e140])
def test_values_outside_the_range_of_single_precision(size):
    distances, indices = euclidean_neighbors(size * X, 3, size * points)
    expected = euclidean_neighbors(X, 3, points)
    np.testing.assert_allclose(distances, size * expected[0], rtol=1e-12)
    np.testing.assert_array_equal(indices, expected[1])


@pytest.fixture
def query_counts(monkeypatch):
    """Record the number of queries of each attempt."""
    counts, attempt = [], EuclideanSearch._attempt

    def counted(self, rows, *arguments):
        counts.append(len(rows))
        return attempt(self, rows, *arguments)

    monkeypatch.setattr(EuclideanSearch, "_attempt", counted)
    return counts


def test_copies_are_found_at_the_first_attempt(rng, query_counts):
    # Other copies cannot be nearer, because no distance is less than 0.
    A = np.repeat(rng.normal(size=(3, 4)), 100, axis=0)
    distances, indices = euclidean_neighbors(A, 5, block=300)
    assert (distances == 0).all()
    assert (indices // 100 == np.arange(300)[:, None] // 100).all()
    assert (indices != np.arange(300)[:, None]).all()
    assert query_counts == [300]


def test_uncertain_queries_are_repeated_in_double_precision(rng, query_counts):
    A = np.repeat([[-1e3], [1e3]], 100, axis=0) + 1e-2 * rng.normal(size=(200, 3))
    euclidean_neighbors(A, 3, block=200)
    assert query_counts == [200, 200]
