"""Early stopping: end a fit before the iterations that gain little, and often fit noise."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from dimetric.learners._fitting.problem import MapCallback
from dimetric.solvers import Result
from dimetric.solvers.result import STOPPED_EARLY


class EarlyStopping:
    """A callback that stops a solver after an iteration that gains little.

    Parameters
    ----------
    callback : callable
        Another callback. It is called first, and may stop the solver, too.
    least_decrease : float
        The solver stops if an iteration lowers the objective by at most ``least_decrease * max(1,
        |objective|)``. With -inf, it never does.

    Examples
    --------
    >>> stopping = EarlyStopping(lambda current, value, n_iter: False, 0.01)
    >>> [stopping(lambda: np.eye(1), value, i) for i, value in enumerate([0.9, 0.5, 0.495])]
    [False, False, True]
    """

    def __init__(self, callback: MapCallback, least_decrease: float) -> None:
        self._callback, self._least_decrease = callback, least_decrease
        self._last, self._is_small = np.inf, False

    def __call__(self, current: Callable[[], np.ndarray], value: float, n_iter: int) -> bool:
        """Return whether to stop after an iteration."""
        if self._callback(current, value, n_iter):
            return True
        self._is_small = self._last - value <= self._least_decrease * max(1.0, abs(value))
        self._last = value
        return self._is_small

    def checked(self, result: Result) -> Result:
        """Return the result, as converged if this callback has stopped the solver."""
        if not self._is_small:
            return result
        return replace(result, converged=True, reason=STOPPED_EARLY)
