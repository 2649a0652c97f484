"""Choose parameters by cross-validation: of learners, and of nearest neighbours."""

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn import model_selection
from sklearn.base import clone, is_classifier, is_regressor

from dimetric._names import suggest
from dimetric.classify.knn import KNNClassifier
from dimetric.learners._inner_learner import last_step
from dimetric.selection._cross_validation import nothing, own_score, require, splits
from dimetric.selection._knn_scores import checked_neighbors, knn_accuracies
from dimetric.selection._tuning_result import TuningResult, best_index, cv_results

__all__ = ["tune", "tune_knn"]

LESS_IS_BETTER = {"time", "n_iter", "gap", "gap_radius"}

ParamGrid = Mapping[str, Any] | Sequence[Mapping[str, Any]]


def tune(
    estimator: Any,
    X: Any,
    y: Any,
    param_grid: ParamGrid,
    *,
    criterion: int | str | None = None,
    greater_is_better: bool | None = None,
    n_iter: int | None = None,
    cv: Any = 5,
    n_repeats: int = 1,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> TuningResult:
    """Choose parameters by cross-validation, from a grid or by random draws.

    Parameters
    ----------
    estimator : learner, classifier or regressor
        What to tune; copies are fitted. To scale inside the folds, give a pipeline.
    X, y : array-like of shape (n_samples, n_features) and (n_samples,)
        Samples and their classes.
    param_grid : mapping of names to sequences, or sequence of such mappings
        Values to try: all combinations of each mapping. Give parameters that depend on each
        other as one mapping each: ``[{"n_centroids": [k], "learner__n_centroids": [k]} for k in
        (1, 2, 3)]`` tunes ``NCMCClassifier(learner=NCMC())``. With `n_iter`, values may be
        distributions.
    criterion : int, str or None, default=None
        What to optimise: an int k is the accuracy of k nearest neighbours under the learned
        distance; "score" is the estimator's own; "time" that of a fit; or any key of a learner's
        metadata. None is "score" for classifiers and regressors, and 3 for learners.
    greater_is_better : bool or None, default=None
        Whether the criterion should be large. None is right for scores, times, iterations, gaps and
        objectives.
    n_iter : int or None, default=None
        Try this many random draws from the grid. None tries all.
    cv, n_repeats, n_jobs
        As in :func:`cross_validate`.
    random_state : int, RandomState or None, default=None
        Seed of the folds, and of the draws.

    Returns
    -------
    TuningResult
        If the criterion is a number of neighbours, ``best_estimator_`` is a classifier with the
        learner in it.

    Examples
    --------
    >>> from dimetric import PCA
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> tune(PCA(whiten=True), X, y, {"n_components": [1, 2, 5]}, random_state=0)
    TuningResult(best_params_={'n_components': 5}, best_score_=0.9214)
    """
    remedy = "Without a learner, tune_knn chooses the number of neighbours."
    require(estimator, "fit", "estimator", remedy)
    if criterion is None:
        criterion = "score" if is_classifier(estimator) or is_regressor(estimator) else 3
    if y is None and not isinstance(criterion, str):
        raise ValueError("Nearest neighbours judge by classes: y is needed, or another criterion.")
    judged, prefix, scoring = _judged(estimator, criterion)
    grids = _grids(param_grid, prefix)
    if greater_is_better is None:
        greater_is_better = _greater_is_better(estimator, criterion)
    folds = splits(X, y, cv, n_repeats, random_state, stratify=not is_regressor(estimator))
    if isinstance(criterion, str) and criterion not in ("score", "time"):
        scoring(clone(judged).fit(X, y), None, None)  # raise now: a search would only warn
    search = model_selection.GridSearchCV(judged, grids)
    if n_iter is not None:
        draws = {"n_iter": n_iter, "random_state": random_state}
        search = model_selection.RandomizedSearchCV(judged, grids, **draws)
    found = _search(search.set_params(scoring=scoring, cv=folds, n_jobs=n_jobs), X, y)
    scores = _by_fold(found, "score", len(folds))
    if criterion == "time":  # a search only has means of times; a fit that failed has no time
        scores = np.where(np.isnan(scores), np.nan, found["mean_fit_time"][:, None])
    best = best_index(scores, greater_is_better)
    winner = clone(judged).set_params(**found["params"][best]).fit(X, y)
    params = [_without(prefix, each) for each in found["params"]]
    table = cv_results(params, scores)
    return TuningResult(params[best], float(table["mean_test_score"][best]), winner, table)


def tune_knn(
    learner: Any,
    X: Any,
    y: Any,
    param_grid: ParamGrid | None = None,
    *,
    n_neighbors: Iterable[int] = (1, 3, 5, 7, 9),
    weights: Any = "uniform",
    cv: Any = 5,
    n_repeats: int = 1,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> TuningResult:
    """Choose the number of neighbours, and the parameters of a learner with it.

    A learner is fitted once for all numbers of neighbours.

    Parameters
    ----------
    learner : learner or None
        Learner of the distance; None is the Euclidean distance.
    X, y : array-like of shape (n_samples, n_features) and (n_samples,)
        Samples and their classes.
    param_grid : mapping of names to sequences, or sequence of such mappings, optional
        Values of the learner's parameters to try, as in :func:`tune`.
    n_neighbors : iterable of int, default=(1, 3, 5, 7, 9)
        Numbers of neighbours to try.
    weights : {"uniform", "distance"}, callable or None, default="uniform"
        As in :class:`~dimetric.KNNClassifier`.
    cv, n_repeats, random_state, n_jobs
        As in :func:`cross_validate`.

    Returns
    -------
    TuningResult
        Its ``best_params_`` hold ``n_neighbors`` beside the learner's parameters. If the learner
        has a parameter of that name, that one is called ``learner__n_neighbors``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> tune_knn(None, *load_iris(return_X_y=True), random_state=0).best_params_
    {'n_neighbors': 9}
    """
    ks = sorted(checked_neighbors(n_neighbors))
    if learner is None and param_grid:
        raise ValueError("param_grid holds parameters of a learner, but learner=None.")
    grids = _grids(param_grid or {}, "learner__")
    folds = splits(X, y, cv, n_repeats, random_state)
    model = KNNClassifier(ks[-1], learner=learner, weights=weights)
    scoring = partial(_accuracies_by_name, ks=ks)
    search = model_selection.GridSearchCV(model, grids, scoring=scoring, cv=folds, n_jobs=n_jobs)
    found = _search(search, X, y)
    params = [
        {"n_neighbors": k} | _without("learner__", each, ("n_neighbors",))
        for each in found["params"]
        for k in ks
    ]
    by_neighbors = [_by_fold(found, str(k), len(folds)) for k in ks]
    scores = np.stack(by_neighbors, axis=1).reshape(len(params), len(folds))
    best = best_index(scores, True)
    winner = clone(model).set_params(**found["params"][best // len(ks)])
    winner.set_params(n_neighbors=params[best]["n_neighbors"]).fit(X, y)
    table = cv_results(params, scores)
    return TuningResult(params[best], float(table["mean_test_score"][best]), winner, table)


# What a search asks a fitted estimator


def _accuracies_by_name(model: Any, X: Any, y: Any, *, ks: list[int]) -> dict[str, float]:
    return dict(zip(map(str, ks), knn_accuracies(model, X, y, ks), strict=True))


def _metadata_value(model: Any, X: Any, y: Any = None, *, key: str) -> float:
    facts = last_step(model).metadata()
    if key not in facts:
        raise ValueError(f"criterion={key!r} is no key of the metadata. {suggest(key, facts)}")
    if not isinstance(facts[key], Real | np.bool_):
        raise ValueError(f"criterion={key!r} is {facts[key]!r} in the metadata, no number.")
    return float(facts[key])


def _judged(estimator: Any, criterion: int | str) -> tuple[Any, str, Callable[..., Any]]:
    """Return the model to fit, the prefix of its parameters' names, and its scorer."""
    if isinstance(criterion, Integral) and not isinstance(criterion, bool):
        if is_classifier(estimator) or is_regressor(estimator):
            kind = "classifier" if is_classifier(estimator) else "regressor"
            raise ValueError(
                f"criterion={criterion} judges a learner by nearest neighbours, but "
                f"{type(estimator).__name__} is a {kind}: its criterion is 'score'."
            )
        if criterion < 1:
            raise ValueError(f"criterion={criterion} neighbours must be at least 1.")
        return KNNClassifier(int(criterion), learner=estimator), "learner__", own_score
    if not isinstance(criterion, str):
        raise ValueError(
            f"criterion={criterion!r} must be a number of neighbours, 'score', 'time', or a key of "
            "the metadata."
        )
    if criterion == "score":
        require(estimator, "score", "estimator", "Give a number of neighbours as the criterion.")
        return estimator, "", own_score
    if criterion == "time":
        return estimator, "", nothing
    require(last_step(estimator), "metadata", "estimator", "Learners of dimetric do.")
    return estimator, "", partial(_metadata_value, key=criterion)


def _greater_is_better(estimator: Any, criterion: int | str) -> bool:
    """Tell whether the criterion should be large."""
    if criterion in LESS_IS_BETTER:
        return False
    if criterion in ("final_objective", "initial_objective"):
        maximises = getattr(last_step(estimator), "_maximises", None)
        if maximises is not None:
            return bool(maximises)
    elif criterion == "score" or not isinstance(criterion, str):
        return True
    raise ValueError(
        f"Give greater_is_better: it is not known whether criterion={criterion!r} should be large."
    )


def _search(search: Any, X: Any, y: Any) -> dict[str, Any]:
    """Return the results of a search; fits that fail give a warning, and a score of NaN."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "One or more of the test scores are non-finite")
        return search.set_params(refit=False, error_score=np.nan).fit(X, y).cv_results_


def _by_fold(found: dict[str, Any], name: str, n_splits: int) -> np.ndarray:
    """Return the scores of all parameters in each fold."""
    return np.stack([found[f"split{i}_test_{name}"] for i in range(n_splits)], axis=1)


def _grids(param_grid: ParamGrid, prefix: str) -> list[dict[str, Any]]:
    """Return the grids with a prefix before the name of each parameter."""
    given = [param_grid] if isinstance(param_grid, Mapping) else list(param_grid)
    if not all(isinstance(grid, Mapping) for grid in given):
        raise ValueError(f"param_grid={param_grid!r} must map names to values, or list such maps.")
    return [{f"{prefix}{name}": values for name, values in grid.items()} for grid in given]


def _without(prefix: str, params: dict[str, Any], taken: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return parameters without a prefix, which stays where the short name is taken."""
    short = {name: name.removeprefix(prefix) for name in params}
    return {name if short[name] in taken else short[name]: each for name, each in params.items()}
