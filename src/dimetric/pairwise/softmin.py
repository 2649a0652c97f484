"""The least squared distance between dissimilar samples, and smooth forms of it."""

from collections.abc import Iterator
from typing import Any

import array_api_compat as compat
import numpy as np

from dimetric._xp import Array, like, namespace, to_host
from dimetric.pairwise.engine import squared_distances
from dimetric.pairwise.listed import ListedObjective
from dimetric.reduce.tree import row_blocks

# Weights below e^-40 of the largest count for nothing.
REACH = 40.0


class SoftminObjective:
    r"""The smooth minimum of squared distances over the pairs D of different classes.

    .. math:: m_\mu = -\mu \log \frac{1}{|D|} \sum_D e^{-d^2 / \mu}

    It falls to the least squared distance as :math:`\mu \to 0`, and its weights
    :math:`\partial m_\mu / \partial d^2` are positive and sum to 1. Samples that come several
    times count once, and pairs of identical samples, which no map takes apart, not at all. Memory
    is O(block n).

    Parameters
    ----------
    X : array of shape (n, d)
        Samples in canonical order, centred.
    codes : ndarray of shape (n,)
        Labels as integers from 0, ascending, on the host.
    """

    n_terms, infimum = 1.0, -np.inf

    def __init__(self, X: Array, codes: np.ndarray) -> None:
        xp = namespace(X)
        rows = to_host(X)
        distinct = np.append(True, np.any(rows[1:] != rows[:-1], axis=1) | (np.diff(codes) != 0))
        kept = np.flatnonzero(distinct)
        self.points = xp.take(X, like(kept, X, dtype=xp.int64), axis=0)
        self.codes, self.theta = codes[kept], np.ones(1)
        which = np.unique(rows[kept], axis=0, return_inverse=True)[1].reshape(-1)
        self._labels, self._places = (
            like(a, X, dtype=xp.int64) for a in (self.codes, which)
        )
        self._collapsed = len(np.unique(which)) < len(which)

    @property
    def has_pairs(self) -> bool:
        """Tell whether any two samples of different classes differ."""
        return any(np.isfinite(float(namespace(D).min(D))) for _, D in self._blocks(self.points))

    def smallest(self, Z: Array) -> float:
        """Return the least squared distance between mapped samples of different classes."""
        return min(float(namespace(D).min(D)) for _, D in self._blocks(Z))

    def evaluate(self, Z: Array, V: Array, theta: np.ndarray) -> tuple[float, Array, Any]:
        """Return the smooth minimum at mapped points, and the Laplacian of its weights times V.

        Each block is taken relative to its own least distance; theta holds :math:`\\mu`.
        """
        xp, mu = namespace(Z), float(theta[0])
        V1 = xp.concat([V, xp.ones_like(V[:, :1])], axis=1)  # the ones make degrees ride along
        lows, parts, n_pairs, least = [], [], 0, np.inf
        for b, D in self._blocks(Z):
            low = float(xp.min(D))
            n_pairs += int(xp.sum(xp.astype(xp.isfinite(D), xp.int64)))
            least = min(least, low)
            lows.append(low)
            near = low <= least + REACH * mu and low < np.inf
            parts.append(xp.exp((low - D) / mu) @ V1 if near else 0 * V1[b, :])
        scales = [float(np.exp((least - low) / mu)) for low in lows]
        product = xp.concat([scale * part for scale, part in zip(scales, parts, strict=True)])
        degree = product[:, -1:]
        total = float(xp.sum(degree))
        value = least - mu * float(np.log(total / n_pairs))
        # Each pair was met from both sides.
        return value, 2 * (degree * V - product[:, :-1]) / total, 0.0

    def _blocks(self, Z: Array) -> Iterator[tuple[slice, Array]]:
        """Yield rows, and their squared distances to all samples; infinite where none count."""
        xp, n = namespace(Z), Z.shape[0]
        block = 256 if "cpu" in str(compat.device(Z)).lower() else max(256, 2**26 // n)
        for b in row_blocks(n, block):
            left_out = self._labels[b][:, None] == self._labels[None, :]
            if self._collapsed:
                left_out = left_out | (self._places[b][:, None] == self._places[None, :])
            yield b, xp.where(left_out, xp.inf, squared_distances(Z[b, :], Z))


class SoftminRule:
    """The smooth minimum of :class:`SoftminObjective`, over listed pairs."""

    def listed(self, xp: Any, D: Array, kinds: Array, theta: Any) -> tuple[float, Array, float]:
        """Return (value, w, 0), see :mod:`dimetric.pairwise.listed`."""
        mu, least = float(theta[0]), float(xp.min(D))
        weights = xp.exp((least - D) / mu)
        total = float(xp.sum(weights))
        return least - mu * float(np.log(total / D.shape[0])), weights / total, 0.0


class ListedSoftmin(ListedObjective):
    """The smooth minimum of squared distances over listed pairs, but for those of one point.

    Parameters
    ----------
    X : array of shape (n, d)
        Samples, centred.
    rows : ndarray of shape (m, 2)
        Pairs, as row numbers of X, on the host.
    """

    def __init__(self, X: Array, rows: np.ndarray) -> None:
        super().__init__(SoftminRule(), X, rows, np.ones(len(rows), dtype=np.int64), [1.0])
        differ = to_host(self.distances(self.points)) > 0
        if not differ.all():
            super().__init__(self.rule, X, rows[differ], self.codes[differ], [1.0])

    @property
    def has_pairs(self) -> bool:
        """Tell whether any pair is one of different points."""
        return len(self.rows) > 0

    def smallest(self, Z: Array) -> float:
        """Return the least squared distance of all pairs at mapped points."""
        return float(namespace(Z).min(self.distances(Z)))
