"""What all solvers share: the interface, and what they may ask of a function."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

import numpy as np
from sklearn.base import BaseEstimator

from dimetric.solvers.result import Callback, Function, Result


@runtime_checkable
class ProjectedFunction(Protocol):
    """A function on a closed convex set."""

    def __call__(self, x: np.ndarray, /) -> tuple[float, np.ndarray]:
        """Return the value and the gradient at a vector."""

    def project(self, x: np.ndarray, /) -> np.ndarray:
        """Return the point of the set that is nearest to a vector."""


@runtime_checkable
class BatchedFunction(Protocol):
    """A mean over samples that can be evaluated on mini-batches."""

    def __call__(self, x: np.ndarray, /) -> tuple[float, np.ndarray]:
        """Return the value and the gradient at a vector, over all samples."""

    def epochs(self, batch_size: int, /) -> Callable[[int], Iterable[Function | None]]:
        """Return a function that yields the mini-batches of an epoch, given its number.

        Each mini-batch is a function of a vector, or None if it has nothing to learn from. Epoch 0
        serves to choose the first learning rate. An epoch that diverges is asked for again.
        """


class Solver(BaseEstimator, ABC):  # type: ignore[misc]  # scikit-learn has no types
    """A method that minimises a function of a vector.

    A solver is a parameter object: the constructor stores parameters, ``get_params``,
    ``set_params``, ``clone`` and ``repr`` work as those of an estimator. The class attributes
    declare what a learner must prepare for the solver.

    Attributes
    ----------
    steps_over : {"maps", "metrics"}
        What the vector stands for: a map L, which nothing constrains, or a metric
        :math:`M = L^T L`, which must stay in a convex set.
    uses_batches : bool
        Whether the solver evaluates mini-batches only. The values in its result are then means
        over mini-batches, which prove nothing about the function itself.
    models_curvature : bool
        Whether the solver relies on a quadratic model of the function. It then needs a function
        without kinks, and gains from coordinates in which all directions have the same curvature.
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
            Returns the value and the gradient at a vector. Some solvers need more of it.
        x0 : ndarray of shape (p,)
            Start.
        max_iter : int, default=100
            Most iterations.
        tol : float, default=1e-5
            Tolerance.
        infimum : float, default=-inf
            Greatest lower bound of the function, where it is known.
        callback : callable, optional
            ``callback(x, value, n_iter)`` is called after every iteration. The solver stops if it
            returns True.

        Returns
        -------
        result : Result
            The best point found, and why the solver stopped.
        """

    def _refuse(self, function: object, needed: str) -> TypeError:
        """Return the error for a function that lacks what the solver needs."""
        return TypeError(
            f"{type(self).__name__} needs a function with {needed}; {type(function).__name__} "
            "has none. Choose another solver."
        )
