"""What learners share that minimise an objective over maps: parameters, start, solver, facts."""

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from dimetric._arrays.namespaces import Array, like, namespace, to_host
from dimetric._arrays.row_order import canonical_order
from dimetric._arrays.validation import rescale_for_squares
from dimetric._compat import Interval, Progress, StrOptions
from dimetric.learners._base import LinearMetric, report
from dimetric.learners._coordinates import Coordinates
from dimetric.learners._solve import Solution, Solver, Watch
from dimetric.learners._start import NAMES, fitting_start, given_start, named_start
from dimetric.objectives.engine import Rule
from dimetric.objectives.objective import Objective
from dimetric.objectives.pairwise import PairwiseObjective
from dimetric.solvers.result import FLAT, Result
from dimetric.solvers.sgd import NO_BATCH


def into_range(X: Array, affected: str) -> tuple[Array, float]:
    """Apply :func:`rescale_for_squares`, and warn if it changes what parameters mean."""
    X, factor = rescale_for_squares(X)
    if factor != 1:
        warnings.warn(
            f"X holds values around {1 / factor:.0e}: they are learned from as if they were "
            f"around 1, which changes what {affected} mean. Scale X to avoid this.",
            stacklevel=3,
        )
    return X, factor


class GradientMetric(LinearMetric):
    r"""A learner that minimises a mean of losses over maps.

    .. math:: \min_L \frac{1}{N} \sum \mathrm{loss}(L) + \frac{reg}{d} |L|_F^2

    A learner gives its ``_rule()``, or another ``_objective``. Its parameters are these, or these
    and more.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_components": [Interval(Integral, 1, None, closed="left"), None],
        "init": [StrOptions(NAMES), "array-like"],
        "solver": [StrOptions({"lbfgs", "bgd", "sgd"})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "reg": [Interval(Real, 0, None, closed="left")],
        "learning_rate": [StrOptions({"adaptive", "constant"})],
        "eta0": [Interval(Real, 0, None, closed="neither"), None],
        "learn_inc": [Interval(Real, 1, None, closed="left")],
        "learn_dec": [Interval(Real, 0, 1, closed="neither")],
        "batch_size": [Interval(Integral, 2, None, closed="left")],
        "warm_start": ["boolean"],
        "verbose": ["verbose"],
        "random_state": ["random_state"],
    }
    _maximises: ClassVar[bool] = False  # whether users know the objective with the other sign

    def __init__(
        self,
        n_components: int | None = None,
        *,
        init: str | Array = "auto",
        solver: str = "lbfgs",
        max_iter: int = 50,
        tol: float = 1e-5,
        reg: float = 0.0,
        learning_rate: str = "adaptive",
        eta0: float | None = None,
        learn_inc: float = 1.01,
        learn_dec: float = 0.5,
        batch_size: int = 512,
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
        self.learning_rate = learning_rate
        self.eta0 = eta0
        self.learn_inc = learn_inc
        self.learn_dec = learn_dec
        self.batch_size = batch_size
        self.warm_start = warm_start
        self.verbose = verbose
        self.random_state = random_state

    def _rule(self) -> Rule:
        """Return what is summed over pairs of samples."""
        raise TypeError(f"{type(self).__name__} does not say what it minimises.")

    def _objective(self, X: Array, codes: Any, order: np.ndarray) -> Objective:
        """Return the objective of samples sorted by class.

        In place of `codes` there are ``Pairs`` or ``Triplets`` of the samples X if these are what
        is learned from. `order` has the rows of the samples in the given X, and then those of
        samples without a label.

        The samples are in :class:`Coordinates`, with the distances of the given ones for every
        map that has been brought along.
        """
        return PairwiseObjective(self._rule(), X, codes)

    def _minimise(
        self, objective: Objective, L0: np.ndarray, ridge: float, codes: np.ndarray, watch: Watch
    ) -> Solution:
        """Return the best map; a learner may take several runs of the solver."""
        if ridge > 0 and not self._start_is_given():
            # From a start much too large, the ridge alone would lead to a map of 0.
            L0 = fitting_start(objective, L0, ridge, of_any_size=True)[0]
        return self._solver()(objective, L0, ridge=ridge, codes=codes, watch=watch)

    def _facts(self, objective: Objective, solution: Solution, ridge: float) -> dict[str, Any]:
        """Return what else is known about the solution; may set fitted attributes."""
        return {}

    def _solver(self, **settings: Any) -> Solver:
        """Return the solver that the parameters name, with other settings where given."""
        rate = {
            "learning_rate": self.learning_rate,
            "eta0": self.eta0,
            "increase": self.learn_inc,
            "decrease": self.learn_dec,
        }
        own = {
            "name": self.solver,
            "max_iter": self.max_iter,
            "tol": self.tol,
            "rate": rate,
            "batch_size": self.batch_size,
            "random_state": self.random_state,
        }
        return Solver(**(own | settings))

    def _fit(self, X: Array, codes: Any, progress: Progress) -> dict[str, Any]:
        xp, constraints = namespace(X), None
        if not isinstance(codes, np.ndarray):
            constraints, codes = codes, np.zeros(X.shape[0], dtype=np.int64)
        order = canonical_order(to_host(X), codes)
        n_unlabelled = int(np.sum(codes < 0))
        order = np.roll(order, -n_unlabelled)  # these come last, and are left out
        kept = order[: len(order) - n_unlabelled]
        X, codes = xp.take(X, like(kept, X, dtype=xp.int64), axis=0), codes[kept]
        X, factor = into_range(X, "init and reg")
        # What a start does where samples do not differ is kept, but a metric of 0 there is as good.
        keep_rest = self.reg == 0 and self.solver != "sdp"
        at = Coordinates.of(X, self._start(X, codes, factor), keep_rest=keep_rest)
        ridge = at.ridge(self.reg)
        sign = -1.0 if self._maximises else 1.0

        def fitted(L: np.ndarray) -> dict[str, Array]:
            components = like(at.back(L) * factor, X)
            return {"components_": components, "offset_": xp.zeros_like(components[0, :])}

        def watch(current: Any, value: float, n_iter: int) -> bool:
            if self.verbose:
                name = type(self).__name__
                report("[%s] iteration %d: objective %.6g", name, n_iter, sign * value)
            return progress.step(lambda: fitted(current()[0]))

        if constraints is None:
            objective = self._objective(at.samples, codes, order)
        else:
            objective = self._objective(at.samples, constraints.reordered(order), order)
            codes = objective.strata  # kinds of constraints, which mini-batches are made of
        solution = self._minimise(objective, at.start, ridge, codes, watch)
        facts = self._facts(objective, solution, ridge)
        if "gap_radius" in facts:  # a trace, which depends on the unit
            facts["gap_radius"] *= (at.unit * factor) ** 2
        result = solution.result
        self._warn_unless_done(result)
        for name, value in fitted(solution.map).items():
            setattr(self, name, value)
        start = sign * (result.history[0] + ridge * at.dropped)
        self.n_iter_ = result.n_iter
        self.history_ = (start, *(sign * value for value in result.history[1:]))
        return {
            "n_components": len(solution.map),
            "n_iter": result.n_iter,
            "initial_objective": start,
            "final_objective": sign * result.value,
            "converged": result.converged,
            "reason": result.reason,
            "reg": self.reg,
        } | facts

    def _warn_of_classes(self, codes: np.ndarray, lonely: str) -> None:
        """Warn of one class, or of classes of one sample; `lonely` says what such a sample is."""
        name, alone = type(self).__name__, np.flatnonzero(np.bincount(codes[codes >= 0]) == 1)
        if len(self.classes_) == 1:
            warnings.warn(f"y holds one class: {name} has nothing to learn.", stacklevel=3)
        elif len(alone):
            warnings.warn(
                f"{len(alone)} of {len(self.classes_)} classes have a single sample, {lonely}: "
                f"{self.classes_[alone[:5]].tolist()}.",
                stacklevel=3,
            )

    def _warn_unless_done(self, result: Result) -> None:
        """Warn of a solver that did not converge, or never moved."""
        name = type(self).__name__
        remedy = "Raise max_iter or tol, or scale the features."
        if result.reason.startswith("diverged"):
            remedy = "Lower eta0, or set learning_rate='adaptive'."
        elif result.reason == NO_BATCH:
            remedy = "Raise batch_size, or learn from more than one class."
        result.warn_unless_converged(name, remedy)
        given = self._start_is_given()  # perhaps an optimum
        one_class = len(getattr(self, "classes_", ())) == 1
        if result.n_iter == 0 and result.reason == FLAT and not given and not one_class:
            warnings.warn(
                f"{name} did not leave its start, where the objective is flat: its distances may "
                "be too large or too small to tell neighbours apart, or all be 0. If samples "
                "differ, scale the features, or give another init.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _start_is_given(self) -> bool:
        """Tell whether a map of that very size is to be the start."""
        return not isinstance(self.init, str) or (self.warm_start and hasattr(self, "components_"))

    def _start(self, X: Array, codes: np.ndarray, factor: float) -> np.ndarray:
        """Return the first map, on the host, for samples that were multiplied by `factor`."""
        d, k = X.shape[1], self.n_components
        if k is not None and k > d:
            raise ValueError(f"n_components={k} must be at most n_features={d}.")
        if self.solver == "sdp" and k is not None and k < d:
            name = type(self).__name__
            raise ValueError(
                f"solver='sdp' learns a metric of all {d} features, n_components={k} are fewer. "
                f"Reduce the features first, make_pipeline(PCA({k}), {name}(solver='sdp')), or "
                "take another solver."
            )
        if self.solver == "sdp":  # its maps have as many rows as the metric has rank
            k = None
        if self.warm_start and hasattr(self, "components_"):
            return given_start(self.components_, k, d, "the map of the last fit") / factor
        if not isinstance(self.init, str):
            return given_start(self.init, k, d, "init") / factor
        return named_start(self.init, X, codes, k or d, random_state=self.random_state)
