"""Learning with side information, also known as Mahalanobis metric for clustering."""

from typing import Any, ClassVar

import numpy as np

from dimetric._arrays.namespaces import Array, asarray_like, eps, namespace
from dimetric.learners._base import NamedObjects
from dimetric.learners._fitting.constrained import ConstrainedMetric
from dimetric.learners._fitting.gain import GainOnSphere, GainOverMetrics, RegularizedGain
from dimetric.learners._fitting.problem import Problem, Solution, Watch, solve
from dimetric.objectives import fast_paths
from dimetric.objectives.engine import Rule
from dimetric.objectives.listed import ListedObjective
from dimetric.objectives.objective import Objective
from dimetric.objectives.pairwise import PairwiseObjective
from dimetric.objectives.side import Side
from dimetric.solvers import LBFGS, ProjectedGradient, Solver
from dimetric.supervision.labels import Supervision, checked_labels
from dimetric.supervision.pairs import Pairs


class DistanceRule(Rule):
    r"""The distances between samples of different classes, :math:`\sqrt{d^2 + \epsilon}`.

    Each pair of samples is in the matrix of distances twice; each time it counts a half. Theta
    holds :math:`\epsilon`, without which a distance of 0 would have no derivative.
    """

    def fast(
        self, Z: np.ndarray, V: np.ndarray, side: Side, theta: np.ndarray
    ) -> tuple[float, np.ndarray, float]:
        """Return what the engine does, see :class:`dimetric.objectives.engine.Rule`."""
        return fast_paths.lsi(Z, V, side, float(theta[0]))

    def block(
        self, xp: Any, D: Array, rows: Side, columns: Side, theta: Any
    ) -> tuple[Array, Array, float]:
        """Return (sum, W, 0) of a block, see :class:`dimetric.objectives.engine.Rule`."""
        R = xp.where(rows.same_label(columns), 0.0, xp.sqrt(D + float(theta[0]))) / 2
        W = xp.where(R > 0, 1 / xp.where(R > 0, 8 * R, 1.0), 0.0)
        return xp.sum(R, dtype=xp.float64), W, 0.0

    def listed(self, xp: Any, D: Array, kinds: Array, theta: Any) -> tuple[float, Array, float]:
        """Return (sum, w, 0) of listed pairs, see :mod:`dimetric.objectives.listed`."""
        R = xp.sqrt(D + float(theta[0]))
        return float(xp.sum(R)), xp.where(R > 0, 0.5 / xp.where(R > 0, R, 1.0), 0.0), 0.0


class LSI(ConstrainedMetric[Objective]):
    r"""Learning with side information: dissimilar samples far apart, similar ones near.

    .. math:: \max_M \sum_D d_{ij} \quad \text{s.t.} \quad
              \sum_S d^2_{ij} + \delta \frac{\mathrm{tr} X_S}{d} \mathrm{tr} M \le 1, \;
              M \succeq 0, \qquad d^2_{ij} = (x_i - x_j)^T M (x_i - x_j)

    Similar pairs S (must link) are those of one class, or given; dissimilar ones D (cannot link)
    are all others, or given; :math:`X_S = \sum_S (x_i - x_j)(x_i - x_j)^T`. Distances between
    dissimilar samples are not squared: squares would be best served by a single direction, the
    top eigenvector of :math:`X_S^{-1} X_D` [1]_. The problem is convex, and ``metadata()`` holds
    a proven bound of how far its optimum is away, ``gap``.

    Parameters
    ----------
    reg : float, default=1.0
        Weight of what keeps M from collapsing: the objective is multiplied by
        :math:`\rho(M)^{reg}`, where :math:`\rho` is the geometric mean of the eigenvalues of M,
        relative to the constraint, over their arithmetic mean. With 0 few directions matter, often
        one less than classes; a large one leads to the inverse of the constraint's matrix, the
        Mahalanobis distance within classes.
    delta : float, default=0.1
        Weight of the trace beside the similar pairs. Without it there is no optimum if similar
        samples agree in a direction that others differ in: then 0 is an error.
    diagonal : bool, default=False
        Learn weights of the features alone, a diagonal M.
    solver : {"lbfgs", "projected"} or solver object, default="lbfgs"
        :class:`~dimetric.solvers.LBFGS` maximises :math:`\sum_D d_{ij}` relative to the root of the
        constraint over maps L, :math:`M = L^T L`, which leaves no constraint. "projected" is the
        authors' gradient ascent over M with iterated projections,
        :class:`~dimetric.solvers.ProjectedGradient`.
    max_iter : int, default=100
        Largest number of iterations.
    tol : float, default=1e-5
        Tolerance on the logarithm of the objective. The solver stops when the largest entry of
        its gradient is below `tol`, or an iteration gains less than ``tol / 10``.
    unlabelled : float, str or None, default=None
        Label that marks samples without a label, often -1. These samples are left out.
    verbose : int, default=0
        Log each iteration if positive.

    Attributes
    ----------
    components_ : array of shape (n_features, n_features)
        The map L; of fewer rows if there are fewer samples than features, one for each direction
        that they differ in.
    offset_ : array of shape (n_features,)
        0.
    classes_ : ndarray of shape (n_classes,)
        Labels, if there are any.
    n_iter_ : int
        Number of iterations.
    history_ : tuple of float
        The objective at the start and after every iteration, as the solver saw it.
    n_features_in_ : int
        Number of features; ``feature_names_in_`` holds their names where X has any.

    Notes
    -----
    Pairs of a class are summed in closed form, those of different classes over blocks of samples:
    no list of them is ever made. Dissimilar pairs of identical samples stay at distance 0.

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
        unlabelled: float | str | None = None,
        verbose: int = 0,
    ) -> None:
        self.reg = reg
        self.delta = delta
        self.diagonal = diagonal
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.unlabelled = unlabelled
        self.verbose = verbose

    def _objective(self, points: Array, supervision: Supervision, originals: Array) -> Objective:
        xp = namespace(points)
        centred = points - xp.mean(points, axis=0)
        # Relative to the mean squared distance at the start, and above its rounding.
        epsilon = max(1e-12, 100 * eps(points)) * float(xp.mean(centred * centred))
        if isinstance(supervision, Pairs):
            kinds = np.ones(len(supervision.dissimilar), dtype=np.int64)
            return ListedObjective(DistanceRule(), points, supervision.dissimilar, kinds, [epsilon])
        return PairwiseObjective(
            DistanceRule(), points, checked_labels(supervision).codes, [epsilon]
        )

    def _minimise(
        self, problem: Problem[RegularizedGain[Objective]], solver: Solver, watch: Watch
    ) -> Solution:
        gain = problem.objective
        kind = GainOnSphere if solver.steps_over == "maps" else GainOverMetrics
        function = kind(gain, problem.start, gain.objective.theta)
        return solve(function, solver, max_iter=self.max_iter, tol=self.tol, watch=watch)

    def _value(self, gain: RegularizedGain[Objective], L: np.ndarray) -> float:
        Z = gain.objective.points @ asarray_like(L, gain.objective.points).T
        return float(gain.objective.evaluate(Z, Z[:, :1], np.zeros(1))[0])

    def _certified(
        self, gain: RegularizedGain[Objective], L: np.ndarray, theta: np.ndarray
    ) -> tuple[float, float]:
        # The smoothed sum is above that of distances.
        return gain.certified(self._value(gain, L), L, *gain.sum_and_scatter(L, theta))
