"""The canonical order of samples."""

import numpy as np

from dimetric.reduce.order import canonical_order


def test_canonical_order_sorts_by_class_whatever_the_order_was(rng):
    X, codes = rng.normal(size=(23, 4)), rng.integers(0, 3, 23)
    order = canonical_order(X, codes)
    assert sorted(order) == list(range(23))
    assert (np.diff(codes[order]) >= 0).all()
    p = rng.permutation(23)
    np.testing.assert_array_equal(X[p][canonical_order(X[p], codes[p])], X[order])
