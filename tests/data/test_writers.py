"""Columns, written some rows at a time."""

import gzip

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from dimetric.data._files import TableFile
from dimetric.data._writers import ColumnWriter

PARTS = [
    {"id": np.array([1, 2]), "a": np.array([0.5, np.nan]), "b": np.array([1.0, 2.0]),
     "kind": np.array([None, None], dtype=object)},
    {"id": np.array([3]), "a": np.array([2.5]), "b": np.array([3.0]),
     "kind": np.array(["x, or y"], dtype=object)},
]  # fmt: skip


def written(path, **options):
    with ColumnWriter(path, **options) as writer:
        for part in PARTS:
            writer.write(part)
    return path


def written_until(path, wrong):
    with ColumnWriter(path) as writer:
        writer.write(PARTS[0])
        writer.write(wrong)


@pytest.mark.parametrize("ending", ["csv", "tsv", "csv.gz", "tsv.gz", "parquet"])
def test_what_is_written_is_read(tmp_path, ending):
    frame = TableFile.open(written(tmp_path / f"t.{ending}")).read()
    assert frame["id"].tolist() == [1, 2, 3]
    assert_array_equal(frame["a"], [0.5, np.nan, 2.5])
    assert frame["kind"].isna().tolist() == [True, True, False]
    assert frame["kind"].iloc[2] == "x, or y"
    assert [each.name for each in tmp_path.iterdir()] == [f"t.{ending}"]


def test_arrays_and_matrices(tmp_path):
    path = written(tmp_path / "t.npz", matrices={"X": ["a", "b"]})
    with np.load(path) as found:
        assert set(found) == {"id", "X", "kind"}
        assert_array_equal(found["X"], [[0.5, 1], [np.nan, 2], [2.5, 3]])
        assert found["id"].dtype == np.int64
        assert_array_equal(found["kind"], ["", "", "x, or y"])


def test_the_ending_is_that_of_the_name_not_of_what_a_link_leads_to(tmp_path):
    (tmp_path / "data.bin").write_bytes(b"")
    (tmp_path / "t.csv.gz").symlink_to(tmp_path / "data.bin")
    written(tmp_path / "t.csv.gz")
    assert gzip.decompress((tmp_path / "data.bin").read_bytes()).startswith(b'"id","a","b","kind"')


def test_an_error_leaves_what_was_there(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("as it was")
    with pytest.raises(KeyError, match="other"):
        written_until(path, {"other": np.array([1])})
    assert path.read_text() == "as it was"
    assert [each.name for each in tmp_path.iterdir()] == ["t.csv"]


def test_missing_values_of_any_kind_are_empty(tmp_path):
    values = np.array(["x", None, np.nan, pd.NA, pd.NaT], dtype=object)
    with ColumnWriter(tmp_path / "t.csv") as writer:
        writer.write({"row": np.arange(5), "a": values})
    lines = (tmp_path / "t.csv").read_text().split()
    assert lines == ['"row","a"', '0,"x"', "1,", "2,", "3,", "4,"]


def test_unknown_endings(tmp_path):
    with pytest.raises(
        ValueError, match=r"Unsupported file type: .*t\.xls\. Supported extensions are"
    ):
        ColumnWriter(tmp_path / "t.xls")
