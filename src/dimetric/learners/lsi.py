"""Learning with side information, also known as Mahalanobis metric for clustering (MMC)."""

from typing import Any, ClassVar

import numpy as np

from dimetric._arrays.namespaces import Array, asarray_like, eps, namespace
from dimetric.learners._base import NamedObjects
from dimetric.learners._fitting.constrained import ConstrainedMetric
from dimetric.learners._fitting.gain import GainOverMaps, GainOverMetrics, RegularizedGain
from dimetric.learners._fitting.problem import MapCallback, Problem, Solution, solve
from dimetric.learners._fitting.references import REFERENCE_PARAMETER, ReferenceMixin
from dimetric.objectives.engine import Rule
from dimetric.objectives.fast import symmetric
from dimetric.objectives.listed import ListedObjective
from dimetric.objectives.objective import Objective
from dimetric.objectives.pairwise import PairwiseObjective
from dimetric.objectives.side import Side
from dimetric.solvers import LBFGS, ProjectedGradient, Solver
from dimetric.supervision._weights import ClassWeight
from dimetric.supervision.labels import Supervision, checked_labels, relative_weights
from dimetric.supervision.pairs import Pairs


class DistanceRule(Rule):
    r"""The sum of distances :math:`\sqrt{d^2 + \epsilon}` between samples of different classes.

    Each pair appears twice in the matrix of distances, and has the weight 1/2 each time. If the
    samples have weights, it is multiplied by :math:`w_i w_j`. Theta is :math:`\epsilon`, which
    makes the root differentiable at a distance of 0.
    """

    def fast(
        self, Z: np.ndarray, V: np.ndarray, side: Side, theta: np.ndarray
    ) -> tuple[float, np.ndarray, float]:
        """Implement the rule for NumPy, see :class:`dimetric.objectives.engine.Rule`."""
        return symmetric.lsi(Z, V, side, float(theta[0]))

    def fused(self, Z: Array, V: Array, side: Side, theta: Any) -> tuple[float, Array, float]:
        """Implement the rule for CUDA tensors, see :class:`dimetric.objectives.engine.Rule`."""
        from dimetric.objectives.triton import symmetric

        return symmetric.lsi(Z, V, side, float(theta[0]))

    def block(
        self, xp: Any, D: Array, rows: Side, columns: Side, theta: Any
    ) -> tuple[Array, Array, float]:
        """Return (sum, W, 0) of a block, see :class:`dimetric.objectives.engine.Rule`."""
        R = xp.where(rows.same_label(columns), 0.0, xp.sqrt(D + float(theta[0]))) / 2
        W = xp.where(R > 0, 1 / xp.where(R > 0, 8 * R, 1.0), 0.0)
        if rows.weights is not None and columns.weights is not None:
            weights = rows.weights[:, None] * columns.weights[None, :]
            R, W = weights * R, weights * W
        return xp.sum(R, dtype=xp.float64), W, 0.0

    def listed(self, xp: Any, D: Array, kinds: Array, theta: Any) -> tuple[float, Array, float]:
        """Return (sum, w, 0) of listed pairs, see :mod:`dimetric.objectives.listed`."""
        R = xp.sqrt(D + float(theta[0]))
        return float(xp.sum(R)), xp.where(R > 0, 0.5 / xp.where(R > 0, R, 1.0), 0.0), 0.0


class LSI(ReferenceMixin, ConstrainedMetric[Objective]):
    r"""Learning with side information (LSI): large distances between dissimilar samples.

    .. math:: \max_M \sum_D d_{ij} \quad \text{s.t.} \quad
              \sum_S d^2_{ij} + \delta \frac{\mathrm{tr} X_S}{d} \mathrm{tr} M \le 1, \;
              M \succeq 0, \qquad d^2_{ij} = (x_i - x_j)^T M (x_i - x_j)

    With labels, the similar pairs S (must-links) are the pairs of the same class, and the
    dissimilar pairs D (cannot-links) are all other pairs. Otherwise both are given. With
    :math:`X_S = \sum_S (x_i - x_j)(x_i - x_j)^T`, the constraint limits the distances of similar
    pairs. Directions in which the samples do not vary are dropped, and d is the number of the other
    directions, so that a constant feature has no effect. The distances of dissimilar pairs are not
    squared, because with squares the optimal M has rank one: its only direction is the top
    eigenvector of :math:`X_S^{-1} X_D` [1]_, where :math:`X_D` is the same sum over D. The problem
    is convex, and ``metadata()["gap"]`` is a proven bound on how far the objective is below its
    maximum. With sample weights, which are first divided by their mean, a pair has the weight
    :math:`w_i w_j` in all these sums.

    Parameters
    ----------
    reg : float, default=1.0
        Strength of a factor that prevents M from collapsing to low rank. The objective is
        multiplied by :math:`\rho(M)^{reg}`. With :math:`A = X_S + \delta \frac{\mathrm{tr} X_S}{d}
        I`, :math:`\rho \le 1` is the ratio of the geometric mean of the eigenvalues of
        :math:`A^{1/2} M A^{1/2}` to their arithmetic mean. With 0, the rank of M is often
        ``n_classes - 1``. With large values, M approaches a multiple of :math:`A^{-1}`, which is
        the Mahalanobis distance within classes.
    delta : float, default=0.1
        Weight :math:`\delta` of the trace of M in the constraint. With 0, the problem is unbounded
        if samples vary in a direction in which similar samples do not, such as a feature that is
        constant within each class. `fit` then raises an error.
    diagonal : bool, default=False
        Whether to restrict M to diagonal matrices, which weight the features. d is then the number
        of features that vary.
    solver : {"lbfgs", "projected"} or solver object, default="lbfgs"
        Solver. :class:`~dimetric.solvers.LBFGS` maximises over maps L, :math:`M = L^T L`. It
        rescales each L to meet the constraint with equality, so that no constraint remains.
        "projected" (:class:`~dimetric.solvers.ProjectedGradient`) is the authors' method: gradient
        ascent over M with iterated projections.
    max_iter : int, default=100
        Maximum number of iterations.
    tol : float, default=1e-5
        Tolerance on the logarithm of the objective. The solver stops when the largest entry of
        its gradient is at most `tol`, or an iteration gains at most ``tol / 10``.
    identity_mix : float in [0, 1], "auto" or None, default=None
        Weight a of the identity in the metric, :math:`(1 - a) M + a\, \mathrm{tr}(M) / d\, I`.
        "auto" chooses a on held-out samples or pairs. None stands for 0. The gap in the
        metadata is that of the metric before mixing.
    class_weight : dict, "balanced" or None, default=None
        Weight of each class, which multiplies the weights of its samples. "balanced" gives all
        classes the same total weight.
    unlabelled : float, str or None, default=None
        Value of `y` that marks unlabelled samples, often -1. These samples are ignored.
    n_references : int or None, default=None
        Number of references: a fixed random sample of the samples, by class. S and D then contain
        the pairs of a sample and a reference, each with the weight 1/2, so the time grows with
        ``n_samples * n_references``. The gap is that over metrics of the directions in which the
        references vary. None stands for all pairs of samples, or for 4,000 references if X comes in
        blocks.
    verbose : int, default=0
        Log each iteration if positive.

    Attributes
    ----------
    components_ : array of shape (n_features, n_features)
        The map L. It has fewer rows if the samples vary in fewer directions, for example if a
        feature is constant or there are fewer samples than features.
    offset_ : array of shape (n_features,)
        Zeros.
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
    With labels, no list of pairs is stored. The sum over pairs of the same class has a closed form,
    and pairs of different classes are evaluated block by block. Dissimilar pairs of identical
    samples have no effect, because their distance is 0 for every metric.

    References
    ----------
    .. [1] E. P. Xing, A. Y. Ng, M. I. Jordan, S. Russell, "Distance metric learning, with
       application to clustering with side-information", NeurIPS 2002.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> facts = LSI(reg=0.0).fit(X, y).metadata()
    >>> round(facts["final_objective"]), facts["gap"] < 0.1
    (706, True)
    """

    _named_objects: ClassVar[NamedObjects] = {
        "solver": {"lbfgs": LBFGS, "projected": ProjectedGradient}
    }
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ConstrainedMetric._parameter_constraints,
        **REFERENCE_PARAMETER,
        "diagonal": ["boolean"],
    }

    def __init__(
        self,
        *,
        reg: float = 1.0,
        delta: float = 0.1,
        diagonal: bool = False,
        solver: str | Solver = "lbfgs",
        max_iter: int = 100,
        tol: float = 1e-5,
        identity_mix: float | str | None = None,
        class_weight: ClassWeight = None,
        unlabelled: float | str | None = None,
        n_references: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.reg = reg
        self.delta = delta
        self.diagonal = diagonal
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.identity_mix = identity_mix
        self.class_weight = class_weight
        self.unlabelled = unlabelled
        self.n_references = n_references
        self.verbose = verbose

    def _objective(self, points: Array, supervision: Supervision, originals: Array) -> Objective:
        xp = namespace(points)
        centred = points - xp.mean(points, axis=0)
        # Small compared with the mean squared distance, but larger than its rounding error.
        epsilon = max(1e-12, 100 * eps(points)) * float(xp.mean(centred * centred))
        if isinstance(supervision, Pairs):
            kinds = np.ones(len(supervision.dissimilar), dtype=np.int64)
            return ListedObjective(DistanceRule(), points, supervision.dissimilar, kinds, [epsilon])
        return PairwiseObjective(
            DistanceRule(),
            points,
            checked_labels(supervision).codes,
            [epsilon],
            weights=relative_weights(supervision),
            single=eps(originals) > eps(points),
        )

    def _minimise(
        self, problem: Problem[RegularizedGain[Objective]], solver: Solver, callback: MapCallback
    ) -> Solution:
        gain = problem.objective
        kind = GainOverMaps if solver.steps_over == "maps" else GainOverMetrics
        function = kind(gain, problem.start, gain.objective.theta)
        return solve(function, solver, max_iter=self.max_iter, tol=self.tol, callback=callback)

    def _exact_gain(self, gain: RegularizedGain[Objective], L: np.ndarray) -> float:
        return float(gain.objective.value(asarray_like(L, gain.objective.points), np.zeros(1))[0])

    def _objective_and_gap(
        self, gain: RegularizedGain[Objective], L: np.ndarray, theta: np.ndarray
    ) -> tuple[float, float]:
        # The smoothed sum is an upper bound of the sum, so its tangent is one, too.
        return gain.objective_and_gap(
            self._exact_gain(gain, L), L, *gain.value_and_metric_gradient(L, theta)
        )
