"""Reference models of regression, to which nearest neighbours under a distance are compared."""

from dataclasses import replace
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import RandomForestRegressor
from sklearn.linear_model import RidgeCV
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from dimetric.advice._race import TIME_LIMIT_REACHED
from dimetric.advice._race_options import RaceOptions
from dimetric.advice._settings import SETTINGS
from dimetric.benchmark._cell import Cell
from dimetric.benchmark._run import run

__all__ = ["ReferenceScores", "reference_models", "reference_scores"]

FOREST = "Random forest"
# Largest number of values in X for which no worker process is started. Fitting a forest then takes
# about a second, less than the start of a process.
MAX_IN_PROCESS_VALUES = 50_000
RIDGE_ALPHAS = np.logspace(-3, 3, 13)  # the best one is chosen by leave-one-out errors


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


def reference_models(options: RaceOptions) -> dict[str, Any]:
    """Return the pipelines of the reference models by name, the fastest first.

    Parameters
    ----------
    options : RaceOptions
        Has the encoder of the rows.

    Examples
    --------
    >>> list(reference_models(RaceOptions(3, 5, None, 0)))
    ['Mean prediction', 'Ridge', 'Random forest']
    """
    return {
        "Mean prediction": options.pipeline_of(MinMaxScaler(), DummyRegressor()),
        "Ridge": options.pipeline_of(StandardScaler(), RidgeCV(RIDGE_ALPHAS)),
        FOREST: options.pipeline_of(MinMaxScaler(), RandomForestRegressor()),
    }


def reference_scores(
    X: np.ndarray, y: np.ndarray, folds: list[int], seconds: float, options: RaceOptions
) -> ReferenceScores:
    """Cross-validate the reference models in the folds of the race.

    Parameters
    ----------
    X, y : ndarray
        Samples of the race and their numbers.
    folds : list of int
        The folds in which the learners have scores.
    seconds : float
        Approximate time of each model, but at least 3 seconds. A model that does not finish in
        time has no scores.
    options : RaceOptions
        The options of the race.
    """
    seconds = max(seconds, SETTINGS.min_reference_seconds)
    found = ReferenceScores({}, {}, {})
    # One model after the other, so that the random forest cannot use the time of the others.
    for name, model in reference_models(options).items():
        is_slow = name == FOREST and X.size > MAX_IN_PROCESS_VALUES
        run_options = options if is_slow else replace(options, n_jobs=None)
        cells = run(
            {name: model},
            {"data": (X, y)},
            time_budget=None if run_options.n_jobs is None else seconds / 2,
            random_state=options.random_state,
            stop=_TimeLimit(seconds),
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
    """Stops a run some time after its first fit. The start of worker processes does not count."""

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
