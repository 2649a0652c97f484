"""Distance metric learning by eigenvalue optimisation."""

from collections.abc import Iterator
from dataclasses import replace
from numbers import Real
from typing import Any, ClassVar, TypeAlias

import numpy as np

from dimetric._arrays.namespaces import Array, asarray_like, namespace
from dimetric._compat import Interval
from dimetric.learners._base import NamedObjects
from dimetric.learners._fitting.constrained import ConstrainedMetric
from dimetric.learners._fitting.gain import (
    GainOnSphere,
    GainOverMetrics,
    RegularizedGain,
    as_square,
)
from dimetric.learners._fitting.problem import Problem, Solution, Watch, counted_from, solve
from dimetric.objectives.objective import SoftMinimum
from dimetric.objectives.softmin import ListedSoftmin, SoftminObjective
from dimetric.solvers import LBFGS, FrankWolfe, Result, Solver
from dimetric.solvers.result import NO_DECREASE, STOPPED_BY_CALLBACK
from dimetric.supervision.labels import Supervision, checked_labels
from dimetric.supervision.pairs import Pairs

ROUGH_TOL = 1e-3  # of all levels of smoothing but the last
FINEST_TOL = 1e-13  # is not lowered further

LeastGain: TypeAlias = RegularizedGain[SoftMinimum]


class DMLEig(ConstrainedMetric[SoftMinimum]):
    r"""DML-eig: the nearest two dissimilar samples as far apart as can be.

    .. math:: \max_M \min_D d^2_{ij} \quad \text{s.t.} \quad
              \sum_S d^2_{ij} + \delta \frac{\mathrm{tr} X_S}{d} \mathrm{tr} M \le 1, \;
              M \succeq 0, \qquad d^2_{ij} = (x_i - x_j)^T M (x_i - x_j)

    Similar pairs S are those of one class, or given; dissimilar ones D are all others, or given;
    :math:`X_S = \sum_S (x_i - x_j)(x_i - x_j)^T`. With :math:`M = X_S^{-1/2} N X_S^{-1/2}` it is
    the problem to minimise the largest eigenvalue of a mean of :math:`X_S^{-1/2} (x_i - x_j)
    (x_i - x_j)^T X_S^{-1/2}` over D [1]_, which bounds the optimum: ``metadata()`` holds how far
    that is away at most, ``gap``. The minimum is smoothed, as
    :math:`-\mu \log \frac{1}{|D|} \sum_D e^{-d^2 / \mu}`.

    Parameters
    ----------
    smoothing : float or None, default=None
        :math:`\mu` at the end, relative to the least squared distance; it falls towards that. None
        is 10,000 times `tol`, but in [0.0001, 0.1]: with a small `tol` the optimum is that of the
        minimum itself, while some smoothing is both fast and good for neighbours.
    reg : float, default=1.0
        Weight of what keeps M from collapsing: the objective is multiplied by
        :math:`\rho(M)^{reg}`, where :math:`\rho` is the geometric mean of the eigenvalues of M,
        relative to the constraint, over their arithmetic mean. With 0 few directions matter, often
        one less than classes; a large one leads to the inverse of the constraint's matrix, the
        Mahalanobis distance within classes.
    delta : float, default=0.1
        Weight of the trace beside the similar pairs. Without it there is no optimum if similar
        samples agree in a direction that others differ in: then 0 is an error.
    solver : {"lbfgs", "frank_wolfe"} or solver object, default="lbfgs"
        :class:`~dimetric.solvers.LBFGS` maximises the least squared distance relative to the
        constraint over maps L, :math:`M = L^T L`, which leaves no constraint.
        :class:`~dimetric.solvers.FrankWolfe` is the authors' method, which adds a direction to M in
        each iteration, a top eigenvector.
    max_iter : int, default=100
        Largest number of iterations.
    tol : float, default=1e-5
        Tolerance on the logarithm of the objective. "lbfgs" stops when the largest entry of its
        gradient is below `tol`, or an iteration gains less than ``tol / 10``, and the gap is as
        small as smoothing allows. "frank_wolfe" stops when the logarithm is proven to be within
        `tol` of its optimum (relative to its total change, if that is above 1).
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
    no list of them is ever made. Dissimilar pairs of identical samples, which stay at distance 0
    under any metric, are left out.

    References
    ----------
    .. [1] Y. Ying, P. Li, "Distance metric learning with eigenvalue optimization", JMLR 13, 2012.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> facts = DMLEig(reg=0.0, tol=1e-7, max_iter=1000).fit(X, y).metadata()
    >>> facts["gap"] < 0.01 * facts["final_objective"]
    True
    """

    _named_objects: ClassVar[NamedObjects] = {"solver": {"lbfgs": LBFGS, "frank_wolfe": FrankWolfe}}
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ConstrainedMetric._parameter_constraints,
        "smoothing": [Interval(Real, 0, None, closed="neither"), None],
    }

    def __init__(
        self,
        *,
        smoothing: float | None = None,
        reg: float = 1.0,
        delta: float = 0.1,
        solver: str | Solver = "lbfgs",
        max_iter: int = 100,
        tol: float = 1e-5,
        unlabelled: float | str | None = None,
        verbose: int = 0,
    ) -> None:
        self.smoothing = smoothing
        self.reg = reg
        self.delta = delta
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.unlabelled = unlabelled
        self.verbose = verbose

    def _objective(self, points: Array, supervision: Supervision, originals: Array) -> SoftMinimum:
        if isinstance(supervision, Pairs):
            return ListedSoftmin(points, supervision.dissimilar, originals)
        return SoftminObjective(points, checked_labels(supervision).codes, originals)

    def _minimise(self, problem: Problem[LeastGain], solver: Solver, watch: Watch) -> Solution:
        """Solve with less and less smoothing; over metrics, with the last one alone."""
        gain, L, done, history = problem.objective, problem.start, 0, tuple[float, ...]()
        if solver.steps_over == "metrics":
            mu = np.asarray([self._last_level() * _typical_least(gain, L)])
            function = GainOverMetrics(gain, L, mu)
            return solve(function, solver, max_iter=self.max_iter, tol=self.tol, watch=watch)
        levels = _levels(self._last_level())
        for level in levels:
            mu = np.asarray([level * _typical_least(gain, L)])
            tol = self.tol if level == levels[-1] else max(self.tol, ROUGH_TOL)
            result = self._solve_level(gain, L, mu, tol, solver, watch, done)
            L = as_square(result.x)
            done, history = done + result.n_iter, history + result.history[bool(history) :]
            if not result.converged or done >= self.max_iter:
                break
        if result.converged and level != levels[-1]:
            result = replace(result, converged=False, reason=f"max_iter={self.max_iter} reached")
        result = replace(result, n_iter=done, history=history)
        return Solution(L / np.linalg.norm(L), mu, result)

    def _solve_level(
        self,
        gain: LeastGain,
        L: np.ndarray,
        mu: np.ndarray,
        tol: float,
        solver: Solver,
        watch: Watch,
        done: int,
    ) -> Result:
        """Run the solver after `done` iterations, with a smaller tol until the gap is closed.

        The smaller mu, the less do a small gradient or gain prove: the solver zigzags.
        """
        n_iter, history = 0, tuple[float, ...]()
        while True:
            left = self.max_iter - done - n_iter
            function, after = GainOnSphere(gain, L, mu), counted_from(watch, done + n_iter)
            found = solve(function, solver, max_iter=left, tol=tol, watch=after)
            L, result = found.map, found.result
            n_iter, history = n_iter + result.n_iter, history + result.history[bool(history) :]
            is_best, reason = self._is_best(gain, L, mu), result.reason
            if reason == STOPPED_BY_CALLBACK:
                is_best = False
            elif result.n_iter >= left and not (is_best and result.converged):
                is_best, reason = False, f"max_iter={self.max_iter} reached"
            elif is_best and not result.converged:
                reason = NO_DECREASE  # that a line search could find
            elif not is_best and tol < FINEST_TOL:
                reason = "rounding hides what there is left to gain"
            elif not is_best:
                tol /= 10
                continue
            return Result(L.ravel(), result.value, n_iter, is_best, reason, history)

    def _last_level(self) -> float:
        """Return the last smoothing: neither it nor the solver is to be much finer than needed."""
        if self.smoothing is not None:
            return float(self.smoothing)
        return min(0.1, max(1e4 * self.tol, 1e-4))

    def _is_best(self, gain: LeastGain, L: np.ndarray, mu: np.ndarray) -> bool:
        """Tell whether a map is as good as a smooth minimum can find it.

        The smooth minimum is between the least squared distance and that plus mu log |D|.
        """
        least = _smallest(gain, L)
        left = float(mu[0]) * np.log(gain.objective.n_pairs) + 100 * self.tol * least
        return any(gap * least <= left * value for value, gap in _certificates(gain, L, mu, least))

    def _value(self, gain: LeastGain, L: np.ndarray) -> float:
        return _smallest(gain, L)

    def _certified(self, gain: LeastGain, L: np.ndarray, theta: np.ndarray) -> tuple[float, float]:
        found = _certificates(gain, L, theta, _smallest(gain, L))
        return min(found, key=lambda certificate: certificate[1])


def _certificates(
    gain: LeastGain, L: np.ndarray, theta: np.ndarray, least: float
) -> Iterator[tuple[float, float]]:
    """Yield the objective and proven gaps, of which any may be the best.

    The least distance is at most any mean of them, such as a smooth minimum weighs them by.
    """
    for mu in theta * [[1.0], [0.3], [0.1]]:
        _, S = gain.sum_and_scatter(L, mu)
        yield gain.certified(least, L, float(np.vdot(L @ S, L)), S)


def _levels(last: float) -> list[float]:
    """Return the levels that smoothing goes through, from 1 down by roots of ten."""
    if last >= 1:
        return [last]
    n_levels = 1 + int(np.ceil(2 * np.log10(1 / last)))
    return np.geomspace(1.0, last, n_levels).tolist()


def _smallest(gain: LeastGain, L: np.ndarray) -> float:
    """Return the least squared distance of dissimilar samples at a map."""
    objective = gain.objective
    return objective.smallest_squared_distance(
        objective.points @ asarray_like(L, objective.points).T
    )


def _typical_least(gain: LeastGain, L: np.ndarray) -> float:
    """Return the same, if it is not 0 for rounding."""
    X = gain.objective.points
    size = float(namespace(X).mean(X * X))
    return max(_smallest(gain, L), 1e-12 * size)
