r"""Coordinates of samples in the feature space of a kernel, and coefficients of their maps.

The solution of a linear learner in feature space lies in the span of the samples (the representer
theorem [1]_). With coordinates of this span, learning becomes an ordinary linear problem. Let
:math:`J = I - 1 p^T` and :math:`J K J^T = F F^T`, where p holds the weights of the samples divided
by their sum. Without weights, :math:`p = \frac1n 1`. The rows of F have the same inner products
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

from dimetric._arrays.blocks import row_blocks
from dimetric._arrays.namespaces import Array, asarray_like, eps, namespace, to_host
from dimetric.kernels._eigenpairs import MAX_FULL_EIGH_SIZE, centred_eigenpairs, is_iterative
from dimetric.kernels._factor import (
    SAMPLES_IDENTICAL,
    Lift,
    check_eigenvalues,
    eigenvalue_noise,
    factor,
    row_means,
)
from dimetric.kernels._function import BLOCK_ENTRIES, KernelFunction
from dimetric.linalg.krylov import LargestEigenpairs
from dimetric.linalg.principal_axes import axes_from_moments
from dimetric.linalg.reductions import tree_reduce
from dimetric.linalg.scatter import Moments
from dimetric.linalg.spectral import fixed_signs
from dimetric.linalg.symmetric import PackedSymmetric

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
        Weighted mean of the kernel over the training samples.
    compute : callable
        Computes the coordinates, of shape (n, rank), as float64 in the namespace of the samples.
    eigenvalue_sum : float
        Sum of all eigenvalues of the weighted scatter in feature space, or of its approximation if
        landmarks or a truncated factor are used. Without weights, these are the eigenvalues of the
        centred kernel.
    eigenvalues : ndarray of shape (rank,) or None
        The largest eigenvalues, descending. None if the coordinates are not principal coordinates.
    """

    rank: int
    lift: Lift
    mean: np.ndarray
    compute: Callable[[], Array]
    eigenvalue_sum: float
    eigenvalues: np.ndarray | None = None


def cholesky_coordinates(
    K: Array,
    n_components: float | None,
    *,
    definite: bool,
    weights: np.ndarray | None = None,
) -> Coordinates:
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
    weights : ndarray of shape (n,), optional
        Weights of the samples. By default, all weights are 1.
    """
    k = int(n_components) if isinstance(n_components, Integral) else None
    max_rank = None if k is None else PIVOTS_PER_COORDINATE * k
    factored = factor(to_host(K), definite=definite, max_rank=max_rank, weights=weights)
    F = factored.F
    if definite and k is not None and k < F.shape[1] and len(F) <= PIVOTS_PER_COORDINATE * k:
        # The pivots span all samples. K has fewer than twice the rows of the scatter matrix of F.
        return _coordinates_of_eigenvectors(K, k, definite, weights)
    squared_norms = _squared_norms(F, weights)
    rank, total, V = F.shape[1], float(np.sum(squared_norms)), None
    if k is not None and k < rank:
        F = F[:, :max_rank]
        moments = Moments.of_all(F, weights=weights, root=False)
        _, V = principal_axes(moments, k, _noise(K, weights))
        F, rank = F @ V.T, k
    elif n_components is not None and k is None:
        rank = int(np.argmax(np.cumsum(squared_norms) >= n_components * total)) + 1
        F = F[:, :rank]
    return Coordinates(
        rank=rank,
        lift=factored.lift if V is None else lambda L: factored.lift(L @ V),
        mean=row_means(K, weights),
        compute=lambda: asarray_like(F, K, dtype=_float64(K)),
        eigenvalue_sum=total,
    )


def pca_coordinates(
    K: Array | PackedSymmetric,
    n_components: float | None,
    *,
    definite: bool,
    weights: np.ndarray | None = None,
) -> Coordinates:
    """Return principal coordinates of all samples.

    See :func:`cholesky_coordinates` for the parameters. If :func:`is_iterative` is true, K is
    neither centred nor copied in memory, and may be a packed symmetric matrix, if there are no
    weights. Otherwise, a factor of K separates its positive eigenvalues, unless K is known to have
    no others.
    """
    is_few = definite and isinstance(n_components, Integral)
    if is_few or isinstance(K, PackedSymmetric) or is_iterative(n_components, K.shape[0]):
        return _coordinates_of_eigenvectors(K, int(n_components or 0), definite, weights)
    factored = factor(to_host(K), definite=definite, weights=weights)
    F = factored.F
    n, rank = F.shape
    if definite and n_components is None and n <= MAX_FULL_EIGH_SIZE and 2 * rank > n:
        return _coordinates_of_eigenvectors(K, None, definite, weights)  # saves F^T F
    moments = Moments.of_all(F, weights=weights, root=False)
    values, V = principal_axes(moments, n_components, _noise(K, weights))
    scores = V @ F.T
    signed = fixed_signs(scores)
    V = np.where(np.any(signed != scores, axis=1, keepdims=True), -V, V)
    return Coordinates(
        rank=len(V),
        lift=lambda L: factored.lift(L @ V),
        mean=row_means(K, weights),
        compute=lambda: asarray_like(signed.T, K, dtype=_float64(K)),
        eigenvalue_sum=float(np.sum(_squared_norms(F, weights))),
        eigenvalues=values,
    )


def landmark_coordinates(
    kernel: KernelFunction,
    X: Array,
    S: Array,
    n_components: float | None,
    weights: np.ndarray | None = None,
) -> Coordinates:
    """Return principal coordinates in the span of the landmarks S instead of all samples [1]_.

    The samples are processed in blocks, so memory is O(m^2) for m landmarks.

    References
    ----------
    .. [1] C. K. I. Williams, M. Seeger, "Using the Nyström method to speed up kernel machines",
       NeurIPS 2000.
    """
    xp, m = namespace(X), S.shape[0]
    n = X.shape[0] if weights is None else float(np.sum(weights))
    W = kernel.gram(S)
    factored = factor(
        to_host(W), definite=kernel.is_definite, identical_message=LANDMARKS_IDENTICAL
    )
    B = asarray_like(factored.lift(np.eye(factored.F.shape[1])).T, X, dtype=xp.float64)

    def blocks() -> Iterator[tuple[Array, np.ndarray | None]]:
        for rows in row_blocks(X.shape[0], max(1, BLOCK_ENTRIES // m)):
            w = None if weights is None else weights[rows]
            yield xp.astype(kernel(X[rows, :], S), xp.float64, copy=False), w

    def block_sum(K: Array, w: np.ndarray | None) -> Array:
        return xp.sum(K, axis=0) if w is None else asarray_like(w, K) @ K

    mean = tree_reduce(block_sum, blocks()) / n
    moments = tree_reduce(
        lambda K, w: Moments.scatter_of(to_host((K - mean) @ B), weights=w), blocks()
    )
    values, V = principal_axes(moments, n_components, n / m * eigenvalue_noise(W))
    axes = asarray_like(V.T, X, dtype=xp.float64)
    return Coordinates(
        rank=len(V),
        lift=lambda L: factored.lift(L @ V),
        mean=to_host(mean),
        compute=lambda: xp.concat([(K - mean) @ B @ axes for K, _ in blocks()]),
        eigenvalue_sum=float(np.trace(moments.spread)),
        eigenvalues=values,
    )


def _coordinates_of_eigenvectors(
    K: Array | PackedSymmetric, k: int | None, definite: bool, weights: np.ndarray | None
) -> Coordinates:
    r"""Return the first k principal coordinates, computed from eigenvectors of the centred K.

    If k is None, return all coordinates that are not rounding errors.

    With weights in the diagonal matrix W, they are computed from the eigenvectors V of
    :math:`W^{1/2} J K J^T W^{1/2}`. The coordinates are :math:`W^{-1/2} V \Lambda^{1/2}`.
    """
    roots = None if weights is None else np.sqrt(weights)
    entries, noise = K.tiles if isinstance(K, PackedSymmetric) else K, _noise(K, weights)
    tol, n = max(EIGENVECTOR_TOL, eps(entries) / 100), K.shape[0]
    eigenpairs = centred_eigenpairs(K, k or n, weights, tol, noise)
    if k is None:
        k = _numerical_rank(eigenpairs.values, noise)
        eigenpairs = LargestEigenpairs(eigenpairs.values[:k], eigenpairs.V[:k], 0.0)
    mean, largest = row_means(K, weights), float(eigenpairs.values[0])
    if not definite:  # a negative Ritz value implies a negative eigenvalue
        check_eigenvalues(eigenpairs.smallest, largest, noise)
    if largest <= noise:
        raise ValueError(SAMPLES_IDENTICAL)
    values = np.where(eigenpairs.values > noise, eigenpairs.values, 0.0)
    inverse_roots = np.where(values > 0, 1 / np.sqrt(np.where(values > 0, values, 1.0)), 0.0)
    # The mean of each row is 0 up to rounding. Subtracting it removes the rounding error.
    if roots is None:
        V = eigenpairs.V - eigenpairs.V.mean(axis=1, keepdims=True)
        scores, coefficients = V, V
        total = _trace(K) - float(np.sum(mean))
    else:
        V = eigenpairs.V - np.outer(eigenpairs.V @ roots, roots) / (roots @ roots)
        scores = fixed_signs(V / roots)
        coefficients = scores * weights
        diagonal = to_host(namespace(K).linalg.diagonal(K)).astype(np.float64)
        total = float(weights @ (diagonal - mean))
    return Coordinates(
        rank=k,
        lift=lambda L: (L * inverse_roots) @ coefficients,
        mean=mean,
        compute=lambda: asarray_like(scores.T * np.sqrt(values), entries, dtype=_float64(entries)),
        eigenvalue_sum=max(total, float(np.sum(values))),
        eigenvalues=values,
    )


def _squared_norms(F: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
    """Return the weighted sum of squares of each column."""
    return np.sum(F * F, axis=0) if weights is None else weights @ (F * F)


def _noise(K: Array | PackedSymmetric, weights: np.ndarray | None) -> float:
    """Return a bound below which eigenvalues of the weighted scatter are rounding errors."""
    return eigenvalue_noise(K) * (1.0 if weights is None else float(np.max(weights)))


def _numerical_rank(values: np.ndarray, noise: float) -> int:
    """Return the number of eigenvalues that are not rounding errors."""
    return int(np.sum(values > max(noise, len(values) * 2.0**-52 * values[0])))


def principal_axes(
    moments: Moments, n_components: float | None, noise: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return eigenvalues and principal axes, padded with zeros if more are requested than exist."""
    p = moments.spread.shape[0]
    axes = axes_from_moments(moments, p)
    values = axes.s**2
    k = rank = _numerical_rank(values, noise)
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


def _float64(K: Array) -> object:
    return namespace(K).float64
