"""read_table: samples and targets from data frames and files."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal

from dimetric.data import DataSet, read_table
from dimetric.data._readers import frames

COLUMNS = {
    "size": [1.5, 2.5, 3.5, 4.5],
    "colour": ["red", "blue", "green", "red"],
    "count": [3, 1, 2, 0],
    "new": [True, False, True, True],
    "mark": ["x", "o", "o", "x"],
    "class": ["a", "b", "b", "a"],
}
X = [
    [1.5, 0, 0, 1, 3, 1, 1],
    [2.5, 1, 0, 0, 1, 0, 0],
    [3.5, 0, 1, 0, 2, 1, 0],
    [4.5, 0, 0, 1, 0, 1, 1],
]
NAMES = ("size", "colour=blue", "colour=green", "colour=red", "count", "new", "mark=x")


@pytest.fixture(params=["pandas", "polars", "csv", "csv.gz", "tsv", "semicolons", "parquet"])
def table(request, tmp_path):
    """The same table, in memory or in a file."""
    frame = pd.DataFrame(COLUMNS)
    if request.param == "pandas":
        return frame
    if request.param == "polars":
        return pl.DataFrame(COLUMNS)
    path = tmp_path / f"balls.{'csv' if request.param == 'semicolons' else request.param}"
    if request.param == "parquet":
        frame.to_parquet(path)
    else:
        separator = {"tsv": "\t", "semicolons": ";"}.get(request.param, ",")
        frame.to_csv(path, index=False, sep=separator)
    return path


@pytest.fixture(params=["pandas", "polars"])
def library(request, monkeypatch):
    """The library that reads files."""
    chosen = (pd, True) if request.param == "pandas" else (pl, False)
    monkeypatch.setattr(frames, "data_frame_library", lambda: chosen)


@pytest.mark.usefixtures("library")
def test_read_table(table):
    data = read_table(table)
    assert isinstance(data, DataSet)
    assert_array_equal(data.X, X)
    assert data.X.dtype == np.float64
    assert_array_equal(data.y, ["a", "b", "b", "a"])
    assert data.feature_names == NAMES
    assert data.target_name == "class"
    assert data.notes == (
        "Column 'colour' is one-hot encoded (3 categories).",
        "Column 'mark' is encoded as 1 for 'x' and 0 for 'o'.",
    )
    assert data.name == ("balls" if not hasattr(table, "columns") else "")
    assert "4 samples, 7 features, 2 values of y" in repr(data)
    assert data.notes[0] in repr(data)


def test_roles_of_columns():
    frame = pd.DataFrame({"a": [1, 2], "Label": [3, 4], "z": [5.5, 6.5]})
    assert read_table(frame).target_name == "Label"
    assert read_table(frame[["a", "z"]]).target_name == "z"
    three_spellings = pd.DataFrame({"Class": [1, 2], "class": [3, 4], "CLASS": [5, 6]})
    assert read_table(three_spellings).target_name == "class"
    assert read_table(three_spellings[["Class", "CLASS"]]).target_name == "CLASS"
    data = read_table(frame, "a", drop=["z"])
    assert_array_equal(data.y, [1, 2])
    assert data.feature_names == ("Label",)
    data = read_table(frame, extra="a")
    assert_array_equal(data.extra["a"], [1, 2])
    assert data.feature_names == ("z",)


WITH_MISSING_VALUES = {
    "size": [1.0, None, 3.0, 8.0, 2.0],
    "colour": ["red", "blue", None, "red", "blue"],
    "class": ["a", "b", "b", "a", None],
}


@pytest.mark.parametrize("library", [pd, pl])
def test_missing_values(library):
    frame = library.DataFrame(WITH_MISSING_VALUES)
    with pytest.warns(UserWarning, match="Dropped 3 of 5 rows because of missing values"):
        data = read_table(frame)
    assert_array_equal(data.X, [[1, 1], [8, 1]])
    assert data.notes[0].startswith("Dropped 3 of 5 rows because of missing values. In 1 of them, ")
    with pytest.warns(UserWarning, match="1 of 5 rows"):
        data = read_table(frame, missing="impute")
    assert_array_equal(data.X, [[1, 1], [3, 0], [3, 1], [8, 1]])
    assert "Missing values in 2 of 5 rows are replaced by the median or most" in data.notes[1]
    with pytest.raises(
        ValueError, match=r"Missing values in 3 of 5 rows, in the columns \['size', 'col"
    ):
        read_table(frame, missing="raise")
    with pytest.raises(ValueError, match="missing='fill' must be"):
        read_table(frame, missing="fill")


@pytest.mark.usefixtures("library")
def test_missing_values_in_files(tmp_path):
    path = tmp_path / "gaps.csv"
    path.write_text("a,b,class\n1,,x\n2,5,y\n?,7,y\n")
    with pytest.warns(UserWarning, match="2 of 3 rows"):
        data = read_table(path)
    assert_array_equal(data.X, [[2, 5]])


def test_no_rows_remain():
    with pytest.raises(ValueError, match=r"all 2 rows have missing values. Set missing='impute'"):
        read_table(pd.DataFrame({"a": [1, None], "b": [None, 1], "c": [1, 2]}))
    with pytest.raises(ValueError, match=r"No rows remain: all 2 rows have missing values.$"):
        read_table(pd.DataFrame({"a": [1, 2], "class": [None, None]}))
    with pytest.raises(ValueError, match=r"no columns.* Left out: 'a' \(all values are missing\)"):
        read_table(pd.DataFrame({"a": [None, None], "class": [1, 2]}), missing="impute")


@pytest.mark.parametrize(
    "dates",
    [
        pd.to_datetime(["2020-01-01", "2021-01-01"]),
        [datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)],
        ["2020-01-01", "2021-12-31"],
        ["2020-01-01 10:00", "2021-12-31T11:00"],
        ["1.2.2020", "31/12/2021"],
    ],
)
def test_dates_become_features(dates):
    data = read_table(pd.DataFrame({"when": dates, "class": [1, 2]}))
    assert "when year" in data.feature_names
    year = data.X[:, data.feature_names.index("when year")]
    assert_array_equal(year, [2020, 2021])
    assert read_table(pd.DataFrame({"when": dates, "a": [1, 2], "class": [1, 2]}), drop=["when"])


def test_numbers_with_a_few_texts_are_numbers():
    texts = [*map(str, range(0, 980, 10)), "<5", "none"]
    frame = pd.DataFrame({"size": texts, "class": np.arange(100) % 2})
    data = read_table(frame, missing="impute")
    assert_array_equal(data.X[:98, 0], np.arange(0, 980, 10))
    assert_array_equal(data.X[98:, 0], [485, 485])  # the median
    assert (
        "2 values cannot be read as numbers and are treated as missing: '<5', 'none'"
        in " ".join(data.notes)
    )


def test_nullable_dtypes():
    frame = pd.DataFrame(
        {
            "kind": pd.Categorical(["u", "v", None]),
            "count": pd.array([1, None, 3], dtype="Int64"),
            "new": pd.array([True, None, False], dtype="boolean"),
            "class": [0, 1, 0],
        }
    )
    data = read_table(frame, missing="impute")
    assert_array_equal(data.X, [[0, 1, 1], [1, 2, 0.5], [0, 3, 0]])


def test_all_nested_columns_are_refused_at_once():
    frame = pd.DataFrame(
        {"a": [1, 2], "tags": [["x"], ["y"]], "where": [{"x": 1}, None], "class": ["u", "v"]}
    )
    for each in (frame, pl.DataFrame(frame.to_dict("list"))):
        with pytest.raises(ValueError, match=r"'tags' holds lists.* 'where' holds structs"):
            read_table(each)
        assert read_table(each, drop=["tags", "where"]).feature_names == ("a",)


def test_numbers_in_object_columns():
    frame = pd.DataFrame({"a": np.array([1, 2.5, None], dtype=object), "class": [1, 2, 3]})
    assert_array_equal(read_table(frame, missing="impute").X, [[1], [2.5], [1.75]])


@pytest.mark.parametrize(
    ("make", "error", "sentence"),
    [
        (lambda path: path / "none.csv", FileNotFoundError, "There is no file .*none.csv"),
        (lambda path: path, IsADirectoryError, "is a directory, not a file"),
        (lambda path: _file(path, "a.csv", b""), ValueError, "a.csv is empty"),
        (lambda path: _file(path, "a.xls", b"x"), ValueError, "Unsupported file type: a.xls"),
        (lambda path: _file(path, "a.csv", b"a,b\n"), ValueError, "a is empty: it has no rows"),
        (lambda path: _file(path, "a.csv.gz", b"no gzip"), ValueError, "cannot be read as a table"),
        (lambda path: _file(path, "a.csv", b"\xff\xfe\x00\xd8"), ValueError, "cannot be read"),
        (lambda path: [[1, 2]], TypeError, "not list"),
        (lambda path: pd.DataFrame({"class": [1]}), ValueError, "no feature columns"),
        (lambda path: pd.DataFrame([[1, 2, 3]], columns=["a", "a", "b"]), ValueError,
         "several columns named 'a'"),
        (lambda path: pd.DataFrame({"a": [1, np.inf], "b": [1, 2]}), ValueError, "infinite values"),
    ],
)  # fmt: skip
def test_invalid_tables_raise(make, error, sentence, tmp_path):
    with pytest.raises(error, match=sentence):
        read_table(make(tmp_path))


def _file(directory, name, content):
    (directory / name).write_bytes(content)
    return directory / name


def test_unknown_columns():
    frame = pd.DataFrame(COLUMNS)
    with pytest.raises(ValueError, match=r"target: there is no column 'clas'. Did you mean class"):
        read_table(frame, "clas")
    with pytest.raises(ValueError, match=r"drop: there is no column 'zzz'. Choose from size"):
        read_table(frame, drop=["zzz"])


def test_without_pandas_and_polars(monkeypatch, tmp_path):
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    assert frames.data_frame_library()[0] is pl
    monkeypatch.setitem(__import__("sys").modules, "polars", None)
    with pytest.raises(ImportError, match="requires pandas or polars: pip install pandas"):
        read_table(_file(tmp_path, "a.csv", b"a,b\n1,2\n"))


def test_dots_in_file_names_are_kept(tmp_path):
    for year in (2023, 2024):
        (tmp_path / f"sales.{year}.csv").write_text("a,class\n1,x\n2,y\n")
        assert read_table(tmp_path / f"sales.{year}.csv").name == f"sales.{year}"


def test_note_on_a_missing_header(tmp_path):
    file = tmp_path / "table.csv"
    rows = "1.5,2.5,a\n3.5,1.5,b\n2.5,0.5,a\n"
    file.write_text("x0,x1,class\n" + rows)
    assert read_table(file).notes == ()
    file.write_text(rows)
    assert read_table(file, "x2").notes == (
        "The file has no header. Its columns are named x0, x1, ...",
    )
