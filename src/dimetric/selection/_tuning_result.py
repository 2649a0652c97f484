"""What a search for parameters found, in the words of scikit-learn's searches."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

__all__ = ["TuningResult"]


@dataclass(frozen=True, eq=False)
class TuningResult:
    """The best parameters, and the scores of all others.

    Attributes
    ----------
    best_params_ : dict
        The best parameters; of equally good ones, the first.
    best_score_ : float
        Their criterion, the mean over all splits.
    best_estimator_ : estimator
        The estimator with the best parameters, fitted to all samples.
    cv_results_ : dict of str to list or ndarray
        ``params``, a list of all parameters that were tried; and one number for each of them:
        ``mean_test_score``, ``std_test_score``, and ``split0_test_score``,
        ``split1_test_score``, ... NaN where a fit failed. ``pandas.DataFrame`` takes it.
    """

    best_params_: dict[str, Any]
    best_score_: float
    best_estimator_: Any
    cv_results_: dict[str, Any] = field(repr=False)

    def __repr__(self) -> str:
        return f"TuningResult(best_params_={self.best_params_}, best_score_={self.best_score_:.4f})"


def cv_results(params: list[dict[str, Any]], scores: np.ndarray) -> dict[str, Any]:
    """Return a table of scores.

    Parameters
    ----------
    params : list of dict
        The parameters that were tried.
    scores : ndarray of shape (n_params, n_splits)
        Their scores.

    Examples
    --------
    >>> cv_results([{"reg": 1}], np.array([[0.5, 1.0]]))["mean_test_score"]
    array([0.75])
    """
    by_split = {f"split{i}_test_score": column for i, column in enumerate(scores.T)}
    means, deviations = np.mean(scores, axis=1), np.std(scores, axis=1)
    return {
        "params": params,
        **by_split,
        "mean_test_score": means,
        "std_test_score": deviations,
    }


def best_index(scores: np.ndarray, greater_is_better: bool) -> int:
    """Return the row of the best mean score; of equal ones the first, and none with NaN.

    Examples
    --------
    >>> best_index(np.array([[0.1, np.nan], [0.4, 0.5], [0.5, 0.4]]), True)
    1
    """
    means = np.mean(scores, axis=1)
    if np.all(np.isnan(means)):
        raise ValueError("No parameters could be fitted in all folds; the warnings above say why.")
    return int(np.nanargmax(means) if greater_is_better else np.nanargmin(means))
