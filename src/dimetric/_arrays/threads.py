"""Run tasks on several Python threads, with BLAS limited to one thread.

Element-wise NumPy operations and compiled kernels use one core, so blocks of rows are distributed
over Python threads. Meanwhile, BLAS is limited to one thread, because its own threads would compete
with the Python threads for the cores.

Python delivers Ctrl-C to the main thread only. If it interrupts the thread that waits for the
results, the other threads stop after their current task, and the exception is raised when all of
them have ended. So a task should take at most a few tenths of a second. A longer task calls
:func:`~dimetric._arrays.thread_group.stop_if_interrupted` every few tenths of a second.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from threading import Thread
from time import sleep
from typing import TypeVar

from dimetric._arrays.blas_limit import one_blas_thread
from dimetric._arrays.blocks import row_blocks
from dimetric._arrays.thread_group import Helper, ThreadGroup, this_thread

S = TypeVar("S")
T = TypeVar("T")

ROWS_PER_THREAD = 512  # for fewer rows, waking a thread takes longer than the work
TASKS_AHEAD = 16  # results per thread that map_on_threads() computes before it yields the first


def n_threads(max_threads: int, n_rows: int) -> int:
    """Return the number of threads to use for `n_rows` rows, at most `max_threads`."""
    return max(1, min(max_threads, n_rows // ROWS_PER_THREAD))


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
        helper: Helper[None, T] = Helper(lambda _: work(), iter(()), [])

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
    return ThreadGroup(run_in_thread, tasks).run()[0]


@contextmanager
def one_thread() -> Iterator[None]:
    """Let functions that this thread calls start no other threads.

    Use it if other programs, such as Dask, already run a task on each core.
    """
    before = getattr(this_thread, "is_alone", False)
    this_thread.is_alone = True
    try:
        with one_blas_thread():
            yield
    finally:
        this_thread.is_alone = before


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
        if threads == 1 or getattr(this_thread, "is_alone", False):
            return [work(iter(tasks))]
        queue = iter(tasks)
        iterators = [queue if shared_queue else iter(tasks[t::threads]) for t in range(threads)]
        # The calling thread only waits. If it worked too, an interrupt could leave a lock locked,
        # such as that of numba's compiler, and the other threads would wait for it for ever.
        return ThreadGroup(work, iterators).run()


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
