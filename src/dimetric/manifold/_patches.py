r"""Local geometry of neighbourhoods, for locally linear embedding and its variants.

A patch is a sample with its k nearest neighbours (for Hessians, only the neighbours). Each method
defines a matrix :math:`P_i` for the patch of sample i: :math:`y^T P_i y` is small if the
coordinates y of the patch fit the local geometry. The embedding minimises :math:`y^T M y`, where M
is the sum of all :math:`P_i`. All functions process many patches at once.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from dimetric._arrays.blocks import row_blocks

BLOCK_ENTRIES = 2**20  # numbers in the patches of a block, which take 8 MiB

Patch = Callable[[np.ndarray], np.ndarray]  # from (b, p, d) coordinates to (b, p, p) matrices


def reconstruction_weights(
    X: np.ndarray, points: np.ndarray, neighbors: np.ndarray, reg: float
) -> np.ndarray:
    r"""Return the weights, summing to 1, with which neighbours best reconstruct each sample.

    .. math:: \min_w |x - \sum_j w_j p_j|^2 + \rho |w|^2, \quad
              \rho = \mathrm{reg} \cdot \sum_j |x - p_j|^2

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Samples.
    points : ndarray of shape (m, d)
        Points p, which include the neighbours.
    neighbors : ndarray of shape (n, k)
        Row indices into `points` of the neighbours of each sample.
    reg : float
        Ridge, relative to the sum of squared distances. A minimum of a few rounding errors
        prevents singular systems.

    Returns
    -------
    weights : ndarray of shape (n, k)

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [3.0]])
    >>> reconstruction_weights(X[1:2], X, np.array([[0, 2]]), reg=0.0).round(3)
    array([[0.667, 0.333]])
    """
    n, k = neighbors.shape
    weights = np.empty((n, k))
    for b in _blocks(n, k, X.shape[1]):
        weights[b] = _weights(points[neighbors[b]] - X[b][:, None], reg)
    return weights


def _weights(C: np.ndarray, reg: float) -> np.ndarray:
    r"""Return the weights of neighbours, given their differences C from the sample.

    C has shape (b, k, d). The weights are proportional to :math:`(C C^T + \rho I)^{-1} 1`. With
    fewer features than neighbours, Woodbury's identity gives a smaller system.
    """
    b, k, d = C.shape
    square = np.einsum("nkd,nkd->n", C, C)
    ridge = np.where(square > 0, max(reg, 10 * k * np.finfo(float).eps) * square, 1)
    transposed = C.transpose(0, 2, 1)
    G = transposed @ C if d < k else C @ transposed
    diagonal = np.arange(min(d, k))
    G[:, diagonal, diagonal] += ridge[:, None]
    if d < k:
        w = 1 - (C @ np.linalg.solve(G, C.sum(axis=1)[:, :, None]))[:, :, 0]
    else:
        w = np.linalg.solve(G, np.ones((b, k, 1)))[:, :, 0]
    return w / w.sum(axis=1, keepdims=True)


def alignment_matrix(
    X: np.ndarray, neighbors: np.ndarray, n_components: int, *, method: str, reg: float
) -> Any:
    r"""Return the matrix M whose eigenvectors with the smallest eigenvalues are the embedding.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Samples.
    neighbors : ndarray of shape (n, k)
        Row indices of the neighbours of each sample.
    n_components : int
        Dimension of the tangent spaces.
    method : {"standard", "modified", "hessian", "ltsa"}
        See :class:`~dimetric.manifold.lle.LLE`.
    reg : float
        Ridge of :func:`reconstruction_weights`.

    Returns
    -------
    M : csc_array of shape (n, n)
        Symmetric and positive semidefinite, with :math:`M 1 = 0`.
    """
    n = len(neighbors)
    if method == "ltsa":
        return _sum_of_patches(
            partial(tangent_patch, n_components=n_components), X, _patch_members(neighbors)
        )
    if method == "hessian":
        # Patches contain only the neighbours. If they contained the sample too, the patches of the
        # samples at the end of a curve would be equal and repeat one equation. A sample that is
        # not a neighbour of any other is in no such patch, so a patch with the sample is added.
        unused = np.bincount(neighbors.ravel(), minlength=n) == 0
        patch = partial(hessian_patch, n_components=n_components)
        M = _sum_of_patches(patch, X, neighbors)
        return (
            M + _sum_of_patches(patch, X, _patch_members(neighbors)[unused]) if unused.any() else M
        )
    if method == "modified":
        limit = _null_ratio(X, neighbors, n_components)
        patch = partial(modified_patch, n_components=n_components, reg=reg, limit=limit)
        return _sum_of_patches(patch, X, _patch_members(neighbors))
    return squared_root(reconstruction_root(X, neighbors, reg))


def reconstruction_root(X: np.ndarray, neighbors: np.ndarray, reg: float) -> Any:
    r"""Return the matrix :math:`R = I - W` of the method "standard", with :math:`M = R^T R`."""
    n, k = neighbors.shape
    weights = reconstruction_weights(X, X, neighbors, reg)
    values = np.hstack([np.ones((n, 1)), -weights]).ravel()
    starts = np.arange(0, n * (k + 1) + 1, k + 1)
    return sparse.csr_array((values, _patch_members(neighbors).ravel(), starts), shape=(n, n))


def squared_root(R: Any) -> Any:
    """Return the matrix ``R.T @ R`` in the format CSC."""
    return (R.T.tocsr() @ R).T  # symmetric: transposing only changes the format


def tangent_patch(P: np.ndarray, n_components: int) -> np.ndarray:
    """Return the projection orthogonal to constants and to the tangent space coordinates."""
    C = P - P.mean(axis=1, keepdims=True)
    U = _left_singular(C)[0][:, :, :n_components]
    p = P.shape[1]
    return np.eye(p) - 1 / p - U @ U.transpose(0, 2, 1)


def hessian_patch(P: np.ndarray, n_components: int) -> np.ndarray:
    """Return the sum of squared second derivatives in the tangent space, as a quadratic form.

    The second derivatives are the coefficients of products of two coordinates. The products are
    first made orthogonal to constants and coordinates.
    """
    C = P - P.mean(axis=1, keepdims=True)
    U = _left_singular(C)[0][:, :, :n_components]
    first, second = np.triu_indices(n_components)
    forms = [np.ones_like(U[:, :, :1]), U, U[:, :, first] * U[:, :, second]]
    Q = np.linalg.qr(np.concatenate(forms, axis=2))[0][:, :, n_components + 1 :]
    return Q @ Q.transpose(0, 2, 1)


def modified_patch(P: np.ndarray, n_components: int, reg: float, limit: float) -> np.ndarray:
    r"""Return the matrix of the summed errors of several reconstructions of a sample.

    The s weight vectors are the columns of :math:`V H + (1 - \alpha) w 1^T`. V spans the directions
    in which the neighbours hardly vary, w is the vector of regularised weights, and the Householder
    matrix H makes each column of :math:`V H` sum to :math:`\alpha = |V^T 1| / \sqrt{s}`. The sum of
    the errors depends on V and H only through the projection :math:`V V^T`.
    """
    b, k = len(P), P.shape[1] - 1
    C = P[:, 1:] - P[:, :1]
    U, spread = _left_singular(C)
    kept = _n_kept(spread, n_components, k, limit)
    U = U * (np.arange(U.shape[2]) < kept[:, None])[:, None, :]
    project = np.eye(k) - U @ U.transpose(0, 2, 1)
    projected_ones, s = project.sum(axis=2), (k - kept).astype(float)
    alpha = np.sqrt(np.maximum(projected_ones.sum(axis=1), 0) / s)[:, None]
    zeros = np.zeros_like(projected_ones)
    sum_of_columns = np.divide(projected_ones, alpha, out=zeros, where=alpha > 1e-12)  # of V H
    w = (1 - alpha) * _weights(C, reg)
    cross = sum_of_columns[:, :, None] * w[:, None, :]
    M = np.empty((b, k + 1, k + 1))
    M[:, 0, 0] = s
    M[:, 1:, 0] = M[:, 0, 1:] = -(sum_of_columns + s[:, None] * w)
    M[:, 1:, 1:] = project + cross + cross.transpose(0, 2, 1)
    M[:, 1:, 1:] += s[:, None, None] * w[:, :, None] * w[:, None, :]
    return M


def _null_ratio(X: np.ndarray, neighbors: np.ndarray, n_components: int) -> float:
    """Return the median ratio of the spread outside the tangent space to the spread inside."""
    (n, k), ratios = neighbors.shape, []
    for b in _blocks(n, k, X.shape[1]):
        spread = _left_singular(X[neighbors[b]] - X[b][:, None])[1]
        inside = spread[:, :n_components].sum(axis=1)
        ratios.append(spread[:, n_components:].sum(axis=1) / inside)
    return float(np.median(np.concatenate(ratios)))


def _n_kept(spread: np.ndarray, n_components: int, k: int, limit: float) -> np.ndarray:
    """Return the number of directions of each patch that are not null directions.

    The spread in null directions is less than `limit` times the spread in the other directions.
    The number is at least the dimension of the tangent space, and at most k - 1, which leaves one
    weight vector.
    """
    total = np.cumsum(spread, axis=1)
    ratio = total[:, -1:] / total[:, :-1] - 1  # spread in the further directions, over the first
    kept = spread.shape[1] - np.sum(ratio < limit, axis=1)
    return np.clip(kept, min(n_components, k - 1), k - 1)


def _left_singular(C: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the left singular vectors and squared singular values of matrices, largest first."""
    if C.shape[2] < C.shape[1]:
        U, s, _ = np.linalg.svd(C, full_matrices=False)
        return U, s**2
    values, V = np.linalg.eigh(C @ C.transpose(0, 2, 1))
    return V[:, :, ::-1], np.maximum(values[:, ::-1], 0)


def _sum_of_patches(patch: Patch, X: np.ndarray, members: np.ndarray) -> Any:
    """Return the sum of all patch matrices, each in the rows and columns of its members."""
    n, p = len(X), members.shape[1]
    M = sparse.csc_array((n, n))
    for b in _blocks(len(members), p, X.shape[1]):
        rows_of_patch = members[b]
        shape = (len(rows_of_patch), p, p)
        rows = np.broadcast_to(rows_of_patch[:, :, None], shape).ravel()
        columns = np.broadcast_to(rows_of_patch[:, None, :], shape).ravel()
        M = M + sparse.csc_array((patch(X[rows_of_patch]).ravel(), (rows, columns)), shape=(n, n))
    return M


def _patch_members(neighbors: np.ndarray) -> np.ndarray:
    """Return the members of each patch: the sample, then its neighbours."""
    n = len(neighbors)
    # 32-bit indices make sparse products faster.
    dtype = np.int32 if n <= np.iinfo(np.int32).max else np.int64
    return np.hstack([np.arange(n)[:, None], neighbors]).astype(dtype)


def _blocks(n: int, p: int, d: int) -> Iterator[slice]:
    """Yield blocks of samples whose patches take a few megabytes."""
    return row_blocks(n, max(1, BLOCK_ENTRIES // (p * max(p, d))))
