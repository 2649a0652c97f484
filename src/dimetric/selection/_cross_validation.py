"""Cross-validation of estimators, and of the metadata of learners."""

from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from sklearn import model_selection
from sklearn.base import is_regressor

from dimetric._arguments import check_types
from dimetric._processes import safe_path_for_children
from dimetric.classify._neighbors import NeighborsEstimator
from dimetric.learners._inner_learner import last_step
from dimetric.selection._splits import n_rows, splits
from dimetric.selection._weighted import fitted_model, with_weights
from dimetric.supervision._weights import checked_sample_weight

__all__ = ["CrossValidation", "cross_validate", "metadata_cross_validate"]

# Its processes search the current folder last, so that no file there replaces another module.
safe_cross_validate = safe_path_for_children()(model_selection.cross_validate)


class CrossValidation(NamedTuple):
    """Scores of an estimator in each fold.

    Attributes
    ----------
    train_score, test_score : ndarray of shape (n_splits,)
        Scores on the training and test samples. Nearest-neighbour estimators are scored by
        leave-one-out on the training samples.
    fit_time : ndarray of shape (n_splits,)
        Time of each fit in seconds.
    """

    train_score: np.ndarray
    test_score: np.ndarray
    fit_time: np.ndarray


@check_types
def cross_validate(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    sample_weight: Any = None,
    groups: Any = None,
    cv: Any = 5,
    n_repeats: int = 1,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> CrossValidation:
    """Cross-validate a classifier or regressor in repeated folds, stratified by class.

    Parameters
    ----------
    estimator : classifier or regressor
        Copies are fitted.
    X, y : array-like of shape (n_samples, n_features) and (n_samples,)
        Samples and their classes or targets.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the samples, in the fits and in the scores. Learners that do not use weights are
        fitted without them.
    groups : array-like of shape (n_samples,), optional
        Group of each sample. Samples of one group are never in both the training and the test part
        of a fold. A splitter given as `cv` receives the groups. By default, only copies of a sample
        form a group: equal samples that are unlikely to be equal by chance. A warning reports them.
        ``groups=np.arange(n_samples)`` lets copies be split.
    cv : int, splitter or iterable of (train, test), default=5
        Number of shuffled folds, a splitter of scikit-learn, or the splits themselves. If the
        number of folds exceeds the size of the smallest class, it is reduced to this size and a
        warning is issued.
    n_repeats : int, default=1
        Number of times the samples are shuffled and split. Must be 1 if `cv` is not an int.
    random_state : int, RandomState or None, default=None
        Random seed of the shuffling.
    n_jobs : int or None, default=None
        Number of parallel processes, as in joblib.

    Examples
    --------
    >>> from dimetric import KNNClassifier
    >>> from sklearn.datasets import load_iris
    >>> result = cross_validate(KNNClassifier(), *load_iris(return_X_y=True), random_state=0)
    >>> [round(float(scores.mean()), 2) for scores in (result.train_score, result.test_score)]
    [0.96, 0.96]
    """
    remedy = "Pass a classifier or regressor, such as KNNClassifier(learner=...)."
    require_method(estimator, "score", "estimator", remedy)
    folds, _ = splits(
        X, y, cv, n_repeats, random_state, groups=groups, stratify=not is_regressor(estimator)
    )
    weights = checked_sample_weight(sample_weight, n_rows(X))
    results = safe_cross_validate(
        *with_weights(estimator, X, weights),
        y,
        cv=folds,
        n_jobs=n_jobs,
        scoring=default_score,
        error_score="raise",
        return_train_score=True,
        return_estimator=True,
    )
    train = results["train_score"]
    if isinstance(last_step(estimator), NeighborsEstimator):
        models = [last_step(fitted_model(each)) for each in results["estimator"]]
        of_rows = [None if weights is None else weights[rows] for rows, _ in folds]
        train = np.array(
            [model.score(sample_weight=each) for model, each in zip(models, of_rows, strict=True)]
        )
    return CrossValidation(train, results["test_score"], results["fit_time"])


@check_types
def metadata_cross_validate(
    learner: Any,
    X: Any,
    y: Any = None,
    *,
    sample_weight: Any = None,
    groups: Any = None,
    cv: Any = 5,
    n_repeats: int = 1,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> dict[str, np.ndarray]:
    """Fit a learner to the training samples of each fold and return its metadata.

    Parameters
    ----------
    learner : learner
        Copies are fitted.
    X : array-like of shape (n_samples, n_features)
        Samples.
    y : array-like of shape (n_samples,), optional
        Labels, if the learner needs them.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the samples, if the learner uses weights.
    groups, cv, n_repeats, random_state, n_jobs
        As in :func:`cross_validate`.

    Returns
    -------
    metadata : dict of str to ndarray of shape (n_splits,)
        An array for each key of the metadata. Its dtype is object if some values are not numbers.

    Examples
    --------
    >>> from dimetric import NCA
    >>> from sklearn.datasets import load_iris
    >>> metadata = metadata_cross_validate(NCA(), *load_iris(return_X_y=True), random_state=0)
    >>> metadata["final_objective"].shape, round(float(metadata["final_objective"].mean()), 1)
    ((5,), 1.0)
    """
    require_method(last_step(learner), "metadata", "learner", "Pass a learner of dimetric.")
    folds, _ = splits(X, y, cv, n_repeats, random_state, groups=groups)
    weights = checked_sample_weight(sample_weight, n_rows(X))
    results = safe_cross_validate(
        *with_weights(learner, X, weights),
        y,
        cv=folds,
        n_jobs=n_jobs,
        scoring=zero_score,
        error_score="raise",
        return_estimator=True,
    )
    metadata = [last_step(fitted_model(each)).metadata() for each in results["estimator"]]
    return {key: _as_array([each.get(key) for each in metadata]) for key in metadata[0]}


def default_score(model: Any, X: Any, y: Any = None) -> float:
    """Return ``model.score(X, y)``."""
    return model.score(X, y)


def zero_score(model: Any, X: Any, y: Any = None) -> float:
    """Return 0, for searches that require a score but do not use it."""
    return 0.0


def require_method(model: Any, method: str, name: str, remedy: str) -> None:
    """Raise an error if a model does not have a method."""
    if not hasattr(model, method):
        raise ValueError(f"{name}={model!r} has no method {method}. {remedy}")


def _as_array(values: list[Any]) -> np.ndarray:
    """Return an array of numbers, or of objects if some values are not numbers."""
    if all(isinstance(each, Real | np.bool_) for each in values):
        return np.array(values)
    objects = np.empty(len(values), dtype=object)
    objects[:] = values
    return objects
