"""Measure the works and the growth."""

import sys
import time
from collections.abc import Iterable
from dataclasses import replace

from _bar.bar_rows import IN_FULL_RUN, Outcome
from _bar.environments import Environments
from _bar.growth import Growth, Series
from _bar.measure import Effort, Timing, measured
from _bar.work import Work

QUICK_SECONDS = 270  # the last work may take another 30 seconds
TOO_LATE = "the time of the quick run was used up"
GROWTH_EFFORT = {True: Effort(20, 0.6, 3), False: Effort(120, 5, 5)}  # by quick


def tell(text: str) -> None:
    """Show progress on stderr."""
    print(text, file=sys.stderr, flush=True)


def outcome(work: Work, effort: Effort, environments: Environments, *, quick: bool) -> Outcome:
    """Measure a work, and evaluate the results of both sides by the same function."""
    is_smaller = quick and work.quick_data is not None
    size, arrays = work.quick_data() if is_smaller else work.data()
    if work.seconds_limit is not None and not quick:
        effort = replace(effort, limit=work.seconds_limit)
    timings = measured(work.sides, arrays, environments.python, effort)
    values = {}
    for role in ("ours", "peer"):
        timing = timings.get(role)
        if work.quality is not None and timing is not None and timing.seconds:
            values[role] = work.quality.of(arrays, timing.results)
        if timing is not None:  # keep what the report needs
            timing.results = {k: v for k, v in timing.results.items() if k == "n_iter"}
    return Outcome(work, size, timings, values, is_smaller=is_smaller)


def outcomes(
    works: Iterable[Work],
    effort: Effort,
    environments: Environments,
    *,
    quick: bool,
    started: float,
) -> list[Outcome]:
    """Measure the works one after the other. The quick run skips those that come too late."""
    works, found = list(works), []
    for i, work in enumerate(works, 1):
        skipped = IN_FULL_RUN if quick and not work.quick else work.missing()
        if quick and not skipped and time.monotonic() - started > QUICK_SECONDS:
            skipped = TOO_LATE
        if skipped:
            found.append(Outcome(work, "", {}, {}, skipped))
            continue
        found.append(outcome(work, effort, environments, quick=quick))
        mark, reason = found[-1].mark()
        tell(
            f"[{i}/{len(works)}, {time.monotonic() - started:.0f} s] {work.name}, "
            f"{found[-1].size}: {mark}{f' ({reason})' if reason else ''}"
        )
    return found


def growth(series: Series, environments: Environments, *, quick: bool) -> Growth:
    """Measure a series. A side that fails or reaches its time limit is not run at larger sizes."""
    sizes = series.sizes[:3] if quick else series.sizes
    sides = {"ours": series.ours} | ({"peer": series.peer} if series.peer else {})
    timings: dict[str, list[Timing]] = {role: [] for role in sides}
    for size in sizes:
        active = {
            role: side
            for role, side in sides.items()
            if not (timings[role] and timings[role][-1].is_over)
        }
        found = measured(active, series.data(size)[1], environments.python, GROWTH_EFFORT[quick])
        for role in sides:
            timing = found.get(role, Timing(over_limit=GROWTH_EFFORT[quick].limit))
            timing.results = {}
            timings[role].append(timing)
    result = Growth(series, sizes, timings)
    tell(
        f"growth of {series.name} with {series.variable}: "
        + ", ".join(f"{role} {value:.2f}" for role, value in result.exponents().items())
    )
    return result
