"""Information-theoretic metric learning."""

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from scipy.optimize import minimize_scalar
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_array

from dimetric._arrays.namespaces import Array, like, namespace, to_host
from dimetric._compat import Interval, Progress, StrOptions
from dimetric.learners._coordinates import Coordinates
from dimetric.learners._informed import InformedMetric
from dimetric.learners._iterative import into_range
from dimetric.learners._solve import Solution, Watch
from dimetric.learners.covariance import Covariance
from dimetric.linalg.psd import root
from dimetric.objectives.listed import ListedObjective, differing
from dimetric.solvers import LBFGS, BregmanProjections
from dimetric.solvers.bregman_projections import BoundedDivergence
from dimetric.supervision._draw import LabelledCombinations
from dimetric.supervision.pairs import Pairs

MOST_CONSTRAINTS = 5000  # of a kind, unless more are asked for


class ITMLRule:
    r"""How far squared distances break their bounds: :math:`\gamma\, \phi(\xi / b)`.

    The slack :math:`\xi` that is best for a given distance is the distance where that breaks its
    bound b, else b, so that :math:`\phi(x) = x - \log x - 1` is 0. The weights are
    :math:`\gamma (1 / b - 1 / \xi)`.
    """

    def __init__(self, gamma: float, upper: float, lower: float) -> None:
        self.gamma, self.upper, self.lower = gamma, upper, lower

    def listed(self, xp: Any, D: Array, kinds: Array, theta: Any) -> tuple[float, Array, float]:
        """Return (loss, w, 0) of listed pairs, see :mod:`dimetric.objectives.listed`."""
        ratio = self.ratios(xp, D, kinds)
        bound = xp.where(kinds == 0, self.upper * xp.ones_like(D), self.lower)
        loss = self.gamma * float(xp.sum(ratio - xp.log(ratio) - 1))
        return loss, self.gamma / bound * (1 - 1 / ratio), 0.0

    def ratios(self, xp: Any, D: Array, kinds: Array) -> Array:
        """Return the best slacks, relative to the bounds."""
        tiny = float(xp.finfo(D.dtype).smallest_normal) ** 0.5  # 1 / 0 has no value
        above = xp.clip(D / self.upper, 1.0, None)
        return xp.where(kinds == 0, above, xp.clip(D / self.lower, tiny, 1.0))


class ITML(InformedMetric):
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
    solver : {"lbfgs", "bregman"}, default="lbfgs"
        "lbfgs" minimises over maps L, :math:`M = L^T L`, with the best slacks put in, which leaves
        no constraint; "bregman" is the authors' method of cyclic projections on the constraints.
    max_iter : int, default=100
        Most iterations; of "bregman", sweeps over all constraints.
    tol : float, default=1e-5
        Stop when the gradient's largest entry is below, or the objective falls by less than a
        tenth of it in an iteration, relative to its value; of "bregman", when the gap is that
        small.
    unlabelled : float, str or None, default=None
        Label of samples that have none, often -1: they are left out.
    verbose : int, default=0
        Log each iteration if positive.
    random_state : int, RandomState or None, default=None
        Of the pairs that are drawn, and of those whose distances the bounds are percentiles of.

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
        Iterations done.
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

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **InformedMetric._parameter_constraints,
        "gamma": [Interval(Real, 0, None, closed="neither")],
        "bounds": ["array-like", None],
        "prior": [StrOptions({"identity", "covariance"}), "array-like"],
        "n_constraints": [Interval(Integral, 1, None, closed="left"), None],
        "solver": [StrOptions({"lbfgs", "bregman"})],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        *,
        gamma: float = 1.0,
        bounds: Any = None,
        prior: str | Array = "identity",
        n_constraints: int | None = None,
        solver: str = "lbfgs",
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

    def _learn(self, X: Array, supervision: Any, progress: Progress) -> dict[str, Any]:
        # By content alone: which pairs are drawn is not to depend on the names of classes.
        X, supervision = self._in_order(X, supervision, by_class=False)
        X, factor = into_range(X, "prior and bounds")
        xp, rng = namespace(X), check_random_state(self.random_state)
        # Under the root T of the prior, the prior is the identity.
        T = self._root_of_prior(X)
        samples = xp.astype(X, xp.float64) @ like(T, X, dtype=xp.float64).T
        at = Coordinates.of(samples, np.eye(len(T)), keep_rest=True)
        points = at.samples / at.unit
        self.bounds_ = self._checked_bounds(points, rng)
        if not isinstance(supervision, Pairs):
            supervision = self._drawn(supervision, rng)
        objective = self._objective(points, supervision, X)

        def fitted(B: np.ndarray) -> dict[str, Array]:
            components = like(at.back(at.start @ B) @ T * factor, X)
            return {"components_": components, "offset_": xp.zeros_like(components[0, :])}

        solution, gap = self._minimise(objective, self._watch(fitted, progress))
        return self._ended(
            solution.result,
            fitted(solution.map),
            "Raise max_iter or tol, or lower gamma.",
            initial_objective=solution.result.history[0],
            final_objective=solution.result.value,
            gap=gap,
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
        return root(M0)

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

    def _drawn(self, codes: np.ndarray, rng: np.random.RandomState) -> Pairs:
        """Return pairs of samples of one class, and of different classes."""
        n = self.n_constraints
        if n is None:
            n = min(MOST_CONSTRAINTS, 20 * len(self.classes_) ** 2)
        _, first, codes = np.unique(codes, return_index=True, return_inverse=True)
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
        self, objective: ListedObjective[ITMLRule], watch: Watch
    ) -> tuple[Solution, float]:
        """Return the best map in coordinates where the prior is the identity, and its gap."""
        settings: dict[str, Any] = {"max_iter": self.max_iter, "tol": self.tol}
        X, d = objective.points, objective.points.shape[1]
        if self.solver == "lbfgs":

            def found(flat: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
                return flat.reshape(d, d), objective.theta

            result = LBFGS().minimise(
                lambda flat: _divergence(objective, flat.reshape(d, d)),
                np.eye(d).ravel(),
                callback=lambda x, value, n: watch(lambda: found(x), value, n),
                **settings,
            )
            B, theta = found(result.x)
            return Solution(B, theta, result), max(0.0, result.value - dual_value(objective, B))

        def rooted(flat: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return root(flat.reshape(d, d)), objective.theta

        i, j = objective.rows.T
        V, is_similar = to_host(X)[i] - to_host(X)[j], objective.kinds == 0
        differs = np.any(V != 0, axis=1)
        divergence = BoundedDivergence(
            V[differs],
            is_similar[differs],
            np.where(is_similar[differs], *self.bounds_),
            float(self.gamma),
        )
        proven = BregmanProjections().minimise(
            divergence,
            np.eye(d).ravel(),
            callback=lambda x, value, n: watch(lambda: rooted(x), value, n),
            **settings,
        )
        return Solution(*rooted(proven.x), proven), proven.gap


def _divergence(objective: ListedObjective[ITMLRule], B: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the objective at a map where the prior is the identity, and its gradient."""
    sign, log_det = np.linalg.slogdet(B)
    if sign == 0:
        return np.inf, np.zeros(B.size)
    there = like(B, objective.points)
    loss, BS, _ = objective.scatter(there, there, objective.theta)
    value = float(np.vdot(B, B) - 2 * log_det) - len(B) + loss
    return value, 2 * (B - np.linalg.inv(B).T + to_host(BS)).ravel()


def dual_value(objective: ListedObjective[ITMLRule], B: np.ndarray) -> float:
    r"""Return a lower bound of the minimum, a value of the dual problem.

    The weights w at a map are multipliers, and so are c w for :math:`0 \le c \le 1` where
    :math:`I + c \sum w v v^T` is definite, with the value

    .. math:: \log\det\Big(I + c \sum w v v^T\Big) + \gamma \sum \log(1 - c + c\, b / \xi).

    At an optimum c = 1 is the best; near it, a little less may be.
    """
    X, rule = objective.points, objective.rule
    there = like(B, X)
    S = to_host(objective.scatter(there, None, objective.theta)[1])
    D = objective.distances(X @ there.T)
    xp = namespace(D)
    ratios = to_host(rule.ratios(xp, D, like(objective.kinds, X, dtype=xp.int64)))
    spread, excess = np.linalg.eigvalsh((S + S.T) / 2), 1 / ratios - 1

    def minus_dual(c: float) -> float:
        return -float(np.sum(np.log1p(c * spread)) + rule.gamma * np.sum(np.log1p(c * excess)))

    # All of both logarithms is positive below this c.
    least = float(min(np.min(spread), np.min(excess)))
    largest = 1.0 if least > -1 else -(1 - 1e-9) / least
    best = minimize_scalar(minus_dual, bounds=(0.0, largest), method="bounded")
    return max(0.0, -float(best.fun), -minus_dual(largest))
