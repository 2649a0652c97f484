"""Limit the threads of BLAS and OpenMP, for example while Python threads use the cores."""

import sys
from contextlib import AbstractContextManager
from functools import cache, lru_cache
from threading import Lock, get_ident
from typing import Any

from threadpoolctl import ThreadpoolController


class _OneBlasThread:
    """Context manager that limits BLAS to one thread. Several threads may enter it at once.

    The limit applies to the whole process. The first thread to enter sets it, and the last one to
    leave restores the previous limit.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._users: dict[_BlasUser, int] = {}  # users, with the threads that entered them
        self._previous: list[tuple[Any, int]] = []  # libraries, with their numbers of threads

    def __call__(self) -> "_BlasUser":
        return _BlasUser(self)

    def enter(self, user: "_BlasUser") -> int:
        """Limit BLAS, and return the number of threads that it could use before."""
        with self._lock:
            if not self._previous:
                # An interrupt may come before any of the next lines, so store the previous limits
                # before the first change.
                self._previous = [(each, each.num_threads) for each in _blas_libraries()]
            self._users[user] = get_ident()
            for library, _ in self._previous if len(self._users) == 1 else ():
                library.set_num_threads(1)
            return max((number for _, number in self._previous), default=1)

    def leave(self, user: "_BlasUser") -> None:
        """Restore the previous limits if no other user is left."""
        with self._lock:
            self._users.pop(user, None)
            if not self._users:
                for library, number in self._previous:
                    library.set_num_threads(number)
                self._previous = []

    def leave_after_interrupt(self, users: "set[_BlasUser]") -> None:
        """Call :meth:`leave` for users whose ``__exit__`` did not run because of an interrupt."""
        for user in users:
            self.leave(user)
        if not self._users:
            # The interrupt may have come after the last user was removed, but before the limits
            # were restored. Leaving with a new user restores them.
            self.leave(_BlasUser(self))

    def users_of_this_thread(self) -> "set[_BlasUser]":
        """Return the users that this thread has entered and not left."""
        with self._lock:
            return {user for user, thread in self._users.items() if thread == get_ident()}


class _BlasUser:
    """One use of :class:`_OneBlasThread` in a ``with`` statement."""

    def __init__(self, limit: _OneBlasThread) -> None:
        self._limit = limit

    def __enter__(self) -> int:
        """Return the number of threads that BLAS could use before the limit was set."""
        try:
            return self._limit.enter(self)
        except BaseException:  # an interrupt
            self._limit.leave(self)
            raise

    def __exit__(self, *_: object) -> None:
        self._limit.leave(self)


@cache
def _blas_libraries() -> list[Any]:
    # Finding the BLAS libraries takes milliseconds, so they are cached.
    return ThreadpoolController().select(user_api="blas").lib_controllers


one_blas_thread = _OneBlasThread()


def limited_threads(n_threads: int | None) -> AbstractContextManager[Any]:
    """Return a context that limits the threads of BLAS and OpenMP. None sets no limit.

    Use it around code of other packages, and :data:`one_blas_thread` in several threads at once.
    """
    limits: AbstractContextManager[Any] = _thread_pools(len(sys.modules)).limit(limits=n_threads)
    return limits


@lru_cache(maxsize=1)
def _thread_pools(n_modules: int) -> ThreadpoolController:
    # Finding the libraries takes milliseconds. Only imports load further ones.
    return ThreadpoolController()
