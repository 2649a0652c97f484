"""The subspace in which samples differ: distances depend on a metric there alone."""

from collections.abc import Callable

import numpy as np

from dimetric._arrays.namespaces import Array, eps, namespace, to_host
from dimetric.linalg.scatter import Moments
from dimetric.linalg.spectral import fixed_signs


def sample_span(X: Array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    r"""Return (B, E, Q): E spans all differences between samples, B is its dual basis.

    E and B have shape (d, r), and :math:`B^T E = I`, :math:`Q = (E^T E)^{-1}`. Squared
    distances under a metric N depend on :math:`K = E^T N E` alone. A linear function of distances
    :math:`\langle G, N \rangle` equals :math:`\langle B^T G B, K \rangle`. The trace of N is at
    least :math:`\langle Q, K \rangle`, with equality for the N of least trace. Features are
    measured in units of their own spread, so that none is lost in the rounding of a larger one.

    Examples
    --------
    >>> B, E, Q = sample_span(np.array([[0.0, 0.0], [1.0, 2.0], [3.0, 6.0]]))
    >>> B.shape, E.shape, Q.shape
    ((2, 1), (2, 1), (1, 1))
    """
    root = to_host(Moments.of_all(X, root=True).without_rounding_noise().spread)
    sizes = np.sqrt(np.sum(root**2, axis=0))
    sizes[sizes == 0] = 1.0
    _, lengths, V = np.linalg.svd(root / sizes, full_matrices=False)
    # Samples count as exact in whatever precision they come: only the sums here are rounded.
    V = V[lengths > max(X.shape) * eps(root) * lengths[0]].T
    B, E = V / sizes[:, None], V * sizes[:, None]
    inverse = B.T if B.shape[0] == B.shape[1] else np.linalg.pinv(E)  # the transpose is more exact
    return B, E, inverse @ inverse.T


def span_coordinates(X: Array, extra: int) -> tuple[Array, Callable[[Array], Array]]:
    """Return samples in coordinates of their span, and the way back for the rows of a map.

    With fewer samples than features, all directions outside the span are alike to a function of
    the differences between samples: `extra` of them are kept. If the coordinates would not be
    fewer than the features, X stays as it is.
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
