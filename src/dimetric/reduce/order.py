"""An order of the samples that does not depend on how they came."""

import numpy as np

from dimetric._xp import Array, like, namespace, to_host


def in_canonical_order(X: Array, codes: np.ndarray) -> tuple[Array, np.ndarray]:
    """Return samples and label codes in their :func:`canonical_order`."""
    xp = namespace(X)
    order = canonical_order(to_host(X), codes)
    return xp.take(X, like(order, X, dtype=xp.int64), axis=0), codes[order]


def canonical_order(X: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return an order of the rows, by class, that does not depend on how they came.

    Sums taken in this order are the same to the last bit for any permutation of the samples,
    and so is everything that a solver makes of them. Rows are compared as bytes, which is as
    cheap as it is meaningless: any fixed order will do. Only 0 has two forms.

    Examples
    --------
    >>> X, codes = np.array([[2.0], [1.0], [1.5]]), np.array([1, 1, 0])
    >>> backwards = canonical_order(X[::-1], codes[::-1])
    >>> np.array_equal(X[::-1][backwards], X[canonical_order(X, codes)])
    True
    """
    rows = np.ascontiguousarray(X + 0.0).view(np.dtype((np.void, X.shape[1] * X.itemsize))).ravel()
    by_content = np.argsort(rows, kind="stable")
    return by_content[np.argsort(codes[by_content], kind="stable")]
