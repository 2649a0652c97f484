"""Principal axes of samples, computed from their moments or by an iterative SVD."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy import sparse
from scipy.linalg import eigh

from dimetric._arrays.blas_limit import one_blas_thread
from dimetric._arrays.namespaces import Array, asarray_like, eps, namespace
from dimetric._arrays.validation import squares_are_in_range
from dimetric.linalg.scatter import Moments
from dimetric.linalg.single_scatter import has_accurate_variances, is_accurate, single_scatter
from dimetric.linalg.spectral import fixed_signs, top_eigenvectors, top_singular


@dataclass(frozen=True)
class PrincipalAxes:
    """Singular values and right singular vectors of the centred samples."""

    n: float  # number of samples, or the sum of their weights
    mean: Array
    total: Array  # trace of the scatter matrix
    s: Array  # singular values, descending: those of the rows of V, or all of them
    V: Array  # right singular vectors, as rows

    def rescaled(self, factor: float) -> "PrincipalAxes":
        """Return the axes of the samples multiplied by `factor`."""
        mean, total, s = self.mean * factor, self.total * factor**2, self.s * factor
        return PrincipalAxes(self.n, mean, total, s, self.V)

    def lost_digits(self, X: Array) -> bool:
        """Return whether the smallest variance lost more than half of its digits to rounding.

        Squaring X causes this loss if the variances differ by many orders of magnitude.
        """
        s = self.s
        return bool(s[-1] ** 2 < max(eps(s), eps(X) ** 2) ** 0.5 * s[0] ** 2)


def axes_from_moments(moments: Moments, k: int) -> PrincipalAxes:
    """Return the first k principal axes from a scatter matrix, or from a root of it."""
    xp = namespace(moments.means)
    if moments.is_root:
        s, V = top_singular(moments.spread, min(moments.spread.shape))
        V = V[:k, :]
        total = xp.sum(moments.spread**2)
    else:
        values, V = top_eigenvectors(moments.spread, k)
        s = xp.sqrt(xp.clip(values, 0))
        total = xp.linalg.trace(moments.spread)
    return PrincipalAxes(_int_if_whole(moments.n_samples), moments.mean, total, s, V)


def axes_in_single_precision(X: np.ndarray, k: int) -> PrincipalAxes | None:
    """Return the first k principal axes from products in single precision.

    Return None if they could lose digits, if X is not in single precision, or if its squares need
    rescaling (:func:`~dimetric._arrays.validation.rescale_for_squares`). The scatter matrix shows
    whether they do, so X is not read again for this test.
    """
    if not is_accurate(X, k):
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        moments = single_scatter(X)
        S, d = moments.spread, X.shape[1]
        total = float(np.trace(S) + len(X) * moments.mean @ moments.mean)
    if not squares_are_in_range(total, X):
        return None
    if 4 * k < d:
        # Threads of BLAS would wait in a busy loop, and slow down the next fit.
        with one_blas_thread():
            values, V = eigh(S, subset_by_index=(d - k, d - 1), check_finite=False)
        values, V = values[::-1], fixed_signs(V[:, ::-1].T)
    else:
        values, V = top_eigenvectors(S, k)
    if not has_accurate_variances(values):
        return None
    return PrincipalAxes(len(X), moments.mean, np.trace(S), np.sqrt(values), V)


def axes_by_iteration(
    X: Array,
    k: int,
    svd: Callable[..., tuple[Array, Array]],
    weights: np.ndarray | None = None,
) -> PrincipalAxes:
    """Return the first k principal axes from ``svd(X, mean, k)``.

    If X is constant, `svd` is not called, and the first k unit vectors are returned. With weights,
    `svd` gets their square roots as the keyword argument ``row_factors``.
    """
    n, d = X.shape
    if weights is None:
        mean, total = _mean_and_total(X)
    else:
        n = _int_if_whole(float(np.sum(weights)))
        mean, total = _weighted_mean_and_total(X, weights)
        svd = partial(svd, row_factors=asarray_like(np.sqrt(weights), mean))
    constant = float(total) <= n * (8 * eps(mean)) ** 2 * float(mean @ mean)  # up to rounding
    if constant:
        V = namespace(mean).eye(k, d, dtype=mean.dtype, device=mean.device)
        return PrincipalAxes(n, mean, 0 * total, 0 * V[:, 0], V)
    return PrincipalAxes(n, mean, total, *svd(X, mean, k))


def _int_if_whole(n: float) -> float:
    return int(n) if float(n).is_integer() else n


def _weighted_mean_and_total(X: Array, weights: np.ndarray) -> tuple[Array, Array]:
    """Return the weighted mean of the samples and the trace of their weighted scatter."""
    xp, n = namespace(X), float(np.sum(weights))
    if sparse.issparse(X):
        mean = (weights @ X.astype(np.float64)) / n
        total = np.sum(weights @ X.multiply(X).astype(np.float64)) - n * mean @ mean
        return mean.astype(X.dtype), total
    w = asarray_like(weights, X, dtype=xp.float64)
    mean = xp.astype(w @ xp.astype(X, xp.float64) / n, X.dtype)
    return mean, xp.sum(w[:, None] * xp.astype(X - mean, xp.float64) ** 2)


def _mean_and_total(X: Array) -> tuple[Array, Array]:
    """Return the mean of the samples, summed in float64, and the trace of their scatter."""
    xp = namespace(X)
    n = X.shape[0]
    if sparse.issparse(X):
        mean = np.asarray(X.sum(axis=0, dtype=np.float64)).ravel() / n
        total = np.sum(X.multiply(X), dtype=np.float64) - n * mean @ mean
        return mean.astype(X.dtype), total
    mean = xp.astype(xp.sum(X, axis=0, dtype=xp.float64) / n, X.dtype)
    return mean, xp.sum((X - mean) ** 2, dtype=xp.float64)
