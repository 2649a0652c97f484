"""A gain over metrics of trace 1, and its forms as a function of a vector."""

from dataclasses import dataclass
from typing import ClassVar, Generic, TypeVar

import numpy as np

from dimetric._arrays.namespaces import asarray_like, to_host
from dimetric.linalg.psd import metric_of, square_root
from dimetric.objectives.objective import Objective

GainT = TypeVar("GainT", bound=Objective)


@dataclass(frozen=True)
class RegularizedGain(Generic[GainT]):
    r"""What is maximised over metrics of trace 1: a function g of distances, and an even spectrum.

    .. math:: g(M)\, \rho(M)^{reg}, \qquad \rho(M) = r \det(M)^{1 / r}

    :math:`\rho` is largest, 1, where all eigenvalues are equal. A solver minimises minus the
    logarithm, which is convex, relative to g at the start: tolerances must not depend on the number
    of pairs.

    Attributes
    ----------
    objective : Objective
        Its sum is g.
    reg : float
        The exponent.
    diagonal : bool
        Whether metrics are diagonal.
    initial : float
        g at the start.
    """

    objective: GainT
    reg: float
    diagonal: bool = False
    initial: float = 1.0

    @property
    def unit(self) -> float:
        """What g is measured in: its value at the start, unless rounding has made that 0."""
        return self.initial or 1.0

    def of_map(self, L: np.ndarray, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Return minus the logarithm at a map of norm 1, and its gradient."""
        there = asarray_like(L, self.objective.points)
        total, G, _ = self.objective.gradient_in_map(there, theta)
        evenness, inverse = self._log_evenness(L)
        value = -float(np.log(total / self.unit)) - self.reg * evenness
        return value, -(to_host(G) / total + 2 * self.reg / len(L) * inverse.T)

    def of_metric(self, M: np.ndarray, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Return minus the logarithm at a metric of trace 1, and its gradient."""
        total, S = self.sum_and_scatter(square_root(M), theta)
        value = -float(np.log(total / self.unit))
        if self.reg == 0:
            return value, -S / total
        sign, log_det = np.linalg.slogdet(M)
        if sign <= 0:
            return np.inf, -S / total
        r = len(M)
        value -= self.reg * float(log_det / r + np.log(r))
        return value, -S / total - self.reg / r * np.linalg.inv(M)

    def sum_and_scatter(self, L: np.ndarray, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Return g at a map, and its gradient in the metric."""
        there = asarray_like(L, self.objective.points)
        total, S, _ = self.objective.gradient_in_metric(there, theta)
        S = to_host(S)
        return total, (S + S.T) / 2

    def certified(
        self, value: float, L: np.ndarray, total: float, S: np.ndarray
    ) -> tuple[float, float]:
        r"""Return the objective at a map of norm 1 where g is `value`, and its gap.

        For all metrics N, g(N) is at most the tangent :math:`total + \langle S, N - M \rangle`,
        and so the logarithm of the objective at most its own.
        """
        evenness, inverse = self._log_evenness(L)
        reached = value * float(np.exp(self.reg * evenness))
        if self.reg == 0:
            return reached, max(0.0, total + self._rise(S, L) - reached)
        G = S / total + self.reg / len(L) * inverse @ inverse.T
        bound = np.log(total) + self.reg * evenness + self._rise(G, L)
        return reached, max(0.0, float(np.exp(bound)) - reached)

    def _rise(self, G: np.ndarray, L: np.ndarray) -> float:
        """Return the largest product of G with a metric of trace 1, less that with this one."""
        steepest = np.max(np.diag(G)) if self.diagonal else np.linalg.eigvalsh(G)[-1]
        return float(steepest - np.vdot(L @ G, L))

    def _log_evenness(self, L: np.ndarray) -> tuple[float, np.ndarray]:
        r"""Return :math:`\log \rho` and the inverse of a map, both 0 if they do not matter."""
        if self.reg == 0:
            return 0.0, np.zeros_like(L)
        r, (sign, log_det) = len(L), np.linalg.slogdet(L)
        if sign == 0:
            return -np.inf, np.zeros_like(L)
        return float(2 * log_det / r + np.log(r)), np.linalg.inv(L)


@dataclass(frozen=True)
class GainOnSphere(Generic[GainT]):
    """Minus the logarithm of a gain, as a function of flattened square maps of any size.

    A larger metric is a better one, so each map stands for its multiple of norm 1, and nothing
    constrains it. Of diagonal maps it is a function of the diagonal.

    Parameters
    ----------
    gain : RegularizedGain
        The gain.
    L : ndarray of shape (r, r)
        Start.
    theta : ndarray of shape (p,)
        Extra parameters of the gain's objective.
    """

    gain: RegularizedGain[GainT]
    L: np.ndarray
    theta: np.ndarray

    infimum: ClassVar[float] = -np.inf

    @property
    def start(self) -> np.ndarray:
        """The start, with the norm of the identity.

        The first step of a solver has length 1. From the identity it leads to no singular map, but
        from a map of norm 1 it may, and there the logarithm has no value.
        """
        flat = np.diag(self.L) if self.gain.diagonal else self.L.ravel()
        return flat * (len(self.L) ** 0.5 / np.linalg.norm(flat))

    def __call__(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the value and the gradient."""
        size = float(np.linalg.norm(x))
        U = x / size
        value, G = self.gain.of_map(as_square(U, diagonal=self.gain.diagonal), self.theta)
        G = np.diag(G) if self.gain.diagonal else G.ravel()
        return value, (G - (G @ U) * U) / size

    def at(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the map of norm 1, and theta."""
        L = as_square(x, diagonal=self.gain.diagonal)
        return L / np.linalg.norm(L), self.theta


@dataclass(frozen=True)
class GainOverMetrics(Generic[GainT]):
    """Minus the logarithm of a gain, as a function of flattened metrics of trace at most 1.

    Of diagonal metrics it is a function of the diagonal.

    Parameters
    ----------
    gain, L, theta
        As those of :class:`GainOnSphere`.
    """

    gain: RegularizedGain[GainT]
    L: np.ndarray
    theta: np.ndarray

    infimum: ClassVar[float] = -np.inf

    @property
    def start(self) -> np.ndarray:
        """The metric of the start."""
        M = metric_of(self.L)
        return np.diag(M) if self.gain.diagonal else M.ravel()

    def __call__(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the value and the gradient."""
        value, G = self.gain.of_metric(as_square(x, diagonal=self.gain.diagonal), self.theta)
        return value, np.diag(G) if self.gain.diagonal else G.ravel()

    def project(self, x: np.ndarray) -> np.ndarray:
        """Return the nearest metric of trace at most 1."""
        return onto_simplex(x) if self.gain.diagonal else onto_metrics(x)

    def at(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the map of norm 1, and theta."""
        L = square_root(as_square(x, diagonal=self.gain.diagonal))
        return L / np.linalg.norm(L), self.theta


def as_square(flat: np.ndarray, *, diagonal: bool = False) -> np.ndarray:
    """Return the square matrix of a flat vector, or of a diagonal."""
    return np.diag(flat) if diagonal else flat.reshape(round(flat.size**0.5), -1)


def onto_simplex(weights: np.ndarray) -> np.ndarray:
    """Return the nearest weights that are not negative and sum to at most 1.

    The projections on either constraint are iterated, among the weights that are not 0 yet.

    Examples
    --------
    >>> onto_simplex(np.array([1.0, 0.4, -1.0]))
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


def onto_metrics(flat: np.ndarray) -> np.ndarray:
    """Return the nearest metric of trace 1 at most, flattened: eigenvalues alone move.

    Examples
    --------
    >>> onto_metrics(np.diag([1.0, 0.4, -1.0]).ravel()).reshape(3, 3).diagonal()
    array([0.8, 0.2, 0. ])
    """
    M = as_square(flat)
    values, V = np.linalg.eigh((M + M.T) / 2)
    return ((V * onto_simplex(values)) @ V.T).ravel()
