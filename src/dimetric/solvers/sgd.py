"""Stochastic gradient descent."""

import itertools
from collections.abc import Iterable
from numbers import Integral
from typing import Any, ClassVar, NamedTuple

import numpy as np

from dimetric._arguments import check_types
from dimetric._compat import Interval, check_params
from dimetric.solvers._rates import RATE_CONSTRAINTS, SMALLEST_RATE_RATIO, first_rate
from dimetric.solvers.result import STEP_TOO_SMALL, Callback, Function, Result, Trace
from dimetric.solvers.solver import BatchedFunction, Solver

NO_BATCH = "no mini-batch has an objective; each may contain one class only"
# Mini-batches and epochs are noisy. The initial rate and value are therefore averages over several
# mini-batches, and the solver stops only after several epochs without progress.
N_FIRST_BATCHES = 10
PATIENCE_EPOCHS = 10


class SGD(Solver):
    r"""Stochastic gradient descent, for data too large to evaluate all pairs of samples.

    .. math:: x_{t+1} = x_t - \eta\, \nabla f_t(x_t)

    An iteration is an epoch, which makes one step for each mini-batch t. The point of an epoch is
    the mean of its iterates [1]_, which is often several times nearer to the optimum than the last
    iterate. The recorded value is the mean of :math:`f_t(x_t)`. For convex functions, the value at
    the mean iterate is on average not larger.

    The solver returns the point of the best epoch. If the values of several epochs differ by less
    than a standard error, it returns the last of them.

    The adaptive rate decreases after an epoch whose value did not decrease, and increases
    otherwise. An epoch that diverges is repeated from the best point, with a smaller rate.

    The solver stops if

    - the largest absolute entry of the mean gradient of an epoch is at most `tol`,
    - the best value has decreased by at most ``tol * max(1, |value|) / 10`` in ten epochs, or
    - the value is within ``min(tol, 0.001)`` of the infimum.

    Parameters
    ----------
    batch_size : int, default=512
        Number of samples, pairs or triplets in a mini-batch.
    learning_rate : {"adaptive", "constant"}, default="adaptive"
        Whether the rate changes from epoch to epoch.
    eta0 : float or None, default=None
        Initial learning rate. If None, it is chosen from ten mini-batches: the steepest one
        determines it as in :class:`~dimetric.solvers.GradientDescent`, and it is then halved until
        it is small enough for the other nine.
    increase : float, default=1.01
        Factor by which the adaptive rate is multiplied after an epoch whose value decreased.
    decrease : float, default=0.5
        Factor by which the adaptive rate is multiplied after any other epoch.

    References
    ----------
    .. [1] B. T. Polyak, A. B. Juditsky, "Acceleration of stochastic approximation by averaging",
       SIAM Journal on Control and Optimization 30, 1992.

    Examples
    --------
    >>> from dimetric import NCA
    >>> from dimetric.solvers import SGD
    >>> NCA(solver=SGD(batch_size=64)).set_params(solver__batch_size=32)
    NCA(solver=SGD(batch_size=32))
    """

    uses_batches: ClassVar[bool] = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = RATE_CONSTRAINTS | {
        "batch_size": [Interval(Integral, 2, None, closed="left")],
    }

    def __init__(
        self,
        *,
        batch_size: int = 512,
        learning_rate: str = "adaptive",
        eta0: float | None = None,
        increase: float = 1.01,
        decrease: float = 0.5,
    ) -> None:
        self.batch_size = batch_size
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
        """Minimise a mean over mini-batches. See :meth:`dimetric.solvers.Solver.minimise`.

        The function must be a :class:`dimetric.solvers.solver.BatchedFunction`.
        """
        if not isinstance(function, BatchedFunction):
            raise self._unsupported(function, "a function with a method epochs(batch_size)")
        check_params(self)
        adaptive = self.learning_rate == "adaptive"
        epoch, x = function.epochs(self.batch_size), np.array(x0, dtype=np.float64).ravel()
        batches = (batch for batch in epoch(0) if batch is not None)
        first_batches = [(f, *f(x)) for f in itertools.islice(batches, N_FIRST_BATCHES)]
        if not first_batches:
            return Result(x, np.nan, 0, False, NO_BATCH, (np.nan,))
        value = float(np.mean([value for _, value, _ in first_batches]))
        gradient = np.mean([gradient for _, _, gradient in first_batches], axis=0)
        trace = Trace(
            x, value, gradient, max_iter=max_iter, tol=tol, infimum=infimum, callback=callback
        )
        if trace.reason:
            return trace.result()
        rate = self.eta0 or first_rate(first_batches, x)
        smallest = SMALLEST_RATE_RATIO * rate
        while not trace.reason:
            seen = _run_epoch(epoch(len(trace.history)), x, rate)
            if seen is None:
                trace.stop(NO_BATCH)
            elif adaptive and trace.far_above(seen.value):
                x, rate = trace.x, rate * self.decrease
                if not rate > smallest:
                    trace.stop(STEP_TOO_SMALL)
            else:
                x = seen.last
                if adaptive:
                    decreased = seen.value < trace.history[-1]
                    rate *= self.increase if decreased else self.decrease
                values = [*trace.history, seen.value]
                change = min(values[:-PATIENCE_EPOCHS], default=np.inf) - min(values)
                trace.add(seen.mean, seen.value, seen.gradient, change=change, noise=seen.noise)
        return trace.result()


class _Epoch(NamedTuple):
    """The last iterate of an epoch, and the means of its iterates, values and gradients."""

    last: np.ndarray
    mean: np.ndarray
    value: float
    gradient: np.ndarray
    noise: float  # standard error of the value


def _run_epoch(batches: Iterable[Function | None], x: np.ndarray, rate: float) -> _Epoch | None:
    """Make one step for each mini-batch. Return None if all mini-batches are None."""
    values: list[float] = []
    iterates, gradients = np.zeros_like(x), np.zeros_like(x)
    with np.errstate(over="ignore", invalid="ignore"):
        for function in batches:
            if function is None:
                continue
            value, gradient = function(x)
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
