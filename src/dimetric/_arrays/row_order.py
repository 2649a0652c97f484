"""An order of the samples that does not depend on the order in which they were given."""

import numpy as np

from dimetric._arrays.namespaces import Array, like, namespace, to_host


def in_canonical_order(X: Array, codes: np.ndarray) -> tuple[Array, np.ndarray]:
    """Return samples and label codes in their :func:`canonical_order`."""
    xp = namespace(X)
    order = canonical_order(to_host(X), codes)
    return xp.take(X, like(order, X, dtype=xp.int64), axis=0), codes[order]


def canonical_order(X: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return an order of the rows, by class, that does not depend on how they were ordered.

    Sums in this order are the same to the last bit for any permutation of the samples, and so are
    the results of solvers. Rows are compared by their first feature, then by the second, and so
    on. A shift of the samples does not change this order, nor what is drawn from it at random.

    Examples
    --------
    >>> X, codes = np.array([[2.0], [1.0], [1.5]]), np.array([1, 1, 0])
    >>> backwards = canonical_order(X[::-1], codes[::-1])
    >>> np.array_equal(X[::-1][backwards], X[canonical_order(X, codes)])
    True
    """
    # One sort of byte strings. Bytes of positive numbers have the order of the numbers, those of
    # negative numbers the opposite order, until their bits are flipped. + 0.0 turns -0.0 into 0.0.
    bits = np.ascontiguousarray(X + 0.0).view(f"i{X.itemsize}")
    bits ^= (bits >> (8 * X.itemsize - 1)) | np.iinfo(bits.dtype).min
    keys = bits.astype(f">i{X.itemsize}")
    rows = keys.view(np.dtype((np.void, X.shape[1] * X.itemsize))).ravel()
    by_content = np.argsort(rows, kind="stable")
    return by_content[np.argsort(codes[by_content], kind="stable")]


def distinct_rows(X: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the distinct rows, ascending, and for each row of X its number among them.

    Examples
    --------
    >>> distinct_rows(np.array([[2.0, 1.0], [0.0, 1.0], [2.0, 1.0]]))
    (array([[0., 1.],
           [2., 1.]]), array([1, 0, 1]))
    """
    order = canonical_order(X, np.zeros(len(X), dtype=np.int64))
    rows = X[order]
    is_new = np.append(True, np.any(rows[1:] != rows[:-1], axis=1))
    number = np.empty(len(X), dtype=np.int64)
    number[order] = np.cumsum(is_new) - 1
    return rows[is_new], number
