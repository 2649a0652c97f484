"""Reference models, to which nearest neighbours under a distance are compared."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from sklearn.svm import SVC, SVR

from dimetric.advice._race_options import RaceOptions

__all__ = ["best_reference", "reference_models"]

GUESS, FOREST, BOOSTING, SVM = "Mean prediction", "Random forest", "Gradient boosting", "RBF SVM"
TREES = (FOREST, BOOSTING)
RIDGE_ALPHAS = np.logspace(-3, 3, 13)  # the best one is chosen by leave-one-out errors
# Fewer and larger steps than by default: half of the time, and about the same scores.
BOOSTING_STEPS = {"max_iter": 50, "learning_rate": 0.2}


def reference_models(options: RaceOptions) -> dict[str, Pipeline]:
    """Return the pipelines of the reference models by name.

    If the time is short, the last ones are left out first.

    Parameters
    ----------
    options : RaceOptions
        Has the encoder of the rows, and the task.

    Examples
    --------
    >>> list(reference_models(RaceOptions(3, 5, None, 0)))
    ['Logistic regression', 'RBF SVM', 'Random forest', 'Gradient boosting']
    """
    models: dict[str, Any]
    if options.task.is_regression:
        models = {
            GUESS: DummyRegressor(),
            "Ridge": RidgeCV(RIDGE_ALPHAS),
            SVM: TransformedTargetRegressor(SVR(), transformer=StandardScaler()),
            FOREST: RandomForestRegressor(),
            BOOSTING: HistGradientBoostingRegressor(**BOOSTING_STEPS),
        }
    else:
        models = {
            "Logistic regression": LogisticRegression(max_iter=1000),
            SVM: SVC(),
            FOREST: RandomForestClassifier(),
            BOOSTING: HistGradientBoostingClassifier(**BOOSTING_STEPS),
        }
    # Trees do not depend on the scale. The penalties of the other models do.
    return {
        name: options.pipeline_of(MinMaxScaler() if name in TREES else StandardScaler(), model)
        for name, model in models.items()
    }


def best_reference(scores: Mapping[str, np.ndarray]) -> str | None:
    """Return the name of the reference model with the best mean score, or None.

    The mean prediction does not count.

    Parameters
    ----------
    scores : mapping of str to ndarray
        Test scores of reference models. Greater is better.

    Examples
    --------
    >>> best_reference({"Ridge": np.array([0.1, 0.3]), "Mean prediction": np.array([0.2, 0.3])})
    'Ridge'
    """
    names = [name for name in scores if name != GUESS]
    return max(names, key=lambda name: scores[name].mean(), default=None)
