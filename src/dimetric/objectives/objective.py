"""Objectives over points, and the functions of a host vector that solvers minimise."""

from collections.abc import Callable
from functools import partial
from typing import Any, Protocol, Self

import array_api_compat as compat
import numpy as np

from dimetric._arrays.namespaces import Array, eps, like, namespace, to_host
from dimetric.linalg.psd import map_of
from dimetric.linalg.scatter import Moments
from dimetric.objectives.engine import Rule, laplacian_product

ValueAndGrad = Callable[[np.ndarray], tuple[float, np.ndarray]]


class Objective(Protocol):
    """A sum over squared distances between points, to be minimised over maps of the points.

    An objective that knows a shorter way than by mapped points has a method ``scatter(L, A,
    theta)``, which returns what :func:`scatter` does.

    Attributes
    ----------
    points : array of shape (m, d)
        Samples, and what else distances are taken to.
    n_terms : float
        Terms of the sum: solvers see its mean.
    infimum : float
        Greatest lower bound of the mean where no finite map attains it, else -inf.
    theta : ndarray of shape (p,)
        Start of extra parameters; often there are none.
    codes : ndarray of shape (m,)
        Kinds, as integers from 0, of what mini-batches are made of: classes of samples, or which
        pairs of a list are similar.
    """

    points: Array
    n_terms: float
    infimum: float
    theta: np.ndarray
    codes: np.ndarray

    def evaluate(
        self, Z: Array, V: Array, theta: np.ndarray
    ) -> tuple[float, Array, np.ndarray | float]:
        """Return (sum, Laplacian of its weights times V, gradient in theta) at mapped points Z."""

    def batch(self, rows: np.ndarray) -> Self | None:
        """Return the objective of some rows of `codes`, ascending; None if that says nothing."""


class PairwiseObjective:
    """A rule over labelled samples.

    NumPy's samples take the rule's ``fast`` path if it has one, all others the engine.

    Parameters
    ----------
    rule : Rule
        What is summed.
    X : array of shape (n, d)
        Samples, centred.
    codes : ndarray of shape (n,)
        Labels as integers from 0, ascending, on the host.
    theta : sequence of float
        Start of the rule's extra parameters.
    """

    def __init__(self, rule: Rule, X: Array, codes: np.ndarray, theta: Any = ()) -> None:
        if np.any(np.diff(codes) < 0):
            raise ValueError("codes must be ascending: sort the samples by class.")
        self.rule, self.points, self.codes = rule, X, codes
        self.theta = np.asarray(theta, dtype=np.float64)
        counts = np.bincount(codes)
        self.n_terms, self.infimum = rule.n_terms(counts), rule.infimum(counts)
        self._starts = np.concatenate([[0], np.cumsum(counts)])
        self._fast = rule.fast if compat.is_numpy_array(X) else None
        self._labels = like(codes, X, dtype=namespace(X).int64)

    def evaluate(
        self, Z: Array, V: Array, theta: np.ndarray
    ) -> tuple[float, Array, np.ndarray | float]:
        """Return what :class:`Objective` asks for."""
        if _is_coarse(Z):
            xp = namespace(Z)
            wide = xp.astype(Z, xp.float64), xp.astype(V, xp.float64)
            loss, product, dtheta = self.evaluate(*wide, theta)
            return loss, xp.astype(product, V.dtype), dtheta
        if self._fast is not None:
            return self._fast(Z, V, self._starts, theta)
        return laplacian_product(self.rule, Z, V, self._labels, theta)

    def batch(self, rows: np.ndarray) -> "PairwiseObjective | None":
        """Return the rule over the pairs of some samples; None if all or none are of one class."""
        codes = self.codes[rows]
        if codes[0] == codes[-1] or np.all(codes[1:] != codes[:-1]):
            return None
        xp = namespace(self.points)
        X = xp.take(self.points, like(rows, self.points, dtype=xp.int64), axis=0)
        return PairwiseObjective(self.rule, X, codes, self.theta)

    def within(self) -> np.ndarray:
        """Return the covariance of samples within their classes."""
        return covariance_within(self.points, self.codes)

    def n_similar(self) -> float:
        """Return the number of pairs of one class."""
        counts = np.bincount(self.codes)
        return float(counts @ (counts - 1)) / 2


def covariance_within(points: Array, codes: np.ndarray) -> np.ndarray:
    """Return the covariance within classes of samples, the first of some points."""
    X = points[: len(codes), :]
    labels = like(codes, X, dtype=namespace(X).int64)
    moments = Moments.of_all(X, labels, int(codes[-1]) + 1, root=False)
    return to_host(moments.spread) / len(codes)


def _is_coarse(Z: Array) -> bool:
    """Tell whether points are so far from each other that single precision blurs near ones.

    Squared distances from a matrix product are rounded relative to the points' squared norms.
    """
    xp = namespace(Z)
    if Z.dtype != xp.float32 or Z.shape[1] == 0:
        return False
    return eps(Z) * float(xp.max(xp.sum(Z * Z, axis=1))) > 1e-3


def scatter(
    objective: Objective, L: Array, A: Array | None, theta: np.ndarray
) -> tuple[float, Array, np.ndarray | float]:
    """Return (sum, A S(W), gradient in theta), where W are the objective's weights at the map L.

    S(W), the scatter of weighted pairs, is the gradient in M, and 2 L S(W) that in L; A is one of
    the maps that points are known under: L, or None for the identity.
    """
    X = objective.points
    Z = X @ L.T
    loss, product, dtheta = objective.evaluate(Z, X if A is None else Z, theta)
    return loss, product.T @ X, dtheta


def on_maps(objective: Objective, *, ridge: float = 0.0) -> ValueAndGrad:
    r"""Return the mean objective as a function of the flattened map, followed by theta.

    .. math:: f(L, \theta) = \frac{1}{N} \mathrm{sum}(L X, \theta) + ridge\, |L|_F^2
    """
    X, n = objective.points, objective.n_terms
    d, p = X.shape[1], len(objective.theta)
    scattered = getattr(objective, "scatter", partial(scatter, objective))

    def value_and_grad(flat: np.ndarray) -> tuple[float, np.ndarray]:
        L, theta = flat[: flat.size - p].reshape(-1, d), flat[flat.size - p :]
        there = like(L, X)
        loss, LS, dtheta = scattered(there, there, theta)
        grad = 2 * (_host(LS) / n + ridge * L)
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
    n, scattered = objective.n_terms, getattr(objective, "scatter", partial(scatter, objective))
    loss, S, dtheta = scattered(like(L, objective.points), None, theta)
    G = _host(S) / n
    G = (G + G.T) / 2 + ridge * np.eye(len(G))
    value = loss / n + ridge * float(np.vdot(L, L))
    return value, G, _host_theta(dtheta, len(theta)) / n


def _host(a: Array) -> np.ndarray:
    return to_host(a).astype(np.float64, copy=False)


def _host_theta(dtheta: Any, p: int) -> np.ndarray:
    return np.reshape(np.asarray(dtheta, dtype=np.float64), p) if p else np.zeros(0)
