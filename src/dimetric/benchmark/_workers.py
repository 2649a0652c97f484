"""Processes that do one fit after the other, and can be killed when a fit takes too long.

They are plain interpreters that read their tasks from standard input. So a script that runs a
benchmark needs no ``if __name__ == "__main__"``, and may define learners of its own.
"""

import os
import pickle
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from time import perf_counter
from typing import Any

import cloudpickle

from dimetric.benchmark._cells import Fit, Outcome, SplitDataSet, judge, unfinished

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
END_SECONDS = 10.0  # how long to wait for a process that ends by itself


class Worker:
    """A process that fits; it is replaced by a new one after it was killed or has crashed."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._data: SplitDataSet | None = None

    def judge(self, data: SplitDataSet, fit: Fit, time_budget: float | None) -> list[Outcome]:
        """Return the outcomes of a fit, as :func:`~dimetric.benchmark._cells.judge` does.

        A process that takes longer than `time_budget` seconds is killed.
        """
        process = self._started()
        try:
            # A data set is sent once, not with each of its fits.
            message = cloudpickle.dumps((data if data is not self._data else None, fit))
        except Exception as error:
            text = f"{fit.learner} cannot be sent to another process: {error}"
            return unfinished(fit, "failed", text, 0.0)
        self._data = data
        started = perf_counter()
        with _deadline(process, time_budget) as late:
            outcomes: list[Outcome] | None = self._answer(process, message)
        if outcomes is not None and not late.is_set():
            return outcomes
        if outcomes is None and not late.is_set():
            # Let it end by itself, or its exit status would be that of our kill.
            with suppress(subprocess.TimeoutExpired):
                process.wait(END_SECONDS)
        self.stop()
        if outcomes is not None:
            return outcomes
        seconds = perf_counter() - started
        if late.is_set():
            return unfinished(fit, "timeout", f"Stopped after {time_budget:g} seconds.", seconds)
        text = f"The process of the fit ended {_end(process.returncode)}."
        return unfinished(fit, "crashed", text, seconds)

    def stop(self) -> None:
        """End the process, if there is one."""
        process, self._process, self._data = self._process, None, None
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            with suppress(OSError):  # unsent data cannot be flushed
                if pipe is not None:
                    pipe.close()

    def _started(self) -> subprocess.Popen[bytes]:
        process = self._process  # another thread may stop it, and take it away, at any time
        if process is None:
            path = os.pathsep.join(each or os.getcwd() for each in sys.path)
            process = self._process = subprocess.Popen(
                [sys.executable, "-c", f"from {__name__} import main; main()"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                env=os.environ | ONE_THREAD | {"PYTHONPATH": path},
                process_group=0,  # an interrupt of the terminal must not reach it
            )
            self._answer(process)  # wait for its imports, which are not part of the fit's time
        return process

    def _answer(self, process: subprocess.Popen[bytes], message: bytes = b"") -> Any:
        """Return the answer of the process to a message, None if it died."""
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(message)
            process.stdin.flush()
            return pickle.load(process.stdout)
        except (EOFError, OSError, ValueError, pickle.UnpicklingError):
            return None


def _end(status: int) -> str:
    return f"by {signal.Signals(-status).name}" if status < 0 else f"with exit status {status}"


@contextmanager
def _deadline(process: subprocess.Popen[bytes], seconds: float | None) -> Iterator[threading.Event]:
    """Kill a process that takes too long; yield an event that is set in this case."""
    late = threading.Event()
    if seconds is None:
        yield late
        return

    def kill() -> None:
        late.set()
        process.kill()

    timer = threading.Timer(min(seconds, threading.TIMEOUT_MAX), kill)
    timer.start()
    try:
        yield late
    finally:
        timer.cancel()
        timer.join()  # it may be killing just now: afterwards the event is final


def main() -> None:
    """Do the fits that standard input asks for, and answer on standard output, until it ends."""
    with suppress(BrokenPipeError):  # the parent was killed
        _serve()
    os._exit(0)


def _serve() -> None:
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what learners print must not be taken for an answer
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides when to end
    tasks: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(tasks,), daemon=True).start()
    pickle.dump("ready", answers)
    answers.flush()
    data = None
    while True:
        sent, fit = tasks.get()
        data = data if sent is None else sent
        assert data is not None
        pickle.dump(judge(data, fit), answers)
        answers.flush()


def _listen(tasks: queue.SimpleQueue[Any]) -> None:
    """Queue the tasks; end this process, even during a fit, when the parent is gone."""
    while True:
        try:
            tasks.put(pickle.load(sys.stdin.buffer))
        except EOFError:
            os._exit(0)
        except Exception as error:
            print(f"A learner cannot be loaded in another process: {error!r}", file=sys.stderr)
            os._exit(1)
