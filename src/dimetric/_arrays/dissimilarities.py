"""Checks of symmetric matrices and of dissimilarities, in any namespace."""

from collections.abc import Iterator
from itertools import combinations_with_replacement
from typing import NamedTuple

import array_api_compat as compat
import numpy as np

from dimetric._arrays.blocks import row_blocks
from dimetric._arrays.namespaces import Array, namespace, to_host
from dimetric._arrays.threads import run_on_threads

TILE_SIZE = 256  # rows and columns of a tile; two tiles fit into a core's cache


def check_dissimilarities(D: Array) -> None:
    """Raise unless D is square, symmetric up to rounding, nonnegative, and 0 on the diagonal."""
    xp = namespace(D)
    n = D.shape[0]
    if D.shape[1] != n:
        raise ValueError(
            f"Precomputed dissimilarities must be a square matrix, but X has shape "
            f"{tuple(D.shape)}. If X holds samples and features, choose a metric other than "
            "'precomputed'."
        )
    extremes = _extremes_of_tiles(D)
    if float(np.min(extremes.smallest)) < 0:
        raise ValueError(
            "Dissimilarities must not be negative. If X holds similarities, convert them first."
        )
    # Distances computed from matrix products have errors of about sqrt(eps) times the largest one.
    tolerance = 4 * float(xp.finfo(D.dtype).eps) ** 0.5 * float(np.max(extremes.largest))
    if bool(xp.any(xp.linalg.diagonal(D) > tolerance)):
        raise ValueError("The diagonal of a dissimilarity matrix must be 0.")
    pair = extremes.asymmetric_pair(D, tolerance)
    if pair is not None:
        i, j = pair
        raise ValueError(
            f"Dissimilarities must be symmetric, but X[{i}, {j}] is {float(D[i, j]):.6g} and "
            f"X[{j}, {i}] is {float(D[j, i]):.6g}. Pass (X + X.T) / 2 to use their mean."
        )


def asymmetric_pair(A: Array, tol: float) -> tuple[int, int] | None:
    """Return i and j with ``|A[i, j] - A[j, i]| > tol``, or None if A is symmetric up to `tol`.

    Examples
    --------
    >>> asymmetric_pair(np.array([[0.0, 1.0], [2.0, 0.0]]), tol=0.5)
    (0, 1)
    """
    return _extremes_of_tiles(A).asymmetric_pair(A, tol)


class _Extremes(NamedTuple):
    """Extremes of each tile on or above the diagonal of a square matrix.

    Attributes
    ----------
    tiles : list of (slice, slice)
        Rows and columns of each tile.
    smallest : ndarray of shape (n_tiles,)
        Smallest value in the tile and in its mirror image below the diagonal.
    largest : ndarray of shape (n_tiles,)
        Largest value in the tile.
    asymmetry : ndarray of shape (n_tiles,)
        Largest absolute difference between the tile and its mirror image.
    """

    tiles: list[tuple[slice, slice]]
    smallest: np.ndarray
    largest: np.ndarray
    asymmetry: np.ndarray

    def asymmetric_pair(self, A: Array, tol: float) -> tuple[int, int] | None:
        """Return the largest difference in the first tile where one exceeds `tol`."""
        for (b, c), asymmetry in zip(self.tiles, self.asymmetry, strict=True):
            if asymmetry > tol:
                difference = np.abs(to_host(A[b, c] - A[c, b].T))
                i, j = np.unravel_index(np.argmax(difference), difference.shape)
                return int(i) + b.start, int(j) + c.start
        return None


def _extremes_of_tiles(A: Array) -> _Extremes:
    """Return the extremes of a square matrix, computed in one pass on several threads."""
    xp, n = namespace(A), A.shape[0]
    tiles = list(combinations_with_replacement(row_blocks(n, TILE_SIZE), 2))
    smallest, largest, asymmetry = np.empty((3, len(tiles)))

    def work(tasks: Iterator[int]) -> None:
        for t in tasks:
            b, c = tiles[t]
            tile, mirrored = A[b, c], A[c, b]
            difference = tile - mirrored.T
            smallest[t] = min(float(xp.min(tile)), float(xp.min(mirrored)))
            largest[t] = float(xp.max(tile))
            asymmetry[t] = max(float(xp.max(difference)), -float(xp.min(difference)))

    if compat.is_numpy_array(A):
        run_on_threads(work, range(len(tiles)), n_rows=n, shared_queue=True)
    else:
        work(iter(range(len(tiles))))
    return _Extremes(tiles, smallest, largest, asymmetry)
