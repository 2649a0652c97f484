"""Scatter matrix of samples in single precision, by products in single precision."""

from collections.abc import Iterator

import numpy as np

from dimetric._arrays.blas_limit import one_blas_thread
from dimetric._arrays.blocks import row_blocks
from dimetric._arrays.threads import run_on_threads
from dimetric.linalg.scatter import EXAMINED_ROWS, Moments, means_are_small

# Rows of a product. The rounding errors of many products average out. With few features, products
# have more rows, because otherwise calling NumPy takes longer than the product.
BLOCK_ROWS, MAX_BLOCK_ROWS, BLOCK_VALUES = 2048, 8192, 2**17
SUMMED_ROWS = 512  # rows of a sum in single precision
MIN_ROWS_PER_FEATURE = 16  # with fewer samples, examining some of them takes too long
MIN_EXAMINED_ROWS = 128
# The smallest variance needed, as a fraction of the largest. Errors are relative to the largest.
MIN_VARIANCE = 2.0**-7


def is_accurate(X: np.ndarray, k: int) -> bool:
    """Return whether products in single precision give k principal variances to about 6 digits.

    The variances of some of the samples decide, so this is an estimate.
    :func:`has_accurate_variances` tests the variances of all samples.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(500, 3)).astype(np.float32)
    >>> is_accurate(X, 3), is_accurate(X * np.float32([1, 1, 0.01]), 3)
    (True, False)
    """
    n, d = X.shape
    if X.dtype != np.float32 or n < MIN_ROWS_PER_FEATURE * d:
        return False
    rows = X[:: max(1, n // max(2 * k, MIN_EXAMINED_ROWS))].astype(np.float64)
    rows -= rows.mean(axis=0)
    with one_blas_thread():  # after small products, idle threads of BLAS slow down other threads
        variances = np.linalg.eigvalsh(rows @ rows.T if len(rows) < d else rows.T @ rows)
    return has_accurate_variances(variances[::-1][:k])


def has_accurate_variances(variances: np.ndarray) -> bool:
    """Return whether the smallest of descending variances is not much smaller than the largest.

    Examples
    --------
    >>> has_accurate_variances(np.array([1.0, 0.5])), has_accurate_variances(np.array([1.0, 1e-3]))
    (True, False)
    """
    return bool(variances[-1] > MIN_VARIANCE * variances[0])


def single_scatter(X: np.ndarray) -> Moments:
    """Return the moments of samples in single precision.

    The products of all blocks are summed in double precision. Unless the means are small, each
    block is centred by its own mean, so that its product has small rounding errors. The spread of a
    constant feature is exactly 0, because the first row of a block is subtracted before the mean.

    Examples
    --------
    >>> X = np.array([[0.0, 7.0], [2.0, 7.0]], dtype=np.float32)
    >>> single_scatter(X).spread
    array([[2., 0.],
           [0., 0.]])
    """
    n, d = X.shape
    block_rows = max(BLOCK_ROWS, min(MAX_BLOCK_ROWS, BLOCK_VALUES // d))
    blocks = list(row_blocks(n, block_rows))
    means = np.empty((len(blocks), d))
    some = X[:: -(-n // EXAMINED_ROWS)].astype(np.float64)
    small_means = means_are_small(some, None, some.mean(axis=0, keepdims=True))

    def work(numbers: Iterator[int]) -> np.ndarray:
        total, buffer = np.zeros((d, d)), np.empty((min(n, block_rows), d), np.float32)
        for number in numbers:
            rows = X[blocks[number]]
            if small_means:
                means[number] = _mean(rows)
            else:
                first = rows[0]
                rows = np.subtract(rows, first, out=buffer[: len(rows)])
                mean = _mean(rows).astype(np.float32)
                rows -= mean
                means[number] = first.astype(np.float64) + mean
            total += rows.T @ rows
        return total

    S = sum(run_on_threads(work, range(len(blocks)), n_rows=n))
    counts = np.array([float(b.stop - b.start) for b in blocks])
    shift = counts @ (means - means[0]) / n  # exactly 0 for a constant feature
    mean = means[0] + shift
    if small_means:
        S -= n * mean[:, None] * mean
    else:
        between = np.sqrt(counts)[:, None] * (means - means[0] - shift)
        S += between.T @ between
    return Moments(np.array([float(n)]), mean[None, :], S, is_root=False)


def _mean(rows: np.ndarray) -> np.ndarray:
    """Return the mean of rows in double precision. Only short sums are in single precision."""
    n, d = rows.shape
    ones, n_summed = np.ones(SUMMED_ROWS, np.float32), n - n % SUMMED_ROWS
    sums = ones @ rows[:n_summed].reshape(-1, SUMMED_ROWS, d)  # one call for all short sums
    rest = ones[: n - n_summed] @ rows[n_summed:]
    return (sums.sum(axis=0, dtype=np.float64) + rest) / n
