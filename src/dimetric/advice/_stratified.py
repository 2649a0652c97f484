"""Stratified random sampling of rows."""

from collections.abc import Callable

import numpy as np

MAX_BINS = 10  # strata of a continuous target
MIN_ROWS_PER_CLASS = 20  # of a class in a sample, so that its recall can be estimated
MIN_ROWS_PER_BIN = 10


def strata(y: np.ndarray, is_regression: bool) -> np.ndarray:
    """Return the stratum of each row: its class, or the interval of quantiles of its number.

    Parameters
    ----------
    y : ndarray
        Classes or numbers.
    is_regression : bool
        Whether y contains numbers to predict rather than classes.

    Examples
    --------
    >>> np.bincount(strata(np.arange(35.0), True))
    array([12, 11, 12])
    """
    if not is_regression:
        return y
    n_bins = int(np.clip(len(y) // MIN_ROWS_PER_BIN, 1, MAX_BINS))
    edges = np.quantile(y, np.arange(1, n_bins) / n_bins)
    return np.searchsorted(np.unique(edges), y, side="right")


def rows_per_class(size: int, n_classes: int, n_folds: int) -> int:
    """Return the smallest number of rows of a class in a sample: 20, or fewer of many classes.

    Parameters
    ----------
    size : int
        Number of rows of the sample.
    n_classes, n_folds : int
        Number of classes, and the smallest possible result.

    Examples
    --------
    >>> rows_per_class(1500, 3, 5), rows_per_class(1500, 200, 5)
    (20, 7)
    """
    return max(n_folds, min(MIN_ROWS_PER_CLASS, size // n_classes))


def stratified_rows(
    rows: np.ndarray,
    y: np.ndarray,
    size: int,
    min_per_class: int | Callable[[int], int],
    rng: np.random.Generator,
) -> np.ndarray:
    """Select about `size` rows at random, in proportion to the class sizes.

    Parameters
    ----------
    rows : ndarray
        Indices of the rows to select from.
    y : ndarray
        Classes of all samples.
    size : int
        Number of rows to select. If `rows` has no more than this, all are returned.
    min_per_class : int or callable
        Smallest number of rows to select from each class. Smaller classes are selected entirely. A
        callable returns this number for the size of a class.
    rng : Generator
        Source of randomness.

    Returns
    -------
    ndarray
        Indices of the selected rows, in ascending order.

    Examples
    --------
    >>> y = np.array([0, 0, 0, 0, 0, 0, 0, 0, 1, 1])
    >>> y[stratified_rows(np.arange(10), y, 4, 2, np.random.default_rng(0))]
    array([0, 0, 0, 1, 1])
    """
    if len(rows) <= size:
        return rows
    selected = []
    for label in np.unique(y[rows]):
        of_class = rows[y[rows] == label]
        n_min = min_per_class if isinstance(min_per_class, int) else min_per_class(len(of_class))
        n_selected = max(n_min, round(size * len(of_class) / len(rows)))
        selected.append(rng.permutation(of_class)[:n_selected])
    return np.sort(np.concatenate(selected))
