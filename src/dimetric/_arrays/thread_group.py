"""Threads that are kept and woken, and that stop together after an interrupt or an error.

Threads that have ended their tasks wait for the next ones, because starting a thread takes longer
than a small task.
"""

import os
from _thread import start_new_thread
from collections.abc import Callable, Iterator
from contextvars import copy_context
from threading import Lock, local
from typing import Any, ClassVar, Generic, TypeVar

S = TypeVar("S")
T = TypeVar("T")

MAX_WAIT_SECONDS = 0.05  # interval for checking signals
MAX_IDLE = 2 * (os.cpu_count() or 1)  # threads that wait for the next tasks


class _Flag:
    """A flag to wait for. Unlike ``threading.Event``, it works after an interrupt of ``wait``."""

    def __init__(self) -> None:
        self._is_set, self._lock = False, Lock()
        self._lock.acquire()

    def set(self) -> None:
        self._is_set = True
        self._lock.release()

    def wait(self) -> None:
        while not self._is_set:
            # The signal may reach another thread, and then it does not end the wait.
            self._lock.acquire(timeout=MAX_WAIT_SECONDS)


class _StoppedError(Exception):
    """Ends a task after an interrupt or an error in another thread."""


# Its attribute `stop_requests` is set in the threads of Helper, and `is_alone` by one_thread().
this_thread = local()


def stop_if_interrupted() -> None:
    """End the task if Ctrl-C interrupted the thread that waits for it, or another task failed."""
    if getattr(this_thread, "stop_requests", None):
        raise _StoppedError


def _until_stopped(tasks: Iterator[S], stop_requests: list[bool]) -> Iterator[S]:
    """Yield tasks until there are none, or until `stop_requests` is not empty."""
    for task in tasks:
        if stop_requests:
            return
        yield task


class Helper(Generic[S, T]):
    """Calls ``work(tasks)`` on a thread of its own, and keeps the result or the error.

    It gets no more tasks when `stop_requests` is not empty. An error adds an element to that list.
    """

    def __init__(
        self, work: Callable[[Iterator[S]], T], tasks: Iterator[S], stop_requests: list[bool]
    ) -> None:
        self._work, self._stop_requests = work, stop_requests
        self._tasks = _until_stopped(tasks, stop_requests)
        # NumPy's error state is a context variable. The thread uses that of the caller.
        self._caller_context = copy_context()
        self._error: BaseException | None = None
        self.ended = _Flag()

    def run(self) -> None:
        """Call the function. The thread that calls this then sets the flag `ended`."""
        this_thread.stop_requests = self._stop_requests
        try:
            self._result = self._caller_context.run(self._work, self._tasks)
        except _StoppedError:
            pass  # the calling thread raises the interrupt, or the error of the other task
        except BaseException as error:
            self._error = error
            self._stop_requests.append(True)

    def result(self) -> T:
        """Return the result, or raise the error."""
        if self._error is not None:
            raise self._error
        return self._result


class Worker:
    """A thread that calls ``run`` of one helper after the other, and sleeps in between.

    It ends if ``MAX_IDLE`` others sleep.

    It is not a ``threading.Thread``. If an interrupt comes while the main thread starts one, a lock
    of ``threading`` may stay locked for ever. Starting one also waits until it has begun to run.
    """

    idle: ClassVar[list["Worker"]] = []

    def __init__(self) -> None:
        self.helper: Helper[Any, Any] | None = None  # the next one
        self.wake_up = Lock()  # released when there is a helper
        self.wake_up.acquire()
        start_new_thread(self._work, ())

    @classmethod
    def take(cls) -> "Worker":
        """Return an idle worker, or a new one if there is none."""
        try:
            return cls.idle.pop()
        except IndexError:
            return cls()

    def _work(self) -> None:
        while True:
            self.wake_up.acquire()
            helper, self.helper = self.helper, None
            assert helper is not None
            helper.run()
            is_kept = len(self.idle) < MAX_IDLE
            if is_kept:
                self.idle.append(self)
            helper.ended.set()
            if not is_kept:
                return
            del helper  # with its results


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=Worker.idle.clear)  # a new process has no other threads


class ThreadGroup(Generic[S, T]):
    """Threads that call ``work(tasks)``, one for each of several iterators over tasks."""

    def __init__(self, work: Callable[[Iterator[S]], T], iterators: list[Iterator[S]]) -> None:
        self._stop_requests: list[bool] = []
        self._helpers = [Helper(work, tasks, self._stop_requests) for tasks in iterators]
        self._started: list[None] = []  # an entry for each helper that started, in their order

    def run(self) -> list[T]:
        """Let threads work, wait until all of them have ended, and return their results.

        After an interrupt, or an error in a thread, the other threads stop after their current
        tasks. Then the exception is raised.
        """
        workers: list[Worker] = []
        try:
            for helper in self._helpers:
                workers.append(Worker.take())
                workers[-1].helper = helper
            locks = [worker.wake_up for worker in workers]
            # This call runs no Python code on this thread. So an interrupt cannot come between the
            # start of a helper and its entry in the list.
            self._started.extend(map(type(locks[0]).release, locks))
            self._wait()
        finally:
            self._stop_and_wait()
            # Some helpers did not start after an interrupt, or if no thread could (RuntimeError).
            for worker in workers[len(self._started) :]:
                worker.helper = None
                Worker.idle.append(worker)
        return [helper.result() for helper in self._helpers]

    def _wait(self) -> None:
        """Wait until the helpers that started have ended."""
        for helper in self._helpers[: len(self._started)]:
            helper.ended.wait()

    def _stop_and_wait(self) -> None:
        """Wait until all threads have ended their current tasks, despite further interrupts."""
        self._stop_requests.append(True)
        interrupt = None
        while True:
            try:
                self._wait()
                break
            except KeyboardInterrupt as error:
                interrupt = error
        if interrupt is not None:
            raise interrupt
