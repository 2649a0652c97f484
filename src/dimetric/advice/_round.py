"""One round of a race: cross-validate models, and drop some of them if the time is short."""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from time import perf_counter
from typing import NamedTuple

import numpy as np
from sklearn.pipeline import Pipeline

from dimetric.advice._common_folds import (
    TIME_LIMIT_REACHED,
    common_splits,
    offsets_of,
    score_sentence,
    scores_on_common_folds,
    split_of,
)
from dimetric.advice._final import Stage
from dimetric.advice._settings import SETTINGS
from dimetric.advice._survivors import min_repeats, survivors
from dimetric.benchmark._cell import Cell
from dimetric.benchmark._run import run
from dimetric.report._choice import BASELINE

__all__ = ["Round", "RoundScores", "run_round"]

NOT_STARTED = "There was no time to fit it."


@dataclass(frozen=True)
class Round:
    """The models of a round.

    Attributes
    ----------
    models, references : mapping of str to Pipeline
        The models of the learners, including the baseline, and the reference models.
    protected : collection of str
        Learners that are not dropped because of their scores.
    n_repeats : int
        Largest number of times that the rows are split into folds.
    n_done_before, n_to_follow : int
        Number of fits before this round, and after it (estimate), for the callback.
    """

    models: Mapping[str, Pipeline]
    references: Mapping[str, Pipeline] = field(default_factory=dict)
    protected: Collection[str] = ()
    n_repeats: int = 1
    n_done_before: int = 0
    n_to_follow: int = 0


class RoundScores(NamedTuple):
    """The results of a round.

    Attributes
    ----------
    scores, references : dict of str to ndarray of shape (n_scores,)
        Test scores of learners and of reference models in the same folds. Greater is better.
    fit_seconds : dict of str to float
        Mean time of a fit of each model with scores, and of those dropped to save time.
    dropped : dict of str to str
        A sentence that says why a model has no scores, by its name.
    had_no_time : list of str
        Names of the learners that were dropped to save time.
    offsets : dict of str to float
        Mean score of each dropped learner, minus the mean of `scores` in the same folds.
    n_folds, n_done : int
        Number of scores of each model, and number of fits.
    """

    scores: dict[str, np.ndarray]
    references: dict[str, np.ndarray]
    fit_seconds: dict[str, float]
    dropped: dict[str, str]
    had_no_time: list[str]
    offsets: dict[str, float]
    n_folds: int
    n_done: int


def run_round(plan: Round, stage: Stage, deadline: float) -> RoundScores:
    """Cross-validate the models of a round in the same folds.

    Fits are ordered by folds, so all models have scores in the first folds early. If the time is
    not enough for all folds, learners are dropped as :func:`survivors` says. With time left, the
    rows are split into folds again.

    Parameters
    ----------
    plan : Round
        The models.
    stage : Stage
        The rows and options.
    deadline : float
        Time of ``perf_counter`` at which the round should end.
    """
    options, limit = stage.options, None
    if options.n_jobs is not None:
        seconds = SETTINGS.fit_limit_fraction * (deadline - perf_counter())
        limit = round(max(SETTINGS.min_fit_limit_seconds, seconds), 1)
    control = _Control(plan, stage, deadline)
    run(
        {**plan.models, **plan.references},
        {"data": (stage.X, stage.y)},
        n_repeats=plan.n_repeats,
        time_budget=limit,
        random_state=options.random_state,
        stop=control.stop,
        drop=control.drop,
        **options.for_run("race", len(stage.y)) | {"callback": control.report},
    )
    return control.result()


class _Control:
    """Decides which models are dropped from a round, and when the round ends.

    Times start with the first finished fit, so they do not include the start of worker processes.
    If this start takes long, the round ends a bit later.
    """

    def __init__(self, plan: Round, stage: Stage, deadline: float) -> None:
        self._plan, self._stage, self._deadline = plan, stage, deadline
        self._dropped: dict[str, str] = {}
        self._had_no_time: list[str] = []
        self._cells: list[Cell] = []
        self._n_checked_folds, self._started = 0, np.inf
        self._created = None if stage.options.n_jobs is None else perf_counter()

    def report(self, n_done: int, n_all: int, cell: Cell | None) -> None:
        """Tell the callback how many fits are done, and how many there will be."""
        callback, plan = self._stage.options.callback, self._plan
        if callback is None:
            return
        n_per_repeat = len(self._active()) * self._stage.options.cv
        n_repeats = min(plan.n_repeats, max(1, self._n_repeats_in_time(n_per_repeat)))
        n_done = plan.n_done_before + n_done
        n_all = plan.n_done_before + n_per_repeat * n_repeats + plan.n_to_follow
        callback("race", n_done, max(n_done, n_all))

    def drop(self, cells: list[Cell]) -> set[str]:
        """Return the names of the models that failed, or that the time is not enough for."""
        if cells and self._started == np.inf:
            self._started = perf_counter() - cells[0].time
            if self._created is not None:
                most = SETTINGS.start_fraction * max(0.0, self._deadline - self._created)
                self._deadline += min(most, max(0.0, self._started - self._created))
        self._cells = cells
        for cell in cells:
            if cell.status != "ok" and cell.learner not in {BASELINE, *self._dropped}:
                self._dropped[cell.learner] = self._failure(cell)
        counts = self._counts()
        n_folds = min((counts[name] for name in self._active()), default=0)
        if n_folds == 0 and len(counts) >= SETTINGS.min_started:
            self._skip_unstarted()
        elif self._n_checked_folds < n_folds < self._n_wanted:
            self._n_checked_folds = n_folds
            self._save_time(n_folds)
        return set(self._dropped)

    def stop(self, cells: list[Cell]) -> bool:
        """Return whether the round is over."""
        self._cells, counts, cv = cells, self._counts(), self._stage.options.cv
        if any(cell.status != "ok" and cell.learner == BASELINE for cell in cells):
            return True
        active_counts = {counts[name] for name in self._active()}
        seconds_left = self._deadline - perf_counter()
        if min(active_counts, default=0) >= self._n_wanted:
            is_complete = len(active_counts) == 1 and counts[BASELINE] % cv == 0
            return seconds_left < (self._repeat_seconds() if is_complete else 0.0)
        # The time may be over before the few models that are left have a score in each fold.
        has_enough = min(active_counts, default=0) >= SETTINGS.min_race_folds
        return has_enough and seconds_left < -self._grace_seconds()

    def result(self) -> RoundScores:
        """Return the scores in the folds that all remaining models have finished."""
        models, references, cv = self._plan.models, self._plan.references, self._stage.options.cv
        n_repeats = min(self._counts()[name] for name in self._active()) // cv
        cells = [each for each in self._cells if each.repeat < max(1, n_repeats)]
        scores, dropped = scores_on_common_folds(cells, list(models), self._dropped)
        late = [name for name, why in dropped.items() if why == TIME_LIMIT_REACHED]
        common = common_splits(cells, scores)
        found: dict[str, np.ndarray] = {}
        for name in references:
            done = {split_of(each): each.test for each in cells if each.learner == name}
            if name not in dropped and all(each in done for each in common):
                found[name] = np.array([done[each] for each in common])
            else:
                dropped.setdefault(name, TIME_LIMIT_REACHED)
        seconds = {
            name: float(np.mean([each.time for each in self._cells if each.learner == name]))
            for name in [*scores, *found, *self._had_no_time, *late]
            if any(each.learner == name for each in self._cells)
        }
        had_no_time = [*self._had_no_time, *(each for each in late if each in models)]
        offsets = offsets_of(self._cells, scores, had_no_time)
        n_done = len(self._cells)
        return RoundScores(
            scores, found, seconds, dropped, had_no_time, offsets, len(common), n_done
        )

    @property
    def _n_wanted(self) -> int:
        """Number of scores that each model should have, if the time is enough."""
        cv = self._stage.options.cv
        return cv * min(self._plan.n_repeats, min_repeats(cv))

    def _active(self) -> list[str]:
        names = [*self._plan.models, *self._plan.references]
        return [name for name in names if name not in self._dropped]

    def _counts(self) -> Counter[str]:
        return Counter(cell.learner for cell in self._cells if cell.status == "ok")

    def _seconds(self) -> dict[str, float]:
        """Return the mean time of a fit of each model, with its part of the time for scores."""
        times: dict[str, list[float]] = {}
        for cell in self._cells:
            times.setdefault(cell.learner, []).append(cell.time)
        total = sum(map(sum, times.values())) / (self._stage.options.n_jobs or 1)
        factor = max(1.0, (perf_counter() - self._started) / max(total, 1e-9))
        return {name: factor * float(np.mean(each)) for name, each in times.items()}

    def _grace_seconds(self) -> float:
        return SETTINGS.grace_fraction * max(0.0, self._deadline - self._started)

    def _repeat_seconds(self) -> float:
        seconds = self._seconds()
        total = sum(seconds[name] for name in self._active() if name in seconds)
        return total * self._stage.options.cv / (self._stage.options.n_jobs or 1)

    def _n_repeats_in_time(self, n_per_repeat: int) -> int:
        repeat_seconds = self._repeat_seconds() if self._cells else np.inf
        left = max(0.0, self._deadline - perf_counter()) / max(repeat_seconds, 1e-9)
        return int(len(self._cells) / max(1, n_per_repeat) + left)

    def _skip_unstarted(self) -> None:
        """Drop models without a fit if the first fold takes too long.

        The first reference models are fast and stay. The last two are ensembles of trees.
        """
        elapsed, seconds = perf_counter() - self._started, self._deadline - self._started
        if elapsed < SETTINGS.first_fold_fraction * seconds:
            return
        kept = {cell.learner for cell in self._cells} | set(self._plan.protected)
        kept |= set(list(self._plan.references)[:-2])
        for name in self._active():
            if name not in kept:
                self._dropped[name] = NOT_STARTED
                self._had_no_time += [name] if name in self._plan.models else []

    def _save_time(self, n_folds: int) -> None:
        """Drop learners if the time is not enough for the folds that are left."""
        options, seconds = self._stage.options, self._seconds()
        n_left = self._n_wanted - n_folds
        available = (self._deadline - perf_counter()) * (options.n_jobs or 1)
        needed = {name: n_left * seconds[name] for name in self._active()}
        self._drop_slow_references(needed, available)
        learners = {name: needed[name] for name in self._plan.models if name in self._active()}
        available -= sum(needed[name] for name in self._plan.references if name in self._active())
        if sum(learners.values()) <= available:
            return
        for name in self._too_slow(learners, available):
            self._drop_for_time(name, self._slowness(seconds[name]))
        learners = {name: each for name, each in learners.items() if name not in self._dropped}
        means = {name: self._mean(name) for name in learners}
        kept = survivors(means, learners, available, self._plan.protected)
        for name in learners.keys() - set(kept):
            folds = f"In {n_folds} of {self._n_wanted} folds of {self._n_rows} rows"
            self._drop_for_time(name, score_sentence(folds, means, name, options.task))

    def _too_slow(self, needed: Mapping[str, float], available: float) -> list[str]:
        """Return the learners that would use most of the time alone."""
        fraction, protected = SETTINGS.max_learner_fraction, self._plan.protected
        names = [name for name in needed if name != BASELINE]
        slow = [
            name
            for name in names
            if needed[name] > available * (1 if name in protected else fraction)
        ]
        return slow if len(slow) < len(names) else []

    def _drop_slow_references(self, needed: dict[str, float], available: float) -> None:
        """Drop reference models, the least important one first, until there is time for them."""
        names = [name for name in self._plan.references if name in needed]
        n_left = self._n_wanted - self._n_checked_folds
        if sum(needed.values()) <= available:
            return
        while names and sum(map(needed.__getitem__, names)) > (
            SETTINGS.reference_fraction * available
        ):
            name = names.pop()
            self._dropped[name] = self._slowness(needed[name] / n_left)

    def _drop_for_time(self, name: str, reason: str) -> None:
        self._dropped[name] = reason
        self._had_no_time.append(name)

    def _mean(self, name: str) -> float:
        return float(np.mean([each.test for each in self._cells if each.learner == name]))

    def _slowness(self, seconds: float) -> str:
        return f"One fit on {self._n_rows} rows took {seconds:.2g} s."

    @property
    def _n_rows(self) -> str:
        return f"{len(self._stage.y):,}"

    def _failure(self, cell: Cell) -> str:
        if cell.status != "timeout":
            return cell.message or cell.status
        self._had_no_time += [cell.learner] if cell.learner in self._plan.models else []
        return f"One fit on {self._n_rows} rows took more than {cell.time:.2g} s."
