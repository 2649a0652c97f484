"""Read JSON records: one object in each line, or an array of objects."""

import gzip
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from typing import IO, Any, ClassVar, Self

from dimetric.data._limits import check_n_columns
from dimetric.data._readers.compressed import check_expansion, check_gzip
from dimetric.data._readers.reader import Reader
from dimetric.data._readers.records import (
    BYTES_PER_CELL,
    Columns,
    columns_from_rows,
    row_chunks,
)
from dimetric.data._readers.source import InputFile

MAX_DIGITS = 400  # of an integer. Python refuses to convert very long ones, and float() is faster.
MAX_DEPTH = 20  # of objects in objects
EXPECTED = 'expected one record in each line, such as {"a": 1, "b": "x"}, or an array of records'

Record = dict[str, Any]


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) <= MAX_DIGITS else float(digits)


DECODER = json.JSONDecoder(parse_int=_integer)


@dataclass(frozen=True)
class JsonReader(Reader):
    """Reads JSON lines and arrays of records.

    Objects inside a record are flattened: ``{"a": {"b": 1}}`` has the column ``a.b``. Records may
    have different keys. The value of an absent key is missing.
    """

    file: InputFile
    is_gzip: bool
    kind: ClassVar[str] = "a JSON file"

    @classmethod
    def open(cls, file: InputFile, is_gzip: bool) -> Self:
        """Check the size of a compressed file."""
        if is_gzip:
            check_gzip(file.path)
        return cls(file, is_gzip)

    def column_names(self) -> list[str]:
        """Return the keys of all records."""
        return list(self._names)

    def read(self, target: str | None = None) -> Columns:
        """Return all columns."""
        return columns_from_rows(self._names, list(self._rows()))

    def chunks(self, string_columns: set[str], cells_per_chunk: int) -> Iterator[Columns]:
        """Yield chunks of rows."""
        return row_chunks(self._names, self._rows(), string_columns, cells_per_chunk)

    def _rows(self) -> Iterator[list[Any]]:
        names = self._names
        for record in self._records():
            yield [record.get(name) for name in names]

    @cached_property
    def _names(self) -> list[str]:
        names: dict[str, None] = {}
        empty: set[str] = set()  # columns without a known value so far
        n_rows = 0
        for record in self._records():
            if new := record.keys() - names.keys():
                names |= {each: None for each in record if each in new}
                check_n_columns(len(names))
                empty |= new
            if empty:
                empty -= {each for each in empty if record.get(each) is not None}
            n_rows += 1
        if not names:
            raise ValueError("it has no records")
        # {"a": null} next to {"a": {"b": 1}} is not a column of its own.
        objects = {each.rpartition(".")[0] for each in names if "." in each}
        names = {each: None for each in names if each not in empty or each not in objects}
        # Records with different keys may make a large table of missing values.
        check_expansion(n_rows * len(names) * BYTES_PER_CELL, self.file.path.stat().st_size)
        return list(names)

    def _records(self) -> Iterator[Record]:
        """Yield the records, flattened."""
        with self._opened() as file:
            first_line = next(filter(str.strip, file), "")
            is_whole = not next(filter(str.strip, file), "")
            file.seek(0)
            if first_line.lstrip().startswith("[") or is_whole or not _is_object(first_line):
                records = records_in(_parsed(file.read(), "it" if is_whole else "line 1"))
                for i, each in enumerate(records):
                    yield _flat_record(each, f"record {i + 1}")
                return
            for i, line in enumerate(file):
                if line.strip():
                    yield _flat_record(_parsed(line, f"line {i + 1}"), f"line {i + 1}")

    @contextmanager
    def _opened(self) -> Iterator[IO[str]]:
        with open(self.file.path, "rb") as file:
            is_utf16 = file.read(2) in (b"\xff\xfe", b"\xfe\xff")
        opener: Any = gzip.open if self.is_gzip else open
        encoding = "utf-16" if is_utf16 else "utf-8-sig"
        try:
            with opener(self.file.path, "rt", encoding=encoding) as opened:
                yield opened
        except UnicodeDecodeError as error:
            raise ValueError("it is not valid UTF-8 text, which JSON files must be") from error


def records_in(value: Any) -> list[Any]:
    """Return the records of a JSON value: an array, or an object that holds a table.

    Such objects are written by other programs: an array of records under any key, an array or an
    object of values for each column, or arrays of column names and rows.

    Examples
    --------
    >>> records_in({"a": [1, 2], "b": [3, 4]})
    [{'a': 1, 'b': 3}, {'a': 2, 'b': 4}]
    """
    if not isinstance(value, dict):
        return value if isinstance(value, list) else [value]
    parts = list(value.values())
    if all(isinstance(each, dict) and each for each in parts) and parts:
        rows = list(parts[0])  # {"a": {"0": 1, "1": 2}}, as pandas writes a data frame
        if all(map(str.isdecimal, rows)) and all(list(each) == rows for each in parts):
            return [{name: column[row] for name, column in value.items()} for row in rows]
    names, data = value.get("columns"), value.get("data")
    if isinstance(names, list) and isinstance(data, list) and all(map(_is_list, data)):
        return [dict(zip(map(str, names), row, strict=False)) for row in data]
    tables = [each for each in parts if isinstance(each, list) and each and _are_records(each)]
    if len(tables) == 1:
        return tables[0]
    if parts and all(map(_is_list, parts)) and len(set(map(len, parts))) == 1:
        return [dict(zip(value, row, strict=True)) for row in zip(*parts, strict=True)]
    if any(isinstance(each, list) for each in parts):
        raise ValueError(f"it holds a single object; {EXPECTED}")
    return [value]


def _is_list(value: Any) -> bool:
    return isinstance(value, list)


def _are_records(values: list[Any]) -> bool:
    return all(isinstance(each, dict) for each in values)


def _is_object(line: str) -> bool:
    """Return whether a line holds a complete object. Otherwise, one object takes several lines."""
    try:
        return isinstance(DECODER.decode(line), dict)
    except (ValueError, RecursionError):
        return line.rstrip().endswith("}")  # damaged; the error names the line


def _parsed(text: str, where: str) -> Any:
    try:
        return DECODER.decode(text)
    except RecursionError as error:
        raise ValueError(f"{where} is nested too deeply") from error
    except ValueError as error:
        raise ValueError(f"{where} is not valid JSON; {EXPECTED}") from error


def _flat_record(value: Any, where: str) -> Record:
    if not isinstance(value, dict):
        raise ValueError(f"{where} is not a record; {EXPECTED}")
    if dict not in map(type, value.values()):
        return value
    flat: Record = {}
    _flatten(value, "", flat, where, 0)
    return flat


def _flatten(value: Record, prefix: str, flat: Record, where: str, depth: int) -> None:
    """Add the values of an object, and of the objects in it, to a flat record."""
    if depth > MAX_DEPTH:
        raise ValueError(f"{where} is nested too deeply")
    for key, each in value.items():
        if isinstance(each, dict) and each:
            _flatten(each, f"{prefix}{key}.", flat, where, depth + 1)
        else:
            flat[f"{prefix}{key}"] = None if each == {} else each
