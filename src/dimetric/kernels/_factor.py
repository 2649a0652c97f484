"""Factorisations of centred kernel matrices, which give coordinates of the samples."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf

from dimetric._arrays.blocks import row_blocks
from dimetric._arrays.namespaces import Array, asarray_like, eps, namespace, to_host
from dimetric._warnings import warn
from dimetric.kernels._function import BLOCK_ENTRIES, largest_of
from dimetric.linalg.symmetric import PackedSymmetric

SAMPLES_IDENTICAL = (
    "All samples are identical under this kernel. Choose another kernel or gamma, or scale X."
)
NO_POSITIVE_EIGENVALUE = (
    "The centred kernel has no positive eigenvalue. Its smallest one is {smallest:.3g}. If X holds "
    "distances D, pass -D**2 / 2 instead."
)

MIN_SAMPLES_PER_PIVOT = 4  # with fewer, LAPACK computes the whole factor

Lift = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Factor:
    """Coordinates F with J K J^T = F F^T, where J = I - 1 p^T.

    The centre of the samples is their mean with weights p, which sum to 1. By default, p = 1 / n.

    Attributes
    ----------
    F : ndarray of shape (n, p)
        The coordinates.
    lift : callable
        Takes a map L of the first r coordinates, of shape (k, r). Returns the coefficients A of
        this map, of shape (k, n): A K J^T = L F^T, up to rounding.
    """

    F: np.ndarray
    lift: Lift


def factor(
    K: np.ndarray,
    *,
    definite: bool,
    max_rank: int | None = None,
    identical_message: str = SAMPLES_IDENTICAL,
    weights: np.ndarray | None = None,
) -> Factor:
    """Return coordinates whose inner products are the centred K.

    If K is indefinite, the inner products are the part of the centred K with positive eigenvalues.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Kernel matrix.
    definite : bool
        Whether K is known to have no negative eigenvalues.
    max_rank : int, optional
        Number of coordinates that the caller needs. If K is definite, further coordinates may be
        omitted.
    identical_message : str
        Error message if all samples are identical under the kernel.
    weights : ndarray of shape (n,), optional
        Weights of the samples. The coordinates have the weighted mean 0. By default, all weights
        are 1.
    """
    n, noise = len(K), eigenvalue_noise(K)
    # Rounding errors of the centring (in float64) and of K accumulate over the pivots.
    tol = max(4 * n**1.5 * 2.0**-52, n * eps(K)) * largest_of(K)
    p = None if weights is None else weights / np.sum(weights)
    mean = K.mean(axis=1, dtype=np.float64) if p is None else row_means(K, weights)
    # The centred kernel is K - shift - shift.T.
    shift = mean - (mean.mean() if p is None else p @ mean) / 2
    if definite and max_rank is not None and n > MIN_SAMPLES_PER_PIVOT * max_rank:
        F, pivots = greedy_factor(
            lambda i: K[i] - shift - shift[i], np.diagonal(K) - 2 * shift, max_rank, tol
        )
    else:
        F, pivots = _cholesky(K, shift, tol)
    result = Factor(F, partial(_lifted, F, pivots, p))
    if not definite and not _is_exact(K, F, tol, p):
        result = _positive_part(K, shift, noise, np.ones(n) if weights is None else weights)
    if result.F.shape[1] == 0:
        raise ValueError(identical_message)
    return result


def _cholesky(K: np.ndarray, shift: np.ndarray, tol: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the pivoted Cholesky factor of the centred K, up to its rank, and the pivots."""
    centred = np.array(K, dtype=np.float64, order="F")
    centred -= shift
    centred -= shift[:, None]
    factor, pivots, rank, _ = dpstrf(centred, lower=1, tol=tol, overwrite_a=1)
    rank = min(rank, len(K) - 1) if tol > 0 else 0  # a centred matrix is singular
    F = np.empty((len(K), rank))
    F[pivots - 1] = np.tril(factor[:, :rank])
    return F, pivots[:rank] - 1


def greedy_factor(
    row: Callable[[int], np.ndarray], diagonal: np.ndarray, max_rank: int, tol: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the first columns of the pivoted Cholesky factor of K, and the pivots.

    Only the rows of K that are chosen as pivots are computed.

    Parameters
    ----------
    row : callable
        ``row(i)`` returns row i of K.
    diagonal : ndarray of shape (n,)
        Diagonal of K.
    max_rank : int
        Maximum number of columns.
    tol : float
        Pivots of at most this absolute value are treated as rounding errors.

    Returns
    -------
    F : ndarray of shape (n, p)
        The factor. If K is definite, ``F @ F.T`` approximates K and equals it in the rows `pivots`.
        If K is indefinite, the outer products of columns with negative pivots have to be subtracted
        instead of added.
    pivots : ndarray of shape (p,)
        Row indices. Each row is the farthest in feature space from the span of the rows before it.
    """
    residual = diagonal.astype(np.float64)
    F, pivots = np.zeros((len(residual), max_rank), order="F"), list[int]()
    signs = np.ones(max_rank)
    for j in range(max_rank):
        i = int(np.argmax(np.abs(residual)))
        if np.abs(residual[i]) <= tol:
            break
        signs[j] = np.sign(residual[i])
        F[:, j] = (row(i) - F[:, :j] @ (signs[:j] * F[i, :j])) / np.sqrt(np.abs(residual[i]))
        residual -= signs[j] * F[:, j] ** 2
        pivots.append(i)
        residual[pivots] = 0.0  # exactly 0, without rounding errors
    return F[:, : len(pivots)], np.array(pivots, dtype=np.int64)


def row_means(K: Array | PackedSymmetric, weights: np.ndarray | None = None) -> np.ndarray:
    """Return the weighted mean of each row, on the host. A packed matrix has no weights."""
    if isinstance(K, PackedSymmetric):
        return K.row_sums / K.n
    n = K.shape[0]
    xp, blocks = namespace(K), row_blocks(n, max(1, BLOCK_ENTRIES // n))
    if weights is None:
        sums = [to_host(xp.sum(K[b, :], axis=1, dtype=xp.float64)) / n for b in blocks]
    else:
        p = asarray_like(weights / np.sum(weights), K, dtype=xp.float64)
        sums = [to_host(xp.astype(K[b, :], xp.float64) @ p) for b in blocks]
    return np.concatenate(sums)


def _lifted(F: np.ndarray, pivots: np.ndarray, p: np.ndarray | None, L: np.ndarray) -> np.ndarray:
    """Return the coefficients A of a map L of the first coordinates.

    At first, only pivots have nonzero coefficients. A multiple of p is then subtracted from each
    row of A, so that the row sums to 0, and A gives the same result for the kernel and for the
    centred kernel.
    """
    first = pivots[: L.shape[1]]
    A = np.zeros((L.shape[0], len(F)))
    corner = np.tril(F[first][:, : len(first)])
    A[:, first] = solve_triangular(corner, L.T, lower=True, trans="T").T
    if p is None:
        return A - A.mean(axis=1, keepdims=True)
    return A - A.sum(axis=1, keepdims=True) * p


def _is_exact(K: np.ndarray, F: np.ndarray, tol: float, p: np.ndarray | None) -> bool:
    """Return whether F F^T equals the centred kernel J K J^T, tested with random vectors.

    It never does if K is indefinite.
    """
    V = np.random.default_rng(0).standard_normal((len(K), 4))
    p = np.full(len(K), 1 / len(K)) if p is None else p
    V -= p[:, None] * V.sum(axis=0)
    KV = K @ V
    residual = KV - p @ KV - F @ (F.T @ V)
    return bool(np.abs(residual).max() <= 10 * len(K) ** 0.5 * tol)


def _positive_part(K: np.ndarray, shift: np.ndarray, noise: float, weights: np.ndarray) -> Factor:
    r"""Return the factor of the positive part of the centred K. Warn if K is indefinite.

    It is the part with positive eigenvalues of :math:`W^{1/2} J K J^T W^{1/2}`, with the weights
    in W. Then a weight of 2 has the same effect as a row and a column that are given twice.
    """
    roots = np.sqrt(weights / np.max(weights))
    centred = (K - shift - shift[:, None]) * roots * roots[:, None]
    values, V = np.linalg.eigh((centred + centred.T) / 2)
    values, V = values[::-1], V[:, ::-1]
    check_eigenvalues(float(values[-1]), float(values[0]), noise)
    rank = int(np.sum(values > noise))
    length, V = np.sqrt(values[:rank]), V[:, :rank]
    # Remove rounding errors, which small eigenvalues would amplify.
    V = V - roots[:, None] * (np.mean(roots[:, None] * V, axis=0) / np.mean(roots**2))
    A = roots[:, None] * V
    return Factor(
        V * length / roots[:, None], lambda L: (L / length[: L.shape[1]]) @ A[:, : L.shape[1]].T
    )


def eigenvalue_noise(K: Array | PackedSymmetric) -> float:
    """Return a bound below which eigenvalues of a kernel matrix are rounding errors.

    The bound also holds for the centred matrix, because its errors come from the rounding of K.
    """
    values, largest = (K.tiles, K.largest) if isinstance(K, PackedSymmetric) else (K, largest_of(K))
    n = K.shape[0]
    # Rounding errors form a random matrix, whose norm grows like the square root of n.
    return max(n * 2.0**-52, 10 * n**0.5 * eps(values)) * largest


def check_eigenvalues(smallest: float, largest: float, noise: float) -> None:
    """Warn if the centred kernel has a negative eigenvalue, or raise if it has no positive one."""
    if smallest >= -10 * noise:
        return
    if largest <= noise:
        raise ValueError(NO_POSITIVE_EIGENVALUE.format(smallest=smallest))
    warn(
        f"The kernel is indefinite: after centring, its eigenvalues range from {smallest:.3g} to "
        f"{largest:.3g}. Only the part with positive eigenvalues is used.",
    )
