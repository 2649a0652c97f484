"""Squared distances by matrix products, in every namespace."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from dimetric._arrays.namespaces import to_host
from dimetric._arrays.squared_distances import (
    left_factor,
    right_factor,
    single_precision_error,
    squared_distances,
)


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


@pytest.mark.parametrize("d", [1, 10, 784, 5000])
@pytest.mark.parametrize("sign", [1, -1])
def test_errors_in_single_precision_stay_within_their_bound(d, sign):
    # Products of one sign add up their rounding errors, and rows that are nearly equal or opposite
    # lose the most digits.
    rng = np.random.default_rng(d)
    A = np.abs(rng.normal(size=(40, d))) * 10.0 ** rng.integers(-3, 4, size=(40, 1))
    B = sign * np.concatenate([A * (1 + 1e-7 * rng.normal(size=A.shape)), np.abs(A[::-1])])
    left, right = A.astype(np.float32), B.astype(np.float32)
    norms = [np.sum(Z**2, axis=1) for Z in (A, B)]
    in_single = [n.astype(np.float32) for n in norms]
    found = in_single[0][:, None] + in_single[1][None, :] - 2 * (left @ right.T)
    errors = np.abs(found - cdist(A, B, "sqeuclidean"))
    bound = single_precision_error(d, np.sqrt(norms[0])[:, None], np.sqrt(norms[1])[None, :])
    assert np.all(errors <= bound)
    assert errors.max() > 0
