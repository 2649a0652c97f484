"""Counts of small distances, compiled by numba (the extra ``fast``)."""

import numpy as np
from numba import njit


@njit(nogil=True, cache=True, error_model="numpy")
def count_in_rows(D, lower, upper):  # type: ignore # pragma: no cover - compiled
    """Return how many values of each row of D are less than `lower`, and at most `upper`.

    D has shape (b, n). The bounds and both results have shape (b, k).
    """
    n_smaller = np.empty(lower.shape, dtype=np.int64)
    n_not_larger = np.empty(upper.shape, dtype=np.int64)
    for i in range(len(D)):
        row = D[i]
        for j in range(lower.shape[1]):
            # The compiler vectorises a loop with one count, but not a loop with two.
            count = np.int64(0)
            for value in row:
                count += np.int64(value < lower[i, j])
            n_smaller[i, j] = count
            count = np.int64(0)
            for value in row:
                count += np.int64(value <= upper[i, j])
            n_not_larger[i, j] = count
    return n_smaller, n_not_larger
