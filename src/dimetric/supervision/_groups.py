"""Groups of samples that must not be split between training and test samples."""

from typing import Any

import numpy as np

from dimetric._arrays.namespaces import to_host


def checked_groups(groups: Any, n_samples: int, name: str = "groups") -> np.ndarray:
    """Return the group of each sample as an integer from 0, in the order of their first samples.

    Parameters
    ----------
    groups : array-like of shape (n_samples,)
        The group of each sample: numbers, strings or other hashable values.
    n_samples : int
        Number of samples.
    name : str, default="groups"
        Name of the argument in error messages.

    Examples
    --------
    >>> checked_groups(["b", "a", "b"], 3)
    array([0, 1, 0])
    """
    values = group_values(groups, n_samples, name)
    n_missing = _n_missing(values)
    if n_missing:
        raise ValueError(
            f"{name} has missing values in {n_missing} of {n_samples} samples. Give each of these "
            "samples a group, or drop them."
        )
    if values.dtype.kind != "O":
        _, first, index = np.unique(values, return_index=True, return_inverse=True)
        return np.argsort(np.argsort(first))[index]
    numbers: dict[Any, int] = {}
    return np.array([numbers.setdefault(each, len(numbers)) for each in values], dtype=np.int64)


def group_values(groups: Any, n_samples: int, name: str = "groups") -> np.ndarray:
    """Return groups as an array of shape (n_samples,). Raise if they do not have this shape."""
    values: np.ndarray = (
        groups.to_numpy() if hasattr(groups, "to_numpy") else np.asarray(to_host(groups))
    )
    if values.ndim == 2 and values.shape[1] == 1:
        values = values.ravel()
    if values.ndim != 1 or len(values) != n_samples:
        raise ValueError(
            f"{name} has shape {values.shape}, but must have shape ({n_samples},): one group for "
            "each sample."
        )
    return values


def _n_missing(values: np.ndarray) -> int:
    """Return how many values are None, NaN, NaT or pandas.NA."""
    if values.dtype.kind != "O":
        return int(np.sum(values != values))
    # The truth value of a comparison with pandas.NA is undefined, so its type is checked.
    return sum(
        each is None or type(each).__name__ == "NAType" or bool(each != each) for each in values
    )
