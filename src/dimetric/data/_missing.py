"""Missing values: the strings that mark them, and functions that detect them.

A table may mark a missing value by a string such as "?" or "NA", or by ``None``, NaN or NaT.
Reading a table converts the strings to None or NaN, which :func:`is_missing` and
:func:`is_missing_value` detect.
"""

from typing import Any

import numpy as np

# In the target column. "None" and "NA" may be names of classes.
CLASS_MISSING_MARKERS = frozenset({"", "?"})
# In all other columns of a table.
MISSING_MARKERS = CLASS_MISSING_MARKERS | {
    "NA",
    "N/A",
    "n/a",
    "NaN",
    "nan",
    "-NaN",
    "-nan",
    "null",
    "NULL",
    "None",
    "<NA>",
    "NaT",
    "\\N",
    "#N/A",
    "#NA",
    "#N/A N/A",
    "1.#IND",
    "-1.#IND",
    "1.#QNAN",
    "-1.#QNAN",
}
# In a column whose other values are numbers. Among strings, "-" may be a category.
NUMBER_MISSING_MARKERS = MISSING_MARKERS | {"-", "--", ".", "n.a.", "na"}
# In a KEEL file, whatever their case.
KEEL_MISSING_MARKERS = CLASS_MISSING_MARKERS | {"<null>", "na", "nan"}


def is_missing(values: np.ndarray) -> np.ndarray:
    """Return a mask of the missing values (None, NaN or NaT) of an array.

    Examples
    --------
    >>> is_missing(np.array([1.0, np.nan])), is_missing(np.array(["a", None], dtype=object))
    (array([False,  True]), array([False,  True]))
    """
    if values.dtype.kind in "iub":
        return np.zeros(values.shape, dtype=bool)
    if values.dtype.kind == "O":
        return np.array([is_missing_value(each) for each in values], dtype=bool)
    return np.isnat(values) if values.dtype.kind in "mM" else values != values


def is_missing_value(value: Any) -> bool:
    """Return whether a value is missing: None, NaN, NaT or pandas.NA.

    Examples
    --------
    >>> is_missing_value(float("nan")), is_missing_value("?")
    (True, False)
    """
    # The truth value of a comparison with pandas.NA is undefined, so its type is checked.
    return value is None or type(value).__name__ == "NAType" or bool(value != value)


def marks_missing(value: Any, markers: frozenset[str] = MISSING_MARKERS) -> bool:
    """Return whether a value is missing, or is a string that marks a missing value.

    Examples
    --------
    >>> marks_missing(" NA "), marks_missing("NA", CLASS_MISSING_MARKERS), marks_missing(None)
    (True, False, True)
    """
    if isinstance(value, str):
        return value.strip() in markers
    return is_missing_value(value)
