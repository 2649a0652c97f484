"""Limited-memory BFGS."""

from typing import ClassVar

import numpy as np
from scipy.optimize import OptimizeResult, minimize

from dimetric._arguments import check_types
from dimetric.solvers.result import (
    DECREASE_DIVISOR,
    GRADIENT_BELOW_TOL,
    INFIMUM_REACHED,
    LINE_SEARCH_FAILED,
    NO_DECREASE,
    STOPPED_BY_CALLBACK,
    Callback,
    Function,
    Result,
    is_infimum,
    max_iter_reached,
    non_finite_start_message,
)
from dimetric.solvers.solver import Solver

MAX_EVALUATIONS_PER_ITERATION = 20  # on average; one or two are usual
# After an iteration that lowers the function by at most this, relative to its value, the function
# replaces its approximation, whose rounding errors are far smaller.
SMALL_DECREASE = 1e-6


class LBFGS(Solver):
    r"""Limited-memory BFGS [1]_, for smooth functions without constraints.

    The solver stops if

    - the largest absolute entry of the gradient is at most `tol`,
    - an iteration lowers the function by at most ``tol * max(1, |value|) / 10``, or
    - the value is within ``min(tol, 0.001)`` of an infimum that no finite point attains. For
      example, a softmax loss on separable data decreases forever as the map grows.

    Other solvers use the same criteria, unless their documentation says otherwise.

    If the function has an attribute ``approximation``, which is a function that takes less time,
    the first iterations use it. The function itself is used from the first iteration that gains
    little, and for the value at the end.

    References
    ----------
    .. [1] D. C. Liu, J. Nocedal, "On the limited memory BFGS method for large scale
       optimization", Mathematical Programming 45, 1989.

    Examples
    --------
    >>> LBFGS().minimise(lambda x: (float(x @ x), 2 * x), np.ones(2)).reason
    'gradient below tol'
    """

    models_curvature: ClassVar[bool] = True

    @check_types
    def minimise(
        self,
        function: Function,
        x0: np.ndarray,
        *,
        max_iter: int = 100,
        tol: float = 1e-5,
        infimum: float = -np.inf,
        callback: Callback | None = None,
    ) -> Result:
        """Minimise a smooth function. See :meth:`dimetric.solvers.Solver.minimise`."""
        run = _Run(function, max_iter=max_iter, tol=tol, infimum=infimum, callback=callback)
        optimum = run.minimum_from(x0)
        history = run.history
        if not np.isfinite([history[0], optimum.fun]).all():
            raise ValueError(non_finite_start_message(history[0]))
        optimum = run.refined(optimum)
        value, n_iter = float(optimum.fun), len(history) - 1
        early_stop = run.early_stop
        if not early_stop and is_infimum(value, infimum, tol):  # reached at the starting point
            early_stop = INFIMUM_REACHED
        reason = early_stop or _stop_reason(optimum, n_iter, max_iter)
        converged = early_stop == INFIMUM_REACHED or (not early_stop and optimum.status == 0)
        return Result(optimum.x, value, n_iter, converged, reason, tuple(history))


class _Run:
    """The iterations of SciPy's minimiser on a function, or on its approximation at first.

    Parameters
    ----------
    function, max_iter, tol, infimum, callback
        Parameters of :meth:`LBFGS.minimise`.
    """

    def __init__(
        self,
        function: Function,
        *,
        max_iter: int,
        tol: float,
        infimum: float,
        callback: Callback | None,
    ) -> None:
        self._function = function
        self._approximation = getattr(function, "approximation", None)
        self._is_approximate = self._approximation is not None  # whether evaluations use it
        self._exact: tuple[np.ndarray, float, np.ndarray] | None = None
        self._max_iter, self._tol, self._infimum = max_iter, tol, infimum
        self._callback = callback
        self.history: list[float] = []
        self.early_stop = ""

    def minimum_from(self, x: np.ndarray) -> OptimizeResult:
        """Return the result of SciPy's minimiser for a starting point."""
        n_left = self._max_iter - max(0, len(self.history) - 1)
        return minimize(
            self._evaluate,
            x,
            jac=True,
            method="L-BFGS-B",
            callback=self._after_iteration,
            options={
                "maxiter": n_left,
                "gtol": self._tol,
                # A relative decrease is at most 2. A huge number would overflow in SciPy.
                "ftol": min(self._tol / DECREASE_DIVISOR, 10.0),
                "maxfun": MAX_EVALUATIONS_PER_ITERATION * n_left,
            },
        )

    def refined(self, optimum: OptimizeResult) -> OptimizeResult:
        """Return the result with a value of the function, and not of its approximation.

        If only the approximation has a small gradient, or if its rounding errors made the line
        search fail, the minimiser continues with the function.
        """
        if self._approximation is None:
            return optimum
        self._is_approximate = False
        optimum.fun, gradient = self._exact_at(optimum.x)
        self.history[-1] = optimum.fun
        reason = _stop_reason(optimum, len(self.history) - 1, self._max_iter)
        is_steep = reason == GRADIENT_BELOW_TOL and np.max(np.abs(gradient)) > self._tol
        if not self.early_stop and (is_steep or reason.startswith(LINE_SEARCH_FAILED)):
            return self.minimum_from(optimum.x)
        return optimum

    def _evaluate(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the value and the gradient at x."""
        if self._approximation is not None and self._is_approximate:
            value, gradient = self._approximation(x)
        else:
            value, gradient = self._exact_at(x)
        if not self.history:
            self.history.append(value)
        return value, gradient

    def _exact_at(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the value and the gradient of the function, and keep them for the next call."""
        if self._exact is None or not np.array_equal(self._exact[0], x):
            self._exact = np.copy(x), *self._function(x)
        return self._exact[1:]

    def _after_iteration(self, intermediate_result: OptimizeResult) -> None:
        """Record an iteration, and end the run if the callback or the infimum asks for it."""
        x, value = intermediate_result.x, float(intermediate_result.fun)
        if self._is_approximate and is_infimum(value, self._infimum, self._tol):
            self._is_approximate, value = False, self._exact_at(x)[0]
        if self.history[-1] - value <= SMALL_DECREASE * max(1.0, abs(value)):
            self._is_approximate = False
        self.history.append(value)
        if self._callback is not None and self._callback(x, value, len(self.history) - 1):
            self.early_stop = STOPPED_BY_CALLBACK
        if is_infimum(value, self._infimum, self._tol):
            self.early_stop = INFIMUM_REACHED
        if self.early_stop:
            raise StopIteration


def _stop_reason(optimum: OptimizeResult, n_iter: int, max_iter: int) -> str:
    """Return the reason why SciPy's minimiser stopped."""
    if optimum.status == 0:
        return GRADIENT_BELOW_TOL if "PGTOL" in optimum.message else NO_DECREASE
    if n_iter >= max_iter:
        return max_iter_reached(max_iter)
    return f"{LINE_SEARCH_FAILED} ({optimum.message})"
