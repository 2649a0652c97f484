"""Run one side of a comparison: prepare it once, then run it each time that the parent asks.

This script runs in the Python of any library, so it needs only NumPy. The first line of the input
is a JSON object with the file and the function to call, its options, a file with the arrays, and
a file for the results. The function prepares the work and returns the call to measure. Each
further line of the input asks for one run. Each answer is one line of JSON.
"""

import importlib.util
import json
import os
import sys
import time
import warnings

import numpy as np

LEAST_SECONDS = 0.05  # shorter calls are repeated, because the time of one call varies
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


def resident_megabytes():
    """Return the resident memory of this process, or NaN if the system does not tell."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * PAGE_BYTES / 2**20
    except OSError:
        return float("nan")


def peak_megabytes():
    """Return the largest resident memory since the last reset, or NaN."""
    try:
        with open("/proc/self/status") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) / 1024
    except OSError:
        return float("nan")


def reset_peak():
    """Forget the peak, so that loading the data does not count. Not every system allows it."""
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")
    except OSError:
        pass


def prepared(request):
    """Load the function and the arrays, and return the call to measure."""
    spec = importlib.util.spec_from_file_location("side", request["file"])
    side = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(side)
    with np.load(request["data"]) as file:
        arrays = dict(file)
    return getattr(side, request["function"])(arrays, **request["options"])


def measured(call, answer_file):
    """Run the call, write its arrays to a file, and return its mean time and its memory."""
    before = resident_megabytes()
    reset_peak()
    started, seconds, n_calls = time.perf_counter(), 0.0, 0
    while seconds < LEAST_SECONDS:
        results = call()
        seconds, n_calls = time.perf_counter() - started, n_calls + 1
    megabytes = peak_megabytes() - before
    np.savez(answer_file, **results)
    return {"seconds": seconds / n_calls, "megabytes": megabytes}


def main():
    """Answer the lines of the input. An error ends the process."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # some libraries print while they fit
    warnings.simplefilter("ignore")

    def answer(content):
        answers.write(json.dumps(content) + "\n")
        answers.flush()

    try:
        request = json.loads(sys.stdin.readline())
        call = prepared(request)
        answer({"ready": True})
        for _ in sys.stdin:
            answer(measured(call, request["answer"]))
    except Exception as error:
        text = " ".join(str(error).split())
        answer({"error": f"{type(error).__name__}: {text}"[:300]})


if __name__ == "__main__":
    main()
