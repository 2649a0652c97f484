"""The pull of the dissimilarities on the coordinates, compiled by numba (the extra ``fast``)."""

from collections.abc import Iterator

import numpy as np
from numba import njit

from dimetric._arrays.blocks import row_blocks
from dimetric._arrays.threads import run_on_threads

TASK_ROWS = 64  # rows of D per call of the kernel, which takes about a millisecond
CHUNK_PAIRS = 512  # pairs whose ratios stay in the fastest cache of a core


def pull_from_upper_triangle(D: np.ndarray, Z: np.ndarray, bound: float) -> np.ndarray:
    """Return B(Z) Z from the upper triangle of D, on several threads.

    Parameters
    ----------
    D : ndarray of shape (n, n)
        Dissimilarities, with contiguous rows.
    Z : ndarray of shape (n, k)
        Coordinates.
    bound : float
        Squared distances below this bound count as equal to it.
    """
    coordinates = np.ascontiguousarray(Z.T)

    def work(tasks: Iterator[slice]) -> np.ndarray:
        pull = np.zeros_like(coordinates)
        for rows in tasks:
            _add_pull(D, coordinates, bound, rows.start, rows.stop, pull)
        return pull

    pulls = run_on_threads(work, list(row_blocks(len(Z), TASK_ROWS)))
    return np.ascontiguousarray(np.sum(pulls, axis=0).T)


# The compiler vectorises the sum over a chunk only if it may reorder its terms.
@njit(nogil=True, cache=True, error_model="numpy", fastmath={"nnan", "nsz", "reassoc", "contract"})
def _add_pull(D, Z, bound, first_row, last_row, pull):  # type: ignore # pragma: no cover - compiled
    """Add the pull of the pairs i < j with first_row <= i < last_row. Z and pull are (k, n)."""
    k, n = Z.shape
    ratios = np.empty(CHUNK_PAIRS)
    for i in range(first_row, last_row):
        for first in range(i + 1, n, CHUNK_PAIRS):
            last = min(first + CHUNK_PAIRS, n)
            wanted, ratio = D[i, first:last], ratios[: last - first]
            ratio[:] = 0.0
            for c in range(k):
                z, others = Z[c, i], Z[c, first:last]
                for j in range(len(ratio)):
                    ratio[j] += (z - others[j]) * (z - others[j])
            for j in range(len(ratio)):
                ratio[j] = wanted[j] / np.sqrt(max(ratio[j], bound))
            for c in range(k):
                z, others, on_others, total = Z[c, i], Z[c, first:last], pull[c, first:last], 0.0
                for j in range(len(ratio)):
                    force = ratio[j] * (z - others[j])
                    on_others[j] -= force
                    total += force
                pull[c, i] += total
