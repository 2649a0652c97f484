"""Landmarks: the samples that stand for all in the Nystroem method."""

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from dimetric._arrays.namespaces import Array, eps, like, namespace, to_host
from dimetric.kernels.factor import ONE_POINT, greedy_factor
from dimetric.kernels.functions import Kernel
from dimetric.neighbors.landmarks import draw_landmarks

STRATEGIES = {"uniform", "greedy", "kmeans"}


def chosen_landmarks(
    strategy: str, kernel: Kernel, X: Array, m: int, random_state: Any
) -> np.ndarray:
    """Return the rows of m landmarks of X, ascending.

    Parameters
    ----------
    strategy : {"uniform", "greedy"}
        At random among samples that differ, or by :func:`greedy_landmarks`.
    kernel : Kernel
        What "greedy" looks at.
    X : array of shape (n, d)
        Samples, equal ones next to each other; a precomputed kernel holds its own values.
    m : int
        Number of landmarks, below n. Fewer are returned where fewer differ, or span all samples.
    random_state : int, RandomState or None
        Of "uniform".
    """
    if strategy == "greedy":
        chosen = greedy_landmarks(kernel, X, m)
    elif kernel.name == "precomputed":
        chosen = draw_landmarks(X.shape[0], m, random_state)
    else:
        points = to_host(X)
        distinct = np.unique(first_of_equals(points))
        m = min(m, len(distinct))
        chosen = distinct[draw_landmarks(len(distinct), m, random_state, points[distinct])]
    if len(chosen) == 1:  # there is no other
        raise ValueError(ONE_POINT)
    return np.sort(chosen)


def first_of_equals(X: np.ndarray) -> np.ndarray:
    """Return, for samples of which equal ones are neighbours, the first row that is equal."""
    new = np.append(True, np.any(X[1:] != X[:-1], axis=1))
    return np.maximum.accumulate(np.where(new, np.arange(len(X)), 0))


def greedy_landmarks(kernel: Kernel, X: Array, m: int) -> np.ndarray:
    r"""Return the rows of landmarks, each farthest in feature space from the span of those before.

    The first has the largest :math:`k(x, x)`. The others are the pivots of a Cholesky decomposition
    [1]_ of the kernel that has its origin there: :math:`k(x, x') - k(x, s) - k(s, x') + k(s, s)`.
    Takes O(n m) memory and O(n m^2) time.

    References
    ----------
    .. [1] S. Fine, K. Scheinberg, "Efficient SVM training using low-rank kernel
       representations", JMLR 2, 2001.

    Examples
    --------
    >>> greedy_landmarks(Kernel("linear"), np.array([[1.0, 0.0], [3.0, 0.1], [0.0, 2.0]]), 2)
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


def kmeans_landmarks(X: Array, m: int, random_state: Any) -> Array:
    """Return the centres of m clusters, which need not be samples [1]_.

    References
    ----------
    .. [1] K. Zhang, I. W. Tsang, J. T. Kwok, "Improved Nyström low-rank approximation and error
       analysis", ICML 2008.
    """
    from sklearn.cluster import KMeans  # seldom used, and not cheap to import

    random = check_random_state(random_state)
    found = KMeans(m, n_init=1, max_iter=30, random_state=random).fit(to_host(X))
    return like(found.cluster_centers_, X)


def _diagonal(kernel: Kernel, X: Array) -> np.ndarray:
    xp, n = namespace(X), X.shape[0]
    if kernel.name == "precomputed":
        return to_host(xp.linalg.diagonal(X)).astype(np.float64)
    if kernel.name in ("rbf", "laplacian"):
        return np.ones(n)
    return np.array([float(kernel(X[i : i + 1, :], X[i : i + 1, :])[0, 0]) for i in range(n)])
