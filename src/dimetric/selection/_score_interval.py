"""Interval of the mean score of a cross-validation."""

import numpy as np
from scipy.stats import beta, t

__all__ = ["class_score_deviations", "mean_deviation", "score_interval"]

N_DRAWS = 2000  # of the recalls of all classes


def mean_deviation(scores: np.ndarray, test_fraction: float) -> np.ndarray:
    r"""Return the standard deviation of the mean score over folds.

    Training samples of different folds overlap, so the scores are correlated. The corrected
    variance [1]_ of their mean is

    .. math:: \left(\frac1J + \frac{\rho}{1 - \rho}\right) S^2

    for J folds with the fraction :math:`\rho` of test samples, where :math:`S^2` is the variance of
    the scores.

    Parameters
    ----------
    scores : ndarray of shape (..., n_folds)
        Scores of at least two folds.
    test_fraction : float in (0, 1)
        The fraction :math:`\rho`.

    References
    ----------
    .. [1] C. Nadeau, Y. Bengio, "Inference for the generalization error", Machine Learning 52,
       2003.

    Examples
    --------
    >>> round(float(mean_deviation(np.array([0.8, 1.0]), 0.2)), 4)
    0.1225
    """
    factor = 1 / scores.shape[-1] + test_fraction / (1 - test_fraction)
    return np.sqrt(factor) * np.std(scores, axis=-1, ddof=1)


def score_interval(
    scores: np.ndarray,
    test_fraction: float,
    *,
    confidence: float = 0.95,
    n_tested: int | None = None,
) -> np.ndarray:
    """Return an interval of the mean score, which is wider than that of independent scores.

    The interval is that of Student's t distribution with the corrected deviation of
    :func:`mean_deviation`. For an accuracy, it also contains the credible interval of a binomial
    proportion with Jeffreys' prior. So it is not a single point if all scores are equal.

    Parameters
    ----------
    scores : ndarray of shape (..., n_folds)
        Scores of the folds.
    test_fraction : float in (0, 1)
        Fraction of the samples that each fold tests.
    confidence : float in (0, 1), default=0.95
        Probability that the interval contains the mean.
    n_tested : int, optional
        Number of different samples that were tested, if the scores are accuracies.

    Returns
    -------
    ndarray of shape (..., 2)
        The lower and the upper limit.

    Examples
    --------
    >>> score_interval(np.ones(5), 0.2, n_tested=50).round(2)
    array([0.95, 1.  ])
    """
    mean, tails = scores.mean(axis=-1), np.array([0.5 - confidence / 2, 0.5 + confidence / 2])
    deviation = mean_deviation(scores, test_fraction)
    limits = mean[..., None] + deviation[..., None] * t.ppf(tails, scores.shape[-1] - 1)
    if n_tested is None:
        return limits
    n_right = np.clip(mean, 0, 1)[..., None] * n_tested
    binomial = beta.ppf(tails, n_right + 0.5, n_tested - n_right + 0.5)
    low = np.minimum(limits[..., 0], binomial[..., 0])
    high = np.maximum(limits[..., 1], binomial[..., 1])
    return np.clip(np.stack([low, high], axis=-1), 0, 1)


def class_score_deviations(
    confusion: np.ndarray, score: str, *, confidence: float = 0.95
) -> tuple[float, float]:
    """Return how far a mean over classes may be below and above its value, given few test rows.

    The recall of each class is a binomial proportion with Jeffreys' prior. Wrong predictions are
    distributed over the other classes as in the confusion matrix. The limits are quantiles of
    random draws, with a fixed seed.

    Parameters
    ----------
    confusion : ndarray of shape (n_classes, n_classes)
        Number of rows of the class in the row that are predicted as the class in the column.
    score : {"balanced_accuracy", "f1_macro"}
        The score.
    confidence : float in (0, 1), default=0.95
        Probability of the interval.

    Examples
    --------
    >>> low, high = class_score_deviations(np.diag([980, 20]), "balanced_accuracy")
    >>> round(low, 2), high
    (0.06, 0.0)
    """
    counts = confusion[confusion.sum(axis=1) > 0]
    columns = np.flatnonzero(confusion.sum(axis=1) > 0)
    sizes, right = counts.sum(axis=1), counts[np.arange(len(columns)), columns]
    wrong = counts.astype(np.float64)
    wrong[np.arange(len(columns)), columns] = 0
    rest = wrong.sum(axis=1, keepdims=True)
    # Without an error, any other class is as likely.
    wrong = np.where(rest > 0, wrong / np.maximum(rest, 1e-300), 1 / max(1, len(confusion) - 1))
    wrong[np.arange(len(columns)), columns] = 0
    rng = np.random.default_rng(0)
    recalls = rng.beta(right + 0.5, sizes - right + 0.5, (N_DRAWS, len(sizes)))
    recalls = np.vstack([right / sizes, recalls])  # the first row is the value itself
    values = recalls
    if score == "f1_macro":
        n_wrong = ((1 - recalls) * sizes) @ wrong[:, columns]
        values = 2 * recalls * sizes / (recalls * sizes + sizes + n_wrong)
    means = values.mean(axis=1)
    low, high = np.quantile(means[1:], [0.5 - confidence / 2, 0.5 + confidence / 2])
    return max(0.0, float(means[0] - low)), max(0.0, float(high - means[0]))
