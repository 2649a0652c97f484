"""Missing values: the texts that mark them, and the questions that are asked about them.

A table may mark a missing value by a text ("?", "NA"), by ``None``, NaN or NaT. Reading turns the
texts into None or NaN; from then on :func:`is_missing` and :func:`is_missing_value` tell.
"""

from typing import Any

import numpy as np

# Among classes only these: "None" and "NA" may well be names of classes.
CLASS_MISSING_MARKERS = frozenset({"", "?"})
# In any other column of a table.
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
    "#N/A",
    "#NA",
    "#N/A N/A",
    "1.#IND",
    "-1.#IND",
    "1.#QNAN",
    "-1.#QNAN",
}
# In a column whose other values are numbers: among texts, "-" may well be a category.
NUMBER_MISSING_MARKERS = MISSING_MARKERS | {"-", "--", ".", "n.a.", "na"}
# In a KEEL file, in upper or lower case.
KEEL_MISSING_MARKERS = CLASS_MISSING_MARKERS | {"<null>", "na", "nan"}


def is_missing(values: np.ndarray) -> np.ndarray:
    """Tell which values of an array are missing: None, NaN or NaT.

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
    """Tell whether one value is missing: None, NaN, NaT or the NA of pandas.

    Examples
    --------
    >>> is_missing_value(float("nan")), is_missing_value("?")
    (True, False)
    """
    # NA of pandas refuses to be compared.
    return value is None or type(value).__name__ == "NAType" or bool(value != value)


def marks_missing(value: Any, markers: frozenset[str] = MISSING_MARKERS) -> bool:
    """Tell whether a value of a table as it was read is missing, or a text that marks this.

    Examples
    --------
    >>> marks_missing(" NA "), marks_missing("NA", CLASS_MISSING_MARKERS), marks_missing(None)
    (True, False, True)
    """
    if isinstance(value, str):
        return value.strip() in markers
    return is_missing_value(value)
