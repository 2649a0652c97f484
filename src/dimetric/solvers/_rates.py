"""Learning rates of gradient descent, over all samples or over mini-batches."""

from numbers import Real
from typing import Any

import numpy as np

from dimetric._compat import Interval, StrOptions
from dimetric.solvers.result import Function

# A rate below this share of the first one moves nothing.
SMALLEST_RATE_RATIO = 1e-30

RATE_CONSTRAINTS: dict[str, list[Any]] = {
    "learning_rate": [StrOptions({"adaptive", "constant"})],
    "eta0": [Interval(Real, 0, None, closed="neither"), None],
    "increase": [Interval(Real, 1, None, closed="left")],
    "decrease": [Interval(Real, 0, 1, closed="neither")],
}


def first_rate(seen: list[tuple[Function, float, np.ndarray]], x: np.ndarray) -> float:
    """Return a rate that lowers each function enough, given with its value and gradient at x."""
    rate = 0.0
    # The steepest function first: one that is nearly flat would allow for a far too large rate.
    for function, value, gradient in sorted(seen, key=lambda one: -float(one[2] @ one[2])):
        if gradient @ gradient == 0:  # flat, or with a gradient so small that squares underflow
            continue
        if rate == 0:
            rate = float((np.linalg.norm(x) or 1.0) / np.linalg.norm(gradient))
            for _ in range(50):  # a function without a lower bound would allow for any rate
                if not _is_enough(function, x, value, gradient, 2 * rate):
                    break
                rate *= 2
        for _ in range(100):  # where rounding hides the decrease, no rate is small enough
            if _is_enough(function, x, value, gradient, rate):
                break
            rate /= 2
    return rate or 1.0


def _is_enough(
    function: Function, x: np.ndarray, value: float, gradient: np.ndarray, rate: float
) -> bool:
    """Tell whether a step lowers the function by half of what the slope predicts."""
    _, reached, _ = step(function, x, rate, gradient)
    return value - reached >= rate * float(gradient @ gradient) / 2


def step(
    function: Function, x: np.ndarray, rate: float, gradient: np.ndarray
) -> tuple[np.ndarray, float, np.ndarray]:
    """Return the next iterate, its value and its gradient.

    A step that is far too long gives a value that is not finite, which the caller refuses.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        x = x - rate * gradient
        return x, *function(x)
