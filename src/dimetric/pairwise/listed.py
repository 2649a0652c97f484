r"""Objectives over a list of pairs: a few of all pairs of points, one by one.

What is summed is a function of the squared distances :math:`d^2_p` of the listed pairs
:math:`p = (i, j)`, with weights :math:`w_p = \partial loss / \partial d^2_p`. The gradient in a map
is :math:`2 L S`, that in a metric S, of the scatter

.. math:: S = \sum_p w_p (x_i - x_j)(x_i - x_j)^T = X^T \mathcal{L}(w) X

with the sparse Laplacian :math:`\mathcal{L}(w)` of the graph whose edges are the pairs.
"""

from typing import Any, Protocol

import array_api_compat as compat
import numpy as np
from scipy import sparse

from dimetric._xp import Array, like, namespace, to_host
from dimetric.linalg.scatter import weighted_scatter
from dimetric.pairwise.impostors import distances_between
from dimetric.reduce.tree import row_blocks

BLOCK = 2**20  # numbers that differences of pairs hold at once


class ListRule(Protocol):
    """What is summed over a list of pairs."""

    def listed(
        self, xp: Any, D: Array, kinds: Array, theta: np.ndarray
    ) -> tuple[float, Array, np.ndarray | float]:
        """Return (loss, w, dtheta).

        Parameters
        ----------
        xp : namespace
            Of the arrays.
        D : array of shape (m,)
            Squared distances of the pairs.
        kinds : array of shape (m,)
            Their kinds: 0 of similar pairs, 1 of dissimilar ones.
        theta : ndarray of shape (p,)
            Extra parameters of the objective, on the host; often none.
        """


class ListedObjective:
    """A rule over a list of pairs of samples, an ``Objective``.

    Its mini-batches are made of pairs.

    Parameters
    ----------
    rule : ListRule
        What is summed.
    X : array of shape (n, d)
        Samples, centred. Those that no pair names are left out.
    rows : ndarray of shape (m, 2)
        Pairs, as row numbers of X, on the host.
    kinds : ndarray of shape (m,)
        Their kinds as integers from 0: 0 of similar pairs, 1 of dissimilar ones.
    theta : sequence of float
        Start of the rule's extra parameters.
    infimum : float, default=-inf
        Greatest lower bound of the mean where no finite map attains it.
    """

    def __init__(
        self,
        rule: ListRule,
        X: Array,
        rows: np.ndarray,
        kinds: np.ndarray,
        theta: Any = (),
        *,
        infimum: float = -np.inf,
    ) -> None:
        xp = namespace(X)
        named, places = np.unique(rows, return_inverse=True)
        self.points = xp.take(X, like(named, X, dtype=xp.int64), axis=0)
        self.rule, self.rows, self.codes = rule, places.reshape(-1, 2), kinds
        self.theta, self.infimum = np.asarray(theta, dtype=np.float64), infimum
        self.n_terms = float(len(rows))
        self._kinds = like(kinds, X, dtype=xp.int64)
        self._there = like(self.rows, X, dtype=xp.int64)

    def evaluate(
        self, Z: Array, V: Array, theta: np.ndarray
    ) -> tuple[float, Array, np.ndarray | float]:
        """Return what :class:`Objective` asks for."""
        xp = namespace(Z)
        loss, w, dtheta = self.rule.listed(xp, self.distances(Z), self._kinds, theta)
        product = self._laplacian(to_host(w)) @ to_host(V)
        return float(loss), like(product, V), dtheta

    def distances(self, Z: Array) -> Array:
        """Return the squared distances of all pairs at mapped points."""
        if compat.is_numpy_array(Z):
            return distances_between(Z, *self.rows.T)
        xp = namespace(Z)
        squares = [xp.sum(delta * delta, axis=1) for _, delta in self._differences(Z)]
        return xp.concat(squares)

    def batch(self, rows: np.ndarray) -> "ListedObjective | None":
        """Return the rule over some pairs; None if all are of one kind."""
        kinds = self.codes[rows]
        if kinds.min() == kinds.max():
            return None
        return ListedObjective(
            self.rule, self.points, self.rows[rows], kinds, self.theta, infimum=self.infimum
        )

    def within(self) -> np.ndarray:
        """Return half the mean outer product of similar pairs' differences."""
        weights = (self.codes == 0) / (2 * max(1, np.sum(self.codes == 0)))
        X = to_host(self.points).astype(np.float64)
        n = len(X)
        W = sparse.csr_array((weights, tuple(self.rows.T)), shape=(n, n))
        return weighted_scatter(X, W)

    def _laplacian(self, w: np.ndarray) -> sparse.csr_array:
        n, (i, j) = self.points.shape[0], self.rows.T
        W = sparse.csr_array((w, (i, j)), shape=(n, n))
        degrees = W.sum(axis=0) + W.sum(axis=1)
        return sparse.diags_array(degrees).tocsr() - W - W.T

    def _differences(self, Z: Array) -> Any:
        xp = namespace(Z)
        for b in row_blocks(len(self.rows), max(1, BLOCK // max(1, Z.shape[1]))):
            left, right = self._there[b, 0], self._there[b, 1]
            yield b, xp.take(Z, left, axis=0) - xp.take(Z, right, axis=0)
