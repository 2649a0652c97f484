"""Reference models, to which nearest neighbours under a distance are compared."""

from collections.abc import Mapping
from dataclasses import replace
from time import perf_counter
from typing import Any, NamedTuple

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

from dimetric.advice._race import TIME_LIMIT_REACHED
from dimetric.advice._race_options import RaceOptions
from dimetric.benchmark._cell import Cell
from dimetric.benchmark._run import run

__all__ = ["ReferenceScores", "reference_models", "reference_scores"]

GUESS, FOREST, BOOSTING, SVM = "Mean prediction", "Random forest", "Gradient boosting", "RBF SVM"
SLOW = (FOREST, BOOSTING)
# Largest number of values in X for which no worker process is started. Fitting a forest then takes
# about a second, less than the start of a process.
MAX_IN_PROCESS_VALUES = 50_000
RIDGE_ALPHAS = np.logspace(-3, 3, 13)  # the best one is chosen by leave-one-out errors
# Fewer and larger steps than by default: half of the time, and about the same scores.
BOOSTING_STEPS = {"max_iter": 50, "learning_rate": 0.2}


class ReferenceScores(NamedTuple):
    """Scores of the reference models.

    Attributes
    ----------
    scores : dict of str to ndarray of shape (n_folds,)
        Test scores of each model in the folds of the race.
    fit_seconds : dict of str to float
        Mean time of a fit of each model.
    dropped : dict of str to str
        The reason why a model has no scores, by its name.
    """

    scores: dict[str, np.ndarray]
    fit_seconds: dict[str, float]
    dropped: dict[str, str]

    @property
    def best(self) -> str | None:
        """Name of the model with the best mean score, apart from the mean prediction."""
        models = [name for name in self.scores if name != GUESS]
        return max(models, key=lambda name: self.scores[name].mean(), default=None)


def reference_models(options: RaceOptions) -> dict[str, Pipeline]:
    """Return the pipelines of the reference models by name, the fastest first.

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
        name: options.pipeline_of(MinMaxScaler() if name in SLOW else StandardScaler(), model)
        for name, model in models.items()
    }


def reference_scores(
    models: Mapping[str, Pipeline],
    X: np.ndarray,
    y: np.ndarray,
    folds: list[int],
    seconds: float,
    options: RaceOptions,
) -> ReferenceScores:
    """Cross-validate the reference models in the folds of the race.

    Parameters
    ----------
    models : mapping of str to Pipeline
        The reference models, the fastest first.
    X, y : ndarray
        Samples of the race, and their classes or numbers.
    folds : list of int
        The folds in which the learners have scores.
    seconds : float
        Approximate time of all models. A model that does not finish in time has no scores.
    options : RaceOptions
        The options of the race.
    """
    found, limit = ReferenceScores({}, {}, {}), _TimeLimit(seconds)
    # One model after the other, so that slow models cannot use the time of the others.
    for name, model in models.items():
        is_slow = name in SLOW and X.size > MAX_IN_PROCESS_VALUES
        run_options = options if is_slow else replace(options, n_jobs=None)
        cells = run(
            {name: model},
            {"data": (X, y)},
            time_budget=None if run_options.n_jobs is None else seconds / 2,
            random_state=options.random_state,
            stop=limit,
            **run_options.for_run("race", len(y)),
        ).cells
        done = {cell.fold: cell for cell in cells if cell.status == "ok"}
        if all(fold in done for fold in folds):
            found.scores[name] = np.array([done[fold].test for fold in folds])
            found.fit_seconds[name] = float(np.mean([done[fold].time for fold in folds]))
        else:
            found.dropped[name] = _reason(cells)
    return found


class _TimeLimit:
    """Stops all runs some time after the first fit. The start of worker processes does not count.

    The time limit starts with the first finished fit.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds, self._deadline = seconds, np.inf

    def __call__(self, cells: list[Cell]) -> bool:
        if cells:
            self._deadline = min(self._deadline, perf_counter() + self._seconds)
        return perf_counter() > self._deadline


def _reason(cells: list[Cell]) -> str:
    """Return why a model has no scores in some folds."""
    cell = next((cell for cell in cells if cell.status != "ok"), None)
    return TIME_LIMIT_REACHED if cell is None else cell.message or cell.status
