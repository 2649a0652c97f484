"""The features of one column: a number, categories, or an encoding such as that of dates."""

from collections.abc import Sequence

import numpy as np

from dimetric.data._categories import UNKNOWN_CODE, category_codes, one_hot, one_hot_names
from dimetric.data._kinds._encoding import ColumnEncoding
from dimetric.data._numeric_column import numeric_column


def column_features(
    name: str,
    values: np.ndarray,
    categories: Sequence[str] | None,
    encoding: ColumnEncoding | None,
) -> tuple[np.ndarray, int]:
    """Return the features of the values of a column, and the number of unknown values.

    Parameters
    ----------
    name : str
        Name of the column.
    values : ndarray of shape (n,)
        The values. Missing values become NaN.
    categories : sequence of str or None
        The categories. None if the column is not categorical.
    encoding : ColumnEncoding or None
        The encoding. None if the column holds plain numbers or categories.
    """
    if encoding is not None:
        codes = encoding.codes(values)
        return encoding.features(codes), encoding.n_unknown(values, codes)
    if categories is None:
        numbers, unread = numeric_column(name, values)
        return numbers[:, None], int(unread.sum())
    codes = category_codes(values, categories)
    return one_hot(codes, len(categories)), int(np.sum(codes == UNKNOWN_CODE))


def fill_features(
    fill: float | str, categories: Sequence[str] | None, encoding: ColumnEncoding | None
) -> np.ndarray:
    """Return the features that imputation gives to a missing value."""
    if encoding is not None:
        return encoding.features(np.full((1, encoding.n_codes), float(fill)))[0]
    if categories is None:
        return np.array([float(fill)])
    return one_hot(category_codes(np.array([fill], dtype=object), categories), len(categories))[0]


def column_feature_names(
    name: str, categories: Sequence[str] | None, encoding: ColumnEncoding | None
) -> list[str]:
    """Return the names of the features of a column.

    Examples
    --------
    >>> column_feature_names("colour", ["blue", "red", "white"], None)
    ['colour=blue', 'colour=red', 'colour=white']
    """
    if encoding is not None:
        return encoding.feature_names(name)
    return [name] if categories is None else one_hot_names(name, categories)
