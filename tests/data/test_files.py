"""Reading table files, as a whole and in chunks."""

import gzip
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_array_equal

from dimetric.data import load_data_set, read_table
from dimetric.data._files import TableFile
from dimetric.data._readers import dialect as dialect_module
from dimetric.data._readers import frames, text
from dimetric.data._readers.dialect import HEAD_BYTES, Dialect, detect_dialect

TWO = [[1.0, 2.0], [3.0, 4.0]]


def write_file(directory, content, name="table.csv"):
    path = directory / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    ("content", "X"),
    [
        ("a,b,class\n1,2,x\n3,4,y\n", TWO),
        ("a;b;class\n1;2;x\n3;4;y\n", TWO),
        ("a\tb\tclass\n1\t2\tx\n3\t4\ty\n", TWO),
        ("a|b|class\n1|2|x\n3|4|y\n", TWO),
        ("a b class\n1 2 x\n3 4 y\n", TWO),
        ("a, b, class\n1, 2, x\n3, 4, y\n", TWO),
        ('"a","b","class"\n"1","2","x"\n"3","4","y"\n', TWO),
        ('a,b,class\n1,2,"x, or; so"\n3,4,"y; or, no"\n', TWO),
        ("\ufeffa,b,class\r\n1,2,x\r\n3,4,y\r\n", TWO),
        ("\n\na,b,class\n\n1,2,x\n\n3,4,y\n\n", TWO),
        ("a,b,class,\n1,2,x,\n3,4,y,\n", TWO),
        ("Größe,b,class\n1,2,x\n3,4,y\n".encode("latin-1"), TWO),
        ("a,b,class\n1,2,x\n3,4,é\n".encode("utf-16"), TWO),
        ("a;b;class\n1,5;2;x\n3,25;4;y\n", [[1.5, 2], [3.25, 4]]),
        ("a;b;class\n1.234,5;2;x\n3,25;4;y\n", [[1234.5, 2], [3.25, 4]]),
        ("a;b;class\n1.5;2;x\n3.25;4;y\n", [[1.5, 2], [3.25, 4]]),
        ("a;b;class\n1.234;2,5;x\n999;4,5;y\n", [[1234, 2.5], [999, 4.5]]),
        ('a,b,class\n"1,234",2,x\n"12,345.5",4,y\n', [[1234, 2], [12345.5, 4]]),
        ("id,a,b,class\n1007,1,2,x\n1002,3,4,y\n", TWO),
        (",a,b,class\n0,1,2,x\n1,3,4,y\n", TWO),
        ("a,b,class\nr1,1,2,x\nr2,3,4,y\n", TWO),
        ("5.1,3.5,x\n4.9,3.0,y\n", [[5.1, 3.5], [4.9, 3.0]]),
        ("5,3,x\n4,9,y\n", [[5, 3], [4, 9]]),
        ("5,?,x\n4,9,y\n3,8,x\n", [[4, 9], [3, 8]]),
        ("0,1,class\n1,2,x\n3,4,y\n", TWO),
        ("1,5;2,5;x\n3,5;4,5;y\n", [[1.5, 2.5], [3.5, 4.5]]),
    ],
)
@pytest.mark.filterwarnings("ignore:Dropped 1 of 3 rows")
def test_dialects_of_text_files(tmp_path, content, X):
    assert_array_equal(read_table(write_file(tmp_path, content)).X, X)


@pytest.mark.parametrize(
    ("content", "note"),
    [
        (
            "id,a,class\n1007,1,x\n1002,3,y\n",
            "Dropped column 'id': it looks like a row identifier.",
        ),
        (",a,class\n0,1,x\n1,3,y\n", "Dropped column 'Unnamed: 0': it looks like a row id"),
        ("a,class\nr1,1,x\nr2,3,y\n", "Ignored the row names"),
        ("a,class,\n1,x,\n3,y,\n", "it has no name and no values"),
        ("5.1,3.5,x\n4.9,3.0,y\n", "The file has no header. Its columns are named x0"),
        ("a,a,class\n1,2,x\n3,4,y\n", "Several columns are named 'a'"),
        ("a,b,class\n1,2,x\n1,4,y\n", "Dropped column 'a': it holds a single value."),
        ("a,b,class\nu,2,x\nu,4,y\n", "Dropped column 'a': it holds a single value."),
        (
            "a,class\n" + "".join(f"{i},x\n" for i in [*range(0, 200, 10), "<5"]),
            "1 value cannot be read as numbers and is treated as missing: '<5'.",
        ),
    ],
)
def test_notes_describe_unusual_columns_and_files(tmp_path, content, note):
    notes = read_table(write_file(tmp_path, content), missing="impute").notes
    assert len(notes) == (3 if "<5" in content else 1)
    assert note in notes[0]


@pytest.mark.filterwarnings("ignore:Dropped 5 of 6 rows")
def test_missing_value_markers(tmp_path):
    path = write_file(tmp_path, "a,b,class\n1,NA,x\n2,?,y\nnull,2,x\n-,3,y\n5,6,\n7,8,y\n")
    assert_array_equal(read_table(path).X, [[7, 8]])


def test_dates_are_not_read_as_thousands(tmp_path):
    content = "a;when;class\n1.234,5;01.02.2020;x\n-;03.04.2021;y\n3,5;05.06.2022;x\n"
    path = write_file(tmp_path, content)
    data = read_table(path, missing="impute")
    assert_array_equal(data.X[:, data.feature_names.index("when year")], [2020, 2021, 2022])
    data = read_table(path, missing="impute", drop=["when"])
    assert_array_equal(data.X, [[1234.5], [619], [3.5]])
    parts = list(TableFile.open(path).chunks(cells_per_chunk=3))
    assert [part["a"].iloc[0] for part in parts] == [1234.5, "-", 3.5]


def test_dash_among_strings_is_a_category(tmp_path):
    data = read_table(write_file(tmp_path, "a,b,class\n1,u,+\n2,-,-\n3,u,+\n"))
    assert_array_equal(data.y, ["+", "-", "+"])
    assert data.feature_names == ("a", "b=u")


@pytest.mark.parametrize(
    ("target", "name"), [("b", "b"), (1, "b"), ("1", "b"), (-3, "a"), ("-1", "c")]
)
def test_targets_by_name_and_number(tmp_path, target, name):
    path = write_file(tmp_path, "a,b,c\n1,2,3\n4,5,6\n")
    assert read_table(path, target).target_name == name
    with pytest.raises(ValueError, match=r"out of range. There are 3 columns, numbered from 0"):
        read_table(path, 3)
    named = write_file(tmp_path, "x,2,-1\n1,2,3\n4,5,6\n")
    assert read_table(named, "-1").target_name == "-1"
    assert read_table(named, "2").target_name == "2"


def test_integer_classes_stay_integers_if_some_are_missing(tmp_path):
    path = write_file(tmp_path, "a,class\n1,0\n2,1\n3,\n4,1\n")
    with pytest.warns(UserWarning, match="1 of 4 rows"):
        data = read_table(path)
    assert data.y.dtype.kind == "i"


@pytest.mark.parametrize(
    ("classes", "y"),
    [
        (["01", "1", "01"], ["01", "1", "01"]),
        (["None", "apnea", "NA"], ["None", "apnea", "NA"]),
        (["1", "NA", "2"], [1, 2]),
        (["a", "?", "b"], ["a", "b"]),
        (["True", "False", "True"], ["True", "False", "True"]),
        (["10", "7", "-3"], [10, 7, -3]),
        (["1.0", "2.5", "0.1"], [1.0, 2.5, 0.1]),
    ],
)
@pytest.mark.filterwarnings("ignore:Dropped 1 of 3 rows")
def test_classes_are_kept_as_written(tmp_path, classes, y):
    lines = [f"{i}.5,{each}" for i, each in enumerate(classes)]
    for path in (
        write_file(tmp_path, "\n".join(["a,kind", *lines])),
        write_file(tmp_path, "\n".join(lines), "bare.csv"),
    ):
        data = read_table(path)
        assert data.y.tolist() == y
    frame = pd.DataFrame({"a": [0.5, 1.5, 2.5], "kind": classes})
    assert read_table(frame).y.tolist() == y


def test_note_on_classes_that_look_like_missing_values(tmp_path):
    path = write_file(tmp_path, "a,class\n1,None\n2,x\n3,None\n4,\n")
    with pytest.warns(UserWarning, match="1 of 4 rows"):
        data = read_table(path)
    assert data.notes[0] == (
        "'None' in column 'class' is read as a class name. Only empty fields and '?' mark missing "
        "classes."
    )


def test_targets_with_decimal_commas(tmp_path):
    path = write_file(tmp_path, "a;y\n1,5;2,5\n3,5;1.234,5\n4,5;7\n")
    assert_array_equal(read_table(path).y, [2.5, 1234.5, 7])


def test_spaces_around_names_are_stripped(tmp_path):
    path = write_file(tmp_path, " a , class \n1,01\n2,1\n")
    data = read_table(path)
    assert (data.feature_names, data.target_name) == (("a",), "class")
    assert_array_equal(data.y, ["01", "1"])
    assert next(TableFile.open(path).chunks(string_columns=["class"]))["class"].tolist() == [
        "01",
        "1",
    ]


def test_npz_without_y(tmp_path):
    np.savez(tmp_path / "a.npz", X=np.eye(3))
    with pytest.raises(
        ValueError, match=r"a.npz has no array y. .* set target to its name, for example 'x2'"
    ):
        read_table(tmp_path / "a.npz")
    assert read_table(tmp_path / "a.npz", "x1").target_name == "x1"


def test_unnamed_column_is_not_the_target(tmp_path):
    assert read_table(write_file(tmp_path, "a,kind,\n1,x,\n3,y,\n")).target_name == "kind"


def test_header_parameter_overrides_detection(tmp_path):
    path = write_file(tmp_path, "5,3,x\n4,9,y\n")
    assert len(read_table(path, header=True).X) == 1
    assert TableFile.open(path, header=False).read().shape == (2, 3)


NON_ASCII_AT_THE_END = b"a,b\n" + b"1,x\n" * 400_000 + "2,é\n3,\x81".encode("latin-1")


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("name", ["table.csv", "table.csv.gz"])
def test_invalid_utf8_after_the_detected_part(tmp_path, monkeypatch, library, name):
    chosen = (pd, True) if library == "pandas" else (pl, False)
    monkeypatch.setattr(frames, "data_frame_library", lambda: chosen)
    content = gzip.compress(NON_ASCII_AT_THE_END) if name.endswith(".gz") else NON_ASCII_AT_THE_END
    table = TableFile.open(write_file(tmp_path, content, name))
    assert table.dialect == Dialect(",", True, ".", "utf-8")  # detected from the first part
    assert list(table.read()["b"])[-2:] == ["é", "\x81"]
    if library == "pandas":
        *_, last = table.chunks(string_columns=["b"])
        assert list(last["b"])[-2:] == ["é", "\x81"]


@pytest.mark.parametrize(
    ("content", "encoding", "letters"),
    [
        ("a,b\n1,é".encode(), "utf-8", ["é"]),
        ("a,b\n1,é".encode("cp1252"), "cp1252", ["é"]),
        ("a,b\n1,€".encode("cp1252"), "cp1252", ["€"]),
        (b"a,b\n1,\x81", "latin-1", ["\x81"]),
        (b"a,b\n1,\xe9\n" + b"2,x\n" * 300_000 + b"3,\x81", "cp1252", ["é", "\x81"]),
    ],
)
def test_encodings(tmp_path, content, encoding, letters):
    table = TableFile.open(write_file(tmp_path, content))
    assert table.dialect.encoding == encoding
    assert [each for each in table.read()["b"] if each != "x"] == letters


@pytest.fixture
def detections(monkeypatch):
    """Record the files whose dialect is detected, and the numbers of bytes read to detect it."""
    record = SimpleNamespace(paths=[], bytes=[])
    detect, opened = dialect_module.detect_dialect, dialect_module._open_binary

    def detected(path, header=None, **options):
        record.paths.append(Path(path).name)
        return detect(path, header, **options)

    @contextmanager
    def reading(path, is_gzip):
        with opened(path, is_gzip) as stream:
            yield SimpleNamespace(read=lambda n: record.bytes.append(n) or stream.read(n))

    monkeypatch.setattr(text, "detect_dialect", detected)
    monkeypatch.setattr(dialect_module, "_open_binary", reading)
    return record


def test_dialect_is_detected_once_per_read(tmp_path, detections):
    path = write_file(tmp_path, "1,5;2,5;x\n3,5;4,5;y\n5,5;1,5;x\n", "bare.csv")
    read_table(path)
    assert detections.paths == ["bare.csv"]
    assert detections.bytes == [HEAD_BYTES]
    load_data_set("bare", tmp_path)
    assert detections.paths == ["bare.csv"] * 2
    table = TableFile.open(path)
    table.column_names(), table.read(), list(table.chunks(cells_per_chunk=3))
    assert detections.paths == ["bare.csv"] * 3
    assert detections.bytes == [HEAD_BYTES] * 3


@pytest.mark.parametrize("name", ["table.csv", "table.csv.gz"])
def test_detection_reads_only_the_first_part(tmp_path, detections, name):
    head = "größe;klasse\n" + "1,5;a\n" * 200_000
    tail = b"\0\xff\xfe|,|,|,1.5\n" * 100_000
    assert len(head) > HEAD_BYTES
    content = head.encode() + tail
    path = write_file(tmp_path, gzip.compress(content) if name.endswith(".gz") else content, name)
    is_gzip = name.endswith(".gz")
    assert detect_dialect(path, is_gzip=is_gzip) == Dialect(";", True, ",", "utf-8")
    assert detections.bytes == [HEAD_BYTES]


def test_first_part_may_end_inside_a_character(tmp_path):
    line = "1,5;größe größe\n".encode()
    for start in range(len(line)):
        names = "n" * start + ";klasse\n"
        content = names.encode() + line * (HEAD_BYTES // len(line) + 2)
        assert content[HEAD_BYTES - 1 : HEAD_BYTES]
        assert detect_dialect(write_file(tmp_path, content)) == Dialect(";", True, ",", "utf-8")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (
            "a,b,class\n1,2,x\n3,4,y,5,6\n",
            "table.csv cannot be read as a table: line 3 has 5 values instead of 3",
        ),
        (bytes(range(256)), "table.csv cannot be read as a table: it is not a text file"),
    ],
)
def test_invalid_tables_raise(tmp_path, content, sentence):
    with pytest.raises(ValueError, match=sentence):
        read_table(write_file(tmp_path, content))


def test_npz_and_npy(tmp_path):
    X, y = np.arange(6.0).reshape(3, 2), np.array(["a", "b", "a"])
    for order in "CF":
        np.savez(tmp_path / "a.npz", X=np.asarray(X, order=order), y=y)
        data = read_table(tmp_path / "a.npz")
        assert_array_equal(data.X, X)
        assert_array_equal(data.y, y)
        assert data.feature_names == ("x0", "x1")
    np.save(tmp_path / "a.npy", X)
    assert list(TableFile.open(tmp_path / "a.npy").read()) == ["x0", "x1"]


@pytest.mark.parametrize(
    ("arrays", "sentence"),
    [
        ({"Z": np.ones((2, 2))}, "has no array X. It holds Z"),
        ({"X": np.ones(2)}, r"must be a two-dimensional numeric array, but has shape \(2,\)"),
        ({"X": np.ones((2, 2)), "y": np.ones(3)}, "has 2 rows, but y has shape \\(3,\\)"),
    ],
)
def test_invalid_arrays_raise(tmp_path, arrays, sentence):
    np.savez(tmp_path / "a.npz", **arrays)
    with pytest.raises(ValueError, match=sentence):
        TableFile.open(tmp_path / "a.npz").read()
    (tmp_path / "b.npz").write_bytes(b"no archive")
    with pytest.raises(ValueError, match=r"b\.npz cannot be read"):
        TableFile.open(tmp_path / "b.npz").read()


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet", "npz", "npz-f", "npy"])
def test_chunks_add_up_to_the_table(tmp_path, ending):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((25, 3))
    frame = pd.DataFrame(X, columns=["x0", "x1", "x2"])
    path = Path(tmp_path, f"t.{ending.partition('-')[0]}")
    if ending == "parquet":
        frame.to_parquet(path)
    elif ending == "csv.gz":
        path.write_bytes(gzip.compress(frame.to_csv(index=False).encode()))
    elif ending == "npy":
        np.save(path, X)
    elif ending.startswith("npz"):
        np.savez(path, X=np.asfortranarray(X) if ending == "npz-f" else X)
    else:
        frame.to_csv(path, index=False)
    parts = [np.column_stack([np.asarray(part[name]) for name in frame])
             for part in TableFile.open(path).chunks(cells_per_chunk=12)]  # fmt: skip
    assert [len(part) for part in parts] == [4] * 6 + [1]
    np.testing.assert_allclose(np.concatenate(parts), X, rtol=1e-14)


def test_string_columns_stay_strings_in_every_chunk(tmp_path):
    path = write_file(tmp_path, "id,kind\n001,1\n002,2\n003,x\n")
    parts = list(TableFile.open(path).chunks(string_columns=["id", "kind"], cells_per_chunk=2))
    assert [part["id"].iloc[0] for part in parts] == ["001", "002", "003"]
    assert [part["kind"].iloc[0] for part in parts] == ["1", "2", "x"]
    bare = write_file(tmp_path, "5.1,1\n4.9,2\n", "bare.csv")
    parts = list(TableFile.open(bare).chunks(string_columns=["x1"], cells_per_chunk=2))
    assert [part["x1"].iloc[0] for part in parts] == ["1", "2"]
