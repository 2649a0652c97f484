"""Result of a parameter search, with the attribute names of scikit-learn's searches."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

__all__ = ["TuningResult"]


@dataclass(frozen=True, eq=False)
class TuningResult:
    """Result of a parameter search: the best candidate, and the scores of all candidates.

    Attributes
    ----------
    best_params_ : dict
        Parameters of the best candidate, the first one if several have the same score.
    best_score_ : float
        Mean score of the best candidate over all splits.
    best_estimator_ : estimator
        Estimator with the best parameters, fitted to all samples.
    cv_results_ : dict of str to list or ndarray
        ``params`` is a list of the parameters of all candidates. ``mean_test_score``,
        ``std_test_score``, and ``split0_test_score``, ``split1_test_score``, ... hold one number
        per candidate, NaN if a fit failed. The dict can be passed to ``pandas.DataFrame``.
    """

    best_params_: dict[str, Any]
    best_score_: float
    best_estimator_: Any
    cv_results_: dict[str, Any] = field(repr=False)

    def __repr__(self) -> str:
        return f"TuningResult(best_params_={self.best_params_}, best_score_={self.best_score_:.4f})"


def cv_results(params: list[dict[str, Any]], scores: np.ndarray) -> dict[str, Any]:
    """Return a table of scores in the format of ``cv_results_``.

    Parameters
    ----------
    params : list of dict
        Parameters of each candidate.
    scores : ndarray of shape (n_candidates, n_splits)
        Score of each candidate in each split.

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
    """Return the row with the best mean score.

    If rows have the same mean, the first is returned. NaN is never best.

    Examples
    --------
    >>> best_index(np.array([[0.1, np.nan], [0.4, 0.5], [0.5, 0.4]]), True)
    1
    """
    means = np.mean(scores, axis=1)
    if np.all(np.isnan(means)):
        raise ValueError(
            "No candidate could be fitted in all folds. See the warnings above for the reasons."
        )
    return int(np.nanargmax(means) if greater_is_better else np.nanargmin(means))
