"""The threshold of a distance at which the mean loss of a map is smallest."""

from typing import Self

import numpy as np

from dimetric._arrays.namespaces import asarray_like, eps
from dimetric.learners._fitting.start import MAX_SAMPLES_FOR_RESCALING
from dimetric.objectives.objective import Objective

SLOPE_TOL = 1e-6  # one more step of the secant method then makes the slope far smaller
SOLUTION_TOL = 1e-8  # at a solution, because its gap grows with the slope
PART_TOL = 1e-3  # for a part of the samples, which has another best threshold anyway
SLOPE_OF_TANGENT = 1e-6  # larger than rounding errors; it is divided by 1 + |b|
MAX_STEPS = 100  # a few steps are usual
SLOW = 0.75  # a step is slow if it reduces the slope by a smaller factor
# The first guess of the curvature. A better value is found after the first step.
CURVATURE_PER_LOSS, MAX_CURVATURE = 0.3, 0.1
MIN_PARTS = 2  # the search uses a part of the samples if it is at most 1 / MIN_PARTS of all


def likeliest_threshold(
    objective: Objective,
    L: np.ndarray,
    theta: np.ndarray,
    *,
    slope: float = 0.0,
    tol: float = SLOPE_TOL,
) -> np.ndarray:
    """Return the threshold b that minimises the mean loss of a map.

    If there are many samples and the initial b is not yet good, a part of the samples gives an
    estimate of b and of the curvature, so that a few evaluations with all samples suffice. If the
    objective has an approximation, the search uses it until its slope is small.

    Parameters
    ----------
    objective : Objective
        The objective, which is convex in its only extra parameter b.
    L : ndarray of shape (k, d)
        The map.
    theta : ndarray of shape (1,)
        Initial value of b.
    slope : float, default=0.0
        Slope of the mean loss at the returned threshold. At the minimum, the slope is 0.
    tol : float, default=1e-6
        Largest error of the slope before the last step.
    """
    coarse = objective.in_float32()
    first_tol = tol if coarse is None else max(tol, SLOPE_TOL)
    search = _ThresholdSearch(coarse or objective, L, float(theta[0]), slope, tol=first_tol)
    search.step()
    if len(objective.strata) >= MIN_PARTS * MAX_SAMPLES_FOR_RESCALING and not search.is_done():
        part_of_samples = objective.part(MAX_SAMPLES_FOR_RESCALING)
        part = _ThresholdSearch(part_of_samples, L, float(theta[0]), slope, tol=PART_TOL)
        part.run()
        search.continue_from(part)
    search.run()
    if coarse is not None:
        exact = _ThresholdSearch(objective, L, search.b, slope, tol=tol)
        exact.curvature = search.curvature
        exact.run()
        search = exact
    return np.asarray([search.b])


def threshold_of_tangent(objective: Objective, L: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """Return a threshold near the best one of a map. Its slope is positive despite rounding.

    A negative slope makes a lower bound of the objective much worse. The parameters are those of
    :func:`likeliest_threshold`.
    """
    slope = SLOPE_OF_TANGENT / (1 + abs(float(theta[0])))
    return likeliest_threshold(objective, L, theta, slope=slope)


def loss_at_threshold(
    objective: Objective, L: np.ndarray, theta: np.ndarray
) -> tuple[float, float]:
    """Return the mean loss of a map and its slope in the threshold."""
    n = objective.n_terms
    loss, slope = objective.value(asarray_like(L, objective.points), theta)
    return loss / n, float(np.reshape(slope, -1)[0]) / n


class _ThresholdSearch:
    """A search for the best b by the secant method.

    The slope of a convex function increases. So a b with a positive slope is an upper bound on the
    best b, and one with a negative slope is a lower bound. A step that leaves these bounds is
    replaced by bisection. So is a step after one that hardly changed the slope: far from the best
    b, the slope is nearly constant, and the secant method fails. If one of the bounds is not yet
    known, a long step is taken instead.
    """

    def __init__(
        self,
        objective: Objective,
        L: np.ndarray,
        b: float,
        slope: float = 0.0,
        *,
        tol: float = SLOPE_TOL,
    ) -> None:
        self._objective, self._map, self._slope = objective, L, slope
        # Rounding errors of float32 hide smaller slopes.
        self._tol = max(tol, eps(objective.points))
        self._low, self._high = -np.inf, np.inf
        self._last: tuple[float, float] | None = None  # the last b and its slope
        self.b, self.curvature = b, 0.0  # 0 is an unknown curvature

    def is_done(self) -> bool:
        """Return whether the slope at the last b was small, or not a number."""
        return self._last is not None and not abs(self._last[1]) > self._tol

    def run(self) -> None:
        """Take steps until the slope is small, or no number is left between the bounds."""
        for _ in range(MAX_STEPS):
            b = self.b
            if not self.is_done():
                self.step()
            if self.b == b:
                break

    def continue_from(self, other: Self) -> None:
        """Use the b and curvature that another search found, if b is between the bounds."""
        if self._low < other.b < self._high:
            self.b, self.curvature = other.b, other.curvature
            # The initial b is far away, so its slope would give a worse curvature.
            self._last = None

    def step(self) -> None:
        """Evaluate the slope at b, and choose the next b."""
        b, last = self.b, self._last
        loss, slope = loss_at_threshold(self._objective, self._map, np.asarray([b]))
        slope -= self._slope
        if not self.curvature:  # a first guess
            self.curvature = min(MAX_CURVATURE, CURVATURE_PER_LOSS * loss or MAX_CURVATURE)
        if slope > 0:
            self._high = min(self._high, b)
        else:
            self._low = max(self._low, b)
        if last is not None and (slope - last[1]) * (b - last[0]) > 0:
            self.curvature = (slope - last[1]) / (b - last[0])
        self._last = b, slope
        longest = 2 * (1 + abs(b))
        if self.is_done() and last is not None:
            longest = abs(b - last[0])  # no slope is evaluated after this step, so it must be short
        new = b + float(np.clip(-slope / self.curvature, -longest, longest))
        if not self.is_done():
            is_slow = last is not None and abs(slope) > SLOW * abs(last[1])
            if np.isfinite(self._high - self._low):
                is_inside = self._low < new < self._high
                new = new if is_inside and not is_slow else (self._low + self._high) / 2
            elif is_slow:
                new = b - float(np.sign(slope)) * longest
        if self._low < new < self._high:
            self.b = new
