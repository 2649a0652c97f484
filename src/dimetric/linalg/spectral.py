"""Eigenproblems of the learners: trace maximisation, ratios of scatters, and their sign rule."""

from collections.abc import Callable

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, svds

from dimetric._arrays.namespaces import Array, eps, largest_eigenpairs, like, namespace, to_host


def fixed_signs(V: Array) -> Array:
    """Return the rows of V with their largest absolute entry positive.

    Eigenvectors are defined up to sign only; this makes them reproducible. Of entries that are
    equally large but for rounding the first counts.

    Examples
    --------
    >>> fixed_signs(np.array([[0.6, -0.8], [0.8, 0.6]]))
    array([[-0.6,  0.8],
           [ 0.8,  0.6]])
    """
    xp = namespace(V)
    size = xp.abs(V)
    largest = size >= (1 - 1e-6) * xp.max(size, axis=1, keepdims=True)
    top = xp.argmax(xp.astype(largest, xp.int64), axis=1)
    at_top = xp.take_along_axis(V, top[:, None], axis=1)
    return V * xp.where(at_top < 0, -xp.ones_like(at_top), xp.ones_like(at_top))


def in_span(X: Array, extra: int) -> tuple[Array, Callable[[Array], Array]]:
    """Return samples in coordinates of their span, and the way back for the rows of a map.

    With fewer samples than features, all directions outside the span are alike to whatever depends
    on differences of samples only: `extra` of them are taken along. Where the coordinates would
    not be fewer than the features, X is left as it is.
    """
    xp = namespace(X)
    n, d = X.shape
    if n + extra >= d:
        return X, lambda L: L
    X = xp.astype(X, xp.float64)
    X = X - xp.mean(X, axis=0)
    room = xp.zeros((d, extra), dtype=X.dtype, device=X.device)
    # Householder's Q has orthonormal columns whatever the rank.
    Q = xp.linalg.qr(xp.concat([X.T, room], axis=1), mode="reduced").Q
    return X @ Q, lambda L: fixed_signs(L @ Q.T)


def top_eigenvectors(S: Array, k: int) -> tuple[Array, Array]:
    r"""Maximise :math:`\mathrm{tr}(V S V^T)` over :math:`V V^T = I` with k rows.

    Parameters
    ----------
    S : array of shape (d, d)
        Symmetric.
    k : int
        Number of rows.

    Returns
    -------
    values : array of shape (k,)
        The k largest eigenvalues, descending.
    V : array of shape (k, d)
        Their eigenvectors as rows, signs fixed.

    Examples
    --------
    >>> top_eigenvectors(np.diag([1.0, 3.0]), 1)
    (array([3.]), array([[0., 1.]]))
    """
    values, V = largest_eigenpairs(S, k)
    return values, fixed_signs(V)


def top_singular(R: Array, k: int) -> tuple[Array, Array]:
    """Return the k largest singular values of R, and its right singular vectors as rows.

    The same as :func:`top_eigenvectors` of ``R.T @ R``, without squaring the conditioning.
    """
    _, s, V = namespace(R).linalg.svd(R, full_matrices=False)
    return s[:k], fixed_signs(V[:k, :])


def whitening(
    B: Array,
    *,
    is_root: bool,
    ridge: float = 0.0,
    by_feature: bool = True,
    rounding: Array | float = 0.0,
) -> tuple[Array, bool]:
    r"""Return T with :math:`T (B + \rho I) T^T = I`, as many rows as that has rank.

    Without a ridge the whitening lives in the range of B; directions that hold nothing but
    rounding errors are left out.

    Parameters
    ----------
    B : array of shape (d, d), or (m, d)
        A scatter matrix, or a root R of it, :math:`B = R^T R`.
    is_root : bool
        Which of them. A root costs more and does not square the conditioning.
    ridge : float, default=0.0
        :math:`\rho`.
    by_feature : bool, default=True
        Bring the coordinates to one scale first: a feature in millimetres then does not pass for
        a null direction beside one in kilometres.
    rounding : array of shape (d,) or float, default=0.0
        Deviations that rounding alone can give the coordinates, as of a feature that is the sum of
        others. Not looked at with a ridge.

    Returns
    -------
    T : array of shape (rank, d)
        The whitening.
    reliable : bool
        False where B is so ill-conditioned that its small directions have lost half their digits;
        a root would have kept them.
    """
    xp = namespace(B)
    d = B.shape[1]
    if ridge > 0:
        eye = xp.eye(d, dtype=B.dtype, device=B.device)
        B = xp.concat([B, ridge**0.5 * eye]) if is_root else B + ridge * eye
        rounding = 0.0
    scale = xp.sqrt(xp.sum(B * B, axis=0)) if is_root else xp.sqrt(xp.linalg.diagonal(B))
    flat = scale <= rounding
    empty = int(xp.sum(xp.astype(flat, xp.int64)))
    scale = xp.where(flat, xp.inf, scale) if by_feature else xp.ones_like(scale)
    if is_root:
        _, s, V = xp.linalg.svd(B / scale, full_matrices=False)
    else:
        values, V = largest_eigenpairs(B / scale / scale[:, None], d)
        s = xp.sqrt(xp.clip(values, 0))
    noise = max(B.shape) * eps(B) * s[0]
    if not is_root:
        noise = (noise * s[0]) ** 0.5
    noise = xp.maximum(noise, d**0.5 * xp.max(rounding / scale))
    rank = int(xp.sum(xp.astype(s > noise, xp.int64)))
    smallest = s[d - empty - 1] if not is_root and empty < d else s[0]
    reliable = is_root or bool(smallest**2 >= eps(B) ** 0.5 * s[0] ** 2)
    return V[:rank, :] / s[:rank, None] / scale, reliable


def top_ratio(A: Array, T: Array, k: int, *, is_root: bool) -> tuple[Array, Array, Array]:
    r"""Maximise :math:`\mathrm{tr}((L B L^T)^{-1} L A L^T)`, scaled so that :math:`L B L^T = I`.

    The rows of L are eigenvectors of :math:`B^{-1} A` for its k largest eigenvalues, found in the
    coordinates where B is the identity.

    Parameters
    ----------
    A : array of shape (d, d), or (m, d)
        A symmetric matrix, or a root R of it, :math:`A = R^T R`: where B is ill-conditioned, T is
        large, and only a root comes through without loss.
    T : array of shape (r, d)
        A :func:`whitening` of B.
    k : int
        Number of rows, at most r.
    is_root : bool
        Which of them A is.

    Returns
    -------
    values : array of shape (k,)
        Eigenvalues, descending.
    L : array of shape (k, d)
        Signs fixed.
    total : array
        Sum of all eigenvalues.
    """
    xp = namespace(T)
    if not is_root:
        whitened = T @ A @ T.T
        values, V = largest_eigenpairs((whitened + whitened.T) / 2, k)
        return values, fixed_signs(V @ T), xp.linalg.trace(whitened)
    R = A @ T.T
    missing = k - R.shape[0]
    if missing > 0:  # the rest has eigenvalue 0
        R = xp.concat([R, xp.zeros((missing, R.shape[1]), dtype=R.dtype, device=R.device)])
    _, s, V = xp.linalg.svd(R, full_matrices=False)
    return s[:k] ** 2, fixed_signs(V[:k, :] @ T), xp.sum(s**2)


def lanczos_svd(
    X: Array, mean: Array, k: int, start: np.ndarray, tol: float
) -> tuple[Array, Array]:
    """Return the k largest singular values and right vectors of ``X - mean``, by Lanczos (ARPACK).

    Only products with vectors are taken, so that a sparse X is never centred in memory.
    """
    product, transposed = _centred_products(X, mean)
    operator = LinearOperator(
        shape=X.shape,
        dtype=to_host(mean).dtype,
        matvec=lambda v: to_host(product(like(v.reshape(-1), mean))),
        rmatvec=lambda v: to_host(transposed(like(v.reshape(-1), mean))),
    )
    _, s, V = svds(operator, k=k, tol=tol, v0=start, solver="arpack", return_singular_vectors="vh")
    order = np.argsort(-s)
    return like(s[order], mean), fixed_signs(like(V[order], mean))


def randomized_svd(
    X: Array, mean: Array, k: int, start: np.ndarray, n_iter: int
) -> tuple[Array, Array]:
    """Return about the k largest singular values and right vectors of ``X - mean``.

    A block power iteration from the random columns of `start` [1]_, one orthonormalisation a step.

    References
    ----------
    .. [1] N. Halko, P.-G. Martinsson, J. A. Tropp, "Finding structure with randomness", SIAM
       Review 53, 2011.
    """
    xp = namespace(mean)
    product, transposed = _centred_products(X, mean)
    Q = like(start, mean)
    for _ in range(n_iter + 1):
        Q = xp.linalg.qr(transposed(product(Q)), mode="reduced").Q
    _, s, W = xp.linalg.svd(product(Q), full_matrices=False)
    return s[:k], fixed_signs((W @ Q.T)[:k, :])


def _centred_products(
    X: Array, mean: Array
) -> tuple[Callable[[Array], Array], Callable[[Array], Array]]:
    """Return the products of ``X - mean`` and of its transpose with a vector or a matrix.

    Dense samples are centred once: a difference of products would lose what the mean outweighs.
    """
    xp = namespace(mean)
    if not sparse.issparse(X):
        centred = X - mean
        return lambda v: centred @ v, lambda u: centred.T @ u

    def product(v: Array) -> Array:
        return X @ v - mean @ v

    def transposed(u: Array) -> Array:
        total = xp.sum(u, axis=0)
        return X.T @ u - (mean[:, None] * total if u.ndim == 2 else mean * total)

    return product, transposed
