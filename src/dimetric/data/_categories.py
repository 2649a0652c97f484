"""Categorical columns: their categories and their one-hot features."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dimetric.data._columns import (
    MAX_QUOTED_CHARACTERS,
    drop_hint,
    is_number,
    median,
    present_values,
    refuse_dates,
)
from dimetric.data._missing import is_missing

MISSING_CODE, UNKNOWN_CODE = -1, -2  # category codes of missing values and unknown categories
MAX_CATEGORIES = 50  # of a column; half the number of rows, if that is more
MAX_EXAMPLES = 3  # values quoted in a message
# A string column with more distinct numbers than this was probably meant to be numeric.
MAX_NUMERIC_CATEGORIES = 10


class LearnedColumn(NamedTuple):
    """What the encoder learns about one column.

    Attributes
    ----------
    categories : list of str or None
        The categories. None if the column is numeric.
    fill : float or str
        The value that replaces missing values: the median, or the most frequent category.
    note : str
        A message to the user about the column, or "".
    """

    categories: list[str] | None
    fill: float | str
    note: str


def learn_column(name: str, values: np.ndarray, known: Sequence[str] | None) -> LearnedColumn:
    """Learn the categories of a column, if it is categorical, and the value for imputation.

    Parameters
    ----------
    name : str
        Name of the column.
    values : ndarray of shape (n_rows,)
        Numbers, or an object array in which None marks missing values.
    known : sequence of str, optional
        All possible categories. By default, the sorted categories that occur in `values`.

    Examples
    --------
    >>> learn_column("size", np.array([1.0, 2.0, 5.0]), None)
    LearnedColumn(categories=None, fill=2.0, note='')
    """
    refuse_dates(name, values)
    present = present_values(name, values)
    if values.dtype.kind in "iufb":
        is_constant = len(present) > 1 and present.min() == present.max()
        note = f"Column {name!r} holds a single value, {present[0]:g}." if is_constant else ""
        return LearnedColumn(None, median(name, present), note)
    texts, counts = np.unique([category_name(each) for each in present], return_counts=True)
    exceptions = _exceptions_among_numbers(texts, counts)
    if len(texts) > max(MAX_CATEGORIES, len(values) // 2):
        detail = exceptions or f"An example is {str(texts[0])[:MAX_QUOTED_CHARACTERS]!r}."
        raise ValueError(
            f"Column {name!r} holds {len(texts)} distinct strings in {len(values)} rows, too many "
            f"for categories. {detail} Convert the column to numbers, or {drop_hint(name)}."
        )
    categories = [str(each) for each in (texts if known is None else known)]
    note = (
        f"Column {name!r} is one-hot encoded ({len(categories)} categories). {exceptions}".strip()
    )
    if len(categories) == 1:
        note = f"Column {name!r} holds a single value, {categories[0]!r}."
    elif len(categories) == 2:
        note = f"Column {name!r} is encoded as 1 for {categories[1]!r} and 0 for {categories[0]!r}."
    return LearnedColumn(categories, str(texts[np.argmax(counts)]), note)


def _exceptions_among_numbers(texts: np.ndarray, counts: np.ndarray) -> str:
    """Return a sentence on the non-numeric values of a mostly numeric column, else ""."""
    is_text = np.array([not is_number(each) for each in texts.tolist()])
    if np.sum(~is_text) <= MAX_NUMERIC_CATEGORIES or np.sum(counts[is_text]) > np.sum(counts) / 2:
        return ""
    examples = ", ".join(
        repr(str(each)[:MAX_QUOTED_CHARACTERS]) for each in texts[is_text][:MAX_EXAMPLES]
    )
    n_texts, n_values = int(np.sum(counts[is_text])), int(np.sum(counts))
    verb = "is" if n_texts == 1 else "are"
    return f"Only {n_texts} of {n_values} values {verb} not numeric, for example {examples}."


def category_name(value: Any) -> str:
    """Return the name of a category. Both 1 and 1.0 are named "1".

    Missing values turn a column of integers into floats, which must not rename its categories.
    """
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def category_codes(values: np.ndarray, categories: Sequence[str]) -> np.ndarray:
    """Return the category index of each value, or MISSING_CODE, or UNKNOWN_CODE."""
    indices = {each: i for i, each in enumerate(categories)}
    return np.array(
        [
            MISSING_CODE if missing else indices.get(category_name(value), UNKNOWN_CODE)
            for value, missing in zip(values.tolist(), is_missing(values).tolist(), strict=True)
        ],
        dtype=np.int64,
    )


def one_hot(codes: np.ndarray, n_categories: int) -> np.ndarray:
    """Return one 0/1 feature for each category.

    If there are one or two categories, the only feature is that of the last category. A missing
    value is NaN in all features. An unknown category is 0 in all features, or 1/2 if there is only
    one feature.
    """
    if n_categories > 2:
        features = (codes[:, None] == np.arange(n_categories)).astype(np.float64)
    else:
        features = (codes == n_categories - 1).astype(np.float64)[:, None]
        features[codes == UNKNOWN_CODE] = 0.5
    features[codes == MISSING_CODE] = np.nan
    return features


def unknown_categories_note(name: str, n_values: int) -> str:
    """Return a message that a column has values whose category was not seen during fit."""
    return f"Found unknown categories in column {name!r} (number of values: {n_values})."


def one_hot_names(name: str, categories: Sequence[str]) -> list[str]:
    """Return the names of the features of :func:`one_hot`."""
    named = categories if len(categories) > 2 else categories[-1:]
    return [f"{name}={each}" for each in named]
