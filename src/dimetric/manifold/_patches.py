r"""The local geometry of neighbourhoods, for locally linear embedding and its relatives.

A patch is a sample with its k nearest neighbours (for Hessians the neighbours alone). Each method
has a matrix :math:`P_i` for the patch of sample i: :math:`y^T P_i y` is small for coordinates y of
the patch that fit the local geometry. The embedding makes :math:`y^T M y` small, with M the sum of
all patches. All functions work on many patches at once.
"""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from dimetric._arrays.blocks import row_blocks

Patch = Callable[[np.ndarray], np.ndarray]  # from (b, p, d) coordinates to (b, p, p) matrices


def reconstruction_weights(
    X: np.ndarray, points: np.ndarray, neighbors: np.ndarray, reg: float
) -> np.ndarray:
    r"""Return the weights, summing to 1, by which neighbours reconstruct each sample best.

    .. math:: \min_w |x - \sum_j w_j p_j|^2 + \rho |w|^2, \quad
              \rho = \mathrm{reg} \cdot \sum_j |x - p_j|^2

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Samples.
    points : ndarray of shape (m, d)
        Points that the neighbours are among.
    neighbors : ndarray of shape (n, k)
        Rows of `points`.
    reg : float
        Ridge of the Gram matrix; at least the size of rounding errors.

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
    r"""Return the weights of neighbours, given as differences of shape (b, k, d).

    They are proportional to :math:`(C C^T + \rho I)^{-1} 1`. With fewer features than neighbours,
    the smaller system is solved (Woodbury's identity).
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


def alignment(
    X: np.ndarray, neighbors: np.ndarray, n_components: int, *, method: str, reg: float
) -> Any:
    r"""Return the matrix M whose smallest eigenvectors are the embedding; :math:`M 1 = 0`.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Samples.
    neighbors : ndarray of shape (n, k)
        Of each sample.
    n_components : int
        Dimension of the tangent spaces.
    method : {"standard", "modified", "hessian", "ltsa"}
        See :class:`~dimetric.manifold.lle.LLE`.
    reg : float
        Of :func:`reconstruction_weights`.

    Returns
    -------
    M : csc_array of shape (n, n)
        Symmetric, positive semidefinite.
    """
    n, k = neighbors.shape
    if method == "ltsa":
        return _sum_of(partial(tangent_patch, n_components=n_components), X, _patches(neighbors))
    if method == "hessian":
        # Neighbours alone: at the end of a curve several samples share one patch, and only without
        # themselves they give different equations. A sample that is no one's neighbour would be in
        # no equation, so its patch with itself is added.
        alone = np.bincount(neighbors.ravel(), minlength=n) == 0
        patch = partial(hessian_patch, n_components=n_components)
        M = _sum_of(patch, X, neighbors)
        return M + _sum_of(patch, X, _patches(neighbors)[alone]) if alone.any() else M
    if method == "modified":
        limit = _null_share(X, neighbors, n_components)
        patch = partial(modified_patch, n_components=n_components, reg=reg, limit=limit)
        return _sum_of(patch, X, _patches(neighbors))
    weights = reconstruction_weights(X, X, neighbors, reg)
    values = np.hstack([np.ones((n, 1)), -weights]).ravel()
    starts = np.arange(0, n * (k + 1) + 1, k + 1)
    R = sparse.csr_array((values, _patches(neighbors).ravel(), starts), shape=(n, n))
    return (R.T.tocsr() @ R).T  # symmetric: the transpose only has another format


def tangent_patch(P: np.ndarray, n_components: int) -> np.ndarray:
    """Return the projection away from constants and the coordinates in the tangent space."""
    C = P - P.mean(axis=1, keepdims=True)
    U = _left_singular(C)[0][:, :, :n_components]
    p = P.shape[1]
    return np.eye(p) - 1 / p - U @ U.transpose(0, 2, 1)


def hessian_patch(P: np.ndarray, n_components: int) -> np.ndarray:
    """Return the sum of squared second derivatives in the tangent space, as a quadratic form.

    The second derivatives are the coefficients of products of two coordinates, after these are made
    orthogonal to constants and coordinates.
    """
    C = P - P.mean(axis=1, keepdims=True)
    U = _left_singular(C)[0][:, :, :n_components]
    first, second = np.triu_indices(n_components)
    forms = [np.ones_like(U[:, :, :1]), U, U[:, :, first] * U[:, :, second]]
    Q = np.linalg.qr(np.concatenate(forms, axis=2))[0][:, :, n_components + 1 :]
    return Q @ Q.transpose(0, 2, 1)


def modified_patch(P: np.ndarray, n_components: int, reg: float, limit: float) -> np.ndarray:
    r"""Return the sum of the errors of several reconstructions, by independent weights.

    The s weights are the columns of :math:`V H + (1 - \alpha) w 1^T`: V spans the directions in
    which the neighbours hardly spread, w are the regularised weights, and the Householder matrix H
    makes each column of :math:`V H` sum to :math:`\alpha = |V^T 1| / \sqrt{s}`. In the sum of the
    errors V and H leave no trace but the projection :math:`V V^T`.
    """
    b, k = len(P), P.shape[1] - 1
    C = P[:, 1:] - P[:, :1]
    U, spread = _left_singular(C)
    kept = _n_kept(spread, n_components, k, limit)
    U = U * (np.arange(U.shape[2]) < kept[:, None])[:, None, :]
    project = np.eye(k) - U @ U.transpose(0, 2, 1)
    of_ones, s = project.sum(axis=2), (k - kept).astype(float)
    alpha = np.sqrt(np.maximum(of_ones.sum(axis=1), 0) / s)[:, None]
    ones = np.divide(of_ones, alpha, out=np.zeros_like(of_ones), where=alpha > 1e-12)
    w = (1 - alpha) * _weights(C, reg)
    cross = ones[:, :, None] * w[:, None, :]
    M = np.empty((b, k + 1, k + 1))
    M[:, 0, 0] = s
    M[:, 1:, 0] = M[:, 0, 1:] = -(ones + s[:, None] * w)
    M[:, 1:, 1:] = project + cross + cross.transpose(0, 2, 1)
    M[:, 1:, 1:] += s[:, None, None] * w[:, :, None] * w[:, None, :]
    return M


def _null_share(X: np.ndarray, neighbors: np.ndarray, n_components: int) -> float:
    """Return the median ratio of the spread outside the tangent space to that inside."""
    (n, k), shares = neighbors.shape, []
    for b in _blocks(n, k, X.shape[1]):
        spread = _left_singular(X[neighbors[b]] - X[b][:, None])[1]
        inside = spread[:, :n_components].sum(axis=1)
        shares.append(spread[:, n_components:].sum(axis=1) / inside)
    return float(np.median(np.concatenate(shares)))


def _n_kept(spread: np.ndarray, n_components: int, k: int, limit: float) -> np.ndarray:
    """Return the number of directions of each patch that are not null directions.

    The remaining directions have less than `limit` of their spread. There are at least as many as
    the tangent space has, and at most all but one.
    """
    total = np.cumsum(spread, axis=1)
    rest = total[:, -1:] / total[:, :-1] - 1
    kept = spread.shape[1] - np.sum(rest < limit, axis=1)
    return np.clip(kept, min(n_components, k - 1), k - 1)


def _left_singular(C: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return orthonormal columns and squared singular values of each matrix, largest first."""
    if C.shape[2] < C.shape[1]:
        U, s, _ = np.linalg.svd(C, full_matrices=False)
        return U, s**2
    values, V = np.linalg.eigh(C @ C.transpose(0, 2, 1))
    return V[:, :, ::-1], np.maximum(values[:, ::-1], 0)


def _sum_of(patch: Patch, X: np.ndarray, members: np.ndarray) -> Any:
    """Return the sum over all patches, each in the rows and columns of its members."""
    n, p = len(X), members.shape[1]
    M = sparse.csc_array((n, n))
    for b in _blocks(len(members), p, X.shape[1]):
        own = members[b]
        shape = (len(own), p, p)
        rows = np.broadcast_to(own[:, :, None], shape).ravel()
        columns = np.broadcast_to(own[:, None, :], shape).ravel()
        M = M + sparse.csc_array((patch(X[own]).ravel(), (rows, columns)), shape=(n, n))
    return M


def _patches(neighbors: np.ndarray) -> np.ndarray:
    """Return the members of each patch: the sample, then its neighbours."""
    n = len(neighbors)
    # Indices of half the size make a sparse product faster.
    index = np.int32 if n < 2**31 else np.int64
    return np.hstack([np.arange(n)[:, None], neighbors]).astype(index)


def _blocks(n: int, p: int, d: int) -> Iterator[slice]:
    """Yield blocks of samples whose patches need a few megabytes."""
    return row_blocks(n, max(1, 2**20 // (p * max(p, d))))
