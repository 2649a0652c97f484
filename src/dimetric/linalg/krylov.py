"""Largest eigenpairs of a symmetric matrix that is given by its products with vectors."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dimetric._warnings import warn
from dimetric.linalg.spectral import fixed_signs

MAX_BASIS_VECTORS = 192  # exceeded only if k is large; n / 8 if n is small
MIN_BASIS_BLOCKS = 6  # blocks of vectors that the basis can hold; chosen by experiment
SMALLEST_TOLERANCE = 0.01  # relative residual of the smallest eigenvalue, which is only estimated
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
    Each pass over the matrix multiplies a block of vectors: the residuals :math:`A v - \lambda v`
    of the eigenvectors that have not converged. If the largest eigenvalues are well separated, a
    few passes are enough.

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
    block = k + 2
    width = min(max(MIN_BASIS_BLOCKS * block, min(MAX_BASIS_VECTORS, n // 8)), n)
    space = _Subspace(n, width)
    new = np.linalg.qr(np.random.default_rng(0).standard_normal((n, block))).Q
    for _ in range(MAX_PASSES):
        m = space.add(new, product(new))
        values, S = space.eigenpairs()
        # The k largest, further ones that may still overtake them, and the smallest.
        checked = np.r_[: min(2 * block, m - 1), m - 1]
        V, residuals = space.vectors_and_residuals(values[checked], S[:, checked])
        norms = np.linalg.norm(residuals, axis=0)
        largest = float(np.abs(values).max())
        tolerances = np.where(checked == m - 1, SMALLEST_TOLERANCE, tol)
        unconverged = norms > np.maximum(tolerances * largest, noise)
        if not unconverged[:k].any() and not unconverged[-1]:
            break
        if m + block > width:
            kept = np.r_[: width // 2, m - 1]
            space.restart(values[kept], S[:, kept])
        new = space.extension(residuals[:, np.flatnonzero(unconverged)[:block]])
    else:
        _warn_not_converged(k, norms[:k].max() / largest)
    return LargestEigenpairs(values[:k], fixed_signs(V[:, :k].T), float(values[-1]))


class _Subspace:
    """An orthonormal basis Q of a subspace, its image A Q, and the projection H = Q^T A Q."""

    def __init__(self, n: int, width: int) -> None:
        # Allocated once, because allocating memory takes as long as a product.
        self._basis, self._images = (np.empty((n, width), order="F") for _ in range(2))
        self._H = np.zeros((width, width))
        self.size = 0

    def add(self, new: np.ndarray, images: np.ndarray) -> int:
        """Add orthonormal vectors to the basis, with their images under A. Return the new size."""
        old, m = self.size, self.size + new.shape[1]
        self._basis[:, old:m], self._images[:, old:m] = new, images
        self._H[:m, old:m] = self._basis[:, :m].T @ self._images[:, old:m]
        self._H[old:m, :old] = self._H[:old, old:m].T
        self.size = m
        return m

    def eigenpairs(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the eigenvalues of H in descending order, and its eigenvectors as columns."""
        H = self._H[: self.size, : self.size]
        values, S = np.linalg.eigh((H + H.T) / 2)
        return values[::-1], S[:, ::-1]

    def vectors_and_residuals(
        self, values: np.ndarray, S: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the approximate eigenvectors V = Q S and the residuals A V - V diag(values)."""
        V = self._basis[:, : self.size] @ S
        return V, self._images[:, : self.size] @ S - V * values

    def restart(self, values: np.ndarray, S: np.ndarray) -> None:
        """Reduce the subspace to the span of the approximate eigenvectors Q S."""
        kept = len(values)
        for A in (self._basis, self._images):
            A[:, :kept] = A[:, : self.size] @ S
        self._H[:kept, :kept] = np.diag(values)
        self.size = kept

    def extension(self, R: np.ndarray) -> np.ndarray:
        """Return orthonormal vectors that extend the basis to the span of the basis and R."""
        basis = self._basis[:, : self.size]
        new = R / np.linalg.norm(R, axis=0)
        for _ in range(2):  # one pass is inaccurate if R is nearly in the subspace
            new = np.linalg.qr(new - basis @ (basis.T @ new)).Q
        return new


def _warn_not_converged(k: int, residual: float) -> None:
    warn(
        f"The eigenvectors of the {k} largest eigenvalues did not converge in {MAX_PASSES} passes. "
        f"The relative residual is {residual:.0e}.",
    )
