"""The threshold of a distance at which the mean loss of a map is smallest."""

import numpy as np

from dimetric._arrays.namespaces import asarray_like, eps
from dimetric.learners._fitting.start import MAX_SAMPLES_FOR_RESCALING, representative_part
from dimetric.objectives.objective import Objective

SLOPE_TOL = 1e-6  # one more step of the secant method then makes the slope far smaller
MAX_STEPS = 100  # a few steps are usual
FIRST_CURVATURE = 0.1  # of the mean loss; a better value is found after the first step
MIN_PARTS = 2  # the search uses a part of the samples if it is at most 1 / MIN_PARTS of all


def likeliest_threshold(objective: Objective, L: np.ndarray, theta: np.ndarray) -> np.ndarray:
    """Return the threshold b that minimises the mean loss of a map.

    If there are many samples and the initial b is not yet good, a part of the samples gives an
    estimate of b and of the curvature, so that a few evaluations with all samples suffice.

    Parameters
    ----------
    objective : Objective
        The objective, which is convex in its only extra parameter b.
    L : ndarray of shape (k, d)
        The map.
    theta : ndarray of shape (1,)
        Initial value of b.
    """
    search = _ThresholdSearch(objective, L, float(theta[0]))
    search.step()
    if len(objective.strata) >= MIN_PARTS * MAX_SAMPLES_FOR_RESCALING and not search.is_done():
        part = _ThresholdSearch(representative_part(objective), L, float(theta[0]))
        part.run()
        search.b, search.curvature = part.b, part.curvature
    search.run()
    return np.asarray([search.b])


def loss_at_threshold(
    objective: Objective, L: np.ndarray, theta: np.ndarray
) -> tuple[float, float]:
    """Return the mean loss of a map and its slope in the threshold."""
    X, n = objective.points, objective.n_terms
    Z = X @ asarray_like(L, X).T
    loss, _, slope = objective.evaluate(Z, Z[:, :1], theta)
    return loss / n, float(np.reshape(slope, -1)[0]) / n


class _ThresholdSearch:
    """A search for the best b by the secant method.

    The slope of a convex function increases. So a b with a positive slope is an upper bound on the
    best b, and one with a negative slope is a lower bound. A step that leaves these bounds is
    replaced by bisection.
    """

    def __init__(self, objective: Objective, L: np.ndarray, b: float) -> None:
        self._objective, self._map = objective, L
        # Rounding errors of float32 hide smaller slopes.
        self._tol = max(SLOPE_TOL, eps(objective.points))
        self._low, self._high = -np.inf, np.inf
        self._last: tuple[float, float] | None = None  # the last b and its slope
        self.b, self.curvature = b, FIRST_CURVATURE

    def is_done(self) -> bool:
        """Return whether the slope at the last b was small."""
        return self._last is not None and abs(self._last[1]) <= self._tol

    def run(self) -> None:
        """Take steps until the slope is small."""
        for _ in range(MAX_STEPS):
            if self.is_done():
                break
            self.step()

    def step(self) -> None:
        """Evaluate the slope at b, and choose the next b."""
        b, last = self.b, self._last
        _, slope = loss_at_threshold(self._objective, self._map, np.asarray([b]))
        self._low, self._high = (self._low, b) if slope > 0 else (b, self._high)
        if last is not None and (slope - last[1]) * (b - last[0]) > 0:
            self.curvature = (slope - last[1]) / (b - last[0])
        self._last = b, slope
        longest = 2 * (1 + abs(b))  # far from the best b, the curvature vanishes
        b += float(np.clip(-slope / self.curvature, -longest, longest))
        if not self._low < b < self._high and np.isfinite(self._high - self._low):
            b = (self._low + self._high) / 2
        self.b = b
