"""Turn the columns of a table into samples: choose the rows, split off the target."""

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from dimetric.data._dataset import DataSet
from dimetric.data._encoder import TableEncoder
from dimetric.data._missing import is_missing


class Samples(NamedTuple):
    """Rows of a table that can be learned from.

    Attributes
    ----------
    columns : dict of str to ndarray
        The features: numbers, or objects in which None is missing.
    y : ndarray or None
        The target: numbers, or texts.
    rows : ndarray
        Numbers of the rows, from 0 on.
    notes : list of str
        What was left out or imputed, in sentences.
    """

    columns: dict[str, np.ndarray]
    y: np.ndarray | None
    rows: np.ndarray
    notes: list[str]


def encoded(
    columns: Mapping[str, np.ndarray],
    target: str | None,
    *,
    name: str = "",
    missing: str = "drop",
    extra: Iterable[str] = (),
    categories: Mapping[str, Sequence[str]] | None = None,
) -> DataSet:
    """Return columns as samples: categories one-hot, rows with missing values dropped or imputed.

    Parameters
    ----------
    columns : mapping of names to ndarrays of shape (n,)
        As in :func:`samples_of`.
    target, missing
        As in :func:`samples_of`.
    name : str
        Name of the data set.
    extra : iterable of str
        Columns that are not features, and are kept as they are.
    categories : mapping of names to sequences of str, optional
        As in :class:`~dimetric.data.TableEncoder`.

    Examples
    --------
    >>> columns = {
    ...     "size": np.array([1.0, 2.0, 5.0]),
    ...     "colour": np.array(["red", "blue", "green"], dtype=object),
    ...     "class": np.array(["a", "b", "b"], dtype=object),
    ... }
    >>> encoded(columns, "class", name="balls")
    DataSet('balls': 3 samples, 4 features, 2 values of y)
      Column 'colour' is one-hot: 3 categories.
    """
    extra = list(extra)
    found = samples_of(columns, target, missing=missing, extra=extra, name=name)
    given = None if categories is None else dict(categories)
    encoder = TableEncoder(missing="impute", categories=given)
    X = encoder.fit_transform(found.columns)
    names = tuple(str(each) for each in encoder.get_feature_names_out())
    others = {each: columns[each][found.rows] for each in extra}
    notes = (*found.notes, *encoder.notes_)
    return DataSet(X, found.y, names, target, name, notes, others)


def samples_of(
    columns: Mapping[str, np.ndarray],
    target: str | None,
    *,
    missing: str = "drop",
    extra: Iterable[str] = (),
    name: str = "",
) -> Samples:
    """Return the rows that can be learned from, with features and target apart.

    Parameters
    ----------
    columns : mapping of names to ndarrays of shape (n,)
        Numbers, in which NaN is missing; or objects, in which None is missing.
    target : str or None
        The column that is y.
    missing : {"drop", "impute", "raise"}, default="drop"
        What is done with rows that have missing values. "drop": they are left out, and a warning
        counts them. "impute": they are kept, for an encoder to impute. "raise": they are an error.
        Rows without a target are left out, unless "raise" makes them an error.
    extra : iterable of str
        Columns that are not features.
    name : str
        Name of the table.
    """
    if missing not in ("drop", "impute", "raise"):
        raise ValueError(f"missing={missing!r} must be 'drop', 'impute' or 'raise'.")
    features = [each for each in columns if each != target and each not in list(extra)]
    if not features:
        raise ValueError(
            f"{name or 'The table'} has no column that is a feature: "
            f"there is {list(columns)} alone."
        )
    if missing == "drop":  # a column without any value would leave no row
        lost = next((each for each in features if is_missing(columns[each]).all()), None)
        if lost is not None:
            TableEncoder().fit({lost: columns[lost]})  # raises, and names the column
    rows, notes = _kept_rows(columns, features, target, missing)
    y = None if target is None else _as_target(columns[target], rows)
    return Samples({each: columns[each][rows] for each in features}, y, rows, notes)


def _kept_rows(
    columns: Mapping[str, np.ndarray], features: list[str], target: str | None, missing: str
) -> tuple[np.ndarray, list[str]]:
    """Return the numbers of the rows that are kept, and notes on the others."""
    n = len(columns[features[0]])
    absent = np.zeros(n, dtype=bool)
    without = np.zeros(n, dtype=bool) if target is None else is_missing(columns[target])
    where = [each for each in features if is_missing(columns[each]).any()]
    for each in where:
        absent |= is_missing(columns[each])
    if missing == "raise" and (absent | without).any():
        some = where or [str(target)]
        raise ValueError(
            f"{int((absent | without).sum())} of {n} rows have missing values, in {some[:5]}: set "
            "missing='drop' to leave them out, or missing='impute' to fill them in."
        )
    gone = without | absent if missing == "drop" else without
    if gone.all():
        remedy = " Set missing='impute'." if not without.all() else ""
        raise ValueError(f"All {n} rows have missing values: none would be left.{remedy}")
    notes = []
    if gone.any():
        notes.append(f"{int(gone.sum())} of {n} rows with missing values were left out.")
        warnings.warn(notes[-1], stacklevel=5)
    if missing == "impute" and (absent & ~without).any():
        notes.append(
            f"Missing values of {len(where)} columns, in {int((absent & ~without).sum())} rows, "
            "are the median or most frequent value of their column."
        )
    return np.flatnonzero(~gone), notes


def _as_target(values: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return targets as numbers, or as an array of texts."""
    kept = values[rows]
    if values.dtype.kind == "f" and is_missing(values).any() and np.all(kept == np.round(kept)):
        return kept.astype(np.int64)  # missing targets had turned integers into floats
    return kept if values.dtype.kind in "iufb" else np.array([str(each) for each in kept])
