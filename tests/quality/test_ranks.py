"""Ranks of the nearest neighbours, counted or sorted."""

import numpy as np
import pytest

from dimetric.quality import _distances, _ranks
from dimetric.quality._distances import Distances, Rounding
from dimetric.quality._ranks import ranks_of_nearest


def distances_with_ties(n):
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(n, 4)), rng.normal(size=(n, 2))
    X[: n // 4] = X[: n // 4].round(1)  # many equal distances
    X[0] = X[1]
    D, E = (np.linalg.norm(A[:, None] - A[None], axis=2) for A in (X, Z))
    rounding = Rounding(1e-13, np.full((n, 1), 1e-13))
    return D, E, np.arange(n), (rounding, rounding)


@pytest.mark.parametrize("k", [1, 5, 15])
def test_counted_ranks_equal_sorted_ranks(monkeypatch, k):
    D, E, index, roundings = distances_with_ties(80)
    counted, tied = ranks_of_nearest(D.copy(), E.copy(), index, k, roundings)
    monkeypatch.setattr(_ranks, "MAX_COUNTED_NEIGHBORS", 0)
    sorted_, sorted_tied = ranks_of_nearest(D.copy(), E.copy(), index, k, roundings)
    np.testing.assert_array_equal(counted[~tied], sorted_[~tied])
    # Sorting compares rounded distances, so it may report a tie where there is none.
    assert not np.any(tied & ~sorted_tied)
    assert not np.all(tied)
    assert k == 1 or np.any(tied)


@pytest.mark.parametrize("scale", [0.0, 1e-160, 1e-3, 1.0, 1e30])
def test_range_of_ties_contains_exactly_the_tied_distances(scale):
    rng = np.random.default_rng(0)
    rounding = Rounding(1e-6, np.array([[0.0], [1e-5 * scale]]))
    h = scale * np.array([[1.0], [1.0]])
    others = scale * (1 + rng.uniform(-3e-5, 3e-5, (2, 1000)))
    lower, upper = rounding.range_of_ties(h)
    tied = rounding.ties(np.minimum(h, others), np.maximum(h, others))
    np.testing.assert_array_equal((others >= lower) & (others <= upper), tied)
    if scale >= 1e-3:
        assert 0 < np.sum(tied[0]) < np.sum(tied[1]) < 1000


def test_compiled_counts_equal_those_of_numpy():
    compiled = pytest.importorskip("dimetric.quality._compiled", reason="needs numba")
    rng = np.random.default_rng(0)
    D = rng.integers(0, 50, size=(7, 301)).astype(float)  # many values equal a bound
    D[np.arange(7), np.arange(7)] = np.inf
    lower = rng.integers(0, 50, size=(7, 4)).astype(float)
    upper = lower + rng.integers(0, 2, size=(7, 4))
    expected = _ranks._count_in_rows(D, lower, upper)
    for found, count in zip(compiled.count_in_rows(D, lower, upper), expected, strict=True):
        np.testing.assert_array_equal(found, count)
    np.testing.assert_array_equal(expected[0], (D[:, None, :] < lower[:, :, None]).sum(axis=2))
    np.testing.assert_array_equal(expected[1], (D[:, None, :] <= upper[:, :, None]).sum(axis=2))


def test_compiled_differences_equal_those_of_numpy(monkeypatch):
    pytest.importorskip("dimetric.quality._compiled", reason="needs numba")
    X = np.random.default_rng(0).normal(size=(2 * _distances.MIN_POINTS_COMPILED, 3))
    rows = np.arange(5)
    compiled = Distances(X)(rows).copy()
    monkeypatch.setattr(_distances, "MIN_POINTS_COMPILED", len(X) + 1)
    np.testing.assert_array_equal(Distances(X)(rows), compiled)
