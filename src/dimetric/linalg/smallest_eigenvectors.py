"""Eigenvectors for the smallest eigenvalues of a large sparse matrix with constant null vector."""

from typing import Any

import numpy as np
import scipy.linalg
from scipy.sparse.linalg import LinearOperator, eigsh, splu

from dimetric.linalg.spectral import fixed_signs

RELATIVE_SHIFT = 1e-13  # shift for the factorisation, relative to the mean of the diagonal


def smallest_eigenvectors(M: Any, k: int, *, dense: bool = False) -> tuple[np.ndarray, np.ndarray]:
    r"""Return the k smallest eigenvalues of M and their eigenvectors, except the constant one.

    M is symmetric and positive semidefinite, with :math:`M 1 = 0`. The constant eigenvector is left
    out, and the others are orthogonal to it. The method is a Lanczos iteration on
    :math:`(M + \varepsilon I)^{-1}`. The shift :math:`\varepsilon` is just large enough for a
    factorisation without pivoting, which keeps the fill-in symmetric. It need not be small compared
    with the eigenvalues, because constants are projected out.

    Parameters
    ----------
    M : csc_array of shape (n, n)
        The matrix.
    k : int
        Number of eigenvectors, less than n.
    dense : bool, default=False
        Decompose the dense matrix instead. Use it for small n, or k close to n.

    Returns
    -------
    values : ndarray of shape (k,)
        The eigenvalues in ascending order.
    V : ndarray of shape (k, n)
        The eigenvectors as rows, with fixed signs.

    Examples
    --------
    >>> from scipy import sparse
    >>> path = sparse.csc_array([[1.0, -1, 0], [-1, 2, -1], [0, -1, 1]])
    >>> values, V = smallest_eigenvectors(path, 1, dense=True)
    >>> values.round(6), np.abs(V).round(3)
    (array([1.]), array([[0.707, 0.   , 0.707]]))
    """
    n = M.shape[0]
    scale = float(M.diagonal().mean()) or 1.0
    if dense:
        # Move the eigenvalue of constants to the upper end of the spectrum.
        raised = M.toarray() + 2 * float(abs(M).sum(axis=0).max() or 1) / n
        _, V = scipy.linalg.eigh(raised, subset_by_index=(0, k - 1))
    else:
        shifted = M.copy()
        shifted.setdiag(M.diagonal() + RELATIVE_SHIFT * scale)
        lu = splu(
            shifted,
            permc_spec="MMD_AT_PLUS_A",
            diag_pivot_thresh=0.0,
            options={"SymmetricMode": True},
        )

        def solve(v: np.ndarray) -> np.ndarray:
            v = v.reshape(-1)
            y = lu.solve(v - v.mean())
            return y - y.mean()

        inverse = LinearOperator((n, n), matvec=solve, dtype=np.float64)
        start = np.random.default_rng(0).uniform(-1, 1, n)
        _, V = eigsh(inverse, k, which="LM", v0=start - start.mean(), ncv=min(n, 2 * k + 6))
    values = np.maximum(np.einsum("ij,ij->j", V, M @ V), 0)
    order = np.argsort(values, kind="stable")
    return values[order], fixed_signs(V[:, order].T)
