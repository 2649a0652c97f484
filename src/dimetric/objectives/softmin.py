"""The least squared distance between dissimilar samples, and smooth forms of it."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import array_api_compat as compat
import numpy as np

from dimetric._arrays.namespaces import Array, asarray_like, eps, namespace, take_rows, to_host
from dimetric.objectives import fast_paths
from dimetric.objectives.engine import distance_blocks
from dimetric.objectives.listed import ListedObjective, pairs_differ
from dimetric.objectives.objective import SoftMinimum
from dimetric.objectives.side import Side


class SoftminObjective(SoftMinimum):
    r"""The smooth minimum of squared distances over the pairs D of different classes.

    .. math:: m_\mu = -\mu \log \frac{1}{|D|} \sum_D e^{-d^2 / \mu}

    It falls to the least squared distance as :math:`\mu \to 0`, and its weights
    :math:`\partial m_\mu / \partial d^2` are positive and sum to 1. Repeated samples of a class
    count once. Pairs of identical samples do not count, as no map tells them apart; ``n_pairs`` is
    the number of all other pairs. Memory is O(block n). A smooth minimum is not a sum over the rows
    of a matrix of distances, so this is not a :class:`~dimetric.objectives.engine.Rule`.

    Parameters
    ----------
    X : array of shape (n, d)
        Samples in canonical order, centred.
    labels : ndarray of shape (n,)
        Classes as integers from 0, ascending, on the host.
    originals : array of shape (n, m), optional
        The samples before X was computed from them by a map: these tell which samples are
        identical, as rounding may make identical rows of X differ.
    """

    n_terms = 1.0

    def __init__(self, X: Array, labels: np.ndarray, originals: Array | None = None) -> None:
        rows = to_host(X if originals is None else originals)
        kept = np.flatnonzero(
            np.append(True, np.any(rows[1:] != rows[:-1], axis=1) | (np.diff(labels) != 0))
        )
        self.points = take_rows(X, kept)
        self.strata, self.theta = labels[kept], np.ones(1)
        # Identical samples share a position: no pair of them counts.
        positions = np.unique(rows[kept], axis=0, return_inverse=True)[1].reshape(-1)
        self._collapsed = _equal_pairs(positions)
        self.side = replace(
            Side.of(self.points, labels=self.strata),
            positions=asarray_like(positions, X, dtype=namespace(X).int64),
        )
        n, counts = len(kept), np.bincount(self.strata)
        self.n_pairs = (n**2 - int(counts @ counts)) // 2 - len(self._collapsed)

    def smallest_squared_distance(self, Z: Array) -> float:
        """Return the least squared distance between mapped samples of different classes.

        Distances from matrix products are inexact by at most a known rounding error. Those that may
        be the least are computed again from differences.
        """
        xp, least = namespace(Z), np.inf
        rounding = (4 + Z.shape[1]) * eps(Z) * xp.sum(Z * Z, axis=1)
        for b, D in self._blocks(Z):
            margin = rounding[b][:, None] + rounding[None, :]
            least = min(least, float(xp.min(D + margin)))
            left, right = xp.nonzero(D - margin <= least)
            if left.shape[0]:
                difference = xp.take(Z[b, :], left, axis=0) - xp.take(Z, right, axis=0)
                least = min(least, float(xp.min(xp.sum(difference**2, axis=1))))
        return least

    def evaluate(self, Z: Array, V: Array, theta: np.ndarray) -> tuple[float, Array, float]:
        r"""Return the smooth minimum at mapped points, and the Laplacian of its weights times V.

        theta holds :math:`\mu`. NumPy's points take the fast path.
        """
        mu = float(theta[0])
        weigh = self._weigh_fast if compat.is_numpy_array(Z) else self._weigh
        least, total, product = weigh(Z, V, mu)
        return least - mu * float(np.log(total / self.n_pairs)), product / total, 0.0

    def _weigh_fast(self, Z: Array, V: Array, mu: float) -> tuple[float, float, Array]:
        return fast_paths.softmin(Z, V, self.side, mu, self._collapsed)

    def _weigh(self, Z: Array, V: Array, mu: float) -> tuple[float, float, Array]:
        """Return the least squared distance, the sum of weights, and their Laplacian times V.

        The weights of a block are relative to its own least distance, until the least distance of
        all blocks is known.
        """
        xp = namespace(Z)
        V1 = xp.concat([V, xp.ones_like(V[:, :1])], axis=1)  # a product with ones is a degree
        lows, parts = [], []
        for b, D in self._blocks(Z):
            lows.append(float(xp.min(D)))
            near = lows[-1] < np.inf and lows[-1] <= min(lows) + fast_paths.SOFTMIN_REACH * mu
            parts.append(xp.exp((lows[-1] - D) / mu) @ V1 if near else 0 * V1[b, :])
        least = min(lows)
        shares = [float(np.exp((least - low) / mu)) for low in lows]
        product = xp.concat([share * part for share, part in zip(shares, parts, strict=True)])
        degree = product[:, -1:]
        return least, float(xp.sum(degree)) / 2, degree * V - product[:, :-1]

    def _blocks(self, Z: Array) -> Iterator[tuple[slice, Array]]:
        """Yield rows, and their squared distances to all samples; infinite for pairs left out."""
        xp = namespace(Z)
        for b, D in distance_blocks(Z, Z):
            rows = self.side[b]
            left_out = rows.same_label(self.side)
            if len(self._collapsed):
                left_out = left_out | ~rows.different_sample(self.side)
            yield b, xp.where(left_out, xp.inf, D)


def _equal_pairs(positions: np.ndarray) -> np.ndarray:
    """Return the pairs of equal entries, the smaller index first, ascending.

    Examples
    --------
    >>> _equal_pairs(np.array([7, 8, 7, 7])).tolist()
    [[0, 2], [0, 3], [2, 3]]
    """
    order = np.argsort(positions, kind="stable")
    found = [np.empty((0, 2), dtype=np.int64)]
    for lag in range(1, len(positions)):
        same = positions[order[lag:]] == positions[order[:-lag]]
        if not same.any():
            break
        found.append(np.stack([order[:-lag][same], order[lag:][same]], axis=1))
    pairs = np.concatenate(found)
    return pairs[np.lexsort(pairs.T[::-1])]


class SoftminRule:
    """The smooth minimum of :class:`SoftminObjective`, over listed pairs."""

    def listed(self, xp: Any, D: Array, kinds: Array, theta: Any) -> tuple[float, Array, float]:
        """Return (value, w, 0), see :mod:`dimetric.objectives.listed`."""
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
        Pairs, as row numbers of X, on the host.
    originals : array of shape (n, m), optional
        As of :class:`SoftminObjective`.
    """

    def __init__(self, X: Array, rows: np.ndarray, originals: Array | None = None) -> None:
        rows = rows[pairs_differ(X if originals is None else originals, rows)]
        super().__init__(SoftminRule(), X, rows, np.ones(len(rows), dtype=np.int64), [1.0])
        self.n_pairs = len(rows)

    def smallest_squared_distance(self, Z: Array) -> float:
        """Return the least squared distance of all pairs at mapped points."""
        return float(namespace(Z).min(self.distances(Z)))
