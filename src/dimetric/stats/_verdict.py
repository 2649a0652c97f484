"""The result of a Bayesian test in one sentence."""

from dimetric.stats._bayes import Posterior

__all__ = ["verdict"]

CONFIDENT_PROBABILITY = 0.95  # from here on a verdict is stated without "undecided"
TIE_STANDARD_ERRORS = 3  # probabilities that differ by less than the error of the draws are tied


def verdict(baseline: str, learner: str, posterior: Posterior) -> str:
    """Say in one sentence whether a learner is better than a baseline.

    The verdict is plain from a probability of 0.95 on. Below that it is "undecided", and names
    the most likely outcome, or several if their probabilities differ by no more than the error
    of the posterior's draws.

    Parameters
    ----------
    baseline, learner : str
        Names of the first and of the second learner of the test.
    posterior : Posterior
        Result of a test of the baseline's scores (a) and the learner's (b).

    Examples
    --------
    >>> import numpy as np
    >>> verdict("Euclidean", "NCA", Posterior(0.01, 0.02, 0.97, np.empty(0)))
    'NCA is better than Euclidean with probability 0.97.'
    >>> verdict("Euclidean", "NCA", Posterior(0.1, 0.6, 0.3, np.empty(0)))
    'Undecided; most likely NCA does as well as Euclidean, with probability 0.60.'
    """
    outcomes = {
        f"{learner} is worse than {baseline}": posterior.left,
        f"{learner} does as well as {baseline}": posterior.rope,
        f"{learner} is better than {baseline}": posterior.right,
    }
    outcome, probability = max(outcomes.items(), key=lambda each: each[1])
    if probability >= CONFIDENT_PROBABILITY:
        return f"{outcome} with probability {probability:.2f}."
    # Draws of one column come with exact probabilities.
    n_draws = len(posterior.samples) if posterior.samples.ndim == 2 else 0
    error = TIE_STANDARD_ERRORS * (2 * probability / n_draws) ** 0.5 if n_draws else 0.0
    tied = [each for each, other in outcomes.items() if other >= probability - error]
    if len(tied) > 1:
        likely = "equally likely" if not n_draws else "equally likely within the error of the draws"
        return f"Undecided; {likely}: {', '.join(tied)}; with probability {probability:.2f} each."
    return f"Undecided; most likely {outcome}, with probability {probability:.2f}."
