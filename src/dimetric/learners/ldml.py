"""Logistic discriminant metric learning."""

from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from dimetric._arrays.namespaces import Array, namespace, to_host
from dimetric._compat import Interval
from dimetric._warnings import warn
from dimetric.learners._fitting.convex import ConvexMetric, LinearBound
from dimetric.learners._fitting.problem import MapCallback, Problem, Solution
from dimetric.learners._fitting.references import REFERENCE_PARAMETER, ReferenceMixin
from dimetric.learners._fitting.threshold import (
    SOLUTION_TOL,
    likeliest_threshold,
    threshold_of_tangent,
)
from dimetric.objectives.engine import Rule
from dimetric.objectives.fast import symmetric
from dimetric.objectives.listed import ListedObjective
from dimetric.objectives.objective import SimilarityObjective, metric_gradient, on_maps
from dimetric.objectives.pairwise import PairwiseObjective
from dimetric.objectives.side import Side
from dimetric.solvers import Solver
from dimetric.supervision._weights import ClassWeight
from dimetric.supervision.labels import (
    Supervision,
    checked_labels,
    relative_weights,
    sum_of_pair_weights,
)
from dimetric.supervision.pairs import Pairs


class LDMLRule(Rule):
    r"""The loss of LDML: minus the log-likelihood of the similarity of each pair.

    With s = 1 for pairs of the same class and s = -1 for other pairs, the loss is
    :math:`\log(1 + e^u)`, :math:`u = s (d^2 - b)`, and the weights are :math:`W = s\,\sigma(u)`.
    Each pair appears twice in the matrix of distances, and has the weight 1/2 each time. If the
    samples have weights, both are multiplied by :math:`w_i w_j`.

    Parameters
    ----------
    b : float, optional
        The threshold. If None, the threshold is theta and is learned.
    """

    is_convex: ClassVar[bool] = True
    halves: ClassVar[bool] = True

    def __init__(self, b: float | None = None) -> None:
        self.b = b

    def fast(
        self, Z: np.ndarray, V: np.ndarray, side: Side, theta: np.ndarray, *, half: bool = False
    ) -> tuple[float, np.ndarray, float]:
        """Implement the rule for NumPy, see :class:`dimetric.objectives.engine.Rule`."""
        return symmetric.ldml(Z, V, side, self._threshold(theta), half=half)

    def fused(self, Z: Array, V: Array, side: Side, theta: Any) -> tuple[float, Array, float]:
        """Implement the rule for CUDA tensors, see :class:`dimetric.objectives.engine.Rule`."""
        from dimetric.objectives.triton import symmetric

        return symmetric.ldml(Z, V, side, self._threshold(theta))

    def block(
        self, xp: Any, D: Array, rows: Side, columns: Side, theta: Any
    ) -> tuple[Array, Array, float]:
        """Return (loss, W, dtheta) of a block, see :class:`dimetric.objectives.engine.Rule`."""
        half = xp.astype(rows.different_sample(columns), D.dtype) / 2
        if rows.weights is not None and columns.weights is not None:
            half = half * rows.weights[:, None] * columns.weights[None, :]
        losses, W = self._terms(xp, D, rows.same_label(columns), theta)
        W = half * W
        loss = xp.sum(half * losses, dtype=xp.float64)
        return loss, W, -float(xp.sum(W, dtype=xp.float64))

    def listed(
        self, xp: Any, D: Array, kinds: Array, theta: np.ndarray
    ) -> tuple[float, Array, float]:
        """Return (loss, w, dtheta), see :class:`dimetric.objectives.listed.ListRule`."""
        losses, w = self._terms(xp, D, kinds == 0, theta)
        return float(xp.sum(losses, dtype=xp.float64)), w, -float(xp.sum(w, dtype=xp.float64))

    def _terms(self, xp: Any, D: Array, same: Array, theta: np.ndarray) -> tuple[Array, Array]:
        """Return the loss of each pair, and its derivative with respect to the squared distance."""
        sign = xp.where(same, xp.ones_like(D), -xp.ones_like(D))
        U = sign * (D - self._threshold(theta))
        E = xp.exp(-xp.abs(U))
        W = sign * xp.where(U > 0, xp.ones_like(E), E) / (1 + E)
        return xp.clip(U, 0.0, None) + xp.log1p(E), W

    def n_terms(self, rows: Side, columns: Side) -> float:
        """Return the number of pairs, or the sum of their weights."""
        if rows.weights is not None and columns.weights is not None:
            w, v = (to_host(side.weights).astype(np.float64) for side in (rows, columns))
            if rows is columns:
                return sum_of_pair_weights(w)
            is_shared = np.isin(to_host(rows.positions), to_host(columns.positions))
            return float(np.sum(w) * np.sum(v) - np.sum(w[is_shared] ** 2)) / 2
        return rows.n_different_pairs(columns) / 2

    def infimum(self, rows: Side, columns: Side) -> float:
        """Return 0, which no finite map attains."""
        return 0.0

    def _threshold(self, theta: np.ndarray) -> float:
        return float(theta[0]) if self.b is None else self.b


class LDML(ReferenceMixin, ConvexMetric[SimilarityObjective]):
    r"""Logistic discriminant metric learning (LDML).

    .. math:: \max_{L, b} \frac{1}{|P|} \Big[\sum_{S} \log \sigma(b - d^2_{ij})
              + \sum_{D} \log \sigma(d^2_{ij} - b)\Big] - reg\, \frac{v}{d} |L|_F^2, \qquad
              d^2_{ij} = |L x_i - L x_j|^2

    With labels, the similar pairs S are the pairs of the same class, and the dissimilar pairs D are
    all other pairs. Otherwise both are given. P is the set of all these pairs. With the logistic
    function :math:`\sigma`, the probability that a pair is similar is :math:`\sigma(b - d^2)`.
    LDML is thus a logistic regression whose coefficients are the entries of :math:`M = L^T L` [1]_.
    With sample weights, a pair has the weight :math:`w_i w_j`, and the sum of the weights of all
    pairs replaces :math:`|P|`.

    The log-likelihood is concave in M and b. ``metadata()["gap"]`` bounds how far it is below its
    maximum: over all metrics if ``gap_proven``, else over metrics of trace at most ``gap_radius``.
    There is no such bound for "sgd", for fewer components than features, for a diagonal map, or
    with references.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of rows of L. None stands for ``n_features``.
    b : float or None, default=None
        Threshold: the squared distance at which the probability is 1/2. None means that b is
        learned.
    diagonal : bool, default=False
        Whether L is diagonal, so that only a weight of each feature is learned.
    init : str or array of shape (n_components, n_features), default="auto"
        Initial map: "identity", "pca", "lda" (at most ``n_classes - 1`` rows), "random", or an
        array. "auto" chooses "lda" if that has enough rows, otherwise "pca" if L has fewer rows
        than ``min(n_samples, n_features)``, otherwise "identity".
        A named map is rescaled to maximise the objective, and an array is used as it is.
    solver : {"lbfgs", "bgd", "sgd", "sdp"} or solver object, default="lbfgs"
        Solver: :class:`~dimetric.solvers.LBFGS`, :class:`~dimetric.solvers.GradientDescent`,
        :class:`~dimetric.solvers.SGD` for data too large to evaluate all pairs of samples, or
        :class:`~dimetric.solvers.ProjectedGradient` ("sdp"), which maximises over M instead of L.
    max_iter : int, default=100
        Maximum number of iterations. With "sgd", an iteration is an epoch of at most 100
        mini-batches, and the objectives in the metadata are means over mini-batches.
    tol : float or None, default=None
        Tolerance of the stopping criterion, see :class:`~dimetric.solvers.LBFGS`. None stands for
        1e-5 with early stopping: "lbfgs" stops after an iteration that raises the objective by at
        most 0.0005. Later iterations often fit noise. A diagonal map
        and one with fewer components than features are not stopped early.
    reg : float or None, default=None
        Weight of the ridge penalty. v is the mean variance of the features, so the effect of `reg`
        does not depend on their unit. None stands for 0.1 max(0, d / n - 0.1) with n distinct
        samples, and with the variance of each feature in place of v. It is 0 for a diagonal map,
        and with fewer components than features.
    warm_start : bool, default=False
        Whether to start from the map of the previous fit.
    identity_mix : float in [0, 1], "auto" or None, default=None
        Weight a of the identity in the metric, :math:`(1 - a) M + a\, \mathrm{tr}(M) / d\, I`,
        or within the span of L if `n_components` is set. "auto" chooses a on held-out samples or
        pairs. None stands for 0. The gap in the metadata is that before mixing.
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
        Number of references: a fixed random sample of the samples, by class. P then contains
        the pairs of a sample and a reference, so the time grows with ``n_samples * n_references``.
        None stands for all pairs of samples, or for 4,000 references if X comes in blocks.
    verbose : int, default=0
        Log each iteration if positive.
    random_state : int, RandomState or None, default=None
        Seed of the mini-batches, of ``init="random"`` and of randomised PCA.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        The map L.
    offset_ : array of shape (n_features,)
        Zeros.
    b_ : float
        The threshold b, learned or given, of the distance before mixing.
    classes_ : ndarray of shape (n_classes,)
        Class labels, if the learner was fitted with labels.
    n_iter_ : int
        Number of iterations.
    history_ : tuple of float
        The solver's objective at the start and after each iteration.
    n_features_in_ : int
        Number of features. If X has feature names, they are in ``feature_names_in_``.

    Notes
    -----
    A learned b starts at its best value for the initial map.

    References
    ----------
    .. [1] M. Guillaumin, J. Verbeek, C. Schmid, "Is that you? Metric learning approaches for face
       identification", IEEE International Conference on Computer Vision, 2009.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> ldml = LDML(reg=0.0, tol=1e-5).fit(X, y)
    >>> facts = ldml.metadata()
    >>> round(facts["final_objective"], 3), facts["gap"] < 0.01, round(ldml.b_, 1)
    (-0.151, True, 3.1)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ConvexMetric._parameter_constraints,
        **REFERENCE_PARAMETER,
        "b": [Interval(Real, None, None, closed="neither"), None],
    }
    _maximises = True
    _supervision_kinds = ("y", "pairs")
    _accepts_weights = True
    # Chosen by experiment, see docs/results/defaults.md.
    _reg_factor = 0.1
    _early_decrease = 0.0005

    def __init__(
        self,
        n_components: int | None = None,
        *,
        b: float | None = None,
        diagonal: bool = False,
        init: str | Array = "auto",
        solver: str | Solver = "lbfgs",
        max_iter: int = 100,
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
        self.b = b
        self.n_references = n_references

    def _check_supervision(self, X: Array, supervision: Supervision) -> None:
        if isinstance(supervision, Pairs):
            return
        labels = checked_labels(supervision)
        if labels.n_classes in (1, len(labels.codes)):
            content = "only one class" if labels.n_classes == 1 else "no class with two samples"
            warn(f"y has {content}, so LDML has nothing to learn.")

    def _objective(
        self, X: Array, supervision: Supervision, order: np.ndarray
    ) -> SimilarityObjective:
        rule = LDMLRule(None if self.b is None else float(self.b))
        theta = [1.0] if self.b is None else []
        if isinstance(supervision, Pairs):
            return ListedObjective.of_pairs(rule, X, supervision, theta, infimum=0.0)
        labels, weights = checked_labels(supervision), relative_weights(supervision)
        return PairwiseObjective(rule, X, labels.codes, theta, weights=weights)

    def _minimise(
        self, problem: Problem[SimilarityObjective], solver: Solver, callback: MapCallback
    ) -> Solution:
        solution = super()._minimise(problem, solver, callback)
        if self.b is None and not solver.uses_batches:
            L, objective = solution.map, problem.objective
            theta = likeliest_threshold(objective, L, solution.theta, tol=SOLUTION_TOL)
            value = on_maps(objective, ridge=problem.ridge)(np.concatenate([L.ravel(), theta]))[0]
            solution = Solution(L, theta, replace(solution.result, value=value))
        return solution

    def _theta_of_tangent(
        self, objective: SimilarityObjective, L: np.ndarray, theta: np.ndarray
    ) -> np.ndarray:
        return theta if self.b is not None else threshold_of_tangent(objective, L, theta)

    def _theta_attributes(self, theta: np.ndarray) -> dict[str, Any]:
        return {"b_": float(theta[0] if self.b is None else self.b)}

    def _tangent(
        self, problem: Problem[SimilarityObjective], L: np.ndarray, theta: np.ndarray
    ) -> LinearBound:
        if self.b is not None:
            return super()._tangent(problem, L, theta)
        objective = problem.objective
        value, G, (slope,) = metric_gradient(objective, L, theta, ridge=problem.ridge)
        n_similar = objective.n_similar()
        if n_similar in (0, objective.n_terms):  # the best threshold is infinite
            return -np.inf, G
        # The slope at b is nearly 0. The bound allows for it: the best b of any metric lies between
        # log_odds and log_odds plus the largest squared distance. That distance is large, so a
        # negative slope makes the bound much worse.
        log_odds = np.log(n_similar / (objective.n_terms - n_similar))
        largest = 4 * to_host(namespace(objective.points).max(objective.points**2, axis=0))
        c = value - float(np.vdot(L @ G, L)) + slope * (log_odds - float(theta[0]))
        return c, G + min(slope, 0.0) * np.diag(largest) * len(G)
