"""A fast NumPy sum of LMNN's pushes over all samples and their impostors.

An impostor is a sample of another class that is nearer than a target neighbour plus the margin.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import sparse

from dimetric.objectives.listed import listed_distances
from dimetric.objectives.margins.tiles import (
    ImpostorSearch,
    LowerBounds,
    Mask,
    Tile,
    over_tile_rows,
    tiles,
)
from dimetric.objectives.side import Side

# Fraction of impostors in a tile up to which adding single pairs is faster than a matrix product.
SPARSE_FRACTION = 1 / 32
BUFFERED_PAIRS = 2**18  # a buffer is flushed when it holds more pairs


@dataclass
class PushSums:
    """Running sums of hinges over samples and their impostors.

    Parameters
    ----------
    Z, thresholds, width, weights, impostor_weights, V
        See :func:`sum_pushes`. Without V, only :meth:`weigh_pairs` can be used.

    Attributes
    ----------
    loss : float
        Weighted sum of the hinges.
    slopes : ndarray of shape (n, k)
        Weighted sum of the slopes of the hinges, for each sample and target.
    product : ndarray of shape (n, m)
        (A + A^T) V, where A holds the weighted sum of slopes for each sample and impostor.
    """

    Z: np.ndarray
    thresholds: np.ndarray
    width: float
    weights: np.ndarray | None
    impostor_weights: np.ndarray | None
    V: Any = None

    def __post_init__(self) -> None:
        self.loss = 0.0
        self.slopes = np.zeros(self.thresholds.shape)
        self._by_target = np.ascontiguousarray(self.thresholds.T)
        if self.V is not None:
            self.product = np.zeros_like(self.V)
            self._norms = np.einsum("ij,ij->i", self.Z, self.Z)
        self._buffer = np.empty(0)

    def __iadd__(self, other: Self) -> Self:
        self.loss += other.loss
        self.slopes += other.slopes
        self.product += other.product
        return self

    def weigh_pairs(self, samples: np.ndarray, impostors: np.ndarray) -> np.ndarray:
        """Add the hinges of pairs to the loss and the slopes, and return the slope of each pair."""
        n, unit = len(self.Z), self.width or 1.0
        # One row for each target, because operations on long rows are faster.
        t = self._by_target.take(samples, axis=1)
        t -= listed_distances(self.Z, samples, impostors)
        if self.width:  # as in the function `hinge`
            t /= self.width
            t += 0.5
        slope = np.minimum(np.maximum(t, 0), 1) if self.width else (t > 0).astype(t.dtype)
        t -= slope / 2 if self.width else 0
        t *= slope
        if self.weights is not None:
            w = self.weights.T.take(samples, axis=1)
            t, slope = t * w, slope * w
        if self.impostor_weights is not None:
            w = self.impostor_weights.take(impostors)
            t, slope = t * w, slope * w
        self.loss += unit * float(t.sum(dtype=np.float64))
        for rank in range(len(slope)):
            self.slopes[:, rank] += np.bincount(samples, weights=slope[rank], minlength=n)
        return np.asarray(slope.sum(axis=0))

    def add_pairs(self, samples: np.ndarray, impostors: np.ndarray) -> None:
        """Add the hinges of pairs of a sample and an impostor."""
        n, slope = len(self.Z), self.weigh_pairs(samples, impostors)
        W = sparse.csr_array((slope, (samples, impostors)), shape=(n, n))
        self.product += (W + W.T) @ self.V

    def add_tile(self, rows: slice, columns: slice, mask: Mask) -> None:
        """Add the hinges of all pairs of rows and columns, in both directions.

        A hinge is evaluated at t, a threshold minus a squared distance d. If the hinges are smooth,
        t is divided by the width w, and shifted to be 0 where the parabola starts. The slope a of
        the hinge is then t clipped to [0, 1], and its value is w (a t - a^2 / 2). The sum of a t
        over all pairs is that of a times the threshold, minus that of a d.
        """
        unit, offset = (self.width, 0.5) if self.width else (1.0, 0.0)
        D, a, W = self._tiles(rows.stop - rows.start, columns.stop - columns.start)
        np.matmul(self.Z[rows], (-2 / unit * self.Z[columns]).T, out=D)
        D += self._norms[rows, None] / unit
        D += self._norms[columns] / unit
        # Thresholds are negative if no sample has a target.
        mask(D, columns, 2 * (1 + max(float(self.thresholds.max()), 0.0)) / unit)
        W[:] = 0
        loss = 0.0
        for samples, others, axis in ((rows, columns, 1), (columns, rows, 0)):
            for rank in range(self.thresholds.shape[1]):
                threshold = self.thresholds[samples, rank] / unit + offset
                if self.weights is not None and np.max(threshold) < offset:
                    continue  # only samples with ties have so many targets
                np.subtract(np.expand_dims(threshold, axis), D, out=a)
                if self.width:
                    np.clip(a, 0, 1, out=a)
                else:
                    np.greater(a, 0, out=a)
                slopes = a
                if self.weights is not None:
                    slopes = a * np.expand_dims(self.weights[samples, rank], axis)
                if self.impostor_weights is not None:
                    slopes = slopes * np.expand_dims(self.impostor_weights[others], 1 - axis)
                sums = slopes.sum(axis=axis)
                loss += float(np.vdot(threshold, sums))
                if self.width:
                    loss -= float(np.vdot(slopes, a)) / 2
                self.slopes[samples, rank] += sums
                W += slopes
        self.loss += unit * (loss - float(np.vdot(W, D)))
        self.product[rows] += W @ self.V[columns]
        self.product[columns] += W.T @ self.V[rows]

    def _tiles(self, *shape: int) -> np.ndarray:
        """Return memory for three tiles. It is reused, because allocating it is slow."""
        size = 3 * shape[0] * shape[1]
        if self._buffer.size < size:
            self._buffer = np.empty(size, self.Z.dtype)
        return self._buffer[:size].reshape(3, *shape)


def sum_pushes(
    Z: np.ndarray,
    thresholds: np.ndarray,
    width: float,
    weights: np.ndarray | None,
    impostor_weights: np.ndarray | None,
    side: Side,
    V: np.ndarray,
    *,
    search: bool = True,
) -> PushSums:
    """Return the sums over all samples and their impostors.

    Impostors are searched in tiles of rows and columns, each pair of samples once. If a tile
    contains few impostors, only these pairs are added. Otherwise, all pairs of the tile are added.
    Memory is O(tile + n).

    Parameters
    ----------
    Z : ndarray of shape (n, p)
        Mapped samples, sorted by class.
    thresholds : ndarray of shape (n, k)
        A sample of another class is an impostor if its squared distance is below the threshold.
        There is one threshold for each target. It is negative if the target is missing.
    width : float
        Width of the smooth part of the hinge.
    weights : ndarray of shape (n, k) or None
        Weights of the hinges of each target. None stands for weights of 1.
    impostor_weights : ndarray of shape (n,) or None
        Weights of the samples as impostors. None stands for weights of 1.
    side : Side
        Labels of the samples. Labels of further points may follow.
    V : ndarray of shape (n, m)
        Matrix that is multiplied by the slopes.
    search : bool, default=True
        Whether to search for tiles with few impostors. Otherwise, all pairs are added.
    """
    bounds = LowerBounds.of(Z, thresholds.max(axis=1) + width / 2)

    def work(firsts: Iterator[int]) -> PushSums:
        total = PushSums(Z, thresholds, width, weights, impostor_weights, V)
        pairs = PairBuffer(total, ImpostorSearch(bounds))
        for tile in tiles(side, len(Z), firsts):
            if not search or not pairs.collect(tile):
                total.add_tile(*tile)
        pairs.flush()
        return total

    total, *others = over_tile_rows(work, len(Z))
    for other in others:
        total += other
    return total


class PairBuffer:
    """Buffer for pairs of a sample and an impostor, which are added to the sums in batches."""

    def __init__(self, total: PushSums, search: ImpostorSearch) -> None:
        self.total, self.search = total, search
        self.parts: list[tuple[np.ndarray, np.ndarray]] = []
        self.size = 0

    def collect(self, tile: Tile) -> bool:
        """Collect the impostors in a tile.

        Return False, without collecting any pair, if these are a large fraction of the tile.
        """
        rows, columns, _ = tile
        size = (rows.stop - rows.start) * (columns.stop - columns.start)
        found = self.search.find(tile, SPARSE_FRACTION * size)
        if found is None:
            return False
        self.parts.append(found)
        self.size += len(found[0])
        if self.size > BUFFERED_PAIRS:
            self.flush()
        return True

    def flush(self) -> None:
        """Add the collected pairs to the total, and clear the buffer."""
        if self.size:
            samples, impostors = zip(*self.parts, strict=True)
            self.total.add_pairs(np.concatenate(samples), np.concatenate(impostors))
        self.parts, self.size = [], 0
