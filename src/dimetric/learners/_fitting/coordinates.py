"""Coordinates in which a map is learned."""

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from dimetric._arrays.namespaces import Array, asarray_like, eps, namespace, to_host
from dimetric.linalg.scatter import ROUNDING_FACTOR, rounding_bounds
from dimetric.objectives.objective import Ridge, ridge_penalty

N_SAMPLES_FOR_SCALE = 1000  # about this many samples determine the centre and the scale
# Exponent of the standard deviations in the scaling of the features, chosen by experiment. With 1,
# NCA overfits principal components of small variance. With 0, it stops at poor maps if the features
# have different units.
SCALING_EXPONENT = 0.75
# Larger deviations of a feature are clipped to this multiple of their 90 % quantile, so that
# outliers do not determine the scaling.
MAX_DEVIATION_IN_QUANTILES = 5.0
# Outliers dominate the variance of a feature if the variance without them is below this fraction.
MIN_FRACTION_OF_VARIANCE = 0.1


@dataclass(frozen=True)
class Coordinates:
    r"""Samples and an initial map in coordinates that make the problem easier to solve.

    .. math:: x' = u\, Q^T (x - c), \qquad L' = L Q / u

    Distances do not depend on the centre c, but rounding errors do. The centre is the median, which
    is robust to outliers. The scale u is a power of two that scales the samples to a size of about
    1, so that the solver's tolerance does not depend on the units of the features. With fewer
    samples than features, gradients stay in the span of the differences between samples. Q is a
    basis of that span, so the map has r < n columns instead of d. The part of the start outside of
    the span is kept, unless a ridge would drive it to zero.

    `mean_variance` is the mean variance of the features of :math:`u (x - c)`, or 1 if all features
    are constant. `variances` holds the variance of each of these features, without outliers if they
    dominate it. `deviations` holds robust standard deviations, which are 0 for features that are
    constant up to rounding. Weights of samples do not affect them.
    """

    samples: Array
    start: np.ndarray
    sample_scale: float
    basis: np.ndarray | None  # Q, of shape (d, r); None for the identity
    start_outside: np.ndarray  # the part of the start outside of the span
    keeps_outside: bool
    mean_variance: float
    variances: np.ndarray
    deviations: np.ndarray

    @classmethod
    def of(
        cls,
        X: Array,
        L0: np.ndarray,
        weights: np.ndarray | None = None,
        *,
        keep_outside: bool,
        rotate: bool = True,
    ) -> Self:
        """Choose coordinates for samples in canonical order, and transform the start L0.

        The weights of the samples affect only the variances. If `rotate` is False, Q is the
        identity. `keep_outside` says whether to keep the part of L0 outside of the span.
        """
        subset = to_host(X[subset_for_scale(X.shape[0]), :])
        centre, sample_scale = centre_and_scale(subset)
        bounds = to_host(rounding_bounds(X))
        rounding = sample_scale * float(np.max(bounds)) / ROUNDING_FACTOR
        deviations = sample_scale * _robust_deviations(subset - centre, bounds)
        X, L0 = (X - asarray_like(centre, X)) * sample_scale, L0 / sample_scale
        spread = _spread(_variances(X, weights), deviations)
        if X.shape[0] > X.shape[1] or not rotate:
            return cls(X, L0, sample_scale, None, np.zeros(0), keep_outside, *spread)
        Q = _span(X, rounding)
        basis = to_host(Q)
        A0 = L0 @ basis
        samples = namespace(X).astype(namespace(X).astype(X, Q.dtype) @ Q, X.dtype)
        outside = L0 - A0 @ basis.T
        return cls(samples, A0, sample_scale, basis, outside, keep_outside, *spread)

    @classmethod
    def of_statistics(
        cls,
        subset: np.ndarray,
        L0: np.ndarray,
        variances: np.ndarray,
        bounds: np.ndarray,
        *,
        keep_outside: bool,
    ) -> Self:
        """Choose coordinates for samples that are not in memory. Q is the identity.

        Parameters
        ----------
        subset : ndarray
            The samples :func:`subset_for_scale`. `samples` is then an empty array.
        L0 : ndarray of shape (k, d)
            The start.
        variances, bounds : ndarray of shape (d,)
            The variances of all samples, and the :func:`rounding_bounds`.
        keep_outside : bool
            As in :meth:`of`.
        """
        centre, scale = centre_and_scale(subset)
        deviations = scale * _robust_deviations(subset - centre, bounds)
        spread = _spread(scale**2 * variances, deviations)
        return cls(subset[:0], L0 / scale, scale, None, np.zeros(0), keep_outside, *spread)

    def ridge(self, weight: float, *, by_feature: bool) -> tuple[Ridge, float]:
        r"""Return the ridge of a penalty on maps, and the penalty of the dropped part of the start.

        The penalty is :math:`weight\, v |L|_F^2`, where v is the mean variance. If `by_feature`, it
        is :math:`weight \sum_j v_j |L_j|^2` with the variance and the column of each feature, so it
        does not depend on the units of single features. Outliers do not affect these variances.
        """
        if not by_feature or weight == 0:
            ridge = weight * self.mean_variance
            dropped = 0.0 if self.keeps_outside else float(np.sum(self.start_outside**2))
            return ridge, ridge * dropped
        V = weight * self.variances
        if self.basis is None:
            return np.diag(V), 0.0
        R = self.basis.T @ (V[:, None] * self.basis)
        whole = self.start @ self.basis.T + self.start_outside
        return R, float(np.sum(whole**2 @ V)) - ridge_penalty(self.start, R)

    def feature_scaling(self, *, same_unit: bool) -> np.ndarray:
        r"""Return a preconditioner T, with :math:`L' = A T`, for features of different units.

        .. math:: T_{jj} = s_j^{-3/4}\, \bar{s}^{-1/4}

        :math:`s_j` is the deviation of feature j, and :math:`\bar{s}` is the root mean square of
        all deviations. If all features have the `same_unit`, the exponents are 0 and -1. T is
        diagonal, and its diagonal is returned. If Q is not the identity, T is a triangular matrix,
        which acts on the span as this diagonal matrix does.
        """
        mean = float(np.mean(self.deviations**2)) ** 0.5 or 1.0
        if same_unit:
            return np.full(self.start.shape[1], 1 / mean)
        ratios = np.where(self.deviations > 0, self.deviations / mean, 1.0)
        T = ratios**-SCALING_EXPONENT / mean
        if self.basis is None:
            return T
        return np.asarray(np.linalg.qr(T[:, None] * self.basis, mode="r"))

    def with_start_times(self, factor: float) -> Self:
        """Return the same coordinates with the start multiplied by a factor."""
        outside = factor * self.start_outside
        return replace(self, start=factor * self.start, start_outside=outside)

    def map_of_samples(self, A: np.ndarray) -> np.ndarray:
        """Convert a map A of these coordinates into the map of X with the same distances."""
        if self.basis is not None:
            A = A @ self.basis.T
            if self.keeps_outside:
                A = A + self.start_outside
        return A * self.sample_scale


def subset_for_scale(n: int) -> slice:
    """Return which of n samples in canonical order determine the centre and the scale."""
    return slice(0, n, max(1, n // N_SAMPLES_FOR_SCALE))


def centre_and_scale(subset: np.ndarray) -> tuple[np.ndarray, float]:
    """Return the centre c of samples, and their scale u."""
    centre = np.median(subset, axis=0)
    sizes = np.mean((subset - centre) ** 2, axis=1, dtype=np.float64) ** 0.5
    size = float(np.median(sizes)) or float(np.mean(sizes))
    return centre, 2.0 ** -round(np.log2(size)) if size > 0 else 1.0


def _spread(variances: np.ndarray, deviations: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
    """Return the mean variance, the variances without outliers, and the deviations."""
    robust = np.where(deviations**2 < MIN_FRACTION_OF_VARIANCE * variances, deviations, np.inf)
    return float(np.mean(variances)) or 1.0, np.minimum(variances, robust**2), deviations


def _variances(X: Array, weights: np.ndarray | None) -> np.ndarray:
    """Return the variance of each feature."""
    xp = namespace(X)
    if weights is None:
        return to_host(xp.var(X, axis=0)).astype(np.float64)
    w = asarray_like(weights / np.sum(weights), X)
    return to_host(w @ (X - w @ X) ** 2).astype(np.float64)


def _robust_deviations(differences: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Return the standard deviation of each feature without outliers, or 0 if it is only noise.

    `differences` are those between the samples and their centre.
    """
    sizes = np.abs(differences)
    quantiles = np.quantile(sizes, 0.9, axis=0)
    limits = np.where(quantiles > 0, MAX_DEVIATION_IN_QUANTILES * quantiles, np.inf)
    deviations = np.mean(np.minimum(sizes, limits) ** 2, axis=0, dtype=np.float64) ** 0.5
    return np.where(deviations > noise, deviations, 0.0)


def _span(X: Array, rounding: float) -> Array:
    """Return an orthonormal basis (d, r) of the span of the differences between samples, r >= 1.

    Directions that contain only rounding errors are dropped, because a solver that rescales
    directions would amplify them. The rounding errors form a random n x d matrix, so its norm is
    about (sqrt(n) + sqrt(d)) times the error of an entry.
    """
    xp, (n, d) = namespace(X), X.shape
    X = xp.astype(X, xp.float64)
    Q, R = xp.linalg.qr((X - xp.mean(X, axis=0)).T, mode="reduced")
    U, singular_values, _ = xp.linalg.svd(R, full_matrices=False)
    noise = max(d * eps(X) * float(singular_values[0]), (n**0.5 + d**0.5) * rounding)
    rank = int(xp.sum(xp.astype(singular_values > noise, xp.int64)))
    return Q @ U[:, : max(1, rank)]
