"""The race of a comparison: all learners on few rows, then the best ones on more rows."""

from collections.abc import Mapping
from dataclasses import replace
from math import ceil, floor, log10
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np

from dimetric.advice._common_folds import score_sentence
from dimetric.advice._final import Stage
from dimetric.advice._round import run_round
from dimetric.advice._round_records import Round, RoundScores
from dimetric.advice._selection import FAVOURITE
from dimetric.advice._settings import SETTINGS
from dimetric.advice._stratified import strata, stratified_rows
from dimetric.advice._survivors import DEFAULT_GROWTH, FitTime, min_repeats, round_sizes, survivors
from dimetric.report._choice import BASELINE, RaceRound

__all__ = ["RaceResult", "budget_for_all", "is_long", "run_race", "sampled_stage"]

PROTECTED = (BASELINE, FAVOURITE)  # these are not dropped because of their scores


class RaceResult(NamedTuple):
    """The results of a race.

    Attributes
    ----------
    last : RoundScores
        Scores and times of the last round, including those of the reference models.
    stage : Stage
        The rows of the last round.
    dropped : dict of str to str
        A sentence that says why a model has no scores in the last round, by its name.
    rounds : tuple of RaceRound
        The rounds.
    fit_times : dict of str to FitTime
        The time of a fit and its scores, of each model apart from those that failed.
    had_no_time : list of str
        Names of the learners that were dropped to save time.
    slow_references : list of str
        Names of the reference models that were dropped to save time.
    offsets : dict of str to float
        Mean score of each dropped learner, minus the mean of the learners that went on, in the
        same folds.
    """

    last: RoundScores
    stage: Stage
    dropped: dict[str, str]
    rounds: tuple[RaceRound, ...]
    fit_times: dict[str, FitTime]
    had_no_time: list[str]
    slow_references: list[str]
    offsets: dict[str, float]


def run_race(
    models: Mapping[str, Any], references: Mapping[str, Any], stage: Stage, seconds: float
) -> RaceResult:
    """Cross-validate learners on few rows at first, and those that are left on more rows.

    After each round, the learners that are left go on to all rows if the time is enough for at
    least half of them. Otherwise, the better half goes on to the next round.

    Parameters
    ----------
    models : mapping of str to learner
        All learners including the baseline.
    references : mapping of str to Pipeline
        Reference models, which take part in the last round.
    stage : Stage
        All rows of the race, and the options.
    seconds : float
        Approximate time of the race.
    """
    deadline = perf_counter() + seconds
    names, sizes = list(models), round_sizes(len(stage.y), len(models) - 1)
    if stage.options.groups is not None:  # a sample may have too few groups
        sizes = sizes[-1:]
    fit_times: dict[str, FitTime] = {}
    dropped: dict[str, str] = {}
    had_no_time: list[str] = []
    offsets: dict[str, float] = {}
    rounds: list[RaceRound] = []
    n_done = 0
    while sizes:
        size, is_last = sizes.pop(0), not sizes
        part = sampled_stage(stage, size)
        plan = Round(
            {name: part.options.pipeline(models[name]) for name in names},
            dict(references) if is_last else {},
            protected=PROTECTED,
            n_repeats=_n_repeats(part.options.cv) if is_last else 1,
            n_done_before=n_done,
            # At most one more round follows, with all rows and fewer learners.
            n_to_follow=0 if is_last else (len(names) + len(references)) * stage.options.cv,
        )
        now = perf_counter()
        until = deadline if is_last else now + (deadline - now) * SETTINGS.round_fraction
        found = run_round(plan, part, until)
        n_done += found.n_done
        rounds.append(RaceRound(len(part.y), found.n_folds, tuple(found.scores)))
        dropped |= found.dropped
        had_no_time += found.had_no_time
        offsets |= found.offsets
        n_rows = len(part.y)
        for name, seconds in found.fit_seconds.items():
            known, each = fit_times.get(name), seconds * found.overhead
            fit_times[name] = known.then(n_rows, each) if known else FitTime(n_rows, each)
        if not is_last:
            names, sizes = _next(found, fit_times, [len(part.y), *sizes], deadline, stage)
            lost = [name for name in found.scores if name not in names]
            dropped |= _reasons(found, lost, part)
            had_no_time += lost
            mean = np.mean([found.scores[name] for name in names if name != BASELINE])
            offsets |= {name: float(found.scores[name].mean() - mean) for name in lost}
    slow = found.slow_references
    return RaceResult(found, part, dropped, tuple(rounds), fit_times, had_no_time, slow, offsets)


def _n_repeats(n_folds: int) -> int:
    """Return the largest number of repeats of the last round."""
    return max(SETTINGS.max_race_repeats, min_repeats(n_folds))


def sampled_stage(stage: Stage, size: int) -> Stage:
    """Return a stage with a stratified sample of the rows, or with all of them.

    Parameters
    ----------
    stage : Stage
        The rows and options. Without groups, because a sample may have too few groups.
    size : int
        Number of rows.
    """
    options, y = stage.options, stage.y
    if size >= len(y):
        return stage
    by, rng = strata(y, options.task.is_regression), np.random.default_rng(options.random_state)
    rows = stratified_rows(np.arange(len(y)), by, size, options.cv, rng)
    n_jobs = options.n_jobs if is_long(len(rows), stage.n_features) else None
    return Stage(stage.rows[rows], stage.X[rows], y[rows], replace(options, n_jobs=n_jobs))


def is_long(n_rows: int, n_features: int) -> bool:
    """Return whether fits take longer than the start of a worker process."""
    return n_rows**2 * n_features > SETTINGS.max_in_process_work


def _next(
    found: RoundScores,
    fit_times: Mapping[str, FitTime],
    sizes: list[int],
    deadline: float,
    stage: Stage,
) -> tuple[list[str], list[int]]:
    """Return the learners of the next round, and the sizes of the rounds that are left.

    The first of the given sizes is that of the last round. If the time is not enough for the few
    best learners on all rows, the race ends with fewer rows.
    """
    means = {name: float(scores.mean()) for name, scores in found.scores.items()}
    options, available = stage.options, deadline - perf_counter()
    if options.n_jobs is not None:
        available = (available - SETTINGS.process_start_seconds) * options.n_jobs
    available = max(0.0, available * (1 - SETTINGS.reference_fraction))
    n_now, *sizes = sizes
    needed = {name: options.cv * fit_times[name].at(sizes[-1]) for name in means}
    kept = survivors(means, needed, available, PROTECTED)
    total = sum(needed[name] for name in kept)
    if total > available:
        fewer = int(sizes[-1] * (available / total) ** (1 / DEFAULT_GROWTH))
        sizes = [max(n_now, fewer)]
    elif 2 * len(kept) < len(means) and len(sizes) > 1:
        kept = _better_half(means)
    else:
        sizes = sizes[-1:]
    return [name for name in found.scores if name in kept], sizes


def _reasons(found: RoundScores, lost: list[str], stage: Stage) -> dict[str, str]:
    means = {name: float(scores.mean()) for name, scores in found.scores.items()}
    rows = f"On {len(stage.y):,} rows"
    return {name: score_sentence(rows, means, name, stage.options.task) for name in lost}


def _better_half(means: Mapping[str, float]) -> list[str]:
    ranked = sorted(means, key=lambda name: -means[name])
    return [*ranked[: max(SETTINGS.min_survivors, (len(ranked) + 1) // 2)], *PROTECTED]


def budget_for_all(result: RaceResult, stage: Stage, n_rows: int, seconds: float) -> float | None:
    """Estimate the budget with which no model is dropped to save time.

    Parameters
    ----------
    result : RaceResult
        The results of the race.
    stage : Stage
        The rows and options of the race.
    n_rows : int
        Number of rows of the table.
    seconds : float
        Time for the race, the final and the tuning.

    Returns
    -------
    float or None
        The budget in seconds, with two significant digits. None if no model was dropped to save
        time.
    """
    late = [*result.had_no_time, *result.slow_references]
    if not late:
        return None
    n_most = n_rows if n_rows < SETTINGS.min_rows_to_split else n_rows // 2
    times = list(result.fit_times.values())
    # The time of models without a fit is not known. Most models are not slower than the mean.
    factor = 1 + sum(name not in result.fit_times for name in late) / len(times)
    n_processes, budget = stage.options.n_jobs or 1, seconds / SETTINGS.choice_fraction
    while budget < SETTINGS.max_budget:
        budget *= 1.1
        n_raced = min(n_most, max_race_rows(SETTINGS.choice_fraction * budget))
        needed = factor * sum(each.at(max(n_raced, len(stage.y))) for each in times)
        n_scores = stage.options.cv * min_repeats(stage.options.cv)
        needed *= n_scores / n_processes * (1 + SETTINGS.round_fraction)
        if needed < SETTINGS.race_fraction * SETTINGS.choice_fraction * budget:
            break
    magnitude = 10.0 ** (floor(log10(budget)) - 1)
    return ceil(budget / magnitude) * magnitude


def max_race_rows(seconds: float) -> int:
    """Return the largest number of rows of a race, for a time of race, final and tuning."""
    return int(SETTINGS.race_rows_per_root_second * seconds**0.5)
