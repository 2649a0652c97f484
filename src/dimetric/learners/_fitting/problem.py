"""The problem that a learner states, the function that a solver minimises, and the solution."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np

from dimetric._arrays.namespaces import Array, namespace
from dimetric.solvers import Result, Solver
from dimetric.solvers.certificates import Certificate

ObjectiveT = TypeVar("ObjectiveT")

# Called after every iteration with a function that returns the map, with the value, and with the
# number of the iteration. True stops the solver.
Callback = Callable[[Callable[[], np.ndarray], float, int], bool]


@dataclass(frozen=True)
class Problem(Generic[ObjectiveT]):
    """What a learner minimises, in coordinates that suit a solver, and the way back.

    Attributes
    ----------
    objective : Objective or RegularizedGain
        What is minimised over maps of its points.
    start : ndarray of shape (k, d)
        The first map of the points.
    restore : callable
        Turns a map of the points into the map of the samples, ``components_``.
    ridge : float
        Weight of the squared norm of a map of the points.
    ridge_outside : float
        What the ridge adds for the part of the start that the coordinates leave out. It is part
        of the objective at the start only.
    sample_scale : float
        The points are the samples times this factor, perhaps moved and rotated.
    strata : ndarray or None
        Groups that mini-batches hold in proportion; None for those of the objective.
    shown : callable
        Turns a value of the solver into the objective as users know it.
    """

    objective: ObjectiveT
    start: np.ndarray
    restore: Callable[[np.ndarray], Array]
    ridge: float = 0.0
    ridge_outside: float = 0.0
    sample_scale: float = 1.0
    strata: np.ndarray | None = None
    reported_objective: Callable[[float], float] = float

    def attributes(self, L: np.ndarray) -> dict[str, Array]:
        """Return the fitted attributes for a map of the points."""
        components = self.restore(L)
        offset = namespace(components).zeros_like(components[0, :])
        return {"components_": components, "offset_": offset}


class MapFunction(Protocol):
    """A function of a vector that stands for a map: what a solver minimises for a learner.

    Solvers may need more of it, see :mod:`dimetric.solvers.solver`.
    """

    @property
    def start(self) -> np.ndarray:
        """The vector to start from."""

    @property
    def infimum(self) -> float:
        """Greatest lower bound of the function where it is not attained, else -inf."""

    def __call__(self, x: np.ndarray, /) -> tuple[float, np.ndarray]:
        """Return the value and the gradient at a vector."""

    def at(self, x: np.ndarray, /) -> tuple[np.ndarray, np.ndarray]:
        """Return the map that a vector stands for, and the extra parameters of the objective."""


@dataclass(frozen=True)
class Solution:
    """The best map found, the extra parameters of the objective, and how the solver ended.

    A certificate, if a learner knows one by then, bounds how far the map is from the optimum.
    """

    map: np.ndarray
    theta: np.ndarray
    result: Result
    certificate: Certificate | None = None


def solve(
    function: MapFunction, solver: Solver, *, max_iter: int, tol: float, callback: Callback
) -> Solution:
    """Minimise a function by one run of a solver."""
    result = solver.minimise(
        function,
        function.start,
        max_iter=max_iter,
        tol=tol,
        infimum=function.infimum,
        callback=lambda x, value, n_iter: callback(lambda: function.at(x)[0], value, n_iter),
    )
    return Solution(*function.at(result.x), result)


def with_iteration_offset(callback: Callback, done: int) -> Callback:
    """Return the callback over the iterations of a run that comes after `done` others."""
    return lambda current, value, n_iter: callback(current, value, done + n_iter)
