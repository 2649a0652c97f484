"""Impostors, samples of other classes that are too near: an in-place NumPy path to their pushes."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from math import frexp
from typing import Self

import numpy as np
from scipy import sparse

from dimetric._arrays.blocks import row_blocks
from dimetric._arrays.namespaces import Array, namespace
from dimetric.objectives import numpy_kernels
from dimetric.objectives.side import Side

TILE = 2048  # columns of a block that are looked at together: they fit the cache
SPARSE = 1 / 32  # share of impostors up to which single pairs cost less than matrix products
PENDING = 2**18  # pairs that are held, about


def hinge(t: Array, width: float) -> tuple[Array, Array]:
    """Return the hinge and its slope, with a parabola of some width about the kink.

    Examples
    --------
    >>> hinge(np.array([-0.5, 0.0, 1.0]), 1.0)
    (array([0.   , 0.125, 1.   ]), array([0. , 0.5, 1. ]))
    """
    xp = namespace(t)
    if width == 0:
        return xp.clip(t, 0), xp.astype(t > 0, t.dtype)
    t = t / width + 0.5
    slope = xp.clip(t, 0, 1)
    return width * slope * (t - slope / 2), slope


def distances_between(Z: np.ndarray, i: np.ndarray, j: np.ndarray) -> np.ndarray:
    """Return the squared distances between the points i and j, from their differences.

    Examples
    --------
    >>> distances_between(np.array([[0.0], [1.0], [3.0]]), np.array([0, 1]), np.array([2, 2]))
    array([9., 4.])
    """
    distances = np.empty(len(i), Z.dtype)
    for some in row_blocks(len(i), 2**15 // max(1, Z.shape[1]) or 1):  # fit the cache
        difference = Z.take(i[some], axis=0)
        difference -= Z.take(j[some], axis=0)
        np.einsum("ij,ij->i", difference, difference, out=distances[some])
    return distances


@dataclass
class Pushes:
    """Sums over samples and their impostors, to which pairs are added.

    Attributes
    ----------
    loss : float
        Sum of the hinges.
    slopes : ndarray of shape (n, k)
        Sums of their slopes, by sample and target.
    product : ndarray of shape (n, m)
        The slopes, as a symmetric matrix over samples and impostors, times V.
    """

    Z: np.ndarray
    V: np.ndarray
    thresholds: np.ndarray  # (n, k): nearer than that is too near
    width: float

    def __post_init__(self) -> None:
        self.loss = 0.0
        self.slopes = np.zeros(self.thresholds.shape)
        self.product = np.zeros_like(self.V)
        self._buffer = np.empty(0)

    def __add__(self, other: Self) -> Self:
        self.loss += other.loss
        self.slopes += other.slopes
        self.product += other.product
        return self

    def add_pairs(self, samples: np.ndarray, impostors: np.ndarray) -> None:
        """Add samples, and one impostor of each."""
        n = len(self.Z)
        distances = distances_between(self.Z, samples, impostors)
        value, slope = hinge(self.thresholds[samples] - distances[:, None], self.width)
        self.loss += float(value.sum(dtype=np.float64))
        for rank in range(slope.shape[1]):
            self.slopes[:, rank] += np.bincount(samples, weights=slope[:, rank], minlength=n)
        W = sparse.csr_array((slope.sum(axis=1), (samples, impostors)), shape=(n, n))
        self.product += (W + W.T) @ self.V

    def add_tile(
        self, rows: slice, columns: slice, mask: Callable[[np.ndarray, float], None]
    ) -> None:
        """Add all pairs of rows and columns, both ways; a mask puts out those that do not count.

        A hinge is w (a t - a^2 / 2) with t in units of the width w, from the parabola's foot on,
        and a, the slope, t between 0 and 1.
        """
        unit, foot = (self.width, 0.5) if self.width else (1.0, 0.0)
        D, t, a, W = self._tiles(rows.stop - rows.start, columns.stop - columns.start)
        np.matmul(self.Z[rows], (-2 / unit * self.Z[columns]).T, out=D)
        D += np.sum(self.Z[rows] ** 2, axis=1, keepdims=True) / unit
        D += np.sum(self.Z[columns] ** 2, axis=1) / unit
        mask(D, 2 * (1 + float(self.thresholds.max())) / unit)
        W[:] = 0
        for samples, axis in ((rows, 1), (columns, 0)):
            for rank in range(self.thresholds.shape[1]):
                threshold = self.thresholds[samples, rank] / unit + foot
                np.subtract(np.expand_dims(threshold, axis), D, out=t)
                if self.width:
                    np.clip(t, 0, 1, out=a)
                    self.loss -= unit / 2 * float(np.vdot(a, a))
                else:
                    np.greater(t, 0, out=a)
                self.loss += unit * float(np.vdot(a, t))
                self.slopes[samples, rank] += a.sum(axis=axis)
                W += a
        self.product[rows] += W @ self.V[columns]
        self.product[columns] += W.T @ self.V[rows]

    def _tiles(self, *shape: int) -> np.ndarray:
        """Return four tiles of memory; to ask the system for it each time would cost as much."""
        size = 4 * shape[0] * shape[1]
        if self._buffer.size < size:
            self._buffer = np.empty(size, self.Z.dtype)
        return self._buffer[:size].reshape(4, *shape)


def pushes(
    Z: np.ndarray, V: np.ndarray, thresholds: np.ndarray, side: Side, width: float
) -> Pushes:
    """Return the sums over all samples and all impostors of each.

    Every two samples of different classes are looked at once, in single precision and from below,
    so that no impostor is missed. Where these are few they are take_rows one by one, else all pairs
    of a tile together: memory is O(tile + n).

    Parameters
    ----------
    Z : ndarray of shape (n, p)
        Points, sorted by class.
    V : ndarray of shape (n, m)
        What slopes are multiplied with.
    thresholds : ndarray of shape (n, k)
        Squared distances, one for each target, below which a sample of another class is an
        impostor; negative where there is no target.
    side : Side
        The labels of the points; those of further points do not matter.
    width : float
        Of the smooth part of the hinge.
    """
    n = len(Z)
    A, B, unit = _lower_bounds(Z)
    reach = unit * (thresholds.max(axis=1) + width / 2) + 2.0**-100  # some squares underflow
    limit = np.nextafter(reach.astype(np.float32), np.float32(np.inf))

    def work(firsts: Iterator[int]) -> Pushes:
        total = Pushes(Z, V, thresholds, width)
        pairs = PairBuffer(total)
        buffer = np.empty(numpy_kernels.BLOCK * TILE, np.float32)
        for first in firsts:
            rows = slice(first, min(first + numpy_kernels.BLOCK, n))
            runs = side.class_runs(rows.start, rows.stop)
            for start in range(runs[0][1].stop, n, TILE):
                columns = slice(start, min(start + TILE, n))
                mask = partial(_mask, runs[1:], rows, columns)
                shape = rows.stop - rows.start, columns.stop - columns.start
                D = buffer[: shape[0] * shape[1]].reshape(shape)
                np.matmul(A[rows], B[columns].T, out=D)
                mask(D, np.inf)
                if not pairs.note(D, rows, columns, limit):
                    total.add_tile(rows, columns, mask)
        pairs.hand_on()
        return total

    first, *others = numpy_kernels.over_row_blocks(work, n)
    return sum(others, start=first)


class PairBuffer:
    """Pairs of samples and impostors that are kept until they are worth a step of their own."""

    def __init__(self, total: Pushes) -> None:
        self.total = total
        self.samples: list[np.ndarray] = []
        self.impostors: list[np.ndarray] = []
        self.size = 0

    def note(self, D: np.ndarray, rows: slice, columns: slice, limit: np.ndarray) -> bool:
        """Note the pairs of a tile that are nearer than a limit, unless they are many."""
        row = np.flatnonzero(D.min(axis=1) < limit[rows])
        column = np.flatnonzero(D.min(axis=0) < limit[columns])
        by_row = D[row] < limit[rows][row, None]
        by_column = D[:, column] < limit[columns][column]
        size = np.count_nonzero(by_row) + np.count_nonzero(by_column)
        if size > SPARSE * D.size:
            return False
        i, j = np.nonzero(by_row)
        self.samples.append(row[i] + rows.start)
        self.impostors.append(j + columns.start)
        i, j = np.nonzero(by_column)
        self.samples.append(column[j] + columns.start)
        self.impostors.append(i + rows.start)
        self.size += int(size)
        if self.size > PENDING:
            self.hand_on()
        return True

    def hand_on(self) -> None:
        """Add all pairs to the total."""
        if self.size:
            self.total.add_pairs(np.concatenate(self.samples), np.concatenate(self.impostors))
        self.samples, self.impostors, self.size = [], [], 0


def _lower_bounds(Z: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """Return A, B and a unit: A @ B.T, in single precision, is at most the unit times distances.

    Rounding is relative to the squared norms, which are made less by as much as it can be.
    """
    n, p = Z.shape
    scale = 2.0 ** -frexp(float(np.abs(Z).max(initial=0)))[1]  # into the range of single precision
    norms = np.einsum("ij,ij->i", Z, Z, dtype=np.float64) * scale**2
    norms *= 1 - 2 * (p + 6) * float(np.finfo(np.float32).eps)
    A, B = np.ones((2, n, p + 2), np.float32)
    A[:, :p], A[:, p] = -2 * scale * Z, norms
    B[:, :p], B[:, p + 1] = scale * Z, norms
    return A, B, scale**2


def _mask(
    runs: list[tuple[slice, slice]], rows: slice, columns: slice, D: np.ndarray, far: float
) -> None:
    """Put `far` for pairs of one class in D, and for those that come the other way round.

    Columns begin after the class of the first row, so only rows of later classes see any.
    """
    for run, own in runs:
        here = slice(run.start - rows.start, run.stop - rows.start)
        D[here, : max(own.stop - columns.start, 0)] = far
