"""The models of a round of a race, and the results of the round."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from sklearn.pipeline import Pipeline

__all__ = ["Round", "RoundScores"]


@dataclass(frozen=True)
class Round:
    """The models of a round.

    Attributes
    ----------
    models, references : mapping of str to Pipeline
        The models of the learners, including the baseline, and the reference models.
    protected : collection of str
        Learners that are not dropped because of their scores.
    n_repeats : int
        Largest number of times that the rows are split into folds.
    n_done_before, n_to_follow : int
        Number of fits before this round, and after it (estimate), for the callback.
    """

    models: Mapping[str, Pipeline]
    references: Mapping[str, Pipeline] = field(default_factory=dict)
    protected: Collection[str] = ()
    n_repeats: int = 1
    n_done_before: int = 0
    n_to_follow: int = 0


class RoundScores(NamedTuple):
    """The results of a round.

    Attributes
    ----------
    scores, references : dict of str to ndarray of shape (n_scores,)
        Test scores of learners and of reference models in the same folds. Greater is better.
    fit_seconds : dict of str to float
        Mean time of a fit of each model with scores, and of those dropped to save time.
    dropped : dict of str to str
        A sentence that says why a model has no scores, by its name.
    had_no_time : list of str
        Names of the learners that were dropped to save time.
    slow_references : list of str
        Names of the reference models that were dropped to save time.
    overhead : float
        Time of a fit and of its scores, relative to the time of the fit.
    offsets : dict of str to float
        Mean score of each dropped learner, minus the mean of `scores` in the same folds.
    n_folds, n_done : int
        Number of scores of each model, and number of fits.
    """

    scores: dict[str, np.ndarray]
    references: dict[str, np.ndarray]
    fit_seconds: dict[str, float]
    dropped: dict[str, str]
    had_no_time: list[str]
    slow_references: list[str]
    overhead: float
    offsets: dict[str, float]
    n_folds: int
    n_done: int
