"""Averages and ranks compared with SciPy."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from dimetric.stats._ranking import averages, ranks


def test_ranks_match_scipy():
    rng = np.random.default_rng(0)
    table = rng.integers(0, 5, size=(30, 7)) / 10  # many ties
    expected = np.array([stats.rankdata(-row, method="average") for row in table])
    assert_array_equal(ranks(table), expected)
    assert_array_equal(ranks(table, greater_is_better=False), 8 - expected)
    result = averages(table)
    assert_allclose(result.scores, table.mean(axis=0))
    assert_allclose(result.ranks, expected.mean(axis=0))
    assert_allclose(result.ranks.sum(), 7 * 8 / 2)


def test_rounding_errors_do_not_break_ties():
    assert 0.1 + 0.2 != 0.3
    assert_array_equal(ranks([[0.1 + 0.2, 0.3]]), [[1.5, 1.5]])
    times = [[1e-14, 2e-14], [3e8, 3e8 * (1 + 1e-15)], [0.0, 0.0]]
    assert_array_equal(ranks(times, greater_is_better=False), [[1, 2], [1.5, 1.5], [1.5, 1.5]])


def test_missing_scores():
    with pytest.raises(ValueError, match=r"scores\[1, 0\] is not finite .* in total: 1"):
        averages([[0.5, 0.6], [np.nan, 0.7]])
    with pytest.raises(ValueError, match="Expected 2D array"):
        ranks([0.5, 0.6])
