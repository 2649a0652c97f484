"""Threads of our own, with BLAS limited to one thread meanwhile.

Element-wise NumPy and compiled kernels use one core, so blocks of work go to several Python
threads. A BLAS that brought its own threads to each of them would make them wait for one another.
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

ROWS_PER_THREAD = 512  # starting a thread for fewer rows takes longer than the work


class _OneBlasThread:
    """A context that limits BLAS to one thread; it may be entered by several threads at once.

    The limit holds for the whole process. The first user sets it, the last one lifts it.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._users = 0
        self._allowed = 1

    @contextmanager
    def __call__(self) -> Iterator[int]:
        """Yield the number of threads that BLAS was allowed by the user, joblib or a test run."""
        with self._lock:
            if self._users == 0:
                controller = _controller()
                blas = [lib.num_threads for lib in controller.lib_controllers]
                self._allowed = max(blas, default=1)
                self._limiter = controller.limit(limits=1)
            self._users += 1
        try:
            yield self._allowed
        finally:
            with self._lock:
                self._users -= 1
                if self._users == 0:
                    self._limiter.restore_original_limits()


@cache
def _controller() -> ThreadpoolController:
    # Looking up the libraries takes milliseconds, so it is done once.
    return ThreadpoolController().select(user_api="blas")


one_blas_thread = _OneBlasThread()


def n_threads(allowed: int, n_rows: int) -> int:
    """Return how many of the allowed threads have enough rows to work on."""
    return max(1, min(allowed, n_rows // ROWS_PER_THREAD))


@contextmanager
def _workers(n_tasks: int, n_rows: int | None) -> Iterator[int]:
    """Limit BLAS to one thread, and yield how many threads of our own to use instead."""
    with one_blas_thread() as allowed:
        allowed = allowed if n_rows is None else n_threads(allowed, n_rows)
        yield max(1, min(allowed, n_tasks))


def run_on_threads(
    work: Callable[[Iterator[S]], T],
    tasks: Sequence[S],
    *,
    n_rows: int | None = None,
    shared_queue: bool = False,
) -> list[T]:
    """Call ``work(its tasks)`` once on every thread, and return the results, one for each thread.

    For work that keeps a buffer or a sum from one task to the next. There are as many threads as
    BLAS may use, but at most one for each task. BLAS has one thread meanwhile.

    Parameters
    ----------
    work : callable
        Takes an iterator over the tasks of its thread.
    tasks : sequence
        What there is to do.
    n_rows : int, optional
        Rows of data in all tasks together: a thread is started for every ``ROWS_PER_THREAD``.
    shared_queue : bool, default=False
        By default thread t of n gets the tasks t, t + n, t + 2n, ..., so that the same number of
        threads gives the same bits. With a shared queue, the next thread that is free takes the
        next task: faster, where the result does not depend on which thread does what.

    Examples
    --------
    >>> sum(run_on_threads(sum, range(10)))
    45
    """
    with _workers(len(tasks), n_rows) as threads:
        if threads == 1:
            return [work(iter(tasks))]
        queue = iter(tasks)
        deals = [queue if shared_queue else iter(tasks[t::threads]) for t in range(threads)]
        if not shared_queue:
            # This thread only waits: on two cores LMNN takes a sixth longer if it works too.
            with ThreadPoolExecutor(threads) as pool:
                return list(pool.map(work, deals))
        # This thread works too: starting one more takes milliseconds while others are busy.
        with ThreadPoolExecutor(threads - 1) as pool:
            others = [pool.submit(work, deal) for deal in deals[1:]]
            return [work(deals[0]), *(other.result() for other in others)]


def map_on_threads(
    work: Callable[[S], T], tasks: Sequence[S], *, n_rows: int | None = None
) -> Iterator[T]:
    """Yield ``work(task)`` of every task, in order, from the threads of :func:`run_on_threads`.

    Results are handed out as soon as they and all earlier ones are there, so that a caller who
    adds them up holds few of them.

    Examples
    --------
    >>> list(map_on_threads(str, range(3)))
    ['0', '1', '2']
    """
    with _workers(len(tasks), n_rows) as threads:
        if threads == 1:
            yield from map(work, tasks)
            return
        with ThreadPoolExecutor(threads) as pool:
            yield from pool.map(work, tasks)
