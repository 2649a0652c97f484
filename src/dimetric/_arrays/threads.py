"""Threads of our own beside those of BLAS: one of the two is enough."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import TypeVar

from threadpoolctl import ThreadpoolController

S = TypeVar("S")
T = TypeVar("T")


class _OneBlasThread:
    """Limits BLAS to one thread while anybody needs it, and knows how many it may use otherwise.

    The limit holds for the whole process. Fits in several Python threads share it: the first one
    sets it, the last one lifts it.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._users = 0
        self._allowed = 1

    @contextmanager
    def __call__(self) -> Iterator[int]:
        """Yield the number of threads that BLAS may use: so the user, joblib or a test run says."""
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
    # Looking the libraries up takes milliseconds: once.
    return ThreadpoolController().select(user_api="blas")


_one_blas_thread = _OneBlasThread()


def n_threads(allowed: int, n_samples: int) -> int:
    """Return how many of the allowed threads have enough to do."""
    return max(1, min(allowed, n_samples // 512))


def in_order(work: Callable[[S], T], items: Sequence[S], n_samples: int) -> Iterator[T]:
    """Yield ``work(item)`` of all items, in order, from as many threads as have enough to do."""
    with _one_blas_thread() as allowed:
        threads = n_threads(allowed, n_samples)
        if threads == 1:  # to start one would take longer than many a search
            yield from map(work, items)
            return
        with ThreadPoolExecutor(threads) as pool:
            yield from pool.map(work, items)


def on_threads(
    work: Callable[[Iterator[int]], T], n_tasks: int, *, shared: bool = False
) -> list[T]:
    """Return ``work(tasks)`` of every thread, as many as BLAS may use and there are tasks.

    The numbers of the tasks are dealt out beforehand: thread t gets every so manieth from t on.
    With `shared`, whoever is free takes the next, which is right where it does not matter for the
    result who does what. BLAS has one thread, and numba none of its own.
    """
    with _one_blas_thread() as allowed:
        threads = max(1, min(allowed, n_tasks))
        if threads == 1:
            return [work(iter(range(n_tasks)))]
        common = iter(range(n_tasks))
        deals = [common if shared else iter(range(t, n_tasks, threads)) for t in range(threads)]
        # This thread works too: to start one more takes milliseconds while others are at it.
        with ThreadPoolExecutor(threads - 1) as pool:
            others = [pool.submit(work, deal) for deal in deals[1:]]
            return [work(deals[0]), *(each.result() for each in others)]
