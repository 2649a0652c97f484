r"""Objectives over a list of pairs of points, rather than over all pairs.

The loss is a function of the squared distances :math:`d^2_p` of the listed pairs
:math:`p = (i, j)`, with weights :math:`w_p = \partial loss / \partial d^2_p`. Its gradient with
respect to the metric is the scatter S, and its gradient with respect to the map L is
:math:`2 L S`, where

.. math:: S = \sum_p w_p (x_i - x_j)(x_i - x_j)^T = X^T \mathcal{L}(w) X

and :math:`\mathcal{L}(w)` is the sparse Laplacian of the graph whose edges are the pairs.
"""

from collections.abc import Callable, Iterator
from copy import copy
from math import prod
from typing import Any, Generic, Protocol, Self, TypeVar

import array_api_compat as compat
import numpy as np
from scipy import sparse

from dimetric._arrays.blocks import row_blocks
from dimetric._arrays.namespaces import Array, asarray_like, namespace, take_rows, to_host
from dimetric._arrays.row_order import distinct_rows
from dimetric.objectives.objective import SimilarityObjective
from dimetric.supervision.pairs import Pairs

BLOCK_ENTRIES = 2**20  # numbers in a block of differences between the points of pairs
MAX_DENSE_POINTS = 256  # the adjacency matrix of a graph of more points is sparse
CACHED_ENTRIES = 2**15  # numbers in a block of differences that fits into the cache


class ListRule(Protocol):
    """A loss over a list of pairs."""

    def listed(
        self, xp: Any, D: Array, kinds: Array, theta: np.ndarray
    ) -> tuple[float, Array, np.ndarray | float]:
        """Return the loss, and its derivatives with respect to the squared distances and theta.

        Parameters
        ----------
        xp : namespace
            Array namespace of D.
        D : array of shape (m,)
            Squared distances of the pairs.
        kinds : array of shape (m,)
            Kind of each pair: 0 is similar, 1 is dissimilar.
        theta : ndarray of shape (p,)
            Extra parameters of the objective, on the host. Most objectives have none.

        Returns
        -------
        loss : float
            Sum over all pairs.
        w : array of shape (m,)
            Derivative of the loss with respect to D.
        dtheta : ndarray of shape (p,) or float
            Derivative of the loss with respect to theta, or 0 if there are no extra parameters.
        """


RuleT = TypeVar("RuleT", bound=ListRule)


class ListedObjective(SimilarityObjective, Generic[RuleT]):
    """The sum of a rule over a list of pairs of samples.

    A mini-batch contains some of the pairs.

    Parameters
    ----------
    rule : ListRule
        Computes the sum.
    X : array of shape (n, d)
        Samples, centred. Samples that are not in any pair are dropped.
    rows : ndarray of shape (m, 2)
        Pairs, as row indices of X, on the host.
    kinds : ndarray of shape (m,)
        Kind of each pair: 0 is similar, 1 is dissimilar.
    theta : sequence of float
        Initial values of the rule's extra parameters.
    infimum : float, default=-inf
        Greatest lower bound of the mean, if no finite map attains it.
    """

    def __init__(
        self,
        rule: RuleT,
        X: Array,
        rows: np.ndarray,
        kinds: np.ndarray,
        theta: Any = (),
        *,
        infimum: float = -np.inf,
    ) -> None:
        xp = namespace(X)
        used, renumbered = np.unique(rows, return_inverse=True)
        self.points = take_rows(X, used)
        self.rule, self.rows = rule, renumbered.reshape(-1, 2)
        self.kinds = self.strata = kinds
        self.theta, self.infimum = np.asarray(theta, dtype=np.float64), infimum
        self.n_terms = float(len(rows))
        self._kinds = asarray_like(kinds, X, dtype=xp.int64)
        self._rows = asarray_like(self.rows, X, dtype=xp.int64)
        self._graph = Graph(self.rows, len(used))

    @classmethod
    def of_pairs(
        cls, rule: RuleT, X: Array, pairs: Pairs, theta: Any = (), *, infimum: float = -np.inf
    ) -> Self:
        """Return the objective for pairs of the samples X."""
        return cls(rule, X, pairs.rows, pairs.kinds, theta, infimum=infimum)

    def evaluate(
        self, Z: Array, V: Array, theta: np.ndarray
    ) -> tuple[float, Array, np.ndarray | float]:
        """Return the objective, the product and dtheta. See :meth:`Objective.evaluate`."""
        loss, w, dtheta = self.rule.listed(namespace(Z), self.distances(Z), self._kinds, theta)
        return loss, asarray_like(self._graph.laplacian_product(to_host(w), to_host(V)), V), dtheta

    def gradient_in_map(
        self, L: Array, theta: np.ndarray
    ) -> tuple[float, Array, np.ndarray | float]:
        """Return the objective and its gradients. See :meth:`Objective.gradient_in_map`."""
        if compat.is_numpy_array(self.points):
            return super().gradient_in_map(L, theta)
        loss, LS, dtheta = self._sum_over_differences(L, theta, lambda delta: delta @ L.T)
        return loss, 2 * LS, dtheta

    def gradient_in_metric(
        self, L: Array, theta: np.ndarray
    ) -> tuple[float, Array, np.ndarray | float]:
        """Return the objective and its gradients. See :meth:`Objective.gradient_in_metric`."""
        if compat.is_numpy_array(self.points):
            return super().gradient_in_metric(L, theta)
        return self._sum_over_differences(L, theta, lambda delta: delta)

    def _sum_over_differences(
        self, L: Array, theta: np.ndarray, mapped: Callable[[Array], Array]
    ) -> tuple[float, Array, np.ndarray | float]:
        """Return the loss, the sum of ``w mapped(v)^T v`` over the differences v, and dtheta.

        This replaces the product with a sparse Laplacian, because the array-API standard has no
        sparse matrices.
        """
        X = self.points
        D = self.distances(X @ L.T)
        loss, w, dtheta = self.rule.listed(namespace(X), D, self._kinds, theta)
        total: Any = 0.0
        for b, delta in self._differences(X):
            total = total + (w[b][:, None] * mapped(delta)).T @ delta
        return loss, total, dtheta

    def distances(self, Z: Array) -> Array:
        """Return the squared distances of all pairs, given mapped points."""
        if compat.is_numpy_array(Z):
            return listed_distances(Z, *self.rows.T)
        xp = namespace(Z)
        return xp.concat([xp.sum(delta * delta, axis=1) for _, delta in self._differences(Z)])

    def batch(self, rows: np.ndarray) -> "ListedObjective[RuleT] | None":
        """Return the objective of some pairs, or None if they all have the same kind."""
        kinds = self.kinds[rows]
        if kinds.min() == kinds.max():
            return None
        return ListedObjective(
            self.rule, self.points, self.rows[rows], kinds, self.theta, infimum=self.infimum
        )

    def within_class_covariance(self) -> np.ndarray:
        """Return the within-class covariance, estimated from similar pairs.

        The estimate is half the mean outer product of the differences between their samples.
        """
        X, similar = to_host(self.points).astype(np.float64), self.kinds == 0
        weights = similar / (2.0 * np.sum(similar))
        return np.asarray(X.T @ self._graph.laplacian_product(weights, X))

    def n_similar(self) -> float:
        """Return the number of similar pairs."""
        return float(np.sum(self.kinds == 0))

    def _differences(self, Z: Array) -> Iterator[tuple[slice, Array]]:
        """Yield blocks of pairs, and the differences between their two points."""
        xp = namespace(Z)
        for b in row_blocks(len(self.rows), max(1, BLOCK_ENTRIES // Z.shape[1])):
            left, right = (xp.take(Z, self._rows[b, side], axis=0) for side in (0, 1))
            yield b, left - right


class Graph:
    """The graph whose edges are pairs of points.

    For many points, the constructor computes the sparsity pattern of the adjacency matrix once, for
    all later products. For few points, a dense matrix is faster.

    Parameters
    ----------
    rows : ndarray of shape (m, 2)
        Pairs of points, as row indices.
    n : int
        Number of points.

    Examples
    --------
    >>> Graph(np.array([[0, 1], [0, 2]]), 3).laplacian_product(np.array([1.0, 3.0]), np.eye(3))
    array([[ 4., -1., -3.],
           [-1.,  1.,  0.],
           [-3.,  0.,  3.]])
    """

    def __init__(self, rows: np.ndarray, n: int) -> None:
        self._n, self._rows = n, rows
        self._adjacency: sparse.csr_array | None = None
        if n > MAX_DENSE_POINTS:
            self._adjacency = self._pattern()
        else:
            self._entries = np.concatenate(
                [n * rows[:, 0] + rows[:, 1], n * rows[:, 1] + rows[:, 0]]
            )

    def _pattern(self) -> sparse.csr_array:
        """Return the adjacency matrix, and set the number of the pair in each of its entries."""
        rows, n = self._rows, self._n
        left, right = rows.T.ravel(), rows[:, ::-1].T.ravel()  # each pair in both directions
        # NumPy sorts integers of 16 bits much faster than larger ones.
        keys = left.astype(np.uint16) if n <= 2**16 else left
        order = np.argsort(keys, kind="stable")
        starts = np.concatenate([[0], np.cumsum(np.bincount(left, minlength=n))])
        index = np.int32 if len(left) < 2**31 else np.int64
        self._pair = order % len(rows)
        pattern = np.zeros(len(left)), right[order].astype(index), starts.astype(index)
        return sparse.csr_array(pattern, shape=(n, n))

    def laplacian_product(self, w: np.ndarray, V: np.ndarray) -> np.ndarray:
        """Return the Laplacian of the graph with edge weights w, times V."""
        n = self._n
        if self._adjacency is not None:
            W = copy(self._adjacency)  # shares the pattern
            W.data = w[self._pair]
            product: np.ndarray = (W @ np.ones(n, V.dtype))[:, None] * V
            product -= W @ V
            return product
        laplacian = -np.bincount(self._entries, np.concatenate([w, w]), n * n).reshape(n, n)
        laplacian.ravel()[:: n + 1] -= laplacian.sum(axis=1)
        return np.asarray(laplacian @ V, dtype=V.dtype)


def pairs_differ(X: Array, rows: np.ndarray) -> np.ndarray:
    """Return, for each pair of row indices, whether its two samples differ.

    Examples
    --------
    >>> pairs_differ(np.array([[0.0], [1.0], [0.0]]), np.array([[0, 1], [0, 2]]))
    array([ True, False])
    """
    _, ids = distinct_rows(to_host(X))
    return np.asarray(ids[rows[:, 0]] != ids[rows[:, 1]])


def listed_distances(Z: np.ndarray, i: np.ndarray, j: np.ndarray) -> np.ndarray:
    """Return the squared distances between points i and points j, computed from differences.

    The result has the shape of j. The shape of i may be one that broadcasts to it.

    Examples
    --------
    >>> Z = np.array([[0.0], [1.0], [3.0]])
    >>> listed_distances(Z, np.array([0, 1]), np.array([2, 2]))
    array([9., 4.])
    >>> listed_distances(Z, np.array([[0], [1]]), np.array([[1, 2], [0, 2]]))
    array([[1., 9.],
           [1., 4.]])
    """
    distances = np.empty(j.shape, Z.dtype)
    entries = max(1, Z.shape[1] * prod(j.shape[1:]))  # for each row of j
    for b in row_blocks(len(j), CACHED_ENTRIES // entries or 1):
        difference = Z.take(j[b], axis=0)
        difference -= Z.take(i[b], axis=0)
        np.einsum("...f,...f->...", difference, difference, out=distances[b])
    return distances
