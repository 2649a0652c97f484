"""Checks of dissimilarities, which read the matrix in tiles on several threads."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from dimetric._arrays import dissimilarities
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


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_symmetric_matrices_are_recognised_in_one_pass(D, dtype, monkeypatch):
    monkeypatch.setattr(dissimilarities, "combinations_with_replacement", None)  # no second pass
    assert check_dissimilarities(D.astype(dtype)) == D.astype(dtype).max()
    assert asymmetric_pair(D - 2, 1e-8) is None


def test_differences_that_cancel_in_sums_of_rows_are_found(D):
    D[0, 1] += 0.1
    D[0, 2] -= 0.1
    assert asymmetric_pair(D, 0.05) in {(0, 1), (0, 2)}


def test_a_diagonal_that_is_not_zero_is_found(D):
    D[N - 1, N - 1] = 0.1
    with pytest.raises(ValueError, match="diagonal"):
        check_dissimilarities(D)
