"""What the slopes of hinges prove: how far LMNN's objective is above its minimum at most."""

import numpy as np

from dimetric._xp import eps, like, to_host
from dimetric.linalg.psd import metric_of
from dimetric.linalg.scatter import Moments
from dimetric.pairwise.margins import MarginObjective
from dimetric.pairwise.objective import metric_gradient
from dimetric.solvers.certificates import (
    UNPROVEN_RADIUS,
    Certificate,
    certify_from_below,
    gap_from_below,
)


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
    directions that they differ in: nothing else about a metric matters but :math:`E^T N E`.

    Parameters
    ----------
    objective : MarginObjective
        The objective.
    ridge : float
        Weight of the trace of a metric in it.
    """

    def __init__(self, objective: MarginObjective, ridge: float) -> None:
        X = objective.points
        B, self._E = _whitening(objective)
        # Of all metrics N with the same E^T N E, the least trace is the product of that with this.
        inverse = B.T if B.shape[0] == B.shape[1] else np.linalg.pinv(self._E)
        self._trace = ridge * inverse @ inverse.T
        self._objective = MarginObjective(
            X @ like(B, X), objective.codes, objective.targets, mu=objective.mu
        )
        P = self._objective.pull() + self._trace
        sizes, V = np.linalg.eigh(P)
        self._rounding = 64 * eps(X) * float(np.linalg.norm(P))
        some = sizes > self._rounding
        self._white, self._free = V[:, some] / np.sqrt(sizes[some]), V[:, ~some]
        self._radius = float(np.linalg.norm(B @ self._white, 2)) ** 2 if some.any() else 0.0
        self._bounds: list[tuple[float, np.ndarray]] = []

    def add(self, L: np.ndarray, width: float) -> None:
        """Add the bound by the slopes at a map, of a hinge with a smooth part of some width."""
        objective, L = self._objective, L @ self._E
        longest = float(np.vdot(L @ objective.pull(), L)) * objective.n_terms / (1 - objective.mu)
        far = 1e4 * (objective.n_terms * (1 + longest)) ** 0.5 * self._free.T
        _, G, slopes = metric_gradient(objective.smoothed(width), np.vstack([L, far]), np.ones(1))
        self._bounds.append((float(slopes[0]), G + self._trace))

    def certificate(self, value: float, L: np.ndarray) -> Certificate:
        """Return the best that is proven about a map with some value of the objective."""
        M, size = metric_of(L @ self._E), float(np.sum(L**2))
        radius = max(self._radius * value, size)
        found = [Certificate(value, radius, proven=True)]  # no objective is below 0
        for c, G in self._bounds:
            if np.linalg.norm(G @ self._free) <= self._rounding:
                G = self._white.T @ (G - self._rounding * np.eye(len(G))) @ self._white
                G = G if G.size else np.zeros((1, 1))  # pulls in no direction at all
                found.append(Certificate(gap_from_below(value, c, G, value), radius, proven=True))
            else:
                gap = certify_from_below(value, c, G, M).gap
                found.append(Certificate(gap, UNPROVEN_RADIUS * size, proven=False))
        return min(found, key=lambda certificate: certificate.gap)


def _whitening(objective: MarginObjective) -> tuple[np.ndarray, np.ndarray]:
    """Return B and E, with y = B^T x and x = E y; features are brought to one size first."""
    X = objective.points
    root = to_host(Moments.of_all(X, root=True).above_rounding().spread)
    sizes = np.sqrt(np.sum(root**2, axis=0))
    sizes[sizes == 0] = 1.0
    _, lengths, V = np.linalg.svd(root / sizes, full_matrices=False)
    real = lengths > max(X.shape) * eps(X) * lengths[0]
    if not real.any():  # all samples are one point; any direction will do
        real[0], lengths[0] = True, 1.0
    V, lengths = V[real].T, lengths[real]
    return V / sizes[:, None] / lengths, V * sizes[:, None] * lengths
