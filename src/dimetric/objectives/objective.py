"""The contract of objectives, and the functions of a host vector that solvers minimise.

An :class:`Objective` is a sum over squared distances between points. The abstract classes derived
from it name what only some objectives offer: a learner asks for the one that it needs.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Self

import numpy as np

from dimetric._arrays.namespaces import Array, asarray_like, to_host
from dimetric.linalg.psd import map_of

ValueAndGrad = Callable[[np.ndarray], tuple[float, np.ndarray]]


class Objective(ABC):
    """A sum over squared distances between points, to be minimised over maps of the points.

    Attributes
    ----------
    points : array of shape (m, d)
        The samples, and other points that distances are taken to, such as centroids.
    n_terms : float
        Number of terms of the sum: solvers minimise its mean.
    infimum : float
        Greatest lower bound of the mean where no finite map attains it, else -inf.
    theta : ndarray of shape (p,)
        Start of the extra parameters; often there are none.
    strata : ndarray of shape (n_units,)
        Group number of each unit that mini-batches are made of: the class of each sample, or the
        kind of each listed pair. Mini-batches hold all groups in proportion.
    """

    points: Array
    n_terms: float
    infimum: float = -np.inf
    theta: np.ndarray
    strata: np.ndarray

    @abstractmethod
    def evaluate(
        self, Z: Array, V: Array, theta: np.ndarray
    ) -> tuple[float, Array, np.ndarray | float]:
        """Return the sum at mapped points, a Laplacian product, and the gradient in theta.

        Parameters
        ----------
        Z : array of shape (m, k)
            The points under a map.
        V : array of shape (m, q)
            What the Laplacian is multiplied by.
        theta : ndarray of shape (p,)
            The extra parameters.

        Returns
        -------
        sum : float
        product : array of shape (m, q)
            The Laplacian of the weights W times V, where W are the derivatives of the sum in the
            squared distances. With V = Z it leads to :meth:`gradient_in_map`, and
            with V = X to :meth:`gradient_in_metric`.
        dtheta : ndarray of shape (p,) or float
            Gradient in theta.
        """

    def gradient_in_map(
        self, L: Array, theta: np.ndarray
    ) -> tuple[float, Array, np.ndarray | float]:
        """Return the sum at a map L, its gradient in L, and its gradient in theta.

        The gradient is 2 L S(W), where S(W) is the scatter of weighted pairs. Objectives that know
        a shorter way than over mapped points override this and the next method.
        """
        X = self.points
        Z = X @ L.T
        loss, product, dtheta = self.evaluate(Z, Z, theta)
        return loss, 2 * (product.T @ X), dtheta

    def gradient_in_metric(
        self, L: Array, theta: np.ndarray
    ) -> tuple[float, Array, np.ndarray | float]:
        """Return the sum at a map L, its gradient in the metric M = L^T L, and that in theta.

        The gradient is S(W), symmetric but for rounding.
        """
        X = self.points
        loss, product, dtheta = self.evaluate(X @ L.T, X, theta)
        return loss, product.T @ X, dtheta

    def batch(self, rows: np.ndarray) -> Self | None:
        """Return the objective of some units, ascending rows of `strata`.

        None if these units alone define no objective. By default no units do.
        """
        return None


class Certifiable(Objective):
    """An objective for which a bound of the distance to its optimum can be searched."""

    @abstractmethod
    def within_class_covariance(self) -> np.ndarray:
        """Return the covariance of the samples within their classes, on the host."""


class SimilarityObjective(Certifiable):
    """An objective over pairs of samples, each similar or dissimilar."""

    @abstractmethod
    def n_similar(self) -> float:
        """Return the number of similar pairs."""


class SoftMinimum(Objective):
    """A smooth form of the least squared distance between dissimilar samples.

    Attributes
    ----------
    n_pairs : int
        Number of dissimilar pairs that a map can tell apart.
    """

    n_pairs: int

    @abstractmethod
    def smallest_squared_distance(self, Z: Array) -> float:
        """Return the least squared distance between dissimilar samples at mapped points."""


class Smoothable(Objective):
    """An objective with hinges, whose kinks can be made smooth.

    Attributes
    ----------
    mu : float
        Weight of the hinges; of the linear terms, the pulls, it is ``1 - mu``.
    """

    mu: float

    @abstractmethod
    def smoothed(self, width: float) -> Self:
        """Return the objective whose hinges have a smooth part of another width."""

    @abstractmethod
    def with_points(self, X: Array) -> Self:
        """Return the objective of other points."""

    @abstractmethod
    def pull_matrix(self) -> np.ndarray:
        r"""Return P, with :math:`\langle P, M \rangle` the mean of all pulls under a metric M."""


def on_maps(objective: Objective, *, ridge: float = 0.0) -> ValueAndGrad:
    r"""Return the mean objective as a function of the flattened map, followed by theta.

    .. math:: f(L, \theta) = \frac{1}{N} \mathrm{sum}(L X, \theta) + ridge\, |L|_F^2
    """
    X, n = objective.points, objective.n_terms
    d, p = X.shape[1], len(objective.theta)

    def value_and_grad(flat: np.ndarray) -> tuple[float, np.ndarray]:
        L, theta = flat[: flat.size - p].reshape(-1, d), flat[flat.size - p :]
        loss, G, dtheta = objective.gradient_in_map(asarray_like(L, X), theta)
        grad = _host(G) / n + 2 * ridge * L
        value = loss / n + ridge * float(np.vdot(L, L))
        return value, np.concatenate([grad.ravel(), _host_theta(dtheta, p) / n])

    return value_and_grad


def on_metrics(
    objective: Objective, *, ridge: float = 0.0, scale: np.ndarray | None = None
) -> ValueAndGrad:
    r"""Return the mean objective as a function of the flattened metric M, followed by theta.

    .. math:: f(M, \theta) = \frac{1}{N} \mathrm{sum}(M^{1/2} X, \theta) + ridge\, \mathrm{tr} M

    If there is a `scale` T it is a function of B, :math:`M = T^T B T`.
    """
    d = objective.points.shape[1]

    def value_and_grad(flat: np.ndarray) -> tuple[float, np.ndarray]:
        L, theta = map_of(flat[: d * d].reshape(d, d)), flat[d * d :]
        L = L if scale is None else L @ scale
        value, G, dtheta = metric_gradient(objective, L, theta, ridge=ridge)
        G = G if scale is None else scale @ G @ scale.T
        return value, np.concatenate([G.ravel(), dtheta])

    return value_and_grad


def metric_gradient(
    objective: Objective, L: np.ndarray, theta: np.ndarray, *, ridge: float = 0.0
) -> tuple[float, np.ndarray, np.ndarray]:
    """Return the mean objective at a map, and its gradients in the metric M = L^T L and theta."""
    n = objective.n_terms
    loss, S, dtheta = objective.gradient_in_metric(asarray_like(L, objective.points), theta)
    G = _host(S) / n
    G = (G + G.T) / 2 + ridge * np.eye(len(G))
    value = loss / n + ridge * float(np.vdot(L, L))
    return value, G, _host_theta(dtheta, len(theta)) / n


def _host(a: Array) -> np.ndarray:
    return to_host(a).astype(np.float64, copy=False)


def _host_theta(dtheta: Any, p: int) -> np.ndarray:
    return np.reshape(np.asarray(dtheta, dtype=np.float64), p) if p else np.zeros(0)
