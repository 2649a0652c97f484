r"""In-place NumPy paths of the pairwise rules, each tested equal to the engine.

Samples come sorted by class, so that "same class" is a slice of columns instead of a mask.
Squared distances of a block come from one matrix product of augmented rows,
:math:`[-2z, |z|^2, 1] \cdot [z', 1, |z'|^2]`, into a buffer that everything else works in.
Blocks are dealt out to threads with single-threaded BLAS: element-wise NumPy uses one core, and a
BLAS that brings its own threads to each worker would only make them wait for one another.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import wraps
from typing import Any

import numpy as np

from dimetric._threads import _one_blas_thread, n_threads

BLOCK = 128  # rows; fits the cache beside the columns at a few thousand samples


def _over_blocks(work: Callable[[range], Any], n_samples: int, threads: int) -> list[Any]:
    """Run ``work(starts of blocks)`` on every thread; block b goes to thread b mod threads.

    The deal is fixed, so the same thread count gives the same bits.
    """
    deals = [range(t * BLOCK, n_samples, threads * BLOCK) for t in range(threads)]
    if threads == 1:
        return [work(deals[0])]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, deals))


def _single_threaded_blas(evaluate: Callable[..., Any]) -> Callable[..., Any]:
    """Run with one BLAS thread, and with as many workers as BLAS had threads."""

    @wraps(evaluate)
    def limited(L: np.ndarray, X: np.ndarray, *arguments: Any) -> Any:
        with _one_blas_thread() as allowed:
            return evaluate(L, X, *arguments, threads=n_threads(allowed, len(X)))

    return limited


def _augmented(Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return A, B with A @ B = squared distances between the rows of Z."""
    norms = np.einsum("ij,ij->i", Z, Z)[:, None]
    ones = np.ones_like(norms)
    return np.hstack([-2 * Z, norms, ones]), np.ascontiguousarray(np.hstack([Z, ones, norms]).T)


def _class_runs(first: int, last: int, starts: np.ndarray) -> list[tuple[slice, slice]]:
    """Return (rows of the block, columns of their class) for each class in rows first:last."""
    runs = []
    c = int(np.searchsorted(starts, first, side="right")) - 1
    while first < last:
        stop = min(last, int(starts[c + 1]))
        if stop > first:
            runs.append((slice(first, stop), slice(int(starts[c]), int(starts[c + 1]))))
        first, c = stop, c + 1
    return runs


@_single_threaded_blas
def nca(
    L: np.ndarray, X: np.ndarray, starts: np.ndarray, *, threads: int = 1
) -> tuple[float, np.ndarray]:
    """Return NCA's loss and gradient, summed over samples; see ``neighborhood.nca.NCARule``.

    Parameters
    ----------
    L : ndarray of shape (k, d)
        The map.
    X : ndarray of shape (n, d)
        Samples, centred and sorted by class.
    starts : ndarray of shape (n_classes + 1,)
        Class c is ``X[starts[c]:starts[c + 1]]``.
    threads : int
        Set by the decorator.
    """
    n = len(X)
    Z = X @ L.T
    A, B = _augmented(Z)
    Z1 = np.hstack([Z, np.ones_like(Z[:, :1])])  # the ones make column sums of W ride along
    tiny = np.finfo(Z.dtype).tiny
    # Below this share of its nearest neighbour's weight a sample counts for nothing, but on the
    # way to 0 are subnormal numbers, at a hundred times the cost of others.
    negligible = Z.dtype.type(0.4) * np.log(tiny)

    def work(blocks: range) -> tuple[float, np.ndarray, np.ndarray]:
        buffer = np.empty((min(BLOCK, n), n), Z.dtype)
        loss, by_row, by_column = 0.0, np.zeros_like(Z), np.zeros_like(Z1)
        for first in blocks:
            last = min(first + BLOCK, n)
            P = np.matmul(A[first:last], B, out=buffer[: last - first])
            P[np.arange(last - first), np.arange(first, last)] = np.inf
            np.subtract(P.min(axis=1, keepdims=True), P, out=P)
            np.maximum(P, negligible, out=P)
            np.exp(P, out=P)
            P[np.arange(last - first), np.arange(first, last)] = 0
            scale = 1 / P.sum(axis=1, keepdims=True)
            for rows, own in _class_runs(first, last, starts):
                here = slice(rows.start - first, rows.stop - first)
                # W = P (same - p): -p P everywhere, then (p - 1) / p times that in the own class.
                p = P[here, own].sum(axis=1, keepdims=True) * scale[here]
                loss -= float(p.sum(dtype=np.float64))
                p = np.maximum(p, tiny)
                P[here] *= -p * scale[here]
                P[here, own] *= (p - 1) / p
            by_row[first:last] = P @ Z
            by_column += P.T @ Z1[first:last]
        return loss, by_row, by_column

    parts = _over_blocks(work, n, threads)
    loss = sum(part[0] for part in parts)
    by_row = sum(part[1] for part in parts)
    by_column = sum(part[2] for part in parts)
    # Rows of W sum to 0, so only its column sums are left of the Laplacian's diagonal.
    laplacian = by_column[:, -1:] * Z - by_row - by_column[:, :-1]
    return loss, 2 * (laplacian.T @ X)
