"""Divide the rows of a table between the race and the final."""

import warnings
from contextlib import suppress

import numpy as np

from dimetric.advice._seeds import MAX_SEED
from dimetric.advice._settings import SETTINGS
from dimetric.advice._stratified import rows_per_class, strata, stratified_rows
from dimetric.selection._splits import check_groups, splits

__all__ = ["split_rows"]


def split_rows(
    X: np.ndarray,
    y: np.ndarray,
    max_rows: int,
    cv: int,
    seed: int,
    groups: np.ndarray | None = None,
    *,
    is_regression: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the rows of the race and of the final.

    They are disjoint, and no group has rows in both, if there are enough rows and groups. Both have
    at least 20 rows of each class, or half of its rows. A class whose half has fewer rows than
    there are folds is in the race only.

    Parameters
    ----------
    X, y : ndarray of shape (n_samples, n_features) and (n_samples,)
        Samples, and their classes or numbers.
    max_rows : int
        Largest number of rows of the race, and of the final.
    cv : int
        Number of folds that both parts are split into.
    seed : int
        Seed of the selection.
    groups : ndarray of shape (n_samples,), optional
        Group of each sample.
    is_regression : bool, default=False
        Whether y contains numbers to predict rather than classes.
    """
    n, rows = len(X), np.arange(len(X))
    if n < SETTINGS.min_rows_to_split:
        return rows, rows
    max_rows_in_memory = max(SETTINGS.min_race_rows, SETTINGS.max_race_values // X.shape[1])
    max_rows = min(max_rows, max_rows_in_memory, n // 2)
    rng = np.random.default_rng(seed)
    if groups is not None:
        return _split_groups(groups, y, max_rows, cv, rng, is_regression)
    by = strata(y, is_regression)
    least = _least(by, max_rows, cv, is_regression)

    def for_race(n_members: int) -> int:
        return n_members if n_members < 2 * cv else min(least, n_members // 2)

    race = stratified_rows(rows, by, max_rows, for_race, rng)
    unused = np.setdiff1d(rows, race)
    if not is_regression:
        classes, counts = np.unique(y[unused], return_counts=True)
        unused = unused[np.isin(y[unused], classes[counts >= cv])]
        if len(np.unique(y[unused])) < 2:
            return race, race
    return race, stratified_rows(unused, by, max_rows, least, rng)


def _least(by: np.ndarray, size: int, cv: int, is_regression: bool) -> int:
    """Return how many rows of each class a sample has at least, if the class has that many."""
    return cv if is_regression else rows_per_class(size, len(np.unique(by)), cv)


def _split_groups(
    groups: np.ndarray,
    y: np.ndarray,
    max_rows: int,
    cv: int,
    rng: np.random.Generator,
    is_regression: bool,
) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of the race and of the final that have no group in common, if possible."""
    by = strata(y, is_regression)
    labels = None if is_regression else y
    least = _least(by, max_rows, cv, is_regression)
    sample = stratified_rows(np.arange(len(y)), by, 2 * max_rows, 2 * least, rng)
    seed = int(rng.integers(MAX_SEED))
    with suppress(ValueError):  # each class has a single group
        sampled_labels = None if labels is None else labels[sample]
        folds, _ = splits(sample, sampled_labels, 2, random_state=seed, groups=groups[sample])
        race, final = folds[0]
        halves = sample[race], sample[final]
        if all(_can_be_split(groups, labels, half, cv) for half in halves):
            return halves
    sample = stratified_rows(np.arange(len(y)), by, max_rows, least, rng)
    if len(np.unique(groups[sample])) < cv:  # the sample has left out small groups
        sample = np.union1d(sample, np.unique(groups, return_index=True)[1])
    return sample, sample


def _can_be_split(groups: np.ndarray, labels: np.ndarray | None, rows: np.ndarray, cv: int) -> bool:
    """Return whether rows have enough groups, and enough rows of each class, for the folds."""
    if labels is None:
        return len(np.unique(groups[rows])) >= cv
    classes, counts = np.unique(labels[rows], return_counts=True)
    has_all_classes = len(classes) == len(np.unique(labels))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            check_groups(groups[rows], labels[rows], cv)
        except (ValueError, UserWarning):
            return False
    return has_all_classes and int(counts.min()) >= cv
