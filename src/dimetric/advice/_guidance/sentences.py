"""Advice in plain words: what to use, what to expect on new data, and what limits the answer."""

import numpy as np

from dimetric.advice._guidance.limits import MAX_NAME_LENGTH, main_limit
from dimetric.advice._race_options import predicts
from dimetric.advice._samples import LabelledSamples
from dimetric.advice._selection import selection_bias
from dimetric.report._choice import BASELINE, Choice, reference_phrase
from dimetric.report._setting import neighbors_text
from dimetric.report._task import number_text
from dimetric.report._text import cut_middle, percent
from dimetric.selection._curve_result import LearningCurve
from dimetric.selection._score_interval import class_score_deviations, score_interval
from dimetric.stats._verdict import CONFIDENT_PROBABILITY

__all__ = ["advice", "advised_reference", "expected_score"]

CONFIDENCE = 0.95  # of the interval of the score on new data
ROUNDING = 1e-9  # error of a mean score


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
    expected, reference = expected_score(choice, samples.n_folds), advised_reference(choice)
    if reference is not None:  # the curve and the saved model do not tell about this model
        curve, n_fitted = None, 0
    sentences = [
        _what_to_use(samples, choice, n_neighbors, expected),
        _what_to_expect(samples, *expected),
        main_limit(samples, choice, curve, expected, n_fitted),
    ]
    return [each for each in sentences if each]


def expected_score(choice: Choice, n_folds: int) -> tuple[float, float, float]:
    """Return the score that the advised model has on new data, and the limits of its interval.

    It is the mean score of the chosen distance in the final, or of the reference model that
    :func:`advised_reference` returns, reduced by the selection bias.

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
    if advised_reference(choice) is not None:
        return _reference_interval(choice, n_folds)
    bias = choice.selection_bias if choice.chosen == choice.best else 0.0
    found = choice.confusion
    confusion = None
    if found is not None:
        confusion = found.after if choice.chosen == choice.best else found.before
    return _interval(choice, choice.final_scores[choice.chosen], bias, n_folds, confusion)


def advised_reference(choice: Choice) -> str | None:
    """Return the name of the reference model to use for predictions, or None.

    It is clearly better than the distances, or it is better than always predicting the largest
    class (the mean of numbers), and the chosen distance is not.

    Parameters
    ----------
    choice : Choice
        The scores of the final.
    """
    name, scores = choice.best_reference, choice.reference_scores
    if name is None or scores is None or not _beats_guess(choice, float(np.mean(scores))):
        return None
    of_distance = float(np.mean(choice.final_scores[choice.chosen]))
    is_needed = choice.better_reference is not None or not _beats_guess(choice, of_distance)
    return name if is_needed else None


def _beats_guess(choice: Choice, score: float) -> bool:
    """Return whether a score is better than that of the largest class, or of the mean."""
    sign = 1 if choice.task.greater_is_better else -1
    lead = sign * (score - choice.majority)
    return lead > ROUNDING * max(1.0, abs(choice.majority))


def _reference_interval(choice: Choice, n_folds: int) -> tuple[float, float, float]:
    """Return the expected score of the best reference model, and the limits of its interval."""
    assert choice.best_reference is not None
    assert choice.reference_scores is not None
    sign, bias = 1 if choice.task.greater_is_better else -1, 0.0
    if not choice.judged_on_unseen_rows and len(choice.references) > 1:
        scores = {name: sign * each for name, each in choice.references.items()}
        bias = max(0.0, selection_bias(scores, choice.best_reference, n_folds))
    confusion = None
    if choice.confusion is not None:  # as if it predicted all classes equally well
        sizes = choice.confusion.before.sum(axis=1)
        recall = float(np.clip(np.mean(choice.reference_scores), 0, 1))
        others = (1 - recall) * sizes[:, None] / max(1, len(sizes) - 1)
        confusion = np.where(np.eye(len(sizes), dtype=bool), recall * sizes[:, None], others)
    return _interval(choice, choice.reference_scores, bias, n_folds, confusion)


def _interval(
    choice: Choice,
    scores: np.ndarray,
    bias: float,
    n_folds: int,
    confusion: np.ndarray | None,
) -> tuple[float, float, float]:
    """Return the mean of scores that are too good by a bias, and the limits of its interval."""
    task = choice.task
    scores = scores - (bias if task.greater_is_better else -bias)
    low, high = score_interval(
        scores,
        1 / n_folds,
        confidence=CONFIDENCE,
        n_tested=choice.n_final_rows if task.score == "accuracy" else None,
    )
    if task.score in ("balanced_accuracy", "f1_macro") and confusion is not None:
        below, above = class_score_deviations(confusion, task.score, confidence=CONFIDENCE)
        mean = float(np.mean(scores))
        low, high = min(low, mean - below), max(high, mean + above)
    best = 1.0 if task.greater_is_better else np.inf
    return float(np.mean(scores)), float(max(low, 0.0)), float(min(high, best))


def _what_to_use(
    samples: LabelledSamples,
    choice: Choice,
    n_neighbors: int,
    expected: tuple[float, float, float],
) -> str:
    target, reference = samples.target, advised_reference(choice)
    by = f"{neighbors_text(n_neighbors)} under {choice.chosen}"
    model = choice.best if choice.chosen == choice.best and predicts(choice.learner) else by
    mean, low, high = expected
    is_clear = _beats_guess(choice, low if choice.task.greater_is_better else high)
    guess = _guess_text(samples)
    if reference is not None and choice.better_reference is not None:
        return (
            f"Use {reference_phrase(reference)} to predict {target}, and the saved model "
            f"({model}) to find similar rows."
        )
    if reference is not None:
        adverb = "is" if is_clear else "may be"
        return (
            f"Do not use the saved model ({model}) to predict {target}: it is no better than "
            f"{guess}; {reference_phrase(reference)} {adverb} better."
        )
    if not _beats_guess(choice, mean):
        return f"Do not use these models: none predicts {target} clearly better than {guess}."
    if not is_clear:
        score = f"{choice.task.score_name} {choice.task.text(choice.majority)}"
        return (
            f"Do not rely on the saved model ({model}): it may be no better than {guess} ({score})."
        )
    if choice.chosen == BASELINE:
        is_equal = choice.posterior.left + choice.posterior.rope >= CONFIDENT_PROBABILITY
        helps = "does not help here" if is_equal else "is not shown to help"
        return f"Use the Euclidean distance, as the saved model does: learning a distance {helps}."
    if choice.posterior.right >= CONFIDENT_PROBABILITY:
        return f"Use the saved model, which predicts {target} by {model}."
    return f"Use the saved model ({model}), which is probably better than the Euclidean distance."


def _guess_text(samples: LabelledSamples) -> str:
    """Return the prediction without features in words."""
    if samples.task.is_regression:
        return "always predicting the mean"
    return f"always answering {cut_middle(next(iter(samples.classes)), MAX_NAME_LENGTH)!r}"


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
            f"Expect predictions that explain about {about} of the variance of {target}{interval}."
        )
    if score == "balanced_accuracy":
        return (
            f"Expect about {about} of the new rows of each class to be classified correctly, on "
            f"average over the classes{interval}."
        )
    return f"Expect about {about} of new rows to be classified correctly{interval}."


def _percentages(mean: float, low: float, high: float) -> tuple[str, str]:
    """Return a score and its interval in percent, with up to 2 decimals if the limits are close.

    The interval is empty if both limits are the same.
    """
    width = 100 * (high - low)
    digits = 0 if width >= 1.5 else 1 if width >= 0.15 else 2
    start, end = percent(low, digits), percent(high, digits)
    if start == end:
        return percent(mean, 0 if mean == 1 else digits), ""
    return percent(mean, digits), f" ({start.removesuffix(' %')} to {end})"
