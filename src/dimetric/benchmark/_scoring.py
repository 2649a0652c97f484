"""Score a fitted model on the training and test samples of a fold."""

from typing import Any, NamedTuple

import numpy as np

from dimetric.classify._neighbors import NeighborsEstimator
from dimetric.classify.knn import KNNClassifier
from dimetric.learners._inner_learner import last_step
from dimetric.selection._class_scores import class_score, confusion_counts
from dimetric.selection._knn_scores import knn_predictions

__all__ = ["FoldScores", "class_scores", "number_scores"]


class FoldScores(NamedTuple):
    """Scores of a model in one fold.

    Attributes
    ----------
    train, test : float
        Scores on the training samples (leave-one-out for nearest neighbours) and test samples.
    confusion : dict of str to dict of str to int
        Number of test samples by their true and their predicted class. Empty for numbers.
    """

    train: float
    test: float
    confusion: dict[str, dict[str, int]]


def class_scores(
    score: str,
    model: Any,
    ks: tuple[int | None, ...],
    train: tuple[np.ndarray, np.ndarray],
    test: tuple[np.ndarray, np.ndarray],
) -> list[FoldScores]:
    """Return the scores of a classifier for each number of neighbours.

    Parameters
    ----------
    score : {"accuracy", "balanced_accuracy", "f1_macro"}
        The score.
    model : classifier
        The fitted model.
    ks : tuple of int or None
        Numbers of neighbours of a :class:`~dimetric.KNNClassifier`, or (None,) to use the model's
        own predictions.
    train, test : pair of ndarray
        Samples and their classes.
    """
    last = last_step(model)
    if ks != (None,):
        numbers = [k for k in ks if k is not None]
        on_train, on_test = (knn_predictions(model, X, numbers) for X in (None, test[0]))
        y_train = last._labels()
    elif isinstance(last, KNNClassifier):
        on_train, on_test, y_train = [last.predict()], [model.predict(test[0])], last._labels()
    else:
        on_train, on_test, y_train = [model.predict(train[0])], [model.predict(test[0])], train[1]
    return [
        FoldScores(
            class_score(score, y_train, before),
            class_score(score, test[1], after),
            confusion_counts(test[1], after),
        )
        for before, after in zip(on_train, on_test, strict=True)
    ]


def number_scores(
    score: str,
    model: Any,
    train: tuple[np.ndarray, np.ndarray],
    test: tuple[np.ndarray, np.ndarray],
    deviation: float,
) -> FoldScores:
    """Return the scores of a regressor, which :func:`dimetric.benchmark.run` defines.

    Parameters
    ----------
    score : {"r2", "mae"}
        The score.
    model : regressor
        The fitted model.
    train, test : pair of ndarray
        Samples and their numbers.
    deviation : float
        Standard deviation of the numbers in all folds.
    """
    last = last_step(model)
    is_leave_one_out = isinstance(last, NeighborsEstimator)
    predictions = (
        (last.predict() if is_leave_one_out else model.predict(train[0])),
        model.predict(test[0]),
    )
    scores = []
    for y, predicted in zip((train[1], test[1]), predictions, strict=True):
        error = np.abs(y - np.asarray(predicted, dtype=np.float64))
        if score == "mae":
            scores.append(-float(np.mean(error)))
        else:
            scores.append(1 - float(np.mean((error / deviation) ** 2)))
    return FoldScores(scores[0], scores[1], {})
