"""Batch gradient descent."""

from typing import Any, ClassVar

import numpy as np

from dimetric._arguments import check_types
from dimetric._compat import check_params
from dimetric.solvers._rates import RATE_CONSTRAINTS, SMALLEST_RATE_RATIO, first_rate, step
from dimetric.solvers.result import STEP_TOO_SMALL, Callback, Function, Result, Trace
from dimetric.solvers.solver import Solver


class GradientDescent(Solver):
    r"""Gradient descent over all samples, with a constant or an adaptive learning rate.

    .. math:: x \leftarrow x - \eta\, \nabla f(x)

    With a constant rate, every step is accepted. With an adaptive rate, a step that does not lower
    the function is rejected and repeated with a smaller rate, which does not count as an
    iteration, so the values decrease strictly. Each accepted step increases the rate.

    The stopping criteria are those of :class:`~dimetric.solvers.LBFGS`. In addition, a small
    decrease stops the solver only if the predicted decrease :math:`\eta |\nabla f|^2` is small
    too. Otherwise, a long step to the opposite side of a valley would look like convergence.

    Parameters
    ----------
    learning_rate : {"adaptive", "constant"}, default="adaptive"
        Whether the rate changes from step to step.
    eta0 : float or None, default=None
        Initial learning rate. If None, it is chosen as follows. The first trial step is as long as
        the norm of x0. The rate is then doubled or halved, to find the largest rate at which the
        step lowers the function by at least half of what the slope predicts. For a quadratic
        function, the largest such rate is the inverse of the curvature along the gradient.
    increase : float, default=1.01
        Factor by which an accepted step multiplies the adaptive rate.
    decrease : float, default=0.5
        Factor by which a rejected step multiplies the adaptive rate.

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
        """Minimise a function. See :meth:`dimetric.solvers.Solver.minimise`."""
        check_params(self)
        adaptive = self.learning_rate == "adaptive"
        x = np.array(x0, dtype=np.float64).ravel()
        value, gradient = function(x)
        trace = Trace(
            x, value, gradient, max_iter=max_iter, tol=tol, infimum=infimum, callback=callback
        )
        if trace.reason:
            return trace.result()
        rate = self.eta0 or first_rate([(function, value, gradient)], x)
        smallest = SMALLEST_RATE_RATIO * rate
        while not trace.reason:
            new_x, new_value, new_gradient = step(function, x, rate, gradient)
            if adaptive and not new_value < value:
                rate *= self.decrease
                if not rate > smallest or np.array_equal(x - rate * gradient, x):
                    trace.stop(STEP_TOO_SMALL)
                continue
            change = max(abs(value - new_value), rate * float(gradient @ gradient))
            x, value, gradient = new_x, new_value, new_gradient
            trace.add(x, value, gradient, change=change)
            if adaptive:
                rate *= self.increase
        return trace.result()
