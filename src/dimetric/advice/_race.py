"""The folds of a choice: a race of learners until the time is over, then a duel."""

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from time import perf_counter
from typing import Any

import numpy as np

from dimetric.benchmark._run import compare
from dimetric.benchmark._store import Cell, Store

BASELINE = "Euclidean"
TUNING_FOLDS = 3

Tell = Callable[[str, int, int | None], None]


class _Over(Exception):
    """The time is over."""


class _Dropped(Exception):
    """A learner failed, or took too long: it is not asked again."""

    def __init__(self, cell: Cell) -> None:
        self.cell = cell


def raced(
    models: dict[str, Any], X: np.ndarray, y: np.ndarray, seconds: float, options: dict[str, Any],
    seed: int, tell: Tell | None,
) -> tuple[list[Cell], dict[str, str]]:  # fmt: skip
    """Return what all learners did until the time was over, and why some of them did not.

    The time begins with the first fit, as processes may take theirs to start, and is not over
    before some learner was judged twice. The first half of the learners, which are the fastest,
    finish before the others begin: these may use up the time.
    """
    deadline = np.inf
    limit = None if options["n_jobs"] is None else round(max(1.0, seconds / 4), 1)
    cells: list[Cell] = []
    given_up: dict[str, str] = {}
    store = Store()  # what is done is done, whoever is dropped

    def watch(cell: Cell) -> None:
        nonlocal deadline
        deadline = min(deadline, perf_counter() + seconds)
        cells.append(cell)
        if cell.status != "ok" and cell.learner != BASELINE:
            raise _Dropped(cell)
        times = Counter(each.learner for each in cells if each.status == "ok")
        twice = [name for name, count in times.items() if count > 1 and name not in given_up]
        # A busy machine has twice the time, until more than half of them were.
        most = 2 * len(twice) > len(models) - len(given_up)
        late = perf_counter() - (0 if most else seconds)
        if late > deadline and BASELINE in twice and len(twice) > 1:
            raise _Over

    with suppress(_Over):
        for several in (list(models)[: max(2, (len(models) + 1) // 2)], list(models)):
            while racing := {name: models[name] for name in several if name not in given_up}:
                try:
                    _run(racing, X, y, limit, options | {"store": store}, seed, tell, "race", watch)
                    break
                except _Dropped as drop:
                    given_up[drop.cell.learner] = drop.cell.message or drop.cell.status
    store.close()
    return cells, given_up


def _run(
    models: dict[str, Any], X: np.ndarray, y: np.ndarray, limit: float | None,
    options: dict[str, Any], seed: int, tell: Tell | None, what: str,
    watch: Callable[[Cell], None] | None = None, grids: dict[str, Any] | None = None,
) -> None:  # fmt: skip
    def told(done: int, total: int, cell: Cell | None) -> None:
        if tell is not None:
            tell(what, done, total)
        if cell is not None and watch is not None:
            watch(cell)

    compare(
        models, {"data": (X, y)}, time_budget=limit, params=grids, n_tuning_folds=TUNING_FOLDS,
        random_state=seed, watch=told, **options,
    )  # fmt: skip


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
    deadline, of_run = perf_counter() + seconds, options["n_folds"] * len(pair)
    cells: list[Cell] = []

    def watch(cell: Cell) -> None:
        if cell.status != "ok":
            raise ValueError(f"{cell.learner} could not be judged: {cell.message or cell.status}")
        cells.append(cell)
        whole = [each for each in cells if each.repeat == 0]
        if perf_counter() > deadline and len(whole) == of_run:
            raise _Over

    with suppress(_Over):
        _run(pair, X, y, None, options, seed, tell, "verdict", watch, grids)
    counts = np.bincount([cell.repeat for cell in cells])
    runs = [run for run, count in enumerate(counts) if count == of_run]
    cells = sorted((each for each in cells if each.repeat in runs),
                   key=lambda each: (each.repeat, each.fold))  # fmt: skip
    scores = {name: np.array([each.test for each in cells if each.learner == name])
              for name in pair}  # fmt: skip
    return scores, len(runs)
