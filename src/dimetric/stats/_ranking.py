"""Average scores and average ranks of learners over data sets."""

from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_array

from dimetric._arguments import check_types

__all__ = ["Averages", "averages", "ranks"]

TIE_DECIMALS = 12  # relative to the largest score; further decimals may be rounding errors


class Averages(NamedTuple):
    """Average score and average rank (1 is best) of each learner over all data sets."""

    scores: np.ndarray
    ranks: np.ndarray


@check_types
def averages(scores: Any, *, greater_is_better: bool = True) -> Averages:
    """Return the average score and the average rank of each learner.

    Parameters
    ----------
    scores : array-like of shape (n_data_sets, n_learners)
        Scores, one row per data set.
    greater_is_better : bool, default=True
        Whether higher scores are better. Set it to False for times, for example.

    Examples
    --------
    >>> averages([[0.9, 0.8, 0.9], [0.7, 0.5, 0.6]])
    Averages(scores=array([0.8 , 0.65, 0.75]), ranks=array([1.25, 3.  , 1.75]))
    """
    table = _checked_table(scores)
    return Averages(
        np.mean(table, axis=0),
        np.mean(ranks(table, greater_is_better=greater_is_better), axis=0),
    )


@check_types
def ranks(scores: Any, *, greater_is_better: bool = True) -> np.ndarray:
    """Return the rank of each learner on each data set.

    The best rank is 1. Tied learners get the mean of their ranks. Scores that differ only by
    rounding errors are tied.

    Parameters
    ----------
    scores : array-like of shape (n_data_sets, n_learners)
        Scores, one row per data set.
    greater_is_better : bool, default=True
        Whether higher scores are better.

    Examples
    --------
    >>> ranks([[0.9, 0.8, 0.9]])
    array([[1.5, 3. , 1.5]])
    """
    from scipy.stats import rankdata  # slow to import, so only where needed

    table = _checked_table(scores)
    largest = np.max(np.abs(table), axis=1, keepdims=True)
    table = np.round(table / np.where(largest > 0, largest, 1.0), TIE_DECIMALS)
    return rankdata(-table if greater_is_better else table, axis=1)


def _checked_table(scores: Any) -> np.ndarray:
    table = check_array(scores, dtype=np.float64, ensure_all_finite=False, input_name="scores")
    not_finite = np.argwhere(~np.isfinite(table))
    if len(not_finite):
        row, column = not_finite[0].tolist()
        raise ValueError(
            f"scores[{row}, {column}] is not finite (non-finite values in total: "
            f"{len(not_finite)}). Averages require the score of every learner on every data set. "
            "Leave out these data sets or learners."
        )
    return table
