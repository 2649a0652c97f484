"""Select the rows to learn from in a file, a data frame or arrays."""

from collections.abc import Iterable, Mapping
from numbers import Real
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.validation import column_or_1d

from dimetric._arrays.namespaces import to_host
from dimetric._warnings import warn
from dimetric.advice._sparse import reduced_samples
from dimetric.advice._table_samples import TableSamples
from dimetric.data._columns import ReadColumns
from dimetric.data._files import TableFile, is_file_source
from dimetric.data._missing import is_missing
from dimetric.data._parquet.limit import DEFAULT_SAMPLE, SampleOptions, sample_if_large
from dimetric.data._parquet.table_sample import TableSample
from dimetric.data._samples import samples_for_distances
from dimetric.data._tables import open_table
from dimetric.data._target_values import unit_problem
from dimetric.supervision._groups import group_values
from dimetric.supervision.labels import may_be_classes

__all__ = ["TableSamples", "class_counts", "read_samples", "samples_from"]

MIN_ROWS_PER_TEXT_CLASS = 2  # on average; a target with fewer is not categorical


def read_samples(
    source: Any,
    target: str | int | None = None,
    *,
    drop: Iterable[str] = (),
    missing: str = "drop",
    groups: str | None = None,
    header: bool | None = None,
    needs_target: bool = True,
    option_names: Mapping[str, str] | None = None,
    auto: bool = False,
    keeps_missing_target: bool = False,
    sample: SampleOptions = DEFAULT_SAMPLE,
) -> TableSamples:
    """Return the rows to learn from in a file or data frame.

    Parameters
    ----------
    source : path, list of paths, TableFile, or data frame of pandas or polars
        The table.
    target, drop, missing, header
        As in :func:`dimetric.data.read_table`.
    groups : str, optional
        Name of the column that contains the group of each row. It is not a feature.
    needs_target : bool, default=True
        Whether to guess the target column if `target` is None.
    option_names : mapping of str to str, optional
        What error messages call `target`, `drop` and `extra` (the column of groups), for example
        ``{"target": "--color"}``.
    auto : bool, default=False
        Whether to drop columns that cannot be used. Otherwise, they raise an error.
    keeps_missing_target : bool, default=False
        Whether to keep rows without a target. The target then has the values of the column, in
        which None or NaN marks missing values.
    sample : SampleOptions
        The size from which a Parquet table is sampled, and the size of the sample.
    """
    option_names = {"extra": "groups"} | dict(option_names or {})
    if groups is not None and groups == target:
        raise ValueError(
            f"{option_names['extra']}: column {groups!r} is also the target. Choose another column."
        )
    extra = [] if groups is None else [groups]
    if is_file_source(source):
        source = TableFile.open(source, header)
    roles: dict[str, Any] = {"drop": _without(drop, groups), "extra": extra}
    roles |= {"needs_target": needs_target, "option_names": option_names}
    is_file = isinstance(source, TableFile)
    if is_file:
        source = sample_if_large(source, target, sample, **roles)
    table = open_table(source, target, auto=auto, **roles)
    needed, others = table.target, extra
    if keeps_missing_target and table.target is not None:
        needed, others = None, [*extra, table.target]
    samples = samples_for_distances(
        table.columns, needed, missing=missing, extra=others, name=table.name
    )
    y = samples.y
    if needed is None and table.target is not None:
        y = table.columns[table.target][samples.rows]
    found = TableSamples(
        samples.columns,
        y,
        samples.rows,
        table.target,
        table.name if is_file else "table",
        source.label if is_file else "a data frame",
        [*table.notes, *samples.notes],
        records=tuple(table.records),
        unit=table.unit,
    )
    found = found if groups is None else _with_groups(found, table.columns[groups], groups, missing)
    if not isinstance(source, TableSample):
        return found
    return found._replace(rows=source.rows[found.rows], sampling=source.sampling)


def samples_from(
    X: Any,
    y: Any,
    target: str | int | None,
    *,
    drop: Iterable[str],
    missing: str,
    groups: Any = None,
    auto: bool = False,
    sample: SampleOptions = DEFAULT_SAMPLE,
) -> TableSamples:
    """Return the rows to learn from, given the arguments of :func:`dimetric.compare`.

    Parameters
    ----------
    X : array-like, data frame of pandas or polars, path or list of paths
        Features. X also contains the target if `y` is None.
    y : array-like or None
        The target.
    target : str, int or None
        The column of X that contains the target.
    drop, missing
        As in :func:`dimetric.data.read_table`.
    groups : array-like of shape (n_samples,), str or None
        Group of each row, or the name of a column of X.
    auto, sample
        As in :func:`read_samples`.
    """
    is_table = is_file_source(X) or isinstance(X, Mapping) or hasattr(X, "columns")
    if y is not None and target is not None:
        raise ValueError("y and target are both given. Pass only one of them.")
    if target is not None and not is_table:
        raise ValueError(
            f"target={target!r} requires X to be a data frame or a path, but X is "
            f"{type(X).__name__}. Pass the target as y."
        )
    if y is None and target is None:
        columns = ""
        if hasattr(X, "columns"):
            columns = f" The columns of X are {', '.join(map(str, X.columns))}."
        raise ValueError(
            "Neither y nor target is given. Pass the classes or numbers as y, or pass the name of "
            f"a column of X as target.{columns}"
        )
    column = groups if isinstance(groups, str) else None
    if column is not None and not is_table:
        raise ValueError(
            f"groups={groups!r} requires X to be a data frame or a path, but X is "
            f"{type(X).__name__}. Pass the group of each sample."
        )
    if groups is not None and column is None and is_file_source(X):
        raise ValueError("groups must be the name of a column, because X is a path.")
    if y is None:
        table = read_samples(
            X, target, drop=drop, missing=missing, groups=column, auto=auto, sample=sample
        )
    else:
        values, name = _target_values(y), str(getattr(y, "name", None) or "y")
        if is_table:
            table = _samples_with_target(X, values, name, drop, missing, column, auto)
        else:
            table = _samples_of_arrays(X, values, name, missing)
    if groups is None or column is not None:
        return table
    return _with_groups(table, group_values(groups, len(X)), "", missing)


def _without(names: Iterable[str], name: str | None) -> list[str]:
    """Return all names but one."""
    return [each for each in ([names] if isinstance(names, str) else names) if each != name]


def _with_groups(table: TableSamples, groups: np.ndarray, name: str, missing: str) -> TableSamples:
    """Return a table with the group of each row.

    `groups` has a value for each row of the original table. Rows without a group are dropped with
    a warning, unless `missing` is "raise".
    """
    table = table._replace(groups=groups[table.rows], group_name=name)
    lacks_group = is_missing(groups[table.rows])
    if not lacks_group.any():
        return table
    n_missing, n_rows = int(lacks_group.sum()), len(lacks_group)
    if missing == "raise":
        raise ValueError(
            f"groups has missing values in {n_missing} of {n_rows} rows. Set missing='drop' to "
            "drop these rows."
        )
    note = f"Dropped {n_missing} of {n_rows} rows because their group is missing."
    warn(note)
    return table.select(~lacks_group, note)


def _target_values(y: Any) -> np.ndarray:
    """Return a target as an array. Numbers with missing values become floats with NaN."""
    values: np.ndarray = column_or_1d(
        y.to_numpy() if hasattr(y, "to_numpy") else np.asarray(to_host(y))
    )
    if values.dtype.kind != "O":
        return values
    known = ~is_missing(values)
    if not all(isinstance(each, Real) and not isinstance(each, bool) for each in values[known]):
        return values
    numbers = np.full(len(values), np.nan)
    numbers[known] = values[known].astype(float)
    return numbers


def _samples_with_target(
    X: Any,
    y: np.ndarray,
    name: str,
    drop: Iterable[str],
    missing: str,
    groups: str | None,
    auto: bool,
) -> TableSamples:
    """Return the rows of a table, with a target that is not one of its columns."""
    extra = [] if groups is None else [groups]
    table = open_table(
        X,
        None,
        drop=_without(drop, groups),
        extra=extra,
        needs_target=False,
        option_names={"extra": "groups"},
        auto=auto,
    )
    check_consistent_length(next(iter(table.columns.values())), y)
    while name in table.columns:
        name += "_"
    columns = ReadColumns(table.columns | {name: y}, table.columns.encodings)
    samples = samples_for_distances(columns, name, missing=missing, extra=extra)
    notes = [*table.notes, *samples.notes]
    found = TableSamples(
        samples.columns,
        samples.y,
        samples.rows,
        name,
        "table",
        "a data frame",
        notes,
        records=tuple(table.records),
    )
    return found if groups is None else _with_groups(found, table.columns[groups], groups, missing)


def _samples_of_arrays(X: Any, y: np.ndarray, name: str, missing: str) -> TableSamples:
    """Return the rows of an array, with their target."""
    X, reducer, notes = reduced_samples(X) if issparse(X) else (to_host(X), None, [])
    if X.dtype.kind in "US":
        raise ValueError("X contains strings. Pass a data frame, whose text columns are encoded.")
    X = check_array(
        X, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan", input_name="X"
    )
    check_consistent_length(X, y)
    columns = {f"x{i}": X[:, i] for i in range(X.shape[1])}
    samples = samples_for_distances(columns | {name: y}, name, missing=missing)
    rows, notes = samples.rows, [*notes, *samples.notes]
    return TableSamples(X[rows], samples.y, rows, name, "data", "arrays", notes, reducer=reducer)


def class_counts(y: np.ndarray, name: str, option: str = "target") -> dict[str, int]:
    """Return the size of each class, the largest first. Raise if the target is not categorical.

    Parameters
    ----------
    y : ndarray
        The target.
    name : str
        Name of the target column.
    option : str, default="target"
        Name of the option that sets the target column, used in error messages.

    Examples
    --------
    >>> class_counts(np.array(["a", "b", "b"] * 3), "kind")
    {'b': 6, 'a': 3}
    """
    if len(y) == 1:
        raise ValueError("The table has only one usable row. At least two classes are needed.")
    values, counts = np.unique(y, return_counts=True)
    is_text = y.dtype.kind == "U"
    if not (len(values) <= len(y) // MIN_ROWS_PER_TEXT_CLASS if is_text else may_be_classes(y)):
        if problem := unit_problem(name, y):
            raise ValueError(problem)
        is_number = y.dtype.kind in "iuf"
        kind, remedy = ("numbers", "bin") if is_number else ("strings", "group")
        raise ValueError(
            f"Column {name!r} has {len(values)} distinct {kind} in {len(y)} rows, so it does not "
            f"contain classes. Choose another column with {option}, or {remedy} its values into "
            "classes."
        )
    if len(values) < 2:
        raise ValueError(
            f"Column {name!r} has only one class, {str(values[0])!r}. At least two are needed. "
            f"Choose another column with {option}."
        )
    order = np.argsort(-counts, kind="stable")
    return {str(values[i]): int(counts[i]) for i in order}
