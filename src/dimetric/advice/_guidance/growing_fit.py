"""Fit a model to as many rows as the time allows."""

from collections.abc import Callable
from math import log
from time import perf_counter
from typing import Generic, NamedTuple, TypeVar

__all__ = ["FittedRows", "growing_fit"]

T = TypeVar("T")

MIN_EXPONENT, MAX_EXPONENT = 1.0, 3.0  # of the growth of the time with the number of rows
EXPONENT_MARGIN = 0.3  # added to a measured exponent, because the growth may become faster
MAX_STEP = 4.0  # largest factor between two fits, unless there is time for all rows
MIN_STEP = 1.25  # a smaller step is not worth a fit


class FittedRows(NamedTuple, Generic[T]):
    """A fitted model.

    Attributes
    ----------
    model : object
        The model.
    n_rows : int
        Number of rows that it was fitted to.
    """

    model: T
    n_rows: int


def growing_fit(
    fit: Callable[[int], T],
    n_rows: int,
    *,
    known_sizes: list[int],
    known_seconds: list[float],
    seconds: float,
    min_rows: int = 0,
    clock: Callable[[], float] = perf_counter,
) -> FittedRows[T]:
    r"""Fit a model to all rows, or to as many as the time allows.

    The time of a fit to n rows is estimated as :math:`t (n / m)^p`, where t is the time of the
    largest fit so far, to m rows. The exponent p is measured from the last two fits, plus 0.3. If
    the estimate for all rows exceeds the time that is left, fits to up to 4 times more rows follow
    each other, each in at most half of the time that is left.

    Parameters
    ----------
    fit : callable
        Called as ``fit(n)``, returns the model fitted to n rows.
    n_rows : int
        Number of all rows.
    known_sizes, known_seconds : list
        Numbers of rows of earlier fits, in ascending order, and the time of each. There is at least
        one. The first model has at least the last of these sizes.
    seconds : float
        Time for all fits.
    min_rows : int, default=0
        The first model has at least this many rows, even if it takes longer.
    clock : callable, default=perf_counter
        Returns the current time in seconds.

    Examples
    --------
    >>> growing_fit(str, 100, known_sizes=[10], known_seconds=[1e-4], seconds=10)
    FittedRows(model='100', n_rows=100)
    """
    sizes, times = list(known_sizes), [max(each, 1e-6) for each in known_seconds]
    deadline, found = clock() + seconds, None
    while found is None or found.n_rows < n_rows:
        n = _next_size(n_rows, sizes, times, deadline - clock())
        if found is None:
            n = max(n, min(n_rows, max(sizes[-1], min_rows)))
        elif n < n_rows and n < MIN_STEP * found.n_rows:
            break
        started = clock()
        found = FittedRows(fit(n), n)
        if n > sizes[-1]:
            sizes.append(n)
            times.append(max(clock() - started, 1e-6))
    return found


def _next_size(n_rows: int, sizes: list[int], times: list[float], seconds: float) -> int:
    """Return the number of rows of the next fit."""
    n, t, p = sizes[-1], times[-1], _exponent(sizes, times)
    if seconds <= 0:
        return 0
    if n >= n_rows or t * (n_rows / n) ** p <= seconds:
        return n_rows
    return int(n * min(MAX_STEP, (0.5 * seconds / t) ** (1 / p)))


def _exponent(sizes: list[int], times: list[float]) -> float:
    """Return the estimated exponent of the growth. Without two fits, the time may be quadratic."""
    if len(sizes) < 2:
        return 2.0 + EXPONENT_MARGIN
    measured = log(times[-1] / times[-2]) / log(sizes[-1] / sizes[-2])
    return min(max(measured, MIN_EXPONENT), MAX_EXPONENT) + EXPONENT_MARGIN
