"""Measure the time and memory of a call.

The time is the best of a few runs. The calls to compare alternate in the same process, so that a
busy machine slows all of them equally. Only the ratio of the times is meaningful. Memory is
measured in a new process: the peak resident set size during the call minus the size before it.
"""

import multiprocessing
import resource
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np

from dimetric._processes import safe_path_for_children


def time_in_turns(*calls: Callable[[], Any], repeats: int = 3) -> list[tuple[float, Any]]:
    """Run the calls alternately, and return (best seconds, last result) of each."""
    best = [float("inf")] * len(calls)
    results: list[Any] = [None] * len(calls)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for turn in range(repeats):
            # Rotate the order, because a call affects the next one (caches, spinning threads).
            for i in np.roll(np.arange(len(calls)), -turn):
                started = time.perf_counter()
                results[i] = calls[i]()
                best[i] = min(best[i], time.perf_counter() - started)
    return list(zip(best, results, strict=True))


def product_seconds(n: int, d: int, repeats: int = 3) -> float:
    """Return the time of the matrix product that the squared distances of n samples need.

    It is computed in float64, in blocks of rows, by as many threads as BLAS uses.
    """
    rng = np.random.default_rng(0)
    Z, block = rng.standard_normal((n, d)), np.empty((512, n))

    def product() -> None:
        for first in range(0, n, 512):
            rows = Z[first : first + 512]
            np.matmul(rows, Z.T, out=block[: len(rows)])

    return time_in_turns(product, repeats=repeats)[0][0]


def added_megabytes(prepare: Callable[..., Any], *arguments: Any) -> float:
    """Return the memory that a function adds in a new process, in megabytes.

    ``prepare(*arguments)`` loads or creates the data and returns the function to measure.
    """
    spawn = multiprocessing.get_context("spawn")
    with safe_path_for_children(), ProcessPoolExecutor(1, mp_context=spawn) as pool:
        return pool.submit(_added_megabytes, prepare, arguments).result()


def _added_megabytes(prepare: Callable[..., Any], arguments: tuple[Any, ...]) -> float:
    warnings.simplefilter("ignore")
    measured = prepare(*arguments)
    with open("/proc/self/statm") as statm:
        before = int(statm.read().split()[1]) * resource.getpagesize()
    measured()
    with open("/proc/self/status") as status:  # ru_maxrss may include the parent process
        peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
    return peak / 1024 - before / 2**20
