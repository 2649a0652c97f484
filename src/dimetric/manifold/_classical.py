"""Input of classical scaling: principal axes, or dissimilarities to reference samples."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dimetric._arrays.namespaces import Array, asarray_like, namespace, take_rows, to_host
from dimetric.learners._pca_solver import MAX_COVARIANCE_FEATURES, covariance_is_fast
from dimetric.learners.pca import PCA
from dimetric.linalg.classical_scaling import (
    PrincipalCoordinates,
    additive_constant,
    principal_coordinates,
)
from dimetric.linalg.spectral import fixed_signs
from dimetric.neighbors.metric_search import Metric, distances_between


@dataclass(frozen=True)
class Axes:
    """Principal axes of samples.

    The coordinates along them are the principal coordinates of the Euclidean distances.

    Attributes
    ----------
    values : ndarray of shape (k,)
        Eigenvalues of the Gram matrix, descending.
    offset : array of shape (d,)
        Mean of the samples.
    L : array of shape (k, d)
        Axes, padded with rows of zeros if there are fewer than k. Along each axis, the
        coordinate of largest absolute value is positive.
    share : float
        Sum of `values` divided by the trace of the Gram matrix.
    """

    values: np.ndarray
    offset: Array
    L: Array
    share: float  # model files store the fields by name

    def place(self, X: Array) -> Array:
        """Return the coordinates of samples."""
        return (X - asarray_like(self.offset, X)) @ asarray_like(self.L, X).T


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
    n_axes = min(k, n, d)
    # PCA's "auto" would choose the approximate "randomized" solver for other shapes.
    solver = "auto" if covariance_is_fast(n, d) else "full"
    if solver == "full" and min(n, d) > MAX_COVARIANCE_FEATURES and n_axes < min(n, d):
        solver = "arpack"
    pca = PCA(n_axes, svd_solver=solver, random_state=0).fit(X)
    L, scores = to_host(pca.components_), to_host(pca.transform(X)).T
    flip = np.any(fixed_signs(scores) != scores, axis=1, keepdims=True)
    L = np.pad(np.where(flip, -L, L), [(0, k - n_axes), (0, 0)])
    values = np.pad(to_host(pca.singular_values_).astype(np.float64) ** 2, (0, k - n_axes))
    fraction = pca.metadata()["accumulated_eigenvalues"]
    return Axes(values, pca.offset_, asarray_like(L, X), fraction)


@dataclass(frozen=True)
class References:
    """Reference samples, to which the dissimilarities of all samples are computed.

    Attributes
    ----------
    points : ndarray of shape (m, d) or None
        The reference samples. None if dissimilarities are precomputed.
    rows : ndarray of shape (m,) or None
        Row indices of the references among the training samples. None if all samples are
        references.
    metric, metric_params
        As in :func:`sklearn.metrics.pairwise_distances`.
    constant : float
        Constant added to all dissimilarities except those of a sample to itself. A new sample with
        dissimilarity 0 to references is treated as the first of these references.
    """

    points: np.ndarray | None
    rows: np.ndarray | None
    metric: Metric
    metric_params: dict[str, Any] | None = None
    constant: float = 0.0

    def dissimilarities(self, X: Array, *, is_training: bool = False) -> Array:
        """Return the dissimilarities of samples to the references, of shape (n, m).

        The dissimilarities are in the array namespace and on the device of X. `is_training` says
        that X holds the training samples, which are checked already.
        """
        xp = namespace(X)
        if self.points is not None:
            metric, params = self.metric, self.metric_params
            D = distances_between(to_host(X), self.points, metric=metric, metric_params=params)
            D = asarray_like(D, X)
        elif not is_training and bool(xp.any(X < 0)):
            raise ValueError("Dissimilarities must not be negative.")
        else:
            D = (
                X
                if self.rows is None
                else xp.take(X, asarray_like(self.rows, X, dtype=xp.int64), axis=1)
            )
        return D if self.constant == 0 else self._with_constant(D, is_training)

    def rows_of(self, D: Array) -> Array:
        """Return the rows of the references in D, which has a row for each training sample."""
        return D if self.rows is None else take_rows(D, self.rows)

    def _with_constant(self, D: Array, is_training: bool) -> Array:
        """Return dissimilarities plus the constant, except those of a sample to itself."""
        xp = namespace(D)
        nearest = to_host(xp.argmin(D, axis=1))
        column_of_itself = np.where(to_host(xp.min(D, axis=1)) == 0, nearest, -1)
        if is_training:
            rows = slice(None) if self.rows is None else self.rows
            column_of_itself[rows] = np.arange(D.shape[1])
        columns = np.arange(D.shape[1])
        itself = asarray_like(column_of_itself[:, None] == columns, D, dtype=xp.bool)
        return xp.where(itself, 0.0, D + self.constant)


def scale_references(
    references: References, X: Array, k: int, *, additive: bool
) -> tuple[References, PrincipalCoordinates, Array]:
    """Apply classical scaling to the references, and place all samples among them.

    Parameters
    ----------
    references : References
        All samples, or landmarks.
    X : array of shape (n, d) or (n, n)
        Training samples, or their dissimilarities.
    k : int
        Number of coordinates.
    additive : bool
        Whether to add the smallest constant that makes the dissimilarities Euclidean.

    Returns
    -------
    references : References
        The references with this constant.
    model : PrincipalCoordinates
        Coordinates of the references.
    Z : array of shape (n, k)
        Coordinates of all samples.
    """
    D = references.dissimilarities(X, is_training=True)
    between_references = references.rows_of(D)
    if additive:
        references = replace(references, constant=additive_constant(to_host(between_references)))
        D = references.dissimilarities(X, is_training=True)
        between_references = references.rows_of(D)
    model = principal_coordinates(between_references, k)
    return references, model, model.coordinates if between_references is D else model.place(D)
