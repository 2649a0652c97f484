"""Samples with names, and the columns of any kind they are made of."""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

# Texts that stand for no value; the second kind only among numbers: "-" may well be a category.
GAPS = frozenset({"", "?", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None", "<NA>", "NaT"})
GAPS_AMONG_NUMBERS = frozenset({"-", "--", ".", "n.a.", "na"})
DATE = re.compile(r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([T ].*)?|\d{1,2}[-/.]\d{1,2}[-/.]\d{4}([T ].*)?")
MISSING, UNKNOWN = -1, -2  # in place of a category's number
THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?")


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


def columns_of(table: Any, texts: Collection[str] = ()) -> dict[str, np.ndarray]:
    """Return the columns of a table: numbers, dates, or objects in which None is missing.

    Parameters
    ----------
    table : data frame of pandas or polars, or mapping of names to arrays
        Columns of texts that are all numbers ("1,234" among them) become numbers.
    texts : collection of str
        Columns whose texts stay texts: "01" is a category, whatever stands in the other rows.

    Examples
    --------
    >>> columns_of({"a": np.array(["1", "2,500", "9"]), "b": np.array(["x", "-", "?"])})
    {'a': array([1.0e+00, 2.5e+03, 9.0e+00]), 'b': array(['x', '-', None], dtype=object)}
    """
    names = list(table) if isinstance(table, Mapping) else list(table.columns)
    columns = {}
    for name in names:
        series = table[name]
        if getattr(series, "ndim", 1) != 1 or str(name) in columns:
            raise ValueError(f"There is more than one column {name!r}: names must differ.")
        values = series.to_numpy() if hasattr(series, "to_numpy") else np.asarray(series)
        if values.dtype.kind not in "iufbmM":
            listed = series.to_list() if hasattr(series, "to_list") else values.tolist()
            values = np.empty(len(listed), dtype=object)
            values[:] = [None if _is_gap(each) else each for each in listed]
            numbers = None if str(name) in texts else numbers_of(values)
            values = values if numbers is None else numbers
        columns[str(name)] = values
    return columns


def numbers_of(values: np.ndarray) -> np.ndarray | None:
    """Return objects as numbers, NaN where there is none; None unless all others are numbers.

    Examples
    --------
    >>> numbers_of(np.array(["1", None, "-"], dtype=object))
    array([ 1., nan, nan])
    """
    found = np.full(len(values), np.nan)
    some = False
    for i, value in enumerate(values):
        if value is None or (isinstance(value, str) and value.strip() in GAPS_AMONG_NUMBERS):
            continue
        try:
            found[i] = float(_plain(value))
        except (TypeError, ValueError):
            return None
        some = True
    return found if some else None


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


def as_numbers(name: str, values: np.ndarray) -> np.ndarray:
    """Return a column of numbers, as which it is known, as such."""
    numbers = values
    if values.dtype.kind not in "iufb":
        found = numbers_of(values) if values.dtype.kind == "O" else None
        if found is None and not is_missing(values).all():
            odd = next(each for each in values if each is not None and not _is_number(each))
            raise ValueError(
                f"Column {name!r} is one of numbers in the fit, but holds {str(odd)[:40]!r} here."
            )
        numbers = np.full(len(values), np.nan) if found is None else found
    numbers = numbers.astype(np.float64)
    if np.any(np.isinf(numbers)):
        raise ValueError(f"Column {name!r} holds infinite values: replace them, or leave it out.")
    return numbers


def codes_of(values: np.ndarray, categories: Sequence[str]) -> np.ndarray:
    """Return the number of each value's category."""
    numbers = {each: i for i, each in enumerate(categories)}
    absent = is_missing(values)
    return np.array(
        [MISSING if gone else numbers.get(text(value), UNKNOWN)
         for value, gone in zip(values.tolist(), absent.tolist(), strict=True)],
        dtype=np.int64,
    )  # fmt: skip


def one_hot(codes: np.ndarray, n_categories: int) -> np.ndarray:
    """Return a feature for each category; of two, one for the last."""
    if n_categories > 2:
        found = (codes[:, None] == np.arange(n_categories)).astype(np.float64)
    else:
        found = (codes == n_categories - 1).astype(np.float64)[:, None]
        found[codes == UNKNOWN] = 0.5
    found[codes == MISSING] = np.nan
    return found


def text(value: Any) -> str:
    """Return a category's name: 1.0 is called 1, as columns with gaps make the one of the other."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def _is_number(value: Any) -> bool:
    one = np.empty(1, dtype=object)
    one[0] = value
    return numbers_of(one) is not None


def median(name: str, values: np.ndarray) -> float:
    """Return the median of the values that are there; some must be."""
    there = values[~np.isnan(values)]
    if not len(there):
        raise ValueError(f"Column {name!r} holds no value at all: {leave_out(name)}.")
    return float(np.median(there))


def leave_out(name: str) -> str:
    """Return how to leave a column out, as the end of a sentence."""
    return f"leave it out (drop=[{name!r}], on the command line --drop {name!r})"


def refuse_dates(name: str, values: np.ndarray) -> None:
    """Raise if a column holds dates."""
    there = values[~is_missing(values)]
    dates = values.dtype.kind in "mM" or (
        values.dtype.kind == "O"
        and len(there) > 0
        and all(hasattr(each, "isoformat") or DATE.fullmatch(str(each)) for each in there[:1000])
    )
    if dates:
        raise ValueError(
            f"Column {name!r} holds dates or times, between which there is no natural distance: "
            f"turn it into numbers (days since the first, the month, ...), or {leave_out(name)}."
        )


def _is_gap(value: Any) -> bool:
    """Tell whether a value stands for none; pandas' NA refuses to be compared."""
    if isinstance(value, str):
        return value.strip() in GAPS
    return value is None or str(value) in ("<NA>", "NaT") or value != value


def _plain(value: Any) -> Any:
    """Return a number's text without commas between its thousands."""
    if not isinstance(value, str):
        return value
    if "_" in value:  # Python's own way to write numbers, nobody else's
        raise ValueError(value)
    return value.replace(",", "") if THOUSANDS.fullmatch(value.strip()) else value
