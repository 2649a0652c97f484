"""Information-theoretic metric learning."""

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.utils.validation import check_array

from dimetric._arrays.namespaces import Array, asarray_like, namespace, to_host
from dimetric._arrays.random_state import random_generator
from dimetric._arrays.validation import rescale_for_squares
from dimetric._compat import Interval, StrOptions
from dimetric._warnings import warn
from dimetric.learners._base import NamedObjects
from dimetric.learners._fitting.constrained import check_dissimilar
from dimetric.learners._fitting.coordinates import Coordinates
from dimetric.learners._fitting.divergence import (
    DivergenceOverMaps,
    DivergenceOverMetrics,
    ITMLRule,
    dual_value,
)
from dimetric.learners._fitting.iterative import IterativeMetric
from dimetric.learners._fitting.ordering import in_canonical_order
from dimetric.learners._fitting.prior import checked_prior, root_of_prior
from dimetric.learners._fitting.problem import MapCallback, MapFunction, Problem, Solution, solve
from dimetric.linalg.row_basis import RowBasis
from dimetric.objectives.listed import ListedObjective, pairs_differ
from dimetric.solvers import LBFGS, BregmanProjections, Solver
from dimetric.solvers.bregman_projections import ProvenResult
from dimetric.supervision._sampling import LabelledCombinations
from dimetric.supervision._weights import ClassWeight
from dimetric.supervision.labels import Labels, Supervision, checked_labels, relative_weights
from dimetric.supervision.pairs import Pairs

MAX_DEFAULT_CONSTRAINTS = 5000  # similar pairs, and as many dissimilar pairs
# The default bounds are percentiles of distances, over all pairs if there are few samples.
MAX_SAMPLES_WITH_ALL_PAIRS = 200  # 19,900 pairs
N_SAMPLED_PAIRS = 20_000  # random pairs, if there are more samples


class ITML(IterativeMetric[ListedObjective[ITMLRule]]):
    r"""Information-theoretic metric learning (ITML).

    .. math:: \min_{M, \xi} D(M, M_0) + \gamma \sum_{S} \phi(\xi_{ij} / u)
              + \gamma \sum_{D} \phi(\xi_{ij} / l) \quad \text{s.t.} \quad
              d^2_{ij} \le \xi_{ij} \text{ in } S, \; d^2_{ij} \ge \xi_{ij} \text{ in } D

    ITML searches for a metric M near a prior :math:`M_0` [1]_. The squared distances
    :math:`d^2_{ij} = (x_i - x_j)^T M (x_i - x_j)` of similar pairs S should be at most u, and the
    squared distances of dissimilar pairs D at least l. The slacks :math:`\xi` allow violations,
    with the penalty :math:`\phi(x) = x - \log x - 1`. :math:`D(M, M_0) = \mathrm{tr}(M M_0^{-1}) -
    \log\det(M M_0^{-1}) - d` is the LogDet divergence. It is proportional to the Kullback-Leibler
    divergence between Gaussians with the precision matrices M and :math:`M_0`.

    With sample weights, which are first divided by their mean, the weight of the penalty of a pair
    is :math:`\gamma w_i w_j`. The pairs that are sampled, the default bounds and the prior do not
    depend on the weights.

    The problem is convex, and M is positive definite if the prior is. If the prior meets all
    bounds, it is the solution. ``metadata()["gap"]`` is a proven bound on the difference from
    the optimal objective, computed from the dual problem.

    Parameters
    ----------
    gamma : float, default=1.0
        Weight of the bounds relative to the prior.
    bounds : pair of float or None, default=None
        The bounds u and l on squared distances. None stands for the 5th and 95th percentiles of
        the squared distances under the prior, over pairs of distinct samples.
    prior : {"identity", "covariance", "random"} or array of shape (n_features, n_features), \
            default="identity"
        The positive definite prior :math:`M_0`. "covariance" is the inverse of the sample
        covariance. If the covariance is singular (constant or repeated features, fewer samples than
        features), the pseudo-inverse is used, and M has the same null space. "random" is a random
        matrix :math:`A^T A`, whose :math:`2 d \times d` factor A has independent Gaussian entries.
        It is scaled to the trace of the identity. A singular array raises an error.
    n_constraints : int or None, default=None
        Number of similar pairs, and of dissimilar pairs, that are sampled from labels. If there
        are fewer pairs, all are used. None stands for ``min(20 * n_classes**2, 5000)``.
    solver : {"lbfgs", "bregman"} or solver object, default="lbfgs"
        Solver. :class:`~dimetric.solvers.LBFGS` minimises over maps L, :math:`M = L^T L`. It
        replaces the slacks by their optimal values, so that no constraint remains. "bregman"
        (:class:`~dimetric.solvers.BregmanProjections`) is the authors' method: cyclic projections
        onto the constraints.
    max_iter : int, default=100
        Maximum number of iterations. With "bregman", an iteration is a sweep over all constraints.
    tol : float, default=1e-5
        Tolerance. "lbfgs" stops when the largest entry of the gradient is at most `tol`, or an
        iteration decreases the objective by at most ``tol / 10``, relative to its value. "bregman"
        stops when the gap is at most `tol`, relative to the objective.
    identity_mix : float in [0, 1], "auto" or None, default=None
        Weight a of the identity in the metric, :math:`(1 - a) M + a\, \mathrm{tr}(M) / d\, I`.
        "auto" chooses a on held-out samples or pairs. None stands for 0. The gap in the
        metadata is that of the metric before mixing.
    class_weight : dict, "balanced" or None, default=None
        Weight of each class, which multiplies the weights of its samples. "balanced" gives all
        classes the same total weight.
    unlabelled : float, str or None, default=None
        Value of `y` that marks unlabelled samples, often -1. These samples are ignored.
    verbose : int, default=0
        Log each iteration if positive.
    random_state : int, RandomState or None, default=None
        Seed for ``prior="random"``, for sampling pairs, and for estimating the default bounds.

    Attributes
    ----------
    components_ : array of shape (n_features, n_features)
        The map L.
    offset_ : array of shape (n_features,)
        Zeros.
    bounds_ : tuple of float
        The bounds u and l.
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
    Unlike in other learners, the objective is a sum and not a mean, so that `gamma` has the same
    meaning as in the paper. Dissimilar pairs of identical samples are ignored.

    References
    ----------
    .. [1] J. V. Davis, B. Kulis, P. Jain, S. Sra, I. S. Dhillon, "Information-theoretic metric
       learning", ICML 2007.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> facts = ITML(random_state=0).fit(X, y).metadata()
    >>> facts["gap"] < 1e-3 * facts["final_objective"]
    True
    """

    _named_objects: ClassVar[NamedObjects] = {
        "solver": {"lbfgs": LBFGS, "bregman": BregmanProjections}
    }
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **IterativeMetric._parameter_constraints,
        "gamma": [Interval(Real, 0, None, closed="neither")],
        "bounds": ["array-like", None],
        "prior": [StrOptions({"identity", "covariance", "random"}), "array-like"],
        "n_constraints": [Interval(Integral, 1, None, closed="left"), None],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "unlabelled": [Real, str, None],
        "random_state": ["random_state"],
    }
    _supervision_kinds = ("y", "pairs")
    _accepts_weights = True
    _min_classes = 2
    _remedy = "Increase max_iter or tol, or lower gamma."
    tol: float

    def __init__(
        self,
        *,
        gamma: float = 1.0,
        bounds: Any = None,
        prior: str | Array = "identity",
        n_constraints: int | None = None,
        solver: str | Solver = "lbfgs",
        max_iter: int = 100,
        tol: float = 1e-5,
        identity_mix: float | str | None = None,
        class_weight: ClassWeight = None,
        unlabelled: float | str | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        self.gamma = gamma
        self.bounds = bounds
        self.prior = prior
        self.n_constraints = n_constraints
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.identity_mix = identity_mix
        self.class_weight = class_weight
        self.unlabelled = unlabelled
        self.verbose = verbose
        self.random_state = random_state

    def _check_supervision(self, X: Array, supervision: Supervision) -> None:
        check_dissimilar("ITML", X, supervision)

    def _problem(self, X: Array, supervision: Supervision) -> Problem[ListedObjective[ITMLRule]]:
        # Do not sort by class, so that the sampled pairs do not depend on the names of classes.
        X, supervision, _ = in_canonical_order(X, supervision, by_class=False)
        X, factor = rescale_for_squares(X)
        self._warn_if_rescaled(factor)
        xp, rng = namespace(X), random_generator(self.random_state)
        # In the coordinates T x, where T^T T is the prior, the prior is the identity.
        T = root_of_prior(self.prior, X, rng)
        samples = xp.astype(X, xp.float64) @ asarray_like(T, X, dtype=xp.float64).T
        coordinates = Coordinates.of(samples, np.eye(len(T)), keep_outside=True)
        points = coordinates.samples / coordinates.sample_scale
        self.bounds_ = self._checked_bounds(points, rng)
        weights = relative_weights(supervision)
        if not isinstance(supervision, Pairs):
            supervision = self._sampled_pairs(checked_labels(supervision), rng)
        return Problem(
            objective=self._objective(points, supervision, X, weights),
            start=np.eye(points.shape[1]),
            restore=lambda B: asarray_like(
                coordinates.map_of_samples(coordinates.start @ B) @ T * factor, X
            ),
        )

    def _warn_if_rescaled(self, factor: float) -> None:
        """Warn if X was rescaled, and `prior` or `bounds` are given in the original units."""
        given = [name for name in ("prior", "bounds") if np.ndim(getattr(self, name)) > 0]
        if given and factor != 1:
            warn(
                f"The values of X are around {1 / factor:.0e} and were rescaled to around 1, but "
                f"{' and '.join(given)} were not. Rescale X to values around 1, and choose "
                f"{' and '.join(given)} for the rescaled values."
            )

    def _move_to_basis(self, basis: RowBasis) -> None:
        if not isinstance(self.prior, str):
            M0 = checked_prior(self.prior, self.n_features_in_)
            self.prior = basis.of_coordinates(basis.of_coordinates(M0).T)

    def _checked_bounds(self, points: Array, rng: np.random.RandomState) -> tuple[float, float]:
        """Return the given bounds, or percentiles of the squared distances."""
        if self.bounds is not None:
            bounds = check_array(self.bounds, dtype=float, ensure_2d=False, input_name="bounds")
            if bounds.shape != (2,) or not np.all(bounds > 0):
                raise ValueError(
                    f"bounds={self.bounds!r} must be two positive numbers: an upper bound on the "
                    "squared distances of similar pairs, and a lower bound on those of dissimilar "
                    "pairs."
                )
            return float(bounds[0]), float(bounds[1])
        X = to_host(points)
        if len(X) <= MAX_SAMPLES_WITH_ALL_PAIRS:
            squares = pdist(X, "sqeuclidean")
        else:
            i, j = rng.randint(len(X), size=(2, N_SAMPLED_PAIRS))
            squares = np.sum((X[i] - X[j]) ** 2, axis=1)
        squares = squares[squares > 0]
        if not len(squares):  # all samples are identical
            return 1.0, 1.0
        upper, lower = np.percentile(squares, [5, 95])
        return float(upper), float(lower)

    def _sampled_pairs(self, labels: Labels, rng: np.random.RandomState) -> Pairs:
        """Return random pairs of the same class and of different classes."""
        present, first, codes = np.unique(labels.codes, return_index=True, return_inverse=True)
        n = self.n_constraints
        if n is None:
            n = min(MAX_DEFAULT_CONSTRAINTS, 20 * len(present) ** 2)
        by_appearance = np.argsort(np.argsort(first))
        combinations = LabelledCombinations(by_appearance[codes])
        similar, dissimilar = combinations.similar(n, rng), combinations.dissimilar(n, rng)
        return Pairs(similar, dissimilar, combinations.n)

    def _objective(
        self, points: Array, pairs: Pairs, originals: Array, weights: np.ndarray | None
    ) -> ListedObjective[ITMLRule]:
        dissimilar = pairs.dissimilar[pairs_differ(originals, pairs.dissimilar)]
        rows = np.concatenate([pairs.similar, dissimilar])
        if not len(rows):
            raise ValueError(
                "ITML has no pairs to learn from: no two samples have the same class, and samples "
                "of different classes are identical."
            )
        kinds = np.repeat([0, 1], [len(pairs.similar), len(dissimilar)])
        gamma: float | Array = float(self.gamma)
        if weights is not None:
            gamma = asarray_like(gamma * weights[rows[:, 0]] * weights[rows[:, 1]], points)
        rule = ITMLRule(gamma, *self.bounds_)
        return ListedObjective(rule, points, rows, kinds)

    def _minimise(
        self, problem: Problem[ListedObjective[ITMLRule]], solver: Solver, callback: MapCallback
    ) -> Solution:
        function: MapFunction = DivergenceOverMetrics.of(problem.objective)
        if solver.steps_over == "maps":
            function = DivergenceOverMaps(problem.objective, problem.start)
        return solve(function, solver, max_iter=self.max_iter, tol=self.tol, callback=callback)

    def _extra_metadata(
        self, problem: Problem[ListedObjective[ITMLRule]], solution: Solution
    ) -> dict[str, Any]:
        result = solution.result
        if isinstance(result, ProvenResult):
            return {"gap": result.gap}
        return {"gap": max(0.0, result.value - dual_value(problem.objective, solution.map))}
