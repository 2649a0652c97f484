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
    GainOverMaps,
    GainOverMetrics,
    RegularizedGain,
    as_square,
)
from dimetric.learners._fitting.problem import (
    MapCallback,
    Problem,
    Solution,
    solve,
    with_iteration_offset,
)
from dimetric.learners._fitting.references import (
    REFERENCE_PARAMETER,
    ReferenceLabels,
    ReferenceMixin,
)
from dimetric.objectives.objective import SoftMinimum
from dimetric.objectives.references.softmin import ReferenceSoftmin
from dimetric.objectives.softmin import ListedSoftmin, SoftminObjective
from dimetric.solvers import LBFGS, FrankWolfe, Result, Solver
from dimetric.solvers.result import NO_DECREASE, STOPPED_BY_CALLBACK, max_iter_reached
from dimetric.supervision._weights import ClassWeight
from dimetric.supervision.labels import Supervision, checked_labels, relative_weights
from dimetric.supervision.pairs import Pairs

ROUGH_TOL = 1e-3  # tolerance of all smoothing levels except the last
SMALLEST_TOL = 1e-13  # tolerances below this are not lowered further
# The following numbers are chosen by experiment.
DEFAULT_SMOOTHING_IN_TOLS = 1e4
DEFAULT_SMOOTHING_RANGE = (1e-4, 0.1)
TOLERATED_GAP_IN_TOLS = 100  # a gap may exceed the error of smoothing by this many tol
CERTIFICATE_SMOOTHINGS = (1.0, 0.3, 0.1)  # factors of mu; each gives another bound

_Gain: TypeAlias = RegularizedGain[SoftMinimum]


class DMLEig(ReferenceMixin, ConstrainedMetric[SoftMinimum]):
    r"""Distance metric learning by eigenvalue optimisation (DML-eig).

    .. math:: \max_M \min_D d^2_{ij} \quad \text{s.t.} \quad
              \sum_S d^2_{ij} + \delta \frac{\mathrm{tr} X_S}{d} \mathrm{tr} M \le 1, \;
              M \succeq 0, \qquad d^2_{ij} = (x_i - x_j)^T M (x_i - x_j)

    DML-eig maximises the smallest distance between dissimilar samples. With labels, the similar
    pairs S are the pairs of the same class, and the dissimilar pairs D are all other pairs.
    Otherwise both are given. With :math:`X_S = \sum_S (x_i - x_j)(x_i - x_j)^T`, the constraint
    limits the distances of similar pairs. Directions in which the samples do not vary are dropped,
    and d is the number of the other directions, so that a constant feature has no effect. The dual
    problem minimises the largest eigenvalue of a weighted mean of
    :math:`X_S^{-1/2} (x_i - x_j) (x_i - x_j)^T X_S^{-1/2}` over D [1]_. Its values bound the
    optimum: ``metadata()["gap"]`` is a proven bound on how far the objective is below its maximum.
    The solvers replace the minimum by the smooth minimum
    :math:`-\mu \log \frac{1}{|D|} \sum_D e^{-d^2 / \mu}`.

    With sample weights, which are first divided by their mean, a pair has the weight
    :math:`w_i w_j` in :math:`X_S` and in the smooth minimum, whose sum is divided by the sum of
    these weights. The minimum itself does not depend on positive weights.

    Parameters
    ----------
    smoothing : float or None, default=None
        Final :math:`\mu`, relative to the smallest squared distance between dissimilar samples.
        Small values approximate the minimum well. Larger values are faster and often classify
        better. None stands for ``10000 * tol``, limited to [0.0001, 0.1].
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
    solver : {"lbfgs", "frank_wolfe"} or solver object, default="lbfgs"
        Solver. :class:`~dimetric.solvers.LBFGS` maximises over maps L, :math:`M = L^T L`. It
        rescales each L to meet the constraint with equality, so that no constraint remains.
        :class:`~dimetric.solvers.FrankWolfe` is the authors' method: each iteration moves M
        towards a matrix of rank 1.
    max_iter : int, default=100
        Maximum number of iterations.
    tol : float, default=1e-5
        Tolerance on the logarithm of the objective. "lbfgs" stops when the gap is as small as the
        smoothing allows and, in addition, the largest entry of the gradient is at most `tol` or an
        iteration gains at most ``tol / 10``. "frank_wolfe" stops when the logarithm is proven to be
        within `tol` of its optimum (relative to its total change if that is larger than 1).
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
        the pairs of a sample and a reference, with the weight 1/2 in S, so the time grows with
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
    samples are ignored, because the smallest distance would be 0 for every metric.

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
        **REFERENCE_PARAMETER,
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
        identity_mix: float | str | None = None,
        class_weight: ClassWeight = None,
        unlabelled: float | str | None = None,
        n_references: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.smoothing = smoothing
        self.reg = reg
        self.delta = delta
        self.solver = solver
        self.max_iter = max_iter
        self.tol = tol
        self.identity_mix = identity_mix
        self.class_weight = class_weight
        self.unlabelled = unlabelled
        self.n_references = n_references
        self.verbose = verbose

    def _objective(self, points: Array, supervision: Supervision, originals: Array) -> SoftMinimum:
        if isinstance(supervision, Pairs):
            return ListedSoftmin(points, supervision.dissimilar, originals)
        codes = checked_labels(supervision).codes
        return SoftminObjective(points, codes, originals, relative_weights(supervision))

    def _objective_of_rows(
        self, sample: SoftMinimum, rows: ReferenceLabels, P: np.ndarray
    ) -> SoftMinimum:
        assert isinstance(sample, SoftminObjective)
        return ReferenceSoftmin(rows.source, rows.references, sample, P)

    def _minimise(self, problem: Problem[_Gain], solver: Solver, callback: MapCallback) -> Solution:
        """Solve with decreasing smoothing.

        Solvers that step over metrics use only the final smoothing.
        """
        gain, L, done, history = problem.objective, problem.start, 0, tuple[float, ...]()
        if solver.steps_over == "metrics":
            mu = np.asarray([self._final_smoothing() * _positive_min_squared_distance(gain, L)])
            function = GainOverMetrics(gain, L, mu)
            return solve(function, solver, max_iter=self.max_iter, tol=self.tol, callback=callback)
        levels = _smoothing_levels(self._final_smoothing())
        for level in levels:
            mu = np.asarray([level * _positive_min_squared_distance(gain, L)])
            tol = self.tol if level == levels[-1] else max(self.tol, ROUGH_TOL)
            result = self._solve_level(gain, L, mu, tol, solver, callback, done)
            L = as_square(result.x)
            done, history = done + result.n_iter, history + result.history[bool(history) :]
            if not result.converged or done >= self.max_iter:
                break
        if result.converged and level != levels[-1]:
            result = replace(result, converged=False, reason=max_iter_reached(self.max_iter))
        result = replace(result, n_iter=done, history=history)
        return Solution(L / np.linalg.norm(L), mu, result)

    def _solve_level(
        self,
        gain: _Gain,
        L: np.ndarray,
        mu: np.ndarray,
        tol: float,
        solver: Solver,
        callback: MapCallback,
        done: int,
    ) -> Result:
        """Run the solver for one mu, and lower tol until the gap is small.

        With small mu, the solver zigzags: a small gradient or gain does not imply a small gap.
        `done` is the number of iterations already used.
        """
        n_iter, history = 0, tuple[float, ...]()
        while True:
            left = self.max_iter - done - n_iter
            solution = solve(
                GainOverMaps(gain, L, mu),
                solver,
                max_iter=left,
                tol=tol,
                callback=with_iteration_offset(callback, done + n_iter),
            )
            L, result = solution.map, solution.result
            n_iter, history = n_iter + result.n_iter, history + result.history[bool(history) :]
            gap_is_small, reason = self._is_within_smoothing_error(gain, L, mu), result.reason
            if reason == STOPPED_BY_CALLBACK:
                gap_is_small = False
            elif result.n_iter >= left and not (gap_is_small and result.converged):
                gap_is_small, reason = False, max_iter_reached(self.max_iter)
            elif gap_is_small and not result.converged:
                reason = NO_DECREASE  # the line search failed at the optimum
            elif not gap_is_small and tol < SMALLEST_TOL:
                reason = "rounding errors prevent further progress"
            elif not gap_is_small:
                tol /= 10
                continue
            return Result(L.ravel(), result.value, n_iter, gap_is_small, reason, history)

    def _final_smoothing(self) -> float:
        """Return the final smoothing, relative to the smallest squared distance."""
        if self.smoothing is not None:
            return float(self.smoothing)
        smallest, largest = DEFAULT_SMOOTHING_RANGE
        return min(largest, max(DEFAULT_SMOOTHING_IN_TOLS * self.tol, smallest))

    def _is_within_smoothing_error(self, gain: _Gain, L: np.ndarray, mu: np.ndarray) -> bool:
        """Return whether the gap of a map is within the error of the smooth minimum.

        The smooth minimum exceeds the smallest squared distance by at most mu log |D|.
        """
        smallest = _min_squared_distance(gain, L)
        tolerated = (
            float(mu[0]) * np.log(gain.objective.n_pairs)
            + TOLERATED_GAP_IN_TOLS * self.tol * smallest
        )
        certificates = _certificates(gain, L, mu, smallest)
        return any(gap * smallest <= tolerated * value for value, gap in certificates)

    def _exact_gain(self, gain: _Gain, L: np.ndarray) -> float:
        return _min_squared_distance(gain, L)

    def _objective_and_gap(
        self, gain: _Gain, L: np.ndarray, theta: np.ndarray
    ) -> tuple[float, float]:
        certificates = _certificates(gain, L, theta, _min_squared_distance(gain, L))
        return min(certificates, key=lambda certificate: certificate[1])


def _certificates(
    gain: _Gain, L: np.ndarray, theta: np.ndarray, smallest: float
) -> Iterator[tuple[float, float]]:
    """Yield pairs of the objective and a proven gap, one for each of several mu.

    The smallest squared distance is at most any weighted mean of the squared distances. Each mu
    gives different weights, and no mu gives the smallest gap in all cases.
    """
    for mu in theta * [[factor] for factor in CERTIFICATE_SMOOTHINGS]:
        _, S = gain.value_and_metric_gradient(L, mu)
        yield gain.objective_and_gap(smallest, L, float(np.vdot(L @ S, L)), S)


def _smoothing_levels(last: float) -> list[float]:
    """Return levels of smoothing from 1 down to `last`, each about 10**0.5 times the next."""
    if last >= 1:
        return [last]
    n_levels = 1 + int(np.ceil(2 * np.log10(1 / last)))
    return np.geomspace(1.0, last, n_levels).tolist()


def _min_squared_distance(gain: _Gain, L: np.ndarray) -> float:
    """Return the smallest squared distance between dissimilar samples under a map."""
    objective = gain.objective
    return objective.smallest_squared_distance_at(asarray_like(L, objective.points))


def _positive_min_squared_distance(gain: _Gain, L: np.ndarray) -> float:
    """Return the smallest squared distance, or a small positive number if rounding makes it 0."""
    X = gain.objective.points
    size = float(namespace(X).mean(X * X))
    return max(_min_squared_distance(gain, L), 1e-12 * size)
