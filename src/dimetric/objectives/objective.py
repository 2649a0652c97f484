"""The interface of objectives, and the functions of a vector that solvers minimise.

An :class:`Objective` is a sum of terms that depend on the squared distances between points. Its
abstract subclasses declare methods that only some objectives have, such as those needed for an
optimality certificate.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Self, TypeAlias

import numpy as np

from dimetric._arrays.namespaces import Array, asarray_like, to_host
from dimetric._arrays.validation import ignoring_overflow
from dimetric.linalg.psd import map_of
from dimetric.linalg.scatter import Moments

ValueAndGrad = Callable[[np.ndarray], tuple[float, np.ndarray]]
# A quadratic penalty of a map L: a number r for r |L|_F^2, or a matrix R for tr(L R L^T).
Ridge: TypeAlias = float | np.ndarray


class Objective(ABC):
    """A sum of functions of squared distances between mapped points, to be minimised over maps.

    Attributes
    ----------
    points : array of shape (m, d)
        The samples, and any other points whose distances are used, such as centroids.
    n_terms : float
        Number of terms of the sum. Solvers minimise the sum divided by `n_terms`.
    infimum : float
        Greatest lower bound of the mean if no finite map attains it, and -inf otherwise.
    is_constant : bool
        Whether all maps have the same objective, for example because all targets are equal.
    theta : ndarray of shape (p,)
        Initial values of the extra parameters. Most objectives have none (p = 0).
    strata : ndarray of shape (n_units,)
        Stratum of each unit that mini-batches are drawn from: the class of each sample, or the
        kind of each listed pair. Each mini-batch contains the strata in proportion.
    """

    points: Array
    n_terms: float
    infimum: float = -np.inf
    is_constant: bool = False
    theta: np.ndarray
    strata: np.ndarray

    @abstractmethod
    def evaluate(
        self, Z: Array, V: Array, theta: np.ndarray
    ) -> tuple[float, Array, np.ndarray | float]:
        """Return the objective, the product of a graph Laplacian with V, and a gradient.

        The objective is evaluated at the mapped points. The gradient is that with respect to theta.

        Parameters
        ----------
        Z : array of shape (m, k)
            The mapped points.
        V : array of shape (m, q)
            Matrix that is multiplied by the Laplacian.
        theta : ndarray of shape (p,)
            The extra parameters.

        Returns
        -------
        value : float
            The objective: the sum over all terms.
        product : array of shape (m, q)
            The graph Laplacian of the weights W times V. W holds the derivatives of the sum with
            respect to the squared distances. :meth:`gradient_in_map` uses V = Z, and
            :meth:`gradient_in_metric` uses V = X.
        dtheta : ndarray of shape (p,) or float
            Gradient with respect to theta.
        """

    def gradient_in_map(
        self, L: Array, theta: np.ndarray
    ) -> tuple[float, Array, np.ndarray | float]:
        """Return the objective at a map L, and its gradients with respect to L and theta.

        The gradient with respect to L is 2 L S(W), where S(W) is the weighted scatter of the
        differences between the points of all pairs.
        Subclasses override this method and :meth:`gradient_in_metric` if they can compute the
        gradient faster than from the mapped points.
        """
        X = self.points
        Z = X @ L.T
        loss, product, dtheta = self.evaluate(Z, Z, theta)
        return loss, 2 * (product.T @ X), dtheta

    def gradient_in_metric(
        self, L: Array, theta: np.ndarray
    ) -> tuple[float, Array, np.ndarray | float]:
        """Return the objective at a map L, and its gradients with respect to M = L^T L and theta.

        The gradient with respect to the metric M is S(W), which is symmetric up to rounding.
        """
        X = self.points
        loss, product, dtheta = self.evaluate(X @ L.T, X, theta)
        return loss, product.T @ X, dtheta

    def batch(self, rows: np.ndarray) -> Self | None:
        """Return the objective of a mini-batch, or None if the batch has none.

        For example, a batch whose samples all have the same class may have no objective.

        Parameters
        ----------
        rows : ndarray
            Row indices of the batch's samples, pairs or triplets, ascending.
        """
        return None

    def part(self, max_units: int) -> "Objective":
        """Return the objective of every n-th unit, at most `max_units` in all."""
        n = len(self.strata)
        return self.batch(np.arange(0, n, 1 + n // max_units)) or self

    def moments(self, *, root: bool) -> Moments:
        """Return the moments of the points as one class. `root` is that of :class:`Moments`."""
        return Moments.of_all(self.points, root=root)

    def in_float32(self) -> "Objective | None":
        """Return an approximation of the objective by float32 arithmetic that takes less time.

        Its parameters and results have the dtype of the points, and its relative error is about
        1e-7. The default is None, for objectives that have no such approximation.
        """
        return None


class Certifiable(Objective):
    """An objective whose difference from the optimal value can be bounded."""

    @abstractmethod
    def within_class_covariance(self) -> np.ndarray:
        """Return the within-class covariance of the samples, on the host."""


class SimilarityObjective(Certifiable):
    """An objective over pairs of samples that are similar or dissimilar."""

    @abstractmethod
    def n_similar(self) -> float:
        """Return the number of similar pairs."""


class SoftMinimum(Objective):
    """A smooth minimum of the squared distances between dissimilar samples.

    Attributes
    ----------
    n_pairs : float
        Number of dissimilar pairs, without pairs of identical samples. If samples have weights,
        the sum of the products of their weights, relative to the smallest weight.
    """

    n_pairs: float

    @abstractmethod
    def smallest_squared_distance(self, Z: Array) -> float:
        """Return the smallest squared distance between dissimilar samples, given mapped points."""


class Smoothable(Objective):
    """An objective with hinge terms that can be replaced by smooth ones.

    Attributes
    ----------
    mu : float
        Weight of the hinges. The linear terms, the pulls, have weight ``1 - mu``.
    """

    mu: float

    @abstractmethod
    def smoothed(self, width: float) -> Self:
        """Return the same objective with another width of the hinges' smooth part."""

    @abstractmethod
    def with_points(self, X: Array, *, single: bool = False) -> Self:
        """Return the same objective for other points.

        With `single`, a graphics processor may compute the sums in float32, even if X is float64.
        """

    @abstractmethod
    def pull_matrix(self) -> np.ndarray:
        r"""Return P such that :math:`\langle P, M \rangle` is the mean pull under a metric M."""


def ridge_penalty(L: np.ndarray, ridge: Ridge) -> float:
    """Return the penalty of a map.

    Examples
    --------
    >>> L = np.array([[1.0, 2.0]])
    >>> ridge_penalty(L, 0.5), ridge_penalty(L, np.diag([0.5, 0.25]))
    (2.5, 1.5)
    """
    if isinstance(ridge, np.ndarray):
        return float(np.vdot(L @ ridge, L))
    return ridge * float(np.vdot(L, L))


def ridge_matrix(ridge: Ridge, d: int) -> np.ndarray:
    """Return the matrix R of a penalty tr(L R L^T) on maps of d features."""
    return ridge if isinstance(ridge, np.ndarray) else ridge * np.eye(d)


def on_maps(objective: Objective, *, ridge: Ridge = 0.0) -> ValueAndGrad:
    r"""Return the mean objective as a function of a vector that holds the map L and theta.

    .. math:: f(L, \theta) = \frac{1}{N} \mathrm{sum}(X L^T, \theta) + ridge\, |L|_F^2

    X holds ``objective.points``, and N is ``objective.n_terms``. If `ridge` is a matrix R, the
    penalty is :math:`\mathrm{tr}(L R L^T)`.
    """
    X, n = objective.points, objective.n_terms
    d, p = X.shape[1], len(objective.theta)

    # Solvers check for infinite values. On some processors, BLAS also reports invalid values in
    # float32 products of finite numbers.
    @ignoring_overflow()
    def value_and_grad(flat: np.ndarray) -> tuple[float, np.ndarray]:
        L, theta = flat[: flat.size - p].reshape(-1, d), flat[flat.size - p :]
        loss, G, dtheta = objective.gradient_in_map(asarray_like(L, X), theta)
        grad = _host_float64(G) / n
        grad = grad + (2 * L @ ridge if isinstance(ridge, np.ndarray) else 2 * ridge * L)
        value = loss / n + ridge_penalty(L, ridge)
        return value, np.concatenate([grad.ravel(), _host_dtheta(dtheta, p) / n])

    return value_and_grad


def on_metrics(
    objective: Objective, *, ridge: Ridge = 0.0, scale: np.ndarray | None = None
) -> ValueAndGrad:
    r"""Return the mean objective as a function of a vector that holds the metric M and theta.

    .. math:: f(M, \theta) = \frac{1}{N} \mathrm{sum}(X M^{1/2}, \theta) + ridge\, \mathrm{tr} M

    X holds ``objective.points``, and N is ``objective.n_terms``. If a `scale` T is given, the
    vector holds B instead of M, where :math:`M = T^T B T`. If `ridge` is a matrix R, the penalty is
    :math:`\mathrm{tr}(R M)`.
    """
    d = objective.points.shape[1]

    def value_and_grad(flat: np.ndarray) -> tuple[float, np.ndarray]:
        L, theta = map_of(flat[: d * d].reshape(d, d)), flat[d * d :]
        L = L if scale is None else L @ scale
        value, G, dtheta = metric_gradient(objective, L, theta, ridge=ridge)
        G = G if scale is None else scale @ G @ scale.T
        return value, np.concatenate([G.ravel(), dtheta])

    return value_and_grad


@ignoring_overflow()  # as in on_maps
def metric_gradient(
    objective: Objective, L: np.ndarray, theta: np.ndarray, *, ridge: Ridge = 0.0
) -> tuple[float, np.ndarray, np.ndarray]:
    """Return the mean objective at L, and its gradients with respect to M = L^T L and theta."""
    n = objective.n_terms
    loss, S, dtheta = objective.gradient_in_metric(asarray_like(L, objective.points), theta)
    G = _host_float64(S) / n
    G = (G + G.T) / 2 + ridge_matrix(ridge, len(G))
    value = loss / n + ridge_penalty(L, ridge)
    return value, G, _host_dtheta(dtheta, len(theta)) / n


def _host_float64(a: Array) -> np.ndarray:
    return to_host(a).astype(np.float64, copy=False)


def _host_dtheta(dtheta: Any, p: int) -> np.ndarray:
    return np.reshape(np.asarray(dtheta, dtype=np.float64), p) if p else np.zeros(0)
