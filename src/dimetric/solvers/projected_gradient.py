"""Projected gradient descent on a convex set, accelerated (FISTA) or plain."""

from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from dimetric._compat import check_params
from dimetric.solvers.result import NO_DECREASE, RATE_GONE, Callback, Function, Result, Trace
from dimetric.solvers.solver import ProjectedFunction, Solver


class ProjectedGradient(Solver):
    r"""Projected gradient descent on a closed convex set, such as that of all metrics.

    .. math:: x_{k+1} = P(y_k - s \nabla f(y_k)), \qquad
              y_{k+1} = P(x_{k+1} + \tfrac{t_k - 1}{t_{k+1}} (x_{k+1} - x_k)), \qquad
              t_{k+1} = \tfrac{1}{2} \bigl(1 + \sqrt{1 + 4 t_k^2}\bigr)

    This is FISTA [1]_; without acceleration :math:`y = x`. A step s is halved until the quadratic
    model bounds f, and grows by a fifth in every iteration. Momentum is dropped when it would not
    lower the function [2]_, so that the values fall.

    It stops when the largest entry of the residual

    .. math:: r_{k+1} = \tfrac{1}{s} (y_k - x_{k+1}) - \nabla f(y_k) + \nabla f(x_{k+1})

    is at most `tol`. The residual is the gradient plus a normal of the set at :math:`x_{k+1}`: it
    is 0 at an optimum, and the gradient itself where nothing constrains. Otherwise it stops as
    :class:`~dimetric.solvers.LBFGS` does. A small change of the function counts only without
    momentum, which passes over flat stretches.

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
    The nearest point of the positive quadrant:

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
        """Minimise over a convex set; see :meth:`dimetric.solvers.Solver.minimise`.

        The function must be a :class:`dimetric.solvers.solver.ProjectedFunction`. The start is
        projected on its set.
        """
        if not isinstance(function, ProjectedFunction):
            raise self._refuse(function, "a convex set, a method project(x)")
        check_params(self)
        at = _point(function, function.project(np.array(x0, dtype=np.float64)))
        residual = at.x - function.project(at.x - at.gradient)
        trace = Trace(
            at.x, at.value, residual, max_iter=max_iter, tol=tol, infimum=infimum, callback=callback
        )
        if trace.reason:
            return trace.result()
        step = float((np.linalg.norm(at.x) or 1.0) / np.linalg.norm(at.gradient))
        y, t = at, 1.0
        while not trace.reason:
            has_momentum = y is not at
            new, step = _descend(function, y, 1.2 * step)
            if new is not None and new.value < at.value:
                decrease = at.value - new.value
                residual = (y.x - new.x) / step - y.gradient + new.gradient
                change = np.inf if has_momentum else decrease
                trace.add(new.x, new.value, residual, change=change)
                if trace.reason or not self.accelerated or trace.is_small(decrease):
                    y, t = new, 1.0
                else:
                    y, t = _extrapolate(function, at, new, t)
                at = new
            elif has_momentum:
                y, t = at, 1.0
            elif new is None:
                trace.stop(RATE_GONE)
            else:  # rounding hides what there is left to gain
                trace.stop(NO_DECREASE, converged=True)
        return trace.result()


class _Point(NamedTuple):
    x: np.ndarray
    value: float
    gradient: np.ndarray


def _point(function: Function, x: np.ndarray) -> _Point:
    return _Point(x, *function(x))


def _descend(function: ProjectedFunction, y: _Point, step: float) -> tuple[_Point | None, float]:
    """Return the end of a step from y that is short enough, or None, and the step."""
    for _ in range(40):
        new = _point(function, function.project(y.x - step * y.gradient))
        move = new.x - y.x
        model = y.value + float(y.gradient @ move) + float(move @ move) / (2 * step)
        if new.value <= model:
            return new, step
        step /= 2
    return None, step


def _extrapolate(
    function: ProjectedFunction, last: _Point, new: _Point, t: float
) -> tuple[_Point, float]:
    """Return the point that momentum leads to, and the next t; the first step has no momentum."""
    next_t = (1 + (1 + 4 * t**2) ** 0.5) / 2
    if t == 1.0:
        return new, next_t
    # Outside of the set a function need not have a value: an indefinite M is no metric.
    y = _point(function, function.project(new.x + (t - 1) / next_t * (new.x - last.x)))
    return (y, next_t) if np.isfinite(y.value) else (new, 1.0)
