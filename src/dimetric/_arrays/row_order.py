"""An order of the samples that does not depend on the order of the input."""

import numpy as np


def canonical_order(X: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return the indices that sort the samples by class, then lexicographically by features.

    Sums in this order, and hence the results of solvers, are bitwise the same for any permutation
    of the samples. Shifting all samples does not change the order, so it does not change random
    choices based on the order either.

    Examples
    --------
    >>> X, codes = np.array([[2.0], [1.0], [1.5]]), np.array([1, 1, 0])
    >>> backwards = canonical_order(X[::-1], codes[::-1])
    >>> np.array_equal(X[::-1][backwards], X[canonical_order(X, codes)])
    True
    """
    # Sort the rows as byte strings, which needs a single sort. The bytes of positive floats sort
    # like the numbers. Those of negative floats sort in reverse, so their bits are flipped.
    # Adding 0.0 turns -0.0 into 0.0.
    bits = np.ascontiguousarray(X + 0.0).view(f"i{X.itemsize}")
    bits ^= (bits >> (8 * X.itemsize - 1)) | np.iinfo(bits.dtype).min
    keys = bits.astype(f">i{X.itemsize}")
    # NumPy drops an interrupt that comes while it looks up a dtype such as (np.void, 8).
    rows = keys.view(f"V{X.shape[1] * X.itemsize}").ravel()
    by_content = np.argsort(rows, kind="stable")
    return by_content[np.argsort(codes[by_content], kind="stable")]


def distinct_rows(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct rows in ascending order, and the index of each row of X among them.

    ``np.unique(axis=0)`` is slower, and raises TypeError if Ctrl-C interrupts a comparison. X holds
    floats, or 64-bit integers up to 2**53.

    Examples
    --------
    >>> distinct_rows(np.array([[2.0, 1.0], [0.0, 1.0], [2.0, 1.0]]))
    (array([[0., 1.],
           [2., 1.]]), array([1, 0, 1]))
    """
    order = canonical_order(X, np.zeros(len(X), dtype=np.int64))
    rows = X[order]
    is_new = np.append(True, np.any(rows[1:] != rows[:-1], axis=1))[: len(X)]
    index = np.empty(len(X), dtype=np.int64)
    index[order] = np.cumsum(is_new) - 1
    return rows[is_new], index
