"""Several files, standard input, URLs, and the types of Parquet and Feather files."""

import datetime
import decimal
import gzip
import io
import os
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hostile_files import assert_one_sentence, write
from numpy.testing import assert_array_equal
from pyarrow import feather, ipc

import dimetric
from dimetric.data import read_table
from dimetric.data._features import FeatureReader
from dimetric.data._files import TableFile, is_file_source
from dimetric.data._readers import frames

FRAME = pd.DataFrame({"a": [1, 2, 3, 4], "b": ["u", "v", "u", "v"], "class": ["x", "y", "y", "x"]})


def saved(frame, path):
    """Write a data frame in the format of the extension."""
    match path.suffix:
        case ".csv":
            frame.to_csv(path, index=False)
        case ".parquet":
            frame.to_parquet(path)
        case ".feather":
            frame.to_feather(path)
        case ".xlsx":
            frame.to_excel(path, index=False)
        case ".jsonl":
            frame.to_json(path, orient="records", lines=True)
    return path


# Several files.


@pytest.mark.parametrize("names", [("a.csv", "b.csv"), ("a.csv", "b.parquet", "c.xlsx", "d.jsonl"),
                                   ("a.feather", "b.csv")])  # fmt: skip
def test_several_files_are_concatenated(tmp_path, names):
    paths = [saved(FRAME, tmp_path / names[0])]
    paths += [saved(FRAME[["class", "b", "a"]], tmp_path / each) for each in names[1:]]
    n_files = len(names)
    data = read_table(paths)
    assert_array_equal(data.X, np.tile(read_table(paths[0]).X, (n_files, 1)))
    assert_array_equal(data.y, [*FRAME["class"]] * n_files)
    assert data.name == f"a-and-{n_files - 1}-more"
    parts = list(TableFile.open(paths).chunks(string_columns=["a"], cells_per_chunk=6))
    assert [list(each) for each in parts] == [["a", "b", "class"]] * (2 * n_files)
    assert [text for each in parts for text in each["a"]][:8] == ["1", "2", "3", "4"] * 2


def test_columns_must_be_equal(tmp_path):
    first = saved(FRAME, tmp_path / "a.csv")
    second = saved(FRAME.rename(columns={"a": "c"})[["c", "class"]], tmp_path / "b.csv")
    sentence = (
        r"b\.csv lacks the columns 'a' and 'b' of .*a\.csv and has the column 'c', which .*a\.csv "
        r"lacks\. All files must have the same columns\."
    )
    for function in (TableFile.read, TableFile.column_names, lambda file: list(file.chunks())):
        with pytest.raises(ValueError, match=sentence):
            function(TableFile.open([first, second]))


def test_numbers_become_texts_if_another_file_has_texts(tmp_path):
    first = saved(FRAME, tmp_path / "a.csv")
    second = saved(FRAME.assign(a=["1", "k", None, "2.5"]), tmp_path / "b.csv")
    columns = TableFile.open([first, second]).read()
    assert list(columns["a"]) == ["1", "2", "3", "4", "1", "k", None, "2.5"]


def test_a_query_needs_one_file(tmp_path):
    path = saved(FRAME, tmp_path / "a.csv")
    with pytest.raises(ValueError, match="A query needs one file, but 2 are given"):
        TableFile.open([path, path], sql="SELECT * FROM data")


def test_notes_name_the_file(tmp_path):
    first = saved(FRAME, tmp_path / "a.csv")
    second = write(tmp_path / "b.csv", "A title\n" + first.read_text())
    notes = TableFile.open([first, second]).notes()
    assert notes == [f"{second}: Skipped the line above the column names."]


@pytest.mark.slow
def test_compare_takes_several_files(tmp_path):
    rng = np.random.default_rng(0)
    paths = []
    for i in range(2):
        y = np.repeat(["p", "q"], 20)
        frame = pd.DataFrame({"a": rng.normal(size=40) + (y == "p"), "class": y})
        paths.append(saved(frame, tmp_path / f"{i}.csv"))
    result = dimetric.compare(paths, target="class", learners=["LDA"], budget=2, n_jobs=1)
    assert len(result.samples.y) == 80
    assert is_file_source(paths)
    assert not is_file_source([])


# Standard input, pipes and URLs.


@pytest.fixture
def stdin(monkeypatch):
    """Set the bytes of standard input."""

    def set_bytes(content, *, is_terminal=False):
        stream = SimpleNamespace(
            buffer=io.BytesIO(content), closed=False, isatty=lambda: is_terminal
        )
        monkeypatch.setattr(sys, "stdin", stream)

    return set_bytes


@pytest.mark.parametrize("kind", ["csv", "csv.gz", "jsonl", "parquet", "feather", "xlsx", "npy"])
def test_standard_input(tmp_path, stdin, kind):
    path = tmp_path / f"t.{kind}"
    if kind == "csv.gz":
        path.write_bytes(gzip.compress(FRAME.to_csv(index=False).encode()))
    elif kind == "npy":
        np.save(path, FRAME[["a"]])
    else:
        saved(FRAME, path)
    stdin(path.read_bytes())
    table = TableFile.open("-")
    assert (table.name, table.label) == ("stdin", "standard input")
    for _ in range(2):  # it can be read several times
        assert list(table.read()[table.column_names()[0]]) == [1, 2, 3, 4]


def test_errors_about_standard_input(stdin):
    stdin(b"")
    with pytest.raises(ValueError, match="standard input is empty"):
        TableFile.open("-")
    stdin(b"", is_terminal=True)
    with pytest.raises(ValueError, match="no file or pipe is connected to it"):
        TableFile.open("-")
    with pytest.raises(ValueError, match="is given twice"):
        TableFile.open(["-", Path("-")])
    stdin(b"a,b\n1,2\n3,4,5\n")
    with pytest.raises(ValueError, match="standard input cannot be read as a table: line 3 has 3"):
        TableFile.open("-").read()
    stdin(b"\x00\x01\x02\x03")
    with pytest.raises(ValueError, match=r"standard input cannot be read .* not a text file"):
        TableFile.open("-")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no pipes in folders")
def test_a_named_pipe(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    text = FRAME.to_csv(index=False)
    thread = threading.Thread(target=(tmp_path / "pipe.csv").write_text, args=[text])
    thread.start()
    assert list(TableFile.open(tmp_path / "pipe.csv").read()["a"]) == [1, 2, 3, 4]
    thread.join()


@pytest.mark.parametrize("make", [str, Path])
@pytest.mark.parametrize(
    "url", ["http://a.org/b.csv", "https://a.org/b.csv?x=1", "s3://c/b.parquet", "gs://c/b.csv"]
)
def test_urls_are_refused(url, make):
    sentence = f"dimetric does not download files. Download {url} first, then pass the file."
    with pytest.raises(ValueError, match="does not download") as raised:
        read_table(make(url))
    assert str(raised.value) == sentence


def test_file_urls_are_refused():
    with pytest.raises(ValueError, match=r"file:///a/b\.csv is a URL\. Pass .* /a/b\.csv\."):
        read_table("file:///a/b.csv")


# Types of Parquet and Feather files.

DAY = datetime.date(2024, 5, 1)
NOON = datetime.datetime(2024, 5, 1, 12)
FLAT = pa.table(
    {
        "decimal": pa.array([decimal.Decimal("1.25"), None], pa.decimal128(5, 2)),
        "wide decimal": pa.array([decimal.Decimal("1.25"), None], pa.decimal256(50, 2)),
        "category": pa.array(["u", "v"]).dictionary_encode(),
        "day": pa.array([DAY, None], pa.date32()),
        "milliseconds": pa.array([DAY, None], pa.date64()),
        "moment": pa.array([NOON, None], pa.timestamp("us")),
        "zone": pa.array([NOON, None], pa.timestamp("us", "UTC")).cast(
            pa.timestamp("us", "Asia/Tokyo")
        ),
        "duration": pa.array([datetime.timedelta(1), None], pa.duration("s")),
        "half": pa.array(np.array([0.5, 1], dtype=np.float16)),
        "integer": pa.array([2**60 + 1, None], pa.int64()),
        "text": pa.array(["s", None], pa.large_string()),
        "view": pa.array(["s", None], pa.string_view()),
        "flag": pa.array([True, None]),
        "null": pa.array([None, None]),
    }
)
NESTED = pa.table(
    {
        "a": [1, 2],
        "list": [[1], [2]],
        "struct": [{"k": 1}, None],
        "map": pa.array([[("k", 1)], []], pa.map_(pa.string(), pa.int64())),
        "fixed": pa.array([[1, 2], [3, 4]], pa.list_(pa.int64(), 2)),
        "binary": [b"1", b"2"],
        "large": pa.array([b"1", b"2"], pa.large_binary()),
        "class": ["x", "y"],
    }
)


def write_arrow(table, path):
    if path.suffix == ".parquet":
        from pyarrow import parquet

        drop = [each.name for each in table.schema if each.type == pa.string_view()]
        parquet.write_table(table.drop_columns(drop), path)
    elif path.suffix == ".arrow":
        with ipc.new_stream(path, table.schema) as writer:
            writer.write_table(table)
    else:
        feather.write_feather(table, path)
    return path


@pytest.fixture(params=[".parquet", ".feather", ".arrow"])
def extension(request):
    return request.param


def test_types_of_arrow_files(tmp_path, extension):
    file = TableFile.open(write_arrow(FLAT, tmp_path / f"a{extension}"))
    for frame in (file.read(), next(file.chunks())):
        assert list(frame) == file.column_names()
        for name in ("day", "milliseconds", "moment", "zone"):
            assert frame[name].dtype.kind == "M"
        assert frame["day"][0] == pd.Timestamp(DAY)
        assert frame["zone"][0] == pd.Timestamp("2024-05-01 21:00")  # local time
        assert frame["duration"].dtype.kind == "m"
        assert float(frame["decimal"][0]) == float(frame["wide decimal"][0]) == 1.25
        assert list(frame["category"]) == ["u", "v"]
        assert_array_equal(frame["half"], [0.5, 1])
        assert frame["integer"][0] == 2**60 + 1


def test_all_nested_columns_are_refused_at_once(tmp_path, extension):
    path = write_arrow(NESTED, tmp_path / f"a{extension}")
    names = ["list", "struct", "map", "fixed", "binary", "large"]
    with pytest.raises(ValueError, match=r"hold.* (lists|bytes).* cannot be features") as raised:
        read_table(path)
    assert all(f"'{name}'" in str(raised.value) for name in names)
    assert read_table(path, drop=names).feature_names == ("a",)
    assert list(next(TableFile.open(path).chunks())) == ["a", "class"]
    with pytest.raises(ValueError, match="'map' holds maps, so it cannot be the target"):
        TableFile.open(path).read("map")
    model = dimetric.PCA(1).fit([[1.0], [2.0]])
    with pytest.raises(ValueError, match="--keep: column 'list' holds lists"):
        list(FeatureReader(model, TableFile.open(path), ["list"], option="--keep"))


def test_row_names_of_pandas(tmp_path, extension):
    frame = FRAME.set_index(pd.Index([7, 5, 3, 9], name="customer"))
    path = write_arrow(pa.Table.from_pandas(frame), tmp_path / f"a{extension}")
    assert TableFile.open(path).column_names() == ["a", "b", "class", "customer"]
    assert list(TableFile.open(path).read()["customer"]) == [7, 5, 3, 9]
    path = write_arrow(pa.Table.from_pandas(FRAME[::2][::-1]), tmp_path / f"b{extension}")
    file = TableFile.open(path)
    for names in (file.column_names(), list(file.read()), list(next(file.chunks()))):
        assert names == ["a", "b", "class"]


def test_chunks_of_feather_files(tmp_path, extension):
    table = pa.table({"a": range(10), "class": ["x"] * 10})
    file = TableFile.open(write_arrow(table, tmp_path / f"a{extension}"))
    assert [len(each) for each in file.chunks(cells_per_chunk=8)] == [4, 4, 2]


def test_without_pyarrow(tmp_path, extension, monkeypatch):
    file = TableFile.open(write_arrow(NESTED, tmp_path / f"a{extension}"))
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    for read in (TableFile.column_names, lambda file: list(file.chunks())):
        with pytest.raises(ImportError, match=r"file requires pyarrow: pip install pyarrow\."):
            read(file)


def test_polars_reads_parquet_without_pyarrow(tmp_path, monkeypatch):
    file = TableFile.open(saved(FRAME, tmp_path / "a.parquet"))
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    monkeypatch.setattr(frames, "data_frame_library", lambda: (pl, False))
    assert file.column_names() == ["a", "b", "class"]
    assert file.read()["a"].to_list() == [1, 2, 3, 4]


def test_damaged_arrow_files(tmp_path, extension):
    path = write_arrow(FLAT, tmp_path / f"a{extension}")
    content = path.read_bytes()
    for n_bytes in (9, len(content) // 2, len(content) - 5):
        write(path, content[:n_bytes])
        try:
            TableFile.open(path).read()
        except ValueError:
            assert_one_sentence(path, lambda path: TableFile.open(path).read())
        else:
            assert extension == ".arrow"  # a stream may end without a mark
