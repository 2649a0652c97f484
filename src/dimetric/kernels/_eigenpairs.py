"""Eigenpairs of centred kernel matrices."""

from numbers import Integral

import numpy as np
import scipy.linalg

from dimetric._arrays.blas_limit import one_blas_thread
from dimetric._arrays.namespaces import Array, largest_eigenpairs, to_host
from dimetric.linalg.centred_products import Product, centred_product
from dimetric.linalg.classical_scaling import DENSE_SAMPLES, MIN_SAMPLES_PER_COORDINATE
from dimetric.linalg.krylov import LargestEigenpairs, largest_eigenvectors
from dimetric.linalg.spectral import fixed_signs
from dimetric.linalg.symmetric import PackedSymmetric

# For more than this fraction of the eigenpairs, LAPACK takes less time to compute all of them. It
# then needs three times the memory, so only matrices up to this size are decomposed in full.
MAX_PARTIAL_EIGH_FRACTION, MAX_FULL_EIGH_SIZE = 0.125, 1000


def is_iterative(n_components: float | None, n: int) -> bool:
    """Return whether principal coordinates are computed iteratively, by products with K only.

    This is faster than a decomposition of K for a few coordinates of many samples.
    """
    if not isinstance(n_components, Integral):
        return False
    return n > DENSE_SAMPLES and n >= MIN_SAMPLES_PER_COORDINATE * n_components


def centred_eigenpairs(
    K: Array | PackedSymmetric, k: int, weights: np.ndarray | None, tol: float, noise: float
) -> LargestEigenpairs:
    r"""Return the k largest eigenpairs of :math:`W^{1/2} J K J^T W^{1/2}`.

    Only the iteration estimates the smallest eigenvalue. LAPACK's results have 0 instead.
    """
    n = K.shape[0]
    if isinstance(K, PackedSymmetric) or is_iterative(k, n):
        with one_blas_thread():  # the products use their own threads, and the other work is small
            product = centred_product(K)
            if weights is not None:
                product = _weighted_product(product, weights)
            return largest_eigenvectors(product, n, k, tol=tol, noise=noise)
    p = np.full(n, 1 / n) if weights is None else weights / np.sum(weights)
    A = np.array(to_host(K), dtype=np.float64)
    for _ in range(2):  # the second time removes the rounding errors of the means
        mean = A @ p
        A -= mean - p @ mean / 2
        A -= (mean - p @ mean / 2)[:, None]
    if weights is not None:
        A *= np.sqrt(weights)
        A *= np.sqrt(weights)[:, None]
    if n <= MAX_FULL_EIGH_SIZE and k > n * MAX_PARTIAL_EIGH_FRACTION:
        values, V = largest_eigenpairs(A, k)
        return LargestEigenpairs(values, fixed_signs(V), 0.0)
    values, V = scipy.linalg.eigh(
        A, subset_by_index=(n - k, n - 1), overwrite_a=True, check_finite=False
    )
    return LargestEigenpairs(values[::-1], fixed_signs(V[:, ::-1].T), 0.0)


def _weighted_product(centred: Product, weights: np.ndarray) -> Product:
    r"""Return a function that maps V to :math:`W^{1/2} J K J^T W^{1/2} V`.

    `centred` is the product with K after centring without weights, which does not change
    :math:`J K J^T`.
    """
    roots, p = np.sqrt(weights)[:, None], weights / np.sum(weights)

    def product(V: np.ndarray) -> np.ndarray:
        U = roots * V
        KU = centred(U - p[:, None] * U.sum(axis=0))
        return roots * (KU - p @ KU)

    return product
