"""Repeated folds of samples, which keep groups and copies of samples together."""

import warnings
from collections.abc import Iterable
from numbers import Integral
from typing import Any

import numpy as np
from scipy.sparse import issparse
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    RepeatedKFold,
    RepeatedStratifiedKFold,
    StratifiedGroupKFold,
    StratifiedKFold,
    check_cv,
)
from sklearn.utils.multiclass import type_of_target

from dimetric._arrays.namespaces import is_foreign, to_host
from dimetric._arrays.random_state import random_generator
from dimetric._names import listed_classes
from dimetric._warnings import warn
from dimetric.data._columns import columns_of
from dimetric.data._missing import is_missing
from dimetric.selection._equal_rows import equal_rows
from dimetric.supervision._groups import checked_groups

MAX_ASSIGNED_SINGLES = 1000  # samples that are groups of their own, but are assigned like groups

Folds = list[tuple[np.ndarray, np.ndarray]]


def splits(
    X: Any,
    y: Any,
    cv: Any = 5,
    n_repeats: int = 1,
    random_state: Any = None,
    *,
    groups: Any = None,
    stratify: bool = True,
) -> tuple[Folds, np.ndarray]:
    """Return repeated folds, stratified if y holds class labels, and the groups they keep together.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Samples.
    y : array-like of shape (n_samples,), or None
        Class labels, by which folds are stratified, or other targets.
    cv : int, splitter or iterable of (train, test), default=5
        Number of shuffled folds, a splitter of scikit-learn, or the splits themselves. If the
        number of folds exceeds the size of the smallest class (without stratification, the number
        of samples), it is reduced to this size and a warning is issued.
    n_repeats : int, default=1
        Number of times the samples are shuffled and split. Must be 1 if `cv` is not an int.
    random_state : int, RandomState or None, default=None
        Random seed of the shuffling. Ignored if `cv` is not an int.
    groups : array-like of shape (n_samples,), optional
        Group of each sample. Samples of one group are never in both the training and the test part
        of a fold. A splitter given as `cv` receives the groups. By default, copies of a sample form
        a group if `cv` is an int (see :func:`equal_rows`), and a warning reports them.
    stratify : bool, default=True
        Whether integers in y are class labels. Set it to False for regression.

    Returns
    -------
    folds : list of (ndarray, ndarray)
        The training rows and the test rows of each fold.
    groups : ndarray of shape (n_samples,)
        The group of each sample, as an integer. A sample that may be split from all others is a
        group of its own.

    Examples
    --------
    >>> X, y = np.arange(6)[:, None], np.array([0, 0, 0, 1, 1, 1])
    >>> for train, test in splits(X, y, cv=3, random_state=0)[0]:
    ...     print(y[train], y[test])
    [0 0 1 1] [0 1]
    [0 0 1 1] [0 1]
    [0 0 1 1] [0 1]
    >>> folds, _ = splits(X, y, cv=2, groups=[0, 0, 1, 0, 1, 1], random_state=0)
    >>> [test.tolist() for _, test in folds]
    [[2, 4, 5], [0, 1, 3]]
    """
    _check_folds(cv, n_repeats)
    n = n_rows(X)
    if n < 2:
        raise ValueError(f"n_samples={n}, but cross-validation requires at least 2 samples.")
    y = to_host(y) if is_foreign(y) else y
    labels = None if y is None else np.asarray(y).ravel()
    if y is not None and np.shape(y)[:1] != (n,):
        raise ValueError(f"y has shape {np.shape(y)}, but X has {n} samples.")
    codes = None if groups is None else checked_groups(groups, n)
    if not isinstance(cv, Integral):
        groups = None if codes is None else np.asarray(to_host(groups)).ravel()
        return _given_folds(cv, n, labels, groups), np.arange(n) if codes is None else codes
    # Splitters get an int, so a RandomState advances by one number for any number of folds.
    seed = random_generator(random_state).randint(np.iinfo(np.int32).max)
    with np.errstate(invalid="ignore"):  # y may contain NaN
        has_classes = labels is not None and type_of_target(y) in ("binary", "multiclass")
    if labels is None or not (stratify and has_classes):
        labels = None
        cv = _reduced_folds(int(cv), n, "the number of samples")
    else:
        smallest = int(np.min(np.unique(labels, return_counts=True)[1]))
        cv = _reduced_folds(int(cv), smallest, "the size of the smallest class")
    if codes is None:
        codes = _groups_of_copies(X, n, labels, cv)
    else:
        check_groups(codes, labels, cv)
    with warnings.catch_warnings():
        # _reduced_folds has already warned about small classes.
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        return _repeated_folds(codes, labels, cv, n_repeats, seed), codes


def n_rows(X: Any) -> int:
    """Return the number of samples. Raise if X is not an array-like."""
    shape = getattr(X, "shape", None)
    if shape is None and hasattr(X, "__len__"):
        return len(X)
    if not shape:
        raise TypeError(f"X={X!r:.100} must be an array of shape (n_samples, n_features).")
    return int(shape[0])


def _given_folds(cv: Any, n: int, labels: np.ndarray | None, groups: np.ndarray | None) -> Folds:
    """Return the folds of a splitter, or given folds, as row indices."""
    rows = np.arange(n)
    try:
        folds = check_cv(cv).split(np.zeros(n), labels, groups)
        return [(rows[train], rows[test]) for train, test in folds]
    except ValueError as error:
        if groups is None and "'groups' parameter should not be None" in str(error):
            raise ValueError(
                f"cv={cv!r} splits by groups, but groups is None. Pass the group of each sample as "
                "groups, or an int as cv."
            ) from error
        raise


def _repeated_folds(
    groups: np.ndarray, labels: np.ndarray | None, cv: int, n_repeats: int, seed: int
) -> Folds:
    """Return repeated folds that do not split groups, stratified if there are class labels."""
    zeros = np.zeros(len(groups))
    if len(np.unique(groups)) == len(groups):
        repeated = RepeatedKFold if labels is None else RepeatedStratifiedKFold
        folds = repeated(n_splits=cv, n_repeats=n_repeats, random_state=seed)
        return list(folds.split(zeros, labels))
    rng = random_generator(seed)
    return [fold for _ in range(n_repeats) for fold in _group_folds(groups, labels, cv, rng)]


def _group_folds(
    groups: np.ndarray, labels: np.ndarray | None, cv: int, rng: np.random.RandomState
) -> Folds:
    """Return folds that do not split groups.

    scikit-learn assigns groups to folds one by one, which is slow for many groups. So most of the
    samples that are groups of their own are split as if there were no groups.
    """
    alone = np.flatnonzero(np.bincount(groups)[groups] == 1)
    alone = np.sort(rng.permutation(alone)[MAX_ASSIGNED_SINGLES:])
    largest = len(alone)
    if labels is not None and largest:
        largest = int(np.max(np.unique(labels[alone], return_counts=True)[1]))
    alone = alone if largest >= cv else alone[:0]
    others = np.setdiff1d(np.arange(len(groups)), alone)
    splitter, group_splitter = KFold, GroupKFold
    if labels is not None:
        splitter, group_splitter = StratifiedKFold, StratifiedGroupKFold
    options = {"shuffle": True, "random_state": rng.randint(np.iinfo(np.int32).max)}
    y = None if labels is None else labels[others]
    parts = group_splitter(cv, **options).split(others, y, groups[others])
    tests = [others[test] for _, test in parts]
    if len(alone):
        y = None if labels is None else labels[alone]
        parts = splitter(cv, **options).split(alone, y)
        tests = [np.union1d(a, alone[b]) for a, (_, b) in zip(tests, parts, strict=True)]
    return [(np.setdiff1d(np.arange(len(groups)), test), test) for test in tests]


def check_groups(
    groups: np.ndarray, labels: np.ndarray | None, cv: int, name: str = "groups"
) -> None:
    """Raise if there are fewer groups than folds. Warn about classes that have a single group.

    Parameters
    ----------
    groups : ndarray of shape (n_samples,)
        Group of each sample.
    labels : ndarray of shape (n_samples,) or None
        Class labels.
    cv : int
        Number of folds.
    name : str, default="groups"
        Name of the option that sets the groups, used in error messages.
    """
    n_groups = len(np.unique(groups))
    if n_groups < cv:
        values = "value" if n_groups == 1 else "values"
        raise ValueError(
            f"{name} has {n_groups} distinct {values}, fewer than the number of folds, {cv}. Use "
            "fewer folds, or more groups."
        )
    if labels is None:
        return
    classes, codes = np.unique(labels, return_inverse=True)
    pairs = np.unique(np.stack([codes.ravel(), groups]), axis=1)[0]
    alone = classes[np.bincount(pairs) == 1]
    if len(alone) == len(classes):
        raise ValueError(
            f"{name}: each class is in one group only, so a fold never has training samples of the "
            "classes that it tests. Use groups that contain several classes, or more groups."
        )
    if len(alone):
        listed = listed_classes(alone)
        are = f"Class {listed} is" if len(alone) == 1 else f"Classes {listed} are"
        warn(
            f"{are} in one group only. When this group is tested, the training samples do not "
            "contain the class, so all its samples are misclassified."
        )


def _groups_of_copies(X: Any, n: int, labels: np.ndarray | None, cv: int) -> np.ndarray:
    """Return groups that hold copies together, and warn about copies."""
    table = _as_numbers(X)
    found = None if table is None else equal_rows(table, labels, cv)
    if found is None or found.groups is None:
        return np.arange(n)
    others = found.n_repeated - found.n_copies
    coincidences = (
        f" Chance may explain {others} other samples that equal another." if others else ""
    )
    warn(
        f"{found.n_copies} of {n} samples are probably copies of each other. Copies are kept in "
        f"the same fold. To let them be split, pass groups=np.arange(n_samples).{coincidences}"
    )
    return found.groups


def _as_numbers(X: Any) -> Any:
    """Return X as numbers, and categories as codes. Return None for other input."""
    if issparse(X):
        return X if X.ndim == 2 and X.shape[1] and X.dtype.kind in "iufb" else None
    try:
        if hasattr(X, "columns") and hasattr(X, "dtypes"):
            return np.column_stack([_column_numbers(each) for each in columns_of(X).values()])
        values = np.asarray(to_host(X) if is_foreign(X) else X)
        numbers = values.astype(np.float64) if values.dtype.kind != "c" else None
    except (TypeError, ValueError):  # the estimator reports what is wrong with X
        return None
    return numbers if numbers is not None and numbers.ndim == 2 and numbers.shape[1] else None


def _column_numbers(values: np.ndarray) -> np.ndarray:
    """Return numbers unchanged, other values as codes, and missing values as NaN."""
    if values.dtype.kind in "iufb":
        return values.astype(np.float64)
    numbers, known = np.full(len(values), np.nan), ~is_missing(values)
    numbers[known] = np.unique(values[known].astype(str), return_inverse=True)[1]
    return numbers


def _check_folds(cv: Any, n_repeats: Any) -> None:
    """Raise if `cv` or `n_repeats` is invalid."""
    if not isinstance(n_repeats, Integral) or n_repeats < 1:
        raise ValueError(f"n_repeats={n_repeats!r} must be an int of at least 1.")
    is_int = isinstance(cv, Integral)
    is_splitter = hasattr(cv, "split") or isinstance(cv, Iterable)
    if (is_int and cv < 2) or isinstance(cv, str) or not (is_int or is_splitter):
        raise ValueError(
            f"cv={cv!r} must be an int of at least 2, a splitter, or an iterable of (train, test)."
        )
    if not is_int and n_repeats != 1:
        raise ValueError(
            f"n_repeats={n_repeats} requires an int as cv. To repeat a splitter, pass "
            "RepeatedKFold or RepeatedStratifiedKFold as cv."
        )


def _reduced_folds(cv: int, limit: int, limit_name: str) -> int:
    """Return the number of folds, reduced to `limit` but not below 2. Warn if it is reduced."""
    if cv <= limit:
        return cv
    reduced = max(2, limit)
    warn(f"cv={cv} is larger than {limit_name}, {limit}. Using {reduced} folds.")
    return reduced
