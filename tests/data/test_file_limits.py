"""Limits on the number of columns and on compressed content, and short messages about them."""

import gzip
import io
import zipfile

import numpy as np
import pandas as pd
import pytest
from hostile_files import assert_one_sentence, npy, npz, write

from dimetric.data import _limits as limits
from dimetric.data import load_data_set, read_table
from dimetric.data._files import TableFile

MAX_COLUMNS = 200_000
SMALL = npy("(3, 2)", data=bytes(48))


@pytest.mark.parametrize("separator", [",", ";", "\t", "|", " "])
def test_too_many_columns(tmp_path, separator, monkeypatch):
    monkeypatch.setattr(limits, "MAX_COLUMNS", 5000)
    path = write(tmp_path / "a.csv", separator.join(["1"] * 6000))
    match = "it has 6,000 columns, but at most 5,000 are supported"
    assert_one_sentence(path, read_table, match)


@pytest.mark.slow
def test_millions_of_commas(tmp_path):
    match = "it has 5,000,001 columns, but at most 200,000"
    path = write(tmp_path / "a.csv", "," * 5_000_000)
    assert_one_sentence(path, read_table, match, free_bytes=200_000_000)
    path = write(tmp_path / "a.csv.gz", gzip.compress(b"," * 5_000_000))
    assert_one_sentence(path, TableFile.open, match, free_bytes=200_000_000)


@pytest.mark.parametrize("rows", [["1"], ["a,b", "1,2", "1" + ",1" * MAX_COLUMNS]])
def test_the_widest_row_counts(tmp_path, rows):
    path = write(tmp_path / "a.csv", "\n".join([*rows, "1" + ",1" * MAX_COLUMNS]) + "\n")
    assert_one_sentence(path, read_table, "it has 200,001 columns", free_bytes=200_000_000)


def test_separators_within_a_quoted_value_are_not_columns(tmp_path):
    text = "," * (MAX_COLUMNS + 1)
    path = write(tmp_path / "a.csv", f'a,b,class\n1,"{text}",p\n2,y,q\n')
    assert TableFile.open(path).read().shape == (2, 3)


def test_arrays_with_too_many_columns(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "MAX_COLUMNS", 5)
    np.savez(tmp_path / "a.npz", X=np.zeros((2, 6)), y=[0, 1])
    np.save(tmp_path / "a.npy", np.zeros((2, 6)))
    pd.DataFrame(np.zeros((2, 6))).add_prefix("x").to_parquet(tmp_path / "a.parquet")
    for name in ("a.npz", "a.npy", "a.parquet"):
        for read in (
            lambda path: TableFile.open(path).read(),
            lambda path: list(TableFile.open(path).chunks()),
        ):
            assert_one_sentence(tmp_path / name, read, "6 columns, but at most 5 are supported")


def test_a_name_that_is_repeated_very_often(tmp_path):
    """The names are those that pandas makes, but take linear time."""
    d = 1500
    names = ["x", "x.2", ""] + ["x"] * d + ["y y", "y y", "class"]
    rows = [",".join(map(str, range(i, i + d + 5))) + f",{'pq'[i % 2]}" for i in range(3)]
    path = write(tmp_path / "a.csv", "\n".join(["", "", ",".join(names), *rows]) + "\n")
    file = TableFile.open(path)
    expected = list(pd.read_csv(path).columns)
    assert len(set(expected)) == len(names)
    assert file.column_names() == list(file.read().columns) == expected
    assert [list(each.columns) for each in file.chunks()] == [expected]
    data = read_table(path)
    assert data.X.shape == (3, d + 4)  # the column without a name holds row numbers
    assert list(data.y) == ["p", "q", "p"]


@pytest.mark.slow
@pytest.mark.parametrize("content", ["1" + ",1" * 29_999, "," * 29_999])
def test_wide_tables_of_one_line(tmp_path, content):
    """pandas takes quadratic time to make equal names unique."""
    with pytest.raises(ValueError, match="a is empty: it has no rows"):
        read_table(write(tmp_path / "a.csv", content))


def test_small_archives_of_large_arrays(tmp_path):
    """Content above 50 MB must not be more than 200 times as large as the file."""
    zeros = npy("(7500000, 1)", data=bytes(60_000_000))
    match = "content of at least 60 MB is more than 200 times as large as the file"
    path = write(tmp_path / "a.npz", npz(X=zeros))
    assert_one_sentence(path, lambda path: TableFile.open(path).read(), match)
    assert_one_sentence(path, lambda path: list(TableFile.open(path).chunks()), match)
    path = write(tmp_path / "a.npz", npz(X=SMALL, y=npy("(3,)", data=bytes(24)), z=zeros))
    assert TableFile.open(path).read()["x0"].shape == (3,)  # z is not read
    assert_one_sentence(path, lambda path: load_data_set("a", path.parent), match)


def test_the_arrays_of_an_archive_are_limited_together(tmp_path):
    half = npy("(3750000, 1)", data=bytes(30_000_000))
    path = write(tmp_path / "a.npz", npz(X=half, y=half))
    match = "content of at least 60 MB is more than 200 times"
    assert_one_sentence(path, lambda path: TableFile.open(path).read(), match)
    assert_one_sentence(path, lambda path: load_data_set("a", path.parent), match)


def test_names_of_arrays_in_messages(tmp_path):
    names = ["a\x1b[31m", "b" * 1000, *(f"c{i}" for i in range(2000))]
    path = write(tmp_path / "a.npz", npz(**dict.fromkeys(names, SMALL)))
    read = lambda path: TableFile.open(path).read()  # noqa: E731
    assert_one_sentence(path, read, r"has no array X\. It holds a\\x1b.* and 1997 others\.")
    read = lambda path: load_data_set("a", path.parent)  # noqa: E731
    assert_one_sentence(path, read, r"holds a\\x1b.* and 1997 others\. Expected arrays")
    assert_one_sentence(write(path, npz()), read, "holds no arrays")


@pytest.mark.parametrize(
    ("shape", "match"),
    [
        ("(" + "1," * 2000 + ")", "an array has 2000 dimensions, but at most 32 are supported"),
        ("(" + "9999999999999999999," * 32 + ")", r"shape \(9999999999999999999, .*, \.\.\.\)"),
        ("(" + "1," * 32 + ")", r"two-dimensional .* \(1, 1, 1, 1, \.\.\.\)"),
    ],
)
def test_arrays_with_many_dimensions(tmp_path, shape, match):
    length = max(118, len(shape) + 70)
    content = b"\x93NUMPY\2\0" + length.to_bytes(4, "little")
    text = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}"
    content += text.ljust(length).encode() + bytes(8)
    read = lambda path: TableFile.open(path).read()  # noqa: E731
    assert_one_sentence(write(tmp_path / "a.npy", content), read, match)
    assert_one_sentence(write(tmp_path / "a.npz", npz(X=content)), read, match)


def test_arrays_of_data_sets_with_wrong_shapes(tmp_path):
    X, y = np.zeros((3, 2)), np.array(["a", "b", "a"])
    cases = [
        {"X": np.zeros(3), "y": y},
        {"X": np.zeros((3, 2, 1)), "y": y},
        {"X": np.array([["a", "b"]] * 3), "y": y},
        {"X": X, "y": y[:2]},
        {"X": X, "y": np.array("a")},
        {"X": X[:0], "y": y[:0]},
        {"X_train": X, "y_train": y, "X_test": np.zeros((3, 4)), "y_test": y},
        {"X_train": X, "y_train": y, "X_test": np.zeros(3), "y_test": y},
        {"X_train": X, "y_train": y[:1], "X_test": X, "y_test": y},
    ]
    for arrays in cases:
        np.savez(tmp_path / "a.npz", **arrays)
        assert_one_sentence(tmp_path / "a.npz", lambda path: load_data_set("a", path.parent))


def reading_error(path):
    """Return the text after the name of the file in the error of reading it, or ""."""
    try:
        TableFile.open(path).read()
    except ValueError as error:
        before, _, after = str(error).partition(str(path))
        return before + after if after else f"no path: {error}"
    return ""


LIBRARY_TEXTS = (
    *("codec", "Errno", "Error", "magic", "CRC", "EOF", "b'"),
    *("no path", "file header", "a zip file"),
)


@pytest.mark.parametrize("kind", ["npy", "npz", "stored npz", "utf-16-le", "utf-16-be", "gz"])
def test_messages_about_damaged_files_are_our_own(tmp_path, kind):
    random = np.random.default_rng(0)
    text = "a,b,class\n1,2,p\n3,4,q\n5,6,p\n"
    X, buffer = np.arange(6.0).reshape(3, 2), io.BytesIO()
    if "np" in kind:
        save = {"npy": np.save, "npz": np.savez_compressed, "stored npz": np.savez}[kind]
        save(buffer, **({"arr": X} if kind == "npy" else {"X": X, "y": list("pqp")}))
        content, path = buffer.getvalue(), tmp_path / f"a.{kind[-3:]}"
    elif kind == "gz":
        content, path = gzip.compress(text.encode()), tmp_path / "a.csv.gz"
    else:
        content = f"\ufeff{text}".encode(kind)
        path = tmp_path / "a.csv"
    for _ in range(200):
        damaged = bytearray(content)
        i, j = sorted(random.integers(0, len(content), 2))
        match random.integers(3):
            case 0:
                damaged = damaged[:i]
            case 1:
                del damaged[i : min(j, i + 5)]
            case 2:
                damaged[i] = random.integers(256)
        message = reading_error(write(path, bytes(damaged)))
        assert not any(each in message for each in LIBRARY_TEXTS), message


def test_archives_with_wrong_offsets(tmp_path):
    good = npz(X=SMALL)
    start = good.index(b"PK\5\6")
    for offset in range(start, len(good)):
        for value in (0, 1, 0x7F, 0xFF):
            path = write(tmp_path / "a.npz", good[:offset] + bytes([value]) + good[offset + 1 :])
            assert reading_error(path).partition(" It holds")[0] in (
                "",
                " has no array X.",
                " cannot be read as a table: it is not an .npz file, or it is damaged.",
            )
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("X.npy", SMALL)
    assert TableFile.open(path).read()["x0"].shape == (3,)
