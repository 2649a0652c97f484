r"""Coordinates of samples in the feature space of a kernel, and coefficients of maps of them.

Whatever a linear learner finds in feature space lies in the span of the samples (the representer
theorem [1]_). Coordinates of that span make it an ordinary linear problem: with
:math:`J K J = F F^T`, :math:`J = I - \frac1n 1 1^T`, the rows of F have the inner products that the
centred samples have in feature space. A map L of these coordinates is a map
:math:`x \mapsto A\, k(S, x)` of samples, where S are the reference samples of the kernel.

References
----------
.. [1] B. Schölkopf, R. Herbrich, A. J. Smola, "A generalized representer theorem", COLT 2001.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from numbers import Integral

import numpy as np

from dimetric._arrays.blocks import row_blocks
from dimetric._arrays.namespaces import Array, asarray_like, eps, namespace, to_host
from dimetric._arrays.threads import one_blas_thread
from dimetric.kernels._factor import (
    ONE_POINT,
    Lift,
    factor,
    noise_of,
    warn_if_indefinite,
)
from dimetric.kernels._function import BLOCK, KernelFunction
from dimetric.linalg.classical_scaling import DENSE_SAMPLES, centred_product
from dimetric.linalg.krylov import largest_eigenvectors
from dimetric.linalg.principal_axes import axes_from_moments
from dimetric.linalg.reductions import tree_reduce
from dimetric.linalg.scatter import Moments
from dimetric.linalg.spectral import fixed_signs
from dimetric.linalg.symmetric import PackedSymmetric, SymmetricProduct

ONE_LANDMARK = (
    "To this kernel all landmarks are the same point: raise n_landmarks or set landmarks='greedy'. "
    "If all samples are the same point too, choose another kernel or gamma, or scale X."
)


@dataclass(frozen=True)
class Space:
    """Centred coordinates of the n samples of a fit, from the kernel with m reference samples.

    Attributes
    ----------
    rank : int
        Number of coordinates.
    lift : callable
        Takes a map (k, rank) of the coordinates and returns its coefficients (k, m), on the host.
    mean : ndarray of shape (m,)
        Mean of the kernel over the samples of the fit.
    scores : callable
        Returns the coordinates, (n, rank), in float64, in the namespace of the samples.
    total : float
        Sum of all eigenvalues of the centred kernel.
    values : ndarray of shape (rank,) or None
        The largest eigenvalues, descending, if the coordinates are the principal ones.
    """

    rank: int
    lift: Lift
    mean: np.ndarray
    scores: Callable[[], Array]
    total: float
    values: np.ndarray | None = None


def exact_space(K: Array, n_components: float | None, *, definite: bool) -> Space:
    """Return coordinates of all samples whose inner products are those of the centred K.

    Parameters
    ----------
    K : array of shape (n, n)
        Symmetric. It is not changed.
    n_components : int, float in (0, 1) or None
        Largest number of coordinates, share of the variance, or all, as in
        :class:`~dimetric.kernels.Kernel`.
    definite : bool
        Whether K is known to have no negative eigenvalues.
    """
    most = 2 * int(n_components) if isinstance(n_components, Integral) else None
    found = factor(to_host(K), definite=definite, most=most)
    F = found.F
    columns = np.sum(F * F, axis=0)
    rank, total, V = F.shape[1], float(np.sum(columns)), None
    if isinstance(n_components, Integral) and n_components < rank:
        F = F[:, :most]
        _, V = _principal(Moments.of_all(F, root=False), int(n_components), noise_of(K))
        F, rank = F @ V.T, int(n_components)
    elif n_components is not None and not isinstance(n_components, Integral):
        rank = int(np.argmax(np.cumsum(columns) >= n_components * total)) + 1
        F = F[:, :rank]
    return Space(
        rank=rank,
        lift=found.lift if V is None else lambda L: found.lift(L @ V),
        mean=_means(K),
        scores=lambda: asarray_like(F, K, dtype=_double(K)),
        total=total,
    )


def are_few(n_components: float | None, n: int) -> bool:
    """Tell whether to find the principal coordinates by products with K alone."""
    return isinstance(n_components, Integral) and n > DENSE_SAMPLES and 8 * n_components <= n


def principal_space(
    K: Array | PackedSymmetric, n_components: float | None, *, definite: bool
) -> Space:
    """Return principal coordinates of all samples; the parameters are those of :func:`exact_space`.

    A few coordinates of many samples take only products with K, which is neither centred nor
    copied, and may be a packed symmetric matrix.
    """
    if isinstance(K, PackedSymmetric) or are_few(n_components, K.shape[0]):
        return _space_by_products(K, int(n_components or 0), definite)
    found = factor(to_host(K), definite=definite)
    F = found.F
    values, V = _principal(Moments.of_all(F, root=False), n_components, noise_of(K))
    scores = V @ F.T
    signed = fixed_signs(scores)
    V = np.where(np.any(signed != scores, axis=1, keepdims=True), -V, V)
    return Space(
        rank=len(V),
        lift=lambda L: found.lift(L @ V),
        mean=_means(K),
        scores=lambda: asarray_like(signed.T, K, dtype=_double(K)),
        total=float(np.sum(F * F)),
        values=values,
    )


def landmark_space(kernel: KernelFunction, X: Array, S: Array, n_components: float | None) -> Space:
    """Return principal coordinates in the span of landmarks S instead of all samples.

    The samples are read in blocks, so that memory is O(m^2) for m landmarks [1]_.

    References
    ----------
    .. [1] C. K. I. Williams, M. Seeger, "Using the Nyström method to speed up kernel machines",
       NeurIPS 2000.
    """
    xp, n, m = namespace(X), X.shape[0], S.shape[0]
    W = kernel.gram(S)
    found = factor(to_host(W), definite=kernel.is_definite, one_point=ONE_LANDMARK)
    B = asarray_like(found.lift(np.eye(found.F.shape[1])).T, X, dtype=xp.float64)

    def blocks() -> Iterator[Array]:
        for rows in row_blocks(n, max(1, BLOCK // m)):
            yield xp.astype(kernel(X[rows, :], S), xp.float64, copy=False)

    mean = tree_reduce(lambda K, _: xp.sum(K, axis=0), blocks()) / n
    moments = tree_reduce(lambda K, _: Moments.scatter_of(to_host((K - mean) @ B)), blocks())
    values, V = _principal(moments, n_components, n / m * noise_of(W))
    axes = asarray_like(V.T, X, dtype=xp.float64)
    return Space(
        rank=len(V),
        lift=lambda L: found.lift(L @ V),
        mean=to_host(mean),
        scores=lambda: xp.concat([(K - mean) @ B @ axes for K in blocks()]),
        total=float(np.trace(moments.spread)),
        values=values,
    )


def _space_by_products(K: Array | PackedSymmetric, k: int, definite: bool) -> Space:
    """Return the k principal coordinates, by products with K alone."""
    n, values_of_K = K.shape[0], K.tiles if isinstance(K, PackedSymmetric) else K
    with one_blas_thread():  # beside the products, which have threads of their own, work is small
        tol = max(1e-9, eps(values_of_K) / 100)
        noise = noise_of(K)
        found = largest_eigenvectors(centred_product(K), n, k, tol=tol, noise=noise)
        mean, largest = _means(K), float(found.values[0])
    if not definite:  # Ritz values are never below the smallest eigenvalue: no false alarm
        warn_if_indefinite(found.smallest, largest, noise)
    if largest <= noise:
        raise ValueError(ONE_POINT)
    values = np.where(found.values > noise, found.values, 0.0)
    inverse = np.where(values > 0, 1 / np.sqrt(np.where(values > 0, values, 1.0)), 0.0)
    V = found.V - found.V.mean(axis=1, keepdims=True)  # the mean is a rounding error
    return Space(
        rank=k,
        lift=lambda L: (L * inverse) @ V,
        mean=mean,
        scores=lambda: asarray_like(V.T * np.sqrt(values), values_of_K, dtype=_double(values_of_K)),
        total=max(_trace(K) - float(np.sum(mean)), float(np.sum(values))),
        values=values,
    )


def _principal(
    moments: Moments, n_components: float | None, noise: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return eigenvalues and axes; those asked for beyond the rank are 0."""
    p = moments.spread.shape[0]
    axes = axes_from_moments(moments, p)
    values = axes.s**2
    rank = int(np.sum(values > max(noise, p * 2.0**-52 * values[0])))
    k = rank
    if isinstance(n_components, Integral):
        k = int(n_components)
    elif n_components is not None:
        reached = np.cumsum(values[:rank]) >= n_components * np.trace(moments.spread)
        k = int(np.argmax(reached)) + 1 if reached.any() else rank
    kept = min(k, rank)
    return np.pad(values[:kept], (0, k - kept)), np.pad(axes.V[:kept], [(0, k - kept), (0, 0)])


def _trace(K: Array | PackedSymmetric) -> float:
    if isinstance(K, PackedSymmetric):
        return K.trace
    return float(np.sum(to_host(namespace(K).linalg.diagonal(K)), dtype=np.float64))


def _means(K: Array | PackedSymmetric) -> np.ndarray:
    """Return the mean of each row, on the host."""
    if isinstance(K, PackedSymmetric):
        return SymmetricProduct(K.n, K.tile)(np.ones((K.n, 1)))[:, 0] / K.n
    xp, n = namespace(K), K.shape[0]
    blocks = row_blocks(n, max(1, BLOCK // n))
    return np.concatenate([to_host(xp.sum(K[b, :], axis=1, dtype=xp.float64)) / n for b in blocks])


def _double(K: Array) -> object:
    return namespace(K).float64
