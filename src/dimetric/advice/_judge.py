"""The Bayesian tests of the final."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from dimetric.advice._final import FinalScores
from dimetric.report._records import BASELINE
from dimetric.report._task import Task
from dimetric.stats._bayes import Posterior, correlated_t_test

__all__ = ["Judgement", "judge"]


class Judgement(NamedTuple):
    """The results of the Bayesian tests.

    Attributes
    ----------
    posterior : Posterior
        Test of the baseline (left) against the best learner (right), where "right" is at most
        `better_than_guess`. So the probabilities may sum to less than 1. What is missing is the
        probability of a learner that is better than the baseline, but not than the guess.
    better_than_guess : float
        Probability that the best learner is better than a guess without features.
    reference_posterior : Posterior or None
        Test of the better distance (left) against the reference model (right).
    """

    posterior: Posterior
    better_than_guess: float
    reference_posterior: Posterior | None


def judge(
    final: FinalScores, best: str, y: np.ndarray, task: Task, rope: float, seed: int
) -> Judgement:
    """Test the best learner against the baseline and a guess, and a reference against both.

    The guess is the largest class, or the mean of the numbers. Distances that average over more
    samples come closer to it. On noise, this alone makes a learner better than the Euclidean
    distance. Therefore, the probability of "better" is at most that of being better than the guess.

    Parameters
    ----------
    final : FinalScores
        Test scores of the baseline, the best learner, and the reference model if there is one.
        Greater is better.
    best : str
        Name of the best learner.
    y : ndarray
        Classes or numbers of the final.
    task : Task
        How predictions are scored.
    rope : float
        The largest difference of equivalent scores.
    seed : int
        Seed of the tests.
    """
    scores = final.scores

    def test(a: np.ndarray, b: np.ndarray, rope: float) -> Posterior:
        return correlated_t_test(a, b, rope, seed, n_repeats=final.n_repeats)

    posterior = test(scores[BASELINE], scores[best], rope)
    guess = task.guess_score(y) * (1 if task.greater_is_better else -1)
    # If one class is rare, even a good learner beats the guess only by little.
    than_guess = test(np.full(len(scores[best]), guess), scores[best], 0.1 * rope).right
    posterior = replace(posterior, right=min(posterior.right, than_guess))
    reference = next((each for each in scores if each not in (BASELINE, best)), None)
    if reference is None:
        return Judgement(posterior, than_guess, None)
    distance = max((BASELINE, best), key=lambda name: scores[name].mean())
    return Judgement(posterior, than_guess, test(scores[distance], scores[reference], rope))
