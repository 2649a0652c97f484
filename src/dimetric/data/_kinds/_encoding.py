"""The interface of all encodings: values of a column become codes, and codes become features."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from dimetric.data._missing import NUMBER_MISSING_MARKERS, is_missing, marks_missing


@dataclass(frozen=True)
class ColumnEncoding:
    """How the values of a column become features.

    The code of a value does not depend on other rows, so a table can be encoded in chunks. An
    encoding learns only from codes, so it can be fitted to the training rows of a fold.
    """

    def __deepcopy__(self, memo: Any) -> Self:
        return self  # it is immutable, and clones of an encoder would copy long lists

    @property
    def n_codes(self) -> int:
        """Number of codes of a value."""
        return 1

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.feature_names(""))

    def is_valid(self) -> bool:
        """Return whether the attributes, which a model file may hold, are consistent."""
        return True

    def codes(self, values: np.ndarray) -> np.ndarray:
        """Return the codes of values, of shape (n, n_codes). Missing values are NaN."""
        raise NotImplementedError

    def read(self, codes: np.ndarray) -> np.ndarray | None:
        """Return values that have the given codes and are faster to read, or None."""
        return None

    def fitted(self, codes: np.ndarray) -> Self:
        """Return an encoding that is fitted to the codes of the training rows."""
        return self

    def fill(self, codes: np.ndarray) -> float:
        """Return the code that replaces missing values: by default, the median."""
        present = codes[~np.isnan(codes)]
        return float(np.median(present)) if len(present) else 0.0

    def features(self, codes: np.ndarray) -> np.ndarray:
        """Return the features of codes, of shape (n, n_features)."""
        return codes

    def feature_names(self, name: str) -> list[str]:
        """Return the names of the features of a column."""
        return [name]

    def n_unknown(self, values: np.ndarray, codes: np.ndarray) -> int:
        """Return the number of values that cannot be read, or were not seen during fit."""
        unread = np.flatnonzero(np.isnan(codes[:, 0]))
        return sum(not marks_missing(values[i], NUMBER_MISSING_MARKERS) for i in unread)

    def unknown_note(self, name: str, n_values: int) -> str:
        """Return a message about the values that :meth:`n_unknown` counts."""
        return unread_note(name, self.content, n_values)

    @property
    def content(self) -> str:
        """What the column holds, in the plural."""
        return "numbers"


def unread_note(name: str, content: str, n_values: int) -> str:
    """Return a message that values of a column cannot be read.

    Examples
    --------
    >>> unread_note("age", "numbers", 2)
    "Values in column 'age' that cannot be read as numbers were treated as missing (number of \
values: 2)."
    """
    return (
        f"Values in column {name!r} that cannot be read as {content} were treated as missing "
        f"(number of values: {n_values})."
    )


def mapped_numbers(values: np.ndarray, parse: Callable[[Any], float | None]) -> np.ndarray:
    """Return the number of each value, and NaN for missing values and those that do not parse.

    Each distinct value is parsed once. Arrays of numbers are returned as they are.

    Examples
    --------
    >>> mapped_numbers(np.array(["1", None, "x", "1"], dtype=object), lambda each: 2.0)
    array([ 2., nan,  2.,  2.])
    """
    if values.dtype.kind in "iuf":  # read before
        return values.astype(np.float64)
    numbers, known = np.full(len(values), np.nan), {}
    for i, (value, missing) in enumerate(
        zip(values.tolist(), is_missing(values).tolist(), strict=True)
    ):
        if missing:
            continue
        if value not in known:
            number = parse(value)
            known[value] = np.nan if number is None else number
        numbers[i] = known[value]
    return numbers
