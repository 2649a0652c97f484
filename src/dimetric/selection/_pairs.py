"""Cross-validation over pairs or triplets, which are split while the samples X stay whole.

scikit-learn's own splits X, and row numbers would name other samples then.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from numbers import Integral
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.model_selection import ParameterGrid
from sklearn.pipeline import Pipeline

from dimetric._arrays.namespaces import Array
from dimetric.supervision.pairs import Pairs
from dimetric.supervision.triplets import Triplets

# scorer(learner, X, constraints) -> float, the higher the better
Scorer = Callable[[Any, Array, Any], float]
Folds = Iterable[tuple[Any, Any]]


def cross_validate_pairs(
    learner: BaseEstimator,
    X: Array,
    pairs: Pairs | Triplets,
    *,
    cv: int | Folds = 5,
    scoring: str | Scorer | None = None,
    shared: bool = False,
    random_state: Any = None,
) -> dict[str, np.ndarray]:
    """Fit to some pairs and score by the others, in turn.

    Parameters
    ----------
    learner : estimator
        A learner of pairs, or of triplets; or a pipeline that ends with one, whose other steps
        are fitted to all of X.
    X : array-like of shape (n_samples, n_features)
        The samples, all of them; None if the pairs hold vectors of their own.
    pairs : Pairs or Triplets
        What to learn from and to score by.
    cv : int or iterable of (train, test), default=5
        Number of folds, or these themselves.
    scoring : {"roc_auc", "accuracy"} or callable, optional
        Of pairs the area under the ROC curve (the default), or the share judged right at the
        threshold that is best for those learned from; of triplets the share judged right.
        ``scoring(learner, X, pairs)`` is the higher the better.
    shared : bool, default=False
        Whether samples may be met both in training and in test, see :meth:`Pairs.split`.
    random_state : int, RandomState or None
        Of the folds.

    Returns
    -------
    results : dict of ndarrays of shape (n_splits,)
        ``test_score``, ``train_score``, and ``fit_time`` in seconds.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from dimetric import LDML, Covariance
    >>> X, y = load_wine(return_X_y=True)
    >>> Z = Covariance().fit_transform(X)
    >>> pairs = Pairs.from_labels(y, 2000, random_state=0)
    >>> scores = cross_validate_pairs(LDML(reg=0.1), Z, pairs, cv=3, random_state=0)["test_score"]
    >>> bool(scores.min() > 0.9)
    True
    """
    score = _scorer(scoring, pairs)
    folds = _folds(pairs, cv, shared=shared, random_state=random_state)
    before, last = _steps(learner)
    Z = _seen(before, pairs.points if X is None else X)
    found: dict[str, list[float]] = {"test_score": [], "train_score": [], "fit_time": []}
    for number, (train, test) in enumerate(folds, start=1):
        _refuse_one_kind(train, f"Fold {number} has {train!r} to learn from")
        if scoring in (None, "roc_auc"):
            _refuse_one_kind(test, f"Fold {number} has {test!r} to judge by")
        started = perf_counter()
        fitted = _fitted(last, Z, train)
        found["fit_time"].append(perf_counter() - started)
        found["train_score"].append(score(fitted, Z, train))
        found["test_score"].append(score(fitted, Z, test))
    return {name: np.asarray(values) for name, values in found.items()}


@dataclass(frozen=True)
class PairSearch:
    """What a search found.

    Attributes
    ----------
    learner : estimator
        Fitted to all pairs, with the best parameters, and with the best threshold for them.
    params : dict
        These parameters.
    score : float
        Their mean score in test.
    table : list of dict
        All candidates: ``params``, and mean ``test_score``, ``train_score`` and ``fit_time``.
    """

    learner: Any
    params: dict[str, Any]
    score: float
    table: list[dict[str, Any]]


def search_pairs(
    learner: BaseEstimator,
    X: Array,
    pairs: Pairs | Triplets,
    params: Mapping[str, Any] | Iterable[Mapping[str, Any]],
    *,
    cv: int | Folds = 5,
    scoring: str | Scorer | None = None,
    shared: bool = False,
    random_state: Any = None,
) -> PairSearch:
    """Find the parameters that score best by pairs that were not learned from.

    All candidates meet the same folds. Of equal ones the first is the best.

    Parameters
    ----------
    learner, X, pairs, cv, scoring, shared, random_state
        As those of :func:`cross_validate_pairs`.
    params : dict of lists, or several
        Values of each parameter, as for scikit-learn's ``ParameterGrid``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from dimetric import LDML
    >>> X, y = load_iris(return_X_y=True)
    >>> pairs = Pairs.from_labels(y, 600, random_state=0)
    >>> found = search_pairs(LDML(), X, pairs, {"reg": [0.01, 100.0]}, cv=2, random_state=0)
    >>> found.params, len(found.table)
    ({'reg': 0.01}, 2)
    """
    folds = _folds(pairs, cv, shared=shared, random_state=random_state)
    table = []
    for candidate in ParameterGrid(params):
        tried = clone(learner).set_params(**candidate)
        scores = cross_validate_pairs(tried, X, pairs, cv=folds, scoring=scoring)
        means = {name: float(np.mean(values)) for name, values in scores.items()}
        table.append({"params": candidate, **means})
    if not table:
        raise ValueError("params holds no candidate: name at least one value of a parameter.")
    best = max(table, key=lambda row: row["test_score"])
    before, last = _steps(clone(learner).set_params(**best["params"]))
    Z = _seen(before, pairs.points if X is None else X)
    fitted = _fitted(last, Z, pairs)
    if before is not None:
        fitted = Pipeline([*before.steps, (learner.steps[-1][0], fitted)])
    return PairSearch(fitted, best["params"], best["test_score"], table)


def _folds(pairs: Any, cv: Any, *, shared: bool, random_state: Any) -> list[tuple[Any, Any]]:
    """Return what to learn from and what to judge by, of each fold."""
    if not isinstance(pairs, Pairs | Triplets):
        raise TypeError(f"pairs must be Pairs or Triplets, got {type(pairs).__name__}.")
    if isinstance(cv, Integral):
        cv = pairs.split(int(cv), shared=shared, random_state=random_state)
    elif not isinstance(cv, Iterable):
        raise TypeError(
            f"cv={cv!r} must be a number of folds, or these themselves: pairs to learn from and "
            "pairs to judge by of each. scikit-learn's splitters divide X, which stays whole here."
        )
    return list(cv)


def _refuse_one_kind(given: Pairs | Triplets, told: str) -> None:
    if isinstance(given, Pairs) and 0 in (len(given.similar), len(given.dissimilar)):
        raise ValueError(
            f"{told}, but both kinds are needed. Take fewer folds, or let them share samples "
            "(shared=True)."
        )


def _steps(learner: Any) -> tuple[Any, Any]:
    """Return what comes before a learner, a pipeline or None, and the learner itself."""
    if not isinstance(learner, Pipeline):
        return None, learner
    return (clone(learner[:-1]) if len(learner) > 1 else None), learner[-1]


def _seen(before: Any, X: Array) -> Array:
    """Return X as a learner sees it, and fit what comes before."""
    return X if before is None else before.fit_transform(X)


def _fitted(learner: Any, X: Array, given: Pairs | Triplets) -> Any:
    """Return a copy that has learned from pairs, with the best threshold for them, or triplets."""
    if isinstance(given, Triplets):
        return clone(learner).fit(X, triplets=given)
    return clone(learner).fit(X, pairs=given).calibrate_threshold(given, X)


def _scorer(scoring: str | Scorer | None, given: Pairs | Triplets) -> Any:
    """Return a function of a learner, X and pairs or triplets."""
    if callable(scoring):
        return scoring
    names = ("roc_auc", "accuracy") if isinstance(given, Pairs) else ("accuracy",)
    scoring = names[0] if scoring is None else scoring
    if scoring not in names:
        raise ValueError(f"scoring={scoring!r} must be one of {', '.join(names)}, or callable.")
    if isinstance(given, Triplets):
        return lambda learner, X, triplets: learner.score_triplets(triplets, X)
    if scoring == "roc_auc":
        return lambda learner, X, pairs: learner.score_pairs(pairs, X)
    return _accuracy


def _accuracy(learner: Any, X: Array, pairs: Pairs) -> float:
    return float(np.mean(learner.predict_pairs(pairs, X) == pairs.is_similar))
