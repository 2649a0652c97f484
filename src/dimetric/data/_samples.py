"""Convert the columns of a table to samples: select complete rows, separate the target."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from dimetric._names import shell_names
from dimetric._warnings import warn
from dimetric.data._columns import ReadColumns, check_magnitude, encodings_of, rows_of
from dimetric.data._dataset import DataSet
from dimetric.data._encoder import TableEncoder
from dimetric.data._kinds._texts import WordsColumn
from dimetric.data._missing import is_missing

MAX_LISTED_COLUMNS = 5  # in an error message
MIN_ROWS_LEFT = 10  # without missing values, in a table to learn from
MAX_LOST = 0.1  # fraction of rows that missing="auto" drops, rather than imputing values


class Samples(NamedTuple):
    """The rows of a table that are used as samples.

    Attributes
    ----------
    columns : dict of str to ndarray
        The feature columns: numbers, or objects with None for missing values.
    y : ndarray or None
        The target: numbers or strings.
    rows : ndarray
        Row indices in the table, from 0.
    notes : list of str
        Messages about rows that were dropped or imputed.
    """

    columns: ReadColumns
    y: np.ndarray | None
    rows: np.ndarray
    notes: list[str]


def build_data_set(
    columns: Mapping[str, np.ndarray],
    target: str | None,
    *,
    name: str = "",
    missing: str = "drop",
    extra: Iterable[str] = (),
    categories: Mapping[str, Sequence[str]] | None = None,
) -> DataSet:
    """Build a data set from columns: encode categories, drop or impute missing values.

    Parameters
    ----------
    columns : mapping of str to ndarray of shape (n,)
        As in :func:`samples_of`.
    target, missing
        As in :func:`samples_of`.
    name : str
        Name of the data set.
    extra : iterable of str
        Columns that are not features. They are stored in ``extra`` of the result.
    categories : mapping of str to sequence of str, optional
        As in :class:`~dimetric.data.TableEncoder`.

    Examples
    --------
    >>> columns = {
    ...     "size": np.array([1.0, 2.0, 5.0]),
    ...     "colour": np.array(["red", "blue", "green"], dtype=object),
    ...     "class": np.array(["a", "b", "b"], dtype=object),
    ... }
    >>> build_data_set(columns, "class", name="balls")
    DataSet('balls': 3 samples, 4 features, 2 values of y)
      Column 'colour' is one-hot encoded (3 categories).
    """
    extra = list(extra)
    samples = samples_of(columns, target, missing=missing, extra=extra, name=name)
    encoder = TableEncoder(
        missing="impute", categories=None if categories is None else dict(categories)
    )
    X = encoder.fit_transform(samples.columns)
    names = tuple(str(each) for each in encoder.get_feature_names_out())
    others = {each: columns[each][samples.rows] for each in extra}
    notes = (*samples.notes, *encoder.notes_)
    return DataSet(X, samples.y, names, target, name, notes, others)


def samples_of(
    columns: Mapping[str, np.ndarray],
    target: str | None,
    *,
    missing: str = "drop",
    extra: Iterable[str] = (),
    name: str = "",
) -> Samples:
    """Select the rows to use as samples, and separate features and target.

    Parameters
    ----------
    columns : mapping of str to ndarray of shape (n,)
        Numbers with NaN for missing values, or objects with None for missing values.
    target : str or None
        Name of the target column.
    missing : {"auto", "drop", "impute", "raise"}, default="drop"
        How to treat rows with missing values. "drop" drops them and issues a warning. "impute"
        keeps them, so that an encoder can impute the values. "auto" drops them if they are at most
        10 % of the rows, and otherwise keeps them. "raise" raises an error. Rows without a target
        are always dropped.
    extra : iterable of str
        Columns that are not features.
    name : str
        Name of the table.
    """
    if missing not in ("auto", "drop", "impute", "raise"):
        raise ValueError(f"missing={missing!r} must be 'auto', 'drop', 'impute' or 'raise'.")
    others = {target, *extra}
    features = [each for each in columns if each not in others]
    if not features:
        raise ValueError(
            f"{name or 'The table'} has no feature columns. It has "
            f"{len(columns)} column(s), such as {list(columns)[:MAX_LISTED_COLUMNS]}."
        )
    if missing in ("drop", "auto"):  # a column without values would make all rows incomplete
        empty = next((each for each in features if is_missing(columns[each]).all()), None)
        if empty is not None:
            TableEncoder().fit({empty: columns[empty]})  # raises an error that names the column
    rows, notes = _kept_rows(columns, features, target, missing)
    y = None if target is None else _as_target(columns[target], rows)
    chosen = ReadColumns({each: columns[each] for each in features}, encodings_of(columns))
    return Samples(rows_of(chosen, rows), y, rows, notes)


def samples_for_distances(
    columns: Mapping[str, np.ndarray], target: str | None, **options: Any
) -> Samples:
    """Return samples as :func:`samples_of` does. Raise if nothing can be learned from them.

    Nothing can be learned if a feature is too large for distances, or if too few rows remain.
    """
    samples = samples_of(columns, target, **options)
    for name, values in samples.columns.items():
        check_magnitude(name, values)
    n_left, n_rows = len(samples.rows), len(next(iter(columns.values())))
    if options.get("missing") == "drop" and n_left < min(MIN_ROWS_LEFT, n_rows / 2):
        rows = "1 row remains" if n_left == 1 else f"{n_left} rows remain"
        raise ValueError(f"Only {rows}. {' '.join(samples.notes)}")
    return samples


def _kept_rows(
    columns: Mapping[str, np.ndarray], features: list[str], target: str | None, missing: str
) -> tuple[np.ndarray, list[str]]:
    """Return the indices of the rows that are kept, and notes on dropped and imputed rows."""
    n, encodings = len(columns[features[0]]), encodings_of(columns)
    lacks_target = np.zeros(n, dtype=bool) if target is None else is_missing(columns[target])
    masks = {
        each: is_missing(columns[each])
        for each in features
        if not isinstance(encodings.get(each), WordsColumn)  # a missing text is an empty text
    }
    masks = {name: mask for name, mask in masks.items() if mask.any()}
    lacks_feature = np.zeros(n, dtype=bool)
    for mask in masks.values():
        lacks_feature |= mask
    lost = lacks_feature & ~lacks_target
    if missing == "raise" and (lacks_feature | lacks_target).any():
        raise ValueError(
            f"Missing values in {int((lacks_feature | lacks_target).sum())} of {n} rows, in the "
            f"columns {(list(masks) or [str(target)])[:MAX_LISTED_COLUMNS]}. Set missing='drop' "
            "to drop these rows, or missing='impute' to impute the values."
        )
    if missing == "auto":
        missing = "impute" if lost.sum() > MAX_LOST * np.sum(~lacks_target) else "drop"
    dropped = lacks_target | lacks_feature if missing == "drop" else lacks_target
    cost = _costliest_column(masks, lost) if missing == "drop" else ""
    if dropped.all():
        remedy = " Set missing='impute' (on the command line, --missing impute)."
        remedy = "" if lacks_target.all() else f"{remedy}{cost}"
        raise ValueError(f"No rows remain: all {n} rows have missing values.{remedy}")
    notes = []
    if dropped.any():
        is_much = bool(lost.sum() > MAX_LOST * n)
        notes.append(dropped_rows_note(int(dropped.sum()), n) + cost * is_much)
        if (n_lacking := int(lacks_target.sum())) > MAX_LOST * n:
            notes[-1] += f" In {n_lacking} of them, column {target!r} has no value."
        warn(notes[-1])
    if missing == "impute" and lost.any():
        counts = {name: int(np.sum(mask & lost)) for name, mask in masks.items()}
        worst = max(counts, key=lambda each: counts[each])
        notes.append(
            f"Missing values in {int(lost.sum()):,} of {n:,} rows are replaced by the median or "
            f"most frequent value of the column. Columns affected: {len(masks)}, most of all "
            f"{worst!r} ({counts[worst]:,} values)."
        )
    return np.flatnonzero(~dropped), notes


def _costliest_column(masks: Mapping[str, np.ndarray], lost: np.ndarray) -> str:
    """Return sentences that name the column for which most rows are lost, and how to keep them."""
    counts = {name: int(np.sum(mask & lost)) for name, mask in masks.items()}
    if not any(counts.values()):
        return ""
    name = max(counts, key=lambda each: counts[each])
    return (
        f" In {counts[name]} of them, column {name!r} has no value. To keep these rows, use --drop "
        f"{shell_names(name)} or --missing impute (drop=[{name!r}] or missing='impute' in Python)."
    )


def dropped_rows_note(n_dropped: int, n_rows: int) -> str:
    """Return a message that rows with missing values were dropped."""
    return f"Dropped {n_dropped:,} of {n_rows:,} rows because of missing values."


def _as_target(values: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the targets of the given rows as numbers or strings."""
    kept = values[rows]
    if values.dtype.kind == "f" and is_missing(values).any() and _are_integers(kept):
        return kept.astype(np.int64)  # missing targets had turned the integers into floats
    return kept if values.dtype.kind in "iufb" else np.array([str(each) for each in kept])


def _are_integers(values: np.ndarray) -> bool:
    return bool(np.all(np.isfinite(values) & (values == np.round(values))))
