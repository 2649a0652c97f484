"""Turn rows of Python objects, from workbooks, JSON and databases, into typed columns."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from itertools import islice
from typing import Any

import numpy as np

from dimetric.data._missing import is_missing_value
from dimetric.data._readers.nested import NESTED_TYPES, nested_columns

BYTES_PER_CELL = 32  # size of a Python object and the reference to it
MAX_INTEGER = 2**63

Columns = dict[str, np.ndarray]


def columns_from_rows(
    names: Sequence[str], rows: Sequence[Sequence[Any]], string_columns: Iterable[str] = ()
) -> Columns:
    """Return the columns of a table as typed arrays.

    Parameters
    ----------
    names : sequence of str
        Names of the columns.
    rows : sequence of sequences
        The rows. A row may be shorter than `names`. The missing values at its end are None.
    string_columns : iterable of str
        Columns whose numbers become strings.

    Examples
    --------
    >>> columns_from_rows(["a", "b"], [(1, "x"), (2, 3)])
    {'a': array([1, 2]), 'b': array(['x', '3'], dtype=object)}
    """
    strings = set(string_columns)
    return {
        name: typed_column([row[i] if i < len(row) else None for row in rows], name in strings)
        for i, name in enumerate(names)
    }


def row_chunks(
    names: Sequence[str],
    rows: Iterable[Sequence[Any]],
    string_columns: set[str],
    cells_per_chunk: int,
) -> Iterator[Columns]:
    """Yield chunks of rows as typed columns, without nested columns."""
    rows, size = iter(rows), max(1, cells_per_chunk // max(1, len(names)))
    while part := list(islice(rows, size)):
        columns = columns_from_rows(names, part, string_columns)
        nested = nested_columns(columns)
        yield {name: values for name, values in columns.items() if name not in nested}


def typed_column(values: list[Any], as_strings: bool = False) -> np.ndarray:
    """Return values as an array of numbers, dates or durations, if all are of one kind.

    In a mixture with strings, all values become strings, as in a text file.

    Examples
    --------
    >>> typed_column([1, None, 2.5]), typed_column([1, "a"])
    (array([1. , nan, 2.5]), array(['1', 'a'], dtype=object))
    """
    types = {type(each) for each in values if each is not None}
    has_missing = None in values if types else True
    if not types or any(issubclass(each, NESTED_TYPES) for each in types):
        return _objects(values)
    if as_strings or str in types or types == {time}:
        return _objects([None if each is None else text_of(each) for each in values])
    if types == {bool}:
        return _objects(values) if has_missing else np.array(values, dtype=bool)
    if types <= {int, float, bool, Decimal}:
        return _numbers(values, are_integers=types == {int} and not has_missing)
    if types <= {date, datetime}:
        naive = [each.replace(tzinfo=None) if isinstance(each, datetime) else each
                 for each in values]  # fmt: skip
        return np.array(naive, dtype="datetime64[us]")
    if types == {timedelta}:
        return np.array(values, dtype="timedelta64[us]")
    return _objects([None if each is None else text_of(each) for each in values])


def text_of(value: Any) -> str:
    """Return the text of a value in a column of strings, as in a text file.

    Examples
    --------
    >>> text_of(3.0), text_of(2.5), text_of(datetime(2024, 5, 1))
    ('3', '2.5', '2024-05-01')
    """
    if isinstance(value, datetime) and value.time() == time():
        return str(value.date())
    if isinstance(value, float) and value.is_integer() and abs(value) < MAX_INTEGER:
        return str(int(value))
    return str(value)


def concatenated(parts: Sequence[Any]) -> Columns:
    """Concatenate tables with the same columns, which may be data frames or dicts of columns."""
    names = [str(each) for each in (parts[0] if isinstance(parts[0], dict) else parts[0].columns)]
    return {name: _joined([_array(part[name]) for part in parts]) for name in names}


def with_strings(columns: dict[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """Return columns with numbers as strings in some of them, as in chunks of a text file."""
    texts = {
        name: typed_column(_known(_array(columns[name]).tolist()), as_strings=True)
        for name in names
        if name in columns
    }
    return columns | texts


def _known(values: list[Any]) -> list[Any]:
    return [None if is_missing_value(each) else each for each in values]


def _array(column: Any) -> np.ndarray:
    return column.to_numpy() if hasattr(column, "to_numpy") else np.asarray(column)


def _joined(parts: list[np.ndarray]) -> np.ndarray:
    """Concatenate the values of a column. Numbers become strings if another part has strings."""
    kinds = {"number" if each.dtype.kind in "iuf" else each.dtype.kind for each in parts}
    if len(kinds) == 1 and kinds != {"O"}:
        return np.concatenate(parts)
    return typed_column(_known([value for part in parts for value in part.tolist()]))


def _numbers(values: list[Any], *, are_integers: bool) -> np.ndarray:
    if are_integers:
        try:
            return np.array(values, dtype=np.int64)
        except OverflowError:
            pass
    return np.array([_number(each) for each in values])


def _number(value: Any) -> float:
    try:
        return np.nan if value is None else float(value)
    except OverflowError:  # an integer with more than 308 digits
        return np.inf if value > 0 else -np.inf


def _objects(values: list[Any]) -> np.ndarray:
    """Return a list as a one-dimensional object array, even if its items are lists."""
    array = np.empty(len(values), dtype=object)
    for i, each in enumerate(values):
        array[i] = each
    return array
