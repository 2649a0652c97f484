"""Cross-validation over pairs or triplets.

The pairs are split into folds, and X stays whole. The cross-validation of scikit-learn splits X,
which would invalidate the row indices in the pairs.
"""

from collections.abc import Callable, Iterable, Mapping
from numbers import Integral
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import Pipeline

from dimetric._arguments import check_types
from dimetric._arrays.namespaces import Array
from dimetric.selection._cross_validation import CrossValidation
from dimetric.selection._tuning_result import TuningResult, best_index, cv_results
from dimetric.supervision.pairs import Pairs
from dimetric.supervision.triplets import Triplets

# scorer(learner, X, constraints) -> float, greater is better
Scorer = Callable[[Any, Array, Any], float]


@check_types
def cross_validate_pairs(
    learner: BaseEstimator,
    X: Array,
    pairs: Pairs | Triplets,
    *,
    cv: Any = 5,
    scoring: str | Scorer | None = None,
    groups: Any = None,
    share_samples: bool = False,
    random_state: Any = None,
) -> CrossValidation:
    """Cross-validate a learner over folds of pairs or triplets.

    Parameters
    ----------
    learner : estimator
        A learner that can be fitted to pairs or triplets, or a pipeline that ends with one. The
        other steps of a pipeline are fitted to all of X.
    X : array-like of shape (n_samples, n_features)
        All samples. None if the pairs contain vectors instead of row indices.
    pairs : Pairs or Triplets
        Pairs or triplets to split into training and test sets.
    cv : int or iterable of (train, test), default=5
        Number of folds, or the training and test pairs of each fold.
    scoring : {"roc_auc", "accuracy"} or callable, optional
        For pairs, the area under the ROC curve (the default), or the accuracy at the threshold
        that is best on the training pairs. For triplets, the accuracy. A callable
        ``scoring(learner, X, pairs)`` returns a number, and greater is better.
    groups : array-like of shape (n_samples,), optional
        Group of each sample. Samples of one group never occur in both training and test pairs.
        Ignored if `cv` is not an int.
    share_samples : bool, default=False
        Whether a sample may occur in both training and test pairs. See :meth:`Pairs.split`.
    random_state : int, RandomState or None
        Random seed of the folds.

    Returns
    -------
    CrossValidation
        Scores on the training and test pairs, and fit times.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from dimetric import LDML, Covariance
    >>> X, y = load_wine(return_X_y=True)
    >>> Z = Covariance().fit_transform(X)
    >>> pairs = Pairs.from_labels(y, 2000, random_state=0)
    >>> scores = cross_validate_pairs(LDML(reg=0.1), Z, pairs, cv=3, random_state=0)
    >>> bool(scores.test_score.min() > 0.9)
    True
    """
    score = _scorer(scoring, pairs)
    folds = _folds(pairs, cv, groups=groups, share_samples=share_samples, random_state=random_state)
    before, last = _steps(learner)
    Z = _fit_before(before, pairs.points if X is None else X)
    rows = []
    for number, (train, test) in enumerate(folds, start=1):
        _require_both_kinds(train, f"The training pairs of fold {number}")
        if scoring in (None, "roc_auc"):
            _require_both_kinds(test, f"The test pairs of fold {number}")
        started = perf_counter()
        fitted = _fitted(last, Z, train)
        seconds = perf_counter() - started
        rows.append((score(fitted, Z, train), score(fitted, Z, test), seconds))
    return CrossValidation(*np.array(rows, dtype=np.float64).reshape(-1, 3).T)


@check_types
def tune_pairs(
    learner: BaseEstimator,
    X: Array,
    pairs: Pairs | Triplets,
    param_grid: Mapping[str, Any] | Iterable[Mapping[str, Any]],
    *,
    cv: Any = 5,
    scoring: str | Scorer | None = None,
    groups: Any = None,
    share_samples: bool = False,
    random_state: Any = None,
) -> TuningResult:
    """Choose parameters by cross-validation over pairs or triplets.

    All candidates are scored in the same folds.

    Parameters
    ----------
    learner, X, pairs, cv, scoring, groups, share_samples, random_state
        As in :func:`cross_validate_pairs`.
    param_grid : mapping of names to sequences, or sequence of such mappings
        Values of each parameter, as in scikit-learn's ``ParameterGrid``.

    Returns
    -------
    TuningResult
        ``best_estimator_`` is fitted to all pairs and has the threshold that is best on them.
        ``cv_results_`` also holds ``mean_train_score`` and ``mean_fit_time``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dimetric import LDML
    >>> X, y = load_iris(return_X_y=True)
    >>> pairs = Pairs.from_labels(y, 600, random_state=0)
    >>> result = tune_pairs(LDML(), X, pairs, {"reg": [0.01, 100.0]}, cv=2, random_state=0)
    >>> result.best_params_, len(result.cv_results_["params"])
    ({'reg': 0.01}, 2)
    """
    folds = _folds(pairs, cv, groups=groups, share_samples=share_samples, random_state=random_state)
    params = list(ParameterGrid(param_grid))
    if not params:
        raise ValueError("param_grid is empty. Pass at least one value of a parameter.")
    validations = [
        cross_validate_pairs(clone(learner).set_params(**each), X, pairs, cv=folds, scoring=scoring)
        for each in params
    ]
    scores = np.stack([each.test_score for each in validations])
    table = cv_results(params, scores)
    table["mean_train_score"] = np.array([np.mean(each.train_score) for each in validations])
    table["mean_fit_time"] = np.array([np.mean(each.fit_time) for each in validations])
    best = best_index(scores, True)
    before, last = _steps(clone(learner).set_params(**params[best]))
    Z = _fit_before(before, pairs.points if X is None else X)
    fitted = _fitted(last, Z, pairs)
    if before is not None:
        fitted = Pipeline([*before.steps, (learner.steps[-1][0], fitted)])
    return TuningResult(params[best], float(table["mean_test_score"][best]), fitted, table)


def _folds(pairs: Any, cv: Any, **split_by: Any) -> list[tuple[Any, Any]]:
    """Return the training and test pairs of each fold. `split_by` holds arguments of split."""
    if not isinstance(pairs, Pairs | Triplets):
        raise TypeError(f"pairs must be Pairs or Triplets, got {type(pairs).__name__}.")
    if isinstance(cv, Integral):
        cv = pairs.split(int(cv), **split_by)
    elif not isinstance(cv, Iterable):
        raise TypeError(
            f"cv={cv!r} must be a number of folds, or an iterable of the training and test pairs "
            "of each fold. Splitters of scikit-learn split X instead of pairs."
        )
    return list(cv)


def _require_both_kinds(pairs: Pairs | Triplets, name: str) -> None:
    """Raise if the similar or the dissimilar pairs are missing. Triplets always pass."""
    if isinstance(pairs, Pairs) and 0 in (len(pairs.similar), len(pairs.dissimilar)):
        raise ValueError(
            f"{name} must include both similar and dissimilar pairs, not {pairs!r}. Use fewer "
            "folds, or set share_samples=True."
        )


def _steps(learner: Any) -> tuple[Any, Any]:
    """Return the steps before the learner, as a pipeline or None, and the learner itself."""
    if not isinstance(learner, Pipeline):
        return None, learner
    return (clone(learner[:-1]) if len(learner) > 1 else None), learner[-1]


def _fit_before(before: Any, X: Array) -> Array:
    """Fit the steps before the learner and return the transformed X."""
    return X if before is None else before.fit_transform(X)


def _fitted(learner: Any, X: Array, pairs: Pairs | Triplets) -> Any:
    """Return a fitted copy. After a fit to pairs, its threshold is the best one on these pairs."""
    if isinstance(pairs, Triplets):
        return clone(learner).fit(X, triplets=pairs)
    return clone(learner).fit(X, pairs=pairs).calibrate_threshold(pairs, X)


def _scorer(scoring: str | Scorer | None, pairs: Pairs | Triplets) -> Any:
    """Return the scoring function, which takes a learner, X, and pairs or triplets."""
    if callable(scoring):
        return scoring
    names = ("roc_auc", "accuracy") if isinstance(pairs, Pairs) else ("accuracy",)
    scoring = names[0] if scoring is None else scoring
    if scoring not in names:
        raise ValueError(f"scoring={scoring!r} must be one of {', '.join(names)}, or a callable.")
    if isinstance(pairs, Triplets):
        return lambda learner, X, triplets: learner.score_triplets(triplets, X)
    if scoring == "roc_auc":
        return lambda learner, X, pairs: learner.score_pairs(pairs, X)
    return _accuracy


def _accuracy(learner: Any, X: Array, pairs: Pairs) -> float:
    return float(np.mean(learner.predict_pairs(pairs, X) == pairs.is_similar))
