"""An order of the samples that does not depend on how they came."""

import numpy as np


def canonical_order(X: np.ndarray, codes: np.ndarray | None = None) -> np.ndarray:
    """Return an order of the rows, by class if there are any, whatever order they came in.

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
    if codes is None:
        return by_content
    return by_content[np.argsort(codes[by_content], kind="stable")]
