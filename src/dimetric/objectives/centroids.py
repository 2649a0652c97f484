r"""The log-likelihood of the samples' classes in a softmax over centroids.

Each pair is a sample and a centroid. With n samples and m centroids, the loss and its gradient need
O(n m) distances instead of O(n^2).
"""

from collections.abc import Callable, Iterator
from typing import Any

import array_api_compat as compat
import numpy as np
from scipy import sparse

from dimetric._arrays.blocks import row_blocks
from dimetric._arrays.namespaces import (
    Array,
    asarray_like,
    namespace,
    one_hot,
    take_rows,
    to_host,
)
from dimetric._arrays.threads import run_on_threads
from dimetric.linalg.reductions import tree_reduce
from dimetric.objectives.bipartite import BipartiteObjective
from dimetric.objectives.engine import Rule, default_block_rows
from dimetric.objectives.objective import Certifiable
from dimetric.objectives.pairwise import within_class_covariance
from dimetric.objectives.side import Side
from dimetric.objectives.triton.support import runs_kernels

MIN_BLOCK_ROWS = 64  # samples in a block on the host
BLOCK_ENTRIES = 2**15  # distances in a block on the host, to fit into the cache
GROUP_BLOCK_ROWS = 8192  # samples in a block of group_means
DISTANCES_PER_ROW = 32  # these take about as long to compute as a row for run_on_threads


class CentroidRule(Rule):
    r"""The negative log-likelihood of the samples' classes, in a softmax over centroids.

    .. math:: \sum_i - w_i \log \frac{\sum_{m: y_m = y_i} e^{-d^2_{im} / 2}}
                                     {\sum_m e^{-d^2_{im} / 2}}

    Rows are samples i with sample weights :math:`w_i`, columns are centroids m. Let :math:`p_{im}`
    be the softmax over all centroids, and :math:`r_{im}` the softmax over the centroids of the
    sample's own class. The weights are :math:`W_{im} = w_i (r_{im} - p_{im}) / 2`, and each row of
    W sums to 0.
    """

    def block(
        self, xp: Any, D: Array, rows: Side, columns: Side, theta: Any = None
    ) -> tuple[Array, Array, float]:
        """Return (loss, W, 0) of a block. See :meth:`dimetric.objectives.engine.Rule.block`."""
        loss, W = _loss_and_weights(-D / 2, rows.same_label(columns), rows.weights, axis=1)
        return loss, W, 0.0

    def n_terms(self, rows: Side, columns: Side) -> float:
        """Return the number of samples, or the sum of their weights."""
        if rows.weights is None:
            return float(len(rows))
        return float(np.sum(to_host(rows.weights), dtype=np.float64))

    def infimum(self, rows: Side, columns: Side) -> float:
        """Return 0, which no finite map attains."""
        return 0.0


class CentroidObjective(BipartiteObjective, Certifiable):
    """The objective of :class:`CentroidRule`, computed faster than by the engine.

    It is convex in :math:`M = L^T L` if every class has one centroid.

    Parameters
    ----------
    X : array of shape (n, d)
        Samples, centred.
    labels : ndarray of shape (n,)
        Classes of the samples as integers, on the host.
    C : array of shape (m, d)
        Centroids, in X's namespace.
    centroid_labels : ndarray of shape (m,)
        Classes of the centroids.
    weights : ndarray of shape (n,), optional
        Weights of the samples. By default, all weights are 1.
    block : int, optional
        Number of samples in a block. By default, a block fits into the cache, or is large enough
        to keep an accelerator busy.
    """

    def __init__(
        self,
        X: Array,
        labels: np.ndarray,
        C: Array,
        centroid_labels: np.ndarray,
        *,
        weights: Array | None = None,
        block: int | None = None,
    ) -> None:
        n, m = X.shape[0], C.shape[0]
        columns = Side.of(C, labels=centroid_labels, first=n)
        rows = Side.of(X, labels=labels, weights=weights)
        super().__init__(CentroidRule(), X, C, rows, columns)
        self.centroid_labels = centroid_labels
        self._block = block or default_block_rows(
            X, m, host_rows=max(MIN_BLOCK_ROWS, BLOCK_ENTRIES // m)
        )

    def evaluate(self, Z: Array, V: Array, theta: np.ndarray) -> tuple[float, Array, float]:
        """Return the objective, the Laplacian product and 0. See :meth:`Objective.evaluate`."""
        xp, (Y, C), (VX, VC) = namespace(Z), self._split(Z), self._split(V)
        by_sample = {}

        def product(rows: slice, WT: Array) -> Array:
            by_sample[rows.start] = -(WT.T @ VC)  # the degree term is 0: weights of a sample cancel
            return xp.sum(WT, axis=1)[:, None] * VC - WT @ VX[rows, :]

        loss, by_centroid = self._sum_over_blocks(product, Y, C, C)
        return loss, xp.concat([*(by_sample[i] for i in sorted(by_sample)), by_centroid]), 0.0

    def gradient_in_map(
        self, L: Array, theta: np.ndarray
    ) -> tuple[float, Array, np.ndarray | float]:
        """Return the objective and its gradients, from X or from mapped samples, as is cheaper."""
        if self._mapping_is_cheaper(L):
            return super().gradient_in_map(L, theta)
        C = self._split(self.points)[1]
        loss, S, degree = self._unmapped_sums(L)
        return loss, 2 * ((C @ L.T).T @ (degree * C - S) - (L @ S.T) @ C), 0.0

    def gradient_in_metric(
        self, L: Array, theta: np.ndarray
    ) -> tuple[float, Array, np.ndarray | float]:
        """Return the objective and its gradients, from X or from mapped samples, as is cheaper."""
        if self._mapping_is_cheaper(L):
            return super().gradient_in_metric(L, theta)
        C = self._split(self.points)[1]
        loss, S, degree = self._unmapped_sums(L)
        return loss, C.T @ (degree * C - S) - S.T @ C, 0.0

    def _mapping_is_cheaper(self, L: Array) -> bool:
        """Return whether mapping all samples is cheaper than :meth:`_unmapped_sums`."""
        (k, d), m = L.shape, self._split(self.points)[1].shape[0]
        return bool(k * (d + m) < d * m)

    def _unmapped_sums(self, L: Array) -> tuple[float, Array, Array]:
        """Return the loss, and for each centroid the weighted sum of samples and the weight sum.

        This does not map the samples. The inner product of a mapped sample L x and a mapped
        centroid L c is that of x and L^T L c.
        """
        d, xp = L.shape[1], namespace(L)
        X, C = self._split(self.points)

        def sums(rows: slice, WT: Array) -> Array:
            return xp.concat([WT @ X[rows, :], xp.sum(WT, axis=1)[:, None]], axis=1)

        Z = C @ L.T
        loss, total = self._sum_over_blocks(sums, X, Z @ L, Z)
        return loss, total[:, :d], total[:, d:]

    def batch(self, rows: np.ndarray) -> "CentroidObjective":
        """Return the objective of some samples and all centroids."""
        X, C = self._split(self.points)
        return CentroidObjective(
            take_rows(X, rows),
            self.strata[rows],
            C,
            self.centroid_labels,
            weights=self.rows.take(rows).weights,
            block=self._block,
        )

    def within_class_covariance(self) -> np.ndarray:
        """Return the within-class covariance of the samples."""
        return within_class_covariance(self.points, self.strata)

    def _sum_over_blocks(
        self, block_sum: Callable[[slice, Array], Array], Y: Array, T: Array, Z: Array
    ) -> tuple[float, Array]:
        """Return the loss, and the sum of ``block_sum(rows, W^T)`` over blocks of samples.

        Z holds the mapped centroids. Each row of T Y^T holds the inner products of a mapped
        centroid with all mapped samples. Sums over centroids then add a few long rows, which is
        fast.
        """
        xp = namespace(Y)
        offset = xp.sum(Z * Z, axis=1, keepdims=True) / 2
        uses_kernels = runs_kernels(Y)

        def work(blocks: Iterator[slice]) -> tuple[float, Array]:
            loss, total = 0.0, 0.0
            for rows in blocks:
                # Minus half the squared distances, without |z_i|^2, which cancels in the softmax.
                logits = T @ Y[rows, :].T - offset
                side = self.rows[rows]
                if uses_kernels:
                    block_loss, WT = self._by_kernel(logits, side)
                else:
                    same_class = self.columns.same_label(side)
                    block_loss, WT = _loss_and_weights(logits, same_class, side.weights, axis=0)
                loss = loss + float(block_loss)
                total = total + block_sum(rows, WT)
            return loss, total

        blocks = list(row_blocks(Y.shape[0], self._block))
        if not compat.is_numpy_array(Y):
            return work(iter(blocks))
        # run_on_threads chooses the number of threads from a number of rows.
        n_rows = len(self.rows) * len(self.columns) // DISTANCES_PER_ROW
        parts = run_on_threads(work, blocks, n_rows=n_rows)
        return sum(loss for loss, _ in parts), sum(total for _, total in parts)

    def _by_kernel(self, logits: Array, samples: Side) -> tuple[Array, Array]:
        """Return the loss and the weights of a block, computed by a kernel for CUDA tensors."""
        from dimetric.objectives.triton.centroids import loss_and_weights

        labels, of_centroids = samples.labels, self.columns.labels
        assert labels is not None and of_centroids is not None  # noqa: PT018
        return loss_and_weights(logits, of_centroids, labels, samples.weights)


def _loss_and_weights(
    logits: Array, same_class: Array, sample_weight: Array | None, axis: int
) -> tuple[Array, Array]:
    """Return the loss and the weights W of :class:`CentroidRule`.

    Parameters
    ----------
    logits : array
        Minus half the squared distances, up to a constant for each sample.
    same_class : array of bool
        Whether the centroid has the class of the sample.
    sample_weight : array of shape (n,) or None
        Weights of the samples.
    axis : int
        Axis of the centroids.
    """
    xp = namespace(logits)
    log_sum_all, P = _softmax(logits, axis)
    log_sum_class, R = _softmax(xp.where(same_class, logits, -xp.inf), axis)
    losses, W = log_sum_all - log_sum_class, (R - P) / 2
    if sample_weight is not None:
        w = xp.expand_dims(sample_weight, axis=axis)
        losses, W = w * losses, w * W
    return xp.sum(losses), W


def _softmax(logits: Array, axis: int) -> tuple[Array, Array]:
    """Return the log-sum-exp along an axis, and the softmax."""
    xp = namespace(logits)
    largest = xp.max(logits, axis=axis, keepdims=True)
    P = xp.exp(logits - largest)
    total = xp.sum(P, axis=axis, keepdims=True)
    return largest + xp.log(total), P / total


def group_means(
    X: Array, groups: np.ndarray, n_groups: int, weights: np.ndarray | None = None
) -> Array:
    """Return the weighted mean of each group of samples in X's dtype, summed in float64.

    Examples
    --------
    >>> group_means(np.array([[1.0], [2.0], [4.0]]), np.array([0, 1, 1]), 2)
    array([[1.],
           [3.]])
    """
    xp = namespace(X)
    codes = asarray_like(groups, X, dtype=xp.int64)
    w = None if weights is None else asarray_like(weights, X, dtype=xp.float64)

    def sums(rows: slice, _: None) -> Any:
        member = one_hot(codes[rows], n_groups, xp.float64)
        member = member if w is None else w[rows][:, None] * member
        block = X[rows, :]
        is_sparse = sparse.issparse(block)
        block = block.astype(np.float64) if is_sparse else xp.astype(block, xp.float64)
        return member.T @ block

    total = tree_reduce(sums, row_blocks(X.shape[0], GROUP_BLOCK_ROWS))
    counts = np.bincount(groups, weights, minlength=n_groups)
    return xp.astype(total / asarray_like(counts, X, dtype=xp.float64)[:, None], X.dtype)
