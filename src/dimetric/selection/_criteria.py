"""Criteria of parameter searches: functions that score a fitted model on test samples."""

from numbers import Real
from typing import Any

import numpy as np

from dimetric._names import suggest
from dimetric.learners._inner_learner import last_step
from dimetric.selection._class_scores import class_score
from dimetric.selection._knn_scores import knn_accuracies
from dimetric.selection._weighted import WeightedEstimator, fitted_model


def accuracies_by_name(model: Any, X: Any, y: Any, *, ks: list[int]) -> dict[str, float]:
    """Return the accuracy of k nearest neighbours for each k, by the name of k."""
    X, weights = model.samples(X) if isinstance(model, WeightedEstimator) else (X, None)
    accuracies = knn_accuracies(fitted_model(model), X, y, ks, weights)
    return dict(zip(map(str, ks), accuracies, strict=True))


def mean_absolute_error(model: Any, X: Any, y: Any) -> float:
    """Return the mean absolute error of a regressor."""
    X, weights = model.samples(X) if isinstance(model, WeightedEstimator) else (X, None)
    errors = np.abs(fitted_model(model).predict(X) - y)
    return float(np.average(errors, weights=weights))


def score_of_classes(model: Any, X: Any, y: Any, *, name: str) -> float:
    """Return a score of a classifier, given by its name."""
    X, weights = model.samples(X) if isinstance(model, WeightedEstimator) else (X, None)
    return class_score(name, y, fitted_model(model).predict(X), weights)


def metadata_value(model: Any, X: Any, y: Any = None, *, key: str) -> float:
    """Return a number in the metadata of a learner."""
    metadata = last_step(fitted_model(model)).metadata()
    if key not in metadata:
        raise ValueError(
            f"criterion={key!r} is not a key of the metadata. {suggest(key, metadata)}"
        )
    if not isinstance(metadata[key], Real | np.bool_):
        raise ValueError(f"criterion={key!r} is not a number in the metadata: {metadata[key]!r}.")
    return float(metadata[key])
