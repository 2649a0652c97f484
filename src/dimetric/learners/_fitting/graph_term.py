"""A penalty on the distances between neighbours, which also uses samples without labels."""

import numpy as np

from dimetric._arrays.namespaces import Array, asarray_like, namespace, take_rows, to_host
from dimetric._arrays.row_order import canonical_order
from dimetric._arrays.validation import rescale_for_squares
from dimetric.linalg.scatter import difference_scatter
from dimetric.neighbors.euclidean.search import euclidean_neighbors

N_GRAPH_NEIGHBORS = 10


def neighbor_scatter(X: Array, weights: np.ndarray | None = None) -> np.ndarray:
    r"""Return the scatter of the differences between neighbours, scaled to the trace d.

    .. math:: G = d\, \frac{S}{\mathrm{tr}\, S}, \qquad
              S = \sum_i \sum_{j \in N_i} w_i w_j (x_i - x_j)(x_i - x_j)^T

    :math:`N_i` are the 10 nearest neighbours of sample i. For a map L, :math:`\mathrm{tr}(L G L^T)`
    is proportional to the mean squared distance between neighbours. It is the Laplacian
    regularisation of the neighbour graph. If neighbours differ equally in all directions, G is the
    identity, and the penalty is a ridge. The scale of G does not depend on the unit of X or on the
    number of samples.

    Parameters
    ----------
    X : array of shape (n, d)
        Samples, with or without labels.
    weights : ndarray of shape (n,), optional
        Weights of the samples. Samples of weight 0 are left out.

    Returns
    -------
    G : ndarray of shape (d, d)
        Zero if all neighbours are identical.

    Examples
    --------
    >>> neighbor_scatter(np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.0]]))
    array([[2., 0.],
           [0., 0.]])
    """
    content = to_host(X) if weights is None else np.column_stack([to_host(X), weights])
    order = canonical_order(content, np.zeros(X.shape[0], dtype=np.int64))
    if weights is not None:
        order = order[weights[order] > 0]
        weights = weights[order] / np.max(weights)
    X = rescale_for_squares(take_rows(X, order))[0]
    n, d = X.shape
    if n < 2:
        return np.zeros((d, d))
    near = euclidean_neighbors(X, min(N_GRAPH_NEIGHBORS, n - 1))[1]
    near = asarray_like(near, X, dtype=namespace(X).int64)
    pair_weights = None if weights is None else weights[:, None] * weights[to_host(near)]
    S = to_host(difference_scatter(X, near, np.ones(n), pair_weights, root=False))
    trace = float(np.trace(S))
    return d * S / trace if trace > 0 else np.zeros((d, d))
