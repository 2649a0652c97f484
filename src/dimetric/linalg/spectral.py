"""Eigenproblems of scatter matrices, whitening, truncated SVD, and signs of eigenvectors."""

from collections.abc import Callable
from contextlib import nullcontext

import array_api_compat as compat
import numpy as np
from scipy import sparse
from scipy.linalg.lapack import dpotrf, dtrtri
from scipy.sparse.linalg import LinearOperator, svds

from dimetric._arrays.blas_limit import one_blas_thread
from dimetric._arrays.namespaces import (
    MAX_SIZE_ON_ONE_THREAD,
    Array,
    asarray_like,
    eps,
    largest_eigenpairs,
    namespace,
    to_host,
)

TIE_TOLERANCE = 1e-6  # relative difference up to which two entries count as equally large


def fixed_signs(V: Array) -> Array:
    """Return V with each row's sign chosen to make its entry of largest absolute value positive.

    Eigenvectors are defined only up to sign, and this makes them reproducible. If several entries
    are the largest up to rounding, the first one decides.

    Examples
    --------
    >>> fixed_signs(np.array([[0.6, -0.8], [0.8, 0.6]]))
    array([[-0.6,  0.8],
           [ 0.8,  0.6]])
    """
    xp = namespace(V)
    size = xp.abs(V)
    largest = size >= (1 - TIE_TOLERANCE) * xp.max(size, axis=1, keepdims=True)
    top = xp.argmax(xp.astype(largest, xp.int64), axis=1)
    at_top = xp.take_along_axis(V, top[:, None], axis=1)
    return V * xp.where(at_top < 0, -xp.ones_like(at_top), xp.ones_like(at_top))


def top_eigenvectors(S: Array, k: int) -> tuple[Array, Array]:
    r"""Maximise :math:`\mathrm{tr}(V S V^T)` over matrices V with k orthonormal rows.

    Parameters
    ----------
    S : array of shape (d, d)
        Symmetric matrix.
    k : int
        Number of rows of V.

    Returns
    -------
    values : array of shape (k,)
        The k largest eigenvalues in descending order.
    V : array of shape (k, d)
        The corresponding eigenvectors as rows, with fixed signs.

    Examples
    --------
    >>> top_eigenvectors(np.diag([1.0, 3.0]), 1)
    (array([3.]), array([[0., 1.]]))
    """
    values, V = largest_eigenpairs(S, k)
    return values, fixed_signs(V)


def top_singular(R: Array, k: int) -> tuple[Array, Array]:
    """Return the k largest singular values of R, and the right singular vectors as rows.

    The squared values and the vectors are those of :func:`top_eigenvectors` for ``R.T @ R``, but
    the condition number is not squared.
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
    triangular: bool = False,
) -> tuple[Array, bool]:
    r"""Return a whitening T of B, with :math:`T (B + \rho I) T^T = I`.

    The number of rows of T is the rank of :math:`B + \rho I`. Without a ridge, directions in which
    B holds only rounding errors are left out.

    Parameters
    ----------
    B : array of shape (d, d), or (m, d)
        A scatter matrix, or a root R of it with :math:`B = R^T R`.
    is_root : bool
        Whether B is a root. A root takes longer, but does not square the condition number.
    ridge : float, default=0.0
        The ridge :math:`\rho`.
    by_feature : bool, default=True
        Scale the features to equal spread first, so that a feature with small values is not
        mistaken for a null direction.
    rounding : array of shape (d,) or float, default=0.0
        Bounds on the deviations that rounding alone can cause in each feature, for example in a
        feature that is the sum of others. They are ignored if there is a ridge.
    triangular : bool, default=False
        Whether T may be triangular, for callers that can use any whitening. If B is a
        well-conditioned scatter matrix, T is then computed without eigenvectors.

    Returns
    -------
    T : array of shape (rank, d)
        The whitening.
    reliable : bool
        False if B is so ill-conditioned that its directions of small variance lost half of their
        digits. Pass a root of B then.
    """
    xp = namespace(B)
    d = B.shape[1]
    # Without scaling, the ridge only adds to the squared singular values of a root.
    adds_to_squares = ridge > 0 and is_root and not by_feature
    if ridge > 0 and not adds_to_squares:
        eye = xp.eye(d, dtype=B.dtype, device=B.device)
        B = xp.concat([B, ridge**0.5 * eye]) if is_root else B + ridge * eye
    rounding = 0.0 if ridge > 0 else rounding
    scale = xp.sqrt(xp.sum(B * B, axis=0)) if is_root else xp.sqrt(xp.linalg.diagonal(B))
    flat = scale <= rounding
    n_flat = int(xp.sum(xp.astype(flat, xp.int64)))
    scale = xp.where(flat, xp.inf, scale) if by_feature else xp.ones_like(scale)
    if triangular and not is_root and n_flat == 0 and compat.is_numpy_array(B):
        noise = d**0.5 * float(np.max(rounding / scale))
        T = _triangular_whitening(B / scale / scale[:, None], noise)
        if T is not None:
            return T / scale, True
    if adds_to_squares:
        _, s, V = xp.linalg.svd(B, full_matrices=B.shape[0] < d)
        zeros = xp.zeros((d - s.shape[0],), dtype=s.dtype, device=s.device)
        s = xp.sqrt(xp.concat([s, zeros]) ** 2 + ridge)
    elif is_root:
        _, s, V = xp.linalg.svd(B / scale, full_matrices=False)
    else:
        values, V = largest_eigenpairs(B / scale / scale[:, None], d)
        s = xp.sqrt(xp.clip(values, 0))
    noise = max(B.shape) * eps(B) * s[0]
    if not is_root:
        noise = (noise * s[0]) ** 0.5
    noise = xp.maximum(noise, d**0.5 * xp.max(rounding / scale))
    rank = int(xp.sum(xp.astype(s > noise, xp.int64)))
    smallest = s[d - n_flat - 1] if not is_root and n_flat < d else s[0]
    reliable = is_root or bool(smallest**2 >= eps(B) ** 0.5 * s[0] ** 2)
    return V[:rank, :] / s[:rank, None] / scale, reliable


def _triangular_whitening(B: np.ndarray, noise: float) -> np.ndarray | None:
    """Return a triangular T with T B T^T = I, or None if B may be ill-conditioned.

    This takes a tenth of the time of eigenvectors. The norm of T proves that B is well-conditioned,
    and that the square roots of its eigenvalues exceed `noise`.
    """
    with one_blas_thread() if len(B) <= MAX_SIZE_ON_ONE_THREAD else nullcontext():
        R, failed = dpotrf(B, lower=1, clean=1)
        if failed:
            return None
        T, _ = dtrtri(R, lower=1)
    smallest = 1 / float(np.sum(T * T))  # no eigenvalue is smaller
    largest = float(np.sum(B * B)) ** 0.5  # no eigenvalue is larger
    return T if smallest >= max(eps(B) ** 0.5 * largest, noise**2) else None


def top_ratio(A: Array, T: Array, k: int, *, is_root: bool) -> tuple[Array, Array, Array]:
    r"""Maximise :math:`\mathrm{tr}((L B L^T)^{-1} L A L^T)` over L with :math:`L B L^T = I`.

    The rows of L are the eigenvectors of :math:`B^{-1} A` for its k largest eigenvalues. They are
    computed in coordinates in which B is the identity.

    Parameters
    ----------
    A : array of shape (d, d), or (m, d)
        A symmetric matrix, or a root R of it with :math:`A = R^T R`. If B is ill-conditioned, T
        has large entries, and only a root of A is accurate enough.
    T : array of shape (r, d)
        A :func:`whitening` of B.
    k : int
        Number of rows of L, at most r.
    is_root : bool
        Whether A is a root.

    Returns
    -------
    values : array of shape (k,)
        The k largest eigenvalues in descending order.
    L : array of shape (k, d)
        The maximiser, with fixed signs of its rows.
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
    if missing > 0:  # the remaining eigenvalues are 0
        R = xp.concat([R, xp.zeros((missing, R.shape[1]), dtype=R.dtype, device=R.device)])
    _, s, V = xp.linalg.svd(R, full_matrices=False)
    return s[:k] ** 2, fixed_signs(V[:k, :] @ T), xp.sum(s**2)


def lanczos_svd(
    X: Array,
    mean: Array,
    k: int,
    start: np.ndarray,
    tol: float,
    row_factors: Array | None = None,
) -> tuple[Array, Array]:
    """Return the k largest singular values and right singular vectors of ``X - mean`` by ARPACK.

    ARPACK needs only products with vectors, so a sparse X is not centred in memory. The rows of
    ``X - mean`` are multiplied by `row_factors`, if they are given.
    """
    product, transposed = _centred_products(X, mean, row_factors)
    operator = LinearOperator(
        shape=X.shape,
        dtype=to_host(mean).dtype,
        matvec=lambda v: to_host(product(asarray_like(v.reshape(-1), mean))),
        rmatvec=lambda v: to_host(transposed(asarray_like(v.reshape(-1), mean))),
    )
    _, s, V = svds(operator, k=k, tol=tol, v0=start, solver="arpack", return_singular_vectors="vh")
    order = np.argsort(-s)
    return asarray_like(s[order], mean), fixed_signs(asarray_like(V[order], mean))


def randomized_svd(
    X: Array,
    mean: Array,
    k: int,
    start: np.ndarray,
    n_iter: int,
    row_factors: Array | None = None,
) -> tuple[Array, Array]:
    """Return approximately the k largest singular values and right singular vectors of X - mean.

    The method is a block power iteration from the random columns of `start` [1]_, with
    orthonormalisation in each step. The rows of ``X - mean`` are multiplied by `row_factors`, if
    they are given.

    References
    ----------
    .. [1] N. Halko, P.-G. Martinsson, J. A. Tropp, "Finding structure with randomness", SIAM
       Review 53, 2011.
    """
    xp = namespace(mean)
    product, transposed = _centred_products(X, mean, row_factors)
    Q = asarray_like(start, mean)
    for _ in range(n_iter + 1):
        Q = xp.linalg.qr(transposed(product(Q)), mode="reduced").Q
    _, s, W = xp.linalg.svd(product(Q), full_matrices=False)
    return s[:k], fixed_signs((W @ Q.T)[:k, :])


def _centred_products(
    X: Array, mean: Array, row_factors: Array | None = None
) -> tuple[Callable[[Array], Array], Callable[[Array], Array]]:
    """Return two functions: products of ``X - mean`` and of its transpose with vectors or matrices.

    The rows of ``X - mean`` are multiplied by `row_factors`, if they are given. Dense samples are
    centred in memory, because subtracting products would lose digits if the mean is large.
    """
    xp = namespace(mean)
    if not sparse.issparse(X):
        centred = X - mean if row_factors is None else row_factors[:, None] * (X - mean)
        return lambda v: centred @ v, lambda u: centred.T @ u

    def scaled(u: Array) -> Array:
        if row_factors is None:
            return u
        return row_factors[:, None] * u if u.ndim == 2 else row_factors * u

    def product(v: Array) -> Array:
        return scaled(X @ v - mean @ v)

    def transposed(u: Array) -> Array:
        u = scaled(u)
        total = xp.sum(u, axis=0)
        image = X.T @ u
        image -= mean[:, None] * total if u.ndim == 2 else mean * total
        return image

    return product, transposed
