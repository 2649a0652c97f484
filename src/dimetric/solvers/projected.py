"""Projected gradient descent on a convex set, accelerated (FISTA) or plain."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dimetric.solvers.result import NO_DECREASE, RATE_GONE, Callback, Objective, Result, Trace


def projected_gradient(
    value_and_grad: Objective,
    project: Callable[[np.ndarray], np.ndarray],
    x0: np.ndarray,
    *,
    accelerated: bool = True,
    max_iter: int = 100,
    tol: float = 1e-5,
    infimum: float = -np.inf,
    callback: Callback | None = None,
) -> Result:
    r"""Minimise a smooth function over a closed convex set.

    .. math:: x_{k+1} = P(y_k - s \nabla f(y_k)), \qquad
              y_{k+1} = P(x_{k+1} + \tfrac{t_k - 1}{t_{k+1}} (x_{k+1} - x_k)), \qquad
              t_{k+1} = \tfrac{1}{2} \bigl(1 + \sqrt{1 + 4 t_k^2}\bigr)

    FISTA [1]_; without acceleration :math:`y = x`. A step s is halved until the quadratic model
    bounds f, and grows by a fifth in every iteration. Momentum is dropped when it would not lower
    the objective [2]_, so that the history falls.

    Stops when the largest entry of the residual

    .. math:: r_{k+1} = \tfrac{1}{s} (y_k - x_{k+1}) - \nabla f(y_k) + \nabla f(x_{k+1})

    is at most `tol`. It is the gradient plus a normal of the set at :math:`x_{k+1}`, so 0 at an
    optimum, and the gradient itself where nothing constrains. All else as
    :func:`dimetric.solvers.lbfgs.lbfgs`; a small change of the objective counts when it comes
    without momentum, which passes over flat stretches.

    Parameters
    ----------
    value_and_grad : callable
        Returns the objective and its gradient at a vector.
    project : callable
        Returns the point of the set that is nearest to a vector.
    x0 : ndarray of shape (p,)
        Start; it is projected.
    accelerated : bool, default=True
        Whether to use momentum.
    max_iter : int, default=100
        Most iterations.
    tol : float, default=1e-5
        Tolerance.
    infimum : float, default=-inf
        Greatest lower bound of the objective, where it is known.
    callback : callable, optional
        ``callback(x, value, n_iter)`` after every iteration; return True to stop.

    References
    ----------
    .. [1] A. Beck, M. Teboulle, "A fast iterative shrinkage-thresholding algorithm for linear
       inverse problems", SIAM Journal on Imaging Sciences 2, 2009.
    .. [2] B. O'Donoghue, E. Candès, "Adaptive restart for accelerated gradient schemes",
       Foundations of Computational Mathematics 15, 2015.

    Examples
    --------
    The nearest point of the positive quadrant:

    >>> target = np.array([1.0, -2.0])
    >>> result = projected_gradient(
    ...     lambda x: (float((x - target) @ (x - target)), 2 * (x - target)),
    ...     lambda x: np.maximum(x, 0),
    ...     np.zeros(2),
    ... )
    >>> result.x.round(2), result.reason
    (array([1., 0.]), 'objective no longer decreases')
    """
    at = _point(value_and_grad, project(np.array(x0, dtype=np.float64)))
    residual = at.x - project(at.x - at.gradient)
    trace = Trace(
        at.x, at.value, residual, max_iter=max_iter, tol=tol, infimum=infimum, callback=callback
    )
    if trace.reason:
        return trace.result()
    step = float((np.linalg.norm(at.x) or 1.0) / np.linalg.norm(at.gradient))
    y, t = at, 1.0
    while not trace.reason:
        has_momentum = y is not at
        new, step = _descend(value_and_grad, project, y, 1.2 * step)
        if new is not None and new.value < at.value:
            decrease = at.value - new.value
            residual = (y.x - new.x) / step - y.gradient + new.gradient
            change = np.inf if has_momentum else decrease
            trace.add(new.x, new.value, residual, change=change)
            if trace.reason or not accelerated or trace.is_small(decrease):
                y, t = new, 1.0
            else:
                y, t = _extrapolate(value_and_grad, project, at, new, t)
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


def _point(objective: Objective, x: np.ndarray) -> _Point:
    return _Point(x, *objective(x))


def _descend(
    objective: Objective, project: Callable[[np.ndarray], np.ndarray], y: _Point, step: float
) -> tuple[_Point | None, float]:
    """Return the end of a step from y that is short enough, or None, and the step."""
    for _ in range(40):
        new = _point(objective, project(y.x - step * y.gradient))
        move = new.x - y.x
        model = y.value + float(y.gradient @ move) + float(move @ move) / (2 * step)
        if new.value <= model:
            return new, step
        step /= 2
    return None, step


def _extrapolate(
    objective: Objective,
    project: Callable[[np.ndarray], np.ndarray],
    last: _Point,
    new: _Point,
    t: float,
) -> tuple[_Point, float]:
    """Return where momentum leads, and the next t; there is none in the first of its steps."""
    next_t = (1 + (1 + 4 * t**2) ** 0.5) / 2
    if t == 1.0:
        return new, next_t
    # Outside of the set an objective need not have a value: an indefinite M is no metric.
    y = _point(objective, project(new.x + (t - 1) / next_t * (new.x - last.x)))
    return (y, next_t) if np.isfinite(y.value) else (new, 1.0)
