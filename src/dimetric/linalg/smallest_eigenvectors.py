"""Eigenvectors for the smallest eigenvalues of a large sparse matrix with constant null vector."""

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg
from scipy.sparse import csgraph
from scipy.sparse.linalg import LinearOperator, eigsh, splu

from dimetric.linalg.spectral import fixed_signs

RELATIVE_SHIFT = 1e-13  # shift for the factorisation, relative to the mean of the diagonal
PIVOT_THRESHOLD = 0.1  # of the factorisation of a root; smaller pivots are exchanged
MAX_RESIDUAL = 1e-9  # of eigenvectors computed from a root, relative to the mean of the diagonal

Solve = Callable[[np.ndarray], np.ndarray]


def smallest_eigenvectors(
    M: Any, k: int, *, dense: bool = False, root: Any = None
) -> tuple[np.ndarray, np.ndarray]:
    r"""Return the k smallest eigenvalues of M and their eigenvectors, except the constant one.

    M is symmetric and positive semidefinite, with :math:`M 1 = 0`. The constant eigenvector is left
    out, and the others are orthogonal to it. The method is a Lanczos iteration on the inverse of M
    among vectors with mean 0, which uses a factorisation of M or of a root of it.

    Parameters
    ----------
    M : csc_array of shape (n, n)
        The matrix.
    k : int
        Number of eigenvectors, less than n.
    dense : bool, default=False
        Decompose the dense matrix instead. Use it for small n, or k close to n.
    root : sparse array of shape (n, n), optional
        A matrix R with :math:`M = R^T R` and :math:`R 1 = 0`. It has fewer entries than M, so its
        factors have fewer entries too.

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
    if dense:
        # Move the eigenvalue of constants to the upper end of the spectrum.
        raised = M.toarray() + 2 * float(abs(M).sum(axis=0).max() or 1) / M.shape[0]
        _, V = scipy.linalg.eigh(raised, subset_by_index=(0, k - 1))
        return _sorted_pairs(M, V)
    solve = None if root is None else _solve_by_root(root)
    if solve is not None:
        values, V = _sorted_pairs(M, _largest_of_inverse(solve, M.shape[0], k))
        residuals = np.linalg.norm(M @ V.T - V.T * values, axis=0)
        if residuals.max() <= MAX_RESIDUAL * float(M.diagonal().mean()):
            return values, V
    return _sorted_pairs(M, _largest_of_inverse(_solve_by_factors(M), M.shape[0], k))


def _sorted_pairs(M: Any, V: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the eigenvalues in ascending order, and the eigenvectors as rows with fixed signs."""
    values = np.maximum(np.einsum("ij,ij->j", V, M @ V), 0)
    order = np.argsort(values, kind="stable")
    return values[order], fixed_signs(V[:, order].T)


def _largest_of_inverse(solve: Solve, n: int, k: int) -> np.ndarray:
    """Return the eigenvectors of the k largest eigenvalues of the inverse, as columns."""

    def product(v: np.ndarray) -> np.ndarray:
        v = v.reshape(-1)
        y = solve(v - v.mean())
        return y - y.mean()

    inverse = LinearOperator((n, n), matvec=product, dtype=np.float64)
    start = np.random.default_rng(0).uniform(-1, 1, n)
    return eigsh(inverse, k, which="LM", v0=start - start.mean(), ncv=min(n, 2 * k + 6))[1]


def _solve_by_factors(M: Any) -> Solve:
    r"""Return the solver of :math:`(M + \varepsilon I) x = b`.

    The shift :math:`\varepsilon` is just large enough for a factorisation without pivoting, which
    keeps the fill-in symmetric. It need not be small compared with the eigenvalues, because
    constants are projected out.
    """
    shifted = M.copy()
    shifted.setdiag(M.diagonal() + RELATIVE_SHIFT * (float(M.diagonal().mean()) or 1.0))
    lu = splu(
        shifted,
        permc_spec="MMD_AT_PLUS_A",
        diag_pivot_thresh=0.0,
        options={"SymmetricMode": True},
    )
    return lu.solve


def _solve_by_root(R: Any) -> Solve | None:
    r"""Return a solver of :math:`R^T R x = b` for b with mean 0, or None if R has further nulls.

    With 1 added to the diagonal entry i, R becomes a regular matrix S. A solution with
    :math:`x_i = 0` has :math:`S x = R x`, so :math:`S^T S x = b + c e_i` for the number c that
    makes :math:`x_i` 0. This needs :math:`u_i \ne 0` for the left null vector u of R. It is only
    positive where chains of rows from every sample end, in a closed group of samples. Each further
    closed group adds a null vector.
    """
    n_groups, label = csgraph.connected_components(R, connection="strong")
    entries = R.tocoo()
    leaves = label[entries.row] != label[entries.col]
    closed = np.setdiff1d(np.arange(n_groups), label[entries.row[leaves]])
    if len(closed) != 1:
        return None
    weight = np.abs(R).sum(axis=0)  # u is large at samples with large weights in many rows
    i = int(np.argmax(np.where(label == closed[0], weight, 0)))
    S, unit = R.tolil(), np.eye(1, R.shape[0], i)[0]
    S[i, i] += 1.0
    try:
        lu = splu(
            S.tocsc(),
            permc_spec="MMD_AT_PLUS_A",
            diag_pivot_thresh=PIVOT_THRESHOLD,
            options={"SymmetricMode": True},
        )
    except RuntimeError:  # singular up to rounding
        return None
    at_unit = lu.solve(lu.solve(unit, "T"))

    def solve(b: np.ndarray) -> np.ndarray:
        x = lu.solve(lu.solve(b, "T"))
        return x - (x[i] / at_unit[i]) * at_unit

    return solve
