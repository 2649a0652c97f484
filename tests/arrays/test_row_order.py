"""The canonical order of samples."""

import numpy as np

from dimetric._arrays.row_order import canonical_order, canonical_order_on_device


def test_canonical_order_sorts_by_class_for_any_permutation(rng):
    X, codes = rng.normal(size=(23, 4)), rng.integers(0, 3, 23)
    order = canonical_order(X, codes)
    assert sorted(order) == list(range(23))
    assert (np.diff(codes[order]) >= 0).all()
    p = rng.permutation(23)
    np.testing.assert_array_equal(X[p][canonical_order(X[p], codes[p])], X[order])


def test_canonical_order_is_lexicographic_and_invariant_to_shifts(rng):
    for dtype in ("float64", "float32"):
        X = rng.integers(-2, 3, size=(60, 3)).astype(dtype) * [1, -0.5, 1e-3]
        one_class = np.zeros(60, dtype=int)
        by_value = X[np.lexsort(X.T[::-1])]
        np.testing.assert_array_equal(X[canonical_order(X, one_class)], by_value)
        np.testing.assert_array_equal(X[canonical_order(X + 7, one_class)], by_value)


def test_order_on_a_device_is_the_same(rng):
    X = rng.integers(-2, 2, size=(300, 4)).astype(np.float32)  # with equal rows
    X[3, 0], X[4, 0], X[:, 2] = 0.0, -0.0, 1.0
    codes = rng.integers(0, 3, 300)
    np.testing.assert_array_equal(canonical_order_on_device(X, codes), canonical_order(X, codes))
