"""The smallest squared distance between dissimilar samples, and a smooth approximation of it."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import array_api_compat as compat
import numpy as np

from dimetric._arrays.namespaces import Array, asarray_like, eps, namespace, take_rows, to_host
from dimetric._arrays.row_order import distinct_rows
from dimetric.objectives.engine import distance_blocks
from dimetric.objectives.fast import softmin as fast
from dimetric.objectives.listed import ListedObjective, pairs_differ
from dimetric.objectives.objective import SoftMinimum
from dimetric.objectives.side import Side
from dimetric.objectives.triton.support import runs_kernels
from dimetric.supervision.labels import sum_of_pair_weights

FLOAT32_EPS = float(np.finfo(np.float32).eps)
MIN_SAMPLES_FOR_FLOAT32 = 2000  # for fewer samples, sums in float64 are fast on any device


class SoftminObjective(SoftMinimum):
    r"""The smooth minimum of squared distances over the set D of pairs from different classes.

    .. math:: m_\mu = -\mu \log \frac{1}{|D|} \sum_D e^{-d^2 / \mu}

    It decreases to the smallest squared distance as :math:`\mu \to 0`. Its weights
    :math:`\partial m_\mu / \partial d^2` are positive and sum to 1. If the samples have weights,
    the sum is a weighted mean: each term has the weight :math:`w_i w_j`, and the sum of these
    weights replaces :math:`|D|`. The smallest squared distance does not depend on the weights.
    Duplicate samples of a class count once, with the largest of their weights. D excludes pairs of
    identical samples, because no map can separate them. Memory is O(block n). A smooth minimum is
    not a sum over the rows of a distance matrix, so it cannot be a
    :class:`~dimetric.objectives.engine.Rule`.

    Parameters
    ----------
    X : array of shape (n, d)
        Samples, centred and sorted by class. Identical samples of a class must be adjacent.
    labels : ndarray of shape (n,)
        Classes as integers from 0, ascending, on the host.
    originals : array of shape (n, m), optional
        The samples from which X was computed by a linear map. They decide which samples are
        identical, because rounding can make rows of X differ for identical samples.
    weights : ndarray of shape (n,), optional
        Positive weights of the samples, on the host.
    """

    n_terms = 1.0

    def __init__(
        self,
        X: Array,
        labels: np.ndarray,
        originals: Array | None = None,
        weights: np.ndarray | None = None,
    ) -> None:
        rows = to_host(X if originals is None else originals)
        kept = np.flatnonzero(
            np.append(True, np.any(rows[1:] != rows[:-1], axis=1) | (np.diff(labels) != 0))
        )
        self.points = take_rows(X, kept)
        self.strata, self.theta = labels[kept], np.ones(1)
        # Identical samples get the same position, so their pairs do not count.
        _, positions = distinct_rows(rows[kept])
        self._identical_pairs = _equal_entries(positions)
        self.side = replace(
            Side.of(self.points, labels=self.strata),
            positions=asarray_like(positions, X, dtype=namespace(X).int64),
        )
        self._single = originals is not None and eps(originals) > eps(X)
        self._log_weights = None
        if weights is None:
            n, counts = len(kept), np.bincount(self.strata)
            self.n_pairs = (n**2 - int(counts @ counts)) // 2 - len(self._identical_pairs)
            return
        w = np.maximum.reduceat(weights, kept)
        w = w / np.min(w)
        self._log_weights = np.log(w)
        i, j = self._identical_pairs.T
        self.n_pairs = sum_of_pair_weights(np.bincount(self.strata, w)) - float(w[i] @ w[j])

    def smallest_squared_distance(self, Z: Array) -> float:
        """Return the smallest squared distance between mapped samples of different classes.

        Squared distances from matrix products have a bounded rounding error. All candidates for
        the smallest one are computed again from differences.
        """
        xp, least = namespace(Z), np.inf
        rounding = (4 + Z.shape[1]) * eps(Z) * xp.sum(Z * Z, axis=1)
        A, side, row_rounding = Z, self.side, rounding
        if compat.is_numpy_array(Z) or self._uses_kernels(Z):
            rows = self._candidate_rows(Z)
            A, side, row_rounding = take_rows(Z, rows), side.take(rows), take_rows(rounding, rows)
        for b, D in self._blocks(A, side, Z):
            margin = row_rounding[b][:, None] + rounding[None, :]
            least = min(least, float(xp.min(D + margin)))
            left, right = xp.nonzero(D - margin <= least)
            if left.shape[0]:
                difference = xp.take(A[b, :], left, axis=0) - xp.take(Z, right, axis=0)
                least = min(least, float(xp.min(xp.sum(difference**2, axis=1))))
        return least

    def _candidate_rows(self, Z: Array) -> np.ndarray:
        """Return the first sample of each pair that may have the smallest squared distance."""
        if compat.is_numpy_array(Z):
            precision = eps(Z)
            nearest = fast.nearest_dissimilar(Z, self.side, self._identical_pairs)
        else:
            from dimetric.objectives.triton.softmin import nearest_dissimilar

            precision = FLOAT32_EPS
            nearest = to_host(nearest_dissimilar(Z, self.side)).astype(np.float64)
        norms = to_host(namespace(Z).sum(Z * Z, axis=1))
        margin = (4 + Z.shape[1]) * precision * (norms + np.max(norms))
        return np.flatnonzero(nearest - margin <= np.min(nearest + margin))

    def evaluate(self, Z: Array, V: Array, theta: np.ndarray) -> tuple[float, Array, float]:
        r"""Return the smooth minimum, the Laplacian of its weights times V, and 0.

        theta holds :math:`\mu`. NumPy arrays use the fast path. A weight w of a term is the same as
        a squared distance that is smaller by :math:`\mu \log w`.
        """
        mu, weigh = float(theta[0]), self._weigh
        if compat.is_numpy_array(Z):
            weigh = self._weigh_fast
        elif self._uses_kernels(Z):
            weigh = self._weigh_by_kernel
        least, total, product = weigh(Z, V, mu)
        return least - mu * float(np.log(total / self.n_pairs)), product / total, 0.0

    def _weigh_fast(self, Z: Array, V: Array, mu: float) -> tuple[float, float, Array]:
        return fast.softmin(Z, V, self.side, mu, self._identical_pairs, self._log_weights)

    def _weigh_by_kernel(self, Z: Array, V: Array, mu: float) -> tuple[float, float, Array]:
        from dimetric.objectives.triton.softmin import softmin

        weights = None if self._log_weights is None else asarray_like(self._log_weights, Z)
        return softmin(Z, V, self.side, mu, weights)

    def _uses_kernels(self, Z: Array) -> bool:
        """Return whether to compute sums by a kernel for CUDA tensors, in float32.

        The samples must be in float32, too. For few samples, float64 is fast enough.
        """
        return Z.shape[0] >= MIN_SAMPLES_FOR_FLOAT32 and runs_kernels(Z, single=self._single)

    def _weigh(self, Z: Array, V: Array, mu: float) -> tuple[float, float, Array]:
        """Return the smallest squared distance, the sum of weights, and their Laplacian times V.

        The weights of a block are first computed relative to the block's smallest distance. They
        are rescaled when the smallest distance of all blocks is known.
        """
        xp = namespace(Z)
        # The column of ones yields the degrees, which are sums of weights.
        V1 = xp.concat([V, xp.ones_like(V[:, :1])], axis=1)
        lows, parts = [], []
        for b, D in self._blocks(Z, self.side, Z):
            if self._log_weights is not None:
                shift = mu * asarray_like(self._log_weights, Z)
                D = D - shift[b][:, None] - shift
            lows.append(float(xp.min(D)))
            near = lows[-1] < np.inf and lows[-1] <= min(lows) + fast.CUTOFF * mu
            parts.append(xp.exp((lows[-1] - D) / mu) @ V1 if near else 0 * V1[b, :])
        least = min(lows)
        scales = [float(np.exp((least - low) / mu)) for low in lows]
        product = xp.concat([scale * part for scale, part in zip(scales, parts, strict=True)])
        degree = product[:, -1:]
        return least, float(xp.sum(degree)) / 2, degree * V - product[:, :-1]

    def _blocks(self, A: Array, side: Side, Z: Array) -> Iterator[tuple[slice, Array]]:
        """Yield blocks of rows of A and their squared distances, inf for pairs not in D.

        A contains all points Z or some of them, and `side` belongs to A.
        """
        xp = namespace(Z)
        for b, D in distance_blocks(A, Z):
            rows = side[b]
            left_out = rows.same_label(self.side)
            if len(self._identical_pairs):
                left_out = left_out | ~rows.different_sample(self.side)
            yield b, xp.where(left_out, xp.inf, D)


def _equal_entries(positions: np.ndarray) -> np.ndarray:
    """Return all pairs (i, j) with i < j and equal entries, in ascending order.

    Examples
    --------
    >>> _equal_entries(np.array([7, 8, 7, 7])).tolist()
    [[0, 2], [0, 3], [2, 3]]
    """
    order = np.argsort(positions, kind="stable")
    by_lag = [np.empty((0, 2), dtype=np.int64)]
    for lag in range(1, len(positions)):
        same = positions[order[lag:]] == positions[order[:-lag]]
        if not same.any():
            break
        by_lag.append(np.stack([order[:-lag][same], order[lag:][same]], axis=1))
    pairs = np.concatenate(by_lag)
    return pairs[np.lexsort(pairs.T[::-1])]


class SoftminRule:
    """The smooth minimum of :class:`SoftminObjective` over listed pairs."""

    def listed(self, xp: Any, D: Array, kinds: Array, theta: Any) -> tuple[float, Array, float]:
        """Return (value, w, 0). See :class:`dimetric.objectives.listed.ListRule`."""
        mu, least = float(theta[0]), float(xp.min(D))
        weights = xp.exp((least - D) / mu)
        total = float(xp.sum(weights))
        return least - mu * float(np.log(total / D.shape[0])), weights / total, 0.0


class ListedSoftmin(ListedObjective[SoftminRule], SoftMinimum):
    """The smooth minimum of squared distances over listed pairs whose samples differ.

    Parameters
    ----------
    X : array of shape (n, d)
        Samples, centred.
    rows : ndarray of shape (m, 2)
        Pairs, as row indices of X, on the host.
    originals : array of shape (n, m), optional
        See :class:`SoftminObjective`.
    """

    def __init__(self, X: Array, rows: np.ndarray, originals: Array | None = None) -> None:
        rows = rows[pairs_differ(X if originals is None else originals, rows)]
        super().__init__(SoftminRule(), X, rows, np.ones(len(rows), dtype=np.int64), [1.0])
        self.n_pairs = len(rows)

    def smallest_squared_distance(self, Z: Array) -> float:
        """Return the smallest squared distance of all pairs, given mapped points."""
        return float(namespace(Z).min(self.distances(Z)))
