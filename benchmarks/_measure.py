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
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np


def in_turns(*calls: Callable[[], Any], repeats: int = 3) -> list[tuple[float, Any]]:
    """Return (best seconds, last result) of each call."""
    best = [float("inf")] * len(calls)
    results: list[Any] = [None] * len(calls)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for turn in range(repeats):
            # Who comes after whom matters (caches, threads that still spin): begin elsewhere.
            for i in np.roll(np.arange(len(calls)), -turn):
                started = time.perf_counter()
                results[i] = calls[i]()
                best[i] = min(best[i], time.perf_counter() - started)
    return list(zip(best, results, strict=True))


def extra_megabytes(call: Callable[..., Any], *arguments: Any) -> float:
    """Return the memory that ``call(*arguments)()`` adds, in a fresh process.

    ``call(*arguments)`` prepares (imports, data) and returns what is to be measured.
    """
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=spawn) as pool:
        return pool.submit(_extra, call, arguments).result()


def _extra(call: Callable[..., Any], arguments: tuple[Any, ...]) -> float:
    warnings.simplefilter("ignore")
    measured = call(*arguments)
    with open("/proc/self/statm") as statm:
        before = int(statm.read().split()[1]) * resource.getpagesize()
    measured()
    with open("/proc/self/status") as status:  # unlike ru_maxrss, of this process alone
        peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
    return peak / 1024 - before / 2**20
