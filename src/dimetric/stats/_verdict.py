"""What a Bayesian comparison of two learners says, in a sentence."""

from dimetric.stats._bayes import Posterior

__all__ = ["verdict"]

DECISIVE_PROBABILITY = 0.95  # from which on a verdict is stated without "undecided"
STANDARD_ERRORS = 3  # of the draws, within which two probabilities count as equal


def verdict(baseline: str, learner: str, posterior: Posterior) -> str:
    """Return the most probable outcome of a comparison as a sentence.

    Parameters
    ----------
    baseline, learner : str
        Names of the two learners, a and b of the test.
    posterior : Posterior
        Result of a test of a and b.

    Returns
    -------
    str
        The outcome with its probability. It begins with "Undecided" if no outcome has a
        probability of at least 0.95.

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
    if probability >= DECISIVE_PROBABILITY:
        return f"{outcome} with probability {probability:.2f}."
    # Samples of one column belong to a test whose probabilities are exact.
    n_draws = len(posterior.samples) if posterior.samples.ndim == 2 else 0
    error = STANDARD_ERRORS * (2 * probability / n_draws) ** 0.5 if n_draws else 0.0
    equal = [each for each, other in outcomes.items() if other >= probability - error]
    if len(equal) > 1:
        likely = "equally likely" if not n_draws else "equally likely within the error of the draws"
        return f"Undecided; {likely}: {', '.join(equal)}; with probability {probability:.2f} each."
    return f"Undecided; most likely {outcome}, with probability {probability:.2f}."
