"""Read the column that sets the colours of an embedding: numbers, dates or classes."""

from typing import NamedTuple

import numpy as np

from dimetric.data._kinds._dates import DateColumn, TimeColumn
from dimetric.data._kinds._detect import MAX_CATEGORIES, detect, distinct_values
from dimetric.data._kinds._durations import DurationColumn
from dimetric.data._kinds._encoding import ColumnEncoding
from dimetric.data._kinds._quantities import QuantityColumn
from dimetric.data._missing import is_missing
from dimetric.data._target_values import MAX_CLASSES_WITH_UNIT
from dimetric.plot._labels import are_numbers

__all__ = ["Colors", "colors_of", "written_values"]

SECONDS_PER_DAY = 86_400


class Colors(NamedTuple):
    """What sets the colours of rows.

    Attributes
    ----------
    values : ndarray of shape (n_known,) or None
        Numbers, dates or classes of the rows that have a value. None if they cannot be shown by
        colours.
    known : ndarray of shape (n_rows,) of bool
        Whether each row has a value.
    label : str
        Name of the column, and the unit of its numbers.
    notes : list of str
        Sentences about rows and columns without colours.
    """

    values: np.ndarray | None
    known: np.ndarray
    label: str
    notes: list[str]

    @property
    def classes(self) -> np.ndarray | None:
        """The classes of all rows, or None if a row has none, or if these are numbers or dates."""
        values = self.values
        if values is None or not self.known.all() or values.dtype.kind == "M":
            return None
        return None if are_numbers(values) else values


def colors_of(name: str, values: np.ndarray, unit: str = "") -> Colors:
    """Return the colours of rows.

    Dates, times, durations and numbers with units become dates or numbers, unless they have so few
    distinct values that they may be classes. More than 50 distinct texts are not shown.

    Parameters
    ----------
    name : str
        Name of the column.
    values : ndarray of shape (n_rows,)
        Numbers, dates, strings, or objects in which None marks missing values.
    unit : str, default=""
        Unit of the numbers, if the column was written with one.

    Examples
    --------
    >>> amounts = np.array([f"${i}" for i in range(11)] + [None], dtype=object)
    >>> colors = colors_of("price", amounts)
    >>> colors.label, colors.values[:3], colors.notes
    ('price (USD)', array([0., 1., 2.]), ["Column 'price' has no value in 1 of 12 rows, ..."])
    """
    label, known = f"{name} ({unit})" if unit else name, ~is_missing(values)
    is_text = values.dtype.kind in "OU"
    distinct = distinct_values(values) if is_text else {}
    encoding = None
    if not is_text or len(distinct) > MAX_CLASSES_WITH_UNIT:
        encoding = detect(name, values).encoding
    if isinstance(encoding, DateColumn | TimeColumn | DurationColumn | QuantityColumn):
        numbers = encoding.codes(values)[:, 0]
        known, unit = ~np.isnan(numbers), _unit(encoding)
        label = f"{name} ({unit})" if unit else name
        shown = numbers[known]
        if isinstance(encoding, DateColumn):
            shown = np.round(shown * SECONDS_PER_DAY).astype("datetime64[s]")
    elif len(distinct) > MAX_CATEGORIES:
        note = (
            f"Column {name!r} has {len(distinct):,} distinct texts, which are too many for "
            "colours, so all points have the same colour."
        )
        return Colors(None, known, label, [note])
    else:
        shown = _as_classes(values[known])
    notes, n_missing = [], int(np.sum(~known))
    if n_missing:
        rows = f"{n_missing:,} of {len(values):,} rows"
        notes.append(f"Column {name!r} has no value in {rows}, which are grey.")
    return Colors(shown if len(shown) else None, known, label, notes)


def written_values(values: np.ndarray) -> np.ndarray:
    """Return numbers as they are, and other values as strings for a file. A missing one is "".

    Examples
    --------
    >>> written_values(np.array(["a", None], dtype=object))
    array(['a', ''], dtype='<U1')
    """
    if values.dtype.kind in "iufb":
        return values
    pairs = zip(values, is_missing(values), strict=True)
    return np.array(["" if missing else str(each) for each, missing in pairs])


def _unit(encoding: ColumnEncoding) -> str:
    if isinstance(encoding, QuantityColumn):
        return encoding.unit
    return {TimeColumn: "hour", DurationColumn: "hours"}.get(type(encoding), "")


def _as_classes(values: np.ndarray) -> np.ndarray:
    """Return texts as strings, and whole numbers as integers, so that no class is called 1.0."""
    if values.dtype.kind == "O":
        return np.array([str(each) for each in values])
    is_whole = values.dtype.kind == "f" and np.all(values == np.round(values))
    return values.astype(np.int64) if is_whole and np.all(np.abs(values) < 2**62) else values
