"""Checks of dissimilarities, which read the matrix in tiles on several threads."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from dimetric._arrays.dissimilarities import TILE_SIZE, asymmetric_pair, check_dissimilarities

N = 5 * TILE_SIZE + 3  # so large that several threads are used


@pytest.fixture
def D():
    X = np.random.default_rng(0).normal(size=(N, 3))
    return cdist(X, X)


def test_distances_pass(D):
    check_dissimilarities(D)
    check_dissimilarities(D + 1e-12 * np.triu(D))


@pytest.mark.parametrize(("i", "j"), [(2, N - 1), (N - 1, 2), (0, 1), (N - 2, N - 1)])
def test_a_negative_value_in_any_tile_is_found(D, i, j):
    D[i, j] = -1e-14
    with pytest.raises(ValueError, match="must not be negative"):
        check_dissimilarities(D)


@pytest.mark.parametrize(("i", "j"), [(2, N - 1), (N - 1, 2), (0, 1), (300, 700)])
def test_an_asymmetric_pair_in_any_tile_is_found(D, i, j):
    D[i, j] += 0.1
    assert asymmetric_pair(D, 0.05) == (min(i, j), max(i, j))
    assert asymmetric_pair(D, 0.11) is None
    with pytest.raises(ValueError, match=rf"X\[{min(i, j)}, {max(i, j)}\]"):
        check_dissimilarities(D)


def test_a_diagonal_that_is_not_zero_is_found(D):
    D[N - 1, N - 1] = 0.1
    with pytest.raises(ValueError, match="diagonal"):
        check_dissimilarities(D)
