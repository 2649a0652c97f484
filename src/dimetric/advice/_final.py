"""The final of a comparison: the best learner against the Euclidean distance and a reference."""

import warnings
from dataclasses import replace
from math import ceil
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from dimetric.advice._candidates import candidate_grid
from dimetric.advice._race_options import LEARNER_PREFIX, RaceOptions, pipeline_grid
from dimetric.advice._settings import SETTINGS
from dimetric.benchmark._cell import Cell
from dimetric.benchmark._run import run
from dimetric.data._fold_encoder import FoldEncoder
from dimetric.report._confusion import Confusion, confusion_of
from dimetric.report._records import BASELINE
from dimetric.selection._tune import tune

__all__ = [
    "Contestant",
    "FinalScores",
    "Stage",
    "best_params",
    "final_scores",
    "limit_to_time",
    "n_features",
    "n_training_rows",
    "run_final",
]


class Stage(NamedTuple):
    """The rows of the race or the final, and its options."""

    rows: np.ndarray
    X: np.ndarray
    y: np.ndarray
    options: RaceOptions

    @property
    def n_features(self) -> int:
        """Number of features after encoding."""
        return n_features(self.X, self.options.encoder)


class FinalScores(NamedTuple):
    """The scores of the final.

    Attributes
    ----------
    scores : dict of str to ndarray of shape (n_repeats * n_folds,)
        Test scores of the baseline, the best learner, and the reference model if there is one.
    n_repeats : int
        Number of complete repeats.
    confusion : Confusion or None
        Confusion matrices of the baseline and the best learner in the first repeat. None for
        numbers.
    grid : dict of str to list
        The parameters of the best learner that were tuned.
    """

    scores: dict[str, np.ndarray]
    n_repeats: int
    confusion: Confusion | None
    grid: dict[str, list[Any]]


class Contestant(NamedTuple):
    """A model of the final, and the time of a fit on the rows of the final (estimate)."""

    name: str
    model: Any
    seconds: float


def n_features(X: np.ndarray, encoder: FoldEncoder | None) -> int:
    """Return the number of features of X after encoding."""
    return int(X.shape[1] if encoder is None else encoder.n_features)


def n_training_rows(n_rows: int, n_folds: int) -> int:
    """Return the size of the smallest training set in a cross-validation."""
    return n_rows - ceil(n_rows / n_folds)


def final_scores(
    best: Contestant, reference: Contestant | None, stage: Stage, seconds: float
) -> FinalScores:
    """Cross-validate the best learner, the baseline and a reference model in new folds.

    Parameters
    ----------
    best : Contestant
        The best learner. Its parameters are tuned within each fold.
    reference : Contestant or None
        The best reference model. It is left out if it would need more than a third of the time.
    stage : Stage
        The rows and options.
    seconds : float
        Approximate time, with that of tuning the parameters after the final.
    """
    options = replace(stage.options, random_state=stage.options.random_state + 1)  # new folds
    n_processes = options.n_jobs or 1
    if reference is not None and 3 * reference.seconds * options.cv > seconds * n_processes:
        reference = None
    models = {BASELINE: options.pipeline(None), best.name: options.pipeline(best.model)}
    fixed_seconds = 0.0
    if reference is not None:
        models[reference.name], fixed_seconds = reference.model, reference.seconds
    grid = candidate_grid(best.model, stage.n_features) if _can_tune(stage) else {}
    grid, n_repeats = limit_to_time(grid, best.seconds, seconds, options, fixed_seconds)
    n_tuning_fits = _n_combinations(grid) * SETTINGS.tuning_folds if grid else 0
    scores, n_repeats, confusion = run_final(
        models,
        stage,
        seconds - n_tuning_fits * best.seconds,
        options,
        param_grids={best.name: grid} if grid else None,
        n_repeats=n_repeats,
        optional=None if reference is None else reference.name,
    )
    return FinalScores(scores, n_repeats, confusion, grid)


def _can_tune(stage: Stage) -> bool:
    """Return whether the training rows of a fold are enough to tune parameters."""
    y, options = stage.y, stage.options
    is_regression = options.task.is_regression
    smallest_class = len(y) if is_regression else np.min(np.unique(y, return_counts=True)[1])
    min_members = SETTINGS.min_tuning_rows if is_regression else SETTINGS.min_tuning_members
    n_tuning_rows = n_training_rows(n_training_rows(len(y), options.cv), SETTINGS.tuning_folds)
    return bool(
        smallest_class >= min_members
        and options.min_neighbors <= n_tuning_rows
        # With two folds, the training rows of a fold may be a single group.
        and (options.groups is None or options.cv > 2)
    )


def run_final(
    models: dict[str, Any],
    stage: Stage,
    seconds: float,
    options: RaceOptions,
    *,
    param_grids: dict[str, Any] | None,
    n_repeats: int,
    optional: str | None = None,
) -> tuple[dict[str, np.ndarray], int, Confusion | None]:
    """Run repeated cross-validation of a few models, with parameters tuned within each fold.

    Parameters
    ----------
    models : dict of str to Pipeline
        The models of the baseline, the best learner and the best reference model, in this order.
    stage : Stage
        The rows.
    seconds : float
        Approximate time of the final. The first repeat is always completed.
    options : RaceOptions
        Number of folds, neighbours and processes, and the seed.
    param_grids : dict of str to grid, or None
        Grids of parameters to tune, by the name of the learner.
    n_repeats : int
        Largest number of repeats. Each repeat splits the rows into new folds.
    optional : str or None, default=None
        Name of a model that may fail. It then has no scores.

    Returns
    -------
    scores : dict of str to ndarray of shape (n_complete * n_folds,)
        Test scores of each model.
    n_complete : int
        Number of repeats that were completed in time.
    confusion : Confusion or None
        Confusion matrices of the first two models in the first repeat. None for numbers.
    """
    deadline = perf_counter() + seconds
    grids = {name: pipeline_grid(grid) for name, grid in (param_grids or {}).items()}

    def failures(cells: list[Cell]) -> set[str]:
        return {cell.learner for cell in cells if cell.status != "ok"}

    def is_complete(cells: list[Cell], repeat: int) -> bool:
        n_models = len(models) - len(failures(cells) & {optional})
        counted = [cell for cell in cells if cell.repeat == repeat and cell.status == "ok"]
        return len(counted) >= options.cv * n_models

    def stop(cells: list[Cell]) -> bool:
        failed = bool(failures(cells) - {optional})
        return failed or (is_complete(cells, 0) and perf_counter() > deadline)

    cells = run(
        models,
        {"data": (stage.X, stage.y)},
        n_repeats=n_repeats,
        param_grids=grids,
        tuning_cv=SETTINGS.tuning_folds,
        random_state=options.random_state,
        stop=stop,
        drop=lambda cells: failures(cells) & {optional} - {None},
        **options.for_run("final", len(stage.y)),
    ).cells
    for cell in cells:
        if cell.status != "ok" and cell.learner != optional:
            reason = cell.message or cell.status
            raise ValueError(f"{cell.learner} could not be evaluated: {reason}")
    failed = failures(cells)
    complete = [repeat for repeat in range(n_repeats) if is_complete(cells, repeat)]
    counted = sorted(
        (cell for cell in cells if cell.repeat in complete),
        key=lambda cell: (cell.repeat, cell.fold),
    )
    scores = {
        name: np.array([cell.test for cell in counted if cell.learner == name])
        for name in models
        if name not in failed
    }
    baseline, best = list(models)[:2]
    return scores, len(complete), confusion_of(cells, baseline, best)


def limit_to_time(
    grid: dict[str, list[Any]],
    fit_seconds: float,
    seconds: float,
    options: RaceOptions,
    fixed_seconds: float = 0.0,
) -> tuple[dict[str, list[Any]], int]:
    """Shrink a parameter grid until it fits the time. Return the grid and the number of repeats.

    Parameters
    ----------
    grid : dict of str to list
        Values of each parameter.
    fit_seconds, fixed_seconds : float
        Time of a fit of the tuned model, and of all other fits in a fold.
    seconds : float
        Time of the final, and of tuning the parameters after it.
    options : RaceOptions
        Number of folds and processes.
    """
    fit_seconds = max(fit_seconds, SETTINGS.min_fit_seconds)
    n_tuning_fits = _n_combinations(grid) * SETTINGS.tuning_folds if grid else 0

    def repeat_seconds() -> float:
        fold_seconds = (n_tuning_fits + 1) * fit_seconds + fixed_seconds
        return options.cv * fold_seconds / (options.n_jobs or 1)

    # After the final, the parameters are tuned once more, in this process.
    while grid and repeat_seconds() + n_tuning_fits * fit_seconds > seconds:
        longest = max(grid, key=lambda name: len(grid[name]))
        grid = {name: values[:-1] if name == longest else values for name, values in grid.items()}
        if _n_combinations(grid) == 1:
            grid = {}
        n_tuning_fits = _n_combinations(grid) * SETTINGS.tuning_folds if grid else 0
    n_repeats = (seconds - n_tuning_fits * fit_seconds) // repeat_seconds()
    return grid, int(np.clip(n_repeats, 1, SETTINGS.max_final_repeats))


def _n_combinations(grid: dict[str, list[Any]]) -> int:
    return int(np.prod([len(values) for values in grid.values()]))


def best_params(learner: Any, stage: Stage, grid: dict[str, list[Any]]) -> dict[str, Any]:
    """Return the values in the grid that give the best cross-validated score."""
    if not grid:
        return {}
    X, y, options = stage.X, stage.y, stage.options
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search = tune(
            options.pipeline(learner),
            X,
            y,
            pipeline_grid(grid),
            criterion="score" if options.task.score == "r2" else options.task.score,
            groups=np.arange(len(y)) if options.groups is None else options.groups,
            cv=SETTINGS.tuning_folds,
            random_state=options.random_state,
        )
    return {name.removeprefix(LEARNER_PREFIX): value for name, value in search.best_params_.items()}
