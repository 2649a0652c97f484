"""The vectors of a table: one column of lists, or one column for each coordinate."""

import json
from collections.abc import Iterable
from typing import Any

import numpy as np

from dimetric._names import listed_columns
from dimetric.data._files import TableFile
from dimetric.data._readers.arrow import FeatherReader, ParquetReader
from dimetric.data._retrieval.names import VECTOR_NAMES, find_name

MAX_SHOWN_CHARACTERS = 20  # of a value in an error message


def table_vectors(file: TableFile, table: Any, used: Iterable[str]) -> tuple[np.ndarray, set[str]]:
    """Return the vectors of a table, and the names of their columns.

    Parameters
    ----------
    file : TableFile
        The file.
    table : data frame or dict of columns
        Its columns. A Parquet or Feather file has further columns of lists, which are not read yet.
    used : iterable of str
        Columns that hold ids, texts and groups.
    """
    others = [each for each in file.column_names() if each not in set(used)]
    name = find_name(others, VECTOR_NAMES)
    lists = [each for each, kind in file.nested_columns().items() if kind == "lists"]
    if name is None and len(lists) == 1:
        name = lists[0]
    if name is not None:
        in_arrow = name in lists
        vectors = _arrow_vectors(file, name) if in_arrow else _listed_vectors(table[name])
        return vectors, {name}
    columns = {each: np.asarray(table[each]) for each in others if each in table}
    lists = [each for each, values in columns.items() if _holds_lists(values)]
    if len(lists) == 1:
        return _listed_vectors(columns[lists[0]]), {lists[0]}
    numeric = {each: values for each, values in columns.items() if values.dtype.kind in "iuf"}
    if not numeric:
        raise ValueError(
            f"it has no vectors, only the columns {listed_columns(file.column_names())}; name the "
            "column of vectors 'vector', or give a column of numbers for each coordinate"
        )
    return as_vectors(np.column_stack(list(numeric.values()))), set(numeric)


def as_vectors(values: np.ndarray) -> np.ndarray:
    """Return a matrix of numbers as float32 or float64. Raise if it is not one.

    Examples
    --------
    >>> as_vectors(np.array([[1, 2]], dtype=np.int8)).dtype, as_vectors(np.eye(2, dtype="f2")).dtype
    (dtype('float64'), dtype('float32'))
    """
    if values.ndim != 2 or values.dtype.kind not in "iuf" or not values.size:
        raise ValueError(
            f"its vectors must be a matrix of numbers with a row for each item, but have shape "
            f"{values.shape} and dtype {values.dtype}"
        )
    is_single = values.dtype.kind == "f" and values.dtype.itemsize <= np.dtype("f4").itemsize
    return np.ascontiguousarray(values, dtype=np.float32 if is_single else np.float64)


def _arrow_vectors(file: TableFile, name: str) -> np.ndarray:
    parts = []
    for each in file.readers:
        if not isinstance(each, ParquetReader | FeatherReader):
            raise ValueError(f"column {name!r} holds lists, which only some of the files have")
        parts.append(each.read_vectors(name))
    if len({part.shape[1] for part in parts}) > 1:
        raise ValueError("the vectors of the files have different lengths")
    return as_vectors(np.concatenate(parts))


def _holds_lists(values: np.ndarray) -> bool:
    first = next((each for each in values if each is not None), None) if values.ndim == 1 else None
    return isinstance(first, list) or (isinstance(first, str) and first.lstrip().startswith("["))


def _listed_vectors(column: Any) -> np.ndarray:
    """Return vectors that are lists, or texts such as "[0.5, 1.0]"."""
    rows = [_parsed(each, i) for i, each in enumerate(np.asarray(column))]
    lengths = {len(each) for each in rows}
    if len(lengths) > 1:
        odd = next(i for i, each in enumerate(rows) if len(each) != len(rows[0]))
        raise ValueError(
            f"the vector of row {odd} has {len(rows[odd])} numbers, but that of row 0 has "
            f"{len(rows[0])}"
        )
    return as_vectors(np.array(rows, dtype=np.float64))


def _parsed(value: Any, row: int) -> list[float]:
    try:
        listed = json.loads(value) if isinstance(value, str) else value
        if isinstance(listed, list | tuple | np.ndarray) and len(listed):
            return [float(each) for each in listed]
    except (ValueError, TypeError, RecursionError):
        pass
    shown = repr(value)[:MAX_SHOWN_CHARACTERS]
    raise ValueError(f"row {row} has no vector: {shown} is not a list of numbers")
