"""Columns of a table as arrays: numeric if all values are numbers, object arrays otherwise."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import check_array

from dimetric._arrays.validation import ignoring_overflow
from dimetric._names import shell_names
from dimetric.data._kinds._encoding import ColumnEncoding
from dimetric.data._missing import (
    CLASS_MISSING_MARKERS,
    NUMBER_MISSING_MARKERS,
    is_missing,
    marks_missing,
)
from dimetric.linalg.row_basis import is_made_dense

DATE_PATTERN = re.compile(
    r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}([T ].*)?|\d{1,2}[-/.]\d{1,2}[-/.]\d{4}([T ].*)?"
)
MAX_DATES_CHECKED = 1000  # values of a column that are compared with DATE_PATTERN, to save time
MAX_NUMBER = 1e150  # sums of squares of larger numbers overflow
MAX_QUOTED_CHARACTERS = 40  # of a value quoted in a message
COMMA_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?")
LEADING_ZERO = re.compile(r"0\d+")  # a class named "01" is not the number 1
CODE_DIGITS = 4  # a number with leading zeros and this many digits is a code, such as a zip code
MAX_CODE_COLUMNS = 2000  # of a file that is searched for codes, to save time
N_CHECKED_CODES = 1000  # values of a column that are searched for a code
INTEGER = re.compile(r"[+-]?\d{1,15}")


class ReadColumns(dict[str, np.ndarray]):
    """Columns by name, with the encodings that were chosen for the whole table.

    An encoder that is fitted to some rows of the table uses these encodings, so that all samples of
    the rows have the same features.

    Attributes
    ----------
    encodings : dict of str to ColumnEncoding
        The encodings of columns that are neither numeric nor categorical.
    """

    def __init__(
        self, columns: Mapping[str, np.ndarray], encodings: Mapping[str, ColumnEncoding]
    ) -> None:
        super().__init__(columns)
        self.encodings = {name: each for name, each in encodings.items() if name in self}


def encodings_of(table: Any) -> dict[str, ColumnEncoding]:
    """Return the encodings that were chosen for a table, or {} if none were."""
    return table.encodings if isinstance(table, ReadColumns) else {}


def rows_of(columns: Mapping[str, np.ndarray], rows: np.ndarray) -> ReadColumns:
    """Return the given rows of columns, which keep their encodings."""
    taken = {name: values[rows] for name, values in columns.items()}
    return ReadColumns(taken, encodings_of(columns))


def columns_of(
    table: Any, string_columns: Iterable[str] = (), *, target: str | None = None
) -> dict[str, np.ndarray]:
    """Return the columns of a table as arrays of numbers, dates, or objects.

    Parameters
    ----------
    table : pandas or polars data frame, or mapping of names to arrays
        A string column whose values are all numbers, such as "1.5" or "1,234", becomes numeric.
        Other string columns become object arrays, in which None marks missing values.
    string_columns : iterable of str
        Names of columns that stay strings even if all their values are numbers.
    target : str, optional
        Name of the target column. If a value is not a number, or is a code such as "01", all values
        are kept as written. "None" and "NA" are then class names.

    Examples
    --------
    >>> columns_of({"a": np.array(["1", "2,500", "9"]), "b": np.array(["x", "-", "?"])})
    {'a': array([1.0e+00, 2.5e+03, 9.0e+00]), 'b': array(['x', '-', None], dtype=object)}
    """
    names = list(table) if isinstance(table, Mapping) else list(table.columns)
    columns, strings = {}, set(string_columns)
    for name in names:
        series = table[name]
        if getattr(series, "ndim", 1) != 1 or str(name) in columns:
            raise ValueError(
                f"The table has several columns named {name!r}. Column names must be unique."
            )
        values = series.to_numpy() if hasattr(series, "to_numpy") else np.asarray(series)
        if values.dtype.kind not in "iufbmM":
            listed = series.to_list() if hasattr(series, "to_list") else values.tolist()
            values = _objects([None if marks_missing(each) else each for each in listed])
            is_string = str(name) in strings or has_codes(values)
            numbers = None if is_string and str(name) != target else parse_numbers(values)
            if str(name) == target:
                values = _class_labels(listed, numbers)
            else:
                values = values if numbers is None else numbers
        columns[str(name)] = values
    return columns


def has_names(table: Any) -> bool:
    """Return whether the columns of a table have names."""
    return isinstance(table, Mapping) or (hasattr(table, "columns") and hasattr(table, "dtypes"))


def numeric_array(X: Any, estimator: Any) -> np.ndarray:
    """Return an array of numbers without column names. Missing values are allowed."""
    if issparse(X) and is_made_dense(*X.shape):
        X = X.toarray()
    with ignoring_overflow():
        return check_array(
            X, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan", estimator=estimator
        )


def has_codes(values: np.ndarray) -> bool:
    """Return whether a column holds codes: digits of equal length, some with leading zeros.

    Examples
    --------
    >>> has_codes(np.array(["01067", "80331"])), has_codes(np.array(["01", "12"]))
    (True, False)
    """
    texts = [each.strip() for each in values.tolist() if isinstance(each, str)]
    codes = (each for each in texts[:N_CHECKED_CODES] if LEADING_ZERO.fullmatch(each))
    length = len(next(codes, ""))
    return length >= CODE_DIGITS and all(len(each) == length and each.isdigit() for each in texts)


def code_columns(
    pandas: Any, path: Any, options: Mapping[str, Any], target: str | None
) -> dict[Any, type]:
    """Return the columns of a text file that hold codes such as 01067, to be read as strings.

    Only the first rows are searched for codes.

    Parameters
    ----------
    pandas : module
        The library.
    path : path
        The file.
    options : mapping
        Options of ``read_csv``.
    target : str or None
        A column that is left out.
    """
    head = pandas.read_csv(path, nrows=N_CHECKED_CODES, dtype=str, **options)
    if head.shape[1] > MAX_CODE_COLUMNS:
        return {}
    keys = [each for each in head.columns if str(each).strip() != target]
    return {key: str for key in keys if has_codes(head[key].to_numpy())}


def _class_labels(listed: list[Any], numbers: np.ndarray | None) -> np.ndarray:
    """Return a target as written, or as numbers if all are numbers and none is a code like "01"."""
    texts = [each.strip() for each in listed if isinstance(each, str)]
    if numbers is not None and not any(LEADING_ZERO.fullmatch(each) for each in texts):
        are_integers = len(texts) == len(listed) and all(map(INTEGER.fullmatch, texts))
        return numbers.astype(np.int64) if are_integers else numbers
    return _objects(
        [None if marks_missing(each, CLASS_MISSING_MARKERS) else each for each in listed]
    )


def parse_numbers(values: np.ndarray) -> np.ndarray | None:
    """Convert objects to numbers, and missing values to NaN.

    Return None if a value is not a number.

    Examples
    --------
    >>> parse_numbers(np.array(["1", None, "-"], dtype=object))
    array([ 1., nan, nan])
    >>> parse_numbers(np.array(["1", "x"], dtype=object)) is None
    True
    """
    numbers = np.full(len(values), np.nan)
    any_number = False
    for i, value in enumerate(values):
        if marks_missing(value, NUMBER_MISSING_MARKERS):
            continue
        try:
            numbers[i] = float(without_commas(value))
        except (TypeError, ValueError):
            return None
        any_number = True
    return numbers if any_number else None


def is_number(value: Any) -> bool:
    """Return whether a value is a number or a string that represents one.

    Examples
    --------
    >>> is_number("1,250.5"), is_number("<5")
    (True, False)
    """
    return parse_numbers(_objects([value])) is not None


def check_magnitude(name: str, values: np.ndarray) -> None:
    """Raise if squares of the values of a numeric column may overflow.

    Examples
    --------
    >>> check_magnitude("mass", np.array([1.0, 1e200]))
    Traceback (most recent call last):
    ...
    ValueError: Column 'mass' holds values around 1e+200, whose squares are too large for float64...
    """
    if values.dtype.kind != "f":
        return
    largest = float(np.max(np.abs(values), initial=0.0, where=np.isfinite(values)))
    if largest > MAX_NUMBER:
        raise ValueError(
            f"Column {name!r} holds values around {largest:.0e}, whose squares are too large for "
            "float64. Rescale the column or drop it."
        )


def median(name: str, values: np.ndarray) -> float:
    """Return the median of the non-missing values of a column. Raise if there are none."""
    return float(np.median(present_values(name, values)))


def present_values(name: str, values: np.ndarray) -> np.ndarray:
    """Return the non-missing values of a column. Raise if there are none."""
    present = values[~is_missing(values)]
    if not len(present):
        raise ValueError(f"All values of column {name!r} are missing. You can {drop_hint(name)}.")
    return present


def refuse_dates(name: str, values: np.ndarray) -> None:
    """Raise if a target column holds dates."""
    present = values[~is_missing(values)]
    has_dates = values.dtype.kind in "mM" or (
        values.dtype.kind == "O"
        and len(present) > 0
        and all(
            hasattr(each, "isoformat") or DATE_PATTERN.fullmatch(str(each))
            for each in present[:MAX_DATES_CHECKED]
        )
    )
    if has_dates:
        raise ValueError(
            f"Column {name!r} holds dates or times, which cannot be predicted. Convert them to "
            "numbers, such as days since a start date, or choose another target."
        )


def drop_hint(name: str) -> str:
    """Return the end of a sentence that says how to drop a column."""
    return f"drop it (drop=[{name!r}] in Python, --drop {shell_names(name)} on the command line)"


def _objects(values: list[Any]) -> np.ndarray:
    """Return a list as a one-dimensional object array, even if its items are lists."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def without_commas(value: Any) -> Any:
    """Remove the commas between thousands from a string that represents a number."""
    if not isinstance(value, str):
        return value
    if "_" in value:  # float() accepts "1_000", which is not a number in a table
        raise ValueError(value)
    return value.replace(",", "") if COMMA_THOUSANDS.fullmatch(value.strip()) else value
