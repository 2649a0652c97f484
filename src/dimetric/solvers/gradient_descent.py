"""Batch gradient descent."""

from typing import Any, ClassVar

import numpy as np

from dimetric._compat import check_params
from dimetric.solvers._rates import RATE_CONSTRAINTS, SMALLEST_RATE_RATIO, first_rate, step
from dimetric.solvers.result import RATE_GONE, Callback, Function, Result, Trace
from dimetric.solvers.solver import Solver


class GradientDescent(Solver):
    r"""Gradient descent over all samples, at a constant or adaptive rate.

    .. math:: x \leftarrow x - \eta\, \nabla f(x)

    A constant rate takes every step. The adaptive rate takes back a step that does not lower the
    function and tries a shorter one, which does not count as an iteration; each step that is taken
    lengthens the next one. The values then fall strictly.

    It stops as :class:`~dimetric.solvers.LBFGS` does. A step so long that it only crosses a valley
    would look like the end of all progress. So :math:`\eta |\nabla f|^2`, the decrease that the
    slope predicts, must be as small as the decrease itself.

    Parameters
    ----------
    learning_rate : {"adaptive", "constant"}, default="adaptive"
        Whether the rate changes from step to step.
    eta0 : float or None, default=None
        First rate. None makes the first step as long as the start, and then doubles or halves it
        to the longest step that lowers the function by half of what the slope predicts. On a
        quadratic function, that is the inverse of the curvature along the gradient.
    increase : float, default=1.01
        Factor of the adaptive rate after a step that is taken.
    decrease : float, default=0.5
        Factor of the adaptive rate after a step that is taken back.

    Examples
    --------
    >>> solver = GradientDescent(eta0=0.25)
    >>> result = solver.minimise(lambda x: (float(x @ x), 2 * x), np.ones(2))
    >>> result.reason, round(result.value, 6)
    ('objective no longer decreases', 0.0)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = RATE_CONSTRAINTS

    def __init__(
        self,
        *,
        learning_rate: str = "adaptive",
        eta0: float | None = None,
        increase: float = 1.01,
        decrease: float = 0.5,
    ) -> None:
        self.learning_rate = learning_rate
        self.eta0 = eta0
        self.increase = increase
        self.decrease = decrease

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
        """Minimise a function; see :meth:`dimetric.solvers.Solver.minimise`."""
        check_params(self)
        adaptive = self.learning_rate == "adaptive"
        x = np.array(x0, dtype=np.float64)
        value, gradient = function(x)
        trace = Trace(
            x, value, gradient, max_iter=max_iter, tol=tol, infimum=infimum, callback=callback
        )
        if trace.reason:
            return trace.result()
        rate = self.eta0 or first_rate([(function, value, gradient)], x)
        smallest = SMALLEST_RATE_RATIO * rate
        while not trace.reason:
            trial, reached, there = step(function, x, rate, gradient)
            if adaptive and not reached < value:
                rate *= self.decrease
                if not rate > smallest or np.array_equal(x - rate * gradient, x):
                    trace.stop(RATE_GONE)
                continue
            change = max(abs(value - reached), rate * float(gradient @ gradient))
            x, value, gradient = trial, reached, there
            trace.add(x, value, gradient, change=change)
            if adaptive:
                rate *= self.increase
        return trace.result()
