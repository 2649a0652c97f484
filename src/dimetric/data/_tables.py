"""Tables, from files or data frames: which column is the target, and which are features."""

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dimetric._names import suggest
from dimetric.data._columns import columns_of
from dimetric.data._dataset import DataSet
from dimetric.data._files import TableFile, table_name
from dimetric.data._missing import MISSING_MARKERS, is_missing
from dimetric.data._samples import encoded

__all__ = ["read_table"]

COLUMN_NUMBER = re.compile(r"-?\d+")
TARGET_NAMES = ("class", "target", "label", "y")  # of a column that is probably the target
ROW_NUMBER_NAMES = ("", "id", "index", "no", "row", "rownames", "#")  # of one that counts rows


def read_table(
    source: Any,
    target: str | int | None = None,
    *,
    drop: Iterable[str] = (),
    extra: Iterable[str] = (),
    missing: str = "drop",
    name: str | None = None,
    header: bool | None = None,
) -> DataSet:
    """Read a table as samples.

    Texts are categories, and one-hot: each category is a feature called ``column=category``; a
    column of two categories is one feature. Columns that only number the rows are left out. The
    ``notes`` of the result say what was done. Dates are refused.

    Parameters
    ----------
    source : path, or data frame of pandas or polars
        A ``.csv`` (or ``.tsv``, ``.txt``; perhaps ``.gz``) or ``.parquet`` file, read by pandas,
        or by polars if pandas is not installed; ``.npz`` with X and y; or a data frame. The
        separator (comma, semicolon, tab, bar or spaces), decimal sign, encoding and header of a
        text file are detected from its first MiB.
    target : str or int, optional
        The column that is y, by name or by number; negative numbers count from the last column.
        By default one called "class", "target", "label" or "y", else the last one.
    drop : iterable of str
        Columns to leave out.
    extra : iterable of str
        Columns that are not features, and are kept in ``extra``.
    missing : {"drop", "impute", "raise"}, default="drop"
        What is done with rows that have missing values. "drop": they are left out, and a warning
        counts them. "impute": the values become the median, or the most frequent category, of
        their column. "raise": they are an error. In a target of texts only empty fields and "?"
        are missing: "None" and "NA" are classes.
    name : str, optional
        Name of the data set; by default that of the file.
    header : bool or None, default=None
        Whether the first line of a text file holds names; None detects it.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"a": [1, 2, 3], "b": ["x", "y", "x"], "class": ["s", "t", "t"]})
    >>> data = read_table(frame, name="tiny")
    >>> data
    DataSet('tiny': 3 samples, 2 features, 2 values of y)
      Column 'b' is 1 where it is 'y', else 0.
    >>> data.feature_names, data.y
    (('a', 'b=y'), array(['s', 't', 't'], dtype='<U1'))
    """
    table = open_table(source, target, drop=drop, extra=extra, name=name, header=header)
    found = encoded(
        table.columns, table.target, name=table.name, missing=missing, extra=table.extra
    )
    return replace(found, notes=(*table.notes, *found.notes))


class Table(NamedTuple):
    """The columns of a table, and which of them is the target.

    Attributes
    ----------
    columns : dict of str to ndarray
        Features, target and others.
    target : str or None
        Name of the target.
    extra : list of str
        Names of columns that are not features.
    name : str
        Name of the table.
    notes : list of str
        What was left out, in sentences.
    """

    columns: dict[str, np.ndarray]
    target: str | None
    extra: list[str]
    name: str
    notes: list[str]


def open_table(
    source: Any,
    target: str | int | None = None,
    *,
    drop: Iterable[str] = (),
    extra: Iterable[str] = (),
    name: str | None = None,
    header: bool | None = None,
    labelled: bool = True,
) -> Table:
    """Return the columns of a table, and which of them are not features.

    Parameters
    ----------
    source : path, TableFile, or data frame of pandas or polars
        As in :func:`read_table`.
    target, drop, extra, name, header
        As in :func:`read_table`.
    labelled : bool, default=True
        Whether to choose a target if none is named.
    """
    drop, extra = (each if isinstance(each, str) else list(each) for each in (drop, extra))
    file = TableFile.open(source, header) if isinstance(source, str | Path) else source
    is_file = isinstance(file, TableFile)
    if is_file and name is None:
        name = table_name(file.path)
    if is_file and file.dialect is not None:
        chosen = _roles(file.column_names(), target, drop, extra, name, labelled).target
        frame = file.read(chosen)
    else:
        frame = file.read() if is_file else _checked_frame(source)
    names = [str(each) for each in getattr(frame, "columns", frame)]
    if isinstance(frame, dict) and "y" not in names and target is None and labelled:
        raise ValueError(
            f"{source} holds no y. If the classes are a column of X, say which: "
            f"target={names[-1]!r}, on the command line --target {names[-1]}."
        )
    roles = _roles(names, target, drop, extra, name, labelled)
    columns = columns_of(frame, target=roles.target)
    if not columns or not len(next(iter(columns.values()))):
        raise ValueError(f"{name or 'The table'} is empty: it has no rows, or no columns.")
    columns = {each: columns[each] for each in columns if each not in roles.drop}
    notes = _notes_on_file(file, frame, list(columns)) if is_file else []
    notes += _drop_row_numbers(columns, roles)
    notes += _notes_on_classes(columns, roles.target)
    return Table(columns, roles.target, roles.extra, name or "", notes)


def _checked_frame(source: Any) -> Any:
    if not hasattr(source, "columns") or not hasattr(source, "dtypes"):
        raise TypeError(
            f"A table is the path of a file, or a data frame of pandas or polars, not "
            f"{type(source).__name__}."
        )
    return source


class _Roles(NamedTuple):
    """What the columns are for: all others are features."""

    target: str | None
    drop: list[str]
    extra: list[str]


def _roles(
    names: list[str],
    target: str | int | None,
    drop: Iterable[str],
    extra: Iterable[str],
    name: str | None,
    labelled: bool,
) -> _Roles:
    """Return which columns are the target, are dropped, or are kept beside the features."""
    drop, extra = _known(drop, names, "drop"), _known(extra, names, "extra")
    candidates = [each for each in names if each not in (*extra, *drop)]
    if not candidates:
        raise ValueError(f"{name or 'The table'} has no column that is a feature.")
    chosen = _target(target, candidates, names) if labelled or target is not None else None
    return _Roles(chosen, drop, extra)


def why_no_feature(name: str, values: np.ndarray) -> str:
    """Return why a column cannot be a feature, as the end of a sentence; "" if it can be one.

    Examples
    --------
    >>> why_no_feature("id", np.array([7, 2, 5])), why_no_feature("size", np.array([7, 2, 5]))
    ('numbers the rows', '')
    """
    plain = "" if name.startswith("Unnamed: ") else name.strip().lower()
    if plain not in ROW_NUMBER_NAMES:
        return ""
    if not plain and is_missing(values).all():
        return "has neither name nor values"  # all lines end with a separator
    if values.dtype.kind in "iu" and len(np.unique(values)) == len(values) > 1:
        return "numbers the rows"
    return ""


def _drop_row_numbers(columns: dict[str, np.ndarray], roles: _Roles) -> list[str]:
    """Delete the columns that cannot be features; return a sentence for each."""
    notes = []
    for name in [each for each in columns if each not in (roles.target, *roles.extra)]:
        why = why_no_feature(name, columns[name])
        if why:
            notes.append(f"Column {name!r} {why}: it was left out.")
            del columns[name]
    return notes


def _notes_on_file(file: TableFile, frame: Any, names: list[str]) -> list[str]:
    """Return sentences about how a file is written, where that is unusual."""
    notes = []
    if file.dialect is not None and not file.dialect.header:
        notes.append("The first line holds no names: columns are called x0, x1, ...")
    if type(getattr(frame, "index", None)).__name__ not in ("RangeIndex", "NoneType"):
        notes.append("Rows have names, in a column before the first: they were left out.")
    twice = [each for each in names if each.endswith(".1") and each[:-2] in names]
    if twice:
        notes.append(f"More than one column is called {twice[0][:-2]!r}: others got a number.")
    return notes


def _notes_on_classes(columns: dict[str, np.ndarray], target: str | None) -> list[str]:
    """Return sentences about classes whose names would mark a missing value elsewhere."""
    if target is None or columns[target].dtype.kind != "O":
        return []
    classes = {each for each in columns[target] if isinstance(each, str)}
    return [
        f"{each!r} in column {target!r} is taken as a class: only empty fields and '?' are missing."
        for each in sorted(MISSING_MARKERS & classes)
    ]


def _target(target: str | int | None, names: list[str], all_names: list[str]) -> str:
    if isinstance(target, str) and target not in all_names and COLUMN_NUMBER.fullmatch(target):
        target = int(target)  # a number given as a text, as on the command line
    if target is None:
        return _likely_target(names)
    if isinstance(target, str):
        chosen = target
    elif -len(all_names) <= target < len(all_names):
        chosen = all_names[target]
    else:
        raise ValueError(
            f"target={target}: there are {len(all_names)} columns, numbered from 0, or from -1 "
            "backwards."
        )
    return _known([chosen], names, "target")[0]


def _likely_target(names: list[str]) -> str:
    """Return the column that is probably the target: one of TARGET_NAMES, else the last."""
    # An exact match goes first, then the last one that differs in upper and lower case alone.
    by_name = {each.lower(): each for each in names} | {each: each for each in names}
    named = [each for each in names if not each.startswith("Unnamed: ")] or names
    return next((by_name[each] for each in TARGET_NAMES if each in by_name), named[-1])


def _known(wanted: Iterable[str], names: Iterable[str], role: str) -> list[str]:
    """Return the wanted names of columns as a list; raise if one of them does not exist."""
    wanted, names = ([wanted] if isinstance(wanted, str) else list(wanted)), list(names)
    for each in wanted:
        if each not in names:
            raise ValueError(f"{role}: there is no column {each!r}. {suggest(each, names)}")
    return wanted
