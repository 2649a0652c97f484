"""Learn from a column how its values become features."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from dimetric.data._categories import category_name
from dimetric.data._columns import median, present_values
from dimetric.data._kinds._detect import detect, quoted
from dimetric.data._kinds._encoding import ColumnEncoding
from dimetric.data._kinds._texts import FrequencyColumn, WordsColumn

MAX_LISTED_ALIKE = 5  # columns that are encoded alike and have a note each


class LearnedColumn(NamedTuple):
    """What the encoder learns about one column.

    Attributes
    ----------
    categories : list of str or None
        The categories. None if the column is not categorical.
    fill : float or str
        What replaces missing values: the median, the most frequent category, or a code.
    note : str
        A message to the user about the column, or "".
    encoding : ColumnEncoding or None
        The encoding, unless the column holds plain numbers or categories.
    """

    categories: list[str] | None
    fill: float | str
    note: str
    encoding: ColumnEncoding | None = None


def learn_column(
    name: str,
    values: np.ndarray,
    known: Sequence[str] | None = None,
    encoding: ColumnEncoding | None = None,
) -> LearnedColumn:
    """Learn how a column becomes features, and the value for imputation.

    Parameters
    ----------
    name : str
        Name of the column.
    values : ndarray of shape (n_rows,)
        Numbers, dates, or an object array in which None marks missing values.
    known : sequence of str, optional
        All possible categories. By default, the sorted categories that occur in `values`.
    encoding : ColumnEncoding, optional
        The encoding of the column. By default, it is detected.

    Examples
    --------
    >>> learn_column("size", np.array([1.0, 2.0, 5.0]))
    LearnedColumn(categories=None, fill=2.0, note='', encoding=None)
    """
    present = present_values(name, values)
    note = ""
    if encoding is None and known is None:
        found = detect(name, values)
        if found.problem:
            raise ValueError(f"Column {name!r} cannot be used: {found.problem}.")
        encoding, note = found.encoding, found.note
    if encoding is not None:
        codes = encoding.codes(values)
        encoding = encoding.fitted(codes)
        note = f"{_encoding_note(name, encoding)} {note}".strip()
        fill = encoding.fill(codes[:, 0]) if encoding.n_codes == 1 else 0.0
        return LearnedColumn(None, fill, note, encoding)
    if values.dtype.kind in "iufb":
        is_constant = len(present) > 1 and present.min() == present.max()
        note = f"Column {name!r} holds a single value, {present[0]:g}." if is_constant else ""
        return LearnedColumn(None, median(name, present), note)
    texts, counts = np.unique([category_name(each) for each in present], return_counts=True)
    categories = [str(each) for each in (texts if known is None else known)]
    note = f"Column {name!r} is one-hot encoded ({len(categories)} categories)."
    if len(categories) == 1:
        note = f"Column {name!r} holds a single value, {categories[0]!r}."
    elif len(categories) == 2:
        note = f"Column {name!r} is encoded as 1 for {categories[1]!r} and 0 for {categories[0]!r}."
    return LearnedColumn(categories, str(texts[np.argmax(counts)]), note)


def column_notes(learned: Mapping[str, LearnedColumn]) -> list[str]:
    """Return a note for each column, or one for many columns that are encoded alike.

    Examples
    --------
    >>> found = LearnedColumn(["a", "b", "c"], "a", "Column 'x' is one-hot encoded.")
    >>> column_notes({name: found for name in "uvwxyz"})
    ["6 columns are one-hot encoded: 'u', 'v', 'w' and 3 more."]
    """
    alike: dict[str, list[str]] = {}
    for name, column in learned.items():
        alike.setdefault(_treatment(column), []).append(name)
    alike.pop("", None)  # numbers
    is_single = {name: len(names) <= MAX_LISTED_ALIKE for names in alike.values() for name in names}
    notes = [each.note for name, each in learned.items() if each.note and is_single.get(name, True)]
    return notes + [
        f"{len(names)} columns are {treatment}: {quoted(names)}."
        for treatment, names in alike.items()
        if len(names) > MAX_LISTED_ALIKE
    ]


def _treatment(column: LearnedColumn) -> str:
    """Return how a column is encoded, in the words of a note, or "" without a note."""
    if column.encoding is not None:
        return f"read as {column.encoding.content}"
    if column.categories is None:
        return ""
    return "one-hot encoded" if len(column.categories) > 2 else "encoded as 0 and 1"


def _encoding_note(name: str, encoding: ColumnEncoding) -> str:
    """Return a sentence that says how a column is encoded."""
    if isinstance(encoding, FrequencyColumn):
        n = encoding.n_frequent
        frequent = f". The {n} most frequent are also one-hot encoded" if n else ""
        return (
            f"Column {name!r} holds {len(encoding.values):,} distinct texts, too many for "
            f"categories. They are encoded by how often each occurs, on a log scale{frequent}."
        )
    if isinstance(encoding, WordsColumn):
        what = "letter triples" if encoding.characters else "words"
        return (
            f"Column {name!r} holds texts. Its {what} are hashed to {encoding.n_features} features."
        )
    n = encoding.n_features
    features = "" if n == 1 else f" ({n} features: {', '.join(part_list(encoding))})"
    return f"Column {name!r} is read as {encoding.content}{features}."


def part_list(encoding: ColumnEncoding) -> list[str]:
    """Return the parts of a value that become features, such as year and month.

    Examples
    --------
    >>> from dimetric.data._kinds._dates import DateColumn
    >>> part_list(DateColumn())
    ['year', 'month', 'day', 'weekday', 'elapsed days']
    """
    names = (each.strip().removesuffix(" (sin)") for each in encoding.feature_names(""))
    return [each for each in names if not each.endswith("(cos)")]
