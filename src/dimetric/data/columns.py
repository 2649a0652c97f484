"""From columns of any kind to samples: missing values, categories, dates."""

import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

DATE = re.compile(r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([T ].*)?|\d{1,2}[-/.]\d{1,2}[-/.]\d{4}([T ].*)?")
TEXTS = 50  # different ones up to which a column of texts is one of categories for sure


@dataclass(frozen=True, eq=False)
class DataSet:
    """Samples with names, and what was done to get them.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
        Samples, numbers all of them.
    y : ndarray of shape (n_samples,) or None
        Classes, or other targets.
    feature_names : tuple of str
        Names of the features.
    target_name : str or None
        Name of y.
    name : str
        Name of the data set.
    notes : tuple of str
        What was changed on the way, in sentences.
    extra : dict of str to ndarray
        Other columns of the file, such as the published folds.
    """

    X: np.ndarray
    y: np.ndarray | None
    feature_names: tuple[str, ...]
    target_name: str | None = None
    name: str = ""
    notes: tuple[str, ...] = ()
    extra: dict[str, np.ndarray] = field(default_factory=dict)

    def __repr__(self) -> str:
        n, d = self.X.shape
        classes = "" if self.y is None else f", {len(np.unique(self.y))} values of y"
        lines = [f"DataSet({self.name!r}: {n} samples, {d} features{classes})", *self.notes]
        return "\n  ".join(lines)


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
        Numbers, in which NaN is missing; or objects, that are texts, in which None is missing.
    target : str or None
        The column that is y.
    name : str
        Name of the data set.
    missing : {"drop", "impute", "raise"}, default="drop"
        What is done with rows that have missing values: they are left out, which a warning counts;
        or the values are the median, or the most frequent category, of their column. Rows without
        a target are always left out, unless that is an error.
    extra : iterable of str
        Columns that are no features, and are kept as they are.
    categories : mapping of names to sequences of str, optional
        All categories of columns of texts; by default those that are there, sorted.

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
    if missing not in ("drop", "impute", "raise"):
        raise ValueError(f"missing={missing!r} must be 'drop', 'impute' or 'raise'.")
    extra = list(extra)
    features = [each for each in columns if each != target and each not in extra]
    if not features:
        raise ValueError(f"{name or 'The table'} has no column that is a feature.")
    for each in features:
        _refuse_dates(each, columns[each])
    rows, notes = _kept_rows(columns, features, target, missing)
    parts, names = [], []
    for each in features:
        part, labels, note = _as_numbers(each, columns[each][rows], (categories or {}).get(each))
        parts.append(part)
        names += labels
        notes += note
    X = np.concatenate(parts, axis=1)
    if not np.all(np.isfinite(X)):
        bad = names[int(np.flatnonzero(~np.isfinite(X).all(axis=0))[0])]
        raise ValueError(f"Column {bad!r} holds infinite values: replace them, or leave it out.")
    y = None if target is None else _as_target(columns[target][rows])
    others = {each: columns[each][rows] for each in extra}
    return DataSet(X, y, tuple(names), target, name, tuple(notes), others)


def is_missing(values: np.ndarray) -> np.ndarray:
    """Tell which values are missing: NaN, NaT, None.

    Examples
    --------
    >>> is_missing(np.array([1.0, np.nan])), is_missing(np.array(["a", None], dtype=object))
    (array([False,  True]), array([False,  True]))
    """
    if values.dtype.kind in "iub":
        return np.zeros(len(values), dtype=bool)
    if values.dtype.kind == "O":
        return np.array([each is None or each != each for each in values], dtype=bool)
    return np.isnat(values) if values.dtype.kind in "mM" else values != values


def _kept_rows(
    columns: Mapping[str, np.ndarray], features: list[str], target: str | None, missing: str
) -> tuple[np.ndarray, list[str]]:
    """Return the numbers of the rows that are kept, and what there is to say about it."""
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
        warnings.warn(notes[-1], stacklevel=4)
    if missing == "impute" and (absent & ~without).any():
        notes.append(
            f"Missing values of {len(where)} columns, in {int((absent & ~without).sum())} rows, "
            "are the median or most frequent value of their column."
        )
    return np.flatnonzero(~gone), notes


def _as_numbers(
    name: str, values: np.ndarray, known: Sequence[str] | None
) -> tuple[np.ndarray, list[str], list[str]]:
    """Return a column as one or several of numbers, their names, and what was done."""
    absent = is_missing(values)
    if absent.all():
        raise ValueError(f"Column {name!r} holds no value at all: leave it out.")
    if values.dtype.kind in "iufb":
        numbers = values.astype(np.float64)
        if absent.any():
            numbers[absent] = np.median(numbers[~absent])
        return numbers[:, None], [name], []
    texts = np.array([str(each) for each in values], dtype=object)
    categories, counts = np.unique(texts[~absent].astype(str), return_counts=True)
    if len(categories) > max(TEXTS, len(values) // 2):
        raise ValueError(
            f"Column {name!r} holds {len(categories)} different texts in {len(values)} rows: they "
            "are no categories. Leave it out, or turn it into numbers."
        )
    texts[absent] = categories[np.argmax(counts)]
    categories = categories if known is None else np.array(known)
    if len(categories) <= 2:  # one column tells them apart
        last = categories[-1]
        note = f"Column {name!r} is 1 where it is {str(last)!r}, else 0."
        return (texts == last).astype(np.float64)[:, None], [f"{name}={last}"], [note]
    one_hot = (texts[:, None] == categories).astype(np.float64)
    note = f"Column {name!r} is one-hot: {len(categories)} categories."
    return one_hot, [f"{name}={each}" for each in categories], [note]


def _as_target(values: np.ndarray) -> np.ndarray:
    """Return targets as numbers, or as an array of texts."""
    return values if values.dtype.kind in "iufb" else np.array([str(each) for each in values])


def _refuse_dates(name: str, values: np.ndarray) -> None:
    there = values[~is_missing(values)]
    dates = values.dtype.kind in "mM" or (
        values.dtype.kind == "O"
        and len(there) > 0
        and all(hasattr(each, "isoformat") or DATE.fullmatch(str(each)) for each in there[:1000])
    )
    if dates:
        raise ValueError(
            f"Column {name!r} holds dates or times, between which there is no natural distance: "
            "turn it into numbers (days since the first, the month, ...), or leave it out."
        )
