"""The learning curve of a comparison, within a part of its time."""

from collections.abc import Callable
from time import perf_counter

import numpy as np

from dimetric.advice._race_options import RaceOptions
from dimetric.advice._settings import SETTINGS
from dimetric.report._records import BASELINE, Choice
from dimetric.selection._curve_result import LearningCurve
from dimetric.selection._learning_curve import learning_curve
from dimetric.selection._nested_subsets import nested_order

__all__ = ["comparison_curve"]

MIN_ROWS = 40  # of a learning curve; the scores of fewer rows are noise
MIN_ROWS_PER_CLASS = 5  # so that each training set can have two rows of each class
MAX_ROWS = 5000  # more rows take longer, but hardly change the extrapolation
COST_OF_SMALLER_SIZES = 0.5  # of all smaller training sets, relative to the largest one
N_SIZES = (5, 3)  # of the training sets; fewer if the time is short
MAX_OVERRUN = 2.0  # the curve is abandoned if it would take longer than this multiple of its time


class _TimeLimitReached(Exception):
    """The learning curve takes too long."""


def comparison_curve(
    X: np.ndarray,
    y: np.ndarray,
    choice: Choice,
    options: RaceOptions,
    *,
    seconds: float,
    callback: Callable[[int, int], None] | None = None,
) -> LearningCurve | None:
    """Return the learning curve of the distance that a comparison has chosen.

    For large tables, it uses a stratified sample of the rows.

    Parameters
    ----------
    X, y : ndarray of shape (n_samples, n_features) and (n_samples,)
        Samples, and their classes or numbers.
    choice : Choice
        The chosen distance, and the time of its fits.
    options : RaceOptions
        Options of the pipeline and of the folds.
    seconds : float
        Approximate time.
    callback : callable, optional
        Called as ``callback(n_done, n_fits)`` after each fit.

    Returns
    -------
    LearningCurve or None
        None if there are too few rows, if a fit to few rows fails, or if it takes too long.
    """
    task, groups = options.task, options.groups
    labels = None if task.is_regression else y
    n_rows = _n_affordable_rows(len(y), choice, options.cv, seconds)
    n_classes = 0 if labels is None else len(np.unique(labels))
    if n_rows < max(MIN_ROWS, MIN_ROWS_PER_CLASS * n_classes):
        return None
    # Without groups, equal rows may be split: this was decided for the whole table.
    groups = np.arange(len(y)) if groups is None else groups
    order = nested_order(labels, groups, np.random.RandomState(options.random_state))
    rows = np.sort(order[:n_rows])
    model = options.pipeline(None if choice.chosen == BASELINE else choice.learner)
    limit = _TimeLimit(max(MAX_OVERRUN * seconds, SETTINGS.min_fit_limit_seconds), callback)
    for n_sizes in N_SIZES:
        try:
            return learning_curve(
                model,
                X[rows],
                y[rows],
                sizes=n_sizes,
                score=task.score,
                groups=groups[rows],
                cv=options.cv,
                random_state=options.random_state,
                callback=limit.check,
            )
        except _TimeLimitReached:
            continue
        except ValueError:  # a learner may need more rows than the smallest size
            return None
    return None


class _TimeLimit:
    """Stops a learning curve as soon as it is clear that it takes too long.

    Parameters
    ----------
    seconds : float
        Time for all attempts.
    callback : callable or None
        Called as ``callback(n_done, n_fits)`` after each fit.
    """

    def __init__(self, seconds: float, callback: Callable[[int, int], None] | None) -> None:
        self._seconds, self._callback, self._started = seconds, callback, perf_counter()

    def check(self, n_done: int, n_fits: int) -> None:
        """Raise if the fits would take too long. Later fits take no less time than earlier ones."""
        if self._callback is not None:
            self._callback(n_done, n_fits)
        used = perf_counter() - self._started
        if used * n_fits / n_done > self._seconds:
            self._seconds, self._started = self._seconds - used, perf_counter()
            raise _TimeLimitReached


def _n_affordable_rows(n_rows: int, choice: Choice, n_folds: int, seconds: float) -> int:
    """Return the number of rows for which the curve fits the time.

    The time of a fit grows with the number of pairs of rows.
    """
    fit_seconds = max(choice.fit_seconds[choice.chosen], SETTINGS.min_fit_seconds)
    all_fits = n_folds * fit_seconds * (1 + COST_OF_SMALLER_SIZES)
    affordable = choice.n_race_rows * (seconds / all_fits) ** 0.5
    return int(min(n_rows, MAX_ROWS, affordable))
