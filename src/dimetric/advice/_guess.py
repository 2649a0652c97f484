"""The score of a guess without features: the largest class, or the mean of the numbers."""

import numpy as np

from dimetric.report._task import Task

__all__ = ["guess_score"]


def guess_score(y: np.ndarray, task: Task) -> float:
    r"""Return the score of always predicting the largest class, or the mean of the numbers.

    If a fraction p of the rows belongs to the largest of C classes, the accuracy is p, the balanced
    accuracy 1 / C, and the macro average of F1 is :math:`2 p / ((1 + p) C)`. R2 is 0.

    Parameters
    ----------
    y : ndarray of shape (n_samples,)
        Classes or numbers.
    task : Task
        What y contains, and how predictions are scored.

    Returns
    -------
    float
        The score. A mean absolute error has no minus sign.

    Examples
    --------
    >>> y = np.array([0, 0, 0, 1])
    >>> guess_score(y, Task()), guess_score(y + 0.5, Task("continuous", "mae"))
    (0.75, 0.375)
    """
    if task.is_regression:
        return float(np.mean(np.abs(y - np.mean(y)))) if task.score == "mae" else 0.0
    counts = np.unique(y, return_counts=True)[1]
    largest = float(counts.max() / len(y))
    if task.score == "balanced_accuracy":
        return 1 / len(counts)
    if task.score == "f1_macro":
        return 2 * largest / (1 + largest) / len(counts)
    return largest
