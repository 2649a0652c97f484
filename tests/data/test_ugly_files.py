"""Text files as programs and people write them: titles, units, comments, odd ends and encodings."""

import gzip
import zipfile

import numpy as np
import pandas as pd
import pytest

from dimetric.data import read_table
from dimetric.data._files import TableFile
from dimetric.data._readers.header import find_header

NAMES = ["size", "weight", "colour", "class"]
ROWS = [(5.1 + i / 10, 20 + i, "red" if i % 2 else "blue", "yn"[i % 3 == 0]) for i in range(8)]
BODY = "".join(f"{a:.1f},{b},{c},{d}\n" for a, b, c, d in ROWS)
HEADER = "size,weight,colour,class\n"
TABLE = HEADER + BODY
JOINED = ["Measure size", "Measure weight", "Other colour", "Other class"]


def write(tmp_path, content, name="table.csv"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


@pytest.mark.parametrize(
    "content",
    [
        "\ufeff" + TABLE,
        TABLE.encode("utf-16"),
        TABLE.encode("utf-16-le"),
        TABLE.encode("utf-16-be"),
        TABLE.replace("\n", "\r"),
        TABLE.replace("\n", "\r\n"),
        TABLE.replace("\n", "\n\n"),
        HEADER + BODY.replace("\n", ",\n"),
        "sep=;\n" + TABLE.replace(",", ";"),
        '"sep=,"\n' + TABLE,
        "sep=;\n" + TABLE.replace(",", ";").replace(".", ","),
        TABLE.replace(",", "   "),
        "#" + TABLE,
        "# " + TABLE,
        "# size  weight  colour  class\n" + BODY.replace(",", "  "),
        "\n".join(",".join(f'"{each}"' for each in row.split(",")) for row in TABLE.splitlines()),
        gzip.compress(TABLE.encode(), mtime=0),
    ],
)
def test_formats_that_need_no_note(tmp_path, content):
    check(TableFile.open(write(tmp_path, content)), NAMES, [])


ABOVE, UNITS = (
    "above the column names",
    "the line below the column names, which seems to hold units",
)


@pytest.mark.parametrize(
    ("content", "note"),
    [
        ("# made by hand\n# version 2, 2024\n" + TABLE, f"Skipped 2 lines {ABOVE}."),
        ("# a, b, c, d\n" + TABLE, f"Skipped the line {ABOVE}."),
        ("% x\n// y\n" + TABLE, f"Skipped 2 lines {ABOVE}."),
        ("Sales report\n" + TABLE, f"Skipped the line {ABOVE}."),
        ("Sales report 2024\n\n" + TABLE, f"Skipped the line {ABOVE}."),
        ("Sales report\nfor: ACME, Inc.\n\n" + TABLE, f"Skipped 2 lines {ABOVE}."),
        ("Sales report,,,\n,,,\n" + TABLE, f"Skipped 2 lines {ABOVE}."),
        ('"A title\nof two lines"\n' + TABLE, f"Skipped the line {ABOVE}."),
        ("# x\nA title\n# y\n" + TABLE, f"Skipped 3 lines {ABOVE}."),
        (HEADER + "# x\n" + BODY, "Skipped 1 line that starts like a comment."),
        (TABLE + "# x\n# y\n", "Skipped 2 lines that start like a comment."),
        (HEADER + "----,----,:----:,----\n" + BODY, f"Skipped {UNITS}."),
        (HEADER + "cm,kg,,\n" + BODY, f"Skipped {UNITS}."),
        (HEADER + "[cm],[kg],[-],[-]\n" + BODY, f"Skipped {UNITS}."),
        (HEADER + "float,int,text,text\n" + BODY, f"Skipped {UNITS}."),
    ],
)
def test_skipped_lines_are_noted(tmp_path, content, note):
    check(TableFile.open(write(tmp_path, content)), NAMES, [note])
    assert note in read_table(write(tmp_path, content)).notes


@pytest.mark.parametrize("first", ["Measure,,Other,", "Measure,Measure,Other,Other"])
def test_two_header_lines_are_joined(tmp_path, first):
    note = "Joined two lines of column names, for example 'Measure weight'."
    check(TableFile.open(write(tmp_path, f"{first}\n{TABLE}")), JOINED, [note])


def test_many_titles_above_the_header():
    rows = [["name", "age", "city", "kind"], *[["x", "1", "y", "u"]] * 3]
    for titles in ([["A", "", "", ""]] * 8, [["Date", "2024", "", ""], ["By", "Bob", "", ""]]):
        assert find_header([*titles, *rows])[:4] == (len(titles), 1, (), False)
    texts = [["name", "city", "kind"], ["x", "y", "u"], ["z", "y", "u"]]
    assert find_header([["A", "", ""], ["", "", ""], *texts]).n_titles == 2


def test_merged_cells_above_the_header():
    rows = [["Who", "", "Other"], ["name", "age", "kind"], *[["x", "2", "u"]] * 3]
    assert find_header(rows).names == ("Who name", "Who age", "Other kind")
    rows = [["Name", "Sales", "", "Kind"], ["", "Q1", "Q2", ""], *[["x", "1", "2", "u"]] * 3]
    assert find_header(rows).names == ("Name", "Sales Q1", "Sales Q2", "Kind")
    rows = [["Measure", "", "Other"], ["size", "weight", "kind"], *[["1", "2", "u"]] * 3]
    assert find_header(rows).names == ("Measure size", "Measure weight", "Other kind")


def check(file, names, notes):
    """Whole table and chunks have the values of ROWS."""
    assert file.column_names() == names
    assert file.notes() == notes
    whole, parts = file.read(), list(file.chunks(cells_per_chunk=12))
    assert len(parts) == 3
    for frame in (whole, pd.concat(parts)):
        assert list(frame.columns) == names
        assert frame.to_numpy().tolist() == [[round(row[0], 1), *row[1:]] for row in ROWS]


@pytest.mark.parametrize(
    "rows",
    [
        [["name", "age"], ["Bob", "unknown"], ["Ann", "5"], ["Cy", "7"], ["Di", "9"]],
        [["name", "age", "size"], ["Bob", "old", "big"], ["Ann", "5", "2"], ["Cy", "7", "3"]],
        [["a", "b"], ["", ""], ["1", "2"], ["3", "4"], ["5", "6"]],
        [["", "value"], ["0", "1.5"], ["1", "2.5"], ["2", "3.5"]],
        [["a", "b"], ["r1", "1", "2"], ["r2", "3", "4"], ["r3", "5", "6"]],
        [["city"], ["Bob", "Paris"], ["Ann", "Rome"], ["Cy", "Oslo"]],
        [["a", "b", "c"], ["1", "", ""], ["2", "x", "y"], ["3", "x", "z"]],
        [["country", "2018", "2019"], ["A", "5", "6"], ["B", "7", "8"]],
    ],
)
def test_tables_without_titles_or_units(rows):
    header = find_header(rows)
    assert header.n_skipped == header.n_rows == 1
    assert not header.names


def test_ordinary_tables_have_one_header_row():
    """Random tables with missing values and a few odd ones are read as they are."""
    rng = np.random.default_rng(0)
    makers = [
        lambda n: [f"{each:.2f}" for each in rng.normal(size=n)],
        lambda n: [str(each) for each in rng.integers(0, 100, n)],
        lambda n: [str(each) for each in rng.choice(["red", "blue", "yes", "unknown"], n)],
        lambda n: [f"name{i}" for i in range(n)],
    ]
    for _ in range(500):
        n, d = rng.integers(2, 30), rng.integers(1, 8)
        columns = []
        for j in range(d):
            values = makers[rng.integers(len(makers))](n)
            for i in range(n):
                values[i] = "" if rng.random() < 0.1 else values[i]
            if rng.random() < 0.1:
                values[rng.integers(n)] = "unknown"
            columns.append(["" if rng.random() < 0.05 and j else f"c{j}", *values])
        rows = [list(row) for row in zip(*columns, strict=True) if any(row)]
        assert find_header(rows)[:4] == (0, 1, (), False), rows[:4]


@pytest.mark.parametrize(
    "rows",
    [
        [["A", "2018", "2019"], ["B", "2020", "2021"], ["C", "2001", "2002"]],
        [["5.1", "", "x"], ["", "", "y"], ["3", "4", "x"]],
        [["1", "2", "3"], ["4", "5", "6"]][::-1],
    ],
)
def test_tables_without_header(rows):
    assert find_header(rows).n_skipped == 0


def test_an_explicit_header_is_the_first_line(tmp_path):
    path = write(tmp_path, "Title,,,\n" + TABLE)
    assert TableFile.open(path, header=True).column_names()[0] == "Title"
    assert len(TableFile.open(path, header=False).read()) == 10


def test_escaped_quotes_and_null_of_databases(tmp_path):
    lines = [f'{i},"say \\"hi\\", ok",{"ab"[i % 2]}\n' for i in range(6)]
    frame = TableFile.open(write(tmp_path, "size,note,class\n" + "".join(lines))).read()
    assert list(frame["size"]) == list(range(6))
    assert set(frame["note"]) == {'say "hi", ok'}
    path = write(tmp_path, 'path,size,class\n"C:\\a\\",1,x\n"C:\\b\\",\\N,y\n"C:\\a\\",3,x\n')
    frame = TableFile.open(path).read()
    assert list(frame["path"]) == ["C:\\a\\", "C:\\b\\", "C:\\a\\"]
    np.testing.assert_array_equal(frame["size"], [1, np.nan, 3])


def test_line_breaks_in_names(tmp_path):
    path = write(tmp_path, TABLE.replace("weight", '"weight\n (kg)"').replace("class", '"class\n"'))
    assert TableFile.open(path).column_names() == ["size", "weight (kg)", "colour", "class"]
    assert read_table(path).target_name == "class"


def test_names_that_are_years(tmp_path):
    content = "country,2018,2019,class\n" + "".join(f"c{i % 3},{i},{9 - i},ab\n" for i in range(9))
    names = TableFile.open(write(tmp_path, content)).column_names()
    assert names == ["country", "2018", "2019", "class"]


def test_polars_reads_the_same_tables(tmp_path, monkeypatch):
    import polars as pl

    from dimetric.data._readers import frames

    monkeypatch.setattr(frames, "data_frame_library", lambda: (pl, False))
    for content, names in [
        ("Sales report\n\n" + TABLE, NAMES),
        (HEADER + "cm,kg,,\n" + BODY, NAMES),
        ("Measure,,Other,\n" + TABLE, JOINED),
        ("sep=;\n" + TABLE.replace(",", ";"), NAMES),
    ]:
        frame = TableFile.open(write(tmp_path, content)).read()
        assert frame.columns == names
        assert frame[names[1]].to_list() == [row[1] for row in ROWS]


@pytest.mark.parametrize(
    ("name", "content", "sentence"),
    [
        ("a.csv", "<!DOCTYPE html>\n<html></html>", "a.csv is a web page or an XML file"),
        ("a.csv", b"\xd0\xcf\x11\xe0" + bytes(600), r"a.csv is an old Excel file \(.xls\) or is"),
        ("a.xls", "x", "Unsupported file type: a.xls. Old Excel files are not supported. Save"),
        ("a.ods", "x", "Unsupported file type: a.ods. OpenDocument files are not supported. Save"),
        ("a.pkl", "x", "Unsupported file type: a.pkl. Reading a pickle file can run any code."),
        ("a.csv", b"%PDF-1.7", "a.csv is a PDF file"),
        ("a.csv", b"FEA1" + bytes(20), "a.csv is a Feather file of version 1"),
        ("a.csv", b"BZh91AY", "Unsupported compression: a.csv"),
        ("a.parquet", TABLE, "a.parquet holds text, although it is called .parquet. Rename it"),
        ("a.xlsx", TABLE, "a.xlsx holds text, although it is called .xlsx. Rename it to .csv"),
        (
            "a.csv",
            gzip.compress(b"PAR1" + bytes(9), mtime=0),
            "a.csv holds a compressed file that is not",
        ),
        ("a.csv", TABLE + "1,2,3,4,5\n", "line 10 has 5 values instead of 4; remove lines"),
    ],
)
def test_files_that_are_not_read(tmp_path, name, content, sentence):
    with pytest.raises(ValueError, match=sentence):
        TableFile.open(write(tmp_path, content, name)).read()


def test_an_opendocument_file_with_another_name(tmp_path):
    with zipfile.ZipFile(tmp_path / "a.xlsx", "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        archive.writestr("content.xml", "<a/>")
    with pytest.raises(ValueError, match=r"a\.xlsx: OpenDocument files are not supported\. Save"):
        TableFile.open(tmp_path / "a.xlsx")


def test_the_content_decides_and_not_the_name(tmp_path):
    frame = pd.DataFrame({"a": [1, 2], "class": ["x", "y"]})
    frame.to_parquet(tmp_path / "a.csv")
    frame.to_excel(tmp_path / "b.xlsx", index=False)
    (tmp_path / "b.xlsx").rename(tmp_path / "b.csv")
    frame.to_feather(tmp_path / "c.txt")
    np.save(tmp_path / "d.npy", frame[["a"]])
    (tmp_path / "d.npy").rename(tmp_path / "d.data")
    np.savez(tmp_path / "e.npz", X=frame[["a"]])
    (tmp_path / "e.npz").rename(tmp_path / "e.tsv")
    write(tmp_path, '{"a": 1}\n{"a": 2}\n', "f.txt")
    for name in ("a.csv", "b.csv", "c.txt", "d.data", "e.tsv", "f.txt"):
        table = TableFile.open(tmp_path / name)
        assert list(table.read()[table.column_names()[0]]) == [1, 2]
