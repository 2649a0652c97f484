"""Rows to learn from: of a file, a data frame or arrays."""

from collections.abc import Iterable, Mapping
from numbers import Real
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.validation import column_or_1d

from dimetric._arrays.namespaces import to_host
from dimetric.data._missing import is_missing
from dimetric.data._samples import samples_of
from dimetric.data._tables import open_table

__all__ = ["TableSamples", "class_counts", "read_samples", "samples_from"]

MAX_NUMERIC_CLASSES = 50  # different numbers that may always be classes


class TableSamples(NamedTuple):
    """Rows of a table that can be learned from.

    Attributes
    ----------
    columns : dict of str to ndarray, or ndarray of shape (n_rows, n_features)
        The features: columns of any kind, or numbers without names.
    y : ndarray of shape (n_rows,) or None
        The target.
    rows : ndarray of shape (n_rows,)
        The number of each row in what was given.
    target : str or None
        Name of the target.
    name, source : str
        Name of the table, and where it comes from.
    notes : list of str
        What was left out or filled in, in sentences.
    """

    columns: Any
    y: np.ndarray | None
    rows: np.ndarray
    target: str | None
    name: str
    source: str
    notes: list[str]

    def take(self, rows: np.ndarray) -> Any:
        """Return the features of some rows."""
        if isinstance(self.columns, Mapping):
            return {name: values[rows] for name, values in self.columns.items()}
        return self.columns[rows]


def read_samples(
    source: Any,
    target: str | int | None = None,
    *,
    drop: Iterable[str] = (),
    missing: str = "drop",
    header: bool | None = None,
    labelled: bool = True,
) -> TableSamples:
    """Return the rows of a table that can be learned from.

    Parameters
    ----------
    source : path, or data frame of pandas or polars
        The table.
    target, drop, missing, header
        As in :func:`dimetric.data.read_table`.
    labelled : bool, default=True
        Whether to guess the target if none is named.
    """
    table = open_table(source, target, drop=drop, header=header, labelled=labelled)
    samples = samples_of(table.columns, table.target, missing=missing, name=table.name)
    is_file = isinstance(source, str | Path)
    return TableSamples(
        samples.columns,
        samples.y,
        samples.rows,
        table.target,
        table.name if is_file else "table",
        str(source) if is_file else "a data frame",
        [*table.notes, *samples.notes],
    )


def samples_from(
    X: Any, y: Any, target: str | int | None, *, drop: Iterable[str], missing: str
) -> TableSamples:
    """Return the rows to learn from, as :func:`dimetric.compare` is given them.

    Parameters
    ----------
    X : array-like, data frame of pandas or polars, or path
        Features, with the target among them if `y` is None.
    y : array-like or None
        The target.
    target : str, int or None
        The column of X that is the target.
    drop, missing
        As in :func:`dimetric.data.read_table`.
    """
    is_table = isinstance(X, str | Path | Mapping) or hasattr(X, "columns")
    if y is not None and target is not None:
        raise ValueError("Give the classes as y or by the name of their column, target, not both.")
    if target is not None and not is_table:
        raise ValueError(
            f"target={target!r} names a column of a data frame, but X is "
            f"{type(X).__name__}: give the classes as y."
        )
    if y is None and target is None:
        columns = f" X has {', '.join(map(str, X.columns))}." if hasattr(X, "columns") else ""
        raise ValueError(
            "There are no classes to compare by: give them as y, or give a data frame and the "
            f"name of its column of classes, target.{columns}"
        )
    if y is None:
        return read_samples(X, target, drop=drop, missing=missing)
    values, name = _target_values(y), str(getattr(y, "name", None) or "y")
    if is_table:
        return _samples_with_target(X, values, name, drop, missing)
    return _samples_of_arrays(X, values, name, missing)


def _target_values(y: Any) -> np.ndarray:
    """Return a target as an array; whole numbers beside missing values stay numbers."""
    values: np.ndarray = column_or_1d(
        y.to_numpy() if hasattr(y, "to_numpy") else np.asarray(to_host(y))
    )
    if values.dtype.kind != "O":
        return values
    there = ~is_missing(values)
    if not all(isinstance(each, Real) and not isinstance(each, bool) for each in values[there]):
        return values
    numbers = np.full(len(values), np.nan)
    numbers[there] = values[there].astype(float)
    return numbers


def _samples_with_target(
    X: Any, y: np.ndarray, name: str, drop: Iterable[str], missing: str
) -> TableSamples:
    """Return the rows of a table, and a target that is no column of it."""
    table = open_table(X, None, drop=drop, labelled=False)
    check_consistent_length(next(iter(table.columns.values())), y)
    while name in table.columns:
        name += "_"
    samples = samples_of(table.columns | {name: y}, name, missing=missing)
    notes = [*table.notes, *samples.notes]
    return TableSamples(
        samples.columns, samples.y, samples.rows, name, "table", "a data frame", notes
    )


def _samples_of_arrays(X: Any, y: np.ndarray, name: str, missing: str) -> TableSamples:
    """Return the rows of arrays."""
    X = X if issparse(X) else to_host(X)
    if X.dtype.kind in "US":
        raise ValueError("X holds texts: give a data frame, in which columns of text are encoded.")
    X = check_array(
        X, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan", input_name="X"
    )
    check_consistent_length(X, y)
    columns = {f"x{i}": X[:, i] for i in range(X.shape[1])}
    samples = samples_of(columns | {name: y}, name, missing=missing)
    return TableSamples(
        X[samples.rows], samples.y, samples.rows, name, "data", "arrays", samples.notes
    )


def class_counts(y: np.ndarray, name: str, option: str = "target") -> dict[str, int]:
    """Return how many samples each class has, the largest first; raise if these are no classes.

    Parameters
    ----------
    y : ndarray
        The target.
    name : str
        Its name.
    option : str, default="target"
        The option that sets the column, for the error message.

    Examples
    --------
    >>> class_counts(np.array(["a", "b", "b"] * 3), "kind")
    {'b': 6, 'a': 3}
    """
    values, counts = np.unique(y, return_counts=True)
    is_text = y.dtype.kind == "U"
    max_classes = len(y) // 2 if is_text else max(MAX_NUMERIC_CLASSES, len(y) // 5)
    has_fractions = y.dtype.kind == "f" and np.any(values != np.round(values))
    if has_fractions or len(values) > max_classes:
        kind = "numbers" if y.dtype.kind in "iuf" else "texts"
        raise ValueError(
            f"Column {name!r} holds {len(values)} different {kind} in {len(y)} rows: they are "
            f"no classes. Name another column by {option}, or make classes of its values (cut "
            "numbers into ranges)."
        )
    if len(values) < 2:
        raise ValueError(
            f"Column {name!r} holds one class alone, {str(values[0])!r}: there is nothing to tell "
            f"apart. Name another column by {option}."
        )
    order = np.argsort(-counts, kind="stable")
    return {str(values[i]): int(counts[i]) for i in order}
