"""Classes for the problem of a learner, for the function to minimise, and for the solution."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Generic, Protocol, TypeVar

import numpy as np

from dimetric._arrays.namespaces import Array, eps, namespace
from dimetric.objectives.objective import Objective, Ridge
from dimetric.solvers import Result, Solver
from dimetric.solvers.certificates import Certificate
from dimetric.solvers.result import LINE_SEARCH_FAILED, NO_DECREASE

ObjectiveT = TypeVar("ObjectiveT")

# Called as callback(current_map, value, n_iter) after every iteration, where current_map() returns
# the map and value is the value that the solver minimises. The solver stops if it returns True.
MapCallback = Callable[[Callable[[], np.ndarray], float, int], bool]


@dataclass(frozen=True)
class Problem(Generic[ObjectiveT]):
    r"""The problem of a learner in the coordinates of the solver.

    The points are the samples in these coordinates.

    Attributes
    ----------
    objective : Objective or RegularizedGain
        The function to optimise over maps of its points.
    start : ndarray of shape (k, d)
        The initial map of the points.
    restore : callable
        Converts a map of the points into the map of the samples, ``components_``.
    ridge : float or ndarray of shape (d, d)
        Weight of the squared Frobenius norm of a map L of the points, or the matrix R of a penalty
        :math:`\mathrm{tr}(L R L^T)`.
    reg : float
        The value of `reg` that the ridge is computed from.
    ridge_outside : float
        Ridge penalty of the part of the start that the coordinates drop. It is added to the
        objective at the start only.
    sample_scale : float
        Points are samples multiplied by this factor, and may also be shifted and rotated.
    theta : ndarray of shape (p,)
        Initial extra parameters of the objective.
    preconditioner : ndarray of shape (d,) or (d, d), or None
        Preconditioner T, with L = A T, for solvers that do not use the curvature of the objective.
        A vector is the diagonal of T, and None stands for the identity.
    strata : ndarray or None
        Groups for stratified mini-batches. None stands for the strata of the objective.
    reported_objective : callable
        Converts a value of the solver's function into the objective that users see.
    diagonal : bool
        Whether the map is diagonal.
    """

    objective: ObjectiveT
    start: np.ndarray
    restore: Callable[[np.ndarray], Array]
    ridge: Ridge = 0.0
    reg: float = 0.0
    ridge_outside: float = 0.0
    sample_scale: float = 1.0
    theta: np.ndarray = field(default_factory=lambda: np.zeros(0))
    preconditioner: np.ndarray | None = None
    strata: np.ndarray | None = None
    reported_objective: Callable[[float], float] = float
    diagonal: bool = False

    def attributes(self, L: np.ndarray) -> dict[str, Array]:
        """Return the fitted attributes that correspond to a map of the points."""
        components = self.restore(L)
        offset = namespace(components).zeros_like(components[0, :])
        return {"components_": components, "offset_": offset}


class MapFunction(Protocol):
    """The function that a solver minimises. Its argument is a vector that encodes a map.

    Some solvers need further methods, see :mod:`dimetric.solvers.solver`.
    """

    @property
    def start(self) -> np.ndarray:
        """The initial vector."""

    @property
    def infimum(self) -> float:
        """Infimum of the function if it is known and not attained, else -inf."""

    def __call__(self, x: np.ndarray, /) -> tuple[float, np.ndarray]:
        """Return the value and the gradient."""

    def decode(self, x: np.ndarray, /) -> tuple[np.ndarray, np.ndarray]:
        """Return the map and the extra parameters that a vector encodes."""


@dataclass(frozen=True)
class Solution:
    """The best map, the extra parameters of the objective, and the result of the solver.

    The certificate, if there is one, bounds how far the objective is from its optimum.
    """

    map: np.ndarray
    theta: np.ndarray
    result: Result
    certificate: Certificate | None = None


def solve(
    function: MapFunction, solver: Solver, *, max_iter: int, tol: float, callback: MapCallback
) -> Solution:
    """Minimise a function by a single run of a solver."""
    result = solver.minimise(
        function,
        function.start,
        max_iter=max_iter,
        tol=tol,
        infimum=function.infimum,
        callback=lambda x, value, n_iter: callback(lambda: function.decode(x)[0], value, n_iter),
    )
    return Solution(*function.decode(result.x), result)


def converged_in_float32(result: Result, objective: Objective) -> Result:
    """Return a result with a failed line search as converged if the samples are float32.

    Rounding errors of float32 hide a further decrease.
    """
    if result.reason.startswith(LINE_SEARCH_FAILED) and eps(objective.points) > 1e-10:
        return replace(result, converged=True, reason=NO_DECREASE)
    return result


def with_iteration_offset(callback: MapCallback, done: int) -> MapCallback:
    """Return a callback that adds `done` earlier iterations to the number of the iteration."""
    return lambda current, value, n_iter: callback(current, value, done + n_iter)
