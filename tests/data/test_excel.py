"""Excel workbooks: sheets, titles above the header, empty rows and columns, and hostile files."""

import datetime
import io
import sys
import zipfile

import numpy as np
import openpyxl
import pandas as pd
import pytest
from hostile_files import assert_one_sentence, write
from numpy.testing import assert_array_equal

from dimetric.data import read_table
from dimetric.data._files import TableFile

FRAME = pd.DataFrame(
    {
        "size": [1.5, 2, None, 4] * 3,
        "count": range(12),
        "colour": ["red", "blue", "red", None] * 3,
        "class": ["a", "b", "b", "a"] * 3,
    }
)
ROWS = [[1, "x"], [2, "y"], [3, "x"]]


def workbook(path, sheets):
    """Write sheets, given as lists of rows."""
    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    book.save(path)
    return path


def test_workbooks_and_text_files_give_the_same_table(tmp_path):
    FRAME.to_excel(tmp_path / "a.xlsx", index=False)
    FRAME.to_csv(tmp_path / "a.csv", index=False)
    expected, data = (
        read_table(tmp_path / f"a.{end}", missing="impute") for end in ("csv", "xlsx")
    )
    assert_array_equal(data.X, expected.X)
    assert_array_equal(data.y, expected.y)
    assert (data.feature_names, data.notes) == (expected.feature_names, expected.notes)


def test_chunks(tmp_path):
    FRAME.to_excel(tmp_path / "a.xlsx", index=False)
    parts = list(
        TableFile.open(tmp_path / "a.xlsx").chunks(string_columns=["count"], cells_per_chunk=20)
    )
    assert [len(each["size"]) for each in parts] == [5, 5, 2]
    joined = {name: np.concatenate([each[name] for each in parts]) for name in parts[0]}
    assert list(joined["count"]) == [str(i) for i in range(12)]
    assert_array_equal(joined["size"], FRAME["size"])


def test_titles_empty_rows_and_empty_columns(tmp_path):
    book = openpyxl.Workbook()
    sheet = book.active
    sheet["C2"] = "Sales report 2024"
    sheet.merge_cells("C2:E2")
    rows = [["size", None, "class"], [1, None, "x"], [], [2, None, "y"], [3, None, "x"]]
    for i, row in enumerate(rows):
        for j, value in enumerate(row):
            sheet.cell(5 + i, 3 + j, value)
    book.save(tmp_path / "a.xlsx")
    table = TableFile.open(tmp_path / "a.xlsx")
    assert table.column_names() == ["size", "class"]
    columns = table.read()
    assert_array_equal(columns["size"], [1, 2, 3])
    assert list(columns["class"]) == ["x", "y", "x"]
    assert table.notes() == ["Skipped the row above the column names."]


def test_two_header_rows_units_and_no_header(tmp_path):
    path = workbook(tmp_path / "a.xlsx", {"s": [["Q1", None, "Q2", None], ["m", "n", "m", "n"],
                                                [1, 2, 3, 4], [5, 6, 7, 8]]})  # fmt: skip
    assert TableFile.open(path).column_names() == ["Q1 m", "Q1 n", "Q2 m", "Q2 n"]
    workbook(path, {"s": [["a", "b"], ["cm", "kg"], [1, 2.5], [5, 6], [7, 8]]})
    assert_array_equal(TableFile.open(path).read()["b"], [2.5, 6, 8])
    workbook(path, {"s": [[1.5, 2], [5, 6], [7, 8]]})
    table = TableFile.open(path)
    assert table.column_names() == ["x0", "x1"]
    assert table.notes() == ["The sheet has no header. Its columns are named x0, x1, ..."]


def test_sheets_by_name_and_number(tmp_path):
    path = workbook(
        tmp_path / "a.xlsx",
        {"first": [["a", "class"], *ROWS], "2": [["b", "class"], *ROWS], "empty": []},
    )
    names = {None: "a", "first": "a", "2": "b", 2: "b", "1": "a"}
    for sheet, name in names.items():
        assert TableFile.open(path, sheet=sheet).column_names() == [name, "class"]
    notes = ["Read the sheet 'first'. The workbook also has '2' and 'empty'."]
    assert list(read_table(path).notes) == notes
    assert read_table(path, sheet="2").feature_names == ("b",)
    for sheet, sentence in [
        ("secnd", "it has no sheet 'secnd'; its sheets are 'first', '2' and 'empty'"),
        ("7", "it has no sheet 7; its sheets are numbered from 1 to 3"),
        ("empty", "the sheet 'empty' is empty"),
    ]:
        with pytest.raises(ValueError, match=sentence):
            TableFile.open(path, sheet=sheet)
    (tmp_path / "a.csv").write_text("a,b\n1,2\n")
    with pytest.raises(ValueError, match=r"only in an Excel file, but .*a\.csv is a text file"):
        TableFile.open(tmp_path / "a.csv", sheet="1")


def test_an_empty_first_sheet_names_the_others(tmp_path):
    for rows, fault in [([], "is empty"), ([["A title"], ["a note"]], "has only one column")]:
        path = workbook(tmp_path / "a.xlsx", {"cover": rows, "data": [["a", "class"], *ROWS]})
        with pytest.raises(ValueError, match=f"the sheet 'cover' {fault}; choose 'data' with"):
            read_table(path)


def test_types_of_cells(tmp_path):
    day = datetime.datetime(2024, 5, 1)
    rows = [["n", "when", "mixed", "flag", "error", "gap", "class"]]
    rows += [
        [i, day, i if i % 2 else "u", i > 1, "#DIV/0!" if i else i, "  ", i % 2] for i in range(4)
    ]
    columns = TableFile.open(workbook(tmp_path / "a.xlsx", {"s": rows})).read()
    assert {name: each.dtype.kind for name, each in columns.items()} == {
        "n": "i", "when": "M", "mixed": "O", "flag": "b", "error": "f", "gap": "O", "class": "i"
    }  # fmt: skip
    assert list(columns["mixed"]) == ["u", "1", "u", "3"]
    assert_array_equal(columns["error"], [0, np.nan, np.nan, np.nan])
    assert list(columns["gap"]) == [None] * 4


def test_without_openpyxl(tmp_path, monkeypatch):
    FRAME.to_excel(tmp_path / "a.xlsx", index=False)
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(ImportError, match=r"requires openpyxl: pip install 'dimetric\[excel\]'"):
        read_table(tmp_path / "a.xlsx")


def changed(content, name, change):
    """Return a workbook with one changed part."""
    buffer = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(content)) as old,
        zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for each in old.namelist():
            part = old.read(each)
            new.writestr(each, change(part) if each == name else part)
    return buffer.getvalue()


@pytest.fixture
def content(tmp_path):
    return workbook(tmp_path / "good.xlsx", {"s": [["a", "class"], *ROWS]}).read_bytes()


SHEET = "xl/worksheets/sheet1.xml"
CELL = b'<c r="XFD%d"><v>1</v></c>'


def read(path):
    return TableFile.open(path).read()


def test_hostile_workbooks(tmp_path, content):
    path = tmp_path / "a.xlsx"
    bomb = changed(content, SHEET, lambda part: part + b" " * 60_000_000)
    assert_one_sentence(write(path, bomb), read, "content of at least 60 MB is more than 200 times")
    start = b'<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>'
    for encoding in ("utf-8", "utf-16"):
        entity = changed(content, SHEET, lambda part, e=encoding: start.decode().encode(e) + part)
        assert_one_sentence(write(path, entity), read, "it declares XML entities")
    rows = b"".join(b'<row r="%d">' % i + CELL % i + b"</row>" for i in range(3, 3000))
    wide = changed(
        content, SHEET, lambda part: part.replace(b"</sheetData>", rows + b"</sheetData>")
    )
    assert_one_sentence(write(path, wide), read, "content of at least .* times as large")
    for part in ("xl/workbook.xml", SHEET, "[Content_Types].xml"):
        for change in (lambda part: part[: len(part) // 2], lambda part: b"", lambda part: b"<a/>"):
            damaged = changed(content, part, change)
            assert_one_sentence(write(path, damaged), read, "is not a valid .xlsx|empty|no sheets")
    for n_bytes in (30, 500, len(content) - 10):
        assert_one_sentence(write(path, content[:n_bytes]), read, "is not a valid .xlsx file")


def test_a_cell_far_away(tmp_path, content):
    row = b'<row r="1048576"><c r="A1048576"><v>1</v></c></row></sheetData>'
    far = changed(content, SHEET, lambda part: part.replace(b"</sheetData>", row))
    assert len(read(write(tmp_path / "a.xlsx", far))["a"]) == 4
