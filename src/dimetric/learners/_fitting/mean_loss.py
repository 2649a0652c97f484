"""Base class of learners that minimise a mean loss over maps."""

from abc import abstractmethod
from dataclasses import replace
from numbers import Integral, Real
from operator import neg
from typing import Any, ClassVar, TypeVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from dimetric._arrays.namespaces import Array, asarray_like, eps, namespace
from dimetric._arrays.validation import rescale_for_squares
from dimetric._compat import Interval, StrOptions
from dimetric._warnings import warn
from dimetric.learners._base import NamedObjects
from dimetric.learners._fitting.block_epochs import BlockEpochsMixin
from dimetric.learners._fitting.coordinates import Coordinates
from dimetric.learners._fitting.functions import LossOverMaps, scaled_up_if_separable
from dimetric.learners._fitting.iterative import IterativeMetric
from dimetric.learners._fitting.ordering import in_canonical_order
from dimetric.learners._fitting.plateau import MAX_SLOPE, TOO_LARGE, plateau, slope_in_scale
from dimetric.learners._fitting.problem import MapCallback, MapFunction, Problem, Solution, solve
from dimetric.learners._fitting.start import (
    INIT_NAMES,
    automatic_start,
    checked_start,
    fitted_scale,
    fitted_theta,
    named_start,
)
from dimetric.objectives.objective import Objective
from dimetric.solvers import LBFGS, SGD, GradientDescent, Result, Solver
from dimetric.solvers.result import (
    FLAT_START,
    GRADIENT_BELOW_TOL,
    LINE_SEARCH_FAILED,
    NO_DECREASE,
    SLOW_START,
)
from dimetric.supervision.labels import Labels, Supervision

LossT = TypeVar("LossT", bound=Objective)


def converged_in_float32(result: Result, objective: Objective) -> Result:
    """Return a result with a failed line search as converged if the samples are float32.

    Rounding errors of float32 hide a further decrease.
    """
    if result.reason.startswith(LINE_SEARCH_FAILED) and eps(objective.points) > 1e-10:
        return replace(result, converged=True, reason=NO_DECREASE)
    return result


class MeanLossMetric(BlockEpochsMixin, IterativeMetric[LossT]):
    r"""A learner that minimises a mean loss over maps.

    .. math:: \min_L \frac{1}{N} \sum \mathrm{loss}(L) + reg\, \frac{v}{d} |L|_F^2

    v is the mean variance of the features, so the effect of `reg` does not depend on their unit. A
    subclass defines its ``_objective``, and may add parameters.
    """

    _named_objects: ClassVar[NamedObjects] = {
        "solver": {"lbfgs": LBFGS, "bgd": GradientDescent, "sgd": SGD}
    }
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **IterativeMetric._parameter_constraints,
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "init": [StrOptions(INIT_NAMES), "array-like"],
        "reg": [Interval(Real, 0, None, closed="left")],
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
    }
    # Whether a sample that is alone in its class has nothing to learn from.
    _needs_class_neighbors: ClassVar[bool] = False
    # Whether a named start is rescaled to minimise the objective. Otherwise, its scale is fixed.
    _searches_start_scale: ClassVar[bool] = True
    # Whether all features have the same unit, as the coordinates of a kernel's feature space do.
    _same_unit: bool = False

    def __init__(
        self,
        n_components: int | None = None,
        *,
        init: str | Array = "auto",
        solver: str | Solver = "lbfgs",
        max_iter: int = 50,
        tol: float = 1e-5,
        reg: float = 0.0,
        warm_start: bool = False,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.init = init
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.reg = reg
        self.warm_start = warm_start
        self.verbose = verbose
        self.random_state = random_state

    @abstractmethod
    def _objective(self, X: Array, supervision: Supervision, order: np.ndarray) -> LossT:
        """Return the objective for samples in canonical order, sorted by class if labelled.

        X contains the samples in :class:`Coordinates`. `order` contains their row indices in the
        X passed to `fit`, followed by the indices of unlabelled samples.
        """

    def _problem(self, X: Array, supervision: Supervision) -> Problem[LossT]:
        X, supervision, order = in_canonical_order(X, supervision)
        X, factor = rescale_for_squares(X)  # all parameters are scale-free
        if not bool(namespace(X).any(X[:1, :] != X)):
            warn(
                f"{self._name} made no progress, because all samples are identical.",
                ConvergenceWarning,
            )
        # In directions without variance, keep the start's map, unless a ridge would drive it to
        # zero, or the solver works on metrics, whose maps have another number of rows.
        keep_outside = self.reg == 0 and self._solver().steps_over == "maps"
        start, is_rescaled = self._start(X, supervision, factor)
        coordinates = Coordinates.of(X, start, keep_outside=keep_outside)
        ridge = self.reg * coordinates.mean_variance / X.shape[1]
        objective = self._objective(coordinates.samples, supervision, order)
        if is_rescaled:
            scale, theta = fitted_scale(
                objective, coordinates.start, ridge, search=self._searches_start_scale
            )
            coordinates = coordinates.with_start_times(scale)
        else:
            theta = fitted_theta(objective, coordinates.start)
        return Problem(
            objective=objective,
            start=coordinates.start,
            restore=lambda L: asarray_like(coordinates.map_of_samples(L) * factor, X),
            ridge=ridge,
            ridge_outside=ridge * coordinates.dropped_squared_norm,
            sample_scale=coordinates.sample_scale * factor,
            theta=theta,
            preconditioner=coordinates.feature_scaling(same_unit=self._same_unit),
            reported_objective=neg if self._maximises else float,
        )

    def _start(self, X: Array, supervision: Supervision, factor: float) -> tuple[np.ndarray, bool]:
        """Return the initial map for samples multiplied by `factor`, and whether to rescale it.

        A given start must not be rescaled, and a single class does not determine a scale.
        """
        d, k = X.shape[1], self.n_components
        if k is not None and k > d:
            raise ValueError(f"n_components={k} must be at most n_features={d}.")
        if self._solver().steps_over == "metrics":
            if k is not None and k < d:
                name, what = f"{self._name}(solver={self.solver!r})", "features"
                reduced = f"reduce the features first: make_pipeline(PCA({k}), {name})"
                if hasattr(self, "_kernel_learner"):
                    what, reduced = "coordinates", f"set kernel=Kernel(n_components={k})"
                raise ValueError(
                    f"solver={self.solver!r} learns a metric of all {d} {what} and cannot use "
                    f"n_components={k}. Use another solver, or {reduced}."
                )
            k = None  # the number of rows is the rank of the metric
        if self.warm_start and hasattr(self, "components_"):
            previous = checked_start(self.components_, k, d, "the map of the previous fit")
            return previous / factor, False
        if not isinstance(self.init, str):
            return checked_start(self.init, k, d, "init") / factor, False
        codes = np.zeros(X.shape[0], dtype=np.int64)
        if isinstance(supervision, Labels):
            codes = supervision.codes
        name = automatic_start(X, codes, k or d) if self.init == "auto" else self.init
        start = named_start(name, X, codes, k or d, random_state=self.random_state)
        # A map by LDA has a scale of its own: the variance within classes is 1.
        is_rescaled = self._searches_start_scale or name != "lda"
        return start, is_rescaled and len(getattr(self, "classes_", ())) != 1

    def _checked_for_plateau(self, problem: Problem[LossT], solution: Solution) -> Result:
        result, reason = solution.result, ""
        if len(getattr(self, "classes_", ())) == 1:
            return result
        if result.n_iter == 0 and result.reason == GRADIENT_BELOW_TOL:
            why = plateau(problem, solution, self.tol)
            reason = f"{FLAT_START}, because distances are {why}" if why else ""
        elif result.reason == NO_DECREASE and not isinstance(self.init, str):
            is_steep = slope_in_scale(problem, solution) > MAX_SLOPE * max(1.0, abs(result.value))
            reason = f"{SLOW_START}, because distances are {TOO_LARGE}" if is_steep else ""
        return replace(result, converged=False, reason=reason) if reason else result

    def _minimise(self, problem: Problem[LossT], solver: Solver, callback: MapCallback) -> Solution:
        function = self._function(problem, solver)
        solution = solve(function, solver, max_iter=self.max_iter, tol=self.tol, callback=callback)
        result = converged_in_float32(solution.result, problem.objective)
        solution = replace(solution, result=result)
        if problem.ridge > 0 or solver.uses_batches:
            return solution
        return scaled_up_if_separable(problem.objective, solution, self.tol)

    def _function(self, problem: Problem[LossT], solver: Solver) -> MapFunction:
        """Return the function of a vector that the solver minimises."""
        return LossOverMaps(
            problem, preconditioner=problem.preconditioner, random_state=self.random_state
        )

    def _extra_metadata(self, problem: Problem[LossT], solution: Solution) -> dict[str, Any]:
        return {"reg": self.reg}

    def _check_supervision(self, X: Array, supervision: Supervision) -> None:
        """Warn if there is only one class, or if classes have too few samples to learn from."""
        if not isinstance(supervision, Labels):
            return
        codes, classes = supervision.codes, supervision.classes
        name, alone = self._name, np.flatnonzero(np.bincount(codes[codes >= 0]) == 1)
        if len(classes) == 1:
            warn(f"y has only one class, so {name} has nothing to learn.")
        elif len(alone) and self._needs_class_neighbors:
            warn(
                f"{len(alone)} of {len(classes)} classes have a single sample: "
                f"{classes[alone[:5]].tolist()}. These samples have no neighbour of their class to "
                "learn from.",
            )
