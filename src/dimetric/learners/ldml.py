"""Logistic discriminant metric learning."""

import warnings
from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from dimetric._arrays.namespaces import Array, asarray_like, namespace, to_host
from dimetric._compat import Interval
from dimetric.learners._fitting.convex import Below, ConvexMetric
from dimetric.learners._fitting.problem import Problem, Solution, Watch
from dimetric.objectives import fast_paths
from dimetric.objectives.engine import Rule
from dimetric.objectives.listed import ListedObjective
from dimetric.objectives.objective import Objective, SimilarityObjective, metric_gradient
from dimetric.objectives.pairwise import PairwiseObjective
from dimetric.objectives.side import Side
from dimetric.solvers import LBFGS, Result, Solver
from dimetric.supervision.labels import Supervision, checked_labels
from dimetric.supervision.pairs import Pairs


class LDMLRule(Rule):
    r"""Minus the log-likelihood of which pairs are of one class, at odds :math:`e^{b - d^2}`.

    With the sign s = 1 for pairs of one class and -1 for others, the loss is
    :math:`\log(1 + e^u)`, :math:`u = s (d^2 - b)`, and the weights are :math:`W = s\,\sigma(u)`.
    Each pair of samples is in the matrix of distances twice; each time it counts a half.

    Parameters
    ----------
    b : float, optional
        The threshold. If it is None, theta holds the threshold, and it is learned.
    """

    def __init__(self, b: float | None = None) -> None:
        self.b = b

    def fast(
        self, Z: np.ndarray, V: np.ndarray, side: Side, theta: np.ndarray
    ) -> tuple[float, np.ndarray, float]:
        """Return what the engine does, see :class:`dimetric.objectives.engine.Rule`."""
        return fast_paths.ldml(Z, V, side, self._threshold(theta))

    def block(
        self, xp: Any, D: Array, rows: Side, columns: Side, theta: Any
    ) -> tuple[Array, Array, float]:
        """Return (loss, W, dtheta) of a block, see :class:`dimetric.objectives.engine.Rule`."""
        half = xp.astype(rows.different_sample(columns), D.dtype) / 2
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
        """Return the loss of each pair, and its derivative in the squared distance."""
        sign = xp.where(same, xp.ones_like(D), -xp.ones_like(D))
        U = sign * (D - self._threshold(theta))
        E = xp.exp(-xp.abs(U))
        W = sign * xp.where(U > 0, xp.ones_like(E), E) / (1 + E)
        return xp.clip(U, 0.0, None) + xp.log1p(E), W

    def n_terms(self, rows: Side, columns: Side) -> float:
        """Return the number of pairs."""
        return rows.n_different_pairs(columns) / 2

    def infimum(self, rows: Side, columns: Side) -> float:
        """Return 0: no finite map is certain of all pairs."""
        return 0.0

    def _threshold(self, theta: np.ndarray) -> float:
        return float(theta[0]) if self.b is None else self.b


class LDML(ConvexMetric[SimilarityObjective]):
    r"""Logistic discriminant metric learning: the distance that tells best who is of one class.

    .. math:: \max_{L, b} \frac{1}{|P|} \Big[\sum_{S} \log \sigma(b - d^2_{ij})
              + \sum_{D} \log \sigma(d^2_{ij} - b)\Big] - \frac{reg}{d} |L|_F^2, \qquad
              d^2_{ij} = |L x_i - L x_j|^2

    The pairs P of samples, all of them or those that are given in place of labels, are of one class
    (S) or of two (D), and :math:`\sigma(b - d^2)` is the probability of the former: logistic
    regression on the entries of :math:`M = L^T L` [1]_. The log-likelihood is concave in M and b: a
    map with all rows has one optimum, and ``metadata()`` holds a bound of how far away that is,
    ``gap`` (among metrics of trace ``gap_radius`` alone, unless ``gap_proven``).

    Parameters
    ----------
    n_components : int or None, default=None
        Rows of L; None is ``n_features``.
    b : float or None, default=None
        Squared distance at which a pair is as likely of one class as not; None is learned.
    init : str or array of shape (n_components, n_features), default="auto"
        Start: "identity", "pca", "lda" (at most ``n_classes - 1`` rows), "random", or a map.
        "auto" is "lda" if that has enough rows, else "pca" if the map has fewer rows than there are
        features and samples, else "identity".
    solver : {"lbfgs", "bgd", "sgd", "sdp"} or solver object, default="lbfgs"
        How the objective is maximised: by :class:`~dimetric.solvers.LBFGS`,
        :class:`~dimetric.solvers.GradientDescent`, :class:`~dimetric.solvers.SGD` for data too
        large to evaluate all pairs of samples, or, over the metric M instead of L,
        :class:`~dimetric.solvers.ProjectedGradient` ("sdp").
    max_iter : int, default=100
        Largest number of iterations. With "sgd" these are passes over the samples, or over 100
        mini-batches of them, and the objectives in the metadata are means over mini-batches.
    tol : float, default=1e-5
        Tolerance at which the solver stops, see :class:`~dimetric.solvers.LBFGS`.
    reg : float, default=0.0
        Weight of the ridge.
    warm_start : bool, default=False
        Start from the map of the last fit.
    unlabelled : float, str or None, default=None
        Label that marks samples without a label, often -1. These samples are left out.
    verbose : int, default=0
        Log each iteration if positive.
    random_state : int, RandomState or None, default=None
        Seed of mini-batches, of ``init="random"``, and of "pca" where that is randomised.

    Attributes
    ----------
    components_ : array of shape (n_components, n_features)
        The map L.
    offset_ : array of shape (n_features,)
        0.
    b_ : float
        The threshold b, learned or given.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    n_iter_ : int
        Number of iterations.
    history_ : tuple of float
        The objective at the start and after every iteration, as the solver saw it.
    n_features_in_ : int
        Number of features; ``feature_names_in_`` holds their names where X has any.

    Notes
    -----
    A start by name is brought to the size that fits best, a given one is taken as it is. Either
    starts with its best b.

    References
    ----------
    .. [1] M. Guillaumin, J. Verbeek, C. Schmid, "Is that you? Metric learning approaches for face
       identification", IEEE International Conference on Computer Vision, 2009.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> ldml = LDML().fit(X, y)
    >>> facts = ldml.metadata()
    >>> round(facts["final_objective"], 3), facts["gap"] < 0.01, round(ldml.b_, 1)
    (-0.151, True, 3.1)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = ConvexMetric._parameter_constraints | {
        "b": [Interval(Real, None, None, closed="neither"), None],
        "unlabelled": [Real, str, None],
    }
    _maximises = True
    _supervision_kinds = ("y", "pairs")

    def __init__(
        self,
        n_components: int | None = None,
        *,
        b: float | None = None,
        init: str | Array = "auto",
        solver: str | Solver = "lbfgs",
        max_iter: int = 100,
        tol: float = 1e-5,
        reg: float = 0.0,
        warm_start: bool = False,
        unlabelled: float | str | None = None,
        verbose: int = 0,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            n_components,
            init=init,
            solver=solver,
            max_iter=max_iter,
            tol=tol,
            reg=reg,
            warm_start=warm_start,
            verbose=verbose,
            random_state=random_state,
        )
        self.b = b
        self.unlabelled = unlabelled

    def _check_supervision(self, X: Array, supervision: Supervision) -> None:
        if isinstance(supervision, Pairs):
            return
        labels = checked_labels(supervision)
        n_labelled = int(np.sum(labels.codes >= 0))
        if n_labelled < 2:
            raise ValueError("LDML learns from pairs of samples, but y holds one label.")
        if labels.n_classes in (1, n_labelled):
            held = "one class" if labels.n_classes == 1 else "no two samples of a class"
            warnings.warn(f"y holds {held}: LDML has nothing to learn.", stacklevel=2)

    def _objective(
        self, X: Array, supervision: Supervision, order: np.ndarray
    ) -> SimilarityObjective:
        rule = LDMLRule(None if self.b is None else float(self.b))
        theta = [1.0] if self.b is None else []
        if isinstance(supervision, Pairs):
            return ListedObjective.of_pairs(rule, X, supervision, theta, infimum=0.0)
        return PairwiseObjective(rule, X, checked_labels(supervision).codes, theta)

    def _minimise(
        self, problem: Problem[SimilarityObjective], solver: Solver, watch: Watch
    ) -> Solution:
        solution = super()._minimise(problem, solver, watch)
        if self.b is None and not solver.uses_batches:
            L = solution.map
            best = likeliest_threshold(problem.objective, L, solution.theta)
            value = best.value + problem.ridge * float(np.vdot(L, L))
            solution = Solution(L, best.x, replace(solution.result, value=value))
        return solution

    def _theta_attributes(self, theta: np.ndarray) -> dict[str, Any]:
        return {"b_": float(theta[0] if self.b is None else self.b)}

    def _tangent(
        self, problem: Problem[SimilarityObjective], L: np.ndarray, theta: np.ndarray
    ) -> Below:
        if self.b is not None:
            return super()._tangent(problem, L, theta)
        objective = problem.objective
        b = likeliest_threshold(objective, L, theta).x
        value, G, (slope,) = metric_gradient(objective, L, b, ridge=problem.ridge)
        n_similar = objective.n_similar()
        if n_similar in (0, objective.n_terms):  # the best threshold is infinite
            return -np.inf, G
        # The slope is 0 but for rounding. What is left of it bounds f, too: the best threshold of
        # a metric N is not below the log odds of S, nor above them by more than the largest d2.
        log_odds = np.log(n_similar / (objective.n_terms - n_similar))
        largest = 4 * to_host(namespace(objective.points).max(objective.points**2, axis=0))
        c = value - float(np.vdot(L @ G, L)) + slope * (log_odds - float(b[0]))
        return c, G + min(slope, 0.0) * np.diag(largest) * len(G)


def likeliest_threshold(objective: Objective, L: np.ndarray, theta: np.ndarray) -> Result:
    """Return the solver's result for the b that is best for a map, with the mean loss there."""
    X, n = objective.points, objective.n_terms
    Z = X @ asarray_like(L, X).T

    def value_and_grad(b: np.ndarray) -> tuple[float, np.ndarray]:
        loss, _, slope = objective.evaluate(Z, Z[:, :1], b)
        return loss / n, np.asarray([slope / n])

    return LBFGS().minimise(value_and_grad, theta, tol=1e-8, infimum=objective.infimum)
