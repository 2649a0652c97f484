"""Run tasks on several Python threads, with BLAS limited to one thread.

Element-wise NumPy operations and compiled kernels use one core, so blocks of rows are distributed
over Python threads. Meanwhile, BLAS is limited to one thread, because its own threads would compete
with the Python threads for the cores.

Python delivers Ctrl-C to the main thread only. If it interrupts the thread that waits for the
results, the other threads stop after their current task, and the exception is raised when all of
them have ended. So a task should take at most a few tenths of a second. A longer task calls
:func:`stop_if_interrupted` every few tenths of a second.

Threads that have ended their tasks wait for the next ones, because starting a thread takes longer
than a small task.
"""

import os
from _thread import start_new_thread
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import copy_context
from threading import Lock, Thread, local
from time import sleep
from typing import Any, ClassVar, Generic, TypeVar

from dimetric._arrays.blas_limit import one_blas_thread
from dimetric._arrays.blocks import row_blocks

S = TypeVar("S")
T = TypeVar("T")

ROWS_PER_THREAD = 512  # for fewer rows, waking a thread takes longer than the work
MAX_WAIT_SECONDS = 0.05  # interval for checking signals
TASKS_AHEAD = 16  # results per thread that map_on_threads() computes before it yields the first


def n_threads(max_threads: int, n_rows: int) -> int:
    """Return the number of threads to use for `n_rows` rows, at most `max_threads`."""
    return max(1, min(max_threads, n_rows // ROWS_PER_THREAD))


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


# Its attribute `stop_requests` is set in the threads of _Helper, and `is_alone` by one_thread().
_this_thread = local()


def stop_if_interrupted() -> None:
    """End the task if Ctrl-C interrupted the thread that waits for it, or another task failed."""
    if getattr(_this_thread, "stop_requests", None):
        raise _StoppedError


def _until_stopped(tasks: Iterator[S], stop_requests: list[bool]) -> Iterator[S]:
    """Yield tasks until there are none, or until `stop_requests` is not empty."""
    for task in tasks:
        if stop_requests:
            return
        yield task


class _Helper(Generic[S, T]):
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
        _this_thread.stop_requests = self._stop_requests
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


class _Worker:
    """A thread that calls ``run`` of one helper after the other. It sleeps in between.

    It is not a ``threading.Thread``. If an interrupt comes while the main thread starts one, a lock
    of ``threading`` may stay locked for ever. Starting one also waits until it has begun to run.
    """

    idle: ClassVar[list["_Worker"]] = []

    def __init__(self) -> None:
        self.helper: _Helper[Any, Any] | None = None  # the next one
        self.wake_up = Lock()  # released when there is a helper
        self.wake_up.acquire()
        start_new_thread(self._work, ())

    @classmethod
    def take(cls) -> "_Worker":
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
            self.idle.append(self)
            helper.ended.set()
            del helper  # with its results


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_Worker.idle.clear)  # a new process has no other threads


class _ThreadGroup(Generic[S, T]):
    """Threads that call ``work(tasks)``, one for each of several iterators over tasks."""

    def __init__(self, work: Callable[[Iterator[S]], T], iterators: list[Iterator[S]]) -> None:
        self._stop_requests: list[bool] = []
        self._helpers = [_Helper(work, tasks, self._stop_requests) for tasks in iterators]
        self._started: list[None] = []  # an entry for each helper that started, in their order

    def run(self) -> list[T]:
        """Let threads work, wait until all of them have ended, and return their results.

        After an interrupt, or an error in a thread, the other threads stop after their current
        tasks. Then the exception is raised.
        """
        workers: list[_Worker] = []
        try:
            for helper in self._helpers:
                workers.append(_Worker.take())
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
                _Worker.idle.append(worker)
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


def uninterrupted(work: Callable[[], T]) -> T:
    """Return the result of a function. Ctrl-C takes effect when the function has ended.

    The function runs on a thread of ``threading``, which Python does not interrupt.

    Examples
    --------
    >>> uninterrupted(lambda: 1)
    1
    """

    def run_in_thread(_: Iterator[None]) -> T:
        # Imports and new processes ask ``threading`` for the current thread. It would list one that
        # it did not start for ever. It is safe to start one here, where no interrupt comes.
        helper: _Helper[None, T] = _Helper(lambda _: work(), iter(()), [])

        def run() -> None:
            helper.run()
            helper.ended.set()

        thread = Thread(target=run, daemon=False)
        thread.start()
        helper.ended.wait()
        while thread.is_alive():  # Python takes a moment to remove a thread that has ended
            sleep(1e-5)
        return helper.result()

    tasks: list[Iterator[None]] = [iter(())]
    return _ThreadGroup(run_in_thread, tasks).run()[0]


@contextmanager
def one_thread() -> Iterator[None]:
    """Let functions that this thread calls start no other threads.

    Use it if other programs, such as Dask, already run a task on each core.
    """
    before = getattr(_this_thread, "is_alone", False)
    _this_thread.is_alone = True
    try:
        with one_blas_thread():
            yield
    finally:
        _this_thread.is_alone = before


def run_on_threads(
    work: Callable[[Iterator[S]], T],
    tasks: Sequence[S],
    *,
    n_rows: int | None = None,
    max_threads: int | None = None,
    shared_queue: bool = False,
) -> list[T]:
    """Distribute tasks over threads, call ``work(tasks)`` once per thread, and return the results.

    Use it for work that reuses a buffer, or that accumulates a sum over the tasks of a thread. It
    starts as many threads as BLAS may use, but at most one per task. The threads use NumPy's error
    state of the caller.

    Parameters
    ----------
    work : callable
        Called with an iterator over the tasks of a thread. After an error in another thread, or an
        interrupt, the iterator ends early, and the result is not used.
    tasks : sequence
        The tasks.
    n_rows : int, optional
        Number of rows of data in all tasks together. If given, at most one thread is used for
        every ``ROWS_PER_THREAD`` rows.
    max_threads : int, optional
        Largest number of threads. With 1, the calling thread does all the work.
    shared_queue : bool, default=False
        By default, thread t of n gets the tasks t, t + n, t + 2n, ..., so that results are
        bitwise reproducible for a given number of threads. With a shared queue, each free thread
        takes the next task. This is faster, but may be used only if the results do not depend on
        which thread runs which task.

    Examples
    --------
    >>> sum(run_on_threads(sum, range(10)))
    45
    """
    with one_blas_thread() as threads:
        threads = threads if n_rows is None else n_threads(threads, n_rows)
        threads = max(1, min(threads, max_threads or threads, len(tasks)))
        if threads == 1 or getattr(_this_thread, "is_alone", False):
            return [work(iter(tasks))]
        queue = iter(tasks)
        iterators = [queue if shared_queue else iter(tasks[t::threads]) for t in range(threads)]
        # The calling thread only waits. If it worked too, an interrupt could leave a lock locked,
        # such as that of numba's compiler, and the other threads would wait for it for ever.
        return _ThreadGroup(work, iterators).run()


def map_on_threads(
    work: Callable[[S], T], tasks: Sequence[S], *, n_rows: int | None = None
) -> Iterator[T]:
    """Yield ``work(task)`` for every task in order, computed on several threads.

    It starts as many threads as :func:`run_on_threads`. No thread runs while the caller handles a
    result. At most ``TASKS_AHEAD`` results per thread are in memory.

    Examples
    --------
    >>> list(map_on_threads(str, range(3)))
    ['0', '1', '2']
    """
    with one_blas_thread() as threads:
        size = threads * TASKS_AHEAD
    for block in row_blocks(len(tasks), size):
        results: dict[int, T] = {}

        def collect(numbers: Iterator[int], results: dict[int, T] = results) -> None:
            for number in numbers:
                results[number] = work(tasks[number])

        numbers = range(block.start, block.stop)
        run_on_threads(collect, numbers, n_rows=n_rows, shared_queue=True)
        # The threads have ended, and BLAS has its own limit again. So nothing is left behind if the
        # caller never asks for the next result.
        for number in numbers:
            yield results.pop(number)
