"""Scores of each point and of all points from ranks and distances, and their standard errors."""

from collections.abc import Callable

import array_api_compat as compat
import numpy as np
from scipy import sparse

from dimetric._arrays.namespaces import Array, asarray_like, namespace
from dimetric.quality._ranks import counts_of
from dimetric.quality._ties import TiedRanks, common_neighbors, penalties

Scores = dict[str, Array]


class RankScores:
    """Function that returns the rank-based scores of points.

    Parameters
    ----------
    n : int
        Number of points.
    k : int
        Number of neighbours.
    """

    def __init__(self, n: int, k: int) -> None:
        self.n, self.k = n, k
        self._worst_penalty = k * (2 * n - 3 * k - 1) / 2
        # R_NX is linear in the fraction of preserved neighbours, and the area under it is a
        # weighted sum of R_NX. So a pair adds an amount that depends only on its larger rank.
        K = np.arange(1.0, n - 1)
        weights = 1 / K / np.sum(1 / K) / (n - 1 - K)
        by_size = np.zeros(n)
        by_size[1:-1] = weights * (n - 1) / K
        self._area_by_size = by_size[1:]
        self._area = np.cumsum(by_size[::-1])[::-1]
        self._area_by_chance = float(np.sum(weights * K))

    def __call__(self, ranks: Array) -> tuple[Scores, np.ndarray]:
        """Return the scores of each point, and the numbers of common neighbours.

        The numbers of common neighbours are sums over the points, for neighbourhoods of size
        1, ..., n - 1.

        Parameters
        ----------
        ranks : array of shape (b, n - 1)
            Ranks in the embedding of the neighbours in the data, nearest first, as returned by
            :func:`~dimetric.quality._ranks.ranks_in_order`.
        """
        xp, k = namespace(ranks), self.k
        device = compat.device(ranks)
        ranks_in_data = xp.arange(1, self.n, dtype=ranks.dtype, device=device)
        kept = ranks <= k
        excess = xp.arange(1, self.n - k, dtype=xp.float64, device=device)  # of ranks beyond k
        intruders = xp.astype(kept[:, k:], xp.float64) @ excess
        missing = xp.sum(xp.clip(ranks[:, :k] - k, 0), axis=1)
        larger = xp.maximum(ranks, ranks_in_data)
        flat = xp.reshape(larger, (-1,))
        area = xp.take(asarray_like(self._area, intruders), flat)
        scores = {
            "trustworthiness": 1 - intruders / self._worst_penalty,
            "continuity": 1 - xp.astype(missing, xp.float64) / self._worst_penalty,
            "knn_preservation": xp.mean(xp.astype(kept[:, :k], xp.float64), axis=1),
            "r_nx_auc": xp.sum(xp.reshape(area, ranks.shape), axis=1) - self._area_by_chance,
        }
        # A neighbour is common if the larger of its ranks is at most the size.
        return scores, np.cumsum(counts_of(larger, self.n))[1:]

    def with_ties(self, before: TiedRanks, after: TiedRanks) -> tuple[Scores, np.ndarray]:
        """Return the same for points with tied distances, from the shares of their neighbours.

        Parameters
        ----------
        before, after : TiedRanks
            Ranks in the data and in the embedding.
        """
        k = self.k
        common = common_neighbors(before, after)
        missing, intruders = penalties(before, after, k), penalties(after, before, k)
        scores = {
            "trustworthiness": 1 - intruders / self._worst_penalty,
            "continuity": 1 - missing / self._worst_penalty,
            "knn_preservation": common[:, k - 1] / k,
            "r_nx_auc": common @ self._area_by_size - self._area_by_chance,
        }
        return scores, np.sum(common, axis=0)

    def curves(self, common: np.ndarray, n_points: int) -> tuple[np.ndarray, np.ndarray]:
        """Return Q_NX and R_NX for 1, ..., n - 2 neighbours, given the common neighbours."""
        K = np.arange(1, self.n - 1)
        q = common[:-1] / (n_points * K)
        return q, ((self.n - 1) * q - K) / (self.n - 1 - K)


def neighborhood_hits(codes: Array, index: Array, near: Array) -> Array:
    """Return the fraction of the neighbours of each point that have its label."""
    xp = namespace(near)
    neighbor_codes = xp.reshape(xp.take(codes, xp.reshape(near, (-1,))), near.shape)
    same = neighbor_codes == xp.take(codes, index)[:, None]
    return xp.mean(xp.astype(same, xp.float64), axis=1)


def stress(M: np.ndarray) -> np.ndarray:
    """Return sqrt(sum (a - b)^2 / sum a^2), given the moments M of a and b."""
    _, _, aa, bb, ab = np.moveaxis(M, -1, 0)
    return np.sqrt(np.maximum(aa - 2 * ab + bb, 0) / aa)


def best_scale(M: np.ndarray) -> np.ndarray:
    """Return the scale c that minimises sum (a - c b)^2, or 0 if b is 0."""
    _, _, _, bb, ab = np.moveaxis(M, -1, 0)
    return ab / np.where(bb > 0, bb, np.inf)


def with_scale(M: np.ndarray, c: float | np.ndarray) -> np.ndarray:
    """Return the moments of a and c b, given the moments M of a and b."""
    one = np.ones_like(c)
    return M * np.stack([one, c * one, one, c * c * one, c * one], axis=-1)


def scaled_stress(M: np.ndarray) -> np.ndarray:
    """Return the stress at the best scale."""
    return stress(with_scale(M, best_scale(M)))


def procrustes(X: Array, Z: Array) -> float:
    """Return the disparity of two configurations, as in ``scipy.spatial.procrustes``.

    X and Z may have different numbers of columns, and X may be sparse.
    """
    xp = namespace(Z)
    Z = xp.astype(Z, xp.float64)
    Z = Z - xp.mean(Z, axis=0)
    if sparse.issparse(X):
        mean = X.mean(axis=0)
        size = (X.data @ X.data - X.shape[0] * (mean @ mean)) ** 0.5
    else:
        X = xp.astype(X, xp.float64)
        X = X - xp.mean(X, axis=0)
        size = float(xp.linalg.matrix_norm(X))
    size = size * float(xp.linalg.matrix_norm(Z))
    overlap = float(xp.sum(xp.linalg.svdvals(X.T @ Z)))
    return max(0.0, float(1 - (overlap / size) ** 2)) if size > 0 else 1.0


def standard_error_of_mean(values: np.ndarray, n: int) -> float:
    """Return the standard error of a mean over a sample from n points."""
    m = len(values)
    return float(np.std(values, ddof=1) / m**0.5 * (1 - m / n) ** 0.5)


def jackknife_error(score: Callable[[np.ndarray], np.ndarray], rows: np.ndarray, n: int) -> float:
    """Return the jackknife standard error of a function of means over a sample from n points."""
    m = len(rows)
    without = score((rows.sum(axis=0) - rows) / (m - 1))
    return float(np.std(without) * (m - 1) ** 0.5 * (1 - m / n) ** 0.5)
