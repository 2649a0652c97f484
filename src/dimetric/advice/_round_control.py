"""Which models are dropped from a round of a race, and when the round ends."""

from collections import Counter
from collections.abc import Mapping
from time import perf_counter

import numpy as np

from dimetric.advice._common_folds import (
    TIME_LIMIT_REACHED,
    common_splits,
    offsets_of,
    score_sentence,
    scores_on_common_folds,
    split_of,
)
from dimetric.advice._final import Stage
from dimetric.advice._reference_time import affordable_references, is_fast
from dimetric.advice._round_records import Round, RoundScores
from dimetric.advice._settings import SETTINGS
from dimetric.advice._survivors import min_repeats, survivors
from dimetric.benchmark._cell import Cell
from dimetric.report._choice import BASELINE

__all__ = ["RoundControl"]

NOT_STARTED = "There was no time to fit it."


class RoundControl:
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
        if n_folds == 0 and cells:
            self._skip_unstarted()
        elif self._n_checked_folds < n_folds < self._n_wanted:
            self._n_checked_folds = n_folds
            if n_folds > 1 or not self._has_time_for_second_fold():
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
        n_folds = min(active_counts, default=0)
        if n_folds < SETTINGS.min_race_folds or seconds_left > -self._grace_seconds():
            return False
        needed = self._repeat_seconds() / cv * (self._n_wanted - n_folds)
        longest = SETTINGS.long_grace_fraction * max(0.0, self._deadline - self._started)
        return needed - seconds_left > longest

    @property
    def n_complete(self) -> int:
        """Number of repeats that all remaining models have finished, at least 1."""
        counts = self._counts()
        n_folds = min(counts[name] for name in self._active())
        return max(1, n_folds // self._stage.options.cv)

    def has_time_for(self, name: str) -> bool:
        """Return whether there is time left for a reference model that was dropped."""
        options = self._stage.options
        if name not in self._dropped or name in self._failed() or not self._counts()[BASELINE]:
            return False
        seconds = self._seconds().get(name, 0.0)  # the time of an unstarted model is not known
        needed = self.n_complete * options.cv * seconds / (options.n_jobs or 1)
        needed += SETTINGS.process_start_seconds if options.n_jobs else 0.0
        return needed < self._deadline - perf_counter()

    def is_too_late(self, cells: list[Cell]) -> bool:
        """Return whether there is no time left."""
        return perf_counter() > self._deadline

    def add(self, name: str, cells: list[Cell]) -> None:
        """Take the scores of a reference model that was dropped, if it has all of them."""
        n_folds = sum(cell.status == "ok" for cell in cells)
        if n_folds == self.n_complete * self._stage.options.cv:
            del self._dropped[name]
            self._cells = [*(each for each in self._cells if each.learner != name), *cells]

    def result(self) -> RoundScores:
        """Return the scores in the folds that all remaining models have finished."""
        models, references, active = self._plan.models, self._plan.references, self._active()
        cells = [each for each in self._cells if each.repeat < self.n_complete]
        # The time may be over before the reference models have a score in the last fold.
        by_all = common_splits(cells, [BASELINE, *(name for name in references if name in active)])
        if len(by_all) >= SETTINGS.min_race_folds:
            cells = [each for each in cells if split_of(each) in by_all]
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
        slow = [name for name in references if name in dropped and name not in self._failed()]
        seconds = {
            name: float(np.mean([each.time for each in self._cells if each.learner == name]))
            for name in [*scores, *found, *self._had_no_time, *late, *slow]
            if any(each.learner == name for each in self._cells)
        }
        had_no_time = [*self._had_no_time, *(each for each in late if each in models)]
        offsets = offsets_of(self._cells, scores, had_no_time)
        return RoundScores(
            scores,
            found,
            seconds,
            dropped,
            had_no_time,
            slow,
            self._overhead(),
            offsets,
            len(common),
            len(self._cells),
        )

    def _failed(self) -> set[str]:
        return {each.learner for each in self._cells if each.status not in ("ok", "timeout")}

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
        factor = self._overhead()
        return {name: factor * float(np.mean(each)) for name, each in times.items()}

    def _overhead(self) -> float:
        """Return the time since the start of the round, relative to that of all fits."""
        total = sum(cell.time for cell in self._cells) / (self._stage.options.n_jobs or 1)
        return max(1.0, (perf_counter() - self._started) / max(total, 1e-9))

    def _has_time_for_second_fold(self) -> bool:
        fold_seconds = self._repeat_seconds() / self._stage.options.cv
        left = self._deadline - perf_counter()
        return fold_seconds < SETTINGS.second_fold_fraction * left

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
        started = {cell.learner for cell in self._cells}
        # Without a learner that has a score, there is nothing to compare.
        has_score = any(name != BASELINE and name in self._plan.models for name in self._counts())
        # Fits that took too long count, too: they used the time.
        was_slow = elapsed > seconds and any(cell.status == "timeout" for cell in self._cells)
        is_enough = len(started) >= SETTINGS.min_started or was_slow
        if elapsed < SETTINGS.first_fold_fraction * seconds or not (is_enough and has_score):
            return
        kept = started | set(self._plan.protected)
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
        if sum(needed.values()) <= available:
            return
        references = {name: needed.pop(name) for name in self._plan.references if name in needed}
        slow = {name: each for name, each in references.items() if not is_fast(seconds[name])}
        available -= sum(references.values()) - sum(slow.values())
        most = SETTINGS.reference_fraction * max(0.0, available)
        self._drop_learners(needed, available - min(most, sum(slow.values())), n_folds)
        available -= sum(needed[name] for name in needed if name not in self._dropped)
        means = {name: self._mean(name) for name in slow}
        for name in slow.keys() - set(affordable_references(means, slow, available)):
            self._dropped[name] = self._slowness(seconds[name])

    def _drop_learners(self, learners: Mapping[str, float], available: float, n_folds: int) -> None:
        if sum(learners.values()) <= available:
            return
        options, seconds = self._stage.options, self._seconds()
        for name in self._too_slow(learners, available):
            self._drop_for_time(name, self._slowness(seconds[name]))
        learners = {name: each for name, each in learners.items() if name not in self._dropped}
        means = {name: self._mean(name) for name in learners}
        kept = survivors(means, learners, available, self._plan.protected)
        for name in learners.keys() - set(kept):
            folds = f"In {n_folds} of {self._n_wanted} folds of {self._n_rows} rows"
            self._drop_for_time(name, score_sentence(folds, means, name, options.task))

    def _too_slow(self, needed: Mapping[str, float], available: float) -> list[str]:
        """Return the learners that would use most of the time alone. The best few stay."""
        fraction, protected = SETTINGS.max_learner_fraction, self._plan.protected
        names = sorted((name for name in needed if name != BASELINE), key=lambda n: -self._mean(n))
        others = names[SETTINGS.min_survivors - 1 :]
        slow = [
            name
            for name in others
            if needed[name] > available * (1 if name in protected else fraction)
        ]
        return slow if len(slow) < len(others) else []  # no time at all: the scores decide

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
