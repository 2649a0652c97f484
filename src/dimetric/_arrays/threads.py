"""Run tasks on several Python threads, with BLAS limited to one thread.

Element-wise NumPy operations and compiled kernels use one core, so blocks of rows are distributed
over Python threads. Meanwhile, BLAS is limited to one thread, because its own threads would compete
with the Python threads for the cores.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import TypeVar

from threadpoolctl import ThreadpoolController

S = TypeVar("S")
T = TypeVar("T")

ROWS_PER_THREAD = 512  # for fewer rows, starting a thread takes longer than the work


class _OneBlasThread:
    """Context manager that limits BLAS to one thread. Several threads may enter it at once.

    The limit applies to the whole process. The first thread to enter sets it, and the last one to
    leave restores the previous limit.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._users = 0
        self._max_threads = 1

    @contextmanager
    def __call__(self) -> Iterator[int]:
        """Yield the number of threads that BLAS could use before the limit was set."""
        with self._lock:
            if self._users == 0:
                controller = _controller()
                thread_counts = [lib.num_threads for lib in controller.lib_controllers]
                self._max_threads = max(thread_counts, default=1)
                self._limiter = controller.limit(limits=1)
            self._users += 1
        try:
            yield self._max_threads
        finally:
            with self._lock:
                self._users -= 1
                if self._users == 0:
                    self._limiter.restore_original_limits()


@cache
def _controller() -> ThreadpoolController:
    # Finding the BLAS libraries takes milliseconds, so the controller is cached.
    return ThreadpoolController().select(user_api="blas")


one_blas_thread = _OneBlasThread()


def n_threads(max_threads: int, n_rows: int) -> int:
    """Return the number of threads to use for `n_rows` rows, at most `max_threads`."""
    return max(1, min(max_threads, n_rows // ROWS_PER_THREAD))


@contextmanager
def _thread_count(n_tasks: int, n_rows: int | None) -> Iterator[int]:
    """Limit BLAS to one thread, and yield the number of Python threads to use instead."""
    with one_blas_thread() as max_threads:
        if n_rows is not None:
            max_threads = n_threads(max_threads, n_rows)
        yield max(1, min(max_threads, n_tasks))


def run_on_threads(
    work: Callable[[Iterator[S]], T],
    tasks: Sequence[S],
    *,
    n_rows: int | None = None,
    shared_queue: bool = False,
) -> list[T]:
    """Distribute tasks over threads, call ``work(tasks)`` once per thread, and return the results.

    Use it for work that reuses a buffer, or that accumulates a sum over the tasks of a thread. It
    starts as many threads as BLAS may use, but at most one per task.

    Parameters
    ----------
    work : callable
        Called with an iterator over the tasks of a thread.
    tasks : sequence
        The tasks.
    n_rows : int, optional
        Number of rows of data in all tasks together. If given, at most one thread is used for
        every ``ROWS_PER_THREAD`` rows.
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
    with _thread_count(len(tasks), n_rows) as threads:
        if threads == 1:
            return [work(iter(tasks))]
        queue = iter(tasks)
        iterators = [queue if shared_queue else iter(tasks[t::threads]) for t in range(threads)]
        if not shared_queue:
            # The calling thread only waits. When it worked too, LMNN took a sixth longer on two
            # cores. This was measured, and the cause is unknown.
            with ThreadPoolExecutor(threads) as pool:
                return list(pool.map(work, iterators))
        # With a shared queue, the calling thread works too, because starting one more thread takes
        # milliseconds once the others are busy.
        with ThreadPoolExecutor(threads - 1) as pool:
            others = [pool.submit(work, each) for each in iterators[1:]]
            return [work(iterators[0]), *(other.result() for other in others)]


def map_on_threads(
    work: Callable[[S], T], tasks: Sequence[S], *, n_rows: int | None = None
) -> Iterator[T]:
    """Yield ``work(task)`` for every task in order, computed on several threads.

    It starts as many threads as :func:`run_on_threads`. Each result is yielded as soon as all
    earlier ones are available, so a caller that sums the results keeps few of them in memory.

    Examples
    --------
    >>> list(map_on_threads(str, range(3)))
    ['0', '1', '2']
    """
    with _thread_count(len(tasks), n_rows) as threads:
        if threads == 1:
            yield from map(work, tasks)
            return
        with ThreadPoolExecutor(threads) as pool:
            yield from pool.map(work, tasks)
