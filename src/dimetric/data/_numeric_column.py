"""Read the new values of a column that was numeric during fit."""

import numpy as np

from dimetric.data._columns import without_commas
from dimetric.data._missing import NUMBER_MISSING_MARKERS, is_missing, marks_missing

MAX_UNREAD = 0.5  # fraction of the new values of a numeric column that may not be numbers
BOOLEAN_TEXTS = {"true": 1.0, "false": 0.0}


def numeric_column(name: str, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the values of a column that was numeric during fit, and which cannot be read.

    Each value is read on its own, so the result does not depend on other rows. Values that are not
    numbers become NaN. Infinite values raise an error.

    Examples
    --------
    >>> numeric_column("age", np.array(["31", "old", None], dtype=object))
    (array([31., nan, nan]), array([False,  True, False]))
    """
    if values.dtype.kind in "iufb":
        numbers, unread = values.astype(np.float64), np.zeros(len(values), dtype=bool)
    else:
        numbers, unread = np.full(len(values), np.nan), ~is_missing(values)
        for i in np.flatnonzero(unread) if values.dtype.kind == "O" else ():
            # A chunk of a file may hold booleans as objects or strings.
            value = BOOLEAN_TEXTS.get(str(values[i]).strip().lower(), values[i])
            try:
                unread[i] = not marks_missing(value, NUMBER_MISSING_MARKERS)
                numbers[i] = float(without_commas(value))
                unread[i] = False
            except (TypeError, ValueError):
                continue
    if np.any(np.isinf(numbers)):
        raise ValueError(f"Column {name!r} holds infinite values. Replace them or drop the column.")
    return numbers, unread


def check_unread(
    name: str, n_unread: int, n_rows: int, example: str = "", limit: float = MAX_UNREAD
) -> None:
    """Raise if many values of a column that was numeric during fit are not numbers.

    Parameters
    ----------
    name : str
        Name of the column.
    n_unread, n_rows : int
        Number of values that are not numbers, and number of rows.
    example : str
        One of these values and its row, for the message.
    limit : float
        Fraction of the rows that may have such a value.
    """
    if n_unread > limit * n_rows:
        raise ValueError(
            f"Column {name!r} was numeric during fit, but {n_unread} of {n_rows} values cannot be "
            f"read as numbers{example}. Replace them by numbers, or leave them empty."
        )
