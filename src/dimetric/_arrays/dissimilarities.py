"""Checks of symmetric matrices and of dissimilarities, in any namespace."""

from collections.abc import Iterator
from itertools import combinations_with_replacement
from typing import Any, NamedTuple

import array_api_compat as compat
import numpy as np
from sklearn.utils import assert_all_finite

from dimetric._arrays.blocks import row_blocks
from dimetric._arrays.namespaces import Array, asarray_like, eps, namespace, to_host
from dimetric._arrays.threads import run_on_threads

TILE_SIZE = 256  # rows and columns of a tile; two tiles fit into a core's cache
BLOCK_VALUES = 2**18  # numbers in a block of rows; threads wait for each other at smaller blocks


def check_dissimilarities(D: Array, learner: Any = None) -> float:
    """Raise unless D is square, symmetric up to rounding, nonnegative, and 0 on the diagonal.

    Return the largest value. If a learner is given, D is also searched for NaN and infinity, and
    the error message contains the name of the learner. Otherwise, D must be finite.
    """
    xp = namespace(D)
    n = D.shape[0]
    if D.shape[1] != n:
        raise ValueError(
            f"Precomputed dissimilarities must be a square matrix, but X has shape "
            f"{tuple(D.shape)}. If X holds samples and features, choose a metric other than "
            "'precomputed'."
        )
    scan = _scan(D)
    if learner is not None and not np.isfinite([scan.smallest, scan.largest]).all():
        assert_all_finite(to_host(D), input_name="X", estimator_name=type(learner).__name__)
    if scan.smallest < 0:
        raise ValueError(
            "Dissimilarities must not be negative. If X holds similarities, convert them first."
        )
    # Distances computed from matrix products have errors of about sqrt(eps) times the largest one.
    tolerance = 4 * eps(D) ** 0.5 * scan.largest
    if bool(xp.any(xp.linalg.diagonal(D) > tolerance)):
        raise ValueError("The diagonal of a dissimilarity matrix must be 0.")
    pair = _asymmetric_pair(D, scan, tolerance)
    if pair is not None:
        i, j = pair
        raise ValueError(
            f"Dissimilarities must be symmetric, but X[{i}, {j}] is {float(D[i, j]):.6g} and "
            f"X[{j}, {i}] is {float(D[j, i]):.6g}. Pass (X + X.T) / 2 to use their mean."
        )
    return scan.largest


def asymmetric_pair(A: Array, tol: float) -> tuple[int, int] | None:
    """Return i and j with ``|A[i, j] - A[j, i]| > tol``, or None if A is symmetric up to `tol`.

    Examples
    --------
    >>> asymmetric_pair(np.array([[0.0, 1.0], [2.0, 0.0]]), tol=0.5)
    (0, 1)
    """
    return _asymmetric_pair(A, _scan(A), tol)


class _Scan(NamedTuple):
    """What one pass over the rows of a square matrix A shows.

    Attributes
    ----------
    smallest, largest : float
        Smallest and largest value, or NaN if a value is NaN.
    asymmetry : float
        Largest absolute value of A w - A^T w, where w holds random numbers from 1 to 2. If A is
        symmetric, it is 0 up to rounding. If A is not, it is improbable that all differences
        between values and their mirror images cancel.
    rounding : float
        Bound on the rounding errors of `asymmetry`.
    """

    smallest: float
    largest: float
    asymmetry: float
    rounding: float


@np.errstate(over="ignore", invalid="ignore")  # of huge and infinite values
def _scan(A: Array) -> _Scan:
    """Read a square matrix once. Several threads read NumPy arrays."""
    xp, n, is_numpy = namespace(A), A.shape[0], compat.is_numpy_array(A)
    dtype = np.float64 if is_numpy else A.dtype
    w = asarray_like(1 + np.random.default_rng(0).random(n), A, dtype=dtype)
    extremes, products = np.empty((n, 2)), np.empty(n)

    def work(tasks: Iterator[slice]) -> np.ndarray:
        total = xp.zeros_like(w)
        for b in tasks:
            rows = xp.astype(A[b, :], dtype, copy=False)
            extremes[b] = float(xp.min(rows)), float(xp.max(rows))
            products[b] = to_host(rows @ w)
            total += w[b] @ rows
        return to_host(total)

    if is_numpy:
        blocks = list(row_blocks(n, max(1, BLOCK_VALUES // n)))
        sums = run_on_threads(work, blocks, n_rows=n)
    else:
        sums = [work(iter([slice(0, n)]))]
    smallest, largest = float(np.min(extremes[:, 0])), float(np.max(extremes[:, 1]))
    # Rounding errors of sums grow like the square root of the number of terms.
    rounding = 2 * n**1.5 * float(xp.finfo(dtype).eps) * max(abs(smallest), abs(largest))
    return _Scan(smallest, largest, float(np.max(np.abs(products - sum(sums)))), rounding)


def _asymmetric_pair(A: Array, scan: _Scan, tol: float) -> tuple[int, int] | None:
    """Return the largest difference in the first tile where one exceeds `tol`, or None."""
    if scan.asymmetry <= scan.rounding < tol:
        return None
    for b, c in combinations_with_replacement(row_blocks(A.shape[0], TILE_SIZE), 2):
        difference = np.abs(to_host(A[b, c] - A[c, b].T))
        i, j = np.unravel_index(np.argmax(difference), difference.shape)
        if difference[i, j] > tol:
            return int(i) + b.start, int(j) + c.start
    return None
