"""Columns of categories: which categories there are, and their one-hot features."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from dimetric.data._columns import drop_hint, is_number, median, present_values, refuse_dates
from dimetric.data._missing import is_missing

MISSING_CODE, UNKNOWN_CODE = -1, -2  # in place of the number of a category
MAX_CATEGORIES = 50  # or half the rows: with more, a column of texts is refused
MIN_NUMBERS = 10  # with more different numbers among texts, the column was perhaps meant as numbers


class LearnedColumn(NamedTuple):
    """What the encoder learns of a column.

    Attributes
    ----------
    categories : list of str or None
        The categories; None if the column holds numbers.
    fill : float or str
        The median, or the most frequent category.
    note : str
        A sentence about the column, or "".
    """

    categories: list[str] | None
    fill: float | str
    note: str


def learn_column(name: str, values: np.ndarray, known: Sequence[str] | None) -> LearnedColumn:
    """Return the categories of a column, or None if it holds numbers, and its usual value.

    Parameters
    ----------
    name : str
        Name of the column.
    values : ndarray of shape (n_rows,)
        Numbers, or objects in which None is missing.
    known : sequence of str, optional
        All categories; by default those that are there, sorted.

    Examples
    --------
    >>> learn_column("size", np.array([1.0, 2.0, 5.0]), None)
    LearnedColumn(categories=None, fill=2.0, note='')
    """
    refuse_dates(name, values)
    present = present_values(name, values)
    if values.dtype.kind in "iufb":
        single = len(present) > 1 and present.min() == present.max()
        note = f"Column {name!r} holds a single value, {present[0]:g}." if single else ""
        return LearnedColumn(None, median(name, present), note)
    texts, counts = np.unique([category_name(each) for each in present], return_counts=True)
    odd = _odd_among_numbers(texts, counts)
    if len(texts) > max(MAX_CATEGORIES, len(values) // 2):
        what = odd or f"such as {str(texts[0])[:40]!r}: they are not categories"
        raise ValueError(
            f"Column {name!r} holds {len(texts)} different texts in {len(values)} rows, {what}."
            f" Turn it into numbers, or {drop_hint(name)}."
        )
    categories = [str(each) for each in (texts if known is None else known)]
    note = f"Column {name!r} is one-hot: {len(categories)} categories{', ' if odd else ''}{odd}."
    if len(categories) == 1:
        note = f"Column {name!r} holds a single value, {categories[0]!r}."
    elif len(categories) == 2:
        note = f"Column {name!r} is 1 where it is {categories[-1]!r}, else 0."
    return LearnedColumn(categories, str(texts[np.argmax(counts)]), note)


def _odd_among_numbers(texts: np.ndarray, counts: np.ndarray) -> str:
    """Describe the texts that are not numbers in a column of numbers; "" in other columns."""
    odd = np.array([not is_number(each) for each in texts.tolist()])
    if np.sum(~odd) <= MIN_NUMBERS or np.sum(counts[odd]) > np.sum(counts) / 2:
        return ""
    examples = ", ".join(repr(str(each)[:40]) for each in texts[odd][:3])
    return f"numbers except for {int(np.sum(counts[odd]))}, such as {examples}"


def category_name(value: Any) -> str:
    """Return the name of a category: 1.0 is called "1".

    Missing values turn a column of integers into floats; their categories keep their names.
    """
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def category_codes(values: np.ndarray, categories: Sequence[str]) -> np.ndarray:
    """Return the number of each value's category, or MISSING_CODE, or UNKNOWN_CODE."""
    numbers = {each: i for i, each in enumerate(categories)}
    return np.array(
        [
            MISSING_CODE if gone else numbers.get(category_name(value), UNKNOWN_CODE)
            for value, gone in zip(values.tolist(), is_missing(values).tolist(), strict=True)
        ],
        dtype=np.int64,
    )


def one_hot(codes: np.ndarray, n_categories: int) -> np.ndarray:
    """Return one feature for each category; of two categories, one feature for the last.

    All features of a missing value are NaN. Those of an unknown category are 0, or 1/2 if there is
    a single feature.
    """
    if n_categories > 2:
        found = (codes[:, None] == np.arange(n_categories)).astype(np.float64)
    else:
        found = (codes == n_categories - 1).astype(np.float64)[:, None]
        found[codes == UNKNOWN_CODE] = 0.5
    found[codes == MISSING_CODE] = np.nan
    return found


def one_hot_names(name: str, categories: Sequence[str]) -> list[str]:
    """Return the names of the features of :func:`one_hot`."""
    named = categories if len(categories) > 2 else categories[-1:]
    return [f"{name}={each}" for each in named]
