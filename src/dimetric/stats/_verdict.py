"""The result of a Bayesian test in one sentence."""

from dimetric._arguments import check_types
from dimetric.stats._bayes import Posterior

__all__ = ["verdict"]

CONFIDENT_PROBABILITY = 0.95  # below this probability a verdict is "inconclusive"
ROUNDING = 1e-9  # exact probabilities that differ by less are tied
TIE_STANDARD_ERRORS = 3  # probabilities that differ by fewer standard errors are tied


@check_types
def verdict(baseline: str, learner: str, posterior: Posterior) -> str:
    """Return a sentence that says whether a learner is better than a baseline.

    If no outcome has a probability of at least 0.95, the verdict is "inconclusive" and names the
    most likely outcome. It names several outcomes if the sampling error of the posterior cannot
    separate their probabilities. A probability below 0.95 is never shown as 95 %. If no outcome
    has a probability above 0.5, the verdict is "undecided".

    Parameters
    ----------
    baseline, learner : str
        Names of the first and the second learner of the test.
    posterior : Posterior
        Result of a test with the scores of the baseline as a and of the learner as b.

    Examples
    --------
    >>> import numpy as np
    >>> verdict("Euclidean", "NCA", Posterior(0.01, 0.02, 0.97, np.empty(0)))
    'NCA is better than Euclidean (97 % probability).'
    >>> verdict("Euclidean", "NCA", Posterior(0.1, 0.6, 0.3, np.empty(0)))
    'Inconclusive: NCA and Euclidean are probably equivalent (60 %).'
    >>> verdict("Euclidean", "NCA", Posterior(0.25, 0.35, 0.4, np.empty(0)))
    'Undecided: NCA may be worse than Euclidean (25 %), equivalent (35 %) or better (40 %).'
    """
    outcomes = (
        (f"{learner} is", f"worse than {baseline}", posterior.left),
        (f"{learner} and {baseline} are", "equivalent", posterior.rope),
        (f"{learner} is", f"better than {baseline}", posterior.right),
    )
    subject, predicate, probability = max(outcomes, key=lambda outcome: outcome[2])
    percent = _percent(probability)
    if probability >= CONFIDENT_PROBABILITY:
        return f"{subject} {predicate} ({percent} probability)."
    # Samples with one column belong to a test whose probabilities are exact.
    n_samples = len(posterior.samples) if posterior.samples.ndim == 2 else 0
    margin = TIE_STANDARD_ERRORS * (2 * probability / n_samples) ** 0.5 if n_samples else ROUNDING
    tied = [f"{start} {end}" for start, end, other in outcomes if other >= probability - margin]
    if len(tied) > 1:
        likely = "about equally likely" if n_samples else "equally likely"
        return f"Inconclusive: it is {likely} that {' and that '.join(tied)} ({percent} each)."
    if probability > 0.5:
        return f"Inconclusive: {subject} probably {predicate} ({percent})."
    left, rope, right = (_percent(each) for _, _, each in outcomes)
    return (
        f"Undecided: {learner} may be worse than {baseline} ({left}), equivalent ({rope}) or "
        f"better ({right})."
    )


def _percent(probability: float) -> str:
    """Return a whole percentage, never rounded up to ``CONFIDENT_PROBABILITY``."""
    percent = round(100 * probability)
    if probability < CONFIDENT_PROBABILITY <= percent / 100:
        percent -= 1
    return f"{percent} %"
