"""Tiles of lower bounds on squared distances, in which impostors are searched.

The bounds are computed in single precision, which is fast. Because they are lower bounds, a search
among them does not miss an impostor.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from math import frexp
from typing import Self, TypeVar

import numpy as np

from dimetric._arrays.thread_group import stop_if_interrupted
from dimetric._arrays.threads import run_on_threads
from dimetric.objectives.side import Side

TILE_ROWS, TILE_COLUMNS = 256, 1024  # chosen so that a tile fits into the cache

T = TypeVar("T")
# mask(D, columns, far) sets the squared distances of pairs that do not count to `far`.
Mask = Callable[[np.ndarray, slice, float], None]
Tile = tuple[slice, slice, Mask]


@dataclass(frozen=True)
class LowerBounds:
    """Factors of a matrix of lower bounds, and the limit of each sample's impostors.

    The entries of ``A @ B.T`` are at most the squared distances times a unit. The product is
    computed in single precision. Its rounding error is at most a known multiple of the squared
    norms, so the norms in A and B are reduced by that multiple.

    Attributes
    ----------
    A, B : ndarray of shape (n, p + 2)
        The factors.
    limit : ndarray of shape (n,)
        A pair with a sample is an impostor only if its entry is below the limit of the sample.
    """

    A: np.ndarray
    B: np.ndarray
    limit: np.ndarray

    @classmethod
    def of(cls, Z: np.ndarray, reach: np.ndarray) -> Self:
        """Return the bounds for points, with the largest squared distance of their impostors."""
        n, p = Z.shape
        # Scale by a power of two, so that squares fit the range of single precision.
        scale = 2.0 ** -frexp(float(np.abs(Z).max(initial=0)))[1]
        norms = np.einsum("ij,ij->i", Z, Z, dtype=np.float64) * scale**2
        norms *= 1 - 2 * (p + 6) * float(np.finfo(np.float32).eps)
        A, B = np.ones((2, n, p + 2), np.float32)
        A[:, :p], A[:, p] = -2 * scale * Z, norms
        B[:, :p], B[:, p + 1] = scale * Z, norms
        # The small number allows for squared distances that underflow in single precision.
        limit = np.minimum(scale**2 * reach + 2.0**-100, np.finfo(np.float32).max)
        return cls(A, B, np.nextafter(limit.astype(np.float32), np.float32(np.inf)))


def over_tile_rows(work: Callable[[Iterator[int]], T], n: int) -> list[T]:
    """Call `work` on several threads, and return the result of each call.

    Each call gets the first row of each block of ``TILE_ROWS`` rows that it has to process.
    """
    return run_on_threads(work, range(0, n, TILE_ROWS), n_rows=n)


def tiles(side: Side, n: int, firsts: Iterator[int]) -> Iterator[Tile]:
    """Yield the rows and columns of tiles, and their masks.

    Together, the tiles of all blocks contain each pair of different classes once. The mask hides
    all other pairs.

    Parameters
    ----------
    side : Side
        Labels of the samples, which are sorted by class. Labels of further points may follow.
    n : int
        Number of samples.
    firsts : iterator of int
        First row of each block of ``TILE_ROWS`` rows.
    """
    for first in firsts:
        rows = slice(first, min(first + TILE_ROWS, n))
        runs = side.class_runs(rows.start, rows.stop)
        mask = partial(_mask, runs[1:], rows)
        for start in range(runs[0][1].stop, n, TILE_COLUMNS):
            stop_if_interrupted()
            yield rows, slice(start, min(start + TILE_COLUMNS, n)), mask


class ImpostorSearch:
    """A search for impostors in tiles of lower bounds. Each thread needs its own search."""

    def __init__(self, bounds: LowerBounds) -> None:
        self._bounds = bounds
        columns = min(TILE_COLUMNS, len(bounds.A))
        self._buffer = np.empty(TILE_ROWS * columns, np.float32)

    def find(self, tile: Tile, most: float) -> tuple[np.ndarray, np.ndarray] | None:
        """Return the pairs of a sample and an impostor in a tile, or None if more than `most`.

        These are the pairs whose lower bound is below the limit of the sample. Both samples of a
        pair may have the other one as impostor.
        """
        rows, columns, mask = tile
        shape = rows.stop - rows.start, columns.stop - columns.start
        D = self._buffer[: shape[0] * shape[1]].reshape(shape)
        # BLAS may read entries of the buffer that it overwrites. If these hold NaN, it raises the
        # invalid flag, although the product is right.
        with np.errstate(invalid="ignore"):
            np.matmul(self._bounds.A[rows], self._bounds.B[columns].T, out=D)
        mask(D, columns, np.inf)
        of_rows, of_columns = self._bounds.limit[rows], self._bounds.limit[columns]
        near = of_rows[:, None] > D
        near |= of_columns > D
        if np.count_nonzero(near) > most:
            return None
        # NumPy finds entries of a vector much faster than those of a matrix.
        entries = np.flatnonzero(near)
        i, j = np.divmod(entries, shape[1])
        bounds = D.ravel()[entries]
        by_row, by_column = bounds < of_rows[i], bounds < of_columns[j]
        i, j = i + rows.start, j + columns.start
        samples = np.concatenate([i[by_row], j[by_column]])
        if len(samples) > most:
            return None
        return samples, np.concatenate([j[by_row], i[by_column]])


def _mask(
    runs: list[tuple[slice, slice]], rows: slice, D: np.ndarray, columns: slice, far: float
) -> None:
    """Set pairs of the same class, and pairs that another block contains, to `far` in D.

    The columns start after the class of the first row. Only rows of later classes, given by `runs`,
    have such pairs.
    """
    for run, members in runs:
        here = slice(run.start - rows.start, run.stop - rows.start)
        D[here, : max(members.stop - columns.start, 0)] = far
