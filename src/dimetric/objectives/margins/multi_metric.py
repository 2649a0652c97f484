"""The objective of LMNN with a metric for each class."""

from typing import Any

import array_api_compat as compat
import numpy as np
from scipy import sparse

from dimetric._arrays.blocks import row_blocks
from dimetric._arrays.namespaces import Array, asarray_like, namespace, to_host
from dimetric._arrays.squared_distances import squared_distances
from dimetric.objectives.margins.hinge import hinge
from dimetric.objectives.margins.objective import MarginRule
from dimetric.objectives.margins.targets import nearest_targets
from dimetric.objectives.side import Side

BLOCK_ENTRIES = 2**18  # squared distances in a block
MIN_BLOCK_ROWS = 64  # samples in a block
SPARSE_FRACTION = 1 / 8  # fraction of impostors below which sparse weights are faster


class MultiMetricMargins:
    r"""The objective of LMNN with one map for each class.

    .. math:: \frac{1}{n} \Bigl[ (1 - \mu) \sum_{j \to i} d^2_{ij}
              + \mu \sum_{j \to i} \sum_{l:\, y_l \ne y_i} [1 + d^2_{ij} - d^2_{il}]_+ \Bigr],
              \qquad d_{ij} = |L_{y_j} (x_i - x_j)|

    The distance from sample i to sample j uses the map of j's class :math:`y_j`. Targets that are
    tied at the k-th distance share the remaining places, with weights. With sample weights w of
    mean 1, all terms of sample i are multiplied by :math:`w_i`, and the pushes also by :math:`w_l`.

    Parameters
    ----------
    X : array of shape (n, d)
        Samples, centred, sorted by class.
    codes : ndarray of shape (n,)
        Classes of the samples, as integers from 0, ascending, on the host.
    n_neighbors : int
        Number of targets of each sample.
    mu : float
        Weight :math:`\mu` of the pushes (second sum). The pulls have weight ``1 - mu``.
    sample_weights : ndarray of shape (n,), optional
        Positive weights of the samples, of mean 1, on the host. By default, all weights are 1.
    """

    def __init__(
        self,
        X: Array,
        codes: np.ndarray,
        n_neighbors: int,
        mu: float,
        sample_weights: np.ndarray | None = None,
    ) -> None:
        self.X, self.mu, self._sample_weights = X, mu, sample_weights
        xp = namespace(X)
        targets, weights = nearest_targets(X, codes, n_neighbors)
        if sample_weights is not None:
            weights = np.ones(targets.shape) if weights is None else weights
            weights = weights * sample_weights[:, None]
        self._targets = asarray_like(targets, X, dtype=xp.int64)
        self._target_weights = None if weights is None else asarray_like(weights, X)
        self._side = Side.of(X, labels=codes)

    def evaluate(self, maps: np.ndarray, width: float) -> tuple[float, np.ndarray]:
        """Return the objective and its gradient at one map for each class.

        Parameters
        ----------
        maps : ndarray of shape (C, p, d)
            The map of each class.
        width : float
            Width of the smooth part of the hinge. See :func:`hinge`.

        Returns
        -------
        value : float
        gradient : ndarray of shape (C, p, d)
        """
        X, xp = self.X, namespace(self.X)
        n = X.shape[0]
        classes = [members for _, members in self._side.class_runs(0, n)]
        mapped = [X @ asarray_like(L, X).T for L in maps]
        loss, grad = 0.0, np.zeros(maps.shape)
        for b in row_blocks(n, max(MIN_BLOCK_ROWS, BLOCK_ENTRIES // n)):
            D = [squared_distances(Z[b, :], Z[c, :]) for Z, c in zip(mapped, classes, strict=True)]
            value, W = self._weights(xp.concat(D, axis=1), self._side[b], width)
            loss += float(value)
            for number, (Z, c) in enumerate(zip(mapped, classes, strict=True)):
                Wc, ones = W[:, c], xp.ones_like(X[:, :1])
                rows = (Wc @ ones[c, :]) * Z[b, :] - Wc @ Z[c, :]
                columns = (Wc.T @ ones[b, :]) * Z[c, :] - Wc.T @ Z[b, :]
                grad[number] += to_host(rows.T @ X[b, :] + columns.T @ X[c, :])
        return loss / n, 2 * grad / n

    def _weights(self, D: Array, rows: Side, width: float) -> tuple[float, Any]:
        """Return the loss of a block, and dloss/dD as a dense or sparse matrix."""
        xp = namespace(D)
        is_weighted = self._sample_weights is not None
        if compat.is_numpy_array(D) or is_weighted:
            A, targets = to_host(D), to_host(self._targets)[to_host(rows.positions)]
            exists = targets >= 0
            near = np.take_along_axis(A, np.maximum(targets, 0), axis=1)
            thresholds = np.where(exists, 1 + near, -1 - width)
            impostors = np.max(thresholds, axis=1, keepdims=True) + width / 2 > A
            impostors &= ~to_host(rows.same_label(self._side))
            if is_weighted or np.count_nonzero(impostors) < SPARSE_FRACTION * A.size:
                loss, W = self._sparse_weights(A, rows, impostors, thresholds, width)
                return loss, W if compat.is_numpy_array(D) else asarray_like(W.toarray(), D)
        weights = self._target_weights
        rule = MarginRule(self._targets, D.shape[1], 1 - self.mu, self.mu, width, weights)
        return rule.block(xp, D, rows, self._side)[:2]

    def _sparse_weights(
        self,
        D: np.ndarray,
        rows: Side,
        impostors: np.ndarray,
        thresholds: np.ndarray,
        width: float,
    ) -> tuple[float, sparse.csc_array]:
        """Return the loss and sparse derivatives, computed from impostors and targets only."""
        positions = to_host(rows.positions)
        targets = to_host(self._targets)[positions]
        (size, k), exists = targets.shape, targets >= 0
        i, l = np.nonzero(impostors)
        value, slope = hinge(thresholds[i] - D[i, l][:, None], width)
        pulls, near = np.full(targets.shape, 1 - self.mu), thresholds - 1
        if self._target_weights is not None:
            shares = to_host(self._target_weights)[positions]
            value, slope = value * shares[i], slope * shares[i]
            pulls, near = pulls * shares, near * shares
        if self._sample_weights is not None:
            of_impostors = self._sample_weights[l][:, None]
            value, slope = value * of_impostors, slope * of_impostors
        pushed = np.stack([np.bincount(i, slope[:, r], size) for r in range(k)], axis=1)
        pulls = np.where(exists, pulls + self.mu * pushed, 0.0)
        anchors = np.concatenate([i, np.repeat(np.arange(size), k)])
        columns = np.concatenate([l, np.maximum(targets, 0).ravel()])
        weights = np.concatenate([-self.mu * np.sum(slope, axis=1), pulls.ravel()])
        loss = self.mu * np.sum(value, dtype=np.float64)
        loss += (1 - self.mu) * np.sum(near, where=exists, dtype=np.float64)
        W = sparse.csc_array((weights.astype(D.dtype), (anchors, columns)), shape=D.shape)
        return float(loss), W
