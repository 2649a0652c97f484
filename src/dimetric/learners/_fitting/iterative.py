"""Base class of learners that are fitted by a solver."""

from abc import abstractmethod
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Generic

import array_api_compat as compat
import numpy as np

from dimetric._arrays.blas_limit import one_blas_thread
from dimetric._arrays.namespaces import Array, is_host
from dimetric._compat import Interval, Progress, check_params
from dimetric.learners._fitting.problem import MapCallback, ObjectiveT, Problem, Solution
from dimetric.learners._fitting.verbose import report
from dimetric.learners._identity_mix import MIX_PARAMETER
from dimetric.learners._linear import LinearMetric
from dimetric.solvers import Result, Solver
from dimetric.solvers.result import DIVERGED, FLAT_START, SLOW_START, STALLED
from dimetric.solvers.sgd import NO_BATCH
from dimetric.supervision.labels import Supervision


class IterativeMetric(LinearMetric, Generic[ObjectiveT]):
    """A linear learner that is fitted by a solver.

    A subclass builds its problem (``_problem``) and minimises it (``_minimise``) by one or more
    runs of a solver. The class attribute ``_named_objects`` lists the supported solvers.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "solver": [str, Solver],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        **MIX_PARAMETER,
        "verbose": ["verbose"],
    }
    _default_tol: ClassVar[float] = 1e-5  # the value that ``tol=None`` stands for
    _remedy: ClassVar[str] = "Increase max_iter or tol, or scale the features."
    solver: str | Solver
    max_iter: int
    tol: float | None
    verbose: int

    def _fit(self, X: Array, supervision: Supervision | None, progress: Progress) -> dict[str, Any]:
        assert supervision is not None  # iterative learners need labels, pairs or triplets
        self._check_supervision(X, supervision)
        # Objectives use their own threads, or run on an accelerator. All other products are too
        # small for BLAS threads. Only torch on the host needs them.
        few_threads = compat.is_numpy_array(X) or not is_host(X)
        with one_blas_thread() if few_threads else nullcontext():
            return self._solve(lambda: self._problem(X, supervision), progress)

    def _solve(
        self, build: Callable[[], Problem[ObjectiveT]], progress: Progress
    ) -> dict[str, Any]:
        """Solve the problem that ``build()`` returns. Set the attributes, return the metadata."""
        solver = self._solver()

        def callback(current: Callable[[], np.ndarray], value: float, n_iter: int) -> bool:
            if self.verbose:
                name, objective = self._name, problem.reported_objective(value)
                report("[%s] iteration %d: objective %.6g", name, n_iter, objective)
            return progress.step(lambda: problem.attributes(current()))

        problem = build()
        solution = self._minimise(problem, solver, callback)
        extra = self._extra_metadata(problem, solution)
        if not (extra.get("gap_proven", False) and extra["gap"] <= self._used_tol()):
            result = self._checked_for_plateau(problem, solution)
            if result is not solution.result:
                solution = replace(solution, result=result)
                extra = self._extra_metadata(problem, solution)
        result = solution.result
        self._warn_if_not_converged(result, solver)
        fitted = problem.attributes(solution.map) | self._theta_attributes(solution.theta)
        for name, value in fitted.items():
            setattr(self, name, value)
        values = (result.history[0] + problem.ridge_outside, *result.history[1:])
        self.history_ = tuple(problem.reported_objective(value) for value in values)
        self.n_iter_ = result.n_iter
        return {
            "n_components": self.components_.shape[0],
            "n_iter": result.n_iter,
            "initial_objective": self.history_[0],
            "final_objective": problem.reported_objective(result.value),
            "converged": result.converged,
            "reason": result.reason,
        } | extra

    @abstractmethod
    def _problem(self, X: Array, supervision: Supervision) -> Problem[ObjectiveT]:
        """Return the problem: the objective, the start, and the conversion to ``components_``."""

    @abstractmethod
    def _minimise(
        self, problem: Problem[ObjectiveT], solver: Solver, callback: MapCallback
    ) -> Solution:
        """Return the best map of the points. May also set fitted attributes."""

    def _theta_attributes(self, theta: np.ndarray) -> dict[str, Any]:
        """Return the fitted attributes for the learned extra parameters of the objective."""
        return {}

    def _check_supervision(self, X: Array, supervision: Supervision) -> None:
        """Raise or warn if nothing can be learned from the supervision."""

    def _extra_metadata(self, problem: Problem[ObjectiveT], solution: Solution) -> dict[str, Any]:
        """Return additional metadata, such as a certificate."""
        return {}

    def _used_tol(self) -> float:
        """Return the value of `tol` that is used if it is None."""
        return self._default_tol if self.tol is None else self.tol

    def _solver(self) -> Solver:
        """Return the solver object, after validating its parameters."""
        solver: Solver = self._object_for("solver")
        check_params(solver)
        return solver

    def _checked_for_plateau(self, problem: Problem[ObjectiveT], solution: Solution) -> Result:
        """Return the result, changed to not converged if the solver stopped because of the start.

        A small gradient or decrease does not show an optimum if all distances are much too large or
        too small.
        """
        return solution.result

    def _starts_automatically(self) -> bool:
        """Return whether the start is that of ``init="auto"``."""
        init, warm_start = getattr(self, "init", None), getattr(self, "warm_start", False)
        return isinstance(init, str) and init == "auto" and not warm_start

    def _warn_if_not_converged(self, result: Result, solver: Solver) -> None:
        """Warn if the solver did not converge."""
        name, remedy = self._name, self._remedy
        if hasattr(solver, "eta0") and result.reason.startswith((DIVERGED, STALLED)):
            remedy = "Lower eta0 of the solver, or set its learning_rate to 'adaptive'."
        elif result.reason == NO_BATCH:
            remedy = "Increase batch_size of the solver, or pass samples of more than one class."
        elif result.reason.startswith((FLAT_START, SLOW_START)):
            remedy = "Choose another init, such as init='auto', and set warm_start=False."
            if self._starts_automatically():
                remedy = "Decrease tol, or choose another init, such as init='random'."
        result.warn_unless_converged(name, remedy)
