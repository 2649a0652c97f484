"""Lower bounds of LMNN's objective, which prove how near to its minimum a map is."""

import numpy as np

from dimetric._arrays.namespaces import asarray_like, eps, namespace, to_host
from dimetric.linalg.psd import metric_of
from dimetric.linalg.sample_span import sample_span
from dimetric.objectives.objective import Smoothable, metric_gradient
from dimetric.solvers.certificates import Certificate, certify_from_below, gap_from_below


class MarginBounds:
    r"""Linear lower bounds of an objective over metrics, and the gaps that they prove.

    As :math:`[t]_+ \ge a t` for all a in [0, 1], the slopes a at any map give a bound
    :math:`f(N) \ge c + \langle G, N \rangle`, where c is their sum. With all slopes 0 the bound is
    :math:`f(N) \ge \langle P, N \rangle`, the pulls alone. Let f be the value at a map. No metric
    with :math:`\langle P, N \rangle > f` is better than that map. For all other metrics, with
    :math:`\lambda` the least eigenvalue of :math:`P^{-1/2} G P^{-1/2}`,

    .. math:: f(N) \ge c + \min(0, \lambda) f.

    P is singular if there is a direction in which samples differ but targets do not. In such a
    direction impostors can be pushed away at no cost. Once they are, their slopes are 0, and G is 0
    in that direction too.

    The bounds are computed in coordinates y, :math:`x = E y`, in which the samples have the same
    spread in all directions that they differ in, see
    :func:`dimetric.linalg.sample_span.sample_span`.

    Parameters
    ----------
    objective : Smoothable
        The objective.
    ridge : float
        Weight of the trace of the metric in the objective.
    """

    def __init__(self, objective: Smoothable, ridge: float) -> None:
        xp = namespace(objective.points)
        self._precision = eps(objective.points)
        X = xp.astype(objective.points, xp.float64)
        B, E, Q = sample_span(X)
        if not B.shape[1]:  # all samples are the same point: any direction will do
            B, E, Q = np.eye(len(B), 1), np.eye(len(B), 1), np.eye(1)
        spreads = to_host(xp.std(X @ asarray_like(B, X), axis=0))
        spreads = np.where(spreads > 0, spreads, 1.0)
        self._E, Q = E * spreads, Q / spreads / spreads[:, None]
        self._objective = objective.with_points(X @ asarray_like(B / spreads, X))
        self._ridge = ridge * Q
        P = self._objective.pull_matrix() + self._ridge
        sizes, V = np.linalg.eigh(P)
        self._rounding = 64 * eps(X) * float(np.linalg.norm(P))
        some = sizes > self._rounding
        self._white, self._free = V[:, some] / np.sqrt(sizes[some]), V[:, ~some]
        self._reach = np.inf  # largest trace that a metric with <P, N> = 1 needs
        if some.all():
            self._reach = float(np.linalg.eigvalsh(self._white.T @ Q @ self._white)[-1])
        self._bounds: list[tuple[float, np.ndarray]] = []

    def add(self, L: np.ndarray, width: float) -> None:
        """Add the bound by the slopes at a map, of hinges with a smooth part of some width."""
        objective, L = self._objective, L @ self._E
        longest = (
            float(np.vdot(L @ objective.pull_matrix(), L)) * objective.n_terms / (1 - objective.mu)
        )
        far = 1e4 * (1 + longest) ** 0.5 * self._free.T
        _, G, slopes = metric_gradient(objective.smoothed(width), np.vstack([L, far]), np.ones(1))
        self._bounds.append((float(slopes[0]), G + self._ridge))

    def certificate(self, value: float, L: np.ndarray) -> Certificate:
        """Return the smallest gap that the bounds prove for a map with this value."""
        value = value * (1 + 16 * self._precision)
        found = [Certificate(value, np.inf, proven=True)]  # the objective is never below 0
        for c, G in self._bounds:
            if np.linalg.norm(G @ self._free) <= self._rounding:
                G = self._white.T @ (G - self._rounding * np.eye(len(G))) @ self._white
                G = G if G.size else np.zeros((1, 1))  # there are no pulls
                gap, radius = gap_from_below(value, c, G, value), self._reach * (value or 1.0)
                found.append(Certificate(gap, radius, proven=True))
            else:
                guess = certify_from_below(value, c, G, metric_of(L @ self._E))
                radius = guess.radius / float(np.linalg.norm(self._E, 2)) ** 2
                found.append(Certificate(guess.gap, radius, proven=False))
        return min(found, key=lambda certificate: certificate.gap)
