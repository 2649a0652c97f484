"""Samples of rows from the row groups of Parquet files."""

import numpy as np
import pytest

from dimetric.data._files import TableFile
from dimetric.data._parquet.row_groups import ParquetTable
from dimetric.data._parquet.sample import MIN_GROUPS, class_counts, sample_rows_of

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")


@pytest.fixture
def open_table(tmp_path):
    def written(columns, rows):
        pq.write_table(pa.table(columns), tmp_path / "t.parquet", row_group_size=rows)
        return ParquetTable(TableFile.open(tmp_path / "t.parquet"))

    return written


def test_rows_are_those_of_the_table_and_depend_on_the_seed_only(open_table):
    n = 5000
    table = open_table({"x": np.arange(n) * 2, "class": np.arange(n) % 3}, 100)
    one, same = (sample_rows_of(table, ["x"], 300, seed=4, target="class") for _ in range(2))
    other = sample_rows_of(table, ["x"], 300, seed=5, target="class")
    np.testing.assert_array_equal(one.table["x"].to_numpy(), 2 * one.rows)
    np.testing.assert_array_equal(one.rows, same.rows)
    assert np.all(np.diff(one.rows) > 0)
    assert not np.array_equal(one.rows, other.rows)


def test_strata_have_their_shares_in_a_sorted_table(open_table):
    y = np.repeat(["a", "b", "c"], [12_000, 6_000, 2_000])
    table = open_table({"x": np.arange(20_000), "class": y}, 250)
    sample = sample_rows_of(table, ["x", "class"], 1000, seed=0, target="class")
    classes, counts = np.unique(
        sample.table["class"].to_numpy(zero_copy_only=False), return_counts=True
    )
    assert dict(zip(classes, counts, strict=True)) == {"a": 600, "b": 300, "c": 100}
    assert sample.sampling.n_all_groups == 80
    assert sample.sampling.n_groups == 40  # ten times as many rows as the sample


def test_rows_of_a_class_in_a_single_row_group_are_found(open_table):
    y = np.zeros(10_000, dtype=int)
    y[7130:7160] = 1
    table = open_table({"x": np.arange(10_000), "class": y}, 50)
    for seed in range(5):
        sample = sample_rows_of(table, ["class"], 50, seed=seed, target="class")
        assert np.sum(sample.table["class"].to_numpy()) == 20
        assert len(sample.rows) == 70


def test_each_row_has_the_same_probability(open_table):
    n, rows, size, trials = 1000, 20, 50, 400
    table = open_table({"x": np.arange(n)}, rows)
    hits = np.zeros(n)
    for seed in range(trials):
        sample = sample_rows_of(table, ["x"], size, seed=seed)
        assert sample.sampling.n_groups == max(MIN_GROUPS, 10 * size // rows)
        hits[sample.rows] += 1
    of_group = hits.reshape(-1, rows).sum(axis=1)
    assert hits.sum() == size * trials
    assert of_group.min() > 0.7 * size * trials / 50
    assert hits.min() > 0
    expected = size / n * trials
    assert np.abs(hits - expected).max() < 6 * np.sqrt(expected)


def test_missing_classes_are_a_stratum(open_table):
    y = [None, "a", "a", "b"] * 500
    table = open_table({"class": y, "value": [1.0, float("nan"), 2.0, None] * 500}, 90)
    codes, counts = class_counts(table, "class")
    assert {each: counts.sum(axis=0)[code] for each, code in codes.items()} == {
        None: 500,
        "a": 1000,
        "b": 500,
    }
    sample = sample_rows_of(table, ["class"], 200, seed=0, target="class")
    assert sample.table["class"].null_count == 50
    codes, counts = class_counts(table, "value")
    assert counts.sum(axis=0)[codes[None]] == 1000
    assert sample_rows_of(table, ["class"], 200, seed=0, target="value").sampling.n_rows == 200


def test_dictionary_columns_are_strata(open_table):
    y = pa.array(["a", "b", None, "b"] * 300).dictionary_encode()
    table = open_table({"class": y}, 100)
    sample = sample_rows_of(table, ["class"], 120, seed=0, target="class")
    counts = {
        each["values"]: each["counts"]
        for each in sample.table["class"].combine_chunks().value_counts().to_pylist()
    }
    assert counts == {"a": 30, "b": 60, None: 30}


def test_a_target_of_many_values_is_not_stratified(open_table):
    table = open_table({"x": np.arange(3000), "y": np.arange(3000) / 7}, 100)
    assert class_counts(table, "y") is None
    assert sample_rows_of(table, ["x"], 100, seed=0, target="y").sampling.n_rows == 100


def test_a_sample_larger_than_the_table_has_all_rows(open_table):
    table = open_table({"x": np.arange(300), "class": np.arange(300) % 2}, 40)
    sample = sample_rows_of(table, ["x"], 10_000, seed=0, target="class")
    np.testing.assert_array_equal(sample.rows, np.arange(300))
