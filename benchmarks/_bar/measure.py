"""Measure the sides of a comparison in turns."""

import statistics
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from _bar.process import Side, SideFailed, SideProcess, TimeLimitReached

# After a product, the threads of OpenBLAS wait in a busy loop, and slow down the next side. This
# does not happen in programs that use only one library. 0.05 seconds were too short on an Intel
# Xeon.
SECONDS_BETWEEN_RUNS = 0.1


@dataclass(frozen=True)
class Effort:
    """How much time the sides of a comparison get.

    Parameters
    ----------
    limit : float
        Time limit of one run, in seconds.
    patience : float
        A side is not repeated after it has taken this many seconds in total.
    repeats : int
        Largest number of runs of each side.
    """

    limit: float
    patience: float
    repeats: int


QUICK = Effort(limit=30, patience=2, repeats=5)
FULL = Effort(limit=120, patience=20, repeats=7)


@dataclass
class Timing:
    """The runs of one side.

    Attributes
    ----------
    seconds : list of float
        Time of each run.
    megabytes : float
        Largest resident memory during a run minus the memory before it. The largest run counts.
    results : dict of ndarray
        Results of the last run.
    over_limit : float or None
        The time limit in seconds, if a run reached it.
    error : str or None
        Why the side could not run.
    """

    seconds: list[float] = field(default_factory=list)
    megabytes: float = float("nan")
    results: dict[str, np.ndarray] = field(default_factory=dict)
    over_limit: float | None = None
    error: str | None = None

    @property
    def median(self) -> float:
        """Median of the seconds, or NaN if no run finished."""
        return statistics.median(self.seconds) if self.seconds else float("nan")

    @property
    def is_over(self) -> bool:
        """Whether the side cannot run any more."""
        return self.over_limit is not None or self.error is not None


class Runner(Protocol):
    """What :func:`in_turns` needs of a process."""

    def run(self, limit: float) -> tuple[float, float, dict[str, np.ndarray]]: ...


def in_turns(sides: Mapping[str, Runner], effort: Effort) -> dict[str, Timing]:
    """Run the sides alternately, so that a busy machine slows all of them equally.

    The order rotates, because a run affects the next one, for example by the caches.
    """
    timings = {name: Timing() for name in sides}
    names = list(sides)
    for turn in range(effort.repeats):
        start = turn % max(1, len(names))
        for name in names[start:] + names[:start]:
            timing = timings[name]
            if timing.is_over or (timing.seconds and sum(timing.seconds) >= effort.patience):
                continue
            time.sleep(SECONDS_BETWEEN_RUNS)
            try:
                seconds, megabytes, timing.results = sides[name].run(effort.limit)
            except TimeLimitReached:
                timing.over_limit = effort.limit
            except SideFailed as error:
                timing.error = str(error)
            else:
                timing.seconds.append(seconds)
                timing.megabytes = float(np.fmax(timing.megabytes, megabytes))
    return timings


def measured(
    sides: Mapping[str, Side],
    arrays: dict[str, Any],
    pythons: Callable[[str], list[str]],
    effort: Effort,
) -> dict[str, Timing]:
    """Start a process for each side, and run them in turns.

    Parameters
    ----------
    sides : dict of Side
        The sides by role, such as "ours" and "peer".
    arrays : dict of ndarray
        The data, the same for all sides.
    pythons : callable
        Returns the Python command of a library, or raises ``SideFailed`` if it is not installed.
    effort : Effort
        Limits of time.
    """
    timings: dict[str, Timing] = {}
    with ExitStack() as stack:
        running: dict[str, SideProcess] = {}
        for role, side in sides.items():
            try:
                process = SideProcess(pythons(side.library), side, arrays)
            except SideFailed as error:
                timings[role] = Timing(error=str(error))
            else:
                running[role] = stack.enter_context(process)
        for role, process in list(running.items()):  # they prepare at the same time
            try:
                process.wait_until_ready(max(effort.limit, 60))
            except TimeLimitReached:
                timings[role] = Timing(over_limit=effort.limit)
            except SideFailed as error:
                timings[role] = Timing(error=str(error))
            if role in timings:
                del running[role]
        return timings | in_turns(running, effort)
