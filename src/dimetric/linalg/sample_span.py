"""The subspace spanned by the differences between samples.

Distances between the samples depend on a metric only through its restriction to this subspace.
"""

from collections.abc import Callable

import numpy as np

from dimetric._arrays.namespaces import Array, eps, namespace, to_host
from dimetric.linalg.scatter import Moments
from dimetric.linalg.spectral import fixed_signs


def sample_span(X: Array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    r"""Return a basis of the span of all differences between samples, as three matrices (B, E, Q).

    The columns of E, of shape (d, r), are the basis. The columns of B, of the same shape, are its
    dual basis, with :math:`B^T E = I`. The third matrix is :math:`Q = (E^T E)^{-1}`. Squared
    distances under a metric N depend only on :math:`K = E^T N E`: a linear function
    :math:`\langle G, N \rangle` of squared distances equals :math:`\langle B^T G B, K \rangle`.
    The trace of N is at least :math:`\langle Q, K \rangle`, with equality for the N of least
    trace. Features are scaled to equal spread first, so that features with small values are not
    lost to rounding.

    Examples
    --------
    >>> B, E, Q = sample_span(np.array([[0.0, 0.0], [1.0, 2.0], [3.0, 6.0]]))
    >>> B.shape, E.shape, Q.shape
    ((2, 1), (2, 1), (1, 1))
    """
    return span_of_moments(Moments.of_all(X, root=True), X.shape[0])


def span_of_moments(moments: Moments, n_samples: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the result of :func:`sample_span`, from the moments of samples with a root."""
    root = to_host(moments.without_rounding_noise().spread)
    feature_norms = np.sqrt(np.sum(root**2, axis=0))
    feature_norms[feature_norms == 0] = 1.0
    _, singular_values, V = np.linalg.svd(root / feature_norms, full_matrices=False)
    # Samples count as exact in any dtype. Only the float64 sums here have rounding errors.
    V = V[singular_values > max(n_samples, root.shape[1]) * eps(root) * singular_values[0]].T
    B, E = V / feature_norms[:, None], V * feature_norms[:, None]
    inverse = B.T if B.shape[0] == B.shape[1] else np.linalg.pinv(E)  # B.T is more accurate
    return B, E, inverse @ inverse.T


def least_penalty(R: np.ndarray, E: np.ndarray) -> np.ndarray:
    r"""Return the matrix P of the smallest penalty of metrics with given distances of samples.

    Let the columns of E be a basis from :func:`sample_span`. For all metrics N,
    :math:`\langle R, N \rangle \ge \langle P, E^T N E \rangle`, with equality for the N of least
    penalty. P is a Schur complement. For the identity R, it is the matrix Q of
    :func:`sample_span`.

    Parameters
    ----------
    R : ndarray of shape (d, d)
        Positive semidefinite matrix.
    E : ndarray of shape (d, r)
        Basis of the span of the differences between samples.

    Examples
    --------
    >>> least_penalty(np.array([[2.0, 1.0], [1.0, 1.0]]), np.array([[1.0], [0.0]]))
    array([[1.]])
    """
    d, r = E.shape
    inverse = np.linalg.pinv(E)
    P = inverse @ R @ inverse.T
    if r < d:
        outside = np.linalg.svd(E)[0][:, r:]
        cross = inverse @ R @ outside
        P = P - cross @ np.linalg.pinv(outside.T @ R @ outside, hermitian=True) @ cross.T
    return np.asarray((P + P.T) / 2)


def span_coordinates(X: Array, extra: int) -> tuple[Array, Callable[[Array], Array]]:
    """Return coordinates of X in the span of its samples, and a function that lifts maps.

    The function converts a linear map of the coordinates to a linear map of the features. The
    coordinates include `extra` arbitrary directions outside the span, in which the samples do not
    differ. If there would be at least as many coordinates as features, X is returned unchanged.
    """
    xp = namespace(X)
    n, d = X.shape
    if n + extra >= d:
        return X, lambda L: L
    X = xp.astype(X, xp.float64)
    X = X - xp.mean(X, axis=0)
    padding = xp.zeros((d, extra), dtype=X.dtype, device=X.device)
    # The factor Q of a Householder QR has orthonormal columns for any rank.
    Q = xp.linalg.qr(xp.concat([X.T, padding], axis=1), mode="reduced").Q
    return X @ Q, lambda L: fixed_signs(L @ Q.T)
