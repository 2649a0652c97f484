"""Factorisations of centred kernel matrices, which give coordinates of the samples."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf

from dimetric._arrays.namespaces import Array, eps
from dimetric._warnings import warn
from dimetric.kernels._function import largest_of
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
    """Coordinates F with J K J = F F^T, where J = I - 1 1^T / n.

    Attributes
    ----------
    F : ndarray of shape (n, p)
        The coordinates.
    lift : callable
        Takes a map L of the first r coordinates, of shape (k, r). Returns the coefficients A of
        this map, of shape (k, n): A K J = L F^T, up to rounding.
    """

    F: np.ndarray
    lift: Lift


def factor(
    K: np.ndarray,
    *,
    definite: bool,
    max_rank: int | None = None,
    identical_message: str = SAMPLES_IDENTICAL,
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
    """
    n, noise = len(K), eigenvalue_noise(K)
    # Rounding errors of the centring (in float64) and of K accumulate over the pivots.
    tol = max(4 * n**1.5 * 2.0**-52, n * eps(K)) * largest_of(K)
    mean = K.mean(axis=1, dtype=np.float64)
    shift = mean - mean.mean() / 2  # the centred kernel is K - shift - shift.T
    if definite and max_rank is not None and n > MIN_SAMPLES_PER_PIVOT * max_rank:
        F, pivots = greedy_factor(
            lambda i: K[i] - shift - shift[i], np.diagonal(K) - 2 * shift, max_rank, tol
        )
    else:
        F, pivots = _cholesky(K, shift, tol)
    result = Factor(F, partial(_lifted, F, pivots))
    if not definite and not _is_exact(K, F, tol):
        result = _positive_part(K, shift, noise)
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


def _lifted(F: np.ndarray, pivots: np.ndarray, L: np.ndarray) -> np.ndarray:
    """Return the coefficients A of a map L of the first coordinates.

    At first, only pivots have nonzero coefficients. Each row of A is then shifted to sum to 0, so
    that A gives the same result for the kernel and for the centred kernel.
    """
    first = pivots[: L.shape[1]]
    A = np.zeros((L.shape[0], len(F)))
    corner = np.tril(F[first][:, : len(first)])
    A[:, first] = solve_triangular(corner, L.T, lower=True, trans="T").T
    return A - A.mean(axis=1, keepdims=True)


def _is_exact(K: np.ndarray, F: np.ndarray, tol: float) -> bool:
    """Return whether F F^T equals the centred kernel J K J, tested with random vectors.

    It never does if K is indefinite.
    """
    V = np.random.default_rng(0).standard_normal((len(K), 4))
    V -= V.mean(axis=0)
    KV = K @ V
    residual = KV - KV.mean(axis=0) - F @ (F.T @ V)
    return bool(np.abs(residual).max() <= 10 * len(K) ** 0.5 * tol)


def _positive_part(K: np.ndarray, shift: np.ndarray, noise: float) -> Factor:
    """Return the factor of the positive part of the centred K. Warn if K is indefinite."""
    centred = K - shift - shift[:, None]
    values, V = np.linalg.eigh((centred + centred.T) / 2)
    values, V = values[::-1], V[:, ::-1]
    check_eigenvalues(float(values[-1]), float(values[0]), noise)
    rank = int(np.sum(values > noise))
    length, V = np.sqrt(values[:rank]), V[:, :rank]
    V = V - V.mean(axis=0)  # remove rounding errors, which small eigenvalues would amplify
    return Factor(V * length, lambda L: (L / length[: L.shape[1]]) @ V[:, : L.shape[1]].T)


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
