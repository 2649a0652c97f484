"""The results of a comparison in words."""

import numpy as np

from dimetric.report._records import BASELINE, Choice
from dimetric.report._task import number_text

__all__ = ["outcome", "references_note", "rope_note"]


def outcome(choice: Choice, target: str, n_neighbors: int, classes: dict[str, int]) -> str:
    """Return a sentence about the mean scores of the final, or "".

    For classes, it warns if the best learner is no better than predicting the largest class. For
    numbers, it has the mean scores of both distances.

    Parameters
    ----------
    choice : Choice
        The best learner and the scores.
    target : str
        Name of the target column.
    n_neighbors : int
        Number of nearest neighbours used for predictions.
    classes : dict of str to int
        Number of rows of each class. Empty if the target contains numbers.
    """
    if choice.task.is_regression:
        return _numbers(choice, target, n_neighbors)
    return _largest_class(choice, classes) if classes else ""


def _largest_class(choice: Choice, classes: dict[str, int]) -> str:
    if choice.better_than_guess > 0.5:
        return ""
    y = np.repeat(list(classes), list(classes.values()))
    guess = choice.task.phrase(choice.task.guess_score(y))
    return (
        f"{choice.best} is probably no better than always predicting the largest class ({guess})."
    )


def _numbers(choice: Choice, target: str, n_neighbors: int) -> str:
    task, means = choice.task, {n: float(np.mean(each)) for n, each in choice.final_scores.items()}
    best, baseline = task.text(means[choice.best]), task.text(means[BASELINE])
    if task.score == "mae":
        return (
            f"The mean absolute error of {target} is {best} for {n_neighbors}-NN under "
            f"{choice.best}, and {baseline} under the Euclidean distance."
        )
    if min(means.values()) < 0:
        return (
            f"R2 of {target} is {best} for {n_neighbors}-NN under {choice.best}, and {baseline} "
            "under the Euclidean distance. A negative R2 is worse than predicting the mean."
        )
    return (
        f"{n_neighbors}-NN under {choice.best} explains {best} of the variance of {target} (R2), "
        f"and {baseline} under the Euclidean distance."
    )


def references_note(choice: Choice) -> str:
    """Return a sentence with the mean scores of the reference models, or "" without any.

    Parameters
    ----------
    choice : Choice
        The scores.
    """
    if not choice.references:
        return ""
    listed = ", ".join(
        f"{row.learner.lower()} {choice.task.text(row.score)}" for row in choice.reference_table
    )
    return f"{choice.task.score_name} of reference models without a distance: {listed}."


def rope_note(choice: Choice, rope: float, y: np.ndarray) -> str:
    """Return a sentence that says which scores count as equivalent.

    Parameters
    ----------
    choice : Choice
        The scores.
    rope : float
        The largest difference of equivalent scores.
    y : ndarray
        The numbers to predict.
    """
    of_error = ""
    if choice.task.score == "mae":
        of_mean = rope / float(np.mean(np.abs(y - np.mean(y))))
        of_error = f" ({100 * of_mean:.3g} % of the error of predicting the mean)"
    return (
        f"Values of {choice.task.score_name} that differ by at most {number_text(rope)}{of_error} "
        "count as equivalent."
    )
