r"""The log-likelihood of classes that gather around centroids, over pairs of sample and centroid.

The pairs are bipartite: a loss of squared distances between n samples and m centroids takes
O(n m), not O(n^2), and its gradient comes from products with an n x m matrix of weights.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import array_api_compat as compat
import numpy as np

from dimetric._arrays.blocks import row_blocks
from dimetric._arrays.namespaces import Array, like, namespace, one_hot
from dimetric._arrays.threads import n_threads, one_blas_thread
from dimetric.linalg.reductions import tree_reduce
from dimetric.objectives.objective import Certifiable
from dimetric.objectives.pairwise import covariance_within


class CentroidObjective(Certifiable):
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
        self.strata, self.centroid_codes = codes, centroid_codes
        if block is None:
            on_host = "cpu" in str(compat.device(X)).lower()
            block = max(64, (2**15 if on_host else 2**26) // C.shape[0])
        self._block = block
        self._labels = like(codes, X, dtype=xp.int64)
        self._centroid_labels = like(centroid_codes, X, dtype=xp.int64)

    def evaluate(self, Z: Array, V: Array, theta: np.ndarray) -> tuple[float, Array, float]:
        """Return what ``Objective.evaluate`` does."""
        n, xp = len(self.strata), namespace(Z)
        VC, by_sample = V[n:, :], {}

        def product(rows: slice, WT: Array) -> Array:
            by_sample[rows.start] = -(WT.T @ VC)  # a sample's weights sum to 0: so does its degree
            return xp.sum(WT, axis=1)[:, None] * VC - WT @ V[rows, :]

        with self._workers() as threads:
            loss, by_centroid = self._over_blocks(product, Z[:n, :], Z[n:, :], Z[n:, :], threads)
        return loss, xp.concat([*(by_sample[i] for i in sorted(by_sample)), by_centroid]), 0.0

    def scatter(
        self, L: Array, A: Array | None, theta: np.ndarray
    ) -> tuple[float, Array, np.ndarray | float]:
        """Return what ``Objective.scatter`` does, by the cheaper of two ways.

        With fewer centroids than rows of the map, samples are not mapped: they are multiplied by
        centroids that are mapped there and back.
        """
        n, (k, d), xp = len(self.strata), L.shape, namespace(L)
        X, C = self.points[:n, :], self.points[n:, :]
        if k * (d + C.shape[0]) < d * C.shape[0]:
            return super().scatter(L, A, theta)

        def sums(rows: slice, WT: Array) -> Array:
            return xp.concat([WT @ X[rows, :], xp.sum(WT, axis=1)[:, None]], axis=1)

        with self._workers() as threads:
            Z = C @ L.T
            loss, found = self._over_blocks(sums, X, Z @ L, Z, threads)
            S, degree = found[:, :d], found[:, d:]
            AC, AS = (C.T, S.T) if A is None else (Z.T, L @ S.T)
            return loss, AC @ (degree * C - S) - AS @ C, 0.0

    def batch(self, rows: np.ndarray) -> "CentroidObjective":
        """Return the objective of some samples and all centroids."""
        n, xp = len(self.strata), namespace(self.points)
        X = xp.take(self.points[:n, :], like(rows, self.points, dtype=xp.int64), axis=0)
        return CentroidObjective(
            X, self.strata[rows], self.points[n:, :], self.centroid_codes, block=self._block
        )

    def within(self) -> np.ndarray:
        """Return the covariance of samples within their classes."""
        return covariance_within(self.points, self.strata)

    @contextmanager
    def _workers(self) -> Iterator[int]:
        """Yield how many threads to use; NumPy's BLAS has one meanwhile, others see to themselves.

        The products are small: threads of BLAS would mostly wait for one another.
        """
        if compat.is_numpy_array(self.points):
            with one_blas_thread() as allowed:
                yield n_threads(allowed, len(self.strata) * len(self.centroid_codes) // 32)
        else:
            yield 1

    def _over_blocks(
        self, use: Callable[[slice, Array], Array], Y: Array, T: Array, Z: Array, threads: int
    ) -> tuple[float, Array]:
        """Return the loss, and the sum of ``use(rows, W^T)`` over blocks.

        The products T Y^T are those of mapped samples and mapped centroids Z. A sample is a column:
        sums over a few centroids are sums of long rows then.
        """
        xp = namespace(Y)
        offset = xp.sum(Z * Z, axis=1, keepdims=True) / 2

        def work(blocks: list[slice]) -> tuple[float, Array]:
            loss, total = 0.0, 0.0
            for rows in blocks:
                # Minus half the squared distances, but for |z_i|^2, which no softmax sees.
                logits = T @ Y[rows, :].T - offset
                own = self._centroid_labels[:, None] == self._labels[rows][None, :]
                whole, P = _softmax(logits)
                part, R = _softmax(xp.where(own, logits, -xp.inf))
                loss = loss + float(xp.sum(whole - part))
                total = total + use(rows, (R - P) / 2)
            return loss, total

        blocks = list(row_blocks(Y.shape[0], self._block))
        # The deal is fixed, so the same thread count gives the same bits.
        deals = [blocks[first::threads] for first in range(min(threads, len(blocks)))]
        if len(deals) == 1:
            return work(blocks)
        with ThreadPoolExecutor(threads) as pool:
            parts = list(pool.map(work, deals))
        return sum(loss for loss, _ in parts), sum(total for _, total in parts)


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
