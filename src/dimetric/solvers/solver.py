"""The base class of solvers, and the interfaces of the functions that they minimise."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

import numpy as np
from sklearn.base import BaseEstimator

from dimetric._arguments import ArgumentErrorMixin
from dimetric.solvers.result import Callback, Function, Result


@runtime_checkable
class ConstrainedFunction(Protocol):
    """A function on a closed convex set, with a projection onto the set."""

    def __call__(self, x: np.ndarray, /) -> tuple[float, np.ndarray]:
        """Return the value and the gradient at x."""

    def project(self, x: np.ndarray, /) -> np.ndarray:
        """Return the point of the set that is nearest to x."""


@runtime_checkable
class BatchedFunction(Protocol):
    """A mean over samples that can be evaluated on mini-batches."""

    def __call__(self, x: np.ndarray, /) -> tuple[float, np.ndarray]:
        """Return the value and the gradient at x, over all samples."""

    def epochs(self, batch_size: int, /) -> Callable[[int], Iterable[Function | None]]:
        """Return a function that takes the number of an epoch and yields its mini-batches.

        Each mini-batch is a function of a vector, or None if the batch has no objective (for
        example, because all its samples have the same class). Epoch 0 is only used for the initial
        value, gradient and learning rate. The solver requests an epoch again if it diverged.
        """


class Solver(ArgumentErrorMixin, BaseEstimator, ABC):  # type: ignore[misc]  # scikit-learn has no types
    """A method that minimises a function of a vector.

    The constructor only stores parameters. ``get_params``, ``set_params``, ``clone`` and ``repr``
    work as for an estimator. Class attributes declare what a learner must prepare for the solver.

    Attributes
    ----------
    steps_over : {"maps", "metrics"}
        Meaning of the vector: a map L, which is unconstrained, or a metric :math:`M = L^T L`,
        which must stay in a convex set.
    uses_batches : bool
        Whether the solver evaluates mini-batches only. The values in its result are then averages
        over mini-batches, and only estimate the value of the function.
    models_curvature : bool
        Whether the solver uses a quadratic model of the function. It then needs a smooth function,
        and converges faster if the curvature is similar in all directions.
    """

    steps_over: ClassVar[Literal["maps", "metrics"]] = "maps"
    uses_batches: ClassVar[bool] = False
    models_curvature: ClassVar[bool] = False
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {}

    @abstractmethod
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
        """Minimise a function.

        Parameters
        ----------
        function : callable
            Returns the value and the gradient at a vector. Some solvers need further methods.
        x0 : ndarray of shape (p,)
            Starting point.
        max_iter : int, default=100
            Maximum number of iterations.
        tol : float, default=1e-5
            Tolerance of the stopping criteria, which each solver describes.
        infimum : float, default=-inf
            Greatest lower bound of the function, if it is known and not attained.
        callback : callable, optional
            ``callback(x, value, n_iter)`` is called after every iteration. The solver stops if it
            returns True.

        Returns
        -------
        result : Result
            The best point found, and the reason why the solver stopped.
        """

    def _unsupported(self, function: object, needed: str) -> TypeError:
        """Return the error for a function that this solver cannot minimise."""
        return TypeError(
            f"{type(self).__name__} needs {needed}, but got {type(function).__name__}. Choose "
            "another solver."
        )
