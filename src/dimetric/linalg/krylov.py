"""Eigenvalues of a symmetric matrix that is known only by its products."""

import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dimetric.linalg.spectral import fixed_signs

WIDTH = 64  # vectors kept before a restart, and more where many are asked for
PASSES = 500


class Extremes(NamedTuple):
    """The upper end of a spectrum.

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
    product: Callable[[np.ndarray], np.ndarray], n: int, k: int, *, tol: float = 1e-12
) -> Extremes:
    r"""Return the k largest eigenvalues of a symmetric matrix and their eigenvectors.

    A block Lanczos iteration with full orthogonalisation and thick restarts [1]_: a pass over the
    matrix serves several vectors, and where the largest eigenvalues stand out, a handful of passes
    do. The next block are the residuals :math:`A v - \lambda v` of those that are wanted.

    Parameters
    ----------
    product : callable
        Returns A @ V for V of shape (n, b), in float64.
    n : int
        Size of A.
    k : int
        Number of eigenvalues, fewer than n / 4.
    tol : float, default=1e-12
        Largest residual, relative to the largest absolute eigenvalue.

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
    width = min(max(WIDTH, 6 * block), n)
    basis = np.linalg.qr(np.random.default_rng(0).standard_normal((n, block))).Q
    images = product(basis)
    for _ in range(PASSES):
        values, S = np.linalg.eigh(_symmetric(basis.T @ images))
        values, S = values[::-1], S[:, ::-1]
        # The largest, a few more that may turn out to be, and the smallest
        shown = np.r_[: min(2 * block, len(values) - 1), len(values) - 1]
        V = basis @ S[:, shown]
        residuals = images @ S[:, shown] - V * values[shown]
        size = np.linalg.norm(residuals, axis=0) / (np.abs(values).max() or 1)
        open_ = size > np.where(shown == len(values) - 1, 0.01, tol)
        if not open_[:k].any() and not open_[-1]:
            break
        if basis.shape[1] + block > width:
            kept = np.r_[: width // 2, len(values) - 1]
            basis, images = basis @ S[:, kept], images @ S[:, kept]
        new = residuals[:, np.flatnonzero(open_)[:block]]
        for _ in range(3):  # residuals that are nearly rounding errors need all three
            new = np.linalg.qr(new - basis @ (basis.T @ new)).Q
        basis, images = np.hstack([basis, new]), np.hstack([images, product(new)])
    else:
        warnings.warn(
            f"{k} eigenvectors were not found to the last digit in {PASSES} passes: the residual "
            f"is {size[:k].max():.0e}.",
            stacklevel=3,
        )
    return Extremes(values[:k], fixed_signs(V[:, :k].T), float(values[-1]))


def _symmetric(H: np.ndarray) -> np.ndarray:
    return (H + H.T) / 2
