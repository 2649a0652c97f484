"""The two stages of a comparison: a race of all learners, and a final of the best."""

from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from dimetric.advice._settings import SETTINGS
from dimetric.benchmark._run import run
from dimetric.benchmark._store import Cell, Store
from dimetric.report._records import BASELINE

Callback = Callable[[str, int, int], None]

TIME_LIMIT_REACHED = "The time limit was reached."


@dataclass(frozen=True)
class RaceOptions:
    """How both stages are run.

    Attributes
    ----------
    n_neighbors, cv : int
        Number of neighbours that vote, and of folds.
    n_jobs : int or None
        Number of worker processes; None fits in this process.
    random_state : int
        Seed of folds and learners.
    callback : callable or None
        Called as ``callback(stage, n_done, n_all)`` after each fit.
    """

    n_neighbors: int
    cv: int
    n_jobs: int | None
    random_state: int
    callback: Callback | None = None

    def for_run(self, stage: str) -> dict[str, Any]:
        """Return the options as :func:`dimetric.benchmark.run` takes them."""
        callback = self.callback

        def report(n_done: int, n_all: int, cell: Cell | None) -> None:
            if callback is not None:
                callback(stage, n_done, n_all)

        return {
            "n_neighbors": self.n_neighbors,
            "cv": self.cv,
            "n_jobs": self.n_jobs,
            "callback": report,
        }


class _RaceControl:
    """Decides which learners are dropped from a race, and when it ends.

    The time begins with the first finished fit, as worker processes take some time to start. The
    race does not end before the baseline and another learner were judged in two folds. On a busy
    machine it takes up to twice the time, until more than half of the learners were.
    """

    def __init__(self, n_models: int, seconds: float) -> None:
        self.dropped: dict[str, str] = {}
        self.cells: list[Cell] = []
        self.is_over = False
        self._n_models, self._seconds, self._deadline = n_models, seconds, np.inf

    def drop(self, cells: list[Cell]) -> set[str]:
        """Return the learners that failed or took too long."""
        for cell in cells:
            if cell.status != "ok" and cell.learner != BASELINE:
                self.dropped.setdefault(cell.learner, cell.message or cell.status)
        return set(self.dropped)

    def stop(self, cells: list[Cell]) -> bool:
        """Tell whether the race is over."""
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
    """Judge all learners in the same folds until the time is over.

    The first half of the learners, which are the fastest, finish before the others begin: these
    may use up the time.

    Parameters
    ----------
    models : dict of str to learner
        All learners, the baseline among them, the fastest first.
    X, y : ndarray
        Samples and their classes.
    seconds : float
        Time of the race, about.
    options : RaceOptions
        Folds, neighbours, processes.

    Returns
    -------
    cells : list of Cell
        What was finished, in this order.
    dropped : dict of str to str
        Learners that failed or took too long, and why.
    """
    limit = None
    if options.n_jobs is not None:
        shortest = SETTINGS.min_fit_limit_seconds
        limit = round(max(shortest, SETTINGS.fit_limit_share * seconds), 1)
    control = _RaceControl(len(models), seconds)
    names = list(models)
    n_first = max(2, (len(names) + 1) // 2)
    with closing(Store()) as store:
        for group in (names[:n_first], names):
            racing = {name: models[name] for name in group if name not in control.dropped}
            if racing and not control.is_over:
                run(
                    racing,
                    {"data": (X, y)},
                    time_budget=limit,
                    store=store,
                    random_state=options.random_state,
                    stop=control.stop,
                    drop=control.drop,
                    **options.for_run("race"),
                )
    return control.cells, control.dropped


def scores_on_common_folds(
    cells: list[Cell], models: dict[str, Any], dropped: dict[str, str]
) -> tuple[dict[str, np.ndarray], dict[str, float], dict[str, str]]:
    """Return scores in the folds that all learners have finished.

    Learners with the fewest folds are dropped until the others have two folds in common.

    Parameters
    ----------
    cells : list of Cell
        What was finished.
    models : dict of str to learner
        All learners.
    dropped : dict of str to str
        Learners that were dropped already, and why.

    Returns
    -------
    scores : dict of str to ndarray
        Test scores of each learner.
    fit_seconds : dict of str to float
        Mean time of a fit.
    dropped : dict of str to str
        All learners without scores, and why.
    """
    dropped = dict(dropped)
    done: dict[str, dict[int, Cell]] = {name: {} for name in models if name not in dropped}
    for cell in cells:
        if cell.status == "ok" and cell.learner in done:
            done[cell.learner][cell.fold] = cell
    failed = {cell.learner: cell.message or cell.status for cell in cells if cell.status != "ok"}
    while len(_common_folds(done)) < SETTINGS.min_race_folds and len(done) > 1:
        last = min(done, key=lambda name: (name == BASELINE, len(done[name])))
        dropped[last] = failed.get(last, TIME_LIMIT_REACHED)
        del done[last]
    if len(done) == 1:
        reasons = failed | dropped
        why = " ".join(f"{name}: {message.rstrip('.')}." for name, message in reasons.items())
        raise ValueError(
            f"No learner could be judged: {why} If the time was too short, set a larger budget."
        )
    folds = _common_folds(done)
    scores = {name: np.array([own[fold].test for fold in folds]) for name, own in done.items()}
    fit_seconds = {
        name: float(np.mean([own[fold].time for fold in folds])) for name, own in done.items()
    }
    return scores, fit_seconds, dropped


def _common_folds(done: dict[str, dict[int, Cell]]) -> list[int]:
    return sorted(set.intersection(*(set(own) for own in done.values())))


def run_final(
    pair: dict[str, Any],
    X: np.ndarray,
    y: np.ndarray,
    seconds: float,
    options: RaceOptions,
    *,
    param_grids: dict[str, Any] | None,
    n_repeats: int,
) -> tuple[dict[str, np.ndarray], int]:
    """Judge two learners in repeated folds; parameters are tuned inside each fold.

    Parameters
    ----------
    pair : dict of str to learner
        The baseline and the best learner.
    X, y : ndarray
        Samples and their classes.
    seconds : float
        Time of the final, about. The first repeat is always finished.
    options : RaceOptions
        Folds, neighbours, processes.
    param_grids : dict of str to grid, or None
        Parameters to tune.
    n_repeats : int
        How often the rows are split into folds, at most.

    Returns
    -------
    scores : dict of str to ndarray of shape (n_finished * n_folds,)
        Test scores of both.
    n_finished : int
        Number of repeats that were finished in time.
    """
    deadline = perf_counter() + seconds
    per_repeat = options.cv * len(pair)

    def stop(cells: list[Cell]) -> bool:
        failed = any(cell.status != "ok" for cell in cells)
        first_is_whole = sum(cell.repeat == 0 for cell in cells) == per_repeat
        return failed or (first_is_whole and perf_counter() > deadline)

    cells = run(
        pair,
        {"data": (X, y)},
        n_repeats=n_repeats,
        param_grids=param_grids,
        tuning_cv=SETTINGS.tuning_folds,
        random_state=options.random_state,
        stop=stop,
        **options.for_run("final"),
    ).cells
    for cell in cells:
        if cell.status != "ok":
            raise ValueError(f"{cell.learner} could not be judged: {cell.message or cell.status}")
    counts = Counter(cell.repeat for cell in cells)
    whole = [repeat for repeat, count in sorted(counts.items()) if count == per_repeat]
    finished = sorted(
        (cell for cell in cells if cell.repeat in whole), key=lambda cell: (cell.repeat, cell.fold)
    )
    scores = {
        name: np.array([cell.test for cell in finished if cell.learner == name]) for name in pair
    }
    return scores, len(whole)
