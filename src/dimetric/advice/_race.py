"""The folds of a choice: a race of learners until the time is over, then a duel."""

from collections import Counter
from collections.abc import Callable
from contextlib import closing
from time import perf_counter
from typing import Any

import numpy as np

from dimetric.benchmark._run import run
from dimetric.benchmark._store import Cell, Store

BASELINE = "Euclidean"
TUNING_FOLDS = 3

Tell = Callable[[str, int, int | None], None]


def raced(
    models: dict[str, Any], X: np.ndarray, y: np.ndarray, seconds: float, options: dict[str, Any],
    seed: int, tell: Tell | None,
) -> tuple[list[Cell], dict[str, str]]:  # fmt: skip
    """Return what all learners did until the time was over, and why some of them did not.

    The time begins with the first fit, as processes may take theirs to start, and is not over
    before some learner was judged twice. The first half of the learners, which are the fastest,
    finish before the others begin: these may use up the time.
    """
    deadline, is_over = np.inf, False
    limit = None if options["n_jobs"] is None else round(max(1.0, seconds / 4), 1)
    finished: list[Cell] = []
    given_up: dict[str, str] = {}

    def drop(cells: list[Cell]) -> set[str]:
        """Drop learners that failed or took too long."""
        for cell in cells:
            if cell.status != "ok" and cell.learner != BASELINE:
                given_up.setdefault(cell.learner, cell.message or cell.status)
        return set(given_up)

    def stop(cells: list[Cell]) -> bool:
        """Stop when the time is over, but not before some learner was judged twice."""
        nonlocal deadline, is_over
        finished[:] = cells
        if cells:
            deadline = min(deadline, perf_counter() + seconds)
        times = Counter(each.learner for each in cells if each.status == "ok")
        twice = [name for name, count in times.items() if count > 1 and name not in given_up]
        # A busy machine has twice the time, until more than half of them were.
        most = 2 * len(twice) > len(models) - len(given_up)
        late = perf_counter() - (0 if most else seconds)
        is_over = late > deadline and BASELINE in twice and len(twice) > 1
        return is_over

    with closing(Store()) as store:
        for several in (list(models)[: max(2, (len(models) + 1) // 2)], list(models)):
            racing = {name: models[name] for name in several if name not in given_up}
            if racing and not is_over:
                run(
                    racing, {"data": (X, y)}, time_budget=limit, store=store, random_state=seed,
                    callback=_telling(tell, "race"), stop=stop, drop=drop, **options,
                )  # fmt: skip
    return finished, given_up


def _telling(tell: Tell | None, what: str) -> Callable[[int, int, Cell | None], None] | None:
    """Return a callback of a benchmark that says what is going on."""
    return None if tell is None else lambda n_done, n_all, cell: tell(what, n_done, n_all)


def common(
    cells: list[Cell], models: dict[str, Any], given_up: dict[str, str]
) -> tuple[dict[str, np.ndarray], dict[str, float]]:
    """Return scores in the folds that all learners have finished, and times."""
    done: dict[str, dict[int, Cell]] = {name: {} for name in models if name not in given_up}
    for cell in cells:
        if cell.status == "ok" and cell.learner in done:
            done[cell.learner][cell.fold] = cell
    failed = {cell.learner: cell.message or cell.status for cell in cells if cell.status != "ok"}
    while len(set.intersection(*(set(own) for own in done.values()))) < 2 and len(done) > 1:
        last = min(done, key=lambda name: (name == BASELINE, len(done[name])))
        given_up[last] = failed.get(last, "The time was over.")
        del done[last]
    if len(done) == 1:
        reasons = failed | given_up
        why = " ".join(f"{name}: {message.rstrip('.')}." for name, message in reasons.items())
        raise ValueError(
            f"No learner could be judged: {why} Where time was short, a larger budget helps."
        )
    folds = sorted(set.intersection(*(set(own) for own in done.values())))
    scores = {name: np.array([own[fold].test for fold in folds]) for name, own in done.items()}
    seconds = {name: float(np.mean([own[fold].time for fold in folds]))
               for name, own in done.items()}  # fmt: skip
    return scores, seconds


def judged(
    pair: dict[str, Any], X: np.ndarray, y: np.ndarray, seconds: float, options: dict[str, Any],
    seed: int, tell: Tell | None, grids: dict[str, Any] | None,
) -> tuple[dict[str, np.ndarray], int]:  # fmt: skip
    """Return the scores of two learners in all runs that were finished in time, one at least."""
    deadline, of_run = perf_counter() + seconds, options["cv"] * len(pair)

    def stop(cells: list[Cell]) -> bool:
        """Stop when the time is over and the first run is whole, or when a fit has failed."""
        failed = any(cell.status != "ok" for cell in cells)
        whole = sum(cell.repeat == 0 for cell in cells) == of_run
        return failed or (whole and perf_counter() > deadline)

    cells = run(
        pair, {"data": (X, y)}, param_grids=grids, tuning_cv=TUNING_FOLDS, random_state=seed,
        callback=_telling(tell, "verdict"), stop=stop, **options,
    ).cells  # fmt: skip
    for cell in cells:
        if cell.status != "ok":
            raise ValueError(f"{cell.learner} could not be judged: {cell.message or cell.status}")
    counts = np.bincount([cell.repeat for cell in cells])
    runs = [run for run, count in enumerate(counts) if count == of_run]
    cells = sorted((each for each in cells if each.repeat in runs),
                   key=lambda each: (each.repeat, each.fold))  # fmt: skip
    scores = {name: np.array([each.test for each in cells if each.learner == name])
              for name in pair}  # fmt: skip
    return scores, len(runs)
