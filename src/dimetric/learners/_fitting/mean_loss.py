"""Base class of learners that minimise a mean loss over maps."""

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from operator import lt, neg
from typing import Any, ClassVar, TypeVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from dimetric._arrays.namespaces import Array, namespace, take_rows
from dimetric._arrays.validation import rescale_for_squares
from dimetric._compat import Interval, StrOptions
from dimetric._warnings import warn
from dimetric.learners._base import NamedObjects, WholeSampleValues
from dimetric.learners._fitting.block_epochs import BlockEpochsMixin
from dimetric.learners._fitting.coordinates import Coordinates
from dimetric.learners._fitting.early_stopping import EarlyStopping
from dimetric.learners._fitting.functions import LossOverMaps, scaled_up_if_separable
from dimetric.learners._fitting.graph_term import neighbor_scatter
from dimetric.learners._fitting.iterative import IterativeMetric
from dimetric.learners._fitting.mean_loss_problem import problem_in
from dimetric.learners._fitting.ordering import in_canonical_order, n_distinct
from dimetric.learners._fitting.plateau import checked_for_plateau
from dimetric.learners._fitting.problem import (
    MapCallback,
    MapFunction,
    Problem,
    Solution,
    converged_in_float32,
    solve,
)
from dimetric.learners._fitting.references import ReferenceLabels
from dimetric.learners._fitting.start import (
    INIT_NAMES,
    automatic_start,
    check_diagonal,
    check_rows_of_metric,
    checked_start,
    named_start,
)
from dimetric.linalg.row_basis import RowBasis
from dimetric.objectives.objective import Objective
from dimetric.objectives.references.objective import ReferenceObjective
from dimetric.solvers import LBFGS, SGD, GradientDescent, Result, Solver
from dimetric.supervision._weights import ClassWeight
from dimetric.supervision.labels import (
    Labels,
    Supervision,
    Targets,
    relative_weights,
    weights_of,
)

LossT = TypeVar("LossT", bound=Objective)
MAX_RATIO = 0.1  # of features to samples, without a penalty by default


def _uses_batches(solver: Any) -> bool:
    return solver == "sgd" or isinstance(solver, SGD)


class MeanLossMetric(BlockEpochsMixin, IterativeMetric[LossT]):
    r"""A learner that minimises a mean loss over maps.

    .. math:: \min_L \frac{1}{N} \sum \mathrm{loss}(L) + reg\, \frac{v}{d} |L|_F^2
              + unlabelled\_reg\, \frac{v}{d} \mathrm{tr}(L G L^T)

    v is the mean variance of the features, so the effect of `reg` does not depend on their unit. G
    is the scatter of the differences between neighbours, labelled or not, with the trace d, see
    :func:`~dimetric.learners._fitting.graph_term.neighbor_scatter`. A subclass defines its
    ``_objective``, and may add parameters.
    """

    _named_objects: ClassVar[NamedObjects] = {
        "solver": {"lbfgs": LBFGS, "bgd": GradientDescent, "sgd": SGD}
    }
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **IterativeMetric._parameter_constraints,
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "diagonal": ["boolean"],
        "init": [StrOptions(INIT_NAMES), "array-like"],
        "reg": [Interval(Real, 0, None, closed="left"), None],
        "tol": [*IterativeMetric._parameter_constraints["tol"], None],
        "warm_start": ["boolean"],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "unlabelled": [Real, str, None],
        "unlabelled_reg": [Interval(Real, 0, None, closed="left")],
        "random_state": ["random_state"],
    }
    _whole_sample_values: ClassVar[WholeSampleValues] = {
        **IterativeMetric._whole_sample_values,
        "solver": (_uses_batches, "'lbfgs' or 'bgd', or call partial_fit with blocks"),
        "unlabelled_reg": (partial(lt, 0), "0"),
    }
    reg: float | None
    # Whether a sample that is alone in its class has nothing to learn from.
    _needs_class_neighbors: ClassVar[bool] = False
    # Whether a named start is rescaled to minimise the objective. Otherwise, its scale is fixed.
    _searches_start_scale: ClassVar[bool] = True
    # ``reg=None`` stands for this factor times the ratio of features to samples, minus 0.1.
    _reg_factor: ClassVar[float] = 0.0
    # With ``tol=None``, the fit stops early after an iteration that lowers the objective by less.
    _early_decrease: ClassVar[float] = -np.inf
    # Whether X contains coordinates, which have the same unit, such as those of a kernel's space.
    _same_unit: bool = False

    def __init__(
        self,
        n_components: int | None = None,
        *,
        diagonal: bool = False,
        init: str | Array = "auto",
        solver: str | Solver = "lbfgs",
        max_iter: int = 50,
        tol: float | None = None,
        reg: float | None = None,
        warm_start: bool = False,
        identity_mix: float | str | None = None,
        class_weight: ClassWeight = None,
        unlabelled: float | str | None = None,
        unlabelled_reg: float = 0.0,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.n_components = n_components
        self.diagonal = diagonal
        self.init = init
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.reg = reg
        self.warm_start = warm_start
        self.identity_mix = identity_mix
        self.class_weight = class_weight
        self.unlabelled = unlabelled
        self.unlabelled_reg = unlabelled_reg
        self.verbose = verbose
        self.random_state = random_state

    @abstractmethod
    def _objective(self, X: Array, supervision: Supervision, order: np.ndarray) -> LossT:
        """Return the objective for samples in canonical order, sorted by class if labelled.

        X contains the samples in :class:`Coordinates`. `order` contains their row indices in the
        X passed to `fit`, followed by the indices of unlabelled samples.
        """

    @property
    def _uses_unlabelled(self) -> bool:  # type: ignore[override]
        return self.unlabelled_reg > 0

    def _problem(self, X: Array, supervision: Supervision) -> Problem[LossT]:
        graph = None
        if self.unlabelled_reg > 0:
            graph = neighbor_scatter(X, weights_of(supervision))
            if isinstance(supervision, Labels | Targets) and not self._keeps_rows:
                labelled = np.flatnonzero(supervision.is_labelled)
                X, supervision = take_rows(X, labelled), supervision.reordered(labelled)
        return self._labelled_problem(X, supervision, graph)

    def _labelled_problem(
        self, X: Array, supervision: Supervision, graph: np.ndarray | None
    ) -> Problem[LossT]:
        """Return the problem of labelled samples, with the matrix G of the graph, if any."""
        references = supervision if isinstance(supervision, ReferenceLabels) else None
        X, supervision, order = in_canonical_order(X, supervision)
        n_rows = X.shape[0] if references is None else references.n_rows
        X, factor = rescale_for_squares(X)  # all parameters are scale-free
        if not bool(namespace(X).any(X[:1, :] != X)):
            message = f"{self._name} made no progress, because all samples are identical."
            warn(message, ConvergenceWarning)
        # In directions without variance, keep the start's map, unless a ridge would drive it to
        # zero, or the solver works on metrics, whose maps have another number of rows.
        reg = self._used_reg(X, supervision, n_rows)
        keep_outside = reg == 0 and self._solver().steps_over == "maps"
        start, is_rescaled = self._start(X, supervision, factor)
        # Unlabelled samples may vary outside of the span of the labelled samples, and other rows
        # outside of that of the references.
        coordinates = Coordinates.of(
            X,
            start,
            relative_weights(supervision),
            keep_outside=keep_outside,
            rotate=graph is None and not self.diagonal and references is None,
        )
        return problem_in(
            self,
            coordinates,
            lambda: self._objective(coordinates.samples, supervision, order),
            reg=reg,
            graph=graph,
            factor=factor,
            is_rescaled=is_rescaled,
        )

    def _over_all_rows(self, problem: Problem[LossT], labels: ReferenceLabels) -> Problem[LossT]:
        sample: Any = problem.objective
        objective: Any = ReferenceObjective(
            labels.source, labels.references, sample, problem.sample_scale
        )
        return replace(problem, objective=objective)

    def _reported_objective(self, objective: LossT) -> Callable[[float], float]:
        """Return the function that converts a mean loss into the objective that users see."""
        return neg if self._maximises else float

    def _start(self, X: Array, supervision: Supervision, factor: float) -> tuple[np.ndarray, bool]:
        """Return the initial map for samples multiplied by `factor`, and whether to rescale it."""
        codes = supervision.codes if isinstance(supervision, Labels) else None
        weights = relative_weights(supervision)

        def named(name: str, k: int) -> tuple[str, np.ndarray]:
            name = automatic_start(X, codes, k) if name == "auto" else name
            options = {"weights": weights, "random_state": self.random_state}
            return name, named_start(name, X, codes, k, **options)

        return self._start_from(X.shape[1], factor, named)

    def _start_from(
        self, d: int, factor: float, named: Callable[[str, int], tuple[str, np.ndarray]]
    ) -> tuple[np.ndarray, bool]:
        """Return the initial map of d features, and whether to rescale it.

        A given start must not be rescaled, and a single class does not determine a scale.
        ``named(init, k)`` returns the name and the map of a start with k rows.
        """
        k = self.n_components
        if k is not None and k > d:
            raise ValueError(f"n_components={k} must be at most n_features={d}.")
        if self._solver().steps_over == "metrics":
            check_rows_of_metric(self, d)
            k = None  # the number of rows is the rank of the metric
        if self.diagonal:
            check_diagonal(self, d, same_unit=self._same_unit)
            k = d
        if self.warm_start and hasattr(self, "components_"):
            previous = "the map of the previous fit"
            start = checked_start(self.components_, k, d, previous, diagonal=self.diagonal)
            return start / factor, False
        if not isinstance(self.init, str):
            return checked_start(self.init, k, d, "init", diagonal=self.diagonal) / factor, False
        is_identity = self.init == "auto" and self.diagonal
        name, start = named("identity" if is_identity else self.init, k or d)
        start = np.diag(np.diag(start)) if self.diagonal else start
        # A map by LDA has a scale of its own: the variance within classes is 1.
        is_rescaled = self._searches_start_scale or name != "lda"
        return start, is_rescaled and len(getattr(self, "classes_", ())) != 1

    def _move_to_basis(self, basis: RowBasis) -> None:
        d, k = self.n_features_in_, self.n_components
        self._same_unit = True
        if self.warm_start and hasattr(self, "components_"):
            previous = checked_start(self.components_, k, d, "the map of the previous fit")
            self.components_ = basis.of_coordinates(previous)
        if not isinstance(self.init, str):
            self.init = basis.of_coordinates(checked_start(self.init, k, d, "init"))

    def _checked_for_plateau(self, problem: Problem[LossT], solution: Solution) -> Result:
        if len(getattr(self, "classes_", ())) == 1 or problem.objective.is_constant:
            return solution.result
        named, tol = isinstance(self.init, str), self._used_tol()
        return checked_for_plateau(problem, solution, tol, named_start=named)

    def _minimise(self, problem: Problem[LossT], solver: Solver, callback: MapCallback) -> Solution:
        function = self._function(problem, solver)
        # An iteration gains less if samples meet only a part of the others, and there are then so
        # many samples that later iterations fit little noise.
        least = self._least_decrease(solver) * problem.objective.fraction_met
        tol, stopping = self._used_tol(), EarlyStopping(callback, least)
        solution = solve(function, solver, max_iter=self.max_iter, tol=tol, callback=stopping)
        result = converged_in_float32(stopping.checked(solution.result), problem.objective)
        solution = replace(solution, result=result)
        if np.any(problem.ridge) or solver.uses_batches:
            return solution
        return scaled_up_if_separable(problem.objective, solution, tol)

    def _least_decrease(self, solver: Solver) -> float:
        """Return the decrease of the objective at which the fit stops early, or -inf."""
        is_lbfgs = solver.models_curvature and solver.steps_over == "maps"
        stops_early = self.tol is None and is_lbfgs and self._learns_full_map()
        return self._early_decrease if stops_early else -np.inf

    def _function(self, problem: Problem[LossT], solver: Solver) -> MapFunction:
        """Return the function of a vector that the solver minimises."""
        return LossOverMaps(
            problem, preconditioner=problem.preconditioner, random_state=self.random_state
        )

    def _extra_metadata(self, problem: Problem[LossT], solution: Solution) -> dict[str, Any]:
        return {"reg": problem.reg}

    def _used_reg(self, X: Array, supervision: Supervision, n_rows: int) -> float:
        """Return `reg`, or its default for samples in canonical order, or for more rows."""
        if self.reg is not None:
            return self.reg
        if isinstance(supervision, Labels) and supervision.n_classes in (1, X.shape[0]):
            return 0.0  # nothing to learn, and the penalty alone would lead to a map of 0
        # The same fraction of all rows is distinct.
        return self._default_reg(self.n_features_in_, n_distinct(X) * n_rows / X.shape[0])

    def _default_reg(self, d: int, n: float) -> float:
        """Return the default of `reg` for d features and n distinct samples."""
        return self._reg_factor * max(0.0, d / n - MAX_RATIO) if self._learns_full_map() else 0.0

    def _learns_full_map(self) -> bool:
        """Return whether L has d x d parameters. With fewer, a map overfits less."""
        return not self.diagonal and self.n_components in (None, self.n_features_in_)

    def _check_supervision(self, X: Array, supervision: Supervision) -> None:
        """Warn if there is only one class, or if classes have too few samples to learn from."""
        targets = supervision.values if isinstance(supervision, Targets) else None
        if targets is not None and np.all(targets[:1] == targets):
            warn(f"All targets are equal, so {self._name} has nothing to learn.")
        if not isinstance(supervision, Labels):
            return
        codes, classes = supervision.codes, supervision.classes
        name, alone = self._name, np.flatnonzero(np.bincount(codes[codes >= 0]) == 1)
        if len(classes) == 1:
            warn(f"y has only one class, so {name} has nothing to learn.")
        elif len(alone) and self._needs_class_neighbors:
            kind = "reference" if isinstance(supervision, ReferenceLabels) else "sample"
            warn(
                f"{len(alone)} of {len(classes)} classes have a single {kind}: "
                f"{classes[alone[:5]].tolist()}. These samples have no neighbour of their class to "
                "learn from.",
            )
