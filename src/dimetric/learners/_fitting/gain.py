"""The objective of LSI and DML-eig, and its forms as a function of a vector."""

from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar

import numpy as np

from dimetric._arrays.namespaces import asarray_like, to_host
from dimetric.linalg.psd import metric_of, square_root
from dimetric.objectives.objective import Objective

GainT = TypeVar("GainT", bound=Objective)


@dataclass(frozen=True)
class RegularizedGain(Generic[GainT]):
    r"""A gain g times a power of the evenness of the spectrum, maximised over metrics of trace 1.

    .. math:: g(M)\, \rho(M)^{reg}, \qquad \rho(M) = r \det(M)^{1 / r}

    M has r rows. The evenness :math:`\rho` is 1 if all eigenvalues are equal, else smaller. Solvers
    minimise minus the logarithm of the product, which is convex. In the logarithm, g is divided by
    its value at the start, so that tolerances do not depend on the number of pairs.

    Attributes
    ----------
    objective : Objective
        Objective whose sum is g.
    reg : float
        The exponent of the evenness.
    diagonal : bool
        Whether M is diagonal.
    initial_gain : float
        g at the start.
    """

    objective: GainT
    reg: float
    diagonal: bool = False
    initial_gain: float = 1.0

    @property
    def reference_gain(self) -> float:
        """The value by which g is divided: g at the start, or 1 if rounding has made that 0."""
        return self.initial_gain or 1.0

    def negative_log_at_map(self, L: np.ndarray, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Return minus the logarithm of the product at a map of norm 1, and its gradient."""
        on_device = asarray_like(L, self.objective.points)
        g, G, _ = self.objective.gradient_in_map(on_device, theta)
        log_evenness, inverse = self._log_evenness(L)
        value = -float(np.log(g / self.reference_gain)) - self.reg * log_evenness
        return value, -(to_host(G) / g + 2 * self.reg / len(L) * inverse.T)

    def negative_log_at_metric(self, M: np.ndarray, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Return minus the logarithm of the product at a metric of trace 1, and its gradient."""
        g, S = self.value_and_metric_gradient(square_root(M), theta)
        value = -float(np.log(g / self.reference_gain))
        if self.reg == 0:
            return value, -S / g
        sign, log_det = np.linalg.slogdet(M)
        if sign <= 0:
            return np.inf, -S / g
        r = len(M)
        value -= self.reg * float(log_det / r + np.log(r))
        return value, -S / g - self.reg / r * np.linalg.inv(M)

    def value_and_metric_gradient(
        self, L: np.ndarray, theta: np.ndarray
    ) -> tuple[float, np.ndarray]:
        """Return g at a map, and the gradient of g with respect to the metric."""
        on_device = asarray_like(L, self.objective.points)
        g, S, _ = self.objective.gradient_in_metric(on_device, theta)
        S = to_host(S)
        return g, (S + S.T) / 2

    def objective_and_gap(
        self, exact_g: float, L: np.ndarray, upper_g: float, S: np.ndarray
    ) -> tuple[float, float]:
        r"""Return the product at a map of norm 1, and a bound on how far it is below its maximum.

        At the map, g is `exact_g`. At any metric N, g(N) is at most
        :math:`upper\_g + \langle S, N - M \rangle`. The logarithm of the product is concave, so its
        tangent is an upper bound, too.
        """
        log_evenness, inverse = self._log_evenness(L)
        value = exact_g * float(np.exp(self.reg * log_evenness))
        if self.reg == 0:
            return value, max(0.0, upper_g + self._max_increase(S, L) - value)
        G = S / upper_g + self.reg / len(L) * inverse @ inverse.T
        bound = np.log(upper_g) + self.reg * log_evenness + self._max_increase(G, L)
        return value, max(0.0, float(np.exp(bound)) - value)

    def _max_increase(self, G: np.ndarray, L: np.ndarray) -> float:
        """Return the maximum of <G, N> over metrics N of trace 1, minus <G, M> at this map."""
        steepest = np.max(np.diag(G)) if self.diagonal else np.linalg.eigvalsh(G)[-1]
        return float(steepest - np.vdot(L @ G, L))

    def _log_evenness(self, L: np.ndarray) -> tuple[float, np.ndarray]:
        r"""Return :math:`\log \rho` and the inverse of a map. Both are 0 if `reg` is 0."""
        if self.reg == 0:
            return 0.0, np.zeros_like(L)
        r, (sign, log_det) = len(L), np.linalg.slogdet(L)
        if sign == 0:
            return -np.inf, np.zeros_like(L)
        return float(2 * log_det / r + np.log(r)), np.linalg.inv(L)


@dataclass(frozen=True)
class GainOverMaps(Generic[GainT]):
    """Minus the logarithm of a gain, as a function of a flattened square map.

    Each map is rescaled to norm 1 first. Since the gain increases with the scale of the metric, no
    constraint remains. If M is diagonal, the vector is the diagonal of the map.

    Parameters
    ----------
    gain : RegularizedGain
        The gain.
    initial_map : ndarray of shape (r, r)
        The initial map.
    theta : ndarray of shape (p,)
        Extra parameters of the gain's objective.
    """

    gain: RegularizedGain[GainT]
    initial_map: np.ndarray
    theta: np.ndarray

    infimum: ClassVar[float] = -np.inf

    @property
    def start(self) -> np.ndarray:
        """The start, scaled to the norm of the identity.

        The first step of a solver has length 1. From a map of norm 1, it could lead to a singular
        map, where the logarithm is not defined.
        """
        flat = np.diag(self.initial_map) if self.gain.diagonal else self.initial_map.ravel()
        return flat * (len(self.initial_map) ** 0.5 / np.linalg.norm(flat))

    def __call__(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the value and the gradient."""
        size = float(np.linalg.norm(x))
        U = x / size
        value, G = self.gain.negative_log_at_map(
            as_square(U, diagonal=self.gain.diagonal), self.theta
        )
        G = np.diag(G) if self.gain.diagonal else G.ravel()
        return value, (G - (G @ U) * U) / size

    def decode(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the map of norm 1, and theta."""
        L = as_square(x, diagonal=self.gain.diagonal)
        return L / np.linalg.norm(L), self.theta


@dataclass(frozen=True)
class GainOverMetrics(Generic[GainT]):
    """Minus the logarithm of a gain, as a function of a flattened metric of trace at most 1.

    If M is diagonal, the vector is its diagonal.

    Parameters
    ----------
    gain, initial_map, theta
        As in :class:`GainOverMaps`.
    """

    gain: RegularizedGain[GainT]
    initial_map: np.ndarray
    theta: np.ndarray

    infimum: ClassVar[float] = -np.inf

    @property
    def start(self) -> np.ndarray:
        """The flattened metric of the start."""
        M = metric_of(self.initial_map)
        return np.diag(M) if self.gain.diagonal else M.ravel()

    def __call__(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the value and the gradient."""
        value, G = self.gain.negative_log_at_metric(
            as_square(x, diagonal=self.gain.diagonal), self.theta
        )
        return value, np.diag(G) if self.gain.diagonal else G.ravel()

    def project(self, x: np.ndarray) -> np.ndarray:
        """Project onto the metrics of trace at most 1."""
        return project_onto_simplex(x) if self.gain.diagonal else project_onto_metrics(x)

    def decode(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the map of norm 1, and theta."""
        L = square_root(as_square(x, diagonal=self.gain.diagonal))
        return L / np.linalg.norm(L), self.theta


def as_square(flat: np.ndarray, *, diagonal: bool = False) -> np.ndarray:
    """Return the square matrix with the given entries, or with the given diagonal."""
    return np.diag(flat) if diagonal else flat.reshape(round(flat.size**0.5), -1)


def project_onto_simplex(weights: np.ndarray) -> np.ndarray:
    """Project weights onto the set of non-negative weights with a sum of at most 1.

    If the sum is larger, the same amount is subtracted from all positive weights. Weights that
    become negative are set to 0, and the step is repeated with the other weights.

    Examples
    --------
    >>> project_onto_simplex(np.array([1.0, 0.4, -1.0]))
    array([0.8, 0.2, 0. ])
    """
    positive = weights > 0
    if np.sum(weights[positive]) <= 1:
        return np.where(positive, weights, 0.0)
    while True:
        moved = weights - (np.sum(weights[positive]) - 1) / np.sum(positive)
        if np.all(moved[positive] >= 0):
            return np.where(positive, moved, 0.0)
        positive &= moved > 0


def project_onto_metrics(flat: np.ndarray) -> np.ndarray:
    """Project a flattened matrix onto the metrics of trace at most 1.

    The projection changes the eigenvalues only.

    Examples
    --------
    >>> project_onto_metrics(np.diag([1.0, 0.4, -1.0]).ravel()).reshape(3, 3).diagonal()
    array([0.8, 0.2, 0. ])
    """
    M = as_square(flat)
    values, V = np.linalg.eigh((M + M.T) / 2)
    return ((V * project_onto_simplex(values)) @ V.T).ravel()
