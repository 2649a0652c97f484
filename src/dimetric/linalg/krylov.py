"""Largest eigenpairs of a symmetric matrix that is given by its products with vectors."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dimetric._warnings import warn
from dimetric.linalg.spectral import fixed_signs

MIN_BLOCK_VECTORS = 8  # a product with 8 vectors takes hardly longer than one with 4
MAX_BLOCK_VECTORS = 16  # vectors per product; more take longer than they save
MAX_BASIS_VECTORS = 384  # exceeded only if k is large; n / 4 if n is small
MIN_VECTORS_PER_EIGENPAIR = 6  # vectors that the basis can hold, for each eigenpair
MIN_BASIS_BLOCKS = 12  # blocks of vectors that the basis can hold
GROWTH_BETWEEN_CHECKS = 1.15  # of the basis; decomposing the projected matrix takes time
SMALLEST_TOLERANCE = 0.01  # relative residual of the smallest eigenvalue, which is only estimated
EQUAL_TOLERANCE = 1e-6  # relative difference up to which eigenvalues may be equal
MAX_PASSES = 500  # products with a block of vectors


class LargestEigenpairs(NamedTuple):
    """The largest eigenpairs and the smallest eigenvalue of a matrix.

    Attributes
    ----------
    values : ndarray of shape (k,)
        The k largest eigenvalues in descending order.
    V : ndarray of shape (k, n)
        The corresponding eigenvectors as rows, with fixed signs.
    smallest : float
        The smallest eigenvalue, with an error of about 1 % of the largest absolute eigenvalue.
    """

    values: np.ndarray
    V: np.ndarray
    smallest: float


def largest_eigenvectors(
    product: Callable[[np.ndarray], np.ndarray],
    n: int,
    k: int,
    *,
    tol: float = 1e-12,
    noise: float = 0.0,
) -> LargestEigenpairs:
    r"""Return the k largest eigenvalues of a symmetric matrix A and their eigenvectors.

    The method is a block Lanczos iteration with full orthogonalisation and thick restarts [1]_.
    From a random block of p vectors, it finds at most p eigenvectors with the same eigenvalue. If p
    eigenvalues are found that may be equal, there may be more, so the iteration is repeated with
    blocks of more than k vectors.

    Parameters
    ----------
    product : callable
        Returns A @ V for V of shape (n, b), in float64.
    n : int
        Size of A.
    k : int
        Number of eigenvalues, less than n / 4.
    tol : float, default=1e-12
        Tolerance for the residuals, relative to the largest absolute eigenvalue.
    noise : float, default=0.0
        Residuals of at most this norm count as rounding errors of A.

    References
    ----------
    .. [1] K. Wu, H. Simon, "Thick-restart Lanczos method for large symmetric eigenvalue
       problems", SIAM J. Matrix Anal. Appl. 22, 2000.

    Examples
    --------
    >>> diagonal = np.arange(100.0)
    >>> largest_eigenvectors(lambda V: diagonal[:, None] * V, 100, 2).values
    array([99., 98.])
    """
    block = min(max(k + 2, MIN_BLOCK_VECTORS), MAX_BLOCK_VECTORS)
    found = _block_lanczos(product, n, k, block, tol, noise)
    if block <= k and _may_be_equal(found, block, noise):
        found = _block_lanczos(product, n, k, k + 2, tol, noise)
    return found


def _may_be_equal(found: LargestEigenpairs, p: int, noise: float) -> bool:
    """Return whether p of the eigenvalues may be equal. Those that may be 0 do not count."""
    values, size = found.values, max(abs(float(found.values[0])), abs(found.smallest))
    close = values[: 1 - p] - values[p - 1 :] <= EQUAL_TOLERANCE * size
    return bool(np.any(close & (values[: 1 - p] > noise)))


def _block_lanczos(
    product: Callable[[np.ndarray], np.ndarray],
    n: int,
    k: int,
    block: int,
    tol: float,
    noise: float,
) -> LargestEigenpairs:
    """Return the largest eigenpairs that an iteration with blocks of `block` vectors finds."""
    width = max(
        MIN_BASIS_BLOCKS * block, MIN_VECTORS_PER_EIGENPAIR * k, min(MAX_BASIS_VECTORS, n // 4)
    )
    # The next block must fit beside the basis, even if the basis is full.
    space = _KrylovSpace(n, min(width, n - block), block)
    next_check = 0.0
    for _ in range(MAX_PASSES):
        space.extend(product(space.new))
        is_full = space.size + block > space.width
        if space.size < next_check and not is_full:
            continue
        next_check = GROWTH_BETWEEN_CHECKS * space.size
        values, S, norms = space.ritz_pairs()
        largest = float(np.abs(values).max())
        limits = np.full(len(norms), max(tol * largest, noise))
        limits[-1] = max(SMALLEST_TOLERANCE * largest, noise)
        converged = norms <= limits
        if len(values) > k and converged[:k].all() and converged[-1]:
            break
        if is_full:
            kept = np.r_[: space.width // 2, len(values) - 1]
            space.restart(values[kept], S[:, kept])
            next_check = 0.0
    else:
        values, S, norms = space.ritz_pairs()
        _warn_not_converged(k, norms[:k].max() / float(np.abs(values).max()))
    V = space.vectors(S[:, :k])
    return LargestEigenpairs(values[:k], fixed_signs(V.T), float(values[-1]))


class _KrylovSpace:
    """An orthonormal basis Q, the projection H = Q^T A Q, and the next block of vectors.

    The basis satisfies :math:`A Q = Q H + N R E^T`, where N is the next block and the columns of E
    are the last columns of the identity. So the residual of an approximate eigenvector Q s is
    N R times the last entries of s.
    """

    def __init__(self, n: int, width: int, block: int) -> None:
        self.width, self.size = width, 0
        # Allocated once, because allocating memory takes as long as a product.
        self._basis = np.empty((n, width), order="F")
        self._H = np.zeros((width, width))
        self._first_coupled = 0  # first column of the basis that A maps into the next block
        self.new = np.linalg.qr(np.random.default_rng(0).standard_normal((n, block))).Q

    def extend(self, images: np.ndarray) -> None:
        """Add the next block to the basis, given its images under A."""
        old, m = self.size, self.size + self.new.shape[1]
        self._basis[:, old:m] = self.new
        Q, coupled = self._basis[:, :m], slice(self._first_coupled, m)
        C = np.zeros((m, m - old))
        C[coupled] = Q[:, coupled].T @ images
        new, R = _orthonormalised(images - Q[:, coupled] @ C[coupled])
        # Rounding errors leave small components along the whole basis.
        correction = Q.T @ new
        C += correction @ R
        new, R_corrected = _orthonormalised(new - Q @ correction)
        if np.abs(np.diagonal(R_corrected)).min() < 0.5:  # A maps part of the block into the basis
            new, R_again = np.linalg.qr(new - Q @ (Q.T @ new))
            is_lost = np.abs(np.diagonal(R_again)) < 0.5
            if is_lost.any():  # no new directions are left, so go on with random ones
                order = np.argsort(is_lost, kind="stable")
                random = np.random.default_rng(m).standard_normal(new.shape)
                candidates = np.where(is_lost, random, new)[:, order]
                new[:, order] = np.linalg.qr(candidates - Q @ (Q.T @ candidates)).Q
        self.new, self._R = new, R_corrected @ R
        self._H[:m, old:m] = C
        self._H[old:m, :old] = C[:old].T
        self.size, self._first_coupled = m, old

    def ritz_pairs(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the eigenvalues of H, descending, its eigenvectors, and the residual norms."""
        H = self._H[: self.size, : self.size]
        values, S = np.linalg.eigh((H + H.T) / 2)
        values, S = values[::-1], S[:, ::-1]
        return values, S, np.linalg.norm(self._R @ S[self.size - len(self._R) :], axis=0)

    def vectors(self, S: np.ndarray) -> np.ndarray:
        """Return Q S."""
        return self._basis[:, : self.size] @ S

    def restart(self, values: np.ndarray, S: np.ndarray) -> None:
        """Reduce the basis to the approximate eigenvectors Q S."""
        kept = len(values)
        self._basis[:, :kept] = self.vectors(S)
        self._H[:kept, :kept] = np.diag(values)
        self.size, self._first_coupled = kept, 0


def _orthonormalised(W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return orthonormal columns Q and a triangular matrix R with W = Q R.

    Cholesky factors are faster than a QR decomposition, but only accurate if W is well conditioned.
    """
    try:
        L = np.linalg.cholesky(W.T @ W)
    except np.linalg.LinAlgError:
        return np.linalg.qr(W)
    lengths = np.diagonal(L)
    if not lengths.min() > 1e-3 * lengths.max():
        return np.linalg.qr(W)
    return W @ np.linalg.inv(L).T, L.T


def _warn_not_converged(k: int, residual: float) -> None:
    warn(
        f"The eigenvectors of the {k} largest eigenvalues did not converge in {MAX_PASSES} passes. "
        f"The relative residual is {residual:.0e}.",
    )
