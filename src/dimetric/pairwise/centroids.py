r"""The log-likelihood of classes that gather around centroids, over pairs of sample and centroid.

The pairs are bipartite: a loss of squared distances between n samples and m centroids takes
O(n m), not O(n^2), and its gradient comes from products with an n x m matrix of weights.
"""

from collections.abc import Iterator
from typing import Any

import array_api_compat as compat
import numpy as np

from dimetric._xp import Array, like, namespace, one_hot
from dimetric.pairwise.objective import scatter
from dimetric.reduce.tree import row_blocks, tree_reduce


class CentroidObjective:
    r"""Minus the log-likelihood of the samples' classes, a softmax over centroids.

    .. math:: \sum_i - \log \frac{\sum_{m: y_m = y_i} e^{-d^2_{im} / 2}}
                                 {\sum_m e^{-d^2_{im} / 2}}

    With :math:`p_{im}` the softmax over all centroids and :math:`r_{im}` that over those of the
    sample's own class, the weights are :math:`W_{im} = (r_{im} - p_{im}) / 2`, whose rows sum
    to 0. It is convex in :math:`M = L^T L` if every class has one centroid.

    Parameters
    ----------
    X : array of shape (n, d)
        Samples, centred.
    codes : ndarray of shape (n,)
        Their classes as integers, on the host.
    C : array of shape (m, d)
        Centroids, in X's namespace.
    centroid_codes : ndarray of shape (m,)
        Their classes.
    block : int, optional
        Samples whose distances are held at once; what a cache holds, or an accelerator.
    """

    infimum = 0.0
    theta = np.zeros(0)

    def __init__(
        self,
        X: Array,
        codes: np.ndarray,
        C: Array,
        centroid_codes: np.ndarray,
        *,
        block: int | None = None,
    ) -> None:
        xp = namespace(X)
        self.n_terms = float(X.shape[0])
        self.points = xp.concat([X, C])
        self.codes, self.centroid_codes = codes, centroid_codes
        if block is None:
            on_host = "cpu" in str(compat.device(X)).lower()
            block = max(64, (2**15 if on_host else 2**26) // C.shape[0])
        self._block = block
        self._labels = like(codes, X, dtype=xp.int64)
        self._centroid_labels = like(centroid_codes, X, dtype=xp.int64)

    def evaluate(self, Z: Array, V: Array, theta: np.ndarray) -> tuple[float, Array, float]:
        """Return what :class:`dimetric.pairwise.objective.Objective` asks for."""
        n, xp = len(self.codes), namespace(Z)
        VC = V[n:, :]
        loss, by_sample, by_centroid = 0.0, [], xp.zeros_like(VC)
        for rows, part, WT in self._weights(Z[:n, :], Z[n:, :], Z[n:, :]):
            loss += part
            by_sample.append(-(WT.T @ VC))  # a sample's weights sum to 0: so does its degree
            by_centroid = by_centroid + xp.sum(WT, axis=1)[:, None] * VC - WT @ V[rows, :]
        return loss, xp.concat([*by_sample, by_centroid]), 0.0

    def scatter(
        self, L: Array, A: Array | None, theta: np.ndarray
    ) -> tuple[float, Array, np.ndarray | float]:
        """Return what :func:`dimetric.pairwise.objective.scatter` does, by the cheaper of two ways.

        With fewer centroids than rows of the map, samples are not mapped: they are multiplied by
        centroids that are mapped there and back.
        """
        n, (k, d), xp = len(self.codes), L.shape, namespace(L)
        X, C = self.points[:n, :], self.points[n:, :]
        if k * (d + C.shape[0]) < d * C.shape[0]:
            return scatter(self, L, A, theta)
        Z = C @ L.T
        loss, S, degree = 0.0, xp.zeros_like(C), xp.zeros_like(C[:, 0])
        for rows, part, WT in self._weights(X, Z @ L, Z):
            loss += part
            S = S + WT @ X[rows, :]
            degree = degree + xp.sum(WT, axis=1)
        AC, AS = (C.T, S.T) if A is None else (Z.T, L @ S.T)
        return loss, AC @ (degree[:, None] * C - S) - AS @ C, 0.0

    def batch(self, rows: np.ndarray) -> "CentroidObjective":
        """Return the objective of some samples and all centroids."""
        n, xp = len(self.codes), namespace(self.points)
        X = xp.take(self.points[:n, :], like(rows, self.points, dtype=xp.int64), axis=0)
        return CentroidObjective(
            X, self.codes[rows], self.points[n:, :], self.centroid_codes, block=self._block
        )

    def _weights(self, Y: Array, T: Array, Z: Array) -> Iterator[tuple[slice, float, Array]]:
        """Yield (rows, loss, W^T) of blocks, from products T Y^T of mapped centroids Z and samples.

        A sample is a column here: sums over few centroids are sums of long rows.
        """
        xp = namespace(Y)
        offset = xp.sum(Z * Z, axis=1, keepdims=True) / 2
        for rows in row_blocks(Y.shape[0], self._block):
            # Minus half the squared distances, but for |z_i|^2, which no softmax sees.
            logits = T @ Y[rows, :].T - offset
            own = self._centroid_labels[:, None] == self._labels[rows][None, :]
            total, P = _softmax(logits)
            likely, R = _softmax(xp.where(own, logits, -xp.inf))
            yield rows, float(xp.sum(total - likely)), (R - P) / 2


def _softmax(logits: Array) -> tuple[Array, Array]:
    """Return the logarithm of the sum of exponentials of each column, and their shares of it."""
    xp = namespace(logits)
    largest = xp.max(logits, axis=0, keepdims=True)
    P = xp.exp(logits - largest)
    total = xp.sum(P, axis=0, keepdims=True)
    return largest + xp.log(total), P / total


def group_means(X: Array, groups: np.ndarray, n_groups: int) -> Array:
    """Return the mean of each group of samples, in X's dtype; sums are in float64.

    Examples
    --------
    >>> group_means(np.array([[1.0], [2.0], [4.0]]), np.array([0, 1, 1]), 2)
    array([[1.],
           [3.]])
    """
    xp = namespace(X)

    def sums(X_block: Array, groups_block: Array) -> Any:
        return one_hot(groups_block, n_groups, xp.float64).T @ xp.astype(X_block, xp.float64)

    total = tree_reduce(sums, X, like(groups, X, dtype=xp.int64))
    counts = like(np.bincount(groups, minlength=n_groups), X, dtype=xp.float64)
    return xp.astype(total / counts[:, None], X.dtype)
