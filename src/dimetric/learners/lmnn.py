"""Large margin nearest neighbours."""

from dataclasses import replace
from functools import partial
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from dimetric._arrays.namespaces import Array, asarray_like
from dimetric._compat import Interval
from dimetric.learners._fitting.convex import ConvexMetric, certificate_metadata
from dimetric.learners._fitting.early_stopping import EarlyStopping
from dimetric.learners._fitting.margin_stages import sharp_objective, solve_in_stages
from dimetric.learners._fitting.problem import (
    MapCallback,
    Problem,
    Solution,
    with_iteration_offset,
)
from dimetric.learners._fitting.references import (
    REFERENCE_PARAMETER,
    ReferenceLabels,
    ReferenceMixin,
)
from dimetric.learners._fitting.target_search import TargetMetric
from dimetric.objectives.margins.objective import MarginObjective
from dimetric.objectives.margins.targets import checked_targets
from dimetric.objectives.margins.triplets import TripletObjective
from dimetric.objectives.objective import Smoothable, on_maps
from dimetric.objectives.references.margins import ReferenceMargins
from dimetric.solvers import Result, Solver
from dimetric.solvers.result import STOPPED_BY_CALLBACK, max_iter_reached
from dimetric.supervision._weights import ClassWeight
from dimetric.supervision.labels import Supervision, checked_labels, relative_weights
from dimetric.supervision.triplets import Triplets


class LMNN(ReferenceMixin, TargetMetric):
    r"""Large margin nearest neighbours (LMNN).

    .. math:: \min_L \frac{1}{N} \Bigl[ (1 - \mu) \sum_{j \to i} d^2_{ij} + \mu \sum_{j \to i}
              \sum_{l:\, y_l \ne y_i} [1 + d^2_{ij} - d^2_{il}]_+ \Bigr]
              + reg\, \frac{v}{d} |L|_F^2, \qquad d_{ij} = |L x_i - L x_j|

    The target neighbours :math:`j \to i` of a sample i are its nearest neighbours of the same class
    in the original space. The first term pulls targets closer. The second term pushes away
    impostors: samples l of other classes whose squared distance to i is less than the squared
    distance of a target plus 1 [1]_. N is the number of samples. If triplets (i, j, l) are given
    instead of labels, both sums run over the triplets, and N is their number. Targets that are tied
    at the k-th distance share the remaining places: their terms have weights.

    With sample weights, which are first divided by their mean, all terms of sample i are multiplied
    by :math:`w_i`, and the terms of the second sum also by the weight :math:`w_l` of the impostor.
    Targets are chosen without weights.

    The objective is convex in :math:`M = L^T L`. ``metadata()["gap"]`` bounds how far it is above
    its minimum: over all metrics if ``gap_proven``, else over metrics of trace at most
    ``gap_radius``. There is no such bound for "sgd", for fewer components than features, for a
    diagonal map, or with references.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of rows of L. None stands for ``n_features``.
    n_neighbors : int, default=3
        Number of targets of each sample. Samples of smaller classes have fewer targets.
    mu : float, default=0.5
        Weight of the push term, between 0 and 1. The pull term has the weight ``1 - mu``.
    targets : array of shape (n_samples, k) or None, default=None
        Row indices of the targets of each sample. -1 marks missing targets. None chooses the
        nearest neighbours. Given targets have weight 1. Only for labels, not for triplets.
    n_passes : int, default=1
        Number of times that targets are chosen. Each pass after the first chooses them by the
        distance learned so far.
    search : ApproximateNeighbors, neighbour model or None, default=None
        Approximate search for targets: an :class:`~dimetric.neighbors.ApproximateNeighbors`, or an
        object like scikit-learn's ``KNeighborsTransformer``. Tied targets then do not share places,
        and "sgd" searches the whole class. ``metadata()`` contains the `search_recall`. None
        searches exactly.
    diagonal : bool, default=False
        Whether L is diagonal, so that only a weight of each feature is learned.
    init : str or array of shape (n_components, n_features), default="auto"
        Initial map: "identity", "pca", "lda" (at most ``n_classes - 1`` rows), "random", or an
        array. "auto" chooses "lda" if that has enough rows, otherwise "pca" if L has fewer rows
        than ``min(n_samples, n_features)``, otherwise "identity".
        A named map is rescaled to minimise the objective, and an array is used as it is.
    solver : {"lbfgs", "bgd", "sgd", "sdp"} or solver object, default="lbfgs"
        Solver. :class:`~dimetric.solvers.LBFGS` minimises over maps L, and
        :class:`~dimetric.solvers.ProjectedGradient` ("sdp") over metrics M. Both use a smoothed
        hinge, which is made sharper in stages. "bgd" is
        :class:`~dimetric.solvers.GradientDescent`. :class:`~dimetric.solvers.SGD` is for data too
        large to evaluate all pairs. It searches for impostors within each mini-batch, and for
        targets among 5,000 random samples of the class. With more than 20,000 samples or
        triplets, the objectives in the metadata are means over mini-batches.
    max_iter : int, default=300
        Maximum number of iterations of all passes together. With "sgd", an iteration is an epoch.
    tol : float or None, default=None
        Tolerance of the stopping criterion, see :class:`~dimetric.solvers.LBFGS`. None stands for
        1e-6 with early stopping: "lbfgs" stops after an iteration that lowers the objective by at
        most 0.3 %. Later iterations often fit noise. A diagonal map
        and one with fewer components than features are not stopped early.
    reg : float or None, default=None
        Weight of the ridge penalty. v is the mean variance of the features, so the effect of `reg`
        does not depend on their unit. None stands for 5 max(0, d / n - 0.1) with n distinct
        samples, and with the variance of each feature in place of v. It is 0 for a diagonal map,
        and with fewer components than features.
    warm_start : bool, default=False
        Whether to start from the map of the previous fit.
    identity_mix : float in [0, 1], "auto" or None, default=None
        Weight a of the identity in the metric, :math:`(1 - a) M + a\, \mathrm{tr}(M) / d\, I`,
        or within the span of L if `n_components` is set.
        "auto" chooses a on held-out samples or triplets. None stands for 0. The gap in the
        metadata is that of the metric before mixing.
    class_weight : dict, "balanced" or None, default=None
        Weight of each class, which multiplies the weights of its samples. "balanced" gives all
        classes the same total weight.
    unlabelled : float, str or None, default=None
        Value of `y` that marks unlabelled samples, often -1. These samples are ignored, unless
        ``unlabelled_reg > 0``.
    unlabelled_reg : float, default=0.0
        Weight of a penalty :math:`\frac{v}{d} \mathrm{tr}(L G L^T)` on the distances between
        neighbours. G is the sum of :math:`(x_i - x_j)(x_i - x_j)^T` over all samples i, labelled or
        not, and their 10 nearest neighbours j, divided by its mean eigenvalue.
    n_references : int or None, default=None
        Number of references: a fixed random sample of the samples, by class. Targets and impostors
        are then references, so the time grows with ``n_samples * n_references``. Of references at
        equal distance, the first are targets.
        None stands for all samples, or for 4,000 references if X comes in blocks.
    verbose : int, default=0
        Log each iteration if positive.
    random_state : int, RandomState or None, default=None
        Seed of "sgd", of ``init="random"`` and of randomised PCA.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        The map L.
    offset_ : array of shape (n_features,)
        Zeros.
    targets_, target_weights_ : arrays of shape (n_samples, k)
        Row indices and weights of the targets in the last pass (-1 and 0: none). Only for labels,
        and without references.
    classes_ : ndarray of shape (n_classes,)
        Class labels, if the learner was fitted with labels.
    n_iter_ : int
        Number of iterations.
    history_ : tuple of float
        The solver's objective at the start and after each iteration.
    n_features_in_ : int
        Number of features. If X has feature names, they are in ``feature_names_in_``.

    References
    ----------
    .. [1] K. Q. Weinberger, L. K. Saul, "Distance metric learning for large margin nearest
       neighbor classification", Journal of Machine Learning Research 10, 2009.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> facts = LMNN(reg=0.0, tol=1e-6).fit(X, y).metadata()
    >>> round(facts["initial_objective"], 2), round(facts["final_objective"], 2)
    (1.72, 1.51)
    >>> facts["gap"] < 0.015, facts["gap_proven"]
    (True, True)
    """

    _named_objects = ConvexMetric._named_objects
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **TargetMetric._parameter_constraints,
        **REFERENCE_PARAMETER,
        "mu": [Interval(Real, 0, 1, closed="neither")],
        "n_passes": [Interval(Integral, 1, None, closed="left")],
    }
    _supervision_kinds = ("y", "triplets")
    _needs_class_neighbors = True
    _accepts_weights = True
    _default_tol = 1e-6
    # Chosen by experiment, see docs/results/defaults.md.
    _reg_factor = 5.0
    _early_decrease = 0.003

    def __init__(
        self,
        n_components: int | None = None,
        *,
        n_neighbors: int = 3,
        mu: float = 0.5,
        targets: Array | None = None,
        n_passes: int = 1,
        search: Any = None,
        diagonal: bool = False,
        init: str | Array = "auto",
        solver: str | Solver = "lbfgs",
        max_iter: int = 300,
        tol: float | None = None,
        reg: float | None = None,
        warm_start: bool = False,
        identity_mix: float | str | None = None,
        class_weight: ClassWeight = None,
        unlabelled: float | str | None = None,
        unlabelled_reg: float = 0.0,
        n_references: int | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            n_components,
            diagonal=diagonal,
            init=init,
            solver=solver,
            max_iter=max_iter,
            tol=tol,
            reg=reg,
            warm_start=warm_start,
            identity_mix=identity_mix,
            class_weight=class_weight,
            unlabelled=unlabelled,
            unlabelled_reg=unlabelled_reg,
            verbose=verbose,
            random_state=random_state,
        )
        self.n_neighbors = n_neighbors
        self.mu = mu
        self.targets = targets
        self.n_passes = n_passes
        self.search = search
        self.n_references = n_references

    def _check_supervision(self, X: Array, supervision: Supervision) -> None:
        has_triplets = isinstance(supervision, Triplets)
        if has_triplets and self.targets is not None:
            raise ValueError("targets cannot be used with triplets. Set targets=None.")
        if isinstance(supervision, ReferenceLabels) and self.targets is not None:
            raise ValueError("targets cannot be used with references. Set targets=None.")
        if self.n_passes > 1 and (has_triplets or self.targets is not None):
            name = "triplets" if has_triplets else "targets"
            raise ValueError(
                f"n_passes={self.n_passes} chooses new targets, but {name} are given. Set "
                f"n_passes=1 or {name}=None."
            )
        super()._check_supervision(X, supervision)

    def _objective(self, X: Array, supervision: Supervision, order: np.ndarray) -> Smoothable:
        if isinstance(supervision, Triplets):
            return TripletObjective(X, supervision.rows, mu=self.mu)
        codes, weights = checked_labels(supervision).codes, relative_weights(supervision)
        objective = partial(
            MarginObjective, X, codes, mu=self.mu, order=order, sample_weights=weights
        )
        if self.targets is None:
            return objective(*self._nearest_targets(X, codes))
        return objective(checked_targets(self.targets, codes, order))

    def _over_all_rows(
        self, problem: Problem[Smoothable], labels: ReferenceLabels
    ) -> Problem[Smoothable]:
        sample = problem.objective
        assert isinstance(sample, MarginObjective)
        objective = ReferenceMargins(
            labels.source, labels.references, sample, problem.sample_scale, self.n_neighbors
        )
        return replace(problem, objective=objective)

    def _minimise(
        self, problem: Problem[Smoothable], solver: Solver, callback: MapCallback
    ) -> Solution:
        """Solve in passes. After the first pass, choose targets by the current map."""
        objective, start, ridge = problem.objective, problem.start, problem.ridge
        if len(getattr(self, "classes_", ())) == 1:  # the pull term alone would lead to a map of 0
            self._set_targets(objective)
            value = on_maps(objective, ridge=ridge)(start.ravel())[0]
            result = Result(start.ravel(), value, 0, True, "y has only one class", (value,))
            return Solution(start, objective.theta, result)
        # The first evaluation of the solver then uses the pairs that this one found.
        initial = sharp_objective(objective, start, ridge, solver, estimate=np.nan)
        L, done, history = problem.start, 0, list[float]()
        for passes_left in range(self.n_passes, 0, -1):
            if history:
                retargeted = self._with_new_targets(problem.objective, L)
                if done == self.max_iter or retargeted is None:
                    break
                problem = replace(problem, objective=retargeted, start=L)
            # Iterations that a pass does not use go to the later passes.
            limit = -(-(self.max_iter - done) // passes_left)
            pass_callback = with_iteration_offset(callback, done)
            stopping = EarlyStopping(pass_callback, self._least_decrease(solver))
            options = {
                "max_iter": limit,
                "tol": self._used_tol(),
                "random_state": self.random_state,
            }
            solution = solve_in_stages(problem, solver, stopping, **options)
            solution = replace(solution, result=stopping.checked(solution.result))
            L, done = solution.map, done + solution.result.n_iter
            history += solution.result.history
            if solution.result.reason == STOPPED_BY_CALLBACK:
                break
        self._set_targets(problem.objective)
        history[0] = history[0] if np.isnan(initial) else initial
        result = replace(solution.result, n_iter=done, history=tuple(history))
        if result.reason == max_iter_reached(limit):
            result = replace(result, reason=max_iter_reached(self.max_iter))
        return replace(solution, result=result)

    def _checked_for_plateau(self, problem: Problem[Smoothable], solution: Solution) -> Result:
        if self.n_passes > 1:  # the solution belongs to other targets than the problem
            return solution.result
        return super()._checked_for_plateau(problem, solution)

    def _with_new_targets(self, objective: Smoothable, L: np.ndarray) -> Smoothable | None:
        """Return the objective with targets chosen by a map, or None if they do not change."""
        if isinstance(objective, ReferenceMargins):
            return objective.with_targets_by(L)
        if not isinstance(objective, MarginObjective):
            return None
        Z = objective.points @ asarray_like(L, objective.points).T
        new = objective.with_targets(*self._nearest_targets(Z, objective.strata))
        return None if new.has_targets_of(objective) else new

    def _set_targets(self, objective: Smoothable) -> None:
        """Set ``targets_`` and ``target_weights_``, in the order of the user's samples."""
        if isinstance(objective, MarginObjective) and (targets := objective.user_targets()):
            self.targets_, self.target_weights_ = targets

    def _extra_metadata(self, problem: Problem[Smoothable], solution: Solution) -> dict[str, Any]:
        extra, certificate = super()._extra_metadata(problem, solution), solution.certificate
        if certificate is None:
            return extra
        # The objective is never negative.
        return extra | certificate_metadata(certificate, solution.result, 0.0, problem.sample_scale)
