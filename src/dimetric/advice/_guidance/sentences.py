"""Advice in plain words: what to use, what to expect on new data, and what limits the answer."""

import numpy as np

from dimetric.advice._guidance.limits import main_limit
from dimetric.advice._race_options import predicts
from dimetric.advice._samples import LabelledSamples
from dimetric.report._choice import BASELINE, Choice, reference_phrase
from dimetric.report._setting import neighbors_text
from dimetric.report._task import number_text
from dimetric.report._text import percent
from dimetric.selection._curve_result import LearningCurve
from dimetric.selection._score_interval import score_interval
from dimetric.stats._verdict import CONFIDENT_PROBABILITY

__all__ = ["advice", "expected_score"]

CONFIDENCE = 0.95  # of the interval of the score on new data


def advice(
    samples: LabelledSamples,
    choice: Choice,
    curve: LearningCurve | None,
    n_neighbors: int,
    n_fitted: int,
) -> list[str]:
    """Return up to three sentences: what to use, what to expect, and what limits the answer.

    Parameters
    ----------
    samples : LabelledSamples
        The rows of the comparison.
    choice : Choice
        The best learner and the scores.
    curve : LearningCurve or None
        The learning curve of the chosen distance.
    n_neighbors : int
        Number of nearest neighbours used for predictions.
    n_fitted : int
        Number of rows that the saved model was fitted to.
    """
    expected = expected_score(choice, samples.n_folds)
    sentences = [
        _what_to_use(samples, choice, n_neighbors, expected[0]),
        _what_to_expect(samples, *expected),
        main_limit(samples, choice, curve, expected, n_fitted),
    ]
    return [each for each in sentences if each]


def expected_score(choice: Choice, n_folds: int) -> tuple[float, float, float]:
    """Return the score that the best model has on new data, and the limits of its interval.

    It is the mean score of the chosen distance in the final, reduced by the selection bias, or the
    mean score of a reference model that is clearly better.

    Parameters
    ----------
    choice : Choice
        The scores of the final.
    n_folds : int
        Number of folds.

    Examples
    --------
    >>> from dimetric.stats import Posterior
    >>> scores = {"Euclidean": np.full(5, 0.8), "LDA": np.array([0.88, 0.9, 0.92, 0.9, 0.9])}
    >>> posterior = Posterior(0.0, 0.1, 0.9, np.empty(0))
    >>> choice = Choice("LDA", None, {}, scores, {}, {}, scores, 1, True, 100, 100, posterior)
    >>> [round(each, 2) for each in expected_score(choice, 5)]
    [0.9, 0.83, 0.95]
    """
    task = choice.task
    bias = choice.selection_bias if choice.chosen == choice.best else 0.0
    scores = choice.final_scores[choice.chosen] - (bias if task.greater_is_better else -bias)
    if choice.better_reference is not None and choice.reference_scores is not None:
        scores = choice.reference_scores
    low, high = score_interval(
        scores,
        1 / n_folds,
        confidence=CONFIDENCE,
        n_tested=choice.n_final_rows if task.score == "accuracy" else None,
    )
    best = 1.0 if task.greater_is_better else np.inf
    return float(np.mean(scores)), float(max(low, 0.0)), float(min(high, best))


def _what_to_use(
    samples: LabelledSamples, choice: Choice, n_neighbors: int, expected: float
) -> str:
    target, sign = samples.target, 1 if choice.task.greater_is_better else -1
    by = f"{neighbors_text(n_neighbors)} under {choice.chosen}"
    model = choice.best if choice.chosen == choice.best and predicts(choice.learner) else by
    if choice.better_reference is not None:
        return (
            f"Use {reference_phrase(choice.better_reference)} to predict {target}, and the saved "
            f"model ({model}) to find similar rows."
        )
    if choice.better_than_guess <= 0.5 or sign * expected <= sign * choice.majority:
        if samples.task.is_regression:
            return f"Do not use these models: none predicts {target} better than its mean."
        largest = next(iter(samples.classes))
        return (
            f"Do not use these models: none predicts {target} better than always answering "
            f"{largest!r}."
        )
    if choice.chosen == BASELINE:
        return (
            "Use the Euclidean distance, as the saved model does: learning a distance does not pay "
            "off here."
        )
    if choice.posterior.right >= CONFIDENT_PROBABILITY:
        return f"Use the saved model, which predicts {target} by {model}."
    return f"Use the saved model ({model}), which is probably better than the Euclidean distance."


def _what_to_expect(samples: LabelledSamples, mean: float, low: float, high: float) -> str:
    target, score = samples.target, samples.task.score
    if score == "mae":
        texts = [number_text(each) for each in (mean, low, high)]
        return (
            f"Expect predictions of {target} that are off by about {texts[0]} on average "
            f"({texts[1]} to {texts[2]})."
        )
    if score == "r2" and high <= 0:
        return f"Expect predictions of {target} that are no better than its mean."
    if score == "f1_macro":
        return f"Expect a macro F1 score of about {mean:.2f} on new rows ({low:.2f} to {high:.2f})."
    about, interval = _percentages(max(mean, 0.0), low, high)
    if score == "r2":
        return (
            f"Expect predictions that explain about {about} of the variance of {target} "
            f"({interval})."
        )
    if score == "balanced_accuracy":
        return (
            f"Expect about {about} of the new rows of each class to be classified correctly, on "
            f"average over the classes ({interval})."
        )
    return f"Expect about {about} of new rows to be classified correctly ({interval})."


def _percentages(mean: float, low: float, high: float) -> tuple[str, str]:
    """Return a score and its interval in percent, with up to 2 decimals if the limits are close."""
    width = 100 * (high - low)
    digits = 0 if width >= 1.5 else 1 if width >= 0.15 else 2
    return percent(mean, digits), f"{100 * low:.{digits}f} to {percent(high, digits)}"
