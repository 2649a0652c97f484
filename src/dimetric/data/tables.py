"""Tables, from files or data frames, as samples."""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dimetric._names import suggest
from dimetric.data.columns import GAPS, DataSet, columns_of, is_missing
from dimetric.data.dialect import dialect_of
from dimetric.data.files import kind_of, names_in, read_file, stem
from dimetric.data.samples import encoded

__all__ = ["read_table"]

WHOLE = re.compile(r"-?\d+")
TARGETS = ("class", "target", "label", "y")  # names that say what a column is for
NUMBERINGS = ("", "id", "index", "no", "row", "rownames", "#")  # and of those that count rows


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
    """Return a table as samples.

    Texts are categories, and one-hot: a column for each, named ``column=category``, or a single
    one where there are two. Columns that only number the rows are left out. What was done is told
    in ``notes``. Dates are refused.

    Parameters
    ----------
    source : path, or data frame of pandas or polars
        A ``.csv`` (or ``.tsv``, ``.txt``; perhaps ``.gz``) or ``.parquet`` file, read by whichever
        of pandas and polars is there; ``.npz`` with X and y; or a frame. Of a file of text the
        separator (comma, semicolon, tab, bar or spaces), the decimal sign and the encoding are
        found out.
    target : str or int, optional
        The column that is y, by name or by number, from the end if that is negative. By default
        one called "class", "target", "label" or "y", else the last one.
    drop : iterable of str
        Columns to leave out.
    extra : iterable of str
        Columns that are no features, and are kept in ``extra``.
    missing : {"drop", "impute", "raise"}, default="drop"
        What is done with rows that have missing values: they are left out, which a warning counts;
        or the values are the median, or the most frequent category, of their column. Among classes
        that are texts only empty fields and "?" are missing: "None" and "NA" are classes.
    name : str, optional
        Name of the data set; by default that of the file.
    header : bool or None, default=None
        Whether the first line of a file of text holds names; None finds out.

    Returns
    -------
    DataSet
        With ``X``, ``y`` and ``feature_names``.

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
    return DataSet(
        found.X, found.y, found.feature_names, found.target_name, found.name,
        (*table.notes, *found.notes), found.extra,
    )  # fmt: skip


class Table(NamedTuple):
    """The columns of a table, of any kind, and what each is for.

    Attributes
    ----------
    columns : dict of str to ndarray
        Features, target and others.
    target : str or None
        Name of the target.
    extra : list of str
        Names of columns that are no features.
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
    """Return the columns of a table, those that are no features told apart.

    Parameters
    ----------
    source, target, drop, extra, name, header
        As in :func:`read_table`.
    labelled : bool, default=True
        Whether there is a target where none is named.
    """
    drop, extra = (each if isinstance(each, str) else list(each) for each in (drop, extra))
    if isinstance(source, str | Path):
        path = Path(source)
        name = stem(path) if name is None else name
        chosen = None
        if kind_of(path) == "text":
            chosen = _roles(names_in(path, header), target, drop, extra, name, labelled).target
        frame = read_file(path, header, chosen)
    else:
        frame = source
        if not hasattr(frame, "columns") or not hasattr(frame, "dtypes"):
            raise TypeError(
                f"A table is the path of a file, or a data frame of pandas or polars, not "
                f"{type(source).__name__}."
            )
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
    notes = _oddities(frame, list(columns), Path(source), header) if frame is not source else []
    for each in [each for each in columns if each not in (roles.target, *roles.extra)]:
        why = no_feature(each, columns[each])
        if why:
            notes.append(f"Column {each!r} {why}: it was left out.")
            del columns[each]
    if roles.target is not None and columns[roles.target].dtype.kind == "O":
        odd = sorted(GAPS & {each for each in columns[roles.target] if isinstance(each, str)})
        notes += [f"{each!r} in column {roles.target!r} is a class: empty fields are missing ones."
                  for each in odd]  # fmt: skip
    return Table(columns, roles.target, roles.extra, name or "", notes)


class _Roles(NamedTuple):
    target: str | None
    drop: list[str]
    extra: list[str]


def _roles(
    names: list[str], target: str | int | None, drop: Iterable[str], extra: Iterable[str],
    name: str | None, labelled: bool,
) -> _Roles:  # fmt: skip
    """Return what the columns of some names are for."""
    drop, extra = _known(drop, names, "drop"), _known(extra, names, "extra")
    candidates = [each for each in names if each not in (*extra, *drop)]
    if not candidates:
        raise ValueError(f"{name or 'The table'} has no column that is a feature.")
    chosen = _target(target, candidates, names) if labelled or target is not None else None
    return _Roles(chosen, drop, extra)


def no_feature(name: str, values: np.ndarray) -> str:
    """Return why a column that nobody left out is no feature, if so.

    Examples
    --------
    >>> no_feature("id", np.array([7, 2, 5])), no_feature("size", np.array([7, 2, 5]))
    ('numbers the rows', '')
    """
    plain = "" if name.startswith("Unnamed: ") else name.strip().lower()
    if plain not in NUMBERINGS:
        return ""
    if not plain and is_missing(values).all():
        return "has neither name nor values"  # lines end with a separator
    if values.dtype.kind in "iu" and len(np.unique(values)) == len(values) > 1:
        return "numbers the rows"
    return ""


def _oddities(frame: Any, names: list[str], path: Path, header: bool | None) -> list[str]:
    """Return what is to be said about the form of a file."""
    notes = []
    if kind_of(path) == "text" and not dialect_of(path, header).header:
        notes.append("The first line holds no names: columns are called x0, x1, ...")
    if type(getattr(frame, "index", None)).__name__ not in ("RangeIndex", "NoneType"):
        notes.append("Rows have names, in a column before the first: they were left out.")
    twice = [each for each in names if each.endswith(".1") and each[:-2] in names]
    if twice:
        notes.append(f"More than one column is called {twice[0][:-2]!r}: others got a number.")
    return notes


def _target(target: str | int | None, names: list[str], all_names: list[str]) -> str:
    if isinstance(target, str) and target not in all_names and WHOLE.fullmatch(target):
        target = int(target)  # as it is typed
    if target is None:
        return _guessed(names)
    if isinstance(target, str):
        chosen = target
    elif -len(all_names) <= target < len(all_names):
        chosen = all_names[target]
    else:
        raise ValueError(
            f"target={target}: there are {len(all_names)} columns, from 0 on, or from -1 back."
        )
    return _known([chosen], names, "target")[0]


def _guessed(names: list[str]) -> str:
    """Return the column that looks like the target."""
    # As it is spelt if it is, else the last of those that are spelt otherwise.
    by_name = {each.lower(): each for each in names} | {each: each for each in names}
    named = [each for each in names if not each.startswith("Unnamed: ")] or names
    return next((by_name[each] for each in TARGETS if each in by_name), named[-1])


def _known(wanted: Iterable[str], names: Iterable[str], role: str) -> list[str]:
    """Return the names of columns, all of which must be there."""
    wanted, names = ([wanted] if isinstance(wanted, str) else list(wanted)), list(names)
    for each in wanted:
        if each not in names:
            raise ValueError(f"{role}: there is no column {each!r}. {suggest(each, names)}")
    return wanted
