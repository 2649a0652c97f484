"""The directions that samples differ in: nothing else about a metric matters to them."""

import numpy as np

from dimetric._arrays.namespaces import Array, eps, to_host
from dimetric.linalg.scatter import Moments


def sample_span(X: Array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    r"""Return B (d, r), E (d, r) and Q (r, r), for metrics that are judged by the samples alone.

    With E a basis of all differences between samples and :math:`B^T E = I`, squared distances
    under a metric N depend on :math:`K = E^T N E` alone. A function :math:`\langle G, N \rangle`
    of distances is :math:`\langle B^T G B, K \rangle`, and the trace of N is at least
    :math:`\langle Q, K \rangle` with :math:`Q = (E^T E)^{-1}`, as large as that for the least N.
    Features count in units of their own spread, so that none drowns in another's rounding.

    Examples
    --------
    >>> B, E, Q = sample_span(np.array([[0.0, 0.0], [1.0, 2.0], [3.0, 6.0]]))
    >>> B.shape, E.shape, Q.shape
    ((2, 1), (2, 1), (1, 1))
    """
    root = to_host(Moments.of_all(X, root=True).above_rounding().spread)
    sizes = np.sqrt(np.sum(root**2, axis=0))
    sizes[sizes == 0] = 1.0
    _, lengths, V = np.linalg.svd(root / sizes, full_matrices=False)
    # Samples are what they are, in whatever precision they come: only sums are rounded here.
    V = V[lengths > max(X.shape) * eps(root) * lengths[0]].T
    B, E = V / sizes[:, None], V * sizes[:, None]
    inverse = B.T if B.shape[0] == B.shape[1] else np.linalg.pinv(E)  # the first is more exact
    return B, E, inverse @ inverse.T
