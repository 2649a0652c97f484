"""Distances of points with few features, and counts of small distances, compiled by numba."""

import numpy as np
from numba import njit

CHUNK = 1024  # distances that stay in the fastest cache while a loop passes over them several times


@njit(nogil=True, cache=True)
def squared_differences(A, columns, out):  # type: ignore # pragma: no cover - compiled
    """Fill `out` with squared distances between the rows of A and the given columns.

    A has shape (b, d), `columns` has shape (d, n) and `out` has shape (b, n), all C-contiguous. The
    features are added in order, so the results equal those of NumPy bit for bit.
    """
    for i in range(len(A)):
        for start in range(0, out.shape[1], CHUNK):
            sums = out[i, start : start + CHUNK]
            sums[:] = 0.0
            for f in range(A.shape[1]):
                _add_squares(sums, A[i, f], columns[f, start : start + CHUNK])


@njit(nogil=True, cache=True)
def _add_squares(sums, a, column):  # type: ignore # pragma: no cover - compiled
    for j in range(len(sums)):
        difference = a - column[j]
        sums[j] += difference * difference


@njit(nogil=True, cache=True)
def count_in_rows(D, lower, upper):  # type: ignore # pragma: no cover - compiled
    """Return how many values of each row of D are less than `lower`, and how many at most `upper`.

    D has shape (b, n). The bounds and both results have shape (b, k).
    """
    n_smaller = np.zeros(lower.shape, dtype=np.int64)
    n_not_larger = np.zeros(upper.shape, dtype=np.int64)
    for i in range(len(D)):
        for start in range(0, D.shape[1], CHUNK):
            values = D[i, start : start + CHUNK]
            for j in range(lower.shape[1]):
                n_smaller[i, j] += _n_smaller(values, lower[i, j])
                n_not_larger[i, j] += _n_not_larger(values, upper[i, j])
    return n_smaller, n_not_larger


# The compiler uses vector instructions for a loop over indices, but not for one over values, nor
# for a loop with two counts.


@njit(nogil=True, cache=True)
def _n_smaller(values, bound):  # type: ignore # pragma: no cover - compiled
    count = np.int64(0)
    for i in range(len(values)):
        count += np.int64(values[i] < bound)
    return count


@njit(nogil=True, cache=True)
def _n_not_larger(values, bound):  # type: ignore # pragma: no cover - compiled
    count = np.int64(0)
    for i in range(len(values)):
        count += np.int64(values[i] <= bound)
    return count
