"""Nearest neighbours against scikit-learn's brute force."""

import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors

from dimetric._xp import to_host
from dimetric.neighbors.search import nearest

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 4))
points = rng.normal(size=(45, 4))


@pytest.mark.parametrize("block", [7, 1024])
def test_among_the_rows_themselves(block):
    distances, indices = nearest(X, 5, block=block)
    expected = NearestNeighbors(n_neighbors=5, algorithm="brute").fit(X).kneighbors()
    np.testing.assert_allclose(distances, expected[0])
    np.testing.assert_array_equal(indices, expected[1])


@pytest.mark.parametrize("k", [1, 44, 45])
def test_among_other_points(k):
    distances, indices = nearest(X, k, points)
    expected = NearestNeighbors(n_neighbors=k, algorithm="brute").fit(points).kneighbors(X)
    np.testing.assert_allclose(distances, expected[0])
    np.testing.assert_array_equal(indices, expected[1])


def test_near_duplicates_far_from_the_origin_keep_their_digits():
    pair = np.array([[1e6, 0.0], [1e6 + 1e-5, 0.0], [0.0, 0.0], [-1e6, 3.0]])
    distances, indices = nearest(pair, 1)
    assert indices[:2, 0].tolist() == [1, 0]
    np.testing.assert_allclose(distances[:2, 0], 1e-5, rtol=1e-4)


def test_follows_the_namespace(namespace):
    distances, indices = nearest(namespace.asarray(X), 3, namespace.asarray(points))
    expected = nearest(X, 3, points)
    np.testing.assert_allclose(to_host(distances), expected[0])
    np.testing.assert_array_equal(to_host(indices), expected[1])
    assert type(distances) is type(namespace.asarray(X))


@pytest.mark.parametrize("k", [0, 60])
def test_impossible_numbers_of_neighbours(k):
    with pytest.raises(ValueError, match=f"k={k} .* 1 to 59"):
        nearest(X, k)
