"""What classical scaling starts from: principal axes, or dissimilarities to all or some samples."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from dimetric._arrays.namespaces import Array, like, namespace, to_host
from dimetric.learners.pca import PCA
from dimetric.linalg.spectral import fixed_signs
from dimetric.neighbors.landmarks import draw_landmarks
from dimetric.neighbors.metric_search import Metric, distances_between


@dataclass(frozen=True)
class Axes:
    """The principal axes of samples; along them lie the principal coordinates of their distances.

    Attributes
    ----------
    values : ndarray of shape (k,)
        Eigenvalues of the Gram matrix, descending.
    offset : array of shape (d,)
        Mean of the samples.
    L : array of shape (k, d)
        Axes, 0 where there are not as many as were asked for. Their signs are those of the
        coordinates, not of the axes.
    share : float
        Sum of `values`, as a share of the trace of the Gram matrix.
    """

    values: np.ndarray
    offset: Array
    L: Array
    share: float

    def place(self, X: Array) -> Array:
        """Return the coordinates of samples."""
        return (X - like(self.offset, X)) @ like(self.L, X).T


def principal_axes(X: Array, k: int) -> Axes:
    """Return the axes of the k largest principal coordinates of Euclidean distances.

    Examples
    --------
    >>> X = np.array([[0.0, 0.0], [0.0, 1.0], [0.0, 3.0]])
    >>> principal_axes(X, 1).place(X).round(6)
    array([[-1.333333],
           [-0.333333],
           [ 1.666667]])
    """
    n, d = X.shape
    there = min(k, n, d)
    solver = "auto" if d <= 1000 and n >= 10 * d else "full"
    if solver == "full" and min(n, d) > 1000 and there < min(n, d):
        solver = "arpack"
    pca = PCA(there, svd_solver=solver, random_state=0).fit(X)
    L, scores = to_host(pca.components_), to_host(pca.transform(X)).T
    flip = np.any(fixed_signs(scores) != scores, axis=1, keepdims=True)
    L = np.pad(np.where(flip, -L, L), [(0, k - there), (0, 0)])
    values = np.pad(to_host(pca.singular_values_).astype(np.float64) ** 2, (0, k - there))
    share = pca.metadata()["accumulated_eigenvalues"]
    return Axes(values, pca.offset_, like(L, X), share)


@dataclass(frozen=True)
class References:
    """The samples that others are compared with.

    Attributes
    ----------
    points : ndarray of shape (m, d) or None
        The samples; None if dissimilarities to them are given.
    rows : ndarray of shape (m,) or None
        Which of the samples of the fit they are; None for all.
    metric, metric_params
        As in :func:`sklearn.metrics.pairwise_distances`.
    constant : float
        Added to all dissimilarities but those of a sample to itself. A sample of which that is
        not known is the first one that it does not differ from.
    """

    points: np.ndarray | None
    rows: np.ndarray | None
    metric: Metric
    metric_params: dict[str, Any] | None = None
    constant: float = 0.0

    def dissimilarities(self, X: Array, *, fitted: bool = False) -> Array:
        """Return the dissimilarities of samples to these, of shape (n, m), where X is.

        They are the samples of the fit if `fitted`, in that order.
        """
        xp = namespace(X)
        if self.points is not None:
            metric, params = self.metric, self.metric_params
            D = distances_between(to_host(X), self.points, metric=metric, metric_params=params)
            D = like(D, X)
        elif bool(xp.any(X < 0)):
            raise ValueError("Dissimilarities must not be negative.")
        else:
            D = X if self.rows is None else xp.take(X, like(self.rows, X, dtype=xp.int64), axis=1)
        return D if self.constant == 0 else self._raised(D, fitted)

    def _raised(self, D: Array, fitted: bool) -> Array:
        """Return dissimilarities with the constant added."""
        xp = namespace(D)
        own = to_host(xp.argmin(D, axis=1))
        own = np.where(to_host(xp.min(D, axis=1)) == 0, own, -1)
        if fitted:
            own[slice(None) if self.rows is None else self.rows] = np.arange(D.shape[1])
        columns = np.arange(D.shape[1])
        itself = like(own[:, None] == columns, D, dtype=xp.bool)
        return xp.where(itself, 0.0, D + self.constant)


def references(
    X: Array,
    metric: Metric,
    metric_params: dict[str, Any] | None,
    n_landmarks: int | None,
    random_state: Any,
) -> References:
    """Return all samples, or landmarks drawn at random."""
    n = X.shape[0]
    points = None if metric == "precomputed" else to_host(X)
    rows = None
    if n_landmarks is not None and n_landmarks < n:
        rows = draw_landmarks(n, n_landmarks, random_state, points)
        points = None if points is None else points[rows]
    return References(points, rows, metric, metric_params)
