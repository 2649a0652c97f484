"""Standard deviation of the values of an array."""

import numpy as np
from scipy import sparse

from dimetric._arrays.namespaces import Array, namespace


def standard_deviation(X: Array) -> float:
    """Return the standard deviation of all values of a dense or sparse array, in float64.

    Examples
    --------
    >>> standard_deviation(sparse.csr_array([[0.0, 2.0]]))
    1.0
    """
    if not sparse.issparse(X):
        xp = namespace(X)
        return float(xp.std(xp.astype(X, xp.float64)))
    size, values = X.shape[0] * X.shape[1], X.data.astype(np.float64)
    mean = float(np.sum(values)) / size
    squares = float(np.sum((values - mean) ** 2)) + (size - len(values)) * mean**2
    return (squares / size) ** 0.5
