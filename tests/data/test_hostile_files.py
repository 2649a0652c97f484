"""Data files that declare wrong sizes, are damaged, very wide, or take long to parse."""

import csv
import gzip
import warnings

import numpy as np
import pandas as pd
import pytest
from hostile_files import assert_one_sentence, npy, npz, write

from dimetric.data import load_data_set, read_keel, read_table
from dimetric.data._files import TableFile
from dimetric.data._readers import compressed
from dimetric.data._readers.dialect import detect_dialect

CSV = "a,b,class\n1,2,p\n3,4,q\n5,6,p\n"


X64 = np.arange(6.0).reshape(3, 2)
NPY_FILES = {
    "one TiB": (npy("(137438953472, 1)"), "takes 1099511627776 bytes, but the file holds 0 bytes"),
    "overflow": (npy("(4611686018427387904, 4)"), "takes .* bytes, but the file holds 0"),
    "longer than int64": (npy("(99999999999999999999, 1)"), "the shape of an array is damaged"),
    "negative": (npy("(-1, 2)", data=bytes(16)), "damaged"),
    "float": (npy("(1.5, 2)", data=bytes(16)), "damaged"),
    "truncated": (npy("(3, 2)", data=bytes(40)), "takes 48 bytes, but the file holds 40"),
    "fortran": (npy("(3, 2)", data=bytes(40), fortran="True"), "takes 48 bytes"),
    "object": (npy("(3, 2)", "'|O'", bytes(48)), "dtype object"),
    "structured": (npy("(3,)", "[('a', '<f8')]", bytes(24)), "unsupported dtype"),
    "subarray": (npy("(3, 2)", "'(1000000,1000000)f8'", bytes(48)), "unsupported dtype"),
    "huge item": (npy("(3, 2)", "'<U999999999'", bytes(48)), "invalid dtype '<U999999999'"),
    "large item": (npy("(3, 2)", "'<U9999999'", bytes(48)), "takes 239999976 bytes"),
    "unknown item": (npy("(3, 2)", "'<f3'", bytes(48)), "invalid dtype '<f3'"),
    "empty but wide": (npy("(0, 1000000000000)"), r"is empty: X has shape \(0, 1000000000000\)"),
    "three-dimensional": (npy("(3, 2, 1)", data=bytes(48)), "must be a two-dimensional"),
    "long header": (npy("(3, 2)", data=bytes(48), version=b"\2\0")[:8] + b"\xff" * 8, "damaged"),
    "unclosed header": (npy("((((((((((3, 2)", data=bytes(48)), "damaged"),
    "no array": (b"anything else", "not a NumPy array"),
    "only the magic": (b"\x93NUMPY", "not a NumPy array|damaged|unsupported"),
}


@pytest.mark.parametrize("kind", ["npy", "npz", "npz with y"])
@pytest.mark.parametrize("name", NPY_FILES)
def test_wrong_arrays(name, kind, tmp_path):
    content, match = NPY_FILES[name]
    if kind == "npy":
        path = write(tmp_path / "a.npy", content)
    elif kind == "npz":
        path = write(tmp_path / "a.npz", npz(X=content))
    elif name in ("empty but wide", "three-dimensional"):
        return  # errors of X only
    else:
        path = write(tmp_path / "a.npz", npz(X=npy("(3, 2)", data=bytes(48)), y=content))
    assert_one_sentence(path, lambda path: TableFile.open(path).read(), match)
    assert_one_sentence(path, lambda path: list(TableFile.open(path).chunks()), match)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["<f8", ">f4", "<i8", "|b1", "<u2", "<f2"])
def test_right_arrays(order, dtype, tmp_path):
    X = np.asarray(X64.astype(dtype), order=order)
    for save in (np.savez, np.savez_compressed):
        save(tmp_path / "a.npz", X=X, y=["p", "q", "p"])
        table = TableFile.open(tmp_path / "a.npz")
        whole = table.read()
        np.testing.assert_array_equal(np.column_stack([whole["x0"], whole["x1"]]), X)
        chunks = list(table.chunks(cells_per_chunk=2))
        np.testing.assert_array_equal(np.concatenate([each["x1"] for each in chunks]), X[:, 1])
        np.testing.assert_array_equal(whole["y"], ["p", "q", "p"])
    np.save(tmp_path / "a.npy", X)
    whole = TableFile.open(tmp_path / "a.npy").read()
    np.testing.assert_array_equal(np.column_stack([whole["x0"], whole["x1"]]), X)


def changed_member(data, old, new):
    """Change bytes of the local header and the central directory of an archive."""
    assert old in data
    return data.replace(old, new)


def test_damaged_archives(tmp_path):
    good = npz(X=npy("(3, 2)", data=X64.tobytes()), y=npy("(3,)", data=bytes(24)))
    read = [lambda path: TableFile.open(path).read(), lambda path: load_data_set("a", path.parent)]
    cases = [good[:50], good[:-30], good[:60] + b"\xff" * 40 + good[100:], b"PK\5\6" + bytes(10)]
    # The declared compression, encryption, and size of the first member.
    start = good.index(b"PK\1\2")
    for offset, value in (
        (10, b"\x0c\0"),
        (10, b"\x63\0"),
        (8, b"\1\0"),
        (24, b"\xff\xff\xff\x7f"),
    ):
        place = start + offset
        cases.append(good[:place] + value + good[place + len(value) :])
    for content in cases:
        path = write(tmp_path / "a.npz", content)
        for each in read:
            assert_one_sentence(path, each)


def test_zip_bomb(tmp_path, monkeypatch):
    monkeypatch.setattr(compressed, "FREE_BYTES", 10_000_000)
    path = write(tmp_path / "a.npz", npz(X=npy("(2500000, 1)", data=bytes(20_000_000))))
    match = "content of at least 20 MB is more than 200 times as large .*DIMETRIC_MAX_EXPANSION"
    assert_one_sentence(path, lambda path: TableFile.open(path).read(), match)
    monkeypatch.setenv("DIMETRIC_MAX_EXPANSION", "inf")
    assert len(TableFile.open(path).read()["x0"]) == 2_500_000


@pytest.mark.parametrize("limit", ["2000", "inf"])
def test_gzip_bomb(tmp_path, monkeypatch, limit):
    monkeypatch.setattr(compressed, "FREE_BYTES", 1_000_000)
    path = write(tmp_path / "a.csv.gz", gzip.compress(b"a,b\n" + b"0,0\n" * 500_000))
    match = "is more than 200 times as large as the file .*DIMETRIC_MAX_EXPANSION"
    assert_one_sentence(path, TableFile.open, match)
    monkeypatch.setenv("DIMETRIC_MAX_EXPANSION", limit)
    assert TableFile.open(path).read().shape == (500_000, 2)
    for wrong in ("-1", "nan", "many"):
        monkeypatch.setenv("DIMETRIC_MAX_EXPANSION", wrong)
        assert_one_sentence(path, TableFile.open, "must be a positive number or inf")


def test_damaged_gzip(tmp_path):
    good = gzip.compress(CSV.encode() * 20)
    cases = [good[: len(good) // 2], good[:-4], good[:12] + b"\xff" * 20 + good[32:], b"\x1f\x8b",
             good[:-8] + bytes(8), good + b"more", CSV.encode()]  # fmt: skip
    for content in cases:
        path = write(tmp_path / "a.csv.gz", content)
        assert_one_sentence(path, read_table, "not a gzip file, or it is truncated or damaged")


@pytest.mark.parametrize("name", ["a.csv.bz2", "a.csv.zip", "a.npy.gz", "a.parquet.gz", "a.tar.gz"])
def test_other_compressions(tmp_path, name):
    with pytest.raises(ValueError, match=f"Unsupported compression: {name}"):
        TableFile.open(write(tmp_path / name, CSV))


def test_damaged_parquet(tmp_path, monkeypatch):
    path = tmp_path / "a.parquet"
    pd.DataFrame({"a": np.arange(9.0), "class": list("pqr" * 3)}).to_parquet(path)
    good = path.read_bytes()
    cases = [good[:20], good[:-20], b"PAR1" + bytes(30) + b"PAR1", b"anything",
             good[:-8] + b"\xff\xff\xff\x7fPAR1", good[:-100] + bytes(92) + good[-8:]]  # fmt: skip
    for content in cases:
        write(path, content)
        for read in (read_table, lambda path: list(TableFile.open(path).chunks())):
            assert_one_sentence(path, read)
    write(path, good)
    monkeypatch.setattr(compressed, "FREE_BYTES", 10)
    monkeypatch.setenv("DIMETRIC_MAX_EXPANSION", "1e-3")
    assert_one_sentence(path, read_table, "times as large as the file")


# These files kept earlier readers busy for minutes.
SLOW_LINES = {
    "digits": "a;b\n" + "1" * 200_000 + "x;2\n",
    "attribute": "@relation t\n@attribute " + "a" * 200_000 + "!\n@data\n1\n",
    "spaces in an attribute": "@relation t\n@attribute" + " " * 200_000 + "x!\n@data\n1\n",
    "quoted values": "@relation t\n@attribute x {'a'" + " " * 200_000 + "x}\n@data\na\n",
    "quotes": "@relation t\n@attribute x {" + "'a'b," * 50_000 + "c}\n@data\nz\n",
    "values": "@relation t\n@attribute x {" + ",".join(map(str, range(20_000))) + "}\n@data\n"
    + "\n".join(map(str, range(20_000, 0, -1))) + "\n",
}  # fmt: skip


@pytest.mark.parametrize("name", SLOW_LINES)
def test_lines_that_took_minutes(name, tmp_path):
    path = write(tmp_path / "a.dat", SLOW_LINES[name])
    if name == "digits":
        assert detect_dialect(path).separator == ";"
        return
    with pytest.raises(ValueError, match="line") as raised:
        read_keel(path)
    assert len(str(raised.value)) < 1000


def test_rows_much_shorter_than_the_header(tmp_path):
    """Detection takes time in proportion to the cells, not to rows times columns."""
    names = ",".join(f"n{i}" for i in range(100_000))
    path = write(tmp_path / "a.csv", names + "\n" + "1\n" * 2000)
    assert detect_dialect(path).header


@pytest.mark.parametrize("header", [True, False])
def test_lines_longer_than_the_detected_part(tmp_path, header):
    """The fields are numbers. Only complete lines show whether the first line has names."""
    names = ",".join(f"n{i:015}" for i in range(70_000)) + "\n"
    row = ",".join(f"0.{i:015}" for i in range(70_000)) + "\n"
    path = write(tmp_path / "a.csv", (names if header else "") + row * 5)
    assert len(row) > 2**20
    dialect = detect_dialect(path)
    assert (dialect.separator, dialect.header) == (",", header)


def test_long_header_lines_and_fields(tmp_path):
    limit = csv.field_size_limit()
    names = [f"n{i:0100}" for i in range(2000)]
    rows = "".join(",".join([*map(str, range(i, i + 2000)), "pq"[i % 2]]) + "\n" for i in range(3))
    data = read_table(write(tmp_path / "a.csv", ",".join(names) + ",class\n" + rows))
    assert data.X.shape == (3, 2000)
    text = "x" * 3_000_000
    for field in (text, f'"{text}"', '"' + "x\n" * 500_000 + '"'):
        path = write(tmp_path / "b.csv", f"a,b,class\n1,{field},p\n2,y,q\n3,y,q\n4,z,q\n")
        assert TableFile.open(path).read().shape == (4, 3)
    assert csv.field_size_limit() == limit


@pytest.mark.slow
@pytest.mark.parametrize("header", [True, False])
@pytest.mark.parametrize("d", [20_000, 100_000])
def test_very_wide_tables(tmp_path, d, header):
    X = np.arange(3 * d).reshape(3, d) / 4
    rows = "".join(
        ",".join(map(str, row)) + f",{label}\n" for row, label in zip(X, "pqp", strict=True)
    )
    names = ",".join(f"feature {i}" for i in range(d)) + ",class\n"
    data = read_table(write(tmp_path / "a.csv", (names if header else "") + rows))
    np.testing.assert_array_equal(data.X, X)
    assert data.feature_names[-1] == (f"feature {d - 1}" if header else f"x{d - 1}")


@pytest.mark.parametrize(
    "content",
    [
        CSV.replace("\n", "\r\n").replace("q\r\n", "q\r", 1),
        CSV.encode("utf-8-sig"),
        CSV.encode("utf-16"),
        CSV.encode("utf-16-be").join([b"\xfe\xff", b""]),
    ],
)
def test_line_ends_and_encodings(tmp_path, content):
    data = read_table(write(tmp_path / "a.csv", content))
    np.testing.assert_array_equal(data.X, [[1, 2], [3, 4], [5, 6]])
    assert data.feature_names == ("a", "b")


@pytest.mark.parametrize("content", [CSV.replace("4", "\0"), CSV.encode("utf-16-le")[:-1],
                                     CSV.encode("utf-32"), CSV.encode("utf-16")[:-1]])  # fmt: skip
def test_files_that_are_not_text(tmp_path, content):
    assert_one_sentence(
        write(tmp_path / "a.csv", content), read_table, "not a text file|not valid UTF-16"
    )


def test_null_characters_after_the_detected_part(tmp_path):
    content = "a,b,class\n" + "1,2,p\n" * 200_000 + "3,\0,q\n"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        frame = TableFile.open(write(tmp_path / "a.csv", content)).read("class")
    assert frame.shape == (200_001, 3)


def test_column_numbers_with_many_digits(tmp_path):
    path = write(tmp_path / "a.csv", "0," + "1" * 5000 + "\n3,4\n5,6\n")
    assert not detect_dialect(path).header
    with pytest.raises(ValueError, match="there is no column '1111"):
        read_table(path, "1" * 5000)
