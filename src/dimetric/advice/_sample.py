"""A part of the samples that is like the whole."""

import numpy as np


def drawn(
    rows: np.ndarray, y: np.ndarray, size: int, least: int, rng: np.random.Generator
) -> np.ndarray:
    """Return about so many rows, in their order: classes in proportion, but no fewer than some.

    Parameters
    ----------
    rows : ndarray
        Rows to draw from.
    y : ndarray
        Classes of all samples.
    size : int
        How many; if there are no more, all are returned.
    least : int
        How many of each class, if it has them.
    rng : Generator
        Of the draws.

    Examples
    --------
    >>> y = np.array([0, 0, 0, 0, 0, 0, 0, 0, 1, 1])
    >>> y[drawn(np.arange(10), y, 4, 2, np.random.default_rng(0))]
    array([0, 0, 0, 1, 1])
    """
    if len(rows) <= size:
        return rows
    found = []
    for label in np.unique(y[rows]):
        own = rows[y[rows] == label]
        share = max(least, round(size * len(own) / len(rows)))
        found.append(rng.permutation(own)[:share])
    return np.sort(np.concatenate(found))
