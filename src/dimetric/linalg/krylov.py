"""The largest eigenvalues of a symmetric matrix that is given by its products alone."""

import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dimetric.linalg.spectral import fixed_signs

BASIS_VECTORS = 192  # before a restart; fewer for small matrices, more if many are asked for
MAX_PASSES = 500


class LargestEigenpairs(NamedTuple):
    """The upper end of a spectrum, and its lower bound.

    Attributes
    ----------
    values : ndarray of shape (k,)
        The k largest eigenvalues, descending.
    V : ndarray of shape (k, n)
        Their eigenvectors as rows, signs fixed.
    smallest : float
        The smallest eigenvalue, to about 1 % of the largest absolute one.
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
    r"""Return the k largest eigenvalues of a symmetric matrix and their eigenvectors.

    A block Lanczos iteration with full orthogonalisation and thick restarts [1]_. A pass over the
    matrix serves several vectors, and where the largest eigenvalues stand out, a handful of passes
    is enough. The next block consists of the residuals :math:`A v - \lambda v` of those wanted.

    Parameters
    ----------
    product : callable
        Returns A @ V for V of shape (n, b), in float64.
    n : int
        Size of A.
    k : int
        Number of eigenvalues, below n / 4.
    tol : float, default=1e-12
        Largest residual, relative to the largest absolute eigenvalue.
    noise : float, default=0.0
        Size of residuals that are nothing but rounding errors of A.

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
    width = min(max(6 * block, min(BASIS_VECTORS, n // 8)), n)
    space = _Subspace(n, width)
    new = np.linalg.qr(np.random.default_rng(0).standard_normal((n, block))).Q
    for _ in range(MAX_PASSES):
        m = space.add(new, product(new))
        values, S = space.eigenpairs()
        # The largest, a few more that may overtake them, and the smallest.
        shown = np.r_[: min(2 * block, m - 1), m - 1]
        V, residuals = space.vectors_and_residuals(values[shown], S[:, shown])
        size = np.linalg.norm(residuals, axis=0)
        largest = float(np.abs(values).max())
        open_ = size > np.maximum(np.where(shown == m - 1, 0.01, tol) * largest, noise)
        if not open_[:k].any() and not open_[-1]:
            break
        if m + block > width:
            kept = np.r_[: width // 2, m - 1]
            space.restart(values[kept], S[:, kept])
        new = space.beside(residuals[:, np.flatnonzero(open_)[:block]])
    else:
        _warn_of_residual(k, size[:k].max() / largest)
    return LargestEigenpairs(values[:k], fixed_signs(V[:, :k].T), float(values[-1]))


class _Subspace:
    """An orthonormal basis Q of a subspace, its images A Q, and the projection H = Q^T A Q."""

    def __init__(self, n: int, width: int) -> None:
        # Allocated once: fresh memory costs as much as a product.
        self._basis, self._images = (np.empty((n, width), order="F") for _ in range(2))
        self._H = np.zeros((width, width))
        self.size = 0

    def add(self, new: np.ndarray, images: np.ndarray) -> int:
        """Add orthonormal vectors, orthogonal to the basis, and their images; return the size."""
        old, m = self.size, self.size + new.shape[1]
        self._basis[:, old:m], self._images[:, old:m] = new, images
        self._H[:m, old:m] = self._basis[:, :m].T @ self._images[:, old:m]
        self._H[old:m, :old] = self._H[:old, old:m].T
        self.size = m
        return m

    def eigenpairs(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the eigenvalues of H, descending, and its eigenvectors as columns."""
        H = self._H[: self.size, : self.size]
        values, S = np.linalg.eigh((H + H.T) / 2)
        return values[::-1], S[:, ::-1]

    def vectors_and_residuals(
        self, values: np.ndarray, S: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the approximate eigenvectors V = Q S, and A V - V diag(values)."""
        V = self._basis[:, : self.size] @ S
        return V, self._images[:, : self.size] @ S - V * values

    def restart(self, values: np.ndarray, S: np.ndarray) -> None:
        """Keep the span of some approximate eigenvectors alone."""
        kept = len(values)
        for A in (self._basis, self._images):
            A[:, :kept] = A[:, : self.size] @ S
        self._H[:kept, :kept] = np.diag(values)
        self.size = kept

    def beside(self, R: np.ndarray) -> np.ndarray:
        """Return an orthonormal basis of what R adds to the subspace."""
        basis = self._basis[:, : self.size]
        new = R / np.linalg.norm(R, axis=0)
        for _ in range(2):  # the first pass is not exact where R is mostly rounding errors
            new = np.linalg.qr(new - basis @ (basis.T @ new)).Q
        return new


def _warn_of_residual(k: int, residual: float) -> None:
    warnings.warn(
        f"{k} eigenvectors were not found to the last digit in {MAX_PASSES} passes: the residual "
        f"is {residual:.0e}.",
        stacklevel=4,
    )
