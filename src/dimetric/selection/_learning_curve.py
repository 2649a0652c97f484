"""Learning curve: held-out score against the number of training samples."""

from collections.abc import Callable, Iterable
from numbers import Real
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.base import clone, is_regressor
from sklearn.metrics import f1_score, recall_score
from sklearn.utils.parallel import Parallel, delayed

from dimetric._arguments import check_types
from dimetric._arrays.namespaces import is_foreign, to_host
from dimetric._arrays.random_state import random_generator
from dimetric._compat import take_samples
from dimetric._names import suggest
from dimetric._processes import safe_path_for_children
from dimetric.classify.knn import KNNClassifier
from dimetric.classify.knn_regressor import KNNRegressor
from dimetric.selection._cross_validation import require_method
from dimetric.selection._curve_result import SCORE_NAMES, LearningCurve
from dimetric.selection._drawn_samples import drawn_samples
from dimetric.selection._nested_subsets import MIN_MEMBERS, nested_subsets, training_sizes
from dimetric.selection._splits import n_rows, splits
from dimetric.selection._weighted import fit_weighted
from dimetric.supervision._weights import checked_sample_weight
from dimetric.supervision.labels import may_be_classes

__all__ = ["learning_curve"]

REGRESSION_SCORES = ("r2", "mae")
N_SIZES = 5
MIN_SIZE = 10  # of a training set


@check_types
def learning_curve(
    learner: Any,
    X: Any,
    y: Any = None,
    *,
    sizes: int | Iterable[float] = N_SIZES,
    score: str | None = None,
    n_neighbors: int = 3,
    sample_weight: Any = None,
    groups: Any = None,
    cv: Any = 5,
    n_repeats: int = 1,
    max_samples: int | None = None,
    confidence: float = 0.95,
    random_state: Any = None,
    n_jobs: int | None = None,
    callback: Callable[[int, int], None] | None = None,
) -> LearningCurve:
    r"""Evaluate a model on test samples after training on fewer and on more samples.

    The training samples of each fold are put into a random order in which each class has about
    its overall frequency. A training set of size n consists of the first n of them, so smaller sets
    are parts of larger ones. The curve is extrapolated by the power law
    :math:`s(n) = a - b n^{-c}`, which says whether more samples would help.

    Parameters
    ----------
    learner : learner, classifier, regressor, pipeline or None
        Model to evaluate. Copies are fitted. A learner without the method ``predict`` is evaluated
        by nearest neighbours under its distance. None stands for the Euclidean distance.
    X : array-like of shape (n_samples, n_features), Dask collection, memory map or callable
        Samples. A callable returns an iterator over blocks ``(X, y)``, such as
        :class:`dimetric.data.ParquetBlocks`. Collections and blocks are read once, to draw
        `max_samples` random samples, and are never in memory as a whole.
    y : array-like of shape (n_samples,) or Dask collection
        Classes or numbers of the samples. None if X yields blocks, which contain them.
    sizes : int or iterable of numbers, default=5
        Numbers of training samples, as ints, or as fractions in (0, 1] of the training samples of
        a fold. An int sets how many sizes there are. They form a geometric sequence that ends with
        all training samples of a fold, and starts with a 16th of them, but with at least 10
        samples and 2 for each class.
    score : {"accuracy", "balanced_accuracy", "f1_macro", "r2", "mae"}, optional
        The score. The default is "accuracy" for classes, and "r2" for regressors. It is also "r2"
        for learners if y contains numbers that are too many to be classes. "r2" of a fold is
        1 - (mean squared error in the fold) / (variance of y in all samples). "mae" is the mean
        absolute error.
    n_neighbors : int, default=3
        Number of nearest neighbours, for learners without the method ``predict``.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the samples, in the fits and in the scores. Learners that do not use weights are
        fitted without them.
    groups : array-like of shape (n_samples,), optional
        Group of each sample. Samples of one group are never in both the training and the test part
        of a fold. Training sets are extended by whole groups, except for the last group. The
        default is as in :func:`cross_validate`.
    cv, n_repeats
        As in :func:`cross_validate`.
    max_samples : int, optional
        Number of samples that are drawn at random, for training and testing together. By default,
        all samples of an array, and 20,000 of a Dask collection, of blocks, or of a memory map
        larger than 256 MiB. The drawn samples do not depend on the division into blocks.
    confidence : float in (0, 1), default=0.95
        Probability that the interval of a mean score contains the value that it estimates.
    random_state : int, RandomState or None, default=None
        Random seed of the folds and of the order of the training samples.
    n_jobs : int or None, default=None
        Number of parallel processes, as in joblib.
    callback : callable, optional
        Called as ``callback(n_done, n_fits)`` after each fit.

    Returns
    -------
    LearningCurve
        It has ``sizes``, ``scores``, ``mean``, ``interval``, ``gain`` and ``statement``.
        :class:`~dimetric.plot.SampleSizeDisplay` plots it.

    Examples
    --------
    >>> from dimetric import LDA
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> curve = learning_curve(LDA(), X, y, sizes=4, random_state=0)
    >>> curve.sizes, curve.mean.round(2)
    (array([  90,  226,  570, 1437]), array([0.86, 0.92, 0.95, 0.97]))
    >>> curve.statement  # doctest: +ELLIPSIS
    '2,874 training rows instead of 1,437 would probably raise the accuracy from 0.966 to 0.974 ...
    """
    _check_options(score, confidence)
    rng = random_generator(random_state)
    X, y, sample_weight, groups, n_available = drawn_samples(
        X, y, sample_weight, groups, max_samples, rng
    )
    y = np.asarray(to_host(y) if is_foreign(y) else y)
    if y.ndim != 1:
        raise ValueError(
            f"y has shape {y.shape}, but it must have one class or one number for each sample."
        )
    model, score = _model_and_score(learner, y, score, n_neighbors)
    labels = None if score in REGRESSION_SCORES else y
    weights = checked_sample_weight(sample_weight, n_rows(X))
    folds, units = splits(X, y, cv, n_repeats, rng, groups=groups, stratify=labels is not None)
    n_classes = 0 if labels is None else len(np.unique(labels))
    sizes = training_sizes(
        sizes, min(len(train) for train, _ in folds), max(MIN_SIZE, MIN_MEMBERS * n_classes)
    )
    subsets = nested_subsets(folds, sizes, labels, units, rng)
    evaluation = _Evaluation(model, X, y, weights, score)
    results = []
    with safe_path_for_children():
        fits = (delayed(evaluation)(*each) for each in subsets)
        for result in Parallel(n_jobs=n_jobs, return_as="generator")(fits):
            results.append(result)
            if callback is not None:
                callback(len(results), len(subsets))
    table = np.array(results).reshape(len(sizes), len(folds), 2)
    test_fraction = float(np.mean([len(test) for _, test in folds]) / n_rows(X))
    return LearningCurve(
        sizes,
        table[..., 0],
        table[..., 1],
        n_rows(X),
        test_fraction,
        score,
        float(confidence),
        n_available,
    )


class _Evaluation:
    """Fits a model to some samples, and scores it on others.

    Parameters
    ----------
    model : classifier or regressor
        Copies are fitted.
    X, y : array-like and ndarray
        All samples, and their classes or numbers.
    weights : ndarray or None
        Their weights.
    score : str
        Name of the score.
    """

    def __init__(
        self, model: Any, X: Any, y: np.ndarray, weights: np.ndarray | None, score: str
    ) -> None:
        self.model, self.X, self.y, self.weights, self.score = model, X, y, weights, score
        self.variance = 1.0
        if score == "r2":
            centre = np.average(y, weights=weights)
            self.variance = float(np.average((y - centre) ** 2, weights=weights))
            if self.variance == 0:
                raise ValueError('y is constant, so R2 is not defined. Set score="mae".')

    def __call__(self, train: np.ndarray, test: np.ndarray) -> tuple[float, float]:
        """Return the score, and the time of the fit in seconds."""
        weights = self.weights
        started = perf_counter()
        model = fit_weighted(
            clone(self.model),
            take_samples(self.X, train),
            self.y[train],
            None if weights is None else weights[train],
        )
        seconds = perf_counter() - started
        predicted = model.predict(take_samples(self.X, test))
        predicted = np.asarray(to_host(predicted) if is_foreign(predicted) else predicted)
        of_test = None if weights is None else weights[test]
        return self._score(self.y[test], predicted, of_test), seconds

    def _score(self, y: np.ndarray, predicted: np.ndarray, weights: np.ndarray | None) -> float:
        if self.score == "mae":
            return float(np.average(np.abs(y - predicted), weights=weights))
        if self.score == "r2":
            return 1 - float(np.average((y - predicted) ** 2, weights=weights)) / self.variance
        if self.score == "balanced_accuracy":
            # Recall of the classes in y, because a fold may not test each class.
            return float(
                recall_score(
                    y, predicted, labels=np.unique(y), average="macro", sample_weight=weights
                )
            )
        if self.score == "f1_macro":
            return float(
                f1_score(y, predicted, average="macro", sample_weight=weights, zero_division=0.0)
            )
        return float(np.average(y == predicted, weights=weights))


def _model_and_score(
    learner: Any, y: np.ndarray, score: str | None, n_neighbors: int
) -> tuple[Any, str]:
    """Return a model with the method predict, and the name of its score."""
    if isinstance(learner, type):
        name = learner.__name__
        raise ValueError(f"learner is the class {name}. Pass an object, such as {name}().")
    has_numbers = y.dtype.kind in "iuf" and not may_be_classes(y)
    if hasattr(learner, "predict"):
        regresses = is_regressor(learner)
    else:
        if learner is not None:
            require_method(learner, "fit", "learner", "Pass a learner, such as NCA().")
        regresses = has_numbers if score is None else score in REGRESSION_SCORES
        learner = (KNNRegressor if regresses else KNNClassifier)(n_neighbors, learner=learner)
    if score is None:
        return learner, "r2" if regresses else "accuracy"
    if regresses != (score in REGRESSION_SCORES):
        kind = "a regressor" if regresses else "a classifier"
        others = (
            REGRESSION_SCORES
            if regresses
            else [each for each in SCORE_NAMES if each not in REGRESSION_SCORES]
        )
        raise ValueError(
            f"score={score!r} does not fit {type(learner).__name__}, which is {kind}. Choose from "
            f"{', '.join(others)}."
        )
    return learner, score


def _check_options(score: str | None, confidence: Any) -> None:
    if score is not None and score not in SCORE_NAMES:
        raise ValueError(f"score={score!r} is unknown. {suggest(score, SCORE_NAMES)}")
    if not isinstance(confidence, Real) or not 0 < float(confidence) < 1:
        raise ValueError(f"confidence={confidence!r} must be a number between 0 and 1.")
