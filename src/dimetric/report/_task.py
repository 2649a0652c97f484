"""The task of a comparison: how the target is read, and how predictions are scored."""

from dataclasses import dataclass

import numpy as np

from dimetric._names import number_text
from dimetric.report._text import percent

__all__ = ["CLASSIFICATION", "Task", "number_text"]

READINGS = {"classes": "classes", "ordinal": "ordinal numbers", "continuous": "continuous numbers"}
SCORE_NAMES = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "f1_macro": "macro F1",
    "r2": "R2",
    "mae": "MAE",
}


@dataclass(frozen=True)
class Task:
    """How the target of a comparison is read, and how predictions of it are scored.

    Parameters
    ----------
    kind : {"classes", "ordinal", "continuous"}, default="classes"
        What the target contains. Numbers of both kinds are predicted by regression.
    score : {"accuracy", "balanced_accuracy", "f1_macro", "r2", "mae"}, default="accuracy"
        For classes, the accuracy, the balanced accuracy (mean of the recalls of the classes), or
        the mean of their F1 scores. For numbers, the coefficient of determination R2, or the mean
        absolute error.

    Examples
    --------
    >>> task = Task("continuous", "mae")
    >>> task.is_regression, task.greater_is_better, task.score_name
    (True, False, 'MAE')
    """

    kind: str = "classes"
    score: str = "accuracy"

    @property
    def is_regression(self) -> bool:
        """Whether the target contains numbers rather than classes."""
        return self.kind != "classes"

    @property
    def greater_is_better(self) -> bool:
        """Whether a greater score is better."""
        return self.score != "mae"

    @property
    def score_name(self) -> str:
        """Name of the score in tables and plots."""
        return SCORE_NAMES[self.score]

    def guess_score(self, y: np.ndarray) -> float:
        r"""Return the score of always predicting the largest class, or the mean of the numbers.

        For n classes, of which the largest has the fraction p of the rows, the accuracy is p, the
        balanced accuracy 1 / n, and the macro F1 is :math:`2 p / (n (1 + p))`. For numbers, R2 is
        0, and the mean absolute error is that of the mean.

        Parameters
        ----------
        y : ndarray of shape (n_rows,)
            Classes, or numbers.

        Examples
        --------
        >>> y = np.array(["a", "a", "a", "b"])
        >>> Task().guess_score(y), Task("classes", "balanced_accuracy").guess_score(y)
        (0.75, 0.5)
        """
        if self.score == "mae":
            return float(np.mean(np.abs(y - np.mean(y))))
        if self.is_regression:
            return 0.0
        counts = np.unique(y, return_counts=True)[1]
        largest, n_classes = float(np.max(counts) / len(y)), len(counts)
        if self.score == "balanced_accuracy":
            return 1 / n_classes
        return largest if self.score == "accuracy" else 2 * largest / (1 + largest) / n_classes

    @property
    def reading(self) -> str:
        """What the target contains, in words."""
        return READINGS[self.kind]

    def text(self, value: float, sign: str = "") -> str:
        """Return a score as text: MAE with four digits, other scores with three decimals.

        Parameters
        ----------
        value : float
            A score, or a difference of scores.
        sign : {"", "+"}, default=""
            "+" shows the sign of positive values, too.

        Examples
        --------
        >>> Task().text(0.98765), Task("ordinal", "mae").text(0.98765, "+")
        ('0.988', '+0.9877')
        """
        return f"{value:{sign}.3f}" if self.greater_is_better else number_text(value, sign)

    def phrase(self, value: float) -> str:
        """Return a score as text for sentences: an accuracy in percent, other scores as `text`.

        Examples
        --------
        >>> Task().phrase(0.912), Task("classes", "balanced_accuracy").phrase(0.912)
        ('91.2 %', '0.912')
        """
        return percent(value) if self.score == "accuracy" else self.text(value)


CLASSIFICATION = Task()
