"""List all problems of a table at once, with one command that deals with them."""

import shlex
from collections.abc import Collection, Mapping
from typing import Any

from dimetric._names import joined_names
from dimetric.data._records import ColumnRecord

MAX_LISTED = 5  # columns in an error message


def handle_problems(problems: list[ColumnRecord], auto: bool, option: str = "drop") -> list[str]:
    """Return notes about columns that are dropped because they cannot be used.

    Parameters
    ----------
    problems : list of ColumnRecord
        The columns.
    auto : bool
        Whether to drop them. Otherwise, all problems are raised as one error.
    option : str
        Name of the option that drops columns, which the error message suggests.
    """
    if auto:
        return [f"{each.problem.removesuffix('.')}, so it is dropped." for each in problems]
    sentences = " ".join(each.problem for each in problems)
    raise ValueError(f"{sentences} {remedy([each.name for each in problems], option)}")


def remedy(names: list[str], option: str = "drop") -> str:
    """Return a sentence that says how to drop columns.

    Examples
    --------
    >>> remedy(["a", "b c"], "--drop")
    "Replace these values, or add --drop 'a,b c' (or --auto, which does the same)."
    """
    if option.startswith("--"):
        text = shlex.quote(joined_names(names))
        return f"Replace these values, or add {option} {text} (or --auto, which does the same)."
    return f"Replace these values, or set {option}={names} or auto=True."


def nested_records(nested: Mapping[str, str], others: Collection[str | None]) -> list[ColumnRecord]:
    """Return the records of columns that hold lists, structs, maps or bytes.

    Parameters
    ----------
    nested : mapping of str to str
        What each of these columns holds.
    others : collection of str
        Columns that are not features. Raise if one of them is nested.

    Examples
    --------
    >>> nested_records({"tags": "lists"}, ["y"])[0].problem
    "Column 'tags' holds lists, which cannot be features."
    """
    for name, kind in nested.items():
        if name in others:
            raise ValueError(f"Column {name!r} holds {kind}. Choose a column of single values.")
    return [
        ColumnRecord(
            name, kind, 0, problem=f"Column {name!r} holds {kind}, which cannot be features."
        )
        for name, kind in nested.items()
    ]


def check_features(
    columns: Mapping[str, Any],
    others: Collection[str | None],
    records: list[ColumnRecord],
    name: str | None,
) -> None:
    """Raise if no feature columns remain.

    Parameters
    ----------
    columns : mapping
        The columns that remain.
    others : collection of str
        Those that are not features.
    records : list of ColumnRecord
        The columns that could be features.
    name : str or None
        Name of the table.
    """
    if not records or any(each not in others for each in columns):
        return
    reasons = [f"{each.name!r} ({each.reason or 'dropped'})" for each in records[:MAX_LISTED]]
    more = f" and {len(records) - MAX_LISTED} more" if len(records) > MAX_LISTED else ""
    raise ValueError(
        f"{name or 'The table'} has no columns that can be features. Left out: "
        f"{', '.join(reasons)}{more}."
    )
