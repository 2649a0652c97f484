"""Time and memory of a call, for the benchmarks beside this file.

Times are the best of a few runs, taken in turns with the rival's in the same process, so that a
noisy machine disturbs both alike; only their ratio means anything. Memory is measured in a fresh
process: the peak resident set during the call, less the resident set before it.
"""

import multiprocessing
import resource
import time
import warnings
from collections.abc import Callable
from typing import Any


def in_turns(*calls: Callable[[], Any], repeats: int = 3) -> list[tuple[float, Any]]:
    """Return (best seconds, last result) of each call."""
    best = [float("inf")] * len(calls)
    results: list[Any] = [None] * len(calls)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(repeats):
            for i, call in enumerate(calls):
                started = time.perf_counter()
                results[i] = call()
                best[i] = min(best[i], time.perf_counter() - started)
    return list(zip(best, results, strict=True))


def extra_megabytes(call: Callable[..., Any], *arguments: Any) -> float:
    """Return the memory that ``call(*arguments)()`` adds, in a fresh process.

    ``call(*arguments)`` prepares (imports, data) and returns what is to be measured.
    """
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(_extra, (call, arguments))


def _extra(call: Callable[..., Any], arguments: tuple[Any, ...]) -> float:
    warnings.simplefilter("ignore")
    measured = call(*arguments)
    with open("/proc/self/statm") as statm:
        before = int(statm.read().split()[1]) * resource.getpagesize()
    measured()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024 - before / 2**20
