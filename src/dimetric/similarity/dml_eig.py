"""Distance metric learning by eigenvalue optimisation."""

from dataclasses import replace
from functools import partial
from numbers import Real
from typing import Any, ClassVar

import numpy as np

from dimetric._compat import Interval, StrOptions
from dimetric._descent.bounded import BoundedMetric, as_square, on_sphere
from dimetric._descent.solve import Solution, Watch
from dimetric._xp import Array, like, to_host
from dimetric.linalg.psd import metric_of, root
from dimetric.pairwise.objective import Objective, scatter
from dimetric.pairwise.softmin import ListedSoftmin, SoftminObjective
from dimetric.solvers.frank_wolfe import averaging_steps, frank_wolfe, smoothed_steps
from dimetric.solvers.lbfgs import lbfgs
from dimetric.solvers.result import STOPPED_BY_CALLBACK
from dimetric.supervision.pairs import Pairs


class DMLEig(BoundedMetric):
    r"""DML-eig: the nearest two dissimilar samples as far apart as can be.

    .. math:: \max_M \min_D d^2_{ij} \quad \text{s.t.} \quad
              \sum_S d^2_{ij} + \delta \frac{\mathrm{tr} X_S}{d} \mathrm{tr} M \le 1, \; M \succeq 0,
              \qquad d^2_{ij} = (x_i - x_j)^T M (x_i - x_j)

    Similar pairs S are those of one class, or given; dissimilar ones D are all others, or given;
    :math:`X_S = \sum_S (x_i - x_j)(x_i - x_j)^T`. With :math:`M = X_S^{-1/2} N X_S^{-1/2}` it is
    the problem to minimise the largest eigenvalue of a mean of :math:`X_S^{-1/2} (x_i - x_j)
    (x_i - x_j)^T X_S^{-1/2}` over D [1]_, which bounds the optimum: ``metadata()`` holds how far
    that is away at most, ``gap``. The minimum is smoothed, as
    :math:`-\mu \log \frac{1}{|D|} \sum_D e^{-d^2 / \mu}`.

    Parameters
    ----------
    smoothing : float, default=0.01
        :math:`\mu` at the end, relative to the least squared distance; it falls towards that.
    delta : float, default=0.001
        Weight of the trace beside the similar pairs. Without it there is no optimum if similar
        samples agree in a direction that others differ in: then 0 is an error.
    solver : {"lbfgs", "frank_wolfe"}, default="lbfgs"
        "lbfgs" maximises the least squared distance relative to the constraint over maps L,
        :math:`M = L^T L`, which leaves no constraint; "frank_wolfe" is the authors' method, which
        adds a direction to M in each iteration, a top eigenvector.
    schedule : {"smoothed", "averaging"}, default="smoothed"
        Steps of "frank_wolfe": :math:`2 / (t + 2)`, or :math:`1 / (t + 2)`, by which M is the
        mean of all directions.
    max_iter : int, default=100
        Most iterations.
    tol : float, default=1e-5
        Stop when the gradient of the objective's logarithm is below, or that gains less than a
        tenth of it in an iteration; of "frank_wolfe", when the smoothed objective is this near to
        its optimum, relative to where it started.
    verbose : int, default=0
        Log each iteration if positive.

    Attributes
    ----------
    components_ : array of shape (n_features, n_features)
        The map L; of fewer rows if there are fewer samples than features.
    offset_ : array of shape (n_features,)
        0.
    classes_ : ndarray of shape (n_classes,)
        Labels, if there are any.
    n_iter_ : int
        Iterations done.
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
    >>> facts = DMLEig(smoothing=1e-4, max_iter=1000).fit(X, y).metadata()
    >>> facts["gap"] < 0.01 * facts["final_objective"]
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BoundedMetric._parameter_constraints,
        "smoothing": [Interval(Real, 0, None, closed="neither")],
        "solver": [StrOptions({"lbfgs", "frank_wolfe"})],
        "schedule": [StrOptions({"smoothed", "averaging"})],
    }

    def __init__(
        self,
        *,
        smoothing: float = 0.01,
        delta: float = 0.001,
        solver: str = "lbfgs",
        schedule: str = "smoothed",
        max_iter: int = 100,
        tol: float = 1e-5,
        verbose: int = 0,
    ) -> None:
        self.smoothing = smoothing
        self.delta = delta
        self.solver = solver
        self.schedule = schedule
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose

    def _objective(self, points: Array, supervision: Any) -> Objective:
        objective: SoftminObjective | ListedSoftmin
        if isinstance(supervision, Pairs):
            objective = ListedSoftmin(points, supervision.dissimilar)
        else:
            objective = SoftminObjective(points, supervision)
        if not objective.has_pairs:
            raise ValueError(
                "DMLEig needs dissimilar samples that differ, and there are none: y holds "
                "one class, or all dissimilar samples are the same point."
            )
        return objective

    def _maximise(self, objective: Any, L0: np.ndarray, watch: Watch) -> Solution:
        if self.solver == "frank_wolfe":
            return self._by_frank_wolfe(objective, L0, watch)
        L, done, history = L0, 0, ()
        levels = _levels(self.smoothing)
        for level in levels:
            is_last = level == levels[-1]
            mu = np.asarray([level * _smallest(objective, L)])
            result = lbfgs(
                on_sphere(partial(_loss_of_map, objective, mu)),
                L.ravel(),
                max_iter=self.max_iter - done,
                tol=self.tol if is_last else max(self.tol, 1e-3),
                callback=partial(_told, watch, done),
            )
            L = as_square(result.x) / np.linalg.norm(result.x)
            done, history = done + result.n_iter, history + result.history[bool(history) :]
            if result.reason == STOPPED_BY_CALLBACK or (done >= self.max_iter and not is_last):
                break
        result = replace(result, n_iter=done, history=history)
        if not result.converged or not is_last:
            stopped = result.reason == STOPPED_BY_CALLBACK
            reason = result.reason if stopped else f"max_iter={self.max_iter} reached"
            result = replace(result, converged=False, reason=reason)
        return Solution(L, mu, result)

    def _by_frank_wolfe(self, objective: Any, L0: np.ndarray, watch: Watch) -> Solution:
        start = _smallest(objective, L0)
        mu = np.asarray([self.smoothing * start])

        def found(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return root(as_square(x)), mu

        def loss(x: np.ndarray) -> tuple[float, np.ndarray]:
            value, S = _softmin_and_scatter(objective, *found(x))
            return -value / start, -S.ravel() / start

        result = frank_wolfe(
            loss,
            metric_of(L0),
            step=smoothed_steps if self.schedule == "smoothed" else averaging_steps,
            max_iter=self.max_iter,
            tol=self.tol,
            callback=lambda x, value, n_iter: watch(
                lambda: found(x), -float(np.log(-value * start)), n_iter
            ),
        )
        history = tuple(-float(np.log(-value * start)) for value in result.history)
        return Solution(*found(result.x), replace(result, history=history))

    def _certified(self, objective: Any, solution: Solution) -> tuple[float, float]:
        L = solution.map / np.linalg.norm(solution.map)
        value = _smallest(objective, L)
        # The weights of a smooth minimum at any level are a mean of pairs; small ones fit best.
        levels = float(solution.theta[0]) * np.asarray([1.0, 0.3, 0.1])
        bounds = [_softmin_and_scatter(objective, L, np.asarray([mu]))[1] for mu in levels]
        bound = min(float(np.linalg.eigvalsh(S)[-1]) for S in bounds)
        return value, max(0.0, bound - value)

    @staticmethod
    def _shown(value: float) -> float:
        return float(np.exp(-value))


def _levels(smoothing: float) -> list[float]:
    """Return the levels that smoothing goes through, from 1 down by roots of ten."""
    if smoothing >= 1:
        return [smoothing]
    n_levels = 1 + int(np.ceil(2 * np.log10(1 / smoothing)))
    return np.geomspace(1.0, smoothing, n_levels).tolist()


def _told(watch: Watch, done: int, x: np.ndarray, value: float, n_iter: int) -> bool:
    """Tell of an iteration after others."""
    return watch(lambda: (as_square(x), np.zeros(0)), value, done + n_iter)


def _smallest(objective: Any, L: np.ndarray) -> float:
    """Return the least squared distance of dissimilar samples at a map."""
    return objective.smallest(objective.points @ like(L, objective.points).T)


def _loss_of_map(objective: Any, mu: np.ndarray, L: np.ndarray) -> tuple[float, np.ndarray]:
    """Return minus the logarithm of the smooth minimum, and its gradient in the map."""
    there = like(L, objective.points)
    value, LS, _ = scatter(objective, there, there, mu)
    return -float(np.log(value)), -2 / value * to_host(LS)


def _softmin_and_scatter(
    objective: Any, L: np.ndarray, mu: np.ndarray
) -> tuple[float, np.ndarray]:
    """Return the smooth minimum at a map, and its gradient in the metric, a mean over D."""
    value, S, _ = scatter(objective, like(L, objective.points), None, mu)
    S = to_host(S)
    return value, (S + S.T) / 2
