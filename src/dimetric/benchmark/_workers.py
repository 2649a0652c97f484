"""Processes that fit, one after the other, and can be killed when one takes too long.

They are plain interpreters, told what to do by their standard input: a script that compares
learners needs no ``if __name__ == "__main__"`` for them, and a learner may be defined in it.
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

from dimetric.benchmark._cells import Fit, Outcome, Problem, judge, unfinished

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
ENDING = 10.0  # seconds that a process may take to end


class Worker:
    """A process that fits; a new one takes its place when it was killed or has crashed."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._problem: Problem | None = None

    def judge(self, problem: Problem, fit: Fit, budget: float | None) -> list[Outcome]:
        """Return the outcomes of a fit, as :func:`~dimetric.benchmark._cells.judge` does.

        A process that takes longer than `budget` seconds is killed.
        """
        process = self._started()
        try:
            # A data set is sent once, and not again with each of its fits.
            message = cloudpickle.dumps((problem if problem is not self._problem else None, fit))
        except Exception as error:
            message_ = f"{fit.learner} cannot be sent to another process: {error}"
            return unfinished(fit, "failed", message_, 0.0)
        self._problem = problem
        started = perf_counter()
        with _deadline(process, budget) as late:
            outcomes = self._answer(process, message)
        if outcomes is not None and not late.is_set():
            return outcomes
        if outcomes is None and not late.is_set():
            with suppress(subprocess.TimeoutExpired):  # or its own end would look like ours
                process.wait(ENDING)
        self.stop()
        if outcomes is not None:
            return outcomes
        seconds = perf_counter() - started
        if late.is_set():
            return unfinished(fit, "timeout", f"Stopped after {budget:g} seconds.", seconds)
        text = f"The process of the fit ended {_end(process.returncode)}."
        return unfinished(fit, "crashed", text, seconds)

    def stop(self) -> None:
        """End the process, if there is one."""
        process, self._process, self._problem = self._process, None, None
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            with suppress(OSError):  # what was not sent yet cannot be
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
        """Return what the process answers, None if it died."""
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
    """Kill a process that takes too long; give an event that is set if so."""
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
        timer.join()  # it may be about to kill: from here on it is known


def main() -> None:
    """Fit what standard input asks for, and answer on standard output, until there is no more."""
    with suppress(BrokenPipeError):  # who asked was killed
        _serve()
    os._exit(0)


def _serve() -> None:
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what learners print is no answer
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # who asked says when to end
    asked: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(asked,), daemon=True).start()
    pickle.dump("ready", answers)
    answers.flush()
    problem = None
    while True:
        sent, fit = asked.get()
        problem = problem if sent is None else sent
        assert problem is not None
        pickle.dump(judge(problem, fit), answers)
        answers.flush()


def _listen(asked: queue.SimpleQueue[Any]) -> None:
    """Pass on what is asked; end this process, in the midst of a fit, when nobody is there."""
    while True:
        try:
            asked.put(pickle.load(sys.stdin.buffer))
        except EOFError:
            os._exit(0)
        except Exception as error:
            print(f"A learner cannot be had in another process: {error!r}", file=sys.stderr)
            os._exit(1)
