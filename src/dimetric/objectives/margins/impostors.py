"""A fast NumPy sum of LMNN's pushes over all samples and their impostors.

An impostor is a sample of another class that is nearer than a target neighbour plus the margin.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from math import frexp
from typing import Self

import numpy as np
from scipy import sparse

from dimetric._arrays.threads import stop_if_interrupted
from dimetric.objectives import fast_paths
from dimetric.objectives.listed import listed_distances
from dimetric.objectives.margins.hinge import hinge
from dimetric.objectives.side import Side

TILE_COLUMNS = 2048  # columns of a tile, chosen so that a tile fits into the cache
# Fraction of impostors in a tile up to which adding single pairs is faster than a matrix product.
SPARSE_FRACTION = 1 / 32
BUFFERED_PAIRS = 2**18  # a buffer is flushed when it holds more pairs


@dataclass
class PushSums:
    """Running sums of hinges over samples and their impostors.

    Parameters
    ----------
    Z, V, thresholds, width, weights, impostor_weights
        See :func:`sum_pushes`.

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
    V: np.ndarray
    thresholds: np.ndarray
    width: float
    weights: np.ndarray | None = None
    impostor_weights: np.ndarray | None = None

    def __post_init__(self) -> None:
        self.loss = 0.0
        self.slopes = np.zeros(self.thresholds.shape)
        self.product = np.zeros_like(self.V)
        self._buffer = np.empty(0)

    def __iadd__(self, other: Self) -> Self:
        self.loss += other.loss
        self.slopes += other.slopes
        self.product += other.product
        return self

    def add_pairs(self, samples: np.ndarray, impostors: np.ndarray) -> None:
        """Add the hinges of pairs of a sample and an impostor."""
        n = len(self.Z)
        distances = listed_distances(self.Z, samples, impostors)
        value, slope = hinge(self.thresholds[samples] - distances[:, None], self.width)
        if self.weights is not None:
            value, slope = value * self.weights[samples], slope * self.weights[samples]
        if self.impostor_weights is not None:
            w = self.impostor_weights[impostors][:, None]
            value, slope = value * w, slope * w
        self.loss += float(value.sum(dtype=np.float64))
        for rank in range(slope.shape[1]):
            self.slopes[:, rank] += np.bincount(samples, weights=slope[:, rank], minlength=n)
        W = sparse.csr_array((slope.sum(axis=1), (samples, impostors)), shape=(n, n))
        self.product += (W + W.T) @ self.V

    def add_tile(
        self, rows: slice, columns: slice, mask: Callable[[np.ndarray, float], None]
    ) -> None:
        """Add the hinges of all pairs of rows and columns, in both directions.

        ``mask(D, far)`` sets the squared distances of pairs that do not count to `far`. A hinge is
        evaluated at t, a threshold minus a squared distance. If the hinges are smooth, t is divided
        by the width w, and shifted to be 0 where the parabola starts. The slope a of the hinge is
        then t clipped to [0, 1], and its value is w (a t - a^2 / 2).
        """
        unit, offset = (self.width, 0.5) if self.width else (1.0, 0.0)
        D, t, a, W = self._tiles(rows.stop - rows.start, columns.stop - columns.start)
        np.matmul(self.Z[rows], (-2 / unit * self.Z[columns]).T, out=D)
        D += np.sum(self.Z[rows] ** 2, axis=1, keepdims=True) / unit
        D += np.sum(self.Z[columns] ** 2, axis=1) / unit
        # Thresholds are negative if no sample has a target.
        mask(D, 2 * (1 + max(float(self.thresholds.max()), 0.0)) / unit)
        W[:] = 0
        for samples, others, axis in ((rows, columns, 1), (columns, rows, 0)):
            for rank in range(self.thresholds.shape[1]):
                threshold = self.thresholds[samples, rank]
                if self.weights is not None and np.max(threshold) < 0:
                    continue  # only samples with ties have so many targets
                np.subtract(np.expand_dims(threshold / unit + offset, axis), D, out=t)
                if self.width:
                    np.clip(t, 0, 1, out=a)
                else:
                    np.greater(t, 0, out=a)
                slopes = a
                if self.weights is not None:
                    slopes = a * np.expand_dims(self.weights[samples, rank], axis)
                if self.impostor_weights is not None:
                    slopes = slopes * np.expand_dims(self.impostor_weights[others], 1 - axis)
                if self.width:
                    self.loss -= unit / 2 * float(np.vdot(slopes, a))
                self.loss += unit * float(np.vdot(slopes, t))
                self.slopes[samples, rank] += slopes.sum(axis=axis)
                W += slopes
        self.product[rows] += W @ self.V[columns]
        self.product[columns] += W.T @ self.V[rows]

    def _tiles(self, *shape: int) -> np.ndarray:
        """Return memory for four tiles. It is reused, because allocating it is slow."""
        size = 4 * shape[0] * shape[1]
        if self._buffer.size < size:
            self._buffer = np.empty(size, self.Z.dtype)
        return self._buffer[:size].reshape(4, *shape)


def sum_pushes(
    Z: np.ndarray,
    V: np.ndarray,
    thresholds: np.ndarray,
    side: Side,
    width: float,
    weights: np.ndarray | None = None,
    impostor_weights: np.ndarray | None = None,
) -> PushSums:
    """Return the sums over all samples and their impostors.

    Impostors are searched in tiles of rows and columns, each pair of samples once. The search
    compares the thresholds with lower bounds on the squared distances, so it does not miss an
    impostor. The bounds are computed in single precision, which is fast. If a tile contains few
    impostors, only these pairs are added. Otherwise, all pairs of the tile are added. Memory is
    O(tile + n).

    Parameters
    ----------
    Z : ndarray of shape (n, p)
        Mapped samples, sorted by class.
    V : ndarray of shape (n, m)
        Matrix that is multiplied by the slopes.
    thresholds : ndarray of shape (n, k)
        A sample of another class is an impostor if its squared distance is below the threshold.
        There is one threshold for each target. It is negative if the target is missing.
    side : Side
        Labels of the samples. Labels of further points may follow.
    width : float
        Width of the smooth part of the hinge.
    weights : ndarray of shape (n, k), optional
        Weights of the hinges of each target. By default, all weights are 1.
    impostor_weights : ndarray of shape (n,), optional
        Weights of the samples as impostors. By default, all weights are 1.
    """
    n = len(Z)
    A, B, unit = _lower_bounds(Z)
    # The small number allows for squared distances that underflow in single precision.
    reach = unit * (thresholds.max(axis=1) + width / 2) + 2.0**-100
    reach = np.minimum(reach, np.finfo(np.float32).max)
    limit = np.nextafter(reach.astype(np.float32), np.float32(np.inf))

    # BLAS may read entries of the buffer that it overwrites. If these hold NaN, it raises the
    # invalid flag, although the product is right.
    @np.errstate(invalid="ignore")
    def work(firsts: Iterator[int]) -> PushSums:
        total = PushSums(Z, V, thresholds, width, weights, impostor_weights)
        pairs = PairBuffer(total)
        buffer = np.empty(fast_paths.BLOCK_ROWS * TILE_COLUMNS, np.float32)
        for first in firsts:
            rows = slice(first, min(first + fast_paths.BLOCK_ROWS, n))
            runs = side.class_runs(rows.start, rows.stop)
            for start in range(runs[0][1].stop, n, TILE_COLUMNS):
                stop_if_interrupted()
                columns = slice(start, min(start + TILE_COLUMNS, n))
                mask = partial(_mask, runs[1:], rows, columns)
                shape = rows.stop - rows.start, columns.stop - columns.start
                D = buffer[: shape[0] * shape[1]].reshape(shape)
                np.matmul(A[rows], B[columns].T, out=D)
                mask(D, np.inf)
                if not pairs.collect(D, rows, columns, limit):
                    total.add_tile(rows, columns, mask)
        pairs.flush()
        return total

    total, *others = fast_paths.over_row_blocks(work, n)
    for other in others:
        total += other
    return total


class PairBuffer:
    """Buffer for pairs of a sample and an impostor, which are added to the sums in batches."""

    def __init__(self, total: PushSums) -> None:
        self.total = total
        self.samples: list[np.ndarray] = []
        self.impostors: list[np.ndarray] = []
        self.size = 0

    def collect(self, D: np.ndarray, rows: slice, columns: slice, limit: np.ndarray) -> bool:
        """Collect the pairs of a tile whose lower bound in D is below the limit of the sample.

        Return False, without collecting any pair, if these are a large fraction of the tile.
        """
        row = np.flatnonzero(D.min(axis=1) < limit[rows])
        column = np.flatnonzero(D.min(axis=0) < limit[columns])
        by_row = D[row] < limit[rows][row, None]
        by_column = D[:, column] < limit[columns][column]
        size = np.count_nonzero(by_row) + np.count_nonzero(by_column)
        if size > SPARSE_FRACTION * D.size:
            return False
        i, j = np.nonzero(by_row)
        self.samples.append(row[i] + rows.start)
        self.impostors.append(j + columns.start)
        i, j = np.nonzero(by_column)
        self.samples.append(column[j] + columns.start)
        self.impostors.append(i + rows.start)
        self.size += int(size)
        if self.size > BUFFERED_PAIRS:
            self.flush()
        return True

    def flush(self) -> None:
        """Add the collected pairs to the total, and clear the buffer."""
        if self.size:
            self.total.add_pairs(np.concatenate(self.samples), np.concatenate(self.impostors))
        self.samples, self.impostors, self.size = [], [], 0


def _lower_bounds(Z: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Return A, B and a unit such that A @ B.T is at most the unit times the squared distances.

    The product is computed in single precision. Its rounding error is at most a known multiple of
    the squared norms, so the norms in A and B are reduced by that multiple.
    """
    n, p = Z.shape
    # Scale by a power of two, so that squares fit the range of single precision.
    scale = 2.0 ** -frexp(float(np.abs(Z).max(initial=0)))[1]
    norms = np.einsum("ij,ij->i", Z, Z, dtype=np.float64) * scale**2
    norms *= 1 - 2 * (p + 6) * float(np.finfo(np.float32).eps)
    A, B = np.ones((2, n, p + 2), np.float32)
    A[:, :p], A[:, p] = -2 * scale * Z, norms
    B[:, :p], B[:, p + 1] = scale * Z, norms
    return A, B, scale**2


def _mask(
    runs: list[tuple[slice, slice]], rows: slice, columns: slice, D: np.ndarray, far: float
) -> None:
    """Set pairs of the same class, and pairs that another block contains, to `far` in D.

    The columns start after the class of the first row. Only rows of later classes, given by `runs`,
    have such pairs.
    """
    for run, members in runs:
        here = slice(run.start - rows.start, run.stop - rows.start)
        D[here, : max(members.stop - columns.start, 0)] = far
