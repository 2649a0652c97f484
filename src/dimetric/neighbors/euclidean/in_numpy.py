"""The inner loops of a search by products, with NumPy.

The functions of the same names in :mod:`dimetric.neighbors.compiled.query_search` do the same.
"""

from typing import Any

import numpy as np

from dimetric._arrays.blocks import row_blocks
from dimetric._arrays.namespaces import smallest_in_rows
from dimetric._arrays.squared_distances import squared_norms

GROUP_DISTANCES = 2**18  # distances computed at once
MEASURED_VALUES = 2**18  # coordinates of candidates in memory at once


def rescaled(Q: np.ndarray, centre: np.ndarray, scale: float, norms: np.ndarray) -> np.ndarray:
    """Return -2 times the centred and rescaled queries, and store their squared norms."""
    A = np.empty(Q.shape, np.float32)
    with np.errstate(over="ignore"):
        Q = Q - centre
        Q *= scale
        np.multiply(Q, -2, out=A, casting="same_kind")
        norms[:] = squared_norms(Q)
    return A


def keep_smallest_of_queries(
    A: np.ndarray,
    tiles: np.ndarray,
    norms: np.ndarray,
    squares: np.ndarray,
    indices: np.ndarray,
    first: int,
) -> None:
    """Update the smallest squared distances of queries, and their points, with tiles of points."""
    m, size = squares.shape[1], max(1, GROUP_DISTANCES // (len(A) * tiles.shape[2]))
    for group in row_blocks(len(tiles), size):
        with np.errstate(over="ignore", invalid="ignore"):
            found = np.matmul(A, tiles[group]) + norms[group, None, :]
        found = found.transpose(1, 0, 2).reshape(len(A), -1)
        values, columns = smallest_in_rows(found, min(m, found.shape[1]))
        columns += first + group.start * tiles.shape[2]
        if len(tiles) > size or values.shape[1] < m:
            values, columns = merged([squares, values], [indices, columns], m)
        squares[:], indices[:] = values, columns


def measure(X: np.ndarray, points: np.ndarray, candidates: np.ndarray, squares: np.ndarray) -> None:
    """Compute the squared distances between rows of X and their candidates in double precision.

    The features are summed in order, because the compiled code does so, and not by pairs as in
    ``np.sum``.
    """
    near = points[candidates.T].astype(np.float64, copy=False)
    near -= X.astype(np.float64, copy=False)
    with np.errstate(over="ignore"):
        near *= near
        # A sum over an axis other than the last adds one row after the other.
        squares[:] = np.add.reduce(np.ascontiguousarray(near.transpose(2, 0, 1)), axis=0).T


def measure_nearest(
    X: np.ndarray,
    points: np.ndarray,
    candidates: np.ndarray,
    distances: np.ndarray,
    indices: np.ndarray,
) -> None:
    """Compute the distances and the indices of the nearest candidates of every row of X."""
    squares = np.empty(candidates.shape)
    for b in row_blocks(len(X), max(1, MEASURED_VALUES // (candidates.shape[1] * X.shape[1]))):
        measure(X[b], points, candidates[b], squares[b])
    order = np.argsort(squares, axis=1, kind="stable")[:, : distances.shape[1]]
    order += candidates.shape[1] * np.arange(len(X))[:, None]  # faster than a pair of indices
    np.sqrt(squares.take(order), out=distances)
    indices[:] = candidates.take(order)


def merged(squares: Any, indices: Any, m: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return the m nearest of several lists of candidates of the same queries, nearest first.

    By default, m is the length of the first list. There is no compiled version.
    """
    values, indices = np.concatenate(squares, axis=1), np.concatenate(indices, axis=1)
    m = squares[0].shape[1] if m is None else m
    order = np.argsort(values, axis=1)[:, :m]
    return np.take_along_axis(values, order, axis=1), np.take_along_axis(indices, order, axis=1)
