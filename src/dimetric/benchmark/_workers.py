"""Worker processes that run fits one by one and can be killed when a fit takes too long.

A worker is a new Python interpreter. It reads pickled pairs (data set, fit) from standard input and
writes the pickled outcomes to standard output. Therefore a script that runs a benchmark does not
need ``if __name__ == "__main__"`` and may define its own learners.
"""

import json
import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import perf_counter
from typing import Any

import cloudpickle

from dimetric._processes import modules_of_user, safe_environment, search_path
from dimetric.benchmark._cells import Fit, Outcome, SplitDataSet, evaluate, outcomes_without_scores

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
START_SCRIPT = str(Path(__file__).with_name("_start_worker.py"))
EXIT_WAIT_SECONDS = 10.0  # time a failing process has to exit by itself


class Worker:
    """A process that runs fits. It is restarted after a kill or a crash."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._data: SplitDataSet | None = None

    def evaluate(self, data: SplitDataSet, fit: Fit, time_budget: float | None) -> list[Outcome]:
        """Run :func:`~dimetric.benchmark._cells.evaluate` in the process.

        The process is killed if the fit takes longer than `time_budget` seconds.
        """
        process = self._ensure_started()
        try:
            # Consecutive fits on the same data set send it only once.
            message = cloudpickle.dumps((data if data is not self._data else None, fit))
        except Exception as error:
            text = f"{fit.learner} cannot be sent to another process: {error}"
            return outcomes_without_scores(fit, "failed", text, 0.0)
        self._data = data
        started = perf_counter()
        with _time_limit(process, time_budget) as timed_out:
            outcomes: list[Outcome] | None = self._answer(process, message)
        if outcomes is not None and not timed_out.is_set():
            return outcomes
        if outcomes is None and not timed_out.is_set():
            # Let the process exit by itself, because a kill would replace its exit status.
            with suppress(subprocess.TimeoutExpired):
                process.wait(EXIT_WAIT_SECONDS)
        self.stop()
        if outcomes is not None:
            return outcomes
        seconds = perf_counter() - started
        if timed_out.is_set():
            text = f"Exceeded the time budget of {time_budget:g} s."
            return outcomes_without_scores(fit, "timeout", text, seconds)
        text = f"The worker process {_exit_reason(process.returncode)}."
        return outcomes_without_scores(fit, "crashed", text, seconds)

    def stop(self) -> None:
        """Kill the process if it is running."""
        process, self._process, self._data = self._process, None, None
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            with suppress(OSError):  # closing flushes unsent data, which fails
                if pipe is not None:
                    pipe.close()

    def _ensure_started(self) -> subprocess.Popen[bytes]:
        process = self._process  # another thread may set the attribute to None at any time
        if process is None:
            modules = json.dumps([search_path(), modules_of_user()])
            process = self._process = subprocess.Popen(
                [sys.executable, "-P", START_SCRIPT, modules],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=safe_environment() | ONE_THREAD,
                process_group=0,  # Ctrl-C in the terminal must not reach the worker
            )
            self._answer(process)  # wait for the imports, which do not count as fit time
        return process

    def _answer(self, process: subprocess.Popen[bytes], message: bytes = b"") -> Any:
        """Send a message and return the answer of the process, or None if it died."""
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(message)
            process.stdin.flush()
            return pickle.load(process.stdout)
        except (EOFError, OSError, ValueError, pickle.UnpicklingError):
            return None


def _exit_reason(status: int) -> str:
    return (
        f"was killed by {signal.Signals(-status).name}"
        if status < 0
        else f"exited with status {status}"
    )


@contextmanager
def _time_limit(
    process: subprocess.Popen[bytes], seconds: float | None
) -> Iterator[threading.Event]:
    """Kill a process after some seconds. Yield an event that is set if it was killed."""
    timed_out = threading.Event()
    if seconds is None:
        yield timed_out
        return

    def kill() -> None:
        timed_out.set()
        process.kill()

    timer = threading.Timer(min(seconds, threading.TIMEOUT_MAX), kill)
    timer.start()
    try:
        yield timed_out
    finally:
        timer.cancel()
        timer.join()  # wait for a kill that has begun, so that the event does not change later


def main() -> None:
    """Read fits from standard input, run them and write the outcomes to standard output."""
    with suppress(BrokenPipeError):  # the parent was killed
        _serve()
    os._exit(0)


def _serve() -> None:
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # redirect the output of learners, which would corrupt the answers
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when to stop
    tasks: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(tasks,), daemon=True).start()
    pickle.dump("ready", answers)
    answers.flush()
    data = None
    while True:
        sent, fit = tasks.get()
        data = data if sent is None else sent
        assert data is not None
        pickle.dump(evaluate(data, fit), answers)
        answers.flush()


def _listen(tasks: queue.SimpleQueue[Any]) -> None:
    """Queue incoming tasks. Exit, even during a fit, when the parent process is gone."""
    while True:
        try:
            tasks.put(pickle.load(sys.stdin.buffer))
        except EOFError:
            os._exit(0)
        except Exception as error:
            # Standard output carries the answers, and the parent sees only the exit status.
            print(f"A learner cannot be loaded in another process: {error!r}", file=sys.stderr)
            os._exit(1)
