"""Targets that are written with a unit, or that hold some values that are not numbers."""

import numpy as np

from dimetric.data._kinds._detect import detect, distinct_values
from dimetric.data._kinds._durations import DurationColumn
from dimetric.data._kinds._ids import find_ids
from dimetric.data._kinds._quantities import QuantityColumn
from dimetric.data._missing import is_missing
from dimetric.data._records import MAX_MISSING
from dimetric.supervision.labels import may_be_classes

MAX_CLASSES_WITH_UNIT = 10  # distinct values of a target that may be classes, such as "5 %"


def quantities_of(name: str, values: np.ndarray) -> tuple[np.ndarray, str, str]:
    """Return a target of percentages, amounts, durations or numbers with some texts as numbers.

    Parameters
    ----------
    name : str
        Name of the target.
    values : ndarray of shape (n_rows,)
        The target.

    Returns
    -------
    values : ndarray of shape (n_rows,)
        Numbers, in which unreadable values are NaN. The target itself if it holds something else,
        few distinct values, which may be classes, or integers that may be classes.
    note : str
        A sentence that says how the target is read, or "".
    unit : str
        Unit of the numbers, or "".

    Examples
    --------
    >>> texts = [f"{i}.5 %" for i in range(11)]
    >>> quantities_of("rate", np.array([*texts, "N/A"], dtype=object))[1]
    "Column 'rate' is read as percentages."
    """
    is_text = values.dtype.kind == "O" and len(set(map(str, values))) > MAX_CLASSES_WITH_UNIT
    if not is_text and values.dtype.kind != "m":
        return values, "", ""
    found = detect("", values)
    if not isinstance(found.encoding, QuantityColumn | DurationColumn):
        return values, "", ""
    numbers = found.encoding.codes(values)[:, 0]
    is_plain = isinstance(found.encoding, QuantityColumn) and not found.encoding.unit
    if is_plain and may_be_classes(numbers[~np.isnan(numbers)]):
        return values, "", ""
    unit = found.encoding.unit if isinstance(found.encoding, QuantityColumn) else "hours"
    hours = ", in hours" if isinstance(found.encoding, DurationColumn) else ""
    note = f"Column {name!r} is read as {found.encoding.content}{hours}. {found.note}"
    return numbers, note.strip(), unit


def unit_problem(name: str, values: np.ndarray) -> str:
    """Return a sentence that says that a target has different units, or "".

    Examples
    --------
    >>> unit_problem("price", np.array(["3 EUR", "5 USD"]))[:66]
    "Column 'price' holds numbers of different units (EUR, USD). Conver"
    """
    problem = detect("", values.astype(object)).problem if values.dtype.kind in "OU" else ""
    if not problem:
        return ""
    what = problem.removeprefix("it ")
    return f"Column {name!r} {what}. Convert them to one unit, or choose another target."


def may_be_target(name: str, values: np.ndarray) -> bool:
    """Return whether a column may be the target: not an identifier, constant or almost empty.

    Examples
    --------
    >>> may_be_target("id", np.arange(30)), may_be_target("size", np.array([3, 1, 3]))
    (False, True)
    """
    values = quantities_of(name, values)[0]
    present = values[~is_missing(values)]
    if values.dtype.kind == "M":
        return False  # dates cannot be predicted
    if len(present) < (1 - MAX_MISSING) * len(values) or len(distinct_values(present)) < 2:
        return False
    ids = find_ids(name, values)
    return ids is None or ids.is_kept or bool(unit_problem(name, values))
