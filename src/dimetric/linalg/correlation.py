"""Pearson's correlation from sums that can be accumulated over blocks."""

import numpy as np

from dimetric._arrays.namespaces import Array, namespace

MIN_RELATIVE_VARIANCE = 1e-13  # smaller variances, relative to the mean square, are rounding errors


def moments(A: Array, B: Array) -> Array:
    """Return the sums of a, b, a^2, b^2 and a b over each row of A and B."""
    xp = namespace(A)
    sums = [xp.sum(A, axis=1), xp.sum(B, axis=1)]
    return xp.stack([*sums, xp.vecdot(A, A), xp.vecdot(B, B), xp.vecdot(A, B)], axis=1)


def correlation(M: np.ndarray) -> np.ndarray:
    """Return Pearson's correlation from the means of a, b, a^2, b^2 and a b.

    The correlation with a constant is 0.

    Examples
    --------
    >>> a = np.array([[1.0, 2.0, 4.0]])
    >>> correlation(moments(a, 3 - 2 * a) / 3)
    array([-1.])
    """
    a, b, aa, bb, ab = np.moveaxis(M, -1, 0)
    variance_a, variance_b = aa - a * a, bb - b * b
    spread = np.where(variance_a > MIN_RELATIVE_VARIANCE * aa, variance_a, np.inf)
    spread = spread * np.where(variance_b > MIN_RELATIVE_VARIANCE * bb, variance_b, np.inf)
    return np.clip((ab - a * b) / np.sqrt(spread), -1, 1)


def residual_variance(M: np.ndarray) -> np.ndarray:
    """Return the fraction of the variance that a linear fit does not explain, 1 - r^2."""
    return 1 - correlation(M) ** 2
