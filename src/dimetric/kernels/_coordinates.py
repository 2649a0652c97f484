r"""Coordinates of samples in the feature space of a kernel, and coefficients of their maps.

The solution of a linear learner in feature space lies in the span of the samples (the representer
theorem [1]_). With coordinates of this span, learning becomes an ordinary linear problem. Let
:math:`J = I - \frac1n 1 1^T` and :math:`J K J = F F^T`. The rows of F have the same inner products
as the centred samples in feature space. A map L of these coordinates corresponds to a map
:math:`x \mapsto A\, (k(S, x) - o)` of samples, where S holds the reference samples and o is the
mean of k(S, x) over the training samples.

References
----------
.. [1] B. Schölkopf, R. Herbrich, A. J. Smola, "A generalized representer theorem", COLT 2001.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from numbers import Integral

import numpy as np

from dimetric._arrays.blas_limit import one_blas_thread
from dimetric._arrays.blocks import row_blocks
from dimetric._arrays.namespaces import Array, asarray_like, eps, namespace, to_host
from dimetric.kernels._factor import (
    SAMPLES_IDENTICAL,
    Lift,
    check_eigenvalues,
    eigenvalue_noise,
    factor,
)
from dimetric.kernels._function import BLOCK_ENTRIES, KernelFunction
from dimetric.linalg.classical_scaling import DENSE_SAMPLES, centred_product
from dimetric.linalg.krylov import largest_eigenvectors
from dimetric.linalg.principal_axes import axes_from_moments
from dimetric.linalg.reductions import tree_reduce
from dimetric.linalg.scatter import Moments
from dimetric.linalg.spectral import fixed_signs
from dimetric.linalg.symmetric import PackedSymmetric, SymmetricProduct

MIN_SAMPLES_PER_COORDINATE = 8  # with fewer, a factorisation is used instead of iterations
EIGENVECTOR_TOL = 1e-9  # tolerance of iterated eigenvectors in float64
PIVOTS_PER_COORDINATE = 2  # the span of k pivots contains k principal axes only approximately

LANDMARKS_IDENTICAL = (
    "All landmarks are identical under this kernel. Increase n_landmarks, or set "
    "landmarks='greedy'. If all samples are identical too, choose another kernel or gamma, or "
    "scale X."
)


@dataclass(frozen=True)
class Coordinates:
    """Centred coordinates of the n training samples, computed from m reference samples.

    Attributes
    ----------
    rank : int
        Number of coordinates.
    lift : callable
        Takes a map of the coordinates, of shape (k, rank), and returns its coefficients A, of shape
        (k, m), on the host.
    mean : ndarray of shape (m,)
        Mean of the kernel over the training samples.
    compute : callable
        Computes the coordinates, of shape (n, rank), as float64 in the namespace of the samples.
    eigenvalue_sum : float
        Sum of all eigenvalues of the centred kernel, or of its approximation if landmarks or a
        truncated factor are used.
    eigenvalues : ndarray of shape (rank,) or None
        The largest eigenvalues, descending. None if the coordinates are not principal coordinates.
    """

    rank: int
    lift: Lift
    mean: np.ndarray
    compute: Callable[[], Array]
    eigenvalue_sum: float
    eigenvalues: np.ndarray | None = None


def cholesky_coordinates(K: Array, n_components: float | None, *, definite: bool) -> Coordinates:
    """Return coordinates of all samples, computed from pivoted Cholesky factors of the centred K.

    Parameters
    ----------
    K : array of shape (n, n)
        Symmetric kernel matrix. It is not modified.
    n_components : int, float in (0, 1) or None
        Maximum number of coordinates, fraction of the variance, or None for all coordinates. See
        :class:`~dimetric.kernels.Kernel`.
    definite : bool
        Whether K is known to have no negative eigenvalues.
    """
    k = int(n_components) if isinstance(n_components, Integral) else None
    max_rank = None if k is None else PIVOTS_PER_COORDINATE * k
    factored = factor(to_host(K), definite=definite, max_rank=max_rank)
    F = factored.F
    squared_norms = np.sum(F * F, axis=0)  # of the columns
    rank, total, V = F.shape[1], float(np.sum(squared_norms)), None
    if k is not None and k < rank:
        F = F[:, :max_rank]
        _, V = _principal(Moments.of_all(F, root=False), k, eigenvalue_noise(K))
        F, rank = F @ V.T, k
    elif n_components is not None and k is None:
        rank = int(np.argmax(np.cumsum(squared_norms) >= n_components * total)) + 1
        F = F[:, :rank]
    return Coordinates(
        rank=rank,
        lift=factored.lift if V is None else lambda L: factored.lift(L @ V),
        mean=_row_means(K),
        compute=lambda: asarray_like(F, K, dtype=_float64(K)),
        eigenvalue_sum=total,
    )


def is_iterative(n_components: float | None, n: int) -> bool:
    """Return whether principal coordinates are computed iteratively, by products with K only.

    This is faster than a factorisation for a few coordinates of many samples.
    """
    if not isinstance(n_components, Integral):
        return False
    return n > DENSE_SAMPLES and n >= MIN_SAMPLES_PER_COORDINATE * n_components


def pca_coordinates(
    K: Array | PackedSymmetric, n_components: float | None, *, definite: bool
) -> Coordinates:
    """Return principal coordinates of all samples.

    See :func:`cholesky_coordinates` for the parameters. If :func:`is_iterative` is true, K is
    neither centred nor copied in memory, and may be a packed symmetric matrix.
    """
    if isinstance(K, PackedSymmetric) or is_iterative(n_components, K.shape[0]):
        return _coordinates_by_products(K, int(n_components or 0), definite)
    factored = factor(to_host(K), definite=definite)
    F = factored.F
    values, V = _principal(Moments.of_all(F, root=False), n_components, eigenvalue_noise(K))
    scores = V @ F.T
    signed = fixed_signs(scores)
    V = np.where(np.any(signed != scores, axis=1, keepdims=True), -V, V)
    return Coordinates(
        rank=len(V),
        lift=lambda L: factored.lift(L @ V),
        mean=_row_means(K),
        compute=lambda: asarray_like(signed.T, K, dtype=_float64(K)),
        eigenvalue_sum=float(np.sum(F * F)),
        eigenvalues=values,
    )


def landmark_coordinates(
    kernel: KernelFunction, X: Array, S: Array, n_components: float | None
) -> Coordinates:
    """Return principal coordinates in the span of the landmarks S instead of all samples [1]_.

    The samples are processed in blocks, so memory is O(m^2) for m landmarks.

    References
    ----------
    .. [1] C. K. I. Williams, M. Seeger, "Using the Nyström method to speed up kernel machines",
       NeurIPS 2000.
    """
    xp, n, m = namespace(X), X.shape[0], S.shape[0]
    W = kernel.gram(S)
    factored = factor(
        to_host(W), definite=kernel.is_definite, identical_message=LANDMARKS_IDENTICAL
    )
    B = asarray_like(factored.lift(np.eye(factored.F.shape[1])).T, X, dtype=xp.float64)

    def blocks() -> Iterator[Array]:
        for rows in row_blocks(n, max(1, BLOCK_ENTRIES // m)):
            yield xp.astype(kernel(X[rows, :], S), xp.float64, copy=False)

    mean = tree_reduce(lambda K, _: xp.sum(K, axis=0), blocks()) / n
    moments = tree_reduce(lambda K, _: Moments.scatter_of(to_host((K - mean) @ B)), blocks())
    values, V = _principal(moments, n_components, n / m * eigenvalue_noise(W))
    axes = asarray_like(V.T, X, dtype=xp.float64)
    return Coordinates(
        rank=len(V),
        lift=lambda L: factored.lift(L @ V),
        mean=to_host(mean),
        compute=lambda: xp.concat([(K - mean) @ B @ axes for K in blocks()]),
        eigenvalue_sum=float(np.trace(moments.spread)),
        eigenvalues=values,
    )


def _coordinates_by_products(K: Array | PackedSymmetric, k: int, definite: bool) -> Coordinates:
    """Return the first k principal coordinates, computed by products with K only."""
    n, entries = K.shape[0], K.tiles if isinstance(K, PackedSymmetric) else K
    with one_blas_thread():  # the products use their own threads, and the other work is small
        tol = max(EIGENVECTOR_TOL, eps(entries) / 100)
        noise = eigenvalue_noise(K)
        eigenpairs = largest_eigenvectors(centred_product(K), n, k, tol=tol, noise=noise)
        mean, largest = _row_means(K), float(eigenpairs.values[0])
    if not definite:  # a negative Ritz value implies a negative eigenvalue
        check_eigenvalues(eigenpairs.smallest, largest, noise)
    if largest <= noise:
        raise ValueError(SAMPLES_IDENTICAL)
    values = np.where(eigenpairs.values > noise, eigenpairs.values, 0.0)
    inverse_roots = np.where(values > 0, 1 / np.sqrt(np.where(values > 0, values, 1.0)), 0.0)
    # The mean of each row is 0 up to rounding. Subtracting it removes the rounding error.
    V = eigenpairs.V - eigenpairs.V.mean(axis=1, keepdims=True)
    return Coordinates(
        rank=k,
        lift=lambda L: (L * inverse_roots) @ V,
        mean=mean,
        compute=lambda: asarray_like(V.T * np.sqrt(values), entries, dtype=_float64(entries)),
        eigenvalue_sum=max(_trace(K) - float(np.sum(mean)), float(np.sum(values))),
        eigenvalues=values,
    )


def _principal(
    moments: Moments, n_components: float | None, noise: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return eigenvalues and principal axes, padded with zeros if more are requested than exist."""
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


def _row_means(K: Array | PackedSymmetric) -> np.ndarray:
    """Return the mean of each row, on the host."""
    if isinstance(K, PackedSymmetric):
        return SymmetricProduct(K.n, K.tile)(np.ones((K.n, 1)))[:, 0] / K.n
    xp, n = namespace(K), K.shape[0]
    blocks = row_blocks(n, max(1, BLOCK_ENTRIES // n))
    return np.concatenate([to_host(xp.sum(K[b, :], axis=1, dtype=xp.float64)) / n for b in blocks])


def _float64(K: Array) -> object:
    return namespace(K).float64
