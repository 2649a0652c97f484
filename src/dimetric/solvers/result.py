"""What every solver returns, and the record that a solver keeps of its iterations."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning

FLAT = "gradient below tol"
GAP_CLOSED = "duality gap below tol"
NO_DECREASE = "objective no longer decreases"
RATE_GONE = "the step shrank to nothing"
SEPARABLE = "separable: infimum not attained"
STOPPED_BY_CALLBACK = "stopped by a callback"

# The value and the gradient at a vector.
Function = Callable[[np.ndarray], tuple[float, np.ndarray]]
# Called with the vector, the value and the number of each iteration; True stops the solver.
Callback = Callable[[np.ndarray, float, int], bool]


@dataclass(frozen=True)
class Result:
    """The end of a minimisation.

    Attributes
    ----------
    x : ndarray
        Best point found.
    value : float
        Objective there.
    n_iter : int
        Iterations done.
    converged : bool
        Whether a criterion of convergence was met.
    reason : str
        Why the solver stopped, in words.
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
        """Warn that `name` did not converge, why, and what to do, unless a callback stopped it."""
        if not self.converged and self.reason != STOPPED_BY_CALLBACK:
            warnings.warn(
                f"{name} did not converge: {self.reason}. {remedy}",
                ConvergenceWarning,
                stacklevel=4,
            )


class Trace:
    """The record of a solver: its history, its best point, and why it stops.

    Parameters
    ----------
    x : ndarray of shape (p,)
        Start.
    value : float
        Objective there; ValueError if that is not finite.
    gradient : ndarray of shape (p,)
        A vector that is 0 at an optimum: the gradient, or its residual under constraints.
    max_iter : int
        Largest number of iterations.
    tol : float
        Tolerance, see :class:`dimetric.solvers.LBFGS`.
    infimum : float
        Greatest lower bound of the objective.
    callback : callable or None
        ``callback(x, value, n_iter)`` after every iteration; it returns True to stop.
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
            raise ValueError(no_finite_start(value))
        self.x, self.value, self.lowest = x, value, value
        self.max_iter, self.tol, self.infimum, self.callback = max_iter, tol, infimum, callback
        self.history = [value]
        self.reason = ""
        self.converged = False
        if is_infimum(value, infimum, tol):
            self.stop(SEPARABLE, converged=True)
        elif self.is_flat(gradient):
            self.stop(FLAT, converged=True)

    def add(
        self,
        x: np.ndarray,
        value: float,
        gradient: np.ndarray,
        *,
        change: float,
        noise: float = 0.0,
    ) -> None:
        """Record an iteration, and stop if it meets a criterion.

        Parameters
        ----------
        x, value, gradient : ndarray, float, ndarray
            The new point, as at the start.
        change : float
            How much the objective still changes.
        noise : float, default=0.0
            Standard error of the value. Of points whose values differ by less, the last one counts
            as the best.
        """
        self.history.append(value)
        if self.far_above(value):
            self.stop(f"diverged: the objective rose from {self.lowest:.3g} to {value:.3g}")
            return
        if value <= self.lowest + noise:
            self.x, self.value = x, value
        self.lowest = min(self.lowest, value)
        n_iter = len(self.history) - 1
        stop = self.callback is not None and self.callback(x, value, n_iter)
        if is_infimum(value, self.infimum, self.tol):
            self.stop(SEPARABLE, converged=True)
        elif stop:
            self.stop(STOPPED_BY_CALLBACK)
        elif self.is_flat(gradient) or self.is_small(change):
            if value > self.history[0]:  # far from the optimum there are flat plateaus, too
                self.stop(f"the objective stays at {value:.3g}, above its start: try another eta0")
            else:
                reason = FLAT if self.is_flat(gradient) else NO_DECREASE
                self.stop(reason, converged=True)
        elif n_iter >= self.max_iter:
            self.stop(f"max_iter={self.max_iter} reached")

    def is_flat(self, gradient: np.ndarray) -> bool:
        """Tell whether a gradient counts as 0."""
        return bool(np.max(np.abs(gradient), initial=0.0) <= self.tol)

    def is_small(self, change: float) -> bool:
        """Tell whether a change of the objective counts as none."""
        return change <= self.tol * max(1.0, abs(self.history[-1])) / 10

    def far_above(self, value: float) -> bool:
        """Tell whether a value is not finite, or so high that the solver must have diverged."""
        scale = max(1.0, abs(self.lowest), self.history[0] - self.lowest)
        return not -np.inf < value - self.lowest <= 100 * scale  # written so that NaN counts, too

    def stop(self, reason: str, *, converged: bool = False) -> None:
        """Stop, and say why."""
        self.reason, self.converged = reason, converged

    def result(self) -> Result:
        """Return the best point, and how it was found."""
        n_iter = len(self.history) - 1
        return Result(self.x, self.value, n_iter, self.converged, self.reason, tuple(self.history))


def is_infimum(value: float, infimum: float, tol: float) -> bool:
    """Tell whether a value is within `tol` of the infimum; a large `tol` counts as 0.001."""
    return value <= infimum + min(tol, 1e-3)


def no_finite_start(value: float) -> str:
    """Return the error message for a start without a finite value."""
    return (
        f"The objective is {value:.3g} at the start, from where no finite value was reached: "
        "choose a smaller init or reg, or scale X."
    )
