r"""Products of centred symmetric matrices with vectors, without forming the centred matrix.

With :math:`J = I - \frac1n 1 1^T`, the product of :math:`J K J` with V is :math:`J (K (J V))`. The
Gram matrix of dissimilarities is :math:`B = -\frac12 J (D \circ D) J`.
"""

from collections.abc import Callable

import array_api_compat as compat
import numpy as np

from dimetric._arrays.blocks import row_blocks
from dimetric._arrays.namespaces import Array, asarray_like, namespace, to_host
from dimetric.linalg.symmetric import PackedSymmetric, SymmetricProduct

BLOCK_ENTRIES = 2**19  # entries in a block of rows, which fits into a core's cache
MAX_SAMPLES_ON_ONE_THREAD = 1024  # for fewer samples, waking threads takes longer

Product = Callable[[np.ndarray], np.ndarray]


class SquaredGram:
    """Products of B with vectors. The first one also finds the moments of the squares of D.

    Attributes
    ----------
    moments : tuple of ndarray and float
        See :func:`squared_moments`. Set by the first product.
    """

    moments: tuple[np.ndarray, float]

    def __init__(self, D: Array) -> None:
        self._times = _product(D, 2)
        if not isinstance(self._times, SymmetricProduct):
            self.moments = squared_moments(D)

    def __call__(self, V: np.ndarray) -> np.ndarray:
        """Return B V."""
        W = self._product(V - V.mean(axis=0))
        return -0.5 * (W - W.mean(axis=0))

    def _product(self, V: np.ndarray) -> np.ndarray:
        """Return the product of the squares of D with V."""
        if hasattr(self, "moments") or not isinstance(self._times, SymmetricProduct):
            return self._times(V)
        with_ones = np.hstack([V, np.ones((len(V), 1))])  # the ones yield row sums
        W, fourth_powers = self._times.with_squared_norm(with_ones)
        self.moments = W[:, -1] / len(V), fourth_powers
        return W[:, :-1]


def gram_product(D: Array, *, power: int) -> Product:
    r"""Return a function that maps V to :math:`-\frac12 J D^p J V` without forming the matrix."""
    times = centred_product(D, power=power)
    return lambda V: -0.5 * times(V)


def centred_product(K: Array | PackedSymmetric, *, power: int = 1) -> Product:
    r"""Return a function that maps V to :math:`J K^p J V`, with :math:`J = I - \frac1n 1 1^T`.

    The power, 1 or 2, is taken entrywise, and must be 1 if K is packed. K is symmetric. For many
    samples on the host, only the upper triangle of K is read and no other matrix of its size is
    formed. V and the result are on the host.
    """
    product = _product(K, power)

    def centred(V: np.ndarray) -> np.ndarray:
        W = product(V - V.mean(axis=0))
        return W - W.mean(axis=0)

    return centred


def _product(K: Array | PackedSymmetric, power: int) -> Product:
    if isinstance(K, PackedSymmetric):
        return SymmetricProduct(K.n, K.tile)
    if compat.is_numpy_array(K) and len(K) <= MAX_SAMPLES_ON_ONE_THREAD:
        powers = np.asarray(K, np.float64)
        powers = powers * powers if power == 2 else powers
        return lambda V: powers @ V
    if compat.is_numpy_array(K):
        return SymmetricProduct(len(K), lambda a, b: K[a, b], squared=power == 2)
    xp, rows = namespace(K), max(1, BLOCK_ENTRIES // K.shape[1])

    def product(V: np.ndarray) -> np.ndarray:
        V_on_device = asarray_like(V, K, dtype=xp.float64)
        blocks = (xp.astype(K[b, :], xp.float64) ** power for b in row_blocks(K.shape[0], rows))
        return np.concatenate([to_host(block @ V_on_device) for block in blocks])

    return product


def squared_moments(D: Array) -> tuple[np.ndarray, float]:
    """Return the mean of the squares of each row, and the sum of all fourth powers."""
    xp, n = namespace(D), D.shape[0]
    sums, fourth = np.empty(n), 0.0
    for b in row_blocks(n, max(1, BLOCK_ENTRIES // D.shape[1])):
        squares = xp.astype(D[b, :], xp.float64) ** 2
        sums[b] = to_host(xp.sum(squares, axis=1))
        fourth += float(xp.sum(squares * squares))
    return sums / D.shape[1], fourth
