"""Check the learners, data sets and options of a benchmark."""

import warnings
from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import is_regressor
from sklearn.utils.multiclass import type_of_target

from dimetric import classify, kernels, learners, manifold
from dimetric._names import look_up
from dimetric._warnings import warn
from dimetric.benchmark._cells import SplitDataSet
from dimetric.data import DataSet, load_data_set
from dimetric.selection._class_scores import CLASS_SCORES, NUMBER_SCORES
from dimetric.selection._knn_scores import named_learners
from dimetric.selection._splits import splits
from dimetric.supervision._groups import checked_groups

SCORES = (*CLASS_SCORES, *NUMBER_SCORES)


def estimator_classes(method: str, name: str | None = None) -> dict[str, Any]:
    """Return the public learners, embeddings and classifiers with a given method, by name.

    With `name`, return only the class of this name, ignoring case. This imports a single module.
    """
    classes = {
        each: getattr(package, each)
        for package in (learners, kernels, manifold, classify)
        for each in package.__all__
        if name is None or each.lower() == name.lower()
    }
    return {
        name: cls
        for name, cls in sorted(classes.items())
        if isinstance(cls, type) and hasattr(cls, method)
    }


def learner_named(name: str) -> Any:
    """Return a learner or classifier with default parameters, or None for "Euclidean".

    Parameters
    ----------
    name : str
        Name of a class in ``dimetric``, such as "NCA". Case is ignored.

    Examples
    --------
    >>> learner_named("NCA")
    NCA()
    """
    known = estimator_classes("fit", name) or estimator_classes("fit") | {"Euclidean": None}
    cls = look_up(name, known, "learner")
    if cls is None:
        return None
    try:
        return cls()
    except TypeError as error:
        raise ValueError(
            f"{cls.__name__} has required parameters. Give {cls.__name__}(...) instead of its name."
        ) from error


def models_of(learners: Mapping[str, Any] | Iterable[Any]) -> dict[str, Any]:
    """Return learners by name. Learners given as a name are created with default parameters."""
    if isinstance(learners, str):
        learners = [learners]
    if not isinstance(learners, Mapping) and not hasattr(learners, "fit"):
        learners = [learner_named(each) if isinstance(each, str) else each for each in learners]
    models = {
        name: learner_named(each) if isinstance(each, str) else each
        for name, each in named_learners(learners).items()
    }
    if not models:
        raise ValueError("learners is empty. Give at least one learner.")
    for name, each in models.items():
        if isinstance(each, type) or (each is not None and not hasattr(each, "fit")):
            raise TypeError(
                f"learners[{name!r}]={each!r} must be a learner, such as NCA(), or its name."
            )
    return models


def check_score(score: str, models: Mapping[str, Any]) -> None:
    """Raise if a model cannot be evaluated by a score.

    Examples
    --------
    >>> check_score("r2", {"KNNRegressor": learner_named("KNNRegressor")})
    >>> check_score("r2", {"NCA": learner_named("NCA")})
    Traceback (most recent call last):
    ...
    TypeError: NCA is not a regressor, but score='r2' compares regressors. Pass KNNRegressor(...
    """
    if score not in SCORES:
        *first, last = map(repr, SCORES)
        raise ValueError(f"score={score!r} must be {', '.join(first)} or {last}.")
    for name, each in models.items():
        regresses = each is not None and is_regressor(each)
        if score in CLASS_SCORES and regresses:
            raise TypeError(
                f"{name} is a regressor, but score={score!r} compares classifiers. Set "
                "score='r2' or score='mae'."
            )
        if score not in CLASS_SCORES and not regresses:
            raise TypeError(
                f"{name} is not a regressor, but score={score!r} compares regressors. Pass "
                "KNNRegressor(learner=...)."
            )


def data_sets_of(data_sets: Any, folder: str | Path | None) -> dict[str, DataSet]:
    """Return data sets by name. All are loaded before the first fit."""
    if isinstance(data_sets, str | DataSet):
        data_sets = [data_sets]
    is_mapping = isinstance(data_sets, Mapping)
    items = data_sets.items() if is_mapping else [(None, each) for each in data_sets]
    by_name: dict[str, DataSet] = {}
    for name, each in items:
        if isinstance(each, str):
            each = load_data_set(each, folder)
        if not isinstance(each, DataSet):
            if name is None or not isinstance(each, tuple | list) or len(each) != 2:
                raise TypeError(
                    "A data set must be a DataSet, a name, or a pair (X, y). Give pairs in a dict "
                    "whose keys are names."
                )
            X = np.asarray(each[0])
            if X.ndim != 2:
                raise ValueError(
                    f"Data set {name!r}: X has shape {X.shape}, but must have shape (n_samples, "
                    "n_features)."
                )
            each = DataSet(X, np.asarray(each[1]), tuple(f"x{i}" for i in range(X.shape[1])))
        name = name or each.name
        if name in by_name:
            raise ValueError(
                f"Two data sets are named {name!r}. Give a mapping of distinct names to data sets."
            )
        by_name[name] = each
    if not by_name:
        raise ValueError("data_sets is empty. Give at least one data set.")
    return by_name


def split_data_sets(
    sets: dict[str, DataSet],
    fold_column: str | None,
    scale: str | None,
    groups: Mapping[str, Any] | str | None,
    score: str = "accuracy",
    **split_by: Any,
) -> list[SplitDataSet]:
    """Return data sets with their splits into training and test samples.

    Parameters
    ----------
    sets : dict of str to DataSet
        Data sets by name.
    fold_column : str or None
        Name of a column in ``extra`` that contains the test fold of each sample.
    scale : {"fold", "set"} or None
        How features are scaled.
    groups : mapping of str to array-like, str or None
        Groups of the samples by the name of the data set, or the name of a column in ``extra``.
    score : {"accuracy", "balanced_accuracy", "f1_macro", "r2", "mae"}, default="accuracy"
        Data sets need classes for the first three scores, and numbers for the others.
    **split_by : cv, n_repeats, random_state
        How to split data sets without this column.
    """
    if fold_column is not None and not any(fold_column in each.extra for each in sets.values()):
        extra = list(dict.fromkeys(name for each in sets.values() for name in each.extra))
        raise ValueError(
            f"fold_column={fold_column!r} is not in the extra columns of any data set: {extra}."
        )
    by_name = _groups_of(sets, groups)
    return [
        _split_data_set(
            name, each, _target(name, each, score), fold_column, scale, by_name.get(name), split_by
        )
        for name, each in sets.items()
    ]


def _groups_of(sets: dict[str, DataSet], groups: Mapping[str, Any] | str | None) -> dict[str, Any]:
    """Return the groups of those data sets that have any, by name."""
    if isinstance(groups, str):
        found = {name: each.extra[groups] for name, each in sets.items() if groups in each.extra}
        if not found:
            extra = list(dict.fromkeys(name for each in sets.values() for name in each.extra))
            raise ValueError(
                f"groups={groups!r} is not in the extra columns of any data set: {extra}."
            )
        return found
    if groups is not None and not isinstance(groups, Mapping):
        raise TypeError(
            f"groups is {type(groups).__name__}, but must be the name of an extra column, or a "
            "mapping of the names of data sets to their groups."
        )
    unknown = set(groups or {}) - set(sets)
    if unknown:
        raise ValueError(
            f"groups has keys {sorted(unknown)}, which are not names of data sets. The data sets "
            f"are {list(sets)}."
        )
    return {name: each for name, each in (groups or {}).items() if each is not None}


def _split_data_set(
    name: str,
    data: DataSet,
    y: np.ndarray,
    fold_column: str | None,
    scale: str | None,
    groups: Any,
    split_by: dict[str, Any],
) -> SplitDataSet:
    if groups is not None:
        groups = checked_groups(groups, len(y), f"groups[{name!r}]")
    if fold_column is not None and fold_column in data.extra:
        column = np.asarray(data.extra[fold_column])
        numbers = np.unique(column)
        parts = [(np.flatnonzero(column != i), np.flatnonzero(column == i)) for i in numbers]
        groups = np.arange(len(y)) if groups is None else groups
        return SplitDataSet(name, data.X, y, parts, len(parts), scale, groups)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            parts, groups = splits(data.X, y, groups=groups, **split_by)
        except ValueError as error:
            raise ValueError(f"Data set {name!r}: {error}") from error
    for each in caught:
        warn(f"Data set {name!r}: {each.message}", each.category)
    n_folds = len(parts) // split_by["n_repeats"]
    return SplitDataSet(name, data.X, y, parts, n_folds, scale, groups)


def _target(name: str, data: DataSet, score: str) -> np.ndarray:
    """Return the target of a data set: classes, or floats for scores of numbers."""
    y = data.y
    if score in CLASS_SCORES:
        if y is None or type_of_target(y) not in ("binary", "multiclass"):
            raise ValueError(f"Data set {name!r} has no classes. A benchmark requires them.")
        return y.astype(str) if y.dtype == object else y
    if y is None or y.ndim != 1 or y.dtype.kind not in "iuf" or not np.isfinite(y).all():
        raise ValueError(
            f"Data set {name!r}: score={score!r} requires a finite number as the target of "
            "each sample."
        )
    return y.astype(np.float64)


def check_options(scale: Any, time_budget: Any, random_state: Any, n_jobs: Any) -> None:
    """Raise an error if an option is not valid."""
    if n_jobs is not None and (not isinstance(n_jobs, Integral) or n_jobs == 0):
        raise ValueError(f"n_jobs={n_jobs!r} must be an int other than 0, or None.")
    if scale not in ("fold", "set", None):
        raise ValueError(f"scale={scale!r} must be 'fold', 'set' or None.")
    if time_budget is not None and (
        not isinstance(time_budget, Real) or not float(time_budget) > 0
    ):
        raise ValueError(f"time_budget={time_budget!r} must be a positive number or None.")
    if not isinstance(random_state, Integral) or random_state < 0:
        raise ValueError(
            f"random_state={random_state!r} must be a non-negative int, so that a resumed run "
            "uses the same splits."
        )
