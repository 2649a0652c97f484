"""Choose the best learner of a race, and estimate how much luck helped it."""

from collections.abc import Collection, Mapping

import numpy as np

from dimetric.report._records import BASELINE

__all__ = ["FAVOURITE", "best_learner", "selection_bias"]

# The candidate that is best on average over many data sets.
FAVOURITE = "Ensemble"
# The best of about twenty learners often leads by more than one standard error by luck alone.
CLEAR_STANDARD_ERRORS = 2.0


def best_learner(scores: Mapping[str, np.ndarray], n_folds: int) -> str:
    r"""Return the name of the learner with the best mean score in the folds of the race.

    Scores of few folds are noisy, so the favourite is returned unless the best learner's lead over
    it exceeds two standard errors of

    .. math:: s \sqrt{1 / J + 1 / (K - 1)}

    Here s is the standard deviation of the J differences in repeats of K folds. The second term
    corrects for the training samples that folds have in common [1]_.

    Parameters
    ----------
    scores : mapping of str to ndarray of shape (n_scores,)
        Test scores of all learners in the same folds. Greater is better.
    n_folds : int
        Number of folds K of one repeat.

    References
    ----------
    .. [1] C. Nadeau, Y. Bengio, "Inference for the generalization error", Machine Learning 52,
       2003.

    Examples
    --------
    >>> scores = {"NCA": np.array([0.9, 0.7, 0.8]), "Ensemble": np.array([0.8, 0.8, 0.7])}
    >>> best_learner(scores, 3)
    'Ensemble'
    >>> best_learner(scores | {"LDA": np.array([0.9, 0.9, 0.9])}, 3)
    'LDA'
    """
    best = max((each for each in scores if each != BASELINE), key=lambda each: scores[each].mean())
    if FAVOURITE not in scores:
        return best
    lead = scores[best] - scores[FAVOURITE]
    standard_error = np.sqrt(lead.var(ddof=1) * _variance_factor(len(lead), n_folds))
    is_clear = lead.mean() > CLEAR_STANDARD_ERRORS * standard_error
    return best if is_clear else FAVOURITE


def selection_bias(
    scores: Mapping[str, np.ndarray],
    best: str,
    n_folds: int,
    offsets: Collection[float] = (),
) -> float:
    r"""Return by how much the mean score of the best learner is too high because it was chosen.

    The mean scores of the learners are shrunk towards their common mean, as in an empirical Bayes
    estimate. The bias is the part of the best learner's lead that is lost:

    .. math:: b = \min(1, v / V) (\bar x_{best} - \bar x)

    V is the variance of the learners' mean scores, and v the part of it that noise explains: the
    variance of the scores that remains when the means of learners and of folds are removed, times
    :math:`1 / J + 1 / (K - 1)` for J scores in repeats of K folds. If all other learners were
    dropped early, the noise is that of the best learner and the baseline. The bias is never
    negative. It is 0 for a single learner, and for the favourite, which was not chosen by its
    score.

    Parameters
    ----------
    scores : mapping of str to ndarray of shape (n_scores,)
        Test scores of all learners in the same folds. Greater is better.
    best : str
        Name of the best learner.
    n_folds : int
        Number of folds K of one repeat.
    offsets : collection of float
        Mean scores of learners that were dropped early, minus the mean score of `scores` in the
        same folds.

    Examples
    --------
    >>> scores = {"A": np.array([0.9, 0.7, 0.8]), "B": np.array([0.6, 0.8, 0.7])}
    >>> round(selection_bias(scores, "A", 3), 2)  # the learners differ by luck alone
    0.05
    >>> round(selection_bias({"A": np.array([0.9, 0.8]), "B": np.array([0.5, 0.4])}, "A", 2), 2)
    0.0
    """
    table = np.array([each for name, each in scores.items() if name != BASELINE])
    n_learners, n_scores = table.shape
    if n_learners + len(offsets) == 1 or best == FAVOURITE:
        return 0.0
    means = table.mean(axis=1)
    is_alone = n_learners == 1 and BASELINE in scores
    of_noise = _noise_variance(np.vstack([table, scores[BASELINE]]) if is_alone else table)
    of_noise *= _variance_factor(n_scores, n_folds)
    all_means = np.append(means, table.mean() + np.array(list(offsets)))
    variance, lead = all_means.var(ddof=1), scores[best].mean() - all_means.mean()
    return max(0.0, float(lead * (of_noise / variance if of_noise < variance else 1.0)))


def _noise_variance(table: np.ndarray) -> float:
    """Return the variance that remains when the means of rows and of columns are removed."""
    noise = table - table.mean(axis=1, keepdims=True) - table.mean(axis=0) + table.mean()
    n_rows, n_columns = table.shape
    return float(np.sum(noise**2) / (max(1, n_rows - 1) * (n_columns - 1)))


def _variance_factor(n_scores: int, n_folds: int) -> float:
    """Return the variance of a mean over folds, relative to the variance of one fold."""
    return 1 / n_scores + 1 / (n_folds - 1)
