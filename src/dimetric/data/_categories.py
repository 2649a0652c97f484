"""Categorical columns: their categories and their one-hot features."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from dimetric.data._missing import is_missing

MISSING_CODE, UNKNOWN_CODE = -1, -2  # category codes of missing values and unknown categories


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
