"""Folds of pairs or triplets for cross-validation."""

import heapq
import warnings
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.utils import check_random_state

SMALL_TEST_SHARE = 0.05  # warn if fewer of the constraints are left for testing


def folds(
    rows: np.ndarray, kinds: np.ndarray, n_splits: int, *, shared: bool, random_state: Any
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the numbers of the rows to train on and to test on, for each fold.

    Parameters
    ----------
    rows : ndarray of shape (m, width)
        Row numbers of the samples of each constraint.
    kinds : ndarray of shape (m,)
        Kinds of constraints, as integers from 0. All folds have similar shares of each kind, as
        far as rows that must stay together allow it.
    n_splits : int
        Number of folds.
    shared : bool
        Whether samples may be in training and test. If not, samples are assigned to folds: linked
        samples stay together unless they are too many, and a row across two folds is left out. If
        so, rows of the same samples stay together.
    random_state : int, RandomState or None
        Seed of the assignment.

    Examples
    --------
    >>> rows = np.array([[0, 1], [2, 3], [0, 1]])
    >>> folds(rows, np.zeros(3), 2, shared=True, random_state=0)
    [(array([1]), array([0, 2])), (array([0, 2]), array([1]))]
    """
    if not 2 <= n_splits <= len(rows):
        raise ValueError(f"n_splits={n_splits} must be at least 2 and at most {len(rows)}.")
    rng = check_random_state(random_state)
    if shared:
        group = _same_samples(rows)
        fold_of = _assigned(*_size_and_kind(group, kinds), n_splits, rng)[group][:, None]
    else:
        rows = np.unique(rows, return_inverse=True)[1].reshape(
            rows.shape
        )  # only samples that occur
        fold_of = _folds_of_samples(rows, kinds, n_splits, rng)[rows]
    parts = []
    for k in range(n_splits):
        inside = fold_of == k
        parts.append((np.flatnonzero(~inside.any(axis=1)), np.flatnonzero(inside.all(axis=1))))
    _check_folds(parts, len(rows), shared=shared)
    return parts


def _same_samples(rows: np.ndarray) -> np.ndarray:
    """Return a number for each row; rows of the same samples, in any order, have the same."""
    first, *others = np.sort(rows, axis=1).T
    for column in others:
        first = np.unique(first * (rows.max() + 1) + column, return_inverse=True)[1]
    return first


def _folds_of_samples(
    rows: np.ndarray, kinds: np.ndarray, n_splits: int, rng: np.random.RandomState
) -> np.ndarray:
    """Return a fold for every sample; linked samples share one, unless they are too many."""
    n = int(rows.max()) + 1
    i, j = np.repeat(rows[:, 0], rows.shape[1] - 1), rows[:, 1:].ravel()
    links = sparse.coo_array((np.ones(len(i)), (i, j)), shape=(n, n))
    group = connected_components(links, directed=False)[1]
    size, kind = _size_and_kind(group[rows[:, 0]], kinds)
    large = np.flatnonzero(size[group] > -(-len(rows) // n_splits))
    group[large] = len(size) + np.arange(len(large))  # each sample by itself
    size = np.append(size, np.ones(len(large)))
    kind = np.append(kind, np.zeros(len(large)))
    there, group = np.unique(group, return_inverse=True)
    return _assigned(size[there], kind[there], n_splits, rng)[group]


def _size_and_kind(group: np.ndarray, kinds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the number of rows, and the mean of their kinds, for each group."""
    size = np.bincount(group)
    return size, np.bincount(group, kinds) / size


def _assigned(
    size: np.ndarray, kind: np.ndarray, n_splits: int, rng: np.random.RandomState
) -> np.ndarray:
    """Return a fold for each group.

    The largest groups come first, groups of equal size by kind. Each goes to the fold with the
    fewest rows so far.
    """
    shuffled = rng.permutation(len(size))
    order = shuffled[np.lexsort((kind[shuffled], -size[shuffled]))]
    filled, chosen = [(0, k) for k in range(n_splits)], []
    for more in size[order].tolist():
        n, k = filled[0]
        chosen.append(k)
        heapq.heapreplace(filled, (n + more, k))
    fold = np.empty(len(size), dtype=np.int64)
    fold[order] = chosen
    return fold


def _check_folds(parts: list[tuple[np.ndarray, np.ndarray]], n_rows: int, *, shared: bool) -> None:
    """Raise if a fold is empty; warn if nearly all rows are across folds."""
    why = (
        "samples are linked too closely. Take fewer folds, or let them share samples (shared=True)"
    )
    if shared:
        why = "too few are different. Take fewer folds"
    for k, (train, test) in enumerate(parts, start=1):
        if not len(train) or not len(test):
            lacks = "judge by" if len(train) else "learn from"
            raise ValueError(f"Fold {k} of {len(parts)} has nothing to {lacks}: {why}.")
    n_tested = sum(len(test) for _, test in parts)
    if n_tested < SMALL_TEST_SHARE * n_rows:
        warnings.warn(
            f"Folds that share no sample leave {n_tested} of {n_rows} to judge by: the others "
            "link samples of several folds. Take fewer folds, or let them share samples "
            "(shared=True).",
            stacklevel=4,
        )
