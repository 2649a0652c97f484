"""Folds of pairs or triplets for cross-validation."""

import heapq
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from dimetric._arrays.random_state import random_generator
from dimetric._warnings import warn

MIN_TEST_FRACTION = 0.05  # warn if a smaller fraction of the constraints is left for testing


def folds(
    rows: np.ndarray, kinds: np.ndarray, n_splits: int, *, share_samples: bool, random_state: Any
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the indices of the training and test constraints for each fold.

    Parameters
    ----------
    rows : ndarray of shape (m, width)
        Row indices of the samples of each constraint, or the groups of these samples.
    kinds : ndarray of shape (m,)
        Kinds of the constraints as integers from 0. Each kind is spread evenly over the folds, as
        far as possible.
    n_splits : int
        Number of folds.
    share_samples : bool
        Whether a sample may occur in both training and test constraints. If True, constraints on
        the same samples are in the same fold. If False, samples are assigned to folds, and
        constraints across folds are left out. Samples that share a constraint are in the same
        fold, unless there are too many of them.
    random_state : int, RandomState or None
        Random seed of the assignment.

    Examples
    --------
    >>> rows = np.array([[0, 1], [2, 3], [0, 1]])
    >>> folds(rows, np.zeros(3), 2, share_samples=True, random_state=0)
    [(array([1]), array([0, 2])), (array([0, 2]), array([1]))]
    """
    if not 2 <= n_splits <= len(rows):
        raise ValueError(
            f"n_splits={n_splits} must be between 2 and the number of constraints, {len(rows)}."
        )
    rng = random_generator(random_state)
    if share_samples:
        group = _groups_by_samples(rows)
        fold_of = _assign_folds(*_size_and_kind(group, kinds), n_splits, rng)[group][:, None]
    else:
        # Number only the samples that occur.
        rows = np.unique(rows, return_inverse=True)[1].reshape(rows.shape)
        fold_of = _folds_of_samples(rows, kinds, n_splits, rng)[rows]
    parts = []
    for k in range(n_splits):
        inside = fold_of == k
        parts.append((np.flatnonzero(~inside.any(axis=1)), np.flatnonzero(inside.all(axis=1))))
    _check_folds(parts, len(rows), share_samples=share_samples)
    return parts


def _groups_by_samples(rows: np.ndarray) -> np.ndarray:
    """Return a group for each constraint, the same for constraints on the same samples."""
    first, *others = np.sort(rows, axis=1).T
    for column in others:
        first = np.unique(first * (rows.max() + 1) + column, return_inverse=True)[1]
    return first


def _folds_of_samples(
    rows: np.ndarray, kinds: np.ndarray, n_splits: int, rng: np.random.RandomState
) -> np.ndarray:
    """Return a fold for every sample, the same for linked samples unless there are too many."""
    n = int(rows.max()) + 1
    i, j = np.repeat(rows[:, 0], rows.shape[1] - 1), rows[:, 1:].ravel()
    links = sparse.coo_array((np.ones(len(i)), (i, j)), shape=(n, n))
    group = connected_components(links, directed=False)[1]
    size, kind = _size_and_kind(group[rows[:, 0]], kinds)
    large = np.flatnonzero(size[group] > -(-len(rows) // n_splits))
    group[large] = len(size) + np.arange(len(large))  # a group of its own for each sample
    size = np.append(size, np.ones(len(large)))
    kind = np.append(kind, np.zeros(len(large)))
    occurring, group = np.unique(group, return_inverse=True)
    return _assign_folds(size[occurring], kind[occurring], n_splits, rng)[group]


def _size_and_kind(group: np.ndarray, kinds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the number of constraints and the mean kind of each group."""
    size = np.bincount(group)
    return size, np.bincount(group, kinds) / size


def _assign_folds(
    size: np.ndarray, kind: np.ndarray, n_splits: int, rng: np.random.RandomState
) -> np.ndarray:
    """Return a fold for each group.

    Groups are assigned in order of decreasing size, and of kind among groups of equal size. Each
    group goes to the fold with the fewest constraints so far.
    """
    shuffled = rng.permutation(len(size))
    order = shuffled[np.lexsort((kind[shuffled], -size[shuffled]))]
    filled, chosen = [(0, k) for k in range(n_splits)], []
    for group_size in size[order].tolist():
        n, k = filled[0]
        chosen.append(k)
        heapq.heapreplace(filled, (n + group_size, k))
    fold = np.empty(len(size), dtype=np.int64)
    fold[order] = chosen
    return fold


def _check_folds(
    parts: list[tuple[np.ndarray, np.ndarray]], n_constraints: int, *, share_samples: bool
) -> None:
    """Raise if a fold has no training or test constraints, and warn if few are left for testing."""
    reason = "too many constraints share samples. Use fewer folds, or set share_samples=True"
    if share_samples:
        reason = "too few constraints are on different samples. Use fewer folds"
    for k, (train, test) in enumerate(parts, start=1):
        if not len(train) or not len(test):
            missing = "test" if len(train) else "training"
            raise ValueError(f"Fold {k} of {len(parts)} has no {missing} constraints: {reason}.")
    n_tested = sum(len(test) for _, test in parts)
    if n_tested < MIN_TEST_FRACTION * n_constraints:
        warn(
            f"Only {n_tested} of {n_constraints} constraints are used for testing, because the "
            "others link samples of different folds. Use fewer folds, or set share_samples=True.",
        )
