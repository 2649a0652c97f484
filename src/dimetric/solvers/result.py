"""The result of a solver, and the record that a solver keeps of its iterations."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from dimetric._warnings import warn

# Reasons to stop.
GRADIENT_BELOW_TOL = "gradient below tol"
GAP_BELOW_TOL = "duality gap below tol"
NO_DECREASE = "objective no longer decreases"
INFIMUM_REACHED = "within tol of the infimum"
STEP_TOO_SMALL = "the step size became too small"
STOPPED_BY_CALLBACK = "stopped by a callback"
STOPPED_EARLY = "stopped early, because the last iteration gained little"
# These are followed by details. Compare them with ``reason.startswith``.
DIVERGED = "diverged"
STALLED = "stalled"
LINE_SEARCH_FAILED = "the line search failed"
FLAT_START = "the objective is flat at the initial map"
SLOW_START = "the objective decreases too slowly from the initial map"

DECREASE_DIVISOR = 10  # a relative decrease of at most tol divided by this is negligible
DIVERGENCE_FACTOR = 100  # a solver has diverged if the value rises by this multiple of its scale
MAX_INFIMUM_TOL = 1e-3  # largest tolerance for reaching the infimum

# Returns the value and the gradient at a vector.
Function = Callable[[np.ndarray], tuple[float, np.ndarray]]
# Called as callback(x, value, n_iter) after every iteration. The solver stops if it returns True.
Callback = Callable[[np.ndarray, float, int], bool]


@dataclass(frozen=True)
class Result:
    """The result of a solver.

    Attributes
    ----------
    x : ndarray
        Best point found.
    value : float
        Objective at x.
    n_iter : int
        Number of iterations.
    converged : bool
        Whether a convergence criterion was met.
    reason : str
        Why the solver stopped, as a phrase.
    history : tuple of float
        Objective at the start and after every iteration.
    """

    x: np.ndarray
    value: float
    n_iter: int
    converged: bool
    reason: str
    history: tuple[float, ...]

    def warn_unless_converged(self, name: str, remedy: str) -> None:
        """Warn if `name` did not converge, unless a callback stopped it.

        The warning states the reason and the `remedy`.
        """
        if not self.converged and self.reason != STOPPED_BY_CALLBACK:
            warn(
                f"{name} did not converge: {self.reason}. {remedy}",
                ConvergenceWarning,
            )


class Trace:
    """The record of a solver: its history, the best point, and the decision to stop.

    The solver runs until `reason` is not empty.

    Parameters
    ----------
    x : ndarray of shape (p,)
        Starting point.
    value : float
        Objective at x. A ValueError is raised if it is not finite.
    gradient : ndarray of shape (p,)
        Gradient at x, or for constrained problems a residual that is 0 at an optimum.
    max_iter : int
        Maximum number of iterations.
    tol : float
        Tolerance of the stopping criteria. See :class:`dimetric.solvers.LBFGS`.
    infimum : float
        Greatest lower bound of the objective.
    callback : callable or None
        ``callback(x, value, n_iter)`` is called after every iteration. It returns True to stop.
    """

    def __init__(
        self,
        x: np.ndarray,
        value: float,
        gradient: np.ndarray,
        *,
        max_iter: int,
        tol: float,
        infimum: float,
        callback: Callback | None,
    ) -> None:
        if not np.isfinite(value):
            raise ValueError(non_finite_start_message(value))
        self.x, self.value, self.lowest = x, value, value
        self.max_iter, self.tol, self.infimum, self.callback = max_iter, tol, infimum, callback
        self.history = [value]
        self.reason = ""
        self.converged = False
        if is_infimum(value, infimum, tol):
            self.stop(INFIMUM_REACHED, converged=True)
        elif self.is_flat(gradient):
            self.stop(GRADIENT_BELOW_TOL, converged=True)

    def add(
        self,
        x: np.ndarray,
        value: float,
        gradient: np.ndarray,
        *,
        change: float,
        noise: float = 0.0,
    ) -> None:
        """Record an iteration, and stop if it meets a stopping criterion.

        Parameters
        ----------
        x, value, gradient : ndarray, float, ndarray
            The new point, its objective and its gradient or residual.
        change : float
            Change in the objective, as estimated by the solver. The solver stops if it is small.
        noise : float, default=0.0
            Standard error of the value. A new point replaces the best one if its value is at most
            the lowest value plus `noise`.
        """
        self.history.append(value)
        if self.far_above(value):
            self.stop(f"{DIVERGED}: the objective rose from {self.lowest:.3g} to {value:.3g}")
            return
        if value <= self.lowest + noise:
            self.x, self.value = x, value
        self.lowest = min(self.lowest, value)
        n_iter = len(self.history) - 1
        stop = self.callback is not None and self.callback(x, value, n_iter)
        if is_infimum(value, self.infimum, self.tol):
            self.stop(INFIMUM_REACHED, converged=True)
        elif stop:
            self.stop(STOPPED_BY_CALLBACK)
        elif self.is_flat(gradient) or self.is_small(change):
            if value > self.history[0]:  # a plateau far from the optimum
                self.stop(f"{STALLED} at {value:.3g}, above the initial objective")
            else:
                reason = GRADIENT_BELOW_TOL if self.is_flat(gradient) else NO_DECREASE
                self.stop(reason, converged=True)
        elif n_iter >= self.max_iter:
            self.stop(max_iter_reached(self.max_iter))

    def is_flat(self, gradient: np.ndarray) -> bool:
        """Return whether all entries of a gradient are at most `tol`."""
        return bool(np.max(np.abs(gradient), initial=0.0) <= self.tol)

    def is_small(self, change: float) -> bool:
        """Return whether a change in the objective is negligible."""
        return change <= self.tol * max(1.0, abs(self.history[-1])) / DECREASE_DIVISOR

    def far_above(self, value: float) -> bool:
        """Return whether a value is not finite, or so large that the solver has diverged."""
        scale = max(1.0, abs(self.lowest), self.history[0] - self.lowest)
        # Written so that NaN counts too.
        return not -np.inf < value - self.lowest <= DIVERGENCE_FACTOR * scale

    def stop(self, reason: str, *, converged: bool = False) -> None:
        """Stop for the given reason."""
        self.reason, self.converged = reason, converged

    def result(self) -> Result:
        """Return the best point and the history as a :class:`Result`."""
        n_iter = len(self.history) - 1
        return Result(self.x, self.value, n_iter, self.converged, self.reason, tuple(self.history))


def max_iter_reached(max_iter: int) -> str:
    """Return the reason for a solver that stops after `max_iter` iterations."""
    return f"max_iter={max_iter} reached"


def is_infimum(value: float, infimum: float, tol: float) -> bool:
    """Return whether a value is within ``min(tol, 0.001)`` of the infimum."""
    return value <= infimum + min(tol, MAX_INFIMUM_TOL)


def non_finite_start_message(value: float) -> str:
    """Return the error message for a starting point from which no finite value is reached."""
    return (
        f"The objective is {value:.3g} at the starting point, and the solver found no finite "
        "value. Choose a smaller init or reg, or scale X."
    )
