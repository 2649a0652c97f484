"""Sample weights and groups in cross-validation and in searches.

scikit-learn passes sample weights to scores only if metadata routing is enabled. Here, folds hold
row numbers instead of samples, and the estimator itself takes the samples and weights of its rows.
"""

from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline

from dimetric._compat import take_samples
from dimetric.classify._weights import weight_arguments
from dimetric.learners._inner_learner import last_step


class WeightedEstimator(BaseEstimator):
    """An estimator of row numbers, which are rows of weighted samples.

    Parameters
    ----------
    model : estimator
        Estimator to fit and score. Its parameters are those of this estimator.
    X : array-like of shape (n_samples, n_features)
        All samples.
    sample_weight : ndarray of shape (n_samples,)
        Their weights.
    """

    def __init__(self, model: Any, X: Any, sample_weight: np.ndarray) -> None:
        self.model = model
        self.X = X
        self.sample_weight = sample_weight

    def __sklearn_clone__(self) -> "WeightedEstimator":
        return WeightedEstimator(clone(self.model), self.X, self.sample_weight)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters of the model."""
        return self.model.get_params(deep)

    def set_params(self, **params: Any) -> Self:
        """Set parameters of the model."""
        self.model.set_params(**params)
        return self

    def fit(self, rows: np.ndarray, y: Any = None) -> Self:
        """Fit the model to the samples of the given rows."""
        X, weights = self.samples(rows)
        self.model_ = fit_weighted(clone(self.model), X, y, weights)
        return self

    def predict(self, rows: np.ndarray) -> Any:
        """Return the predictions of the fitted model for the given rows."""
        return self.model_.predict(take_samples(self.X, rows))

    def score(self, rows: np.ndarray, y: Any = None) -> float:
        """Return the weighted score of the fitted model on the given rows."""
        X, weights = self.samples(rows)
        return self.model_.score(X, y, sample_weight=weights)

    def samples(self, rows: np.ndarray) -> tuple[Any, np.ndarray]:
        """Return the samples and the weights of the given rows."""
        return take_samples(self.X, rows), self.sample_weight[rows]


def with_weights(model: Any, X: Any, sample_weight: np.ndarray | None) -> tuple[Any, Any]:
    """Return an estimator and its samples. Without weights, these are the arguments."""
    if sample_weight is None:
        return model, X
    return WeightedEstimator(model, X, sample_weight), np.arange(len(sample_weight))


def fitted_model(estimator: Any) -> Any:
    """Return the fitted model inside a weighted estimator, or the estimator itself."""
    return estimator.model_ if isinstance(estimator, WeightedEstimator) else estimator


def fit_weighted(
    model: Any, X: Any, y: Any, sample_weight: np.ndarray | None, **arguments: Any
) -> Any:
    """Fit a model, with weights if it uses them."""
    return model.fit(X, y, **weight_arguments(model, sample_weight), **arguments)


def group_arguments(model: Any, groups: np.ndarray) -> dict[str, np.ndarray]:
    """Return the arguments that pass the groups of samples to ``fit`` of a model that splits them.

    Such a model, or the last step of a pipeline, has the attribute ``_uses_groups``.
    """
    if not getattr(last_step(model), "_uses_groups", False):
        return {}
    return {f"{model.steps[-1][0]}__groups" if isinstance(model, Pipeline) else "groups": groups}
