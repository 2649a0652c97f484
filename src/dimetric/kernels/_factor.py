"""Factors of kernel matrices: coordinates whose inner products are those of feature space."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.lapack import dpstrf

from dimetric._arrays.namespaces import Array, eps
from dimetric.kernels._function import largest_of
from dimetric.linalg.symmetric import PackedSymmetric

ONE_POINT = (
    "To this kernel all samples are the same point: it has no differences to learn from. Choose "
    "another kernel or gamma, or scale X."
)
NO_PRODUCT = (
    "The kernel is indefinite: centred, it has eigenvalues from {smallest:.3g} to 0, and no "
    "positive part that could be used. If these are distances D, pass -D**2 / 2."
)

Lift = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Factor:
    """Coordinates F with J K J = F F^T, where J = I - 1 1^T / n.

    ``lift`` returns the coefficients A (k, n) of a map L (k, r) of the first r coordinates.
    """

    F: np.ndarray
    lift: Lift


def factor(
    K: np.ndarray, *, definite: bool, most: int | None = None, one_point: str = ONE_POINT
) -> Factor:
    """Return coordinates whose inner products are the centred K, or its positive part.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Kernel matrix.
    definite : bool
        Whether K is known to have no negative eigenvalues.
    most : int, optional
        Number of coordinates that are enough. A definite kernel may return only these.
    one_point : str
        Message for a kernel to which all samples are equal.
    """
    n, noise = len(K), noise_of(K)
    # Rounding errors add up over the pivots: those of centring, in float64, and those of K.
    tol = max(4 * n**1.5 * 2.0**-52, n * eps(K)) * largest_of(K)
    mean = K.mean(axis=1, dtype=np.float64)
    shift = mean - mean.mean() / 2  # the centred kernel is K - shift - shift.T
    if definite and most is not None and 4 * most < n:
        F, pivots = greedy_factor(
            lambda i: K[i] - shift - shift[i], np.diagonal(K) - 2 * shift, most, tol
        )
    else:
        F, pivots = _cholesky(K, shift, tol)
    found = Factor(F, partial(_lifted, F, pivots))
    if not definite and not _is_product(K, F, tol):
        found = _positive_part(K, shift, noise)
    if found.F.shape[1] == 0:
        raise ValueError(one_point)
    return found


def _cholesky(K: np.ndarray, shift: np.ndarray, tol: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the pivoted Cholesky factor of the centred K, without columns of rounding errors."""
    centred = np.array(K, dtype=np.float64, order="F")
    centred -= shift
    centred -= shift[:, None]
    factor, pivots, rank, _ = dpstrf(centred, lower=1, tol=tol, overwrite_a=1)
    rank = min(rank, len(K) - 1) if tol > 0 else 0  # centred rows add up to 0
    F = np.empty((len(K), rank))
    F[pivots - 1] = np.tril(factor[:, :rank])
    return F, pivots[:rank] - 1


def greedy_factor(
    row: Callable[[int], np.ndarray], diagonal: np.ndarray, most: int, tol: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the first columns of the pivoted Cholesky factor; only rows of pivots are computed.

    Parameters
    ----------
    row : callable
        Returns a row of K.
    diagonal : ndarray of shape (n,)
        Diagonal of K.
    most : int
        Largest number of columns.
    tol : float
        Pivots up to this size are rounding errors.

    Returns
    -------
    F : ndarray of shape (n, p)
        If K is definite, ``F @ F.T`` approximates K and equals it in the rows `pivots`. Otherwise
        the products of columns with negative pivots are subtracted.
    pivots : ndarray of shape (p,)
        Rows, each the farthest in feature space from the span of those before it.
    """
    rest = diagonal.astype(np.float64)
    F, pivots = np.zeros((len(rest), most), order="F"), list[int]()
    signs = np.ones(most)
    for j in range(most):
        i = int(np.argmax(np.abs(rest)))
        if np.abs(rest[i]) <= tol:
            break
        signs[j] = np.sign(rest[i])
        F[:, j] = (row(i) - F[:, :j] @ (signs[:j] * F[i, :j])) / np.sqrt(np.abs(rest[i]))
        rest -= signs[j] * F[:, j] ** 2
        pivots.append(i)
        rest[pivots] = 0.0  # without rounding errors
    return F[:, : len(pivots)], np.array(pivots, dtype=np.int64)


def _lifted(F: np.ndarray, pivots: np.ndarray, L: np.ndarray) -> np.ndarray:
    """Return the coefficients of a map of the first coordinates; only pivots have a part.

    Coefficients that sum to 0 apply to the kernel itself: it need not be centred.
    """
    first = pivots[: L.shape[1]]
    A = np.zeros((L.shape[0], len(F)))
    corner = np.tril(F[first][:, : len(first)])
    A[:, first] = solve_triangular(corner, L.T, lower=True, trans="T").T
    return A - A.mean(axis=1, keepdims=True)


def _is_product(K: np.ndarray, F: np.ndarray, tol: float) -> bool:
    """Tell by random vectors whether J K J = F F^T, which never holds for an indefinite K."""
    V = np.random.default_rng(0).standard_normal((len(K), 4))
    V -= V.mean(axis=0)
    KV = K @ V
    rest = KV - KV.mean(axis=0) - F @ (F.T @ V)
    return bool(np.abs(rest).max() <= 10 * len(K) ** 0.5 * tol)


def _positive_part(K: np.ndarray, shift: np.ndarray, noise: float) -> Factor:
    """Return the eigenvectors with positive eigenvalues; warn if there are negative ones."""
    centred = K - shift - shift[:, None]
    values, V = np.linalg.eigh((centred + centred.T) / 2)
    values, V = values[::-1], V[:, ::-1]
    warn_if_indefinite(float(values[-1]), float(values[0]), noise)
    rank = int(np.sum(values > noise))
    length, V = np.sqrt(values[:rank]), V[:, :rank]
    V = V - V.mean(axis=0)  # the mean is a rounding error that small eigenvalues would magnify
    return Factor(V * length, lambda L: (L / length[: L.shape[1]]) @ V[:, : L.shape[1]].T)


def noise_of(K: Array | PackedSymmetric) -> float:
    """Return the size up to which eigenvalues of a kernel matrix are rounding errors.

    It is the same for the centred matrix: the values were rounded before they were centred.
    """
    values, largest = (K.tiles, K.largest) if isinstance(K, PackedSymmetric) else (K, largest_of(K))
    n = K.shape[0]
    # Rounding errors are a random matrix, whose norm grows only as the square root of n.
    return max(n * 2.0**-52, 10 * n**0.5 * eps(values)) * largest


def warn_if_indefinite(smallest: float, largest: float, noise: float) -> None:
    """Warn if the centred kernel has an eigenvalue below 0; raise if no eigenvalue is above 0."""
    if smallest >= -10 * noise:
        return
    if largest <= noise:
        raise ValueError(NO_PRODUCT.format(smallest=smallest))
    warnings.warn(
        f"The kernel is indefinite: centred, it has eigenvalues from {smallest:.3g} to "
        f"{largest:.3g}. Only its positive part is used, and distances are those of that part.",
        stacklevel=4,
    )
