"""Learning rates of batch and stochastic gradient descent."""

from numbers import Real
from typing import Any

import numpy as np

from dimetric._compat import Interval, StrOptions
from dimetric.solvers.result import Function

# A rate below this fraction of the first rate is too small to change x.
SMALLEST_RATE_RATIO = 1e-30
MAX_DOUBLINGS = 50  # a function without a lower bound accepts any rate
MAX_HALVINGS = 100  # no rate is accepted if rounding hides the decrease

RATE_CONSTRAINTS: dict[str, list[Any]] = {
    "learning_rate": [StrOptions({"adaptive", "constant"})],
    "eta0": [Interval(Real, 0, None, closed="neither"), None],
    "increase": [Interval(Real, 1, None, closed="left")],
    "decrease": [Interval(Real, 0, 1, closed="neither")],
}


def first_rate(seen: list[tuple[Function, float, np.ndarray]], x: np.ndarray) -> float:
    """Return a rate at which a gradient step lowers each function enough.

    `seen` lists the functions, each with its value and gradient at x. A step lowers a function
    enough if the decrease is at least half of what the slope predicts.
    """
    rate = 0.0
    # Start with the steepest function, because a nearly flat one would accept far too large a rate.
    for function, value, gradient in sorted(seen, key=lambda item: -float(item[2] @ item[2])):
        if gradient @ gradient == 0:  # the gradient is 0, or its square underflows
            continue
        if rate == 0:
            rate = float((np.linalg.norm(x) or 1.0) / np.linalg.norm(gradient))
            for _ in range(MAX_DOUBLINGS):
                if not _decreases_enough(function, x, value, gradient, 2 * rate):
                    break
                rate *= 2
        for _ in range(MAX_HALVINGS):
            if _decreases_enough(function, x, value, gradient, rate):
                break
            rate /= 2
    return rate or 1.0


def _decreases_enough(
    function: Function, x: np.ndarray, value: float, gradient: np.ndarray, rate: float
) -> bool:
    """Return whether a step lowers the function by at least half of what the slope predicts."""
    _, reached, _ = step(function, x, rate, gradient)
    return value - reached >= rate * float(gradient @ gradient) / 2


def step(
    function: Function, x: np.ndarray, rate: float, gradient: np.ndarray
) -> tuple[np.ndarray, float, np.ndarray]:
    """Return the next iterate, its value and its gradient.

    Overflow is not an error here. If the value is not finite, the caller rejects the step or stops.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        x = x - rate * gradient
        return x, *function(x)
