"""Draw a part of the samples that is like the whole."""

import numpy as np


def stratified_rows(
    rows: np.ndarray, y: np.ndarray, size: int, min_per_class: int, rng: np.random.Generator
) -> np.ndarray:
    """Draw about `size` rows, classes in proportion, and return them in their order.

    Parameters
    ----------
    rows : ndarray
        Rows to draw from.
    y : ndarray
        Classes of all samples.
    size : int
        How many rows to draw. If there are no more than that, all are returned.
    min_per_class : int
        Draw at least this many rows of each class, if it has them.
    rng : Generator
        Source of randomness.

    Examples
    --------
    >>> y = np.array([0, 0, 0, 0, 0, 0, 0, 0, 1, 1])
    >>> y[stratified_rows(np.arange(10), y, 4, 2, np.random.default_rng(0))]
    array([0, 0, 0, 1, 1])
    """
    if len(rows) <= size:
        return rows
    drawn = []
    for label in np.unique(y[rows]):
        own = rows[y[rows] == label]
        share = max(min_per_class, round(size * len(own) / len(rows)))
        drawn.append(rng.permutation(own)[:share])
    return np.sort(np.concatenate(drawn))
