"""Columns whose values are lists, structs, maps or bytes. They cannot be features."""

from collections.abc import Mapping
from typing import Any

import numpy as np

NESTED_TYPES = (list, tuple, dict, set, frozenset, np.ndarray, bytes, bytearray, memoryview)


def nested_columns(table: Any) -> dict[str, str]:
    """Return the columns of a data frame or dict whose values are lists, objects or bytes.

    Examples
    --------
    >>> nested_columns({"a": np.arange(2), "b": np.array([[], None], dtype=object)})
    {'b': 'lists'}
    """
    nested = {}
    names = table if isinstance(table, Mapping) else table.columns
    for name in names:
        values = table[name]
        if getattr(values, "ndim", 1) != 1 or not _may_be_nested(values):
            continue
        listed = values.to_list() if hasattr(values, "to_list") else values
        first = next((each for each in listed if isinstance(each, NESTED_TYPES)), None)
        if first is not None:
            nested[str(name)] = _kind_of(first)
    return nested


def _may_be_nested(values: Any) -> bool:
    text = str(values.dtype).lower()  # of numpy, pandas or polars
    return text == "object" or text.startswith(("list", "struct", "array", "binary", "object"))


def _kind_of(value: Any) -> str:
    if isinstance(value, bytes | bytearray | memoryview):
        return "bytes"
    return "structs" if isinstance(value, dict) else "lists"


def nested_target(name: str, kind: str) -> ValueError:
    """Return the error about a target that holds lists, structs, maps or bytes."""
    return ValueError(
        f"Column {name!r} holds {kind}, so it cannot be the target. Choose another column."
    )
