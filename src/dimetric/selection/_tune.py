"""Parameters by cross-validation: of learners, and of nearest neighbours."""

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn import model_selection
from sklearn.base import clone, is_classifier, is_regressor

from dimetric._names import suggest
from dimetric.classify.knn import KNNClassifier
from dimetric.classify.many import shares
from dimetric.selection._cross_validation import (
    checked_neighbors,
    last_step,
    nothing,
    own_score,
    require,
    splits,
)

__all__ = ["Tuned", "tune", "tune_knn"]

LESS_IS_BETTER = {"time", "n_iter", "gap", "gap_radius"}


@dataclass(frozen=True, eq=False)
class Tuned:
    """The best parameters, and how all others did.

    Attributes
    ----------
    best_params : dict
        The best parameters.
    best_score : float
        Their criterion, the mean over all folds.
    best_model : estimator
        With the best parameters, fitted to all samples.
    params : list of dict
        All parameters that were tried.
    scores : ndarray of shape (n_params, n_splits)
        The criterion of each, in every fold; NaN where a fit failed.
    """

    best_params: dict[str, Any]
    best_score: float
    best_model: Any
    params: list[dict[str, Any]]
    scores: np.ndarray

    def __repr__(self) -> str:
        return f"Tuned(best_params={self.best_params}, best_score={self.best_score:.4f})"


def tune(
    model: Any,
    X: Any,
    y: Any,
    params: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]],
    *,
    criterion: int | str | None = None,
    greater_is_better: bool | None = None,
    n_draws: int | None = None,
    cv: Any = 5,
    n_repeats: int = 1,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> Tuned:
    """Choose parameters by cross-validation, from a grid or by draws.

    Parameters
    ----------
    model : learner, classifier or regressor
        What is tuned; copies are fitted. To scale inside the folds, give a pipeline.
    X, y : array-like of shape (n_samples, n_features) and (n_samples,)
        Samples and their classes.
    params : mapping of names to sequences, or sequence of such mappings
        The values of parameters that are tried, all together, or for each mapping. Parameters that
        are tied are a mapping each: ``[{"n_centroids": [k], "learner__n_centroids": [k]} for k in
        (1, 2, 3)]`` tunes ``NCMCClassifier(learner=NCMC())``. With `n_draws` also distributions.
    criterion : int, str or None, default=None
        What is best: with an int k the score of k nearest neighbours under the learned distance;
        "score" is the model's own; "time" that of a fit; or any key of a learner's metadata. None
        is "score" for classifiers and regressors, and 3 for learners.
    greater_is_better : bool or None, default=None
        Whether the criterion is to be large; None knows that of scores, times, iterations, gaps
        and objectives.
    n_draws : int or None, default=None
        Try so many parameters, drawn at random, in place of all.
    cv, n_repeats, n_jobs
        As in :func:`cross_validate`.
    random_state : int, RandomState or None, default=None
        Of the folds, and of the draws.

    Returns
    -------
    Tuned
        Of parameters that do equally well, the first are best. If the criterion is a number of
        neighbours, ``best_model`` is a classifier with the learner in it.

    Examples
    --------
    >>> from dimetric import PCA
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> tune(PCA(whiten=True), X, y, {"n_components": [1, 2, 5]}, random_state=0)
    Tuned(best_params={'n_components': 5}, best_score=0.9214)
    """
    require(model, "fit", "model", "Without a learner, tune_knn chooses the number of neighbours.")
    if criterion is None:
        criterion = "score" if is_classifier(model) or is_regressor(model) else 3
    if y is None and not isinstance(criterion, str):
        raise ValueError("Nearest neighbours judge by classes: y is needed, or another criterion.")
    estimator, prefix, scoring = _judged(model, criterion)
    grids = _grids(params, prefix)
    greater = _direction(model, criterion) if greater_is_better is None else greater_is_better
    folds = splits(X, y, cv, n_repeats, random_state, stratify=not is_regressor(model))
    if isinstance(criterion, str) and criterion not in ("score", "time"):
        scoring(clone(estimator).fit(X, y), None, None)  # a search would but warn of a wrong key
    search = model_selection.GridSearchCV(estimator, grids)
    if n_draws is not None:
        draws = {"n_iter": n_draws, "random_state": random_state}
        search = model_selection.RandomizedSearchCV(estimator, grids, **draws)
    found = _searched(search.set_params(scoring=scoring, cv=folds, n_jobs=n_jobs), X, y)
    tried = [_without(prefix, each) for each in found["params"]]
    scores = _by_fold(found, "score", len(folds))
    if criterion == "time":  # a search tells means of times alone; where a fit failed there is none
        scores = np.where(np.isnan(scores), np.nan, found["mean_fit_time"][:, None])
    best, mean = _best(scores, greater)
    winner = clone(estimator).set_params(**found["params"][best]).fit(X, y)
    return Tuned(tried[best], mean, winner, tried, scores)


def tune_knn(
    learner: Any,
    X: Any,
    y: Any,
    params: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]] | None = None,
    *,
    n_neighbors: Iterable[int] = (1, 3, 5, 7, 9),
    weights: Any = "uniform",
    cv: Any = 5,
    n_repeats: int = 1,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> Tuned:
    """Choose the number of neighbours, and a learner's parameters with it.

    A learner is fitted once for all numbers of neighbours.

    Parameters
    ----------
    learner : learner or None
        Learner of the distance; None is the Euclidean distance.
    X, y : array-like of shape (n_samples, n_features) and (n_samples,)
        Samples and their classes.
    params : mapping of names to sequences, or sequence of such mappings, optional
        Values of the learner's parameters that are tried, as in :func:`tune`.
    n_neighbors : iterable of int, default=(1, 3, 5, 7, 9)
        Numbers of neighbours that are tried.
    weights : {"uniform", "distance"}, callable or None, default="uniform"
        As in :class:`~dimetric.classify.knn.KNNClassifier`.
    cv, n_repeats, random_state, n_jobs
        As in :func:`cross_validate`.

    Returns
    -------
    Tuned
        Whose ``best_params`` have ``n_neighbors`` beside the learner's; if the learner has a
        parameter of that name, it is called ``learner__n_neighbors`` there.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> tune_knn(None, *load_iris(return_X_y=True), random_state=0).best_params
    {'n_neighbors': 9}
    """
    ks = sorted(checked_neighbors(n_neighbors))
    if learner is None and params:
        raise ValueError("params are those of a learner, but learner=None.")
    grid = _grids(params or {}, "learner__")
    folds = splits(X, y, cv, n_repeats, random_state)
    estimator = KNNClassifier(ks[-1], learner=learner, weights=weights)
    scoring = partial(_knn_shares, ks=ks)
    search = model_selection.GridSearchCV(estimator, grid, scoring=scoring, cv=folds, n_jobs=n_jobs)
    found = _searched(search, X, y)
    tried = [
        {"n_neighbors": k} | _without("learner__", each, ("n_neighbors",))
        for each in found["params"]
        for k in ks
    ]
    by_neighbors = [_by_fold(found, str(k), len(folds)) for k in ks]
    scores = np.stack(by_neighbors, axis=1).reshape(len(tried), len(folds))
    best, mean = _best(scores, True)
    winner = clone(estimator).set_params(**found["params"][best // len(ks)])
    winner.set_params(n_neighbors=tried[best]["n_neighbors"]).fit(X, y)
    return Tuned(tried[best], mean, winner, tried, scores)


# What a search asks a fitted estimator


def _knn_shares(model: Any, X: Any, y: Any, *, ks: list[int]) -> dict[str, float]:
    return {str(k): share for k, share in zip(ks, shares(model, X, y, ks), strict=True)}


def _fact(model: Any, X: Any, y: Any = None, *, key: str) -> float:
    facts = last_step(model).metadata()
    if key not in facts:
        raise ValueError(f"criterion={key!r} is no key of the metadata. {suggest(key, facts)}")
    if not isinstance(facts[key], Real | np.bool_):
        raise ValueError(f"criterion={key!r} is {facts[key]!r} in the metadata, no number.")
    return float(facts[key])


def _judged(model: Any, criterion: int | str) -> tuple[Any, str, Callable[..., Any]]:
    """Return what is fitted, what goes before the names of its parameters, and what is asked."""
    if isinstance(criterion, Integral) and not isinstance(criterion, bool):
        if is_classifier(model) or is_regressor(model):
            kind = "classifier" if is_classifier(model) else "regressor"
            raise ValueError(
                f"criterion={criterion} judges a learner by nearest neighbours, but "
                f"{type(model).__name__} is a {kind}: its criterion is 'score'."
            )
        if criterion < 1:
            raise ValueError(f"criterion={criterion} neighbours must be at least 1.")
        return KNNClassifier(int(criterion), learner=model), "learner__", own_score
    if not isinstance(criterion, str):
        raise ValueError(
            f"criterion={criterion!r} must be a number of neighbours, 'score', 'time', or a key of "
            "the metadata."
        )
    if criterion == "score":
        require(model, "score", "model", "Give a number of neighbours as the criterion.")
        return model, "", own_score
    if criterion == "time":
        return model, "", nothing
    require(last_step(model), "metadata", "model", "Learners of dimetric do.")
    return model, "", partial(_fact, key=criterion)


def _direction(model: Any, criterion: int | str) -> bool:
    """Tell whether the criterion is to be large."""
    if criterion in LESS_IS_BETTER:
        return False
    if criterion in ("final_objective", "initial_objective"):
        return bool(getattr(last_step(model), "_maximises", False))
    if criterion == "score" or not isinstance(criterion, str):
        return True
    raise ValueError(
        f"Say by greater_is_better whether criterion={criterion!r} is to be large or small."
    )


def _searched(search: Any, X: Any, y: Any) -> dict[str, Any]:
    """Return the results of a search; fits that fail are warned of, and have no score."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "One or more of the test scores are non-finite")
        return search.set_params(refit=False, error_score=np.nan).fit(X, y).cv_results_


def _by_fold(found: dict[str, Any], name: str, n_splits: int) -> np.ndarray:
    """Return a score of all parameters in each fold."""
    return np.stack([found[f"split{i}_test_{name}"] for i in range(n_splits)], axis=1)


def _best(scores: np.ndarray, greater_is_better: bool) -> tuple[int, float]:
    """Return the first of the best parameters, and their mean score."""
    means = np.mean(scores, axis=1)
    if np.all(np.isnan(means)):
        raise ValueError("No parameters could be fitted in all folds; the warnings above say why.")
    best = int(np.nanargmax(means) if greater_is_better else np.nanargmin(means))
    return best, float(means[best])


def _grids(
    params: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]], prefix: str
) -> list[dict[str, Sequence[Any]]]:
    given = [params] if isinstance(params, Mapping) else list(params)
    if not all(isinstance(grid, Mapping) for grid in given):
        raise ValueError(f"params={params!r} must map names to values, or be a list of such.")
    return [{f"{prefix}{name}": values for name, values in grid.items()} for grid in given]


def _without(prefix: str, params: dict[str, Any], taken: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return parameters less a prefix, which stays where a name is taken."""
    short = {name: name.removeprefix(prefix) for name in params}
    return {name if short[name] in taken else short[name]: each for name, each in params.items()}
