"""Choice of landmarks for the Nyström method.

The span of the landmarks approximates the span of all samples in feature space.
"""

from typing import Any

import numpy as np
from scipy import sparse

from dimetric._arrays.namespaces import Array, asarray_like, eps, namespace, to_host
from dimetric._arrays.random_state import random_generator
from dimetric.kernels._factor import SAMPLES_IDENTICAL, greedy_factor
from dimetric.kernels._function import KernelFunction
from dimetric.neighbors.landmarks import draw_landmarks


def landmark_rows(
    strategy: str, kernel: KernelFunction, X: Array, m: int, random_state: Any
) -> np.ndarray:
    """Return the row indices of m landmarks of X, ascending.

    Parameters
    ----------
    strategy : {"uniform", "greedy"}
        "uniform" chooses random distinct samples, and "greedy" calls :func:`greedy_landmarks`.
    kernel : KernelFunction
        The kernel function.
    X : array of shape (n, d)
        Samples, where identical samples are adjacent, or a precomputed kernel matrix.
    m : int
        Number of landmarks, less than n. Fewer are returned if there are fewer distinct samples, or
        if fewer landmarks span all samples.
    random_state : int, RandomState or None
        Random seed for "uniform".
    """
    if strategy == "greedy":
        rows = greedy_landmarks(kernel, X, m)
    elif kernel.name == "precomputed":
        rows = draw_landmarks(X.shape[0], m, random_state)
    else:
        points = to_host(X)
        distinct = np.unique(first_of_equals(points))
        m = min(m, len(distinct))
        rows = distinct[draw_landmarks(len(distinct), m, random_state, points[distinct])]
    if len(rows) == 1:  # all samples are identical
        raise ValueError(SAMPLES_IDENTICAL)
    return np.sort(rows)


def first_of_equals(X: np.ndarray) -> np.ndarray:
    """Return, for each row, the index of the first equal row. Equal rows must be adjacent."""
    differs = X[1:] != X[:-1]
    is_new = differs.count_nonzero(axis=1) > 0 if sparse.issparse(X) else np.any(differs, axis=1)
    is_new = np.append(True, is_new)
    return np.maximum.accumulate(np.where(is_new, np.arange(X.shape[0]), 0))


def greedy_landmarks(kernel: KernelFunction, X: Array, m: int) -> np.ndarray:
    r"""Choose landmarks one by one, each the farthest in feature space from the span of the others.

    The first landmark s is the sample with the largest :math:`k(x, x)`. The others are the pivots
    of a Cholesky decomposition [1]_ of the kernel with the origin moved to s,
    :math:`k(x, x') - k(x, s) - k(s, x') + k(s, s)`. Memory is O(n m), and time is O(n m^2).

    References
    ----------
    .. [1] S. Fine, K. Scheinberg, "Efficient SVM training using low-rank kernel
       representations", JMLR 2, 2001.

    Examples
    --------
    >>> X = np.array([[1.0, 0.0], [3.0, 0.1], [0.0, 2.0]])
    >>> greedy_landmarks(KernelFunction("linear"), X, 2)
    array([1, 2])
    """

    def row(i: int) -> np.ndarray:
        if kernel.name == "precomputed":
            return to_host(X[i, :]).astype(np.float64)
        return to_host(kernel(X[i : i + 1, :], X))[0].astype(np.float64)

    diagonal = _diagonal(kernel, X)
    first = int(np.argmax(diagonal))
    shift = row(first)
    tol = len(diagonal) * eps(X) * max(np.abs(diagonal).max(), np.abs(shift).max())
    shift = shift - shift[first] / 2
    _, others = greedy_factor(lambda i: row(i) - shift - shift[i], diagonal - 2 * shift, m - 1, tol)
    return np.append(first, others)


def kmeans_landmarks(
    X: Array, m: int, random_state: Any, weights: np.ndarray | None = None
) -> Array:
    """Return the centres of m clusters of weighted samples, which are usually not samples [1]_.

    References
    ----------
    .. [1] K. Zhang, I. W. Tsang, J. T. Kwok, "Improved Nyström low-rank approximation and error
       analysis", ICML 2008.
    """
    from sklearn.cluster import KMeans  # slow to import

    random = random_generator(random_state)
    model = KMeans(m, n_init=1, max_iter=30, random_state=random)
    clusters = model.fit(to_host(X), sample_weight=weights)
    return asarray_like(clusters.cluster_centers_, X)


def _diagonal(kernel: KernelFunction, X: Array) -> np.ndarray:
    """Return k(x, x) for each row x."""
    xp, n = namespace(X), X.shape[0]
    if kernel.name == "precomputed":
        return to_host(xp.linalg.diagonal(X)).astype(np.float64)
    if kernel.name in ("rbf", "laplacian"):
        return np.ones(n)
    return np.array([float(kernel(X[i : i + 1, :], X[i : i + 1, :])[0, 0]) for i in range(n)])
