"""Estimate how optimistic the score of a learner is if the same rows chose the learner."""

from collections.abc import Mapping

import numpy as np

from dimetric.report._records import BASELINE

__all__ = ["selection_bias"]


def selection_bias(scores: Mapping[str, np.ndarray], best: str) -> float:
    """Return by how much the best learner's mean score is too high because it was chosen by it.

    In each fold, the best learner is compared with the learner that is best in the other folds,
    which the scores of this fold did not choose. On noise, this difference is the luck of the
    best learner. If one learner is best in all folds, it is 0.

    Parameters
    ----------
    scores : mapping of str to ndarray of shape (n_folds,)
        Test scores of all learners. Greater is better.
    best : str
        Name of the learner with the best mean score.

    Examples
    --------
    >>> scores = {"A": np.array([0.9, 0.7, 0.8]), "B": np.array([0.6, 0.8, 0.7])}
    >>> round(selection_bias(scores, "A"), 2)
    0.1
    """
    table = np.array([each for name, each in scores.items() if name != BASELINE])
    in_other_folds = table.sum(axis=1, keepdims=True) - table
    chosen = in_other_folds.argmax(axis=0)
    unbiased = table[chosen, np.arange(table.shape[1])]
    return max(0.0, float(np.mean(scores[best] - unbiased)))
