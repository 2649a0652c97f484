"""Standard deviation of the values of an array."""

import numpy as np
from scipy import sparse

from dimetric._arrays.namespaces import Array, asarray_like, namespace


def standard_deviation(X: Array, weights: np.ndarray | None = None) -> float:
    """Return the standard deviation of all values of a dense or sparse array, in float64.

    The weights are those of the rows.

    Examples
    --------
    >>> standard_deviation(sparse.csr_array([[0.0, 2.0]]))
    1.0
    """
    xp, is_sparse = namespace(X), sparse.issparse(X)
    if weights is None and not is_sparse:
        return float(xp.std(xp.astype(X, xp.float64)))
    p = np.full(X.shape[0], 1 / X.shape[0]) if weights is None else weights / np.sum(weights)
    p = p / X.shape[1]  # of each value
    if not is_sparse:
        X, p = xp.astype(X, xp.float64), asarray_like(p, X, dtype=xp.float64)[:, None]
        return float(xp.sum(p * (X - xp.sum(p * X)) ** 2)) ** 0.5
    values, by_value = X.data.astype(np.float64), np.repeat(p, np.diff(X.indptr))
    mean = float(np.sum(by_value * values))
    zeros = max(0.0, 1 - float(np.sum(by_value)))  # total weight of the values that are not stored
    return (float(np.sum(by_value * (values - mean) ** 2)) + zeros * mean**2) ** 0.5
