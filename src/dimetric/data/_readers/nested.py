"""Columns whose values are lists, structs, maps or bytes. They cannot be features."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from dimetric._names import listed_columns

NESTED_TYPES = (list, tuple, dict, set, frozenset, np.ndarray, bytes, bytearray, memoryview)


def refuse_nested(nested: Mapping[str, str], drop: Iterable[str]) -> None:
    """Raise if columns hold lists, structs, maps or bytes, unless they are dropped.

    Examples
    --------
    >>> refuse_nested({"tags": "lists", "photo": "bytes"}, ["photo"])
    Traceback (most recent call last):
    ...
    ValueError: Column 'tags' holds lists, which cannot be features. Drop it (drop=['tags'] in...
    """
    dropped = set(drop)
    refused = {name: kind for name, kind in nested.items() if name not in dropped}
    if not refused:
        return
    names = list(refused)
    *kinds, last = sorted(set(refused.values()))
    contents = f"{', '.join(kinds)} or {last}" if kinds else last
    subject = f"Column {names[0]!r} holds"
    if len(names) > 1:
        subject = f"Columns {listed_columns(names)} hold"
    them = "it" if len(names) == 1 else "them"
    raise ValueError(
        f"{subject} {contents}, which cannot be features. Drop {them} (drop={names!r} in Python, "
        f"--drop {','.join(names)!r} on the command line), or store the parts as columns."
    )


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
