"""Sums of a statistic over arrays and over iterators of blocks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dimetric.linalg.reductions import tree_reduce


def total(X, y):
    return np.concatenate([X.sum(0), [0 if y is None else y.sum()]])


@given(n=st.integers(1, 60), block=st.integers(1, 70))
def test_sum_does_not_depend_on_the_block_size(n, block):
    X, y = np.arange(2.0 * n).reshape(n, 2), np.arange(n)
    whole = total(X, y)
    np.testing.assert_allclose(tree_reduce(total, X, y, block=block), whole)
    pairs = ((X[i : i + block], y[i : i + block]) for i in range(0, n, block))
    np.testing.assert_allclose(tree_reduce(total, pairs), whole)


def test_order_of_blocks_is_kept():
    assert tree_reduce(lambda X, y: [int(X[0, 0])], np.arange(7.0)[:, None], block=1) == [*range(7)]


def test_rounding_error_is_smaller_than_of_a_running_sum():
    X = np.full((2**15, 1), 0.1, dtype=np.float32)
    by_tree = tree_reduce(lambda X, y: X.sum(0), X, block=1)[0]
    running_sum = np.add.accumulate(X[:, 0])[-1]
    exact = 2**15 * float(np.float32(0.1))
    assert abs(by_tree - exact) < 1e-5 * exact < abs(running_sum - exact)


def test_empty_iterator_raises():
    with pytest.raises(ValueError, match="at least one block"):
        tree_reduce(total, iter([]))


def test_y_with_an_iterator_raises():
    with pytest.raises(TypeError, match="pairs"):
        tree_reduce(total, iter([np.ones((1, 2))]), np.ones(1))
