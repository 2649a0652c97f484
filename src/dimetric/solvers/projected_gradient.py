"""Projected gradient descent on a convex set, accelerated (FISTA) or plain."""

from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from dimetric._arguments import check_types
from dimetric._compat import check_params
from dimetric.solvers.result import NO_DECREASE, STEP_TOO_SMALL, Callback, Function, Result, Trace
from dimetric.solvers.solver import ConstrainedFunction, Solver

STEP_GROWTH = 1.2  # factor by which each iteration increases the step size before halving it
MAX_HALVINGS = 40  # attempts to find a step size in one iteration


class ProjectedGradient(Solver):
    r"""Projected gradient descent on a closed convex set, such as the set of all metrics.

    .. math:: x_{k+1} = P(y_k - s \nabla f(y_k)), \qquad
              y_{k+1} = P(x_{k+1} + \tfrac{t_k - 1}{t_{k+1}} (x_{k+1} - x_k)), \qquad
              t_{k+1} = \tfrac{1}{2} \bigl(1 + \sqrt{1 + 4 t_k^2}\bigr)

    This is FISTA [1]_, where P is the projection onto the set. Without acceleration, :math:`y = x`.
    The step size s is halved until a quadratic model is an upper bound of f, and grows by 20 % in
    every iteration. If a step with momentum does not lower the function, it is rejected and the
    momentum is reset [2]_, so the values decrease in every iteration.

    The solver stops if the largest absolute entry of the residual

    .. math:: r_{k+1} = \tfrac{1}{s} (y_k - x_{k+1}) - \nabla f(y_k) + \nabla f(x_{k+1})

    is at most `tol`. The residual is the gradient plus a normal vector of the set at
    :math:`x_{k+1}`. It is 0 at an optimum, and equals the gradient in the interior of the set. The
    other stopping criteria are those of :class:`~dimetric.solvers.LBFGS`. A small decrease stops
    the solver only after a step without momentum, because momentum can pass a flat region.

    Parameters
    ----------
    accelerated : bool, default=True
        Whether to use momentum.

    References
    ----------
    .. [1] A. Beck, M. Teboulle, "A fast iterative shrinkage-thresholding algorithm for linear
       inverse problems", SIAM Journal on Imaging Sciences 2, 2009.
    .. [2] B. O'Donoghue, E. Candès, "Adaptive restart for accelerated gradient schemes",
       Foundations of Computational Mathematics 15, 2015.

    Examples
    --------
    Find the nearest point in the positive quadrant:

    >>> class Distance:
    ...     target = np.array([1.0, -2.0])
    ...
    ...     def __call__(self, x):
    ...         return float(np.sum((x - self.target) ** 2)), 2 * (x - self.target)
    ...
    ...     def project(self, x):
    ...         return np.maximum(x, 0)
    >>> result = ProjectedGradient().minimise(Distance(), np.zeros(2))
    >>> result.x.round(2), result.reason
    (array([1., 0.]), 'objective no longer decreases')
    """

    steps_over: ClassVar[Literal["maps", "metrics"]] = "metrics"
    models_curvature: ClassVar[bool] = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"accelerated": ["boolean"]}

    def __init__(self, *, accelerated: bool = True) -> None:
        self.accelerated = accelerated

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
        """Minimise over a convex set. See :meth:`dimetric.solvers.Solver.minimise`.

        The function must be a :class:`dimetric.solvers.solver.ConstrainedFunction`. The starting
        point is first projected onto its set.
        """
        if not isinstance(function, ConstrainedFunction):
            raise self._unsupported(function, "a function with a method project(x)")
        check_params(self)
        current = _point(function, function.project(np.array(x0, dtype=np.float64).ravel()))
        residual = current.x - function.project(current.x - current.gradient)
        trace = Trace(
            current.x,
            current.value,
            residual,
            max_iter=max_iter,
            tol=tol,
            infimum=infimum,
            callback=callback,
        )
        if trace.reason:
            return trace.result()
        step = float((np.linalg.norm(current.x) or 1.0) / np.linalg.norm(current.gradient))
        y, t = current, 1.0
        while not trace.reason:
            has_momentum = y is not current
            new, step = _descend(function, y, STEP_GROWTH * step)
            if new is not None and new.value < current.value:
                decrease = current.value - new.value
                residual = (y.x - new.x) / step - y.gradient + new.gradient
                change = np.inf if has_momentum else decrease
                trace.add(new.x, new.value, residual, change=change)
                if trace.reason or not self.accelerated or trace.is_small(decrease):
                    y, t = new, 1.0
                else:
                    y, t = _extrapolate(function, current, new, t)
                current = new
            elif has_momentum:
                y, t = current, 1.0
            elif new is None:
                trace.stop(STEP_TOO_SMALL)
            else:  # any further decrease is below rounding
                trace.stop(NO_DECREASE, converged=True)
        return trace.result()


class _Point(NamedTuple):
    x: np.ndarray
    value: float
    gradient: np.ndarray


def _point(function: Function, x: np.ndarray) -> _Point:
    return _Point(x, *function(x))


def _descend(function: ConstrainedFunction, y: _Point, step: float) -> tuple[_Point | None, float]:
    """Step from y, and halve the step size until the quadratic model bounds the new value.

    Return the new point, or None after ``MAX_HALVINGS`` attempts, and the last step size.
    """
    for _ in range(MAX_HALVINGS):
        new = _point(function, function.project(y.x - step * y.gradient))
        move = new.x - y.x
        model = y.value + float(y.gradient @ move) + float(move @ move) / (2 * step)
        if new.value <= model:
            return new, step
        step /= 2
    return None, step


def _extrapolate(
    function: ConstrainedFunction, last: _Point, new: _Point, t: float
) -> tuple[_Point, float]:
    """Return the next y, extrapolated by momentum, and the next t.

    There is no momentum at t = 1, or if the function is not finite at the extrapolated point.
    """
    next_t = (1 + (1 + 4 * t**2) ** 0.5) / 2
    if t == 1.0:
        return new, next_t
    # Project, because the function may be undefined outside of the set.
    y = _point(function, function.project(new.x + (t - 1) / next_t * (new.x - last.x)))
    return (y, next_t) if np.isfinite(y.value) else (new, 1.0)
