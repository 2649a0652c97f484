"""Squared distances by matrix products, in every namespace."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from dimetric._arrays.namespaces import to_host
from dimetric._arrays.squared_distances import left_factor, right_factor, squared_distances


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_squared_distances_match_cdist(dtype, namespace):
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(7, 5)), rng.normal(size=(9, 5))
    arrays = [namespace.asarray(Z.astype(dtype)) for Z in (A, B)]
    rounding = 50 * np.finfo(dtype).eps
    by_factors = left_factor(arrays[0]) @ right_factor(arrays[1]).T
    for found in (squared_distances(*arrays), by_factors):
        assert str(found.dtype).endswith(dtype)
        np.testing.assert_allclose(to_host(found), cdist(A, B, "sqeuclidean"), atol=rounding)


def test_squared_distances_are_nonnegative_and_leave_the_input_unchanged():
    A = 1e8 + np.random.default_rng(0).normal(size=(50, 3))
    before = A.copy()
    assert squared_distances(A, A).min() == 0
    assert (left_factor(A) @ right_factor(A).T).min() < 0  # not clipped
    np.testing.assert_array_equal(A, before)
