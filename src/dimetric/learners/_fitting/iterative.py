"""Learners fitted by a solver: the one way from a problem to the fitted attributes."""

import warnings
from abc import abstractmethod
from collections.abc import Callable
from contextlib import nullcontext
from numbers import Integral, Real
from typing import Any, ClassVar, Generic

import array_api_compat as compat
import numpy as np
from sklearn.exceptions import ConvergenceWarning

from dimetric._arrays.namespaces import Array
from dimetric._arrays.threads import one_blas_thread
from dimetric._compat import Interval, Progress, check_params
from dimetric.learners._fitting.problem import ObjectiveT, Problem, Solution, Watch
from dimetric.learners._fitting.verbose import report
from dimetric.learners._linear import LinearMetric
from dimetric.solvers import Result, Solver
from dimetric.solvers.result import GRADIENT_BELOW_TOL
from dimetric.solvers.sgd import NO_BATCH
from dimetric.supervision.labels import Supervision


class IterativeMetric(LinearMetric, Generic[ObjectiveT]):
    """A linear learner that is fitted by a solver.

    A learner states its problem (``_problem``) and minimises it (``_minimise``), by one run of a
    solver or by several. The class attribute ``_named_objects`` lists the solvers that it can use.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "solver": [str, Solver],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "verbose": ["verbose"],
    }
    _remedy: ClassVar[str] = "Raise max_iter or tol, or scale the features."
    solver: str | Solver
    max_iter: int
    tol: float
    verbose: int

    def _fit(self, X: Array, supervision: Supervision | None, progress: Progress) -> dict[str, Any]:
        assert supervision is not None  # iterative learners need labels, pairs or triplets
        solver = self._solver()
        self._check_supervision(X, supervision)

        def watch(current: Callable[[], np.ndarray], value: float, n_iter: int) -> bool:
            if self.verbose:
                name, objective = type(self).__name__, problem.shown(value)
                report("[%s] iteration %d: objective %.6g", name, n_iter, objective)
            return progress.step(lambda: problem.attributes(current()))

        # Objectives bring their own threads; all other products are too small for those of BLAS.
        with one_blas_thread() if compat.is_numpy_array(X) else nullcontext():
            problem = self._problem(X, supervision)
            solution = self._minimise(problem, solver, watch)
            facts = self._facts(problem, solution)
        result = solution.result
        self._warn_of(result)
        fitted = problem.attributes(solution.map) | self._theta_attributes(solution.theta)
        for name, value in fitted.items():
            setattr(self, name, value)
        start = problem.shown(result.history[0] + problem.ridge_outside)
        self.history_ = (start, *(problem.shown(value) for value in result.history[1:]))
        self.n_iter_ = result.n_iter
        return {
            "n_components": self.components_.shape[0],
            "n_iter": result.n_iter,
            "initial_objective": start,
            "final_objective": problem.shown(result.value),
            "converged": result.converged,
            "reason": result.reason,
        } | facts

    @abstractmethod
    def _problem(self, X: Array, supervision: Supervision) -> Problem[ObjectiveT]:
        """Return what is minimised, from where, and how to map back."""

    @abstractmethod
    def _minimise(self, problem: Problem[ObjectiveT], solver: Solver, watch: Watch) -> Solution:
        """Return the best map of the problem's points; may set fitted attributes beside it."""

    def _theta_attributes(self, theta: np.ndarray) -> dict[str, Any]:
        """Return the fitted attributes that hold the learned extra parameters of the objective."""
        return {}

    def _check_supervision(self, X: Array, supervision: Supervision) -> None:
        """Refuse supervision that nothing can be learned from, or warn of it."""

    def _facts(self, problem: Problem[ObjectiveT], solution: Solution) -> dict[str, Any]:
        """Return further metadata, such as a certificate."""
        return {}

    def _solver(self) -> Solver:
        """Return the solver, checked."""
        solver: Solver = self._object_for("solver")
        check_params(solver)
        return solver

    def _start_is_given(self) -> bool:
        """Tell whether the start is given and must not be rescaled."""
        return True

    def _warn_of(self, result: Result) -> None:
        """Warn of a solver that did not converge, or did not move."""
        name, remedy = type(self).__name__, self._remedy
        if result.reason.startswith("diverged"):
            remedy = "Lower eta0 of the solver, or set its learning_rate to 'adaptive'."
        elif result.reason == NO_BATCH:
            remedy = "Raise batch_size of the solver, or learn from more than one class."
        result.warn_unless_converged(name, remedy)
        one_class = len(getattr(self, "classes_", ())) == 1
        is_flat = result.n_iter == 0 and result.reason == GRADIENT_BELOW_TOL
        if is_flat and not one_class and not self._start_is_given():
            warnings.warn(
                f"{name} did not leave its start, where the objective is flat: its distances may "
                "be too large or too small to tell neighbours apart, or all be 0. If samples "
                "differ, scale the features, or give another init.",
                ConvergenceWarning,
                stacklevel=3,
            )
