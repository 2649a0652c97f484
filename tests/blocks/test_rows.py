"""Samples of rows, rows at positions of the sorted rows, and numbers of distinct rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import dimetric.blocks.order as order
from dimetric._arrays.row_order import canonical_order
from dimetric.blocks.distinct import DistinctRows
from dimetric.blocks.sample import sample_rows
from dimetric.blocks.source import ArraySource

RNG = np.random.default_rng(0)
ROWS = {
    "continuous": RNG.normal(size=(3000, 3)),
    "binary": RNG.integers(0, 2, size=(3000, 5)).astype(float),
    "single column": RNG.normal(size=(500, 1)).round(1),
    "mostly zeros": np.where(RNG.random((3000, 1)) < 0.9, 0.0, RNG.normal(size=(3000, 3))),
    "float32": RNG.normal(size=(3000, 3)).astype(np.float32),
    "signed zeros": np.array([[0.0, 1.0], [-0.0, 0.5], [0.0, -1.0], [-2.0, 0.0]]),
    "one row": np.ones((1, 2)),
}


def content(block):
    return block.X


@pytest.mark.parametrize("case", ROWS)
@pytest.mark.parametrize("rows_in_memory", [10, 100, 10_000])
def test_rows_at_positions_are_those_of_the_sorted_rows(case, rows_in_memory, monkeypatch):
    X = ROWS[case]
    monkeypatch.setattr(order, "SAMPLE_BYTES", rows_in_memory * X[0].nbytes)
    monkeypatch.setattr(order, "COLLECTED_BYTES", 5 * rows_in_memory * X[0].nbytes)
    expected = X[canonical_order(X, np.zeros(len(X), dtype=int))]
    for positions in (np.arange(len(X))[:: 1 + len(X) // 50], np.array([0]), np.arange(len(X))):
        for block_rows in (7, 1000):
            source = ArraySource(X, block_rows=block_rows)
            found = order.rows_at(source, positions, content)
            np.testing.assert_array_equal(found, expected[positions])


@given(block_rows=st.integers(1, 130), size=st.integers(1, 40), by_class=st.booleans())
def test_samples_do_not_depend_on_the_blocks(block_rows, size, by_class):
    X, y = np.arange(120.0)[:, None], np.arange(120) % 3
    weights = np.where(np.arange(120) % 5 == 0, 0.0, 1.0)
    options = {"seed": 3, "by_class": by_class}
    sample = sample_rows(ArraySource(X, y, weights, block_rows), size, **options)
    whole = sample_rows(ArraySource(X, y, weights), size, **options)
    np.testing.assert_array_equal(sample.X, whole.X)
    np.testing.assert_array_equal(sample.X[:, 0], sample.rows)
    np.testing.assert_array_equal(sample.y, sample.rows % 3)
    assert np.all(sample.rows % 5 != 0)
    counts = np.bincount(sample.y, minlength=3)
    if by_class:
        assert counts.tolist() == [min(size, 32)] * 3
    else:
        assert counts.sum() == min(size, 96)


def test_every_row_is_sampled_equally_often():
    source = ArraySource(np.zeros((40, 1)))
    chosen = [sample_rows(source, 10, seed=seed, by_class=False).rows for seed in range(400)]
    counts = np.bincount(np.concatenate(chosen), minlength=40)
    assert np.all(np.abs(counts - 100) < 50)  # more than 5 standard deviations


@given(st.lists(st.integers(0, 9), min_size=1), st.integers(1, 12), st.integers(1, 5))
def test_number_of_distinct_rows(values, limit, size):
    X = np.array(values, dtype=float)[:, None]
    parts = [DistinctRows.of(X[i : i + size], limit) for i in range(0, len(X), size)]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    assert len(total) == min(limit, len(set(values)))
