"""An order of the samples that does not depend on how they came."""

import numpy as np


def canonical_order(X: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return an order of the rows, by class, that does not depend on how they came.

    Sums taken in this order are the same to the last bit for any permutation of the samples,
    and so is everything that a solver makes of them. Rows are compared by their first feature,
    then by the second, and so on: an order that survives a shift, and with it what is drawn from
    the samples at random.

    Examples
    --------
    >>> X, codes = np.array([[2.0], [1.0], [1.5]]), np.array([1, 1, 0])
    >>> backwards = canonical_order(X[::-1], codes[::-1])
    >>> np.array_equal(X[::-1][backwards], X[canonical_order(X, codes)])
    True
    """
    # One sort of strings of bytes: those of positive numbers have the order of the numbers, those
    # of negative ones the opposite, until their bits are flipped; + 0.0 leaves one form of 0.
    bits = np.ascontiguousarray(X + 0.0).view(f"i{X.itemsize}")
    bits ^= (bits >> (8 * X.itemsize - 1)) | np.iinfo(bits.dtype).min
    keys = bits.astype(f">i{X.itemsize}")
    rows = keys.view(np.dtype((np.void, X.shape[1] * X.itemsize))).ravel()
    by_content = np.argsort(rows, kind="stable")
    return by_content[np.argsort(codes[by_content], kind="stable")]
