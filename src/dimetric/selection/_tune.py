"""Parameter search by cross-validation, for estimators and for the number of neighbours."""

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from numbers import Integral
from typing import Any

import numpy as np
from sklearn import model_selection
from sklearn.base import clone, is_classifier, is_regressor

from dimetric._arguments import check_types
from dimetric._arrays.random_state import random_generator
from dimetric._processes import safe_path_for_children
from dimetric.classify.knn import KNNClassifier
from dimetric.learners._inner_learner import last_step
from dimetric.selection._class_scores import CLASS_SCORES
from dimetric.selection._criteria import (
    accuracies_by_name,
    mean_absolute_error,
    metadata_value,
    score_of_classes,
)
from dimetric.selection._cross_validation import default_score, require_method, zero_score
from dimetric.selection._knn_scores import checked_neighbors
from dimetric.selection._splits import n_rows, splits
from dimetric.selection._tuning_result import TuningResult, best_index, cv_results
from dimetric.selection._weighted import (
    fit_weighted,
    group_arguments,
    with_weights,
)
from dimetric.supervision._weights import checked_sample_weight

__all__ = ["tune", "tune_knn"]

LOWER_IS_BETTER = {"mae", "time", "n_iter", "gap", "gap_radius"}

ParamGrid = Mapping[str, Any] | Sequence[Mapping[str, Any]]


@check_types
def tune(
    estimator: Any,
    X: Any,
    y: Any,
    param_grid: ParamGrid,
    *,
    criterion: int | str | None = None,
    greater_is_better: bool | None = None,
    n_iter: int | None = None,
    sample_weight: Any = None,
    groups: Any = None,
    cv: Any = 5,
    n_repeats: int = 1,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> TuningResult:
    """Choose parameters by a grid search or random search with cross-validation.

    Parameters
    ----------
    estimator : learner, classifier or regressor
        Estimator to tune. Copies are fitted. To scale features within each fold, pass a pipeline.
    X, y : array-like of shape (n_samples, n_features) and (n_samples,)
        Samples and their classes or targets.
    param_grid : mapping of names to sequences, or sequence of such mappings
        Parameter values to try. All combinations of the values in a mapping are candidates. For
        parameters that depend on each other, pass one mapping per candidate:
        ``[{"n_centroids": [k], "learner__n_centroids": [k]} for k in (1, 2, 3)]`` tunes
        ``NCMCClassifier(learner=NCMC())``. With `n_iter`, values may be distributions.
    criterion : int, str or None, default=None
        Criterion to optimise. An int k is the accuracy of k nearest neighbours under the learned
        distance, "score" is the score of the estimator, "balanced_accuracy" (the mean of the
        recalls of the classes) and "f1_macro" are scores of a classifier, "mae" is the mean
        absolute error of a regressor, and "time" is the fit time. Any other string is a key of the
        metadata of a learner. None means "score" for classifiers and regressors, and 3 for
        learners.
    greater_is_better : bool or None, default=None
        Whether greater values of the criterion are better. None is sufficient for scores,
        times, iterations, gaps and objectives. Other criteria require True or False.
    n_iter : int or None, default=None
        Number of random candidates to try. If None, all candidates are tried.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the samples, in the fits and in the scores. Learners that do not use weights are
        fitted without them.
    groups, cv, n_repeats, n_jobs
        As in :func:`cross_validate`.
    random_state : int, RandomState or None, default=None
        Random seed of the folds and of the random search.

    Returns
    -------
    TuningResult
        If the criterion is a number of neighbours, ``best_estimator_`` is a
        :class:`~dimetric.KNNClassifier` that uses the learner.

    Examples
    --------
    >>> from dimetric import PCA
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> tune(PCA(whiten=True), X, y, {"n_components": [1, 2, 5]}, random_state=0)
    TuningResult(best_params_={'n_components': 5}, best_score_=0.9214)
    """
    remedy = "Without a learner, use tune_knn to choose the number of neighbours."
    require_method(estimator, "fit", "estimator", remedy)
    if criterion is None:
        criterion = "score" if is_classifier(estimator) or is_regressor(estimator) else 3
    if y is None and not isinstance(criterion, str):
        raise ValueError(
            f"criterion={criterion} requires the class labels y. Pass y or another criterion."
        )
    model, prefix, scoring = _model_and_scorer(estimator, criterion)
    grids = _grids(param_grid, prefix)
    if greater_is_better is None:
        greater_is_better = _greater_is_better(estimator, criterion)
    weights = checked_sample_weight(sample_weight, n_rows(X))
    folds, codes = splits(
        X, y, cv, n_repeats, random_state, groups=groups, stratify=not is_regressor(estimator)
    )
    arguments = group_arguments(model, codes)
    if isinstance(criterion, str) and criterion not in ("score", "time", "mae", *CLASS_SCORES):
        scoring(clone(model).fit(X, y), None, None)  # raise here, because a search only warns
    search = model_selection.GridSearchCV(model, grids)
    if n_iter is not None:
        options = {"n_iter": n_iter, "random_state": random_generator(random_state)}
        search = model_selection.RandomizedSearchCV(model, grids, **options)
    search.set_params(scoring=scoring, cv=folds, n_jobs=n_jobs)
    results = _search(search, X, y, weights, **arguments)
    scores = _by_fold(results, "score", len(folds))
    if criterion == "time":  # a search reports only mean times, and a failed fit has none
        scores = np.where(np.isnan(scores), np.nan, results["mean_fit_time"][:, None])
    best = best_index(scores, greater_is_better)
    winner = clone(model).set_params(**results["params"][best])
    fit_weighted(winner, X, y, weights, **arguments)
    params = [_without_prefix(prefix, each) for each in results["params"]]
    table = cv_results(params, scores)
    return TuningResult(params[best], float(table["mean_test_score"][best]), winner, table)


@check_types
def tune_knn(
    learner: Any,
    X: Any,
    y: Any,
    param_grid: ParamGrid | None = None,
    *,
    n_neighbors: Iterable[int] = (1, 3, 5, 7, 9),
    weights: Any = "uniform",
    sample_weight: Any = None,
    groups: Any = None,
    cv: Any = 5,
    n_repeats: int = 1,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> TuningResult:
    """Choose the number of neighbours together with the parameters of a learner.

    Each candidate learner is fitted once per fold for all numbers of neighbours.

    Parameters
    ----------
    learner : learner or None
        Learner of the distance. None stands for the Euclidean distance.
    X, y : array-like of shape (n_samples, n_features) and (n_samples,)
        Samples and their classes.
    param_grid : mapping of names to sequences, or sequence of such mappings, optional
        Values of the parameters of the learner to try, as in :func:`tune`.
    n_neighbors : iterable of int, default=(1, 3, 5, 7, 9)
        Numbers of neighbours to try.
    weights : {"uniform", "distance"}, callable or None, default="uniform"
        As in :class:`~dimetric.KNNClassifier`.
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the samples, in the fits and in the scores. Learners that do not use weights are
        fitted without them.
    groups, cv, n_repeats, random_state, n_jobs
        As in :func:`cross_validate`.

    Returns
    -------
    TuningResult
        ``best_params_`` contains ``n_neighbors`` and the parameters of the learner. A parameter
        ``n_neighbors`` of the learner is named ``learner__n_neighbors``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> tune_knn(None, *load_iris(return_X_y=True), random_state=0).best_params_
    {'n_neighbors': 7}
    """
    ks = sorted(checked_neighbors(n_neighbors))
    if learner is None and param_grid:
        raise ValueError("param_grid contains parameters of a learner, but learner=None.")
    grids = _grids(param_grid or {}, "learner__")
    folds, _ = splits(X, y, cv, n_repeats, random_state, groups=groups)
    model = KNNClassifier(ks[-1], learner=learner, weights=weights)
    scoring = partial(accuracies_by_name, ks=ks)
    search = model_selection.GridSearchCV(model, grids, scoring=scoring, cv=folds, n_jobs=n_jobs)
    of_samples = checked_sample_weight(sample_weight, n_rows(X))
    results = _search(search, X, y, of_samples)
    params = [
        {"n_neighbors": k} | _without_prefix("learner__", each, ("n_neighbors",))
        for each in results["params"]
        for k in ks
    ]
    by_neighbors = [_by_fold(results, str(k), len(folds)) for k in ks]
    scores = np.stack(by_neighbors, axis=1).reshape(len(params), len(folds))
    best = best_index(scores, True)
    winner = clone(model).set_params(**results["params"][best // len(ks)])
    winner.set_params(n_neighbors=params[best]["n_neighbors"]).fit(X, y, sample_weight=of_samples)
    table = cv_results(params, scores)
    return TuningResult(params[best], float(table["mean_test_score"][best]), winner, table)


def _model_and_scorer(estimator: Any, criterion: int | str) -> tuple[Any, str, Callable[..., Any]]:
    """Return the model to fit, the prefix of its parameter names, and its scorer."""
    if isinstance(criterion, Integral) and not isinstance(criterion, bool):
        if is_classifier(estimator) or is_regressor(estimator):
            kind = "classifier" if is_classifier(estimator) else "regressor"
            raise ValueError(
                f"criterion={criterion} scores a learner by nearest neighbours, but "
                f"{type(estimator).__name__} is a {kind}. Use criterion='score'."
            )
        if criterion < 1:
            raise ValueError(f"criterion={criterion}, a number of neighbours, must be at least 1.")
        return KNNClassifier(int(criterion), learner=estimator), "learner__", default_score
    if not isinstance(criterion, str):
        raise ValueError(
            f"criterion={criterion!r} must be a number of neighbours, 'score', 'time', or a key of "
            "the metadata."
        )
    if criterion == "score":
        remedy = "Pass a number of neighbours as the criterion."
        require_method(estimator, "score", "estimator", remedy)
        return estimator, "", default_score
    if criterion == "time":
        return estimator, "", zero_score
    if criterion == "mae" and is_regressor(estimator):
        return estimator, "", mean_absolute_error
    if criterion in CLASS_SCORES and is_classifier(estimator):
        return estimator, "", partial(score_of_classes, name=criterion)
    require_method(last_step(estimator), "metadata", "estimator", "Pass a learner of dimetric.")
    return estimator, "", partial(metadata_value, key=criterion)


def _greater_is_better(estimator: Any, criterion: int | str) -> bool:
    """Return whether greater values of the criterion are better."""
    if criterion in LOWER_IS_BETTER:
        return False
    if criterion in ("final_objective", "initial_objective"):
        maximises = getattr(last_step(estimator), "_maximises", None)
        if maximises is not None:
            return bool(maximises)
    elif criterion in ("score", *CLASS_SCORES) or not isinstance(criterion, str):
        return True
    raise ValueError(
        f"It is unknown whether greater values of criterion={criterion!r} are better. Set "
        "greater_is_better."
    )


def _search(
    search: Any, X: Any, y: Any, weights: np.ndarray | None, **arguments: Any
) -> dict[str, Any]:
    """Run a search and return its results.

    If a fit fails, a warning is issued and the score is NaN.
    """
    search.estimator, X = with_weights(search.estimator, X, weights)
    with warnings.catch_warnings(), safe_path_for_children():
        warnings.filterwarnings("ignore", "One or more of the test scores are non-finite")
        return search.set_params(refit=False, error_score=np.nan).fit(X, y, **arguments).cv_results_


def _by_fold(results: dict[str, Any], name: str, n_splits: int) -> np.ndarray:
    """Return the score of each candidate in each fold, of shape (n_candidates, n_splits)."""
    if f"split0_test_{name}" not in results:
        raise ValueError("No score could be computed in any fold. The warnings state why.")
    return np.stack([results[f"split{i}_test_{name}"] for i in range(n_splits)], axis=1)


def _grids(param_grid: ParamGrid, prefix: str) -> list[dict[str, Any]]:
    """Return a list of grids with a prefix before the name of each parameter."""
    grids = [param_grid] if isinstance(param_grid, Mapping) else list(param_grid)
    if not all(isinstance(grid, Mapping) for grid in grids):
        raise ValueError(
            f"param_grid={param_grid!r} must be a mapping of names to values, or a sequence of "
            "such mappings."
        )
    return [{f"{prefix}{name}": values for name, values in grid.items()} for grid in grids]


def _without_prefix(
    prefix: str, params: dict[str, Any], taken: tuple[str, ...] = ()
) -> dict[str, Any]:
    """Remove a prefix from the names of parameters, unless the short name is in `taken`."""
    short = {name: name.removeprefix(prefix) for name in params}
    return {name if short[name] in taken else short[name]: each for name, each in params.items()}
