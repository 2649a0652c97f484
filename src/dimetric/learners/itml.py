"""Information-theoretic metric learning."""

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array

from dimetric._arrays.namespaces import Array, asarray_like, namespace, to_host
from dimetric._arrays.validation import rescale_for_squares
from dimetric._compat import Interval, StrOptions
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
from dimetric.learners._fitting.problem import MapFunction, Problem, Solution, Watch, solve
from dimetric.learners.covariance import Covariance
from dimetric.linalg.psd import square_root
from dimetric.objectives.listed import ListedObjective, differing
from dimetric.solvers import LBFGS, BregmanProjections, Solver
from dimetric.solvers.bregman_projections import ProvenResult
from dimetric.supervision._sampling import LabelledCombinations
from dimetric.supervision.labels import Labels, Supervision, checked_labels
from dimetric.supervision.pairs import Pairs

MAX_DEFAULT_CONSTRAINTS = 5000  # of each kind, unless more are asked for


class ITML(IterativeMetric[ListedObjective[ITMLRule]]):
    r"""Information-theoretic metric learning: near a prior metric, with distances within bounds.

    .. math:: \min_{M, \xi} D(M, M_0) + \gamma \sum_{S} \phi(\xi_{ij} / u)
              + \gamma \sum_{D} \phi(\xi_{ij} / l) \quad \text{s.t.} \quad
              d^2_{ij} \le \xi_{ij} \text{ in } S, \; d^2_{ij} \ge \xi_{ij} \text{ in } D

    Squared distances :math:`d^2_{ij} = (x_i - x_j)^T M (x_i - x_j)` of similar pairs S are to be
    at most u, those of dissimilar pairs D at least l. :math:`D(M, M_0) = \mathrm{tr}(M M_0^{-1})
    - \log\det(M M_0^{-1}) - d` is the LogDet divergence from the prior :math:`M_0`, which is the
    one between Gaussians with these precisions, and :math:`\phi(x) = x - \log x - 1` that of the
    slacks :math:`\xi` [1]_. The problem is convex, M positive definite as the prior is, and
    ``metadata()`` holds a proven bound of how far the optimum is away, ``gap``, by the dual
    problem. Where the prior meets all bounds it is the answer.

    Parameters
    ----------
    gamma : float, default=1.0
        How much the bounds weigh against the prior.
    bounds : pair of float or None, default=None
        The bounds u and l of SQUARED distances; None are the 5th and 95th percentile of squared
        distances under the prior, over samples that differ.
    prior : {"identity", "covariance"} or array of shape (n_features, n_features), \
            default="identity"
        :math:`M_0`, positive definite; "covariance" is the inverse of the samples' covariance, or
        its pseudo-inverse where they do not vary in all directions (constant or repeated features,
        fewer samples than features): these do not count in M either, which is singular then.
    n_constraints : int or None, default=None
        How many pairs of each kind are drawn from labels at random, all if there are fewer; None
        is 20 times the square of the number of classes, 5,000 at most.
    solver : {"lbfgs", "bregman"} or solver object, default="lbfgs"
        :class:`~dimetric.solvers.LBFGS` minimises over maps L, :math:`M = L^T L`, with the best
        slacks put in, which leaves no constraint. "bregman" is the authors' method of cyclic
        projections on the constraints, :class:`~dimetric.solvers.BregmanProjections`.
    max_iter : int, default=100
        Largest number of iterations; with "bregman", of sweeps over all constraints.
    tol : float, default=1e-5
        Stop when the gradient's largest entry is below, or the objective falls by less than a
        tenth of it in an iteration, relative to its value; of "bregman", when the gap is that
        small.
    unlabelled : float, str or None, default=None
        Label that marks samples without a label, often -1. These samples are left out.
    verbose : int, default=0
        Log each iteration if positive.
    random_state : int, RandomState or None, default=None
        Seed for drawing pairs, and for estimating the default bounds.

    Attributes
    ----------
    components_ : array of shape (n_features, n_features)
        The map L.
    offset_ : array of shape (n_features,)
        0.
    bounds_ : tuple of float
        The bounds u and l.
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
    The objective is a sum, not a mean as elsewhere, so that `gamma` has the authors' meaning.
    Dissimilar pairs of identical samples, which no metric takes apart, are left out.

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
        "prior": [StrOptions({"identity", "covariance"}), "array-like"],
        "n_constraints": [Interval(Integral, 1, None, closed="left"), None],
        "unlabelled": [Real, str, None],
        "random_state": ["random_state"],
    }
    _supervision_kinds = ("y", "pairs")
    _remedy = "Raise max_iter or tol, or lower gamma."

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
        self.unlabelled = unlabelled
        self.verbose = verbose
        self.random_state = random_state

    def _check_supervision(self, X: Array, supervision: Supervision) -> None:
        check_dissimilar("ITML", X, supervision)

    def _problem(self, X: Array, supervision: Supervision) -> Problem[ListedObjective[ITMLRule]]:
        # By content alone: the pairs drawn must not depend on the names of classes.
        X, supervision, _ = in_canonical_order(X, supervision, by_class=False)
        X, factor = rescale_for_squares(X, affected="prior and bounds")
        xp, rng = namespace(X), check_random_state(self.random_state)
        # Under the root T of the prior, the prior is the identity.
        T = self._root_of_prior(X)
        samples = xp.astype(X, xp.float64) @ asarray_like(T, X, dtype=xp.float64).T
        at = Coordinates.of(samples, np.eye(len(T)), keep_rest=True)
        points = at.samples / at.unit
        self.bounds_ = self._checked_bounds(points, rng)
        if not isinstance(supervision, Pairs):
            supervision = self._drawn(checked_labels(supervision), rng)
        return Problem(
            objective=self._objective(points, supervision, X),
            start=np.eye(points.shape[1]),
            restore=lambda B: asarray_like(at.back(at.start @ B) @ T * factor, X),
        )

    def _root_of_prior(self, X: Array) -> np.ndarray:
        """Return T, with the prior as T^T T."""
        d = X.shape[1]
        if isinstance(self.prior, str):
            if self.prior == "identity":
                return np.eye(d)
            return to_host(Covariance().fit(X).components_).astype(np.float64)
        M0 = check_array(to_host(self.prior), dtype=np.float64, input_name="prior")
        if M0.shape != (d, d):
            raise ValueError(f"prior has shape {M0.shape}; it must be ({d}, {d}).")
        is_symmetric = np.allclose(M0, M0.T, rtol=1e-6, atol=1e-9 * np.abs(M0).max())
        if not is_symmetric or np.linalg.eigvalsh((M0 + M0.T) / 2)[0] <= 0:
            raise ValueError("prior must be symmetric and positive definite: add a multiple of I.")
        return square_root(M0)

    def _checked_bounds(self, points: Array, rng: np.random.RandomState) -> tuple[float, float]:
        """Return the bounds that are given, or percentiles of squared distances."""
        if self.bounds is not None:
            bounds = check_array(self.bounds, dtype=float, ensure_2d=False, input_name="bounds")
            if bounds.shape != (2,) or not np.all(bounds > 0):
                raise ValueError(
                    f"bounds={self.bounds!r} must be two positive numbers: the upper bound of "
                    "similar, the lower bound of dissimilar samples' squared distances."
                )
            return float(bounds[0]), float(bounds[1])
        X = to_host(points)
        if len(X) <= 200:
            i, j = np.triu_indices(len(X), 1)
        else:
            i, j = rng.randint(len(X), size=(2, 20_000))
        squares = np.sum((X[i] - X[j]) ** 2, axis=1)
        squares = squares[squares > 0]
        if not len(squares):  # all samples are one point
            return 1.0, 1.0
        upper, lower = np.percentile(squares, [5, 95])
        return float(upper), float(lower)

    def _drawn(self, labels: Labels, rng: np.random.RandomState) -> Pairs:
        """Return pairs of samples of one class, and of different classes."""
        n = self.n_constraints
        if n is None:
            n = min(MAX_DEFAULT_CONSTRAINTS, 20 * labels.n_classes**2)
        _, first, codes = np.unique(labels.codes, return_index=True, return_inverse=True)
        by_appearance = np.argsort(np.argsort(first))
        classes = LabelledCombinations(by_appearance[codes])
        return Pairs(classes.similar(n, rng), classes.dissimilar(n, rng), classes.n)

    def _objective(
        self, points: Array, pairs: Pairs, originals: Array
    ) -> ListedObjective[ITMLRule]:
        dissimilar = pairs.dissimilar[differing(originals, pairs.dissimilar)]
        rows = np.concatenate([pairs.similar, dissimilar])
        if not len(rows):
            raise ValueError(
                "ITML has no pairs to learn from: no two samples are of one class, and those of "
                "different classes are the same point."
            )
        kinds = np.repeat([0, 1], [len(pairs.similar), len(dissimilar)])
        rule = ITMLRule(float(self.gamma), *self.bounds_)
        return ListedObjective(rule, points, rows, kinds)

    def _minimise(
        self, problem: Problem[ListedObjective[ITMLRule]], solver: Solver, watch: Watch
    ) -> Solution:
        function: MapFunction = DivergenceOverMetrics.of(problem.objective)
        if solver.steps_over == "maps":
            function = DivergenceOverMaps(problem.objective, problem.start)
        return solve(function, solver, max_iter=self.max_iter, tol=self.tol, watch=watch)

    def _facts(
        self, problem: Problem[ListedObjective[ITMLRule]], solution: Solution
    ) -> dict[str, Any]:
        result = solution.result
        if isinstance(result, ProvenResult):
            return {"gap": result.gap}
        return {"gap": max(0.0, result.value - dual_value(problem.objective, solution.map))}
