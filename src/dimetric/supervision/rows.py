"""What pairs and triplets share: checks of row numbers, their order, and folds without leaks."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from sklearn.utils import check_random_state

from dimetric._xp import to_host


def checked_rows(rows: Any, name: str, width: int, n_samples: int | None) -> np.ndarray:
    """Return row numbers of samples as integers of shape (m, width), read-only.

    Parameters
    ----------
    rows : array-like of shape (m, width)
        Row numbers.
    name : str
        What the rows are called in an error.
    width : int
        2 for pairs, 3 for triplets.
    n_samples : int or None
        Number of samples, where it is known.

    Examples
    --------
    >>> checked_rows([[0, 1], [2, 2]], "similar", 2, None)
    Traceback (most recent call last):
    ...
    ValueError: similar[1] = [2, 2] names a sample twice.
    """
    given = np.asarray(to_host(rows))
    if given.size == 0:
        given = np.empty((0, width), dtype=np.int64)
    if given.ndim != 2 or given.shape[1] != width or given.dtype.kind not in "iu":
        raise ValueError(
            f"{name} has shape {given.shape} and dtype {given.dtype}; it must hold row numbers: "
            f"integers of shape (m, {width})."
        )
    given = given.astype(np.int64)
    bound = np.iinfo(np.int64).max if n_samples is None else n_samples
    outside = np.any((given < 0) | (given >= bound), axis=1)
    where = "of no sample" if n_samples is None else f"outside of the {n_samples} samples"
    _refuse(given, outside, name, f"names a row {where}")
    ordered = np.sort(given, axis=1)
    twice = np.any(ordered[:, 1:] == ordered[:, :-1], axis=1)
    _refuse(given, twice, name, "names a sample twice")
    given.flags.writeable = False
    return given


def _refuse(rows: np.ndarray, wrong: np.ndarray, name: str, why: str) -> None:
    if wrong.any():
        first = int(np.argmax(wrong))
        raise ValueError(f"{name}[{first}] = {rows[first].tolist()} {why}.")


def checked_n_samples(rows: np.ndarray, n_samples: int | None, n_rows: int, name: str) -> None:
    """Raise unless row numbers go with a set of `n_rows` samples."""
    if n_samples is not None and n_samples != n_rows:
        raise ValueError(
            f"{name} are of {n_samples} samples, but X has {n_rows}: row numbers would name other "
            "samples than were meant. To cross-validate, split the pairs and leave X whole "
            "(cross_validate_pairs)."
        )
    outside = np.flatnonzero((rows >= n_rows).any(axis=1))
    if len(outside):
        raise ValueError(
            f"{name}[{outside[0]}] = {rows[outside[0]].tolist()} names a row outside X, which has "
            f"{n_rows} samples."
        )


def first_of_each(rows: np.ndarray) -> np.ndarray:
    """Return which rows are met for the first time.

    Examples
    --------
    >>> first_of_each(np.array([[3, 4], [0, 1], [3, 4]]))
    array([0, 1])
    """
    return np.sort(np.unique(rows, axis=0, return_index=True)[1])


def same_samples(a: Any, b: Any) -> tuple[int | None, Any, int]:
    """Return n_samples and points of a union, and by how much the rows of b move.

    Two sets of given vectors are put one after the other, unless they are the same object.
    """
    if (a.points is None) != (b.points is None):
        raise ValueError("One holds vectors and the other row numbers: they have no samples alike.")
    if a.points is not None and a.points is not b.points:
        points = np.concatenate([to_host(a.points), to_host(b.points)])
        return len(points), points, len(a.points)
    if None not in (a.n_samples, b.n_samples) and a.n_samples != b.n_samples:
        raise ValueError(f"One is of {a.n_samples} samples and the other of {b.n_samples}.")
    return (b.n_samples if a.n_samples is None else a.n_samples), a.points, 0


def folds(
    rows: np.ndarray, kinds: np.ndarray, n_splits: int, *, shared: bool, random_state: Any
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield what to train on and what to test on, as numbers of rows.

    Parameters
    ----------
    rows : ndarray of shape (m, width)
        Row numbers of samples.
    kinds : ndarray of shape (m,)
        Kinds of rows, as integers from 0, that are dealt out evenly.
    n_splits : int
        Number of folds.
    shared : bool
        Whether samples may be met both in training and in test. If not, samples are dealt out:
        those that rows link stay together while they are few enough, and a row that goes across
        two folds is left out.
    random_state : int, RandomState or None
        Of the dealing out.
    """
    if not 2 <= n_splits <= len(rows):
        raise ValueError(f"n_splits={n_splits} must be at least 2 and at most {len(rows)}.")
    rng = check_random_state(random_state)
    if shared:
        order = rng.permutation(len(rows))
        order = order[np.argsort(kinds[order], kind="stable")]
        fold = np.empty(len(rows), dtype=np.int64)
        fold[order] = np.arange(len(rows)) % n_splits
        for k in range(n_splits):
            yield np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        return
    fold_of = _folds_of_samples(rows, n_splits, rng)[rows]
    for k in range(n_splits):
        inside = fold_of == k
        yield np.flatnonzero(~inside.any(axis=1)), np.flatnonzero(inside.all(axis=1))


def _folds_of_samples(rows: np.ndarray, n_splits: int, rng: np.random.RandomState) -> np.ndarray:
    """Return a fold for every sample: linked samples share one, unless they are too many."""
    n = int(rows.max()) + 1
    i, j = np.repeat(rows[:, 0], rows.shape[1] - 1), rows[:, 1:].ravel()
    links = sparse.coo_array((np.ones(len(i)), (i, j)), shape=(n, n))
    group = connected_components(links, directed=False)[1]
    sizes = np.bincount(group[rows[:, 0]], minlength=group.max() + 1)  # in rows
    large = np.flatnonzero(sizes[group] > -(-len(rows) // n_splits))
    group[large] = group.max() + 1 + np.arange(len(large))  # each sample for itself
    _, group = np.unique(group, return_inverse=True)
    weight = np.bincount(group[rows[:, 0]], minlength=group.max() + 1)
    weight[group[large]] = 1
    fold_of, filled = np.empty(len(weight), dtype=np.int64), np.zeros(n_splits)
    shuffled = rng.permutation(len(weight))
    for g in shuffled[np.argsort(-weight[shuffled], kind="stable")]:
        k = int(np.argmin(filled))
        fold_of[g] = k
        filled[k] += weight[g]
    return fold_of[group]
