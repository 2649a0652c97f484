"""The task of a comparison: how the target is read, and how predictions are scored."""

from dataclasses import dataclass
from math import floor, log10

__all__ = ["CLASSIFICATION", "Task"]

READINGS = {"classes": "classes", "ordinal": "ordinal numbers", "continuous": "continuous numbers"}
SCORE_NAMES = {"accuracy": "accuracy", "r2": "R2", "mae": "MAE"}
N_DIGITS = 4  # significant digits of a number in a text


@dataclass(frozen=True)
class Task:
    """How the target of a comparison is read, and how predictions of it are scored.

    Parameters
    ----------
    kind : {"classes", "ordinal", "continuous"}, default="classes"
        What the target contains. Numbers of both kinds are predicted by regression.
    score : {"accuracy", "r2", "mae"}, default="accuracy"
        Accuracy for classes. For numbers, the coefficient of determination R2, or the mean
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

    @property
    def reading(self) -> str:
        """What the target contains, in words."""
        return READINGS[self.kind]

    def text(self, value: float, sign: str = "") -> str:
        """Return a score as text: accuracy and R2 with three decimals, MAE with four digits.

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


CLASSIFICATION = Task()


def number_text(value: float, sign: str = "") -> str:
    """Return a number with four significant digits, without an exponent if it is of usual size.

    Examples
    --------
    >>> number_text(31234.5), number_text(0.0123456), number_text(7.0), number_text(1e-30)
    ('31,234', '0.01235', '7', '1e-30')
    """
    if value == 0 or not 1e-4 <= abs(value) < 1e9:
        return f"{value:{sign}.{N_DIGITS}g}"
    n_decimals = max(0, N_DIGITS - 1 - floor(log10(abs(value))))
    text = f"{value:{sign},.{n_decimals}f}"
    return text.rstrip("0").rstrip(".") if n_decimals else text
