"""The Mahalanobis distance of the samples' own covariance."""

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
    r"""The Mahalanobis distance of the samples' covariance, under which they spread alike.

    .. math:: M = \left(\Sigma + reg\, \frac{\mathrm{tr}(\Sigma)}{d} I\right)^{-1}, \quad
              \Sigma = \frac{1}{n - 1} \sum_i (x_i - \mu)(x_i - \mu)^T

    It uses no labels, and beside Euclidean is the distance that a learned one has to beat [1]_.
    The map L whitens: the mapped samples have the identity as covariance (if `reg` is 0). Where
    :math:`\Sigma` is singular (constant or repeated features, fewer samples than features), M is
    its pseudo-inverse, and L has as many rows as the samples vary in directions. Neither the
    units nor the origin of the features matter.

    Parameters
    ----------
    reg : float, default=0.0
        Ridge added to :math:`\Sigma`, relative to the mean variance. If positive, M has full rank.

    Attributes
    ----------
    components_ : array of shape (rank, n_features)
        The map L.
    offset_ : array of shape (n_features,)
        0.
    n_features_in_ : int
        Number of features; ``feature_names_in_`` holds their names where X has any.

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
            raise ValueError("All samples are the same point: there is no covariance to invert.")
        T = _on_range(T, S.T @ (S @ T.T) if is_root else S @ T.T)
        self.components_ = asarray_like(fixed_signs(T) * factor, X)
        self.offset_ = asarray_like(np.zeros(d), X)
        return {"n_components": T.shape[0], "reg": float(self.reg)}

    def _whitening(self, S: Array, X: Array, is_root: bool) -> tuple[Array, bool]:
        xp = namespace(S)
        trace = xp.sum(S * S) if is_root else xp.linalg.trace(S)
        ridge = self.reg / X.shape[1] * float(trace)
        return whitening(S, is_root=is_root, ridge=ridge, rounding=rounding_bounds(X))


def _covariance(X: Array, *, root: bool) -> Array:
    """Return the covariance of the samples, or a root of it."""
    denominator = X.shape[0] - 1
    spread = Moments.of_all(X, root=root).without_rounding_noise().spread
    return spread / (denominator**0.5 if root else denominator)


def _on_range(T: Array, spanning: Array) -> Array:
    """Return the whitening without its part outside the range of the covariance.

    Samples do not see that part, but only without it M is the pseudo-inverse. Constant features
    have none, and are no reason to mix the others, which may come in very different units.
    """
    xp = namespace(T)
    varying = int(xp.sum(xp.astype(xp.any(T != 0, axis=0), xp.int64)))
    if T.shape[0] == varying:
        return T
    Q = xp.linalg.qr(spanning, mode="reduced").Q
    return (T @ Q) @ Q.T
