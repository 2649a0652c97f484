"""Writing columns in chunks of rows."""

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


def write_parts(path, **options):
    with ColumnWriter(path, **options) as writer:
        for part in PARTS:
            writer.write(part)
    return path


def write_mismatched(path, mismatched):
    with ColumnWriter(path) as writer:
        writer.write(PARTS[0])
        writer.write(mismatched)


@pytest.mark.parametrize("ending", ["csv", "tsv", "csv.gz", "tsv.gz", "parquet"])
def test_written_rows_are_read_back(tmp_path, ending):
    frame = TableFile.open(write_parts(tmp_path / f"t.{ending}")).read()
    assert frame["id"].tolist() == [1, 2, 3]
    assert_array_equal(frame["a"], [0.5, np.nan, 2.5])
    assert frame["kind"].isna().tolist() == [True, True, False]
    assert frame["kind"].iloc[2] == "x, or y"
    assert [each.name for each in tmp_path.iterdir()] == [f"t.{ending}"]


def test_npz_joins_the_columns_of_a_matrix(tmp_path):
    path = write_parts(tmp_path / "t.npz", matrices={"X": ["a", "b"]})
    with np.load(path) as arrays:
        assert set(arrays) == {"id", "X", "kind"}
        assert_array_equal(arrays["X"], [[0.5, 1], [np.nan, 2], [2.5, 3]])
        assert arrays["id"].dtype == np.int64
        assert_array_equal(arrays["kind"], ["", "", "x, or y"])


def test_extension_of_a_link_decides_the_format(tmp_path):
    (tmp_path / "data.bin").write_bytes(b"")
    (tmp_path / "t.csv.gz").symlink_to(tmp_path / "data.bin")
    write_parts(tmp_path / "t.csv.gz")
    assert gzip.decompress((tmp_path / "data.bin").read_bytes()).startswith(b'"id","a","b","kind"')


def test_error_keeps_the_old_file(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("as it was")
    with pytest.raises(KeyError, match="other"):
        write_mismatched(path, {"other": np.array([1])})
    assert path.read_text() == "as it was"
    assert [each.name for each in tmp_path.iterdir()] == ["t.csv"]


def test_missing_values_of_any_kind_are_empty(tmp_path):
    values = np.array(["x", None, np.nan, pd.NA, pd.NaT], dtype=object)
    with ColumnWriter(tmp_path / "t.csv") as writer:
        writer.write({"row": np.arange(5), "a": values})
    lines = (tmp_path / "t.csv").read_text().split()
    assert lines == ['"row","a"', '0,"x"', "1,", "2,", "3,", "4,"]


def test_unsupported_extension_raises(tmp_path):
    with pytest.raises(
        ValueError, match=r"Unsupported file type: .*t\.xls\. Supported extensions are"
    ):
        ColumnWriter(tmp_path / "t.xls")
