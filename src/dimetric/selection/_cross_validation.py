"""Cross-validation of estimators, and of what learners report about their fits."""

import warnings
from collections.abc import Iterable
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np
from sklearn import model_selection
from sklearn.base import is_regressor
from sklearn.model_selection import RepeatedKFold, RepeatedStratifiedKFold, check_cv
from sklearn.utils import check_random_state
from sklearn.utils.multiclass import type_of_target

from dimetric._arrays.namespaces import is_foreign, to_host
from dimetric.classify._neighbors import NeighborsEstimator
from dimetric.learners._inner_learner import last_step

__all__ = ["CrossValidation", "cross_validate", "metadata_cross_validate", "splits"]


class CrossValidation(NamedTuple):
    """Scores of an estimator in each fold.

    Attributes
    ----------
    train_score, test_score : ndarray of shape (n_splits,)
        Scores on the training and on the test samples. For nearest neighbours the score on the
        training samples is leave-one-out.
    fit_time : ndarray of shape (n_splits,)
        Seconds that each fit took.
    """

    train_score: np.ndarray
    test_score: np.ndarray
    fit_time: np.ndarray


def cross_validate(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    cv: Any = 5,
    n_repeats: int = 1,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> CrossValidation:
    """Return the scores of a classifier or regressor in repeated folds, stratified by class.

    Parameters
    ----------
    estimator : classifier or regressor
        Copies are fitted.
    X, y : array-like of shape (n_samples, n_features) and (n_samples,)
        Samples and their classes or targets.
    cv : int, splitter or iterable of (train, test), default=5
        Number of shuffled folds, or a splitter of scikit-learn, or the splits themselves. If the
        smallest class has fewer members than folds, there are fewer folds, with a warning.
    n_repeats : int, default=1
        How often the samples are split anew. Must be 1 if `cv` is not an int.
    random_state : int, RandomState or None, default=None
        Seed of the shuffling.
    n_jobs : int or None, default=None
        Number of processes, as joblib counts them.

    Examples
    --------
    >>> from dimetric import KNNClassifier
    >>> from sklearn.datasets import load_iris
    >>> found = cross_validate(KNNClassifier(), *load_iris(return_X_y=True), random_state=0)
    >>> [round(float(scores.mean()), 2) for scores in (found.train_score, found.test_score)]
    [0.96, 0.96]
    """
    require(estimator, "score", "estimator", "Classifiers have; give a learner to KNNClassifier.")
    folds = splits(X, y, cv, n_repeats, random_state, stratify=not is_regressor(estimator))
    found = model_selection.cross_validate(
        estimator,
        X,
        y,
        cv=folds,
        n_jobs=n_jobs,
        scoring=own_score,
        error_score="raise",
        return_train_score=True,
        return_estimator=True,
    )
    train = found["train_score"]
    if isinstance(last_step(estimator), NeighborsEstimator):
        train = np.array([last_step(each).score() for each in found["estimator"]])
    return CrossValidation(train, found["test_score"], found["fit_time"])


def metadata_cross_validate(
    learner: Any,
    X: Any,
    y: Any = None,
    *,
    cv: Any = 5,
    n_repeats: int = 1,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> dict[str, np.ndarray]:
    """Return the metadata of a learner after a fit to the training samples of each fold.

    Parameters
    ----------
    learner : learner
        Copies are fitted.
    X : array-like of shape (n_samples, n_features)
        Samples.
    y : array-like of shape (n_samples,), optional
        Labels, if the learner needs them.
    cv, n_repeats, random_state, n_jobs
        As in :func:`cross_validate`.

    Returns
    -------
    metadata : dict of str to ndarray of shape (n_splits,)
        An array for each key: of numbers, or of objects.

    Examples
    --------
    >>> from dimetric import NCA
    >>> from sklearn.datasets import load_iris
    >>> found = metadata_cross_validate(NCA(), *load_iris(return_X_y=True), random_state=0)
    >>> found["final_objective"].shape, round(float(found["final_objective"].mean()), 1)
    ((5,), 1.0)
    """
    require(last_step(learner), "metadata", "learner", "Learners of dimetric have.")
    folds = splits(X, y, cv, n_repeats, random_state)
    found = model_selection.cross_validate(
        learner,
        X,
        y,
        cv=folds,
        n_jobs=n_jobs,
        scoring=nothing,
        error_score="raise",
        return_estimator=True,
    )
    facts = [last_step(each).metadata() for each in found["estimator"]]
    return {key: _together([each.get(key) for each in facts]) for key in facts[0]}


def splits(
    X: Any,
    y: Any,
    cv: Any = 5,
    n_repeats: int = 1,
    random_state: Any = None,
    *,
    stratify: bool = True,
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the training and test rows of repeated folds, stratified if y holds classes.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
        Samples.
    y : array-like of shape (n_samples,), or None
        Classes, or other targets, which are not stratified.
    cv : int, splitter or iterable of (train, test), default=5
        Number of shuffled folds, or a splitter of scikit-learn, or the splits themselves. An int
        is reduced, with a warning, to the size of the smallest class, or to the number of
        samples.
    n_repeats : int, default=1
        How often the samples are split anew. Must be 1 if `cv` is not an int.
    random_state : int, RandomState or None, default=None
        Seed of the shuffling. Not used if `cv` is not an int.
    stratify : bool, default=True
        Whether whole numbers in y are classes.

    Examples
    --------
    >>> X, y = np.zeros((6, 1)), np.array([0, 0, 0, 1, 1, 1])
    >>> for train, test in splits(X, y, cv=3, random_state=0):
    ...     print(y[train], y[test])
    [0 0 1 1] [0 1]
    [0 0 1 1] [0 1]
    [0 0 1 1] [0 1]
    """
    _check_folds(cv, n_repeats)
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    if n < 2:
        raise ValueError(f"There are {n} samples: folds need 2 at least.")
    y = to_host(y) if is_foreign(y) else y
    if not isinstance(cv, Integral):
        rows, labels = np.arange(n), None if y is None else np.asarray(y).ravel()
        folds = check_cv(cv).split(np.zeros(n), labels)
        return [(rows[train], rows[test]) for train, test in folds]
    # A fixed seed: folds are generated more than once, and must be the same each time.
    seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)
    if not stratify or y is None or type_of_target(y) not in ("binary", "multiclass"):
        cv = _fewer(int(cv), n, f"there are samples, {n}")
        folds = RepeatedKFold(n_splits=cv, n_repeats=n_repeats, random_state=seed)
        return list(folds.split(np.zeros(n)))
    labels = np.asarray(y).ravel()
    smallest = int(np.min(np.unique(labels, return_counts=True)[1]))
    cv = _fewer(int(cv), smallest, f"the smallest class has members, {smallest}")
    folds = RepeatedStratifiedKFold(n_splits=cv, n_repeats=n_repeats, random_state=seed)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)  # see _fewer
        return list(folds.split(np.zeros(n), labels))


def _check_folds(cv: Any, n_repeats: Any) -> None:
    """Raise unless these can be the folds and their number of repeats."""
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
            f"n_repeats={n_repeats} needs an int as cv; for splitters, use RepeatedKFold or "
            "RepeatedStratifiedKFold."
        )


def _fewer(cv: int, most: int, what: str) -> int:
    if cv <= most:
        return cv
    fewer = max(2, most)
    warnings.warn(f"cv={cv} is more than {what}: there are {fewer} folds.", stacklevel=4)
    return fewer


def own_score(model: Any, X: Any, y: Any = None) -> float:
    """Return the own score of a fitted model."""
    return model.score(X, y)


def nothing(model: Any, X: Any, y: Any = None) -> float:
    """Return 0, where a search needs a score but none is used."""
    return 0.0


def require(model: Any, method: str, name: str, remedy: str) -> None:
    """Raise an error unless a model has a method."""
    if not hasattr(model, method):
        raise ValueError(f"{name}={model!r} has no method {method}. {remedy}")


def _together(values: list[Any]) -> np.ndarray:
    """Return an array of numbers, or of objects if some value is not a number."""
    if all(isinstance(each, Real | np.bool_) for each in values):
        return np.array(values)
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found
