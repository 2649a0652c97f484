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


class LBFGS(Solver):
    r"""Limited-memory BFGS [1]_, for smooth functions without constraints.

    The solver stops if

    - the largest absolute entry of the gradient is at most `tol`,
    - an iteration lowers the function by at most ``tol * max(1, |value|) / 10``, or
    - the value is within ``min(tol, 0.001)`` of an infimum that no finite point attains. For
      example, a softmax loss on separable data decreases forever as the map grows.

    Other solvers use the same criteria, unless their documentation says otherwise.

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
        history: list[float] = []
        early_stop = ""

        def recorded(x: np.ndarray) -> tuple[float, np.ndarray]:
            value, gradient = function(x)
            if not history:
                history.append(value)
            return value, gradient

        def after_iteration(intermediate_result: OptimizeResult) -> None:
            nonlocal early_stop
            value = float(intermediate_result.fun)
            history.append(value)
            if callback is not None and callback(intermediate_result.x, value, len(history) - 1):
                early_stop = STOPPED_BY_CALLBACK
            if is_infimum(value, infimum, tol):
                early_stop = INFIMUM_REACHED
            if early_stop:
                raise StopIteration

        optimum = minimize(
            recorded,
            x0,
            jac=True,
            method="L-BFGS-B",
            callback=after_iteration,
            options={
                "maxiter": max_iter,
                "gtol": tol,
                # A relative decrease is at most 2. A huge number would overflow in SciPy.
                "ftol": min(tol / DECREASE_DIVISOR, 10.0),
                "maxfun": MAX_EVALUATIONS_PER_ITERATION * max_iter,
            },
        )
        if not np.isfinite([history[0], optimum.fun]).all():
            raise ValueError(non_finite_start_message(history[0]))
        if not early_stop and is_infimum(
            optimum.fun, infimum, tol
        ):  # reached at the starting point
            early_stop = INFIMUM_REACHED
        reason = early_stop or _stop_reason(optimum, max_iter)
        converged = early_stop == INFIMUM_REACHED or (not early_stop and optimum.status == 0)
        value, n_iter = float(optimum.fun), len(history) - 1
        return Result(optimum.x, value, n_iter, converged, reason, tuple(history))


def _stop_reason(optimum: OptimizeResult, max_iter: int) -> str:
    """Return the reason why SciPy's minimiser stopped."""
    if optimum.status == 0:
        return GRADIENT_BELOW_TOL if "PGTOL" in optimum.message else NO_DECREASE
    if optimum.nit >= max_iter:
        return max_iter_reached(max_iter)
    return f"{LINE_SEARCH_FAILED} ({optimum.message})"
