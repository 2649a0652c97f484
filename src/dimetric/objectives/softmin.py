"""The least squared distance between dissimilar samples, and smooth forms of it."""

from collections.abc import Iterator
from typing import Any

import array_api_compat as compat
import numpy as np

from dimetric._arrays.blocks import row_blocks
from dimetric._arrays.namespaces import Array, eps, like, namespace, to_host
from dimetric.objectives import numpy_kernels
from dimetric.objectives.engine import squared_distances
from dimetric.objectives.listed import ListedObjective, differing
from dimetric.objectives.objective import LeastDistance


class SoftminObjective(LeastDistance):
    r"""The smooth minimum of squared distances over the pairs D of different classes.

    .. math:: m_\mu = -\mu \log \frac{1}{|D|} \sum_D e^{-d^2 / \mu}

    It falls to the least squared distance as :math:`\mu \to 0`, and its weights
    :math:`\partial m_\mu / \partial d^2` are positive and sum to 1. Samples that come several
    times count once, and pairs of identical samples, which no map takes apart, not at all; there
    are ``n_pairs`` others. Memory is O(block n).

    Parameters
    ----------
    X : array of shape (n, d)
        Samples in canonical order, centred.
    codes : ndarray of shape (n,)
        Labels as integers from 0, ascending, on the host.
    originals : array of shape (n, m), optional
        Which samples are identical, if X are these under a map: its rounding tells them apart.
    """

    n_terms = 1.0

    def __init__(self, X: Array, codes: np.ndarray, originals: Array | None = None) -> None:
        xp, rows = namespace(X), to_host(X if originals is None else originals)
        kept = np.flatnonzero(
            np.append(True, np.any(rows[1:] != rows[:-1], axis=1) | (np.diff(codes) != 0))
        )
        self.points = xp.take(X, like(kept, X, dtype=xp.int64), axis=0)
        self.strata, self.theta = codes[kept], np.ones(1)
        self._labels = like(self.strata, X, dtype=xp.int64)
        counts = np.bincount(self.strata)
        self._starts = np.concatenate([[0], np.cumsum(counts)])
        self._collapsed = _equal_rows(rows[kept])
        n = len(kept)
        self.n_pairs = (n**2 - int(counts @ counts)) // 2 - len(self._collapsed)

    def smallest(self, Z: Array) -> float:
        """Return the least squared distance between mapped samples of different classes.

        By products distances are known but for rounding, which tells those that may be the least;
        these are found again by differences.
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
        return numpy_kernels.softmin(Z, V, self._starts, mu, self._collapsed)

    def _weigh(self, Z: Array, V: Array, mu: float) -> tuple[float, float, Array]:
        """Return the least squared distance, the sum of weights, and their Laplacian times V.

        Each block is taken relative to its own least distance, until that of all is known.
        """
        xp = namespace(Z)
        V1 = xp.concat([V, xp.ones_like(V[:, :1])], axis=1)  # the ones make degrees ride along
        lows, parts = [], []
        for b, D in self._blocks(Z):
            lows.append(float(xp.min(D)))
            near = lows[-1] < np.inf and lows[-1] <= min(lows) + numpy_kernels.REACH * mu
            parts.append(xp.exp((lows[-1] - D) / mu) @ V1 if near else 0 * V1[b, :])
        least = min(lows)
        shares = [float(np.exp((least - low) / mu)) for low in lows]
        product = xp.concat([share * part for share, part in zip(shares, parts, strict=True)])
        degree = product[:, -1:]
        return least, float(xp.sum(degree)) / 2, degree * V - product[:, :-1]

    def _blocks(self, Z: Array) -> Iterator[tuple[slice, Array]]:
        """Yield rows, and their squared distances to all samples; infinite where none count."""
        xp, n = namespace(Z), Z.shape[0]
        block = 256 if "cpu" in str(compat.device(Z)).lower() else max(256, 2**26 // n)
        both = np.concatenate([self._collapsed, self._collapsed[:, ::-1]])
        for b in row_blocks(n, block):
            left_out = to_host(self._labels[b])[:, None] == self.strata[None, :]
            some = both[(both[:, 0] >= b.start) & (both[:, 0] < b.stop)]
            left_out[some[:, 0] - b.start, some[:, 1]] = True
            left_out = like(left_out, Z, dtype=xp.bool)
            yield b, xp.where(left_out, xp.inf, squared_distances(Z[b, :], Z))


def _equal_rows(X: np.ndarray) -> np.ndarray:
    """Return the pairs of equal rows, the smaller number first, ascending.

    Examples
    --------
    >>> _equal_rows(np.array([[1.0], [2.0], [1.0], [1.0]])).tolist()
    [[0, 2], [0, 3], [2, 3]]
    """
    place = np.unique(X, axis=0, return_inverse=True)[1].reshape(-1)
    order = np.argsort(place, kind="stable")
    found = [np.empty((0, 2), dtype=np.int64)]
    for lag in range(1, len(X)):
        same = place[order[lag:]] == place[order[:-lag]]
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


class ListedSoftmin(ListedObjective[SoftminRule], LeastDistance):
    """The smooth minimum of squared distances over listed pairs, but for those of one point.

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
        rows = rows[differing(X if originals is None else originals, rows)]
        super().__init__(SoftminRule(), X, rows, np.ones(len(rows), dtype=np.int64), [1.0])
        self.n_pairs = len(rows)

    def smallest(self, Z: Array) -> float:
        """Return the least squared distance of all pairs at mapped points."""
        return float(namespace(Z).min(self.distances(Z)))
