"""Table files, read as a whole or in chunks of rows."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from dimetric._names import listed_columns
from dimetric.data._readers.arrays import ArrayReader
from dimetric.data._readers.arrow import FeatherReader, ParquetReader
from dimetric.data._readers.content import Content, detect_content
from dimetric.data._readers.dialect import Dialect
from dimetric.data._readers.errors import naming_file_in_errors
from dimetric.data._readers.excel import ExcelReader
from dimetric.data._readers.json_lines import JsonReader
from dimetric.data._readers.nested import nested_columns, nested_target
from dimetric.data._readers.reader import Reader
from dimetric.data._readers.records import concatenated, with_strings
from dimetric.data._readers.source import (
    InputFile,
    input_files,
    is_file_source,
    table_name,
    tables_name,
)
from dimetric.data._readers.sql import SqlReader
from dimetric.data._readers.text import TextReader

__all__ = ["TableFile", "is_file_source", "naming_file_in_errors", "table_name", "tables_name"]

CELLS_PER_CHUNK = 2**20  # values in a chunk, which take 8 MB as float64


@dataclass(frozen=True)
class TableFile:
    """A table in a file, or in several files with the same columns.

    Attributes
    ----------
    readers : tuple of Reader
        The reader of each file. :meth:`open` detects the type and format of the files once.
    """

    readers: tuple[Reader, ...]

    @classmethod
    def open(
        cls,
        source: str | Path | Iterable[str | Path],
        header: bool | None = None,
        *,
        sheet: str | int | None = None,
        sql: str | None = None,
    ) -> Self:
        """Detect the type and the format of files. Raise if one is not a table.

        Parameters
        ----------
        source : path, "-" for standard input, or iterable of these
            The files. The rows of several files are concatenated.
        header : bool or None, default=None
            Whether the first line of text files and workbooks holds column names. None detects
            this.
        sheet : str or int, optional
            Name of a sheet of an Excel file, or its number from 1. By default, the first sheet.
        sql : str, optional
            A query that selects the rows of a SQLite or DuckDB database. In a query of another
            file, its table is named ``data``.
        """
        readers, files = [], input_files(source)
        if sql is not None and len(files) > 1:
            raise ValueError(f"A query needs one file, but {len(files)} are given.")
        for file in files:
            content = detect_content(file)
            with naming_file_in_errors(file.label):
                readers.append(_open_reader(file, content, header, sheet, sql))
        return cls(tuple(readers))

    @property
    def name(self) -> str:
        """The name of the first file without its extension, and the number of others."""
        return tables_name(each.file.label for each in self.readers)

    @property
    def label(self) -> str:
        """The files, as a user has named them."""
        return ", ".join(each.file.label for each in self.readers)

    @property
    def n_bytes(self) -> int:
        """The size of all files."""
        return sum(each.file.path.stat().st_size for each in self.readers)

    @property
    def dialect(self) -> Dialect | None:
        """The format of the first file, if it is a text file."""
        first = self.readers[0]
        return first.dialect if isinstance(first, TextReader) else None

    @property
    def holds_arrays(self) -> bool:
        """Whether the first file is a NumPy file, whose target can only be named y."""
        return isinstance(self.readers[0], ArrayReader)

    def column_names(self) -> list[str]:
        """Return the column names, or x0, x1, ... if there are none."""
        names = self._names_in(self.readers[0])
        for each in self.readers[1:]:
            self._check_names(each, names)
        return names

    def nested_columns(self) -> dict[str, str]:
        """Return the columns known to be nested, which are not read, and what they hold."""
        nested: dict[str, str] = {}
        for each in self.readers:
            with naming_file_in_errors(each.file.label):
                nested |= each.nested_columns()
        return nested

    def notes(self) -> list[str]:
        """Return messages about the format of the files."""
        several = len(self.readers) > 1
        return [
            f"{each.file.label}: {note}" if several else note
            for each in self.readers
            for note in each.notes()
        ]

    def read(self, target: str | None = None) -> Any:
        """Read the whole table, as a data frame of pandas or polars, or as a dict of columns.

        Parameters
        ----------
        target : str, optional
            A column of a text file whose values are read as strings. Ignored with polars.
        """
        parts, nested = [], self.nested_columns()
        if len(self.readers) > 1:
            self.column_names()  # the columns must be equal
        if target in nested:
            raise nested_target(target, nested[target])
        for each in self.readers:
            with naming_file_in_errors(each.file.label):
                parts.append(each.read(target))
        table = parts[0] if len(parts) == 1 else concatenated(parts)
        if target is not None and (kinds := nested_columns({target: table[target]})):
            raise nested_target(target, kinds[target])
        return table

    def chunks(
        self, *, string_columns: Iterable[str] = (), cells_per_chunk: int | None = None
    ) -> Iterator[Any]:
        """Yield chunks of rows, as pandas data frames or dicts of columns.

        Parameters
        ----------
        string_columns : iterable of str
            Columns whose values are read as strings, even if a chunk holds only numbers.
        cells_per_chunk : int, optional
            Number of values in each chunk. By default, about a million.
        """
        strings = set(string_columns)
        cells_per_chunk = CELLS_PER_CHUNK if cells_per_chunk is None else cells_per_chunk
        names = self.column_names() if len(self.readers) > 1 else None
        are_mixed = len({type(each) for each in self.readers}) > 1
        for each in self.readers:
            with naming_file_in_errors(each.file.label):
                for chunk in each.chunks(strings, cells_per_chunk):
                    columns = chunk if names is None else _in_order(chunk, names)
                    yield with_strings(columns, strings) if are_mixed else columns

    def _names_in(self, reader: Reader) -> list[str]:
        with naming_file_in_errors(reader.file.label):
            return reader.column_names()

    def _check_names(self, reader: Reader, names: list[str]) -> None:
        """Raise unless a file has the columns of the first file, in any order."""
        found, first = self._names_in(reader), self.readers[0].file.label
        present, expected = set(found), set(names)
        missing = [each for each in names if each not in present]
        extra = [each for each in found if each not in expected]
        if missing or extra:
            parts = [f"lacks {_columns(missing)} of {first}"] if missing else []
            parts += [f"has {_columns(extra)}, which {first} lacks"] if extra else []
            raise ValueError(
                f"{reader.file.label} {' and '.join(parts)}. All files must have the same columns."
            )


def _in_order(chunk: Any, names: list[str]) -> dict[str, Any]:
    """Return columns in a given order, because a model without names matches them by position."""
    return {name: chunk[name] for name in names if name in chunk}


def _columns(names: list[str]) -> str:
    return f"the {'column' if len(names) == 1 else 'columns'} {listed_columns(names)}"


def _open_reader(
    file: InputFile,
    content: Content,
    header: bool | None,
    sheet: str | int | None,
    sql: str | None,
) -> Reader:
    """Return the reader for the content of a file."""
    kind, is_gzip = content
    reader: Reader
    match kind:
        case "sqlite" | "duckdb":
            reader = SqlReader.open(file, kind, sql)
        case "text":
            reader = TextReader.open(file, is_gzip, header)
        case "json":
            reader = JsonReader.open(file, is_gzip)
        case "excel":
            reader = ExcelReader.open(file, sheet, header)
        case "arrays":
            reader = ArrayReader(file)
        case "feather":
            reader = FeatherReader(file)
        case _:
            reader = ParquetReader(file)
    if sheet is not None and kind != "excel":
        raise ValueError(
            f"A sheet can be chosen only in an Excel file, but {file.label} is {reader.kind}."
        )
    if sql is None or kind in ("sqlite", "duckdb"):
        return reader
    return SqlReader.over(reader, sql)
