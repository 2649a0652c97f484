"""Lower bounds of LMNN's objective, which bound how far a map is from the optimum."""

import array_api_compat as compat
import numpy as np

from dimetric._arrays.namespaces import asarray_like, eps, namespace, to_host
from dimetric.linalg.psd import metric_of
from dimetric.linalg.sample_span import least_penalty, sample_span
from dimetric.objectives.objective import Ridge, Smoothable, metric_gradient
from dimetric.objectives.triton.support import runs_kernels
from dimetric.solvers.certificates import Certificate, certify_by_lower_bound, gap_from_lower_bound

ROUNDING_FACTOR = 64  # rounding errors of sums, in units of the precision
MIN_SPREAD = 1e-3  # of a direction, relative to the largest
FAR_FACTOR = 1e4  # scale of the map in free directions, relative to the distances to targets


class MarginBounds:
    r"""Linear lower bounds of LMNN's objective over all metrics, and the gaps that they prove.

    The objective f is a function of a metric N. For all slopes a in [0, 1], :math:`[t]_+ \ge a t`.
    The slopes of the hinges at any map therefore give a bound
    :math:`f(N) \ge c + \langle G, N \rangle`, where c is the weighted sum of the slopes. With all
    slopes 0, the bound is :math:`f(N) \ge \langle P, N \rangle`, where P is the pull matrix.

    Let v be the value of f at the map to be certified. Only metrics with
    :math:`\langle P, N \rangle \le v` can be better. If :math:`\lambda` is the smallest eigenvalue
    of :math:`P^{-1/2} G P^{-1/2}`, all these metrics satisfy

    .. math:: f(N) \ge c + \min(0, \lambda) v.

    P is singular if the samples differ in some direction, but no sample differs from its targets
    there. In such a free direction, impostors can be pushed away at no cost. When they are far
    enough away, their slopes are 0, and G is 0 in that direction too.

    The bounds are computed in coordinates y with :math:`x = E y`, in which the samples have the
    same spread in all directions (see :func:`dimetric.linalg.sample_span.sample_span`).

    Parameters
    ----------
    objective : Smoothable
        LMNN's objective.
    ridge : float or ndarray of shape (d, d)
        Weight of the trace of the metric in the objective, or the matrix R of a penalty
        :math:`\mathrm{tr}(R M)`.
    """

    def __init__(self, objective: Smoothable, ridge: Ridge) -> None:
        xp = namespace(objective.points)
        self._precision = eps(objective.points)
        X = xp.astype(objective.points, xp.float64)
        B, E, Q = sample_span(X)
        if not B.shape[1]:  # all samples are identical, so use any direction
            B, E, Q = np.eye(len(B), 1), np.eye(len(B), 1), np.eye(1)
        spreads = to_host(xp.std(X @ asarray_like(B, X), axis=0))
        spreads = np.where(spreads > 0, spreads, 1.0)
        self._E, Q = E * spreads, Q / spreads / spreads[:, None]
        self._ridge = least_penalty(ridge, self._E) if isinstance(ridge, np.ndarray) else ridge * Q
        self._B = B / spreads
        points = X @ asarray_like(self._B, X)
        self._objective = objective.with_points(points)
        P = self._objective.pull_matrix() + self._ridge
        eigenvalues, V = np.linalg.eigh(P)
        self._rounding = ROUNDING_FACTOR * eps(X) * float(np.linalg.norm(P))
        pulled = eigenvalues > self._rounding
        self._whitening = V[:, pulled] / np.sqrt(eigenvalues[pulled])
        self._free = V[:, ~pulled]
        self._max_trace = np.inf  # largest trace of a metric with <P, N> = 1
        if pulled.all():
            self._max_trace = float(np.linalg.eigvalsh(self._whitening.T @ Q @ self._whitening)[-1])
        # Sums in float32 are fast on a graphics processor. In free directions, they would not do.
        is_single = self._precision > eps(X) and runs_kernels(X, single=True)
        self._single = is_single and bool(pulled.all())
        self._objective = objective.with_points(points, single=self._single)
        # Gradients in the coordinates of X are precise enough, unless X varies much less in some
        # directions than in others.
        is_precise = compat.is_numpy_array(X) and self._precision == eps(X)
        is_precise = is_precise and np.min(spreads) > MIN_SPREAD * np.max(spreads)
        self._converts = bool(is_precise and pulled.all())
        self._bounds: list[tuple[float, np.ndarray]] = []

    def add_last(self, L: np.ndarray, width: float, smooth: Smoothable) -> None:
        """Add the bound from the slopes at the map that a solver has evaluated last.

        `smooth` is the objective that was evaluated. Its hinges have a smooth part of this width.
        """
        if not self._converts:
            self.add(L, width)
            return
        _, S, slopes = smooth.gradient_in_metric(L, smooth.theta)
        G = self._B.T @ (S / smooth.n_terms) @ self._B
        self._bounds.append((float(slopes) / smooth.n_terms, (G + G.T) / 2 + self._ridge))

    def add(self, L: np.ndarray, width: float) -> None:
        """Add the bound from the slopes at a map. The hinges have a smooth part of this width."""
        objective, L = self._objective, L @ self._E
        mean_pull = float(np.vdot(L @ objective.pull_matrix(), L))
        sum_of_squares = mean_pull * objective.n_terms / (1 - objective.mu)
        # Extra rows of the map push impostors far away in the free directions.
        far = FAR_FACTOR * (1 + sum_of_squares) ** 0.5 * self._free.T
        _, G, slopes = metric_gradient(objective.smoothed(width), np.vstack([L, far]), np.ones(1))
        c, G = float(slopes[0]), G + self._ridge
        if self._single:  # allow for the rounding errors of the sums
            error = ROUNDING_FACTOR * self._precision
            c, G = c * (1 - error), G - error * float(np.linalg.norm(G)) * np.eye(len(G))
        self._bounds.append((c, G))

    def certificate(self, value: float, L: np.ndarray) -> Certificate:
        """Return the best certificate from all bounds, for a map L with this value."""
        value = value * (1 + 16 * self._precision)
        certificates = [Certificate(value, np.inf, proven=True)]  # the objective is at least 0
        for c, G in self._bounds:
            if np.linalg.norm(G @ self._free) <= self._rounding:
                G = self._whitening.T @ (G - self._rounding * np.eye(len(G))) @ self._whitening
                G = G if G.size else np.zeros((1, 1))  # no pulls
                gap = gap_from_lower_bound(value, c, G, value)
                certificates.append(Certificate(gap, self._max_trace * (value or 1.0), proven=True))
            else:
                unproven = certify_by_lower_bound(value, c, G, metric_of(L @ self._E))
                radius = unproven.radius / float(np.linalg.norm(self._E, 2)) ** 2
                certificates.append(Certificate(unproven.gap, radius, proven=False))
        return min(certificates, key=lambda certificate: certificate.gap)
