"""Read tables from files or data frames: choose the target and the feature columns."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from dimetric._arguments import check_types
from dimetric.data._columns import ReadColumns, columns_of
from dimetric.data._dataset import DataSet
from dimetric.data._files import TableFile, is_file_source
from dimetric.data._missing import MISSING_MARKERS
from dimetric.data._problems import check_features, handle_problems, nested_records
from dimetric.data._readers.nested import nested_columns
from dimetric.data._records import ColumnRecord, record_notes, records_of
from dimetric.data._roles import Roles, better_target, roles_of
from dimetric.data._samples import build_data_set
from dimetric.data._target_values import quantities_of

__all__ = ["read_table"]


@check_types
def read_table(
    source: Any,
    target: str | int | None = None,
    *,
    drop: Iterable[str] = (),
    extra: Iterable[str] = (),
    missing: str = "drop",
    name: str | None = None,
    header: bool | None = None,
    sheet: str | int | None = None,
    sql: str | None = None,
    auto: bool = False,
) -> DataSet:
    """Read a table as a data set of samples and targets.

    String columns are categorical and one-hot encoded: each category becomes a feature named
    ``column=category``. A column with two categories becomes one feature. Dates, texts and numbers
    with units are encoded as by :class:`~dimetric.data.TableEncoder`. Columns of row identifiers,
    and columns that hold a single value or almost only missing values, are dropped. The ``notes``
    of the result describe these changes.

    Parameters
    ----------
    source : path, list of paths, or pandas or polars data frame
        A data frame, or the path of a file: ``.csv``, ``.tsv``, ``.txt`` or ``.jsonl`` (also with
        ``.gz``), ``.json`` with an array of records, ``.xlsx``, ``.parquet``, ``.feather``,
        ``.npz`` with X and y, ``.sqlite`` or ``.duckdb``. "-" is standard input. The rows of
        several files with the same columns are concatenated. Text and Parquet files are read with
        pandas, or with polars if pandas is not installed. The separator (comma, semicolon, tab, bar
        or spaces), decimal sign, encoding and header of a text file are detected from its first
        MiB, or more if its lines are longer. Damaged files, files with more than 200,000 columns,
        and compressed files with suspiciously large content raise a ValueError. See the environment
        variable ``DIMETRIC_MAX_EXPANSION`` in SECURITY.md.
    target : str or int, optional
        Name or number of the target column. Negative numbers count from the last column. By
        default, a column named "class", "target", "label" or "y", else the last column that is not
        an identifier, a list, constant or almost empty.
    drop : iterable of str
        Columns to drop.
    extra : iterable of str
        Columns that are not features. They are stored in ``extra`` of the result.
    missing : {"drop", "impute", "raise"}, default="drop"
        How to treat missing values. "drop" drops the rows and issues a warning. "impute" replaces
        the values by the median or most frequent category of the column, over all rows that have a
        target. To impute inside the folds of a cross-validation, put a TableEncoder in a pipeline.
        "raise" raises an error. In a target of strings, only empty fields and "?" are missing
        values. "None" and "NA" are class names.
    name : str, optional
        Name of the data set. By default, the name of the file.
    header : bool or None, default=None
        Whether the first line of a text file or sheet holds column names. None detects this.
    sheet : str or int, optional
        Name of a sheet of an Excel file, or its number from 1. By default, the first sheet.
    sql : str, optional
        A query that selects the rows of a SQLite or DuckDB database. In a query of another file,
        its table is named ``data``.
    auto : bool, default=False
        Whether to drop columns that cannot be used, such as amounts in several currencies.
        Otherwise, they raise an error.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"a": [1, 2, 3], "b": ["x", "y", "x"], "class": ["s", "t", "t"]})
    >>> data = read_table(frame, name="tiny")
    >>> data
    DataSet('tiny': 3 samples, 2 features, 2 values of y)
      Column 'b' is encoded as 1 for 'y' and 0 for 'x'.
    >>> data.feature_names, data.y
    (('a', 'b=y'), array(['s', 't', 't'], dtype='<U1'))
    """
    if is_file_source(source):
        source = TableFile.open(source, header, sheet=sheet, sql=sql)
    table = open_table(source, target, drop=drop, extra=extra, name=name, auto=auto)
    data = build_data_set(
        table.columns, table.target, name=table.name, missing=missing, extra=table.extra
    )
    return replace(data, notes=(*table.notes, *data.notes))


class Table(NamedTuple):
    """The columns of a table and their roles.

    Attributes
    ----------
    columns : dict of str to ndarray
        All columns that were not dropped: features, target and extra columns.
    target : str or None
        Name of the target column.
    extra : list of str
        Names of columns that are neither features nor target.
    name : str
        Name of the table.
    notes : list of str
        Messages about dropped columns and unusual file formats.
    records : list of ColumnRecord
        What is done with each column that may become a feature.
    unit : str
        Unit of the target, such as "USD", or "".
    """

    columns: ReadColumns
    target: str | None
    extra: list[str]
    name: str
    notes: list[str]
    records: list[ColumnRecord]
    unit: str = ""


def open_table(
    source: Any,
    target: str | int | None = None,
    *,
    drop: Iterable[str] = (),
    extra: Iterable[str] = (),
    name: str | None = None,
    header: bool | None = None,
    needs_target: bool = True,
    option_names: Mapping[str, str] | None = None,
    auto: bool = False,
    needs_features: bool = True,
) -> Table:
    """Read the columns of a table and determine their roles.

    Parameters
    ----------
    source : path, list of paths, TableFile, or pandas or polars data frame
        As in :func:`read_table`.
    target, drop, extra, name, header
        As in :func:`read_table`.
    needs_target : bool, default=True
        Whether to choose a likely target column if `target` is None.
    option_names : mapping of str to str, optional
        What error messages call `target`, `drop` and `extra`, for example
        ``{"target": "--color"}`` on the command line. By default, these names.
    auto : bool, default=False
        Whether to drop columns that cannot be used. Otherwise, they raise an error.
    needs_features : bool, default=True
        Whether to raise an error if no feature columns remain.
    """
    defaults = {each: each for each in ("target", "drop", "extra")}
    option_names = defaults | dict(option_names or {})
    drop, extra = (each if isinstance(each, str) else list(each) for each in (drop, extra))
    file = TableFile.open(source, header) if is_file_source(source) else source
    is_file = isinstance(file, TableFile)
    if is_file:
        names, name = file.column_names(), name or file.name
    else:
        frame = _checked_frame(source)
        names = [str(each) for each in frame.columns]
    if is_file and file.holds_arrays and "y" not in names and target is None and needs_target:
        raise ValueError(
            f"{file.label} has no array y. If a column of X holds the classes, set "
            f"{option_names['target']} to its name, for example {names[-1]!r}."
        )
    nested = file.nested_columns() if is_file else nested_columns(frame)
    roles = roles_of(names, target, drop, extra, name, needs_target, option_names, nested)
    frame, nested, columns = _read_columns(file if is_file else frame, roles)
    if not columns or not len(next(iter(columns.values()))):
        raise ValueError(f"{name or 'The table'} is empty: it has no rows or no columns.")
    if target is None and roles.target is not None:
        better = better_target(roles, columns)
        if better != roles.target:
            roles = roles._replace(target=better)
            frame, nested, columns = _read_columns(file if is_file else frame, roles)
    notes = _notes_on_file(file, frame, list(columns)) if is_file else []
    unit = ""
    if roles.target is not None:
        columns[roles.target], note, unit = quantities_of(roles.target, columns[roles.target])
        notes += [note] if note else []
    others = {roles.target, *roles.extra}
    records, read = records_of(columns, [each for each in columns if each not in others])
    dropped = set(roles.drop)
    nested = {each: kind for each, kind in nested.items() if each not in dropped}
    records += nested_records(nested, others)
    notes += record_notes(records) + _notes_on_classes(columns, roles.target)
    problems = [each for each in records if each.problem]
    if problems:
        notes += handle_problems(problems, auto, option_names["drop"])
    unused = {each.name for each in records if each.is_left_out or each.problem}
    used = {name: values for name, values in read.items() if name not in unused}
    table = ReadColumns(used, read.encodings)
    if needs_features:
        check_features(table, others, records, name)
    return Table(table, roles.target, roles.extra, name or "", notes, records, unit)


def _read_columns(source: Any, roles: Roles) -> tuple[Any, dict[str, str], dict[str, np.ndarray]]:
    """Return a file or data frame as a data frame, its nested columns, and the others as arrays."""
    nested: dict[str, str] = {}
    frame = source
    if isinstance(source, TableFile):
        nested = source.nested_columns()
        frame = source.read(roles.target)
    nested |= nested_columns(frame)
    return (
        frame,
        nested,
        columns_of(_without_columns(frame, [*roles.drop, *nested]), target=roles.target),
    )


def _without_columns(frame: Any, names: list[str]) -> Any:
    """Return a data frame or dict without some columns."""
    if not names:
        return frame
    dropped = set(names)
    kept = [each for each in getattr(frame, "columns", frame) if str(each) not in dropped]
    return {each: frame[each] for each in kept} if isinstance(frame, dict) else frame[kept]


def _checked_frame(source: Any) -> Any:
    if not hasattr(source, "columns") or not hasattr(source, "dtypes"):
        raise TypeError(
            "A table must be a file path or a pandas or polars data frame, not "
            f"{type(source).__name__}."
        )
    return source


def _notes_on_file(file: TableFile, frame: Any, names: list[str]) -> list[str]:
    """Return messages about the format, row names and duplicate column names."""
    notes = file.notes()
    if type(getattr(frame, "index", None)).__name__ not in ("RangeIndex", "NoneType"):
        notes.append("Ignored the row names before the first column.")
    known = set(names)
    repeated = [each for each in names if each.endswith(".1") and each[:-2] in known]
    if repeated:
        original = repeated[0][:-2]
        notes.append(f"Several columns are named {original!r}. The later columns were renamed.")
    return notes


def _notes_on_classes(columns: dict[str, np.ndarray], target: str | None) -> list[str]:
    """Return messages about classes whose names mark missing values in other columns."""
    if target is None or columns[target].dtype.kind != "O":
        return []
    classes = {each for each in columns[target] if isinstance(each, str)}
    return [
        f"{each!r} in column {target!r} is read as a class name. Only empty fields and '?' mark "
        "missing classes."
        for each in sorted(MISSING_MARKERS & classes)
    ]
