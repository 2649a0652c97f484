"""Training sets of increasing size, each of which is part of the next."""

from collections.abc import Iterable
from numbers import Integral

import numpy as np

from dimetric.selection._splits import Folds

__all__ = ["MIN_MEMBERS", "nested_order", "nested_subsets", "training_sizes"]

SIZE_RATIO = 16  # of the largest and the smallest number of training samples
MIN_SIZES = 3  # a power law has three parameters
MIN_MEMBERS = 2  # of each class among the training samples, where possible


def training_sizes(sizes: int | Iterable[float], largest: int, smallest: int) -> np.ndarray:
    """Return numbers of training samples, in ascending order.

    Parameters
    ----------
    sizes : int or iterable of numbers
        The number of sizes, or the sizes themselves, as in :func:`learning_curve`.
    largest : int
        Number of training samples of a fold.
    smallest : int
        Smallest size, if `sizes` is an int.

    Examples
    --------
    >>> training_sizes(5, 800, 10), training_sizes([0.1, 0.5, 1.0], 800, 10)
    (array([ 50, 100, 200, 400, 800]), array([ 80, 400, 800]))
    """
    if isinstance(sizes, int | Integral):
        start = max(min(smallest, largest // 2), largest / SIZE_RATIO)
        found = np.unique(np.geomspace(start, largest, max(0, int(sizes))).round().astype(int))
    else:
        sizes = list(sizes)
        found = _given_sizes(sizes, largest)
    if len(found) < MIN_SIZES or found[0] < 2:
        raise ValueError(
            f"sizes={sizes!r} gives the training sizes {found.tolist()}, but at least {MIN_SIZES} "
            f"different sizes from 2 to {largest} are needed. Set other sizes, or add samples."
        )
    if found[-1] > largest:
        raise ValueError(
            f"sizes={sizes!r} contains {found[-1]}, but the training part of a fold has only "
            f"{largest} samples. Set smaller sizes."
        )
    return found


def _given_sizes(sizes: list[float], largest: int) -> np.ndarray:
    """Return numbers of training samples that are given as numbers, or as fractions."""
    try:
        given = np.array(sizes, dtype=np.float64)
    except (TypeError, ValueError):
        given = np.array([np.nan])
    if given.ndim != 1 or not np.all(np.isfinite(given)):
        raise ValueError(f"sizes={sizes!r} must contain finite numbers.")
    are_ints = all(isinstance(each, Integral) for each in sizes)
    if not are_ints and given.max() <= 1:
        return np.unique((largest * given).round().astype(int))
    if np.any(given != given.round()):
        raise ValueError(
            f"sizes={sizes!r} must contain whole numbers of training samples, or only fractions of "
            "at most 1."
        )
    return np.unique(given.astype(int))


def nested_subsets(
    folds: Folds,
    sizes: np.ndarray,
    labels: np.ndarray | None,
    groups: np.ndarray,
    rng: np.random.RandomState,
) -> Folds:
    """Return the training and test rows of all fits: all folds of the first size come first.

    Parameters
    ----------
    folds : list of (ndarray, ndarray)
        The training rows and the test rows of each fold.
    sizes : ndarray of int
        Numbers of training rows.
    labels, groups, rng
        As in :func:`nested_order`, for all rows.
    """
    orders = [
        train[nested_order(None if labels is None else labels[train], groups[train], rng)]
        for train, _ in folds
    ]
    return [
        (order[:size], test)
        for size in sizes
        for order, (_, test) in zip(orders, folds, strict=True)
    ]


def nested_order(
    labels: np.ndarray | None, groups: np.ndarray, rng: np.random.RandomState
) -> np.ndarray:
    """Return a random order of rows whose first rows are a stratified sample for any number.

    Two groups of each class come first. Among the next rows, each class has about its overall
    frequency. Rows of one group stand together.

    Parameters
    ----------
    labels : ndarray of shape (n_rows,) or None
        Classes. A group counts for its most frequent class. None means that rows are not
        stratified.
    groups : ndarray of shape (n_rows,)
        Group of each row.
    rng : RandomState
        Source of randomness.

    Examples
    --------
    >>> y = np.array([0] * 12 + [1] * 6)
    >>> y[nested_order(y, np.arange(18), np.random.RandomState(0))]
    array([0, 1, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 1, 0])
    """
    _, units = np.unique(groups, return_inverse=True)
    n_units = int(units.max()) + 1
    strata = np.zeros(n_units, dtype=np.int64)
    if labels is not None:
        _, codes = np.unique(labels, return_inverse=True)
        counts = np.zeros((n_units, int(codes.max()) + 1), dtype=np.int64)
        np.add.at(counts, (units, codes.ravel()), 1)
        strata = counts.argmax(axis=1)
    position = np.empty(n_units)
    for stratum in np.unique(strata):
        members = rng.permutation(np.flatnonzero(strata == stratum))
        place = np.arange(len(members)) + rng.uniform(size=len(members))
        position[members] = place / len(members)
        position[members[:MIN_MEMBERS]] -= 1.0 if labels is not None else 0.0
    # The last key shuffles the rows within a group.
    return np.lexsort((rng.uniform(size=len(units)), position[units]))
