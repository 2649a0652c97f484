"""Scores of predicted classes."""

import warnings
from typing import Any

import numpy as np
from sklearn.metrics import balanced_accuracy_score, f1_score

from dimetric.classify._base import accuracy

__all__ = ["CLASS_SCORES", "NUMBER_SCORES", "class_score", "confusion_counts"]

CLASS_SCORES = ("accuracy", "balanced_accuracy", "f1_macro")
NUMBER_SCORES = ("r2", "mae")


def class_score(name: str, y: Any, predicted: Any, sample_weight: Any = None) -> float:
    r"""Return a score of predicted classes. Greater is better, and 1 is perfect.

    With the recall :math:`r_c` (the fraction of the samples of class c that are predicted as c) and
    the precision :math:`p_c` (the fraction of the samples predicted as c that are of class c):

    - "accuracy" is the fraction of samples that are predicted correctly,
    - "balanced_accuracy" is the mean of :math:`r_c` over the classes in `y`,
    - "f1_macro" is the mean of :math:`2 p_c r_c / (p_c + r_c)` over the classes in `y` and
      `predicted`.

    Parameters
    ----------
    name : {"accuracy", "balanced_accuracy", "f1_macro"}
        The score.
    y, predicted : array-like of shape (n_samples,)
        True and predicted classes.
    sample_weight : array-like of shape (n_samples,), optional
        Sample weights.

    Examples
    --------
    >>> y, predicted = [0, 0, 0, 1], [0, 0, 0, 0]
    >>> [round(class_score(name, y, predicted), 3) for name in CLASS_SCORES]
    [0.75, 0.5, 0.429]
    """
    if name == "accuracy":
        return accuracy(y, predicted, sample_weight)
    weights = {"sample_weight": sample_weight}
    if name == "f1_macro":
        return float(f1_score(y, predicted, average="macro", zero_division=0, **weights))
    with warnings.catch_warnings():
        # A small fold may lack a class that is predicted. It has no recall there.
        warnings.filterwarnings("ignore", "y_pred contains classes not in y_true")
        return float(balanced_accuracy_score(y, predicted, **weights))


def confusion_counts(y: Any, predicted: Any) -> dict[str, dict[str, int]]:
    """Return the number of samples by their true and their predicted class, without zeros.

    Parameters
    ----------
    y, predicted : array-like of shape (n_samples,)
        True and predicted classes.

    Examples
    --------
    >>> confusion_counts(["a", "a", "b"], ["a", "b", "b"])
    {'a': {'a': 1, 'b': 1}, 'b': {'b': 1}}
    """
    counts: dict[str, dict[str, int]] = {}
    for true, guess in zip(np.asarray(y).tolist(), np.asarray(predicted).tolist(), strict=True):
        of_class = counts.setdefault(str(true), {})
        of_class[str(guess)] = of_class.get(str(guess), 0) + 1
    return counts
