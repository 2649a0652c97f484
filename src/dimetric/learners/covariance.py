"""Mahalanobis distance of the sample covariance."""

from numbers import Real
from typing import Any, ClassVar

import numpy as np

from dimetric._arrays.namespaces import Array, asarray_like, namespace
from dimetric._arrays.validation import rescale_for_squares
from dimetric._compat import Interval, Progress
from dimetric.learners._linear import LinearMetric
from dimetric.linalg.scatter import Moments, rounding_bounds
from dimetric.linalg.spectral import fixed_signs, whitening
from dimetric.supervision.labels import Supervision


class Covariance(LinearMetric):
    r"""Mahalanobis distance: M is the inverse of the sample covariance.

    .. math:: M = \left(\Sigma + reg\, \frac{\mathrm{tr}(\Sigma)}{d} I\right)^{-1}, \quad
              \Sigma = \frac{1}{n - 1} \sum_i (x_i - \mu)(x_i - \mu)^T

    It uses no labels. Besides the Euclidean distance, it is the usual baseline for learned
    distances [1]_. The map L whitens: the covariance of the mapped samples is the identity (if
    `reg` is 0). If :math:`\Sigma` is singular (constant or repeated features, fewer samples than
    features), M is its pseudo-inverse, and the number of rows of L is the rank of :math:`\Sigma`.
    Without `reg`, the distance does not depend on the units of the features.

    Parameters
    ----------
    reg : float, default=0.0
        Ridge added to :math:`\Sigma`, relative to the mean variance. A positive value gives M full
        rank.

    Attributes
    ----------
    components_ : array of shape (rank, n_features)
        The map L.
    offset_ : array of shape (n_features,)
        Zeros.
    n_features_in_ : int
        Number of features. If X has feature names, they are in ``feature_names_in_``.

    References
    ----------
    .. [1] P. C. Mahalanobis, "On the generalised distance in statistics", Proceedings of the
       National Institute of Sciences of India 2, 1936.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X = load_iris().data
    >>> np.allclose(Covariance().fit(X).metric(), np.linalg.inv(np.cov(X.T)))
    True
    """

    _supervision_kinds: ClassVar[tuple[str, ...]] = ()
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "reg": [Interval(Real, 0, None, closed="left")],
    }

    def __init__(self, *, reg: float = 0.0) -> None:
        self.reg = reg

    def _fit(self, X: Array, supervision: Supervision | None, progress: Progress) -> dict[str, Any]:
        X, factor = rescale_for_squares(X)
        n, d = X.shape
        S, is_root = _covariance(X, root=n <= d), n <= d
        T, reliable = self._whitening(S, X, is_root)
        if not reliable:
            S, is_root = _covariance(X, root=True), True
            T, _ = self._whitening(S, X, is_root)
        if T.shape[0] == 0:
            raise ValueError("All samples are identical, so their covariance has no inverse.")
        T = _projected_onto_range(T, S.T @ (S @ T.T) if is_root else S @ T.T)
        self.components_ = asarray_like(fixed_signs(T) * factor, X)
        self.offset_ = asarray_like(np.zeros(d), X)
        return {"n_components": T.shape[0], "reg": float(self.reg)}

    def _whitening(self, S: Array, X: Array, is_root: bool) -> tuple[Array, bool]:
        xp = namespace(S)
        trace = xp.sum(S * S) if is_root else xp.linalg.trace(S)
        ridge = self.reg / self.n_features_in_ * float(trace)
        return whitening(S, is_root=is_root, ridge=ridge, rounding=rounding_bounds(X))


def _covariance(X: Array, *, root: bool) -> Array:
    """Return the covariance of the samples, or a matrix R with R^T R = covariance."""
    denominator = X.shape[0] - 1
    spread = Moments.of_all(X, root=root).without_rounding_noise().spread
    return spread / (denominator**0.5 if root else denominator)


def _projected_onto_range(T: Array, spanning: Array) -> Array:
    """Project the rows of the whitening T onto the range of the covariance.

    The projection does not change distances between samples, but makes M the pseudo-inverse. It
    is skipped if only constant features make the covariance singular: T is zero there, and the
    projection would mix features with very different units.
    """
    xp = namespace(T)
    varying = int(xp.sum(xp.astype(xp.any(T != 0, axis=0), xp.int64)))
    if T.shape[0] == varying:
        return T
    Q = xp.linalg.qr(spanning, mode="reduced").Q
    return (T @ Q) @ Q.T
