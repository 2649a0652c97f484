"""Tests of benchmark.summary."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dimetric.benchmark import BenchmarkResult, Cell, summary


def benchmark_of(**scores):
    """Return a benchmark with the given test scores: learner -> data set -> scores of the folds."""
    return BenchmarkResult(
        [
            Cell(data, learner, 3, 0, fold, 1.0, test, 2.0, 1.0)
            for learner, by_data in scores.items()
            for data, tests in by_data.items()
            for fold, test in enumerate(tests)
        ]
    )


FOUND = benchmark_of(
    a={"one": [0.5, 0.7], "two": [0.9, 0.9]},
    b={"one": [0.8, 0.6], "two": [0.9, 1.0]},
)


def test_values_are_folds_of_one_data_set_or_means_of_several():
    best, other = summary(FOUND, data="one")
    assert (best.learner, other.learner) == ("b", "a")
    assert_allclose(best.values, [0.8, 0.6])
    assert_allclose([best.mean, best.std], [0.7, np.std([0.8, 0.6], ddof=1)])
    best, _ = summary(FOUND)
    assert_allclose(best.values, [0.7, 0.95])
    assert (best.n_failed, best.n_cells, best.time) == (0, 4, 2.0)


def test_lowest_time_is_best():
    changed = BenchmarkResult([c._replace(time=1.0 + (c.learner == "b")) for c in FOUND.cells])
    assert [row.learner for row in summary(changed, field="time")] == ["a", "b"]


def test_learners_with_failed_fits_come_last():
    broken = list(FOUND.cells)
    broken[4] = broken[4]._replace(status="failed", test=np.nan)
    rows = summary(BenchmarkResult(broken))
    assert [row.learner for row in rows] == ["a", "b"]
    assert np.isnan(rows[1].mean)
    assert rows[1].n_failed == 1


def test_errors():
    with pytest.raises(ValueError, match="empty"):
        summary(BenchmarkResult([]))
    with pytest.raises(ValueError, match="data='three' must be one of the data sets"):
        summary(FOUND, data="three")
    with pytest.raises(ValueError, match="field='score' must be"):
        summary(FOUND, field="score")
