"""The objective of ITML: a LogDet divergence plus penalties for violated bounds."""

from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from scipy.optimize import minimize_scalar

from dimetric._arrays.namespaces import Array, asarray_like, namespace, to_host
from dimetric.linalg.psd import square_root
from dimetric.objectives.listed import ListedObjective
from dimetric.solvers.bregman_projections import BoundedDivergence, weighted_sum


class ITMLRule:
    r"""The penalty :math:`\gamma\, \phi(\xi / b)` for squared distances that violate their bound b.

    Here :math:`\phi(x) = x - \log x - 1`. If a squared distance violates its bound b, the optimal
    slack :math:`\xi` is the squared distance. Otherwise it is b, and the penalty is 0. The weights
    are :math:`\gamma (1 / b - 1 / \xi)`. If pairs have weights, `gamma` is an array with one number
    for each pair.
    """

    def __init__(self, gamma: float | Array, upper: float, lower: float) -> None:
        self.gamma, self.upper, self.lower = gamma, upper, lower

    def listed(self, xp: Any, D: Array, kinds: Array, theta: Any) -> tuple[float, Array, float]:
        """Return (loss, w, 0) of listed pairs, see :mod:`dimetric.objectives.listed`."""
        ratio = self.ratios(xp, D, kinds)
        bound = xp.where(kinds == 0, self.upper * xp.ones_like(D), self.lower)
        loss = weighted_sum(self.gamma, xp.sum, ratio - xp.log(ratio) - 1)
        return loss, self.gamma / bound * (1 - 1 / ratio), 0.0

    def ratios(self, xp: Any, D: Array, kinds: Array) -> Array:
        """Return the optimal slacks, divided by the bounds."""
        tiny = float(xp.finfo(D.dtype).smallest_normal) ** 0.5  # prevents 1 / 0
        above = xp.clip(D / self.upper, 1.0, None)
        return xp.where(kinds == 0, above, xp.clip(D / self.lower, tiny, 1.0))


@dataclass(frozen=True)
class DivergenceOverMaps:
    """The objective as a function of a flattened map. The prior is the identity."""

    objective: ListedObjective[ITMLRule]
    initial_map: np.ndarray

    infimum: ClassVar[float] = -np.inf

    @property
    def start(self) -> np.ndarray:
        """The flattened start."""
        return self.initial_map.ravel()

    def __call__(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the value and the gradient."""
        objective, B = self.objective, x.reshape(self.initial_map.shape)
        sign, log_det = np.linalg.slogdet(B)
        if sign == 0:
            return np.inf, np.zeros(B.size)
        on_device = asarray_like(B, objective.points)
        loss, G, _ = objective.gradient_in_map(on_device, objective.theta)
        value = float(np.vdot(B, B) - 2 * log_det) - len(B) + loss
        return value, (2 * (B - np.linalg.inv(B).T) + to_host(G)).ravel()

    def decode(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the map, and the extra parameters, of which there are none."""
        return x.reshape(self.initial_map.shape), self.objective.theta


class DivergenceOverMetrics(BoundedDivergence):
    """The objective as a function of a flattened metric. The prior is the identity."""

    infimum: ClassVar[float] = -np.inf

    @classmethod
    def of(cls, objective: ListedObjective[ITMLRule]) -> Self:
        """Return the function for an objective, without pairs of identical samples."""
        X, (i, j), rule = to_host(objective.points), objective.rows.T, objective.rule
        V, is_similar = X[i] - X[j], objective.kinds == 0
        differs = np.any(V != 0, axis=1)
        bounds = np.where(is_similar, rule.upper, rule.lower)
        gamma = rule.gamma if isinstance(rule.gamma, float) else to_host(rule.gamma)[differs]
        return cls(V[differs], is_similar[differs], bounds[differs], gamma)

    @property
    def start(self) -> np.ndarray:
        """The flattened identity."""
        return np.eye(self.V.shape[1]).ravel()

    def decode(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the map, and the extra parameters, of which there are none."""
        return square_root(x.reshape(self.V.shape[1], -1)), np.zeros(0)


def dual_value(objective: ListedObjective[ITMLRule], B: np.ndarray) -> float:
    r"""Return a value of the dual problem, which is a lower bound of the minimum.

    The weights w at a map are dual variables. Let v be the difference between the samples of a
    pair. The multiples c w with :math:`0 \le c \le 1` are feasible if :math:`I + c \sum w v v^T` is
    positive definite, and have the dual value

    .. math:: \log\det\Big(I + c \sum w v v^T\Big) + \gamma \sum \log(1 - c + c\, b / \xi).

    If pairs have weights, each term of the last sum has its own :math:`\gamma`. At the optimum,
    c = 1 is best. Near it, a slightly smaller c may be better, so c is optimised.
    """
    X, rule = objective.points, objective.rule
    on_device = asarray_like(B, X)
    S = to_host(objective.gradient_in_metric(on_device, objective.theta)[1])
    D = objective.distances(X @ on_device.T)
    xp = namespace(D)
    ratios = to_host(rule.ratios(xp, D, asarray_like(objective.kinds, X, dtype=xp.int64)))
    eigenvalues, slack_terms = np.linalg.eigvalsh((S + S.T) / 2), 1 / ratios - 1
    gamma = rule.gamma if isinstance(rule.gamma, float) else to_host(rule.gamma)

    def minus_dual(c: float) -> float:
        log_det = np.sum(np.log1p(c * eigenvalues))
        return -float(log_det + weighted_sum(gamma, np.sum, np.log1p(c * slack_terms)))

    # The arguments of all logarithms are positive for c up to `largest`.
    least = float(min(np.min(eigenvalues), np.min(slack_terms)))
    largest = 1.0 if least > -1 else -(1 - 1e-9) / least
    best = minimize_scalar(minus_dual, bounds=(0.0, largest), method="bounded")
    return max(0.0, -float(best.fun), -minus_dual(largest))
