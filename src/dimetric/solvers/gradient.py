"""Gradient descent over all samples (bgd) or mini-batches (sgd), at a constant or adaptive rate."""

import itertools
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np

from dimetric.solvers.result import RATE_GONE, Callback, Objective, Result, Trace

NO_BATCH = "no mini-batch of an epoch has anything to learn from"
# What the first rate and the value at the start are taken from, and for how many epochs the
# objective may rest: single mini-batches and single epochs say little.
N_FIRST_BATCHES = 10
PATIENCE = 10


def bgd(
    value_and_grad: Objective,
    x0: np.ndarray,
    *,
    max_iter: int = 100,
    tol: float = 1e-5,
    learning_rate: str = "adaptive",
    eta0: float | None = None,
    learn_inc: float = 1.01,
    learn_dec: float = 0.5,
    infimum: float = -np.inf,
    callback: Callback | None = None,
) -> Result:
    r"""Minimise a smooth function by batch gradient descent.

    .. math:: x \leftarrow x - \eta\, \nabla f(x)

    A constant rate takes every step. The adaptive rate takes a step back that does not lower the
    objective and tries a shorter one, which is no new iteration; every step taken lengthens the
    next. Its history falls strictly.

    Stops as :func:`dimetric.solvers.lbfgs.lbfgs` does. As a step so long that it only crosses a
    valley would pass for the end of all progress, :math:`\eta |\nabla f|^2`, the decrease that the
    slope promises, must be as small as the one that came.

    Parameters
    ----------
    value_and_grad : callable
        Returns the objective and its gradient at a vector.
    x0 : ndarray of shape (p,)
        Start.
    max_iter : int, default=100
        Most iterations.
    tol : float, default=1e-5
        Tolerance.
    learning_rate : {"adaptive", "constant"}, default="adaptive"
        Which rate.
    eta0 : float, optional
        First rate. By default, the first step is as long as `x0`, then doubled or halved to the
        longest that lowers the objective by half of what the slope promises: on a quadratic
        function, the inverse of the curvature along the gradient.
    learn_inc, learn_dec : float, default=1.01, 0.5
        What the adaptive rate is multiplied by after a step that is taken, or taken back.
    infimum : float, default=-inf
        Greatest lower bound of the objective, where it is known.
    callback : callable, optional
        ``callback(x, value, n_iter)`` after every iteration; return True to stop.

    Examples
    --------
    >>> result = bgd(lambda x: (float(x @ x), 2 * x), np.ones(2), eta0=0.25)
    >>> result.reason, round(result.value, 6)
    ('objective no longer decreases', 0.0)
    """
    adaptive = _is_adaptive(learning_rate, learn_dec)
    x = np.array(x0, dtype=np.float64)
    value, gradient = value_and_grad(x)
    trace = Trace(
        x, value, gradient, max_iter=max_iter, tol=tol, infimum=infimum, callback=callback
    )
    if trace.reason:
        return trace.result()
    rate = eta0 or _first_rate([(value_and_grad, value, gradient)], x)
    least = 1e-30 * rate
    while not trace.reason:
        trial, reached, there = _step(value_and_grad, x, rate, gradient)
        if adaptive and not reached < value:
            rate *= learn_dec
            if not rate > least or np.array_equal(x - rate * gradient, x):
                trace.stop(RATE_GONE)
            continue
        change = max(abs(value - reached), rate * float(gradient @ gradient))
        x, value, gradient = trial, reached, there
        trace.add(x, value, gradient, change=change)
        if adaptive:
            rate *= learn_inc
    return trace.result()


def sgd(
    epoch: Callable[[int], Iterable[Objective | None]],
    x0: np.ndarray,
    *,
    max_iter: int = 100,
    tol: float = 1e-5,
    learning_rate: str = "adaptive",
    eta0: float | None = None,
    learn_inc: float = 1.01,
    learn_dec: float = 0.5,
    infimum: float = -np.inf,
    callback: Callback | None = None,
) -> Result:
    r"""Minimise a mean over mini-batches by stochastic gradient descent.

    .. math:: x_{t+1} = x_t - \eta\, \nabla f_t(x_t)

    An iteration is an epoch. What counts of it is the mean of its iterates [1]_: for convex
    functions the objective there is at most the mean of :math:`f_t(x_t)`, the value recorded.
    Measured on 17 problems (regressions, NCA and MCML; features and objectives of very different
    size), at a constant rate it ended several times nearer to the optimum than the epoch's last
    iterate where that is noisy, and nowhere behind by more than a hundredth of the way.

    The best epoch is returned: of those that differ by less than a standard error of their values,
    the last.

    The adaptive rate shrinks after an epoch whose value did not fall, and grows otherwise. If an
    epoch diverges, it is run again from the best point, with a smaller rate.

    Stops when the gradient's mean over an epoch is at most `tol`, when the best value has not
    fallen by more than ``tol * max(1, |value|) / 10`` in ten epochs, or within `tol` of the
    infimum.

    Parameters
    ----------
    epoch : callable
        ``epoch(k)`` yields one ``value_and_grad`` for each mini-batch of epoch k, or None for a
        mini-batch to be left out. Those of epoch 0 are for the first rate and value only; an
        epoch that is run again is asked for again.
    x0 : ndarray of shape (p,)
        Start.
    max_iter : int, default=100
        Most epochs.
    tol : float, default=1e-5
        Tolerance.
    learning_rate : {"adaptive", "constant"}, default="adaptive"
        Which rate.
    eta0 : float, optional
        First rate. By default as :func:`bgd`'s from the steepest of ten mini-batches, then halved
        until it does for all of them. On the problems above it stood still only where distances
        were too large for NCA to tell neighbours apart, and never diverged; steps as long as a
        share of `x0`, Adam and AdaGrad each did one or the other on several.
    learn_inc, learn_dec : float, default=1.01, 0.5
        What the adaptive rate is multiplied by.
    infimum : float, default=-inf
        Greatest lower bound of the objective, where it is known.
    callback : callable, optional
        ``callback(x, value, n_iter)`` after every epoch; return True to stop.

    References
    ----------
    .. [1] B. T. Polyak, A. B. Juditsky, "Acceleration of stochastic approximation by averaging",
       SIAM Journal on Control and Optimization 30, 1992.

    Examples
    --------
    The mean of four numbers, one at a time:

    >>> def epoch(k):
    ...     for number in np.random.default_rng(k).permutation([1.0, 2.0, 4.0, 5.0]):
    ...         yield lambda x, c=number: (float((x[0] - c) ** 2), 2 * (x - c))
    >>> round(float(sgd(epoch, np.zeros(1), eta0=0.05).x[0]), 1)
    3.0
    """
    adaptive = _is_adaptive(learning_rate, learn_dec)
    x = np.array(x0, dtype=np.float64)
    batches = (objective for objective in epoch(0) if objective is not None)
    first = [(f, *f(x)) for f in itertools.islice(batches, N_FIRST_BATCHES)]
    if not first:
        return Result(x, np.nan, 0, False, NO_BATCH, (np.nan,))
    value = float(np.mean([value for _, value, _ in first]))
    gradient = np.mean([gradient for _, _, gradient in first], axis=0)
    trace = Trace(
        x, value, gradient, max_iter=max_iter, tol=tol, infimum=infimum, callback=callback
    )
    if trace.reason:
        return trace.result()
    rate = eta0 or _first_rate(first, x)
    least = 1e-30 * rate
    while not trace.reason:
        seen = _run_epoch(epoch(len(trace.history)), x, rate)
        if seen is None:
            trace.stop(NO_BATCH)
        elif adaptive and trace.far_above(seen.value):
            x, rate = trace.x, rate * learn_dec
            if not rate > least:
                trace.stop(RATE_GONE)
        else:
            x = seen.last
            if adaptive:
                rate *= learn_inc if seen.value < trace.history[-1] else learn_dec
            values = [*trace.history, seen.value]
            change = min(values[:-PATIENCE], default=np.inf) - min(values)
            trace.add(seen.mean, seen.value, seen.gradient, change=change, noise=seen.noise)
    return trace.result()


def _is_adaptive(learning_rate: str, learn_dec: float) -> bool:
    if learning_rate not in ("adaptive", "constant"):
        raise ValueError(f"learning_rate={learning_rate!r} must be 'adaptive' or 'constant'.")
    if not 0 < learn_dec < 1:
        raise ValueError(f"learn_dec={learn_dec} must lie between 0 and 1, both excluded.")
    return learning_rate == "adaptive"


def _first_rate(seen: list[tuple[Objective, float, np.ndarray]], x: np.ndarray) -> float:
    """Return a rate that pays for each objective, given with its value and gradient at x."""
    rate = 0.0
    # The steepest one first: one that is all but flat would pay at a rate out of all proportion.
    for objective, value, gradient in sorted(seen, key=lambda one: -float(one[2] @ one[2])):
        if gradient @ gradient == 0:  # as good as flat; squares of what is smaller vanish
            continue
        if rate == 0:
            rate = float((np.linalg.norm(x) or 1.0) / np.linalg.norm(gradient))
            for _ in range(50):  # an objective without a lower bound would pay for ever
                if not _pays(objective, x, value, gradient, 2 * rate):
                    break
                rate *= 2
        for _ in range(100):  # where rounding hides the decrease, none pays
            if _pays(objective, x, value, gradient, rate):
                break
            rate /= 2
    return rate or 1.0


def _pays(
    objective: Objective, x: np.ndarray, value: float, gradient: np.ndarray, rate: float
) -> bool:
    """Tell whether a step lowers the objective by half of what the slope promises."""
    _, reached, _ = _step(objective, x, rate, gradient)
    return value - reached >= rate * float(gradient @ gradient) / 2


def _step(
    objective: Objective, x: np.ndarray, rate: float, gradient: np.ndarray
) -> tuple[np.ndarray, float, np.ndarray]:
    """Return the next iterate, its value and its gradient; what is too far is judged later."""
    with np.errstate(over="ignore", invalid="ignore"):
        x = x - rate * gradient
        return x, *objective(x)


class _Epoch(NamedTuple):
    """The last iterate of an epoch, and means over it: of iterates, values and gradients."""

    last: np.ndarray
    mean: np.ndarray
    value: float
    gradient: np.ndarray
    noise: float  # standard error of the value


def _run_epoch(batches: Iterable[Objective | None], x: np.ndarray, rate: float) -> _Epoch | None:
    """Step once for every mini-batch; None if there is none."""
    values: list[float] = []
    iterates, gradients = np.zeros_like(x), np.zeros_like(x)
    with np.errstate(over="ignore", invalid="ignore"):
        for objective in batches:
            if objective is None:
                continue
            value, gradient = objective(x)
            values.append(value)
            iterates += x
            gradients += gradient
            x = x - rate * gradient
            if not np.isfinite(value):
                break
        n = len(values)
        if n == 0:
            return None
        noise = float(np.std(values)) / n**0.5
        return _Epoch(x, iterates / n, float(np.mean(values)), gradients / n, noise)
