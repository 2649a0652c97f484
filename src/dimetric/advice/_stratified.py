"""Stratified random sampling of rows."""

import numpy as np

MAX_BINS = 10  # of numbers
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


def stratified_rows(
    rows: np.ndarray, y: np.ndarray, size: int, min_per_class: int, rng: np.random.Generator
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
    min_per_class : int
        Smallest number of rows to select from each class. Smaller classes are selected entirely.
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
        n_selected = max(min_per_class, round(size * len(of_class) / len(rows)))
        selected.append(rng.permutation(of_class)[:n_selected])
    return np.sort(np.concatenate(selected))
