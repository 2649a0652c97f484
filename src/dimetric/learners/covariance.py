"""Mahalanobis distance of the sample covariance."""

from functools import partial
from numbers import Real
from time import perf_counter
from typing import Any, ClassVar, Self

import numpy as np

from dimetric._arrays.namespaces import Array, asarray_like, eps, namespace
from dimetric._arrays.validation import rescale_for_squares
from dimetric._compat import Interval, Progress, fit_method
from dimetric.blocks.source import Source
from dimetric.learners._block_statistics import statistics_of
from dimetric.learners._linear import LinearMetric
from dimetric.learners._partial_fit import check_sum_of_weights, keep, with_block
from dimetric.linalg.scatter import ROUNDING_FACTOR, Moments, rounding_bounds
from dimetric.linalg.spectral import fixed_signs, whitening
from dimetric.supervision.labels import Supervision, weights_of


class Covariance(LinearMetric):
    r"""Mahalanobis distance: M is the inverse of the sample covariance.

    .. math:: M = \left(\Sigma + reg\, \frac{\mathrm{tr}(\Sigma)}{d} I\right)^{-1}, \quad
              \Sigma = \frac{1}{n - 1} \sum_i w_i (x_i - \mu)(x_i - \mu)^T

    It uses no labels. Besides the Euclidean distance, it is the usual baseline for learned
    distances [1]_. The map L whitens: the covariance of the mapped samples is the identity (if
    `reg` is 0). If :math:`\Sigma` is singular (constant or repeated features, fewer samples than
    features), M is its pseudo-inverse, and the number of rows of L is the rank of :math:`\Sigma`.
    Without `reg`, the distance does not depend on the units of the features. The weights
    :math:`w_i` are the `sample_weight` of :meth:`fit`, by default 1. A sample of weight 2 counts as
    two equal samples, and n is the sum of the weights. The mean :math:`\mu` is weighted, too.

    Parameters
    ----------
    reg : float, default=0.0
        Ridge added to :math:`\Sigma`, relative to the mean variance. A positive value gives M full
        rank.
    identity_mix : float in [0, 1] or None, default=None
        Weight a of the identity in the metric, :math:`(1 - a) M + a\, \mathrm{tr}(M) / d\, I`.
        None stands for 0. The map then has n_features rows. "auto" would need labels.

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
    _accepts_weights: ClassVar[bool] = True
    _learns_from_blocks: ClassVar[bool] = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "reg": [Interval(Real, 0, None, closed="left")],
        "identity_mix": [Interval(Real, 0, 1, closed="both"), None],
    }

    def __init__(self, *, reg: float = 0.0, identity_mix: float | None = None) -> None:
        self.reg = reg
        self.identity_mix = identity_mix

    def _fit(self, X: Array, supervision: Supervision | None, progress: Progress) -> dict[str, Any]:
        X, factor = rescale_for_squares(X)
        weights, rounding = weights_of(supervision), rounding_bounds(X)
        moments = Moments.of_all(X, weights=weights, root=X.shape[0] <= X.shape[1])
        S, T, reliable = self._whitened(moments, rounding)
        if not reliable:
            moments = Moments.of_all(X, weights=weights, root=True)
            S, T, _ = self._whitened(moments, rounding)
        self._moments: Moments | None = None  # discard the blocks of partial_fit
        self._rounding: Array | None = None
        return self._set_fitted_attributes(S, T * factor, X, moments.is_root)

    def _fit_blocks(self, source: Source, progress: Progress) -> dict[str, Any]:
        empty = np.empty((0, source.n_features), source.dtype)
        read = partial(statistics_of, source, min_samples=self._min_samples)
        total = read(root=not source.can_repeat)
        rounding = ROUNDING_FACTOR * eps(empty) * total.largest.astype(np.float64)
        S, T, reliable = self._whitened(total.moments, rounding)
        if not total.moments.is_root and (not reliable or total.n_rows <= source.n_features):
            total = read(root=True)
            S, T, _ = self._whitened(total.moments, rounding)
        self._moments = self._rounding = None
        return self._set_fitted_attributes(S, T, empty, total.moments.is_root)

    @fit_method
    def partial_fit(self, X: Array, y: Array | None = None, *, sample_weight: Any = None) -> Self:
        """Update the map with another block of samples.

        The result is the map of all blocks seen so far. Blocks may have any number of rows. The
        learner is fitted once it has seen two different samples. After :meth:`fit`, the first block
        starts from scratch. The method needs O(n_features^2) memory.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            A block of samples.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples, as in :meth:`fit`.

        Returns
        -------
        self : object
            The learner, fitted to all blocks seen so far.
        """
        started = perf_counter()
        X, moments = with_block(self, X, sample_weight)
        keep(self, moments)
        rounding, seen = rounding_bounds(X), getattr(self, "_rounding", None)
        if seen is not None:
            rounding = namespace(seen).maximum(seen, asarray_like(rounding, seen))
        self._rounding = rounding
        if moments.n_samples > 1:
            S, T, _ = self._whitened(moments, rounding)
            if T.shape[0] > 0:
                metadata = self._set_fitted_attributes(S, T, X, is_root=True)
                metadata |= self._mix_with_identity(self._given_mix())
                self._metadata = metadata | {"time": perf_counter() - started}
        return self

    def _whitened(self, moments: Moments, rounding: Array) -> tuple[Array, Array, bool]:
        """Return the covariance or a root of it, its whitening, and whether this is accurate."""
        xp, is_root = namespace(moments.means), moments.is_root
        check_sum_of_weights(moments.n_samples)
        denominator = moments.n_samples - 1
        spread = moments.without_rounding_noise().spread
        S = spread / (denominator**0.5 if is_root else denominator)
        trace = xp.sum(S * S) if is_root else xp.linalg.trace(S)
        ridge = self.reg / self.n_features_in_ * float(trace)
        return S, *whitening(S, is_root=is_root, ridge=ridge, rounding=rounding)

    def _set_fitted_attributes(self, S: Array, T: Array, X: Array, is_root: bool) -> dict[str, Any]:
        """Set the fitted attributes in the dtype of X, and return the metadata."""
        if T.shape[0] == 0:
            raise ValueError("All samples are identical, so their covariance has no inverse.")
        T = _projected_onto_range(T, S.T @ (S @ T.T) if is_root else S @ T.T)
        self.components_ = asarray_like(fixed_signs(T), X)
        self.offset_ = asarray_like(np.zeros(X.shape[1]), X)
        return {"n_components": T.shape[0], "reg": float(self.reg)}


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
