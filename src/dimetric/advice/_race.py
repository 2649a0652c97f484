"""The two stages of a comparison: the race of all learners, and the final of the best one."""

from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from time import perf_counter
from typing import Any

import numpy as np

from dimetric.advice._race_options import RaceOptions, pipeline_grid
from dimetric.advice._settings import SETTINGS
from dimetric.benchmark._cell import Cell
from dimetric.benchmark._run import run
from dimetric.benchmark._store import Store
from dimetric.report._confusion import Confusion, confusion_of
from dimetric.report._records import BASELINE

TIME_LIMIT_REACHED = "The time limit was reached."


class _RaceControl:
    """Decides which learners are dropped from the race, and when the race ends.

    The time limit starts with the first finished fit, so it does not include the start of worker
    processes. The race continues past the limit until the baseline and one other learner have
    scores in two folds. While at most half of the learners have such scores, the limit is twice as
    long.
    """

    def __init__(self, n_models: int, seconds: float) -> None:
        self.dropped: dict[str, str] = {}
        self.cells: list[Cell] = []
        self.is_over = False
        self._n_models, self._seconds, self._deadline = n_models, seconds, np.inf

    def drop(self, cells: list[Cell]) -> set[str]:
        """Return the names of the learners that failed or took too long."""
        for cell in cells:
            if cell.status != "ok" and cell.learner != BASELINE:
                self.dropped.setdefault(cell.learner, cell.message or cell.status)
        return set(self.dropped)

    def stop(self, cells: list[Cell]) -> bool:
        """Return whether the race is over."""
        self.cells = cells
        if cells:
            self._deadline = min(self._deadline, perf_counter() + self._seconds)
        counts = Counter(cell.learner for cell in cells if cell.status == "ok")
        ranked = [
            name
            for name, count in counts.items()
            if count >= SETTINGS.min_race_folds and name not in self.dropped
        ]
        most_are_ranked = 2 * len(ranked) > self._n_models - len(self.dropped)
        deadline = self._deadline + (0 if most_are_ranked else self._seconds)
        enough = BASELINE in ranked and len(ranked) > 1
        self.is_over = enough and perf_counter() > deadline
        return self.is_over


def run_race(
    models: dict[str, Any], X: np.ndarray, y: np.ndarray, seconds: float, options: RaceOptions
) -> tuple[list[Cell], dict[str, str]]:
    """Cross-validate all learners in the same folds until the time limit is reached.

    The first half of the learners finishes before the second half starts, because slow learners may
    use up the time.

    Parameters
    ----------
    models : dict of str to learner
        All learners including the baseline, the most important first.
    X, y : ndarray
        Samples, and their classes or numbers.
    seconds : float
        Approximate time of the race.
    options : RaceOptions
        Number of folds, neighbours and processes, and the seed.

    Returns
    -------
    cells : list of Cell
        Results of the fits, in the order in which they finished.
    dropped : dict of str to str
        The reason why a learner failed or was stopped, by its name.
    """
    limit = None
    if options.n_jobs is not None:
        min_limit = SETTINGS.min_fit_limit_seconds
        limit = round(max(min_limit, SETTINGS.fit_limit_fraction * seconds), 1)
    control = _RaceControl(len(models), seconds)
    names = list(models)
    n_first = max(2, (len(names) + 1) // 2)
    with closing(Store()) as store:
        for group in (names[:n_first], names):
            racing = {
                name: options.pipeline(models[name])
                for name in group
                if name not in control.dropped
            }
            if racing and not control.is_over:
                run(
                    racing,
                    {"data": (X, y)},
                    time_budget=limit,
                    store=store,
                    random_state=options.random_state,
                    stop=control.stop,
                    drop=control.drop,
                    **options.for_run("race", len(y)),
                )
    return control.cells, control.dropped


def scores_on_common_folds(
    cells: list[Cell], models: dict[str, Any], dropped: dict[str, str]
) -> tuple[dict[str, np.ndarray], dict[str, float], dict[str, str]]:
    """Return the scores in the folds that all remaining learners have finished.

    Learners with the fewest folds are dropped until the remaining ones have enough folds in common:
    the number of folds that at least half of the learners have finished, and two or more. So a few
    slow learners do not make the ranking of the others noisy.

    Parameters
    ----------
    cells : list of Cell
        Results of the fits.
    models : dict of str to learner
        All learners.
    dropped : dict of str to str
        The reason why a learner was dropped from the race, by its name.

    Returns
    -------
    scores : dict of str to ndarray
        Test scores of each remaining learner.
    fit_seconds : dict of str to float
        Mean time of a fit of each remaining learner.
    dropped : dict of str to str
        The reason why a learner has no scores, by its name.
    """
    dropped = dict(dropped)
    done = _finished_cells(cells, [name for name in models if name not in dropped])
    failed = {cell.learner: cell.message or cell.status for cell in cells if cell.status != "ok"}
    counts = sorted(map(len, done.values()))
    of_half = max(SETTINGS.min_race_folds, counts[len(counts) // 2])
    while len(done) > 1:
        # The last learner may have fewer folds than others that were dropped.
        n_required = of_half if len(done) > 2 else SETTINGS.min_race_folds
        if len(_common_folds(done)) >= n_required:
            break
        slowest = min(done, key=lambda name: (name == BASELINE, len(done[name])))
        dropped[slowest] = failed.get(slowest, TIME_LIMIT_REACHED)
        del done[slowest]
    if len(done) == 1:
        reasons = failed | dropped
        if BASELINE in failed:  # a fault of the data, which the learners only repeat
            reasons = {BASELINE: failed[BASELINE]}
        why = " ".join(f"{name}: {message.rstrip('.')}." for name, message in reasons.items())
        hint = " Set a larger budget." if "time limit" in why or "time budget" in why else ""
        raise ValueError(f"No learner could be evaluated. {why}{hint}")
    folds = _common_folds(done)
    scores = {name: np.array([cells[fold].test for fold in folds]) for name, cells in done.items()}
    fit_seconds = {
        name: float(np.mean([cells[fold].time for fold in folds])) for name, cells in done.items()
    }
    return scores, fit_seconds, dropped


def common_folds(cells: list[Cell], names: Iterable[str]) -> list[int]:
    """Return the folds in which all learners of the given names have scores.

    Parameters
    ----------
    cells : list of Cell
        Results of the fits.
    names : iterable of str
        Names of the learners.
    """
    return _common_folds(_finished_cells(cells, names))


def _finished_cells(cells: list[Cell], names: Iterable[str]) -> dict[str, dict[int, Cell]]:
    """Return the cells with scores, by the name of the learner and the fold."""
    done: dict[str, dict[int, Cell]] = {name: {} for name in names}
    for cell in cells:
        if cell.status == "ok" and cell.learner in done:
            done[cell.learner][cell.fold] = cell
    return done


def _common_folds(done: dict[str, dict[int, Cell]]) -> list[int]:
    return sorted(set.intersection(*(set(cells) for cells in done.values())))


def run_final(
    pair: dict[str, Any],
    X: np.ndarray,
    y: np.ndarray,
    seconds: float,
    options: RaceOptions,
    *,
    param_grids: dict[str, Any] | None,
    n_repeats: int,
) -> tuple[dict[str, np.ndarray], int, Confusion | None]:
    """Run repeated cross-validation of two learners, with parameters tuned within each fold.

    Parameters
    ----------
    pair : dict of str to learner
        The baseline and the best learner.
    X, y : ndarray
        Samples, and their classes or numbers.
    seconds : float
        Approximate time of the final. The first repeat is always completed.
    options : RaceOptions
        Number of folds, neighbours and processes, and the seed.
    param_grids : dict of str to grid, or None
        Grids of parameters to tune, by the name of the learner.
    n_repeats : int
        Largest number of repeats. Each repeat splits the rows into new folds.

    Returns
    -------
    scores : dict of str to ndarray of shape (n_complete * n_folds,)
        Test scores of both learners.
    n_complete : int
        Number of repeats that were completed in time.
    confusion : Confusion or None
        Confusion matrices of the first repeat. None for numbers.
    """
    deadline = perf_counter() + seconds
    grids = {name: pipeline_grid(grid) for name, grid in (param_grids or {}).items()}
    cells_per_repeat = options.cv * len(pair)

    def stop(cells: list[Cell]) -> bool:
        failed = any(cell.status != "ok" for cell in cells)
        first_is_complete = sum(cell.repeat == 0 for cell in cells) == cells_per_repeat
        return failed or (first_is_complete and perf_counter() > deadline)

    cells = run(
        {name: options.pipeline(learner) for name, learner in pair.items()},
        {"data": (X, y)},
        n_repeats=n_repeats,
        param_grids=grids,
        tuning_cv=SETTINGS.tuning_folds,
        random_state=options.random_state,
        stop=stop,
        **options.for_run("final", len(y)),
    ).cells
    for cell in cells:
        if cell.status != "ok":
            reason = cell.message or cell.status
            raise ValueError(f"{cell.learner} could not be evaluated: {reason}")
    counts = Counter(cell.repeat for cell in cells)
    complete = [repeat for repeat, count in counts.items() if count == cells_per_repeat]
    counted = sorted(
        (cell for cell in cells if cell.repeat in complete),
        key=lambda cell: (cell.repeat, cell.fold),
    )
    scores = {
        name: np.array([cell.test for cell in counted if cell.learner == name]) for name in pair
    }
    return scores, len(complete), confusion_of(cells, *pair)
