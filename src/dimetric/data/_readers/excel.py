"""Read Excel workbooks (``.xlsx``), as a whole or in chunks of rows."""

import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, ClassVar, Self

from dimetric._names import listed_columns
from dimetric.data._limits import check_n_columns
from dimetric.data._readers.arrays import ARCHIVE_ERRORS
from dimetric.data._readers.compressed import check_expansion
from dimetric.data._readers.dialect import unique_names
from dimetric.data._readers.header import Header, clean_name, find_header
from dimetric.data._readers.reader import Reader
from dimetric.data._readers.records import (
    BYTES_PER_CELL,
    Columns,
    columns_from_rows,
    row_chunks,
    text_of,
)
from dimetric.data._readers.source import InputFile

HEAD_ROWS = 1000  # rows with values that detection uses
ROWS_PER_PART = 100  # rows that are parsed at once, which may have 16,384 cells each
DOCTYPE_BYTES = 2**16  # first bytes of a part that may declare entities
ERROR_VALUES = {"#DIV/0!", "#REF!", "#VALUE!", "#NAME?", "#NUM!", "#NULL!", "#N/A", "#SPILL!"}
NOT_A_WORKBOOK = "it is not a valid .xlsx file, or it is damaged"

Row = tuple[Any, ...]


@dataclass(frozen=True)
class ExcelReader(Reader):
    """Reads a sheet of a workbook with openpyxl. Empty rows and columns are left out.

    Attributes
    ----------
    file : InputFile
        The file.
    sheet : str
        Name of the sheet.
    columns : list of int
        Positions of the columns in the sheet, from 0.
    names : list of str
        Names of the columns.
    header : Header
        The rows above the data.
    other_sheets : list of str
        Names of the sheets that are not read, if the user did not choose a sheet.
    """

    file: InputFile
    sheet: str
    columns: list[int]
    names: list[str]
    header: Header
    other_sheets: list[str] = field(default_factory=list)
    kind: ClassVar[str] = "an Excel file"

    @classmethod
    def open(cls, file: InputFile, sheet: str | int | None, header: bool | None) -> Self:
        """Choose a sheet, and find its columns and their names."""
        _check_archive(file)
        with _opened(file) as workbook:
            with _excel_errors():
                sheets = [each.title for each in workbook.worksheets]
            chosen = _chosen_sheet(sheets, sheet)
            head = list(islice(_rows(file, workbook, chosen), HEAD_ROWS))
        others = [each for each in sheets if each != chosen] if sheet is None else []
        columns = _used_columns(head)
        check_n_columns(len(columns))
        if not head or (others and len(columns) < 2):
            fault = "has only one column" if head else "is empty"
            hint = f"; choose {listed_columns(others)} with --sheet" if others else ""
            raise ValueError(f"the sheet {chosen!r} {fault}{hint}")
        texts = [[_text(row, i) for i in columns] for row in head]
        filled = [each for each in texts if any(each)]
        found = find_header(filled, header=header)
        if not found.n_rows:
            names = [f"x{i}" for i in range(len(columns))]
        else:
            written = found.names or filled[found.n_titles]
            names = list(unique_names([clean_name(each) for each in written]))
        return cls(file, chosen, columns, names, found, others)

    def column_names(self) -> list[str]:
        """Return the names of the columns, or x0, x1, ... if the sheet has none."""
        return self.names

    def read(self, target: str | None = None) -> Columns:
        """Return all columns."""
        return columns_from_rows(self.names, list(self._data()))

    def chunks(self, string_columns: set[str], cells_per_chunk: int) -> Iterator[Columns]:
        """Yield chunks of rows."""
        return row_chunks(self.names, self._data(), string_columns, cells_per_chunk)

    def notes(self) -> list[str]:
        """Return messages about other sheets and skipped rows."""
        notes = self.header.notes("row")
        if not self.header.n_rows:
            notes.append("The sheet has no header. Its columns are named x0, x1, ...")
        if self.other_sheets:
            others = listed_columns(self.other_sheets)
            notes.append(f"Read the sheet {self.sheet!r}. The workbook also has {others}.")
        return notes

    def _data(self) -> Iterator[Row]:
        """Yield the rows below the column names."""
        with _opened(self.file) as workbook:
            rows = (
                tuple(row[i] if i < len(row) else None for i in self.columns)
                for row in _rows(self.file, workbook, self.sheet)
            )
            filled = (row for row in rows if any(each is not None for each in row))
            yield from islice(filled, self.header.n_skipped, None)


def _check_archive(file: InputFile) -> None:
    """Raise if a workbook is damaged, too large when unpacked, or declares XML entities."""
    try:
        with zipfile.ZipFile(file.path) as archive:
            members = archive.infolist()
            check_expansion(sum(each.file_size for each in members), file.path.stat().st_size)
            for each in members:
                if each.filename.endswith((".xml", ".rels")):
                    with archive.open(each) as part:
                        start = part.read(DOCTYPE_BYTES).replace(b"\0", b"").upper()
                    if b"<!DOCTYPE" in start or b"<!ENTITY" in start:
                        raise ValueError("it declares XML entities, which a workbook never needs")
    except (*ARCHIVE_ERRORS, RuntimeError) as error:  # RuntimeError: encrypted
        raise ValueError(NOT_A_WORKBOOK) from error


@contextmanager
def _opened(file: InputFile) -> Iterator[Any]:
    try:
        import openpyxl
    except ImportError:
        raise ImportError(
            "Reading an Excel file requires openpyxl: pip install 'dimetric[excel]'."
        ) from None
    with open(file.path, "rb") as opened:  # openpyxl refuses paths with another extension
        with _excel_errors():
            workbook = openpyxl.load_workbook(opened, read_only=True, data_only=True)
        try:
            yield workbook
        finally:
            workbook.close()


@contextmanager
def _excel_errors() -> Iterator[None]:
    """Reraise errors of openpyxl on damaged files, which have any type, as a ValueError."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about styles and validation rules
            yield
    except MemoryError:
        raise
    except Exception as error:
        raise ValueError(NOT_A_WORKBOOK) from error


def _rows(file: InputFile, workbook: Any, sheet: str) -> Iterator[Row]:
    """Yield the rows of a sheet that hold values."""
    with _excel_errors():
        worksheet = workbook[sheet]
        worksheet.reset_dimensions()  # a wrong size in the file would hide rows, or add empty ones
        rows = worksheet.iter_rows(values_only=True)

    n_cells, part = 0, [()]
    while part:
        with _excel_errors():
            part = list(islice(rows, ROWS_PER_PART))
        n_cells += sum(map(len, part))
        check_expansion(n_cells * BYTES_PER_CELL, file.path.stat().st_size)
        for row in filter(None, part):
            cells = tuple(map(_value, row))
            if any(each is not None for each in cells):
                yield cells


def _value(cell: Any) -> Any:
    """Return the value of a cell. Errors such as #DIV/0! and empty texts are missing values."""
    if not isinstance(cell, str):
        return cell
    text = cell.strip()
    return None if not text or text in ERROR_VALUES else text


def _text(row: Row, i: int) -> str:
    return "" if i >= len(row) or row[i] is None else text_of(row[i])


def _used_columns(rows: list[Row]) -> list[int]:
    """Return the positions of the columns with values outside of titles."""
    wide = [row for row in rows if sum(each is not None for each in row) > 1] or rows
    return sorted({i for row in wide for i, each in enumerate(row) if each is not None})


def _chosen_sheet(sheets: list[str], sheet: str | int | None) -> str:
    """Return the name of the sheet that a user names or numbers from 1."""
    if not sheets:
        raise ValueError("it has no sheets with cells")
    if sheet is None:
        return sheets[0]
    if str(sheet) in sheets:
        return str(sheet)
    if str(sheet).isdecimal() and len(str(sheet)) < 6:
        if 1 <= int(sheet) <= len(sheets):
            return sheets[int(sheet) - 1]
        raise ValueError(
            f"it has no sheet {sheet}; its sheets are numbered from 1 to {len(sheets)}"
        )
    raise ValueError(f"it has no sheet {sheet!r}; its sheets are {listed_columns(sheets)}")
