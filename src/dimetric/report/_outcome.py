"""The results of a comparison in words."""

import numpy as np

from dimetric.report._choice import BASELINE, Choice, in_sentence, reference_phrase
from dimetric.report._task import number_text
from dimetric.report._text import percent

__all__ = ["baseline_note", "outcome", "reference_note", "references_note", "rope_note"]


def outcome(choice: Choice, target: str, n_neighbors: int, classes: dict[str, int]) -> str:
    """Return sentences about the mean scores of the final.

    They name the score of always predicting the largest class, or the mean of the numbers, and say
    which distance is worse. For numbers, they also have the mean scores of both distances.

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
        return f"{_numbers(choice, target, n_neighbors)} {baseline_note(choice)}"
    return baseline_note(choice) if classes else ""


def baseline_note(choice: Choice) -> str:
    """Return sentences about always predicting the largest class, or the mean of the numbers.

    Parameters
    ----------
    choice : Choice
        The best learner and the scores.
    """
    task = choice.task
    guess = "the mean" if task.is_regression else "the largest class"
    if task.score == "accuracy":
        sentence = f"Baseline: always predicting {guess} is {percent(choice.majority)} accurate."
    else:
        score = f"{task.score_name} {task.text(choice.majority)}"
        sentence = f"Baseline: always predicting {guess} has {score}."
    sign = 1 if task.greater_is_better else -1
    means = {name: float(np.mean(each)) for name, each in choice.final_scores.items()}
    shown = task.phrase(choice.majority)  # a score that is shown as the same is not called worse
    worse = [
        name
        for name, mean in means.items()
        if sign * mean < sign * choice.majority and task.phrase(mean) != shown
    ]
    if worse:
        verb = "is" if len(worse) == 1 else "are"
        return f"{sentence} {' and '.join(worse)} {verb} worse than this baseline."
    if choice.better_than_guess <= 0.5:
        return f"{sentence} {choice.best} is probably no better."
    return sentence


def _numbers(choice: Choice, target: str, n_neighbors: int) -> str:
    task, means = choice.task, {n: float(np.mean(each)) for n, each in choice.final_scores.items()}
    best, baseline = task.text(means[choice.best]), task.text(means[BASELINE])
    k = "k" if "n_neighbors" in choice.chosen_in_folds else n_neighbors
    model, other = f"{k}-NN under {choice.best}", "under the Euclidean distance"
    if hasattr(choice.learner, "predict"):  # it does not use neighbours
        model, other = choice.best, f"for {k}-NN under the Euclidean distance"
    if task.score == "mae":
        return f"The mean absolute error of {target} is {best} for {model}, and {baseline} {other}."
    if min(means.values()) < 0:
        return f"R2 of {target} is {best} for {model}, and {baseline} {other}."
    return f"{model} explains {best} of the variance of {target} (R2), and {baseline} {other}."


def reference_note(choice: Choice) -> str:
    """Return a sentence with the final score of the best reference model, or "" without one.

    Parameters
    ----------
    choice : Choice
        The scores.
    """
    if choice.best_reference is None or choice.reference_scores is None:
        return ""
    score = choice.task.phrase(float(np.mean(choice.reference_scores)))
    name = reference_phrase(choice.best_reference)
    return f"In the same folds, {name} (reference) has {choice.task.score_name} {score}."


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
        f"{in_sentence(row.learner)} {choice.task.text(row.score)}"
        for row in choice.reference_table
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
