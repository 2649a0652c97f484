"""What the slopes of hinges prove: how far LMNN's objective is above its minimum at most."""

import numpy as np

from dimetric._xp import eps, like, namespace, to_host
from dimetric.linalg.directions import directions
from dimetric.linalg.psd import metric_of
from dimetric.pairwise.margins import MarginObjective
from dimetric.pairwise.objective import metric_gradient
from dimetric.solvers.certificates import Certificate, certify_from_below, gap_from_below


class MarginBounds:
    r"""Linear functions of metrics that are nowhere above an objective, and what they prove.

    As :math:`[t]_+ \ge a t` for all a in [0, 1], the slopes a at any map give a bound
    :math:`f(N) \ge c + \langle G, N \rangle`, with c their sum. Another one is that of no slopes,
    :math:`f(N) \ge \langle P, N \rangle`, the pulls alone. No metric with
    :math:`\langle P, N \rangle` above a value f at hand is any better, and for all others, with
    :math:`\lambda` the least eigenvalue of :math:`P^{-1/2} G P^{-1/2}`,

    .. math:: f(N) \ge c + \min(0, \lambda) f.

    Where targets do not differ in a direction that samples differ in, P is not definite. There
    impostors can be pushed away for nothing, and once they are, with slopes of 0, G has no part
    in such a direction either.

    All this is done in coordinates y, :math:`x = E y`, in which samples spread alike in all
    directions that they differ in, see :func:`dimetric.linalg.directions.directions`.

    Parameters
    ----------
    objective : MarginObjective
        The objective.
    ridge : float
        Weight of the trace of a metric in it.
    """

    def __init__(self, objective: MarginObjective, ridge: float) -> None:
        X = objective.points
        B, E, Q = directions(X)
        if not B.shape[1]:  # all samples are one point: any direction will do
            B, E, Q = np.eye(len(B), 1), np.eye(len(B), 1), np.eye(1)
        spreads = to_host(namespace(X).std(X @ like(B, X), axis=0)).astype(np.float64)
        spreads[spreads == 0] = 1.0
        B, self._E, self._trace = B / spreads, E * spreads, ridge * Q / spreads / spreads[:, None]
        self._objective = MarginObjective(
            X @ like(B, X), objective.codes, objective.targets, mu=objective.mu
        )
        P = self._objective.pull() + self._trace
        sizes, V = np.linalg.eigh(P)
        self._rounding = 64 * eps(X) * float(np.linalg.norm(P))
        some = sizes > self._rounding
        self._white, self._free = V[:, some] / np.sqrt(sizes[some]), V[:, ~some]
        # The trace of metrics with <P, N> = 1 is at most
        self._reach = float(np.linalg.norm(B @ self._white, 2)) ** 2 if some.all() else np.inf
        self._bounds: list[tuple[float, np.ndarray]] = []

    def add(self, L: np.ndarray, width: float) -> None:
        """Add the bound by the slopes at a map, of a hinge with a smooth part of some width."""
        objective, L = self._objective, L @ self._E
        longest = float(np.vdot(L @ objective.pull(), L)) * objective.n_terms / (1 - objective.mu)
        far = 1e4 * (1 + longest) ** 0.5 * self._free.T
        _, G, slopes = metric_gradient(objective.smoothed(width), np.vstack([L, far]), np.ones(1))
        self._bounds.append((float(slopes[0]), G + self._trace))

    def certificate(self, value: float, L: np.ndarray) -> Certificate:
        """Return the best that is proven about a map with some value of the objective."""
        radius = self._reach * value if value > 0 else 0.0
        found = [Certificate(value, radius, proven=True)]  # no objective is below 0
        for c, G in self._bounds:
            if np.linalg.norm(G @ self._free) <= self._rounding:
                G = self._white.T @ (G - self._rounding * np.eye(len(G))) @ self._white
                G = G if G.size else np.zeros((1, 1))  # pulls in no direction at all
                found.append(Certificate(gap_from_below(value, c, G, value), radius, proven=True))
            else:
                guess = certify_from_below(value, c, G, metric_of(L @ self._E))
                size = guess.radius / float(np.linalg.norm(self._E, 2)) ** 2
                found.append(Certificate(guess.gap, size, proven=False))
        return min(found, key=lambda certificate: certificate.gap)
