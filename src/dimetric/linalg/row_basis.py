r"""An orthonormal basis of few rows for sparse samples with many features.

For a basis B of shape (r, d), the samples have the dense coordinates :math:`X B^T`, of shape
(n, r). If B spans all samples, inner products and distances between samples do not change. A linear
map L of the coordinates corresponds to the linear map :math:`L B` of the features.
"""

from dataclasses import dataclass

import numpy as np
import scipy.linalg
from scipy import sparse

from dimetric._arrays.namespaces import Array, asarray_like, to_host
from dimetric._arrays.validation import rescale_for_squares

MAX_RANK = 300  # number of coordinates of samples with more features than the following limits
MAX_DENSE_FEATURES = 2000
MAX_DENSE_ENTRIES = 2**26  # these take 512 MiB in float64
# Limits for small samples, which learners fit fast enough with all their features.
MAX_FEATURES_OF_SMALL = 5000
MAX_ENTRIES_OF_SMALL = 2**22
N_OVERSAMPLES = 10  # further random directions, which make the last axes more accurate
N_POWER_ITERATIONS = 2
# Eigenvectors of a Gram matrix are faster than a QR decomposition, but with a smaller ratio of its
# eigenvalues their errors would be larger than 1e-12.
MIN_EIGENVALUE_RATIO = 1e-4


@dataclass(frozen=True)
class RowBasis:
    """Dense coordinates of sparse samples.

    Attributes
    ----------
    coordinates : ndarray of shape (n, r)
        The samples in coordinates, in the dtype of X.
    rows : ndarray of shape (r, d) or None
        The orthonormal basis B in float64. None stands for the identity: the coordinates are the
        features.
    energy : float
        Fraction of the (weighted) sum of squares of X that the coordinates keep.
    """

    coordinates: np.ndarray
    rows: np.ndarray | None = None
    energy: float = 1.0

    @classmethod
    def of(cls, X: sparse.csr_array, weights: np.ndarray | None = None) -> "RowBasis":
        r"""Return coordinates of sparse samples: features if there are few, else a truncated SVD.

        With at most 300 samples, the basis spans all samples. Otherwise, positive weights of the
        samples multiply their squares: the SVD is that of the rows :math:`\sqrt{w_i}\, x_i`.

        Examples
        --------
        >>> X = sparse.csr_array(([1.0, 2.0, 3.0], ([0, 1, 2], [7, 7, 4000])), shape=(3, 6000))
        >>> basis = RowBasis.of(X)
        >>> basis.coordinates.shape, round(basis.energy, 9)
        ((3, 2), 1.0)
        """
        n, d = X.shape
        if is_made_dense(n, d):
            return cls(X.toarray())
        X, factor = rescale_for_squares(X)
        weighted = X
        if weights is not None and n > MAX_RANK:
            roots = np.sqrt(weights / np.max(weights)).astype(X.dtype)
            entries = X.data * np.repeat(roots, np.diff(X.indptr))
            weighted = sparse.csr_array((entries, X.indices, X.indptr), shape=X.shape)
        rows, kept = _right_singular_vectors(weighted, min(n, MAX_RANK))
        total = float(np.sum(np.square(weighted.data, dtype=np.float64)))
        coordinates = (X @ rows.T).astype(X.dtype, copy=False) / X.dtype.type(factor)
        return cls(coordinates, rows, min(1.0, kept / total) if total > 0 else 1.0)

    @property
    def rank(self) -> int:
        """Number of coordinates."""
        return self.coordinates.shape[1]

    def of_features(self, L: Array) -> Array:
        """Convert maps or points of the coordinates to those of the features: ``L @ B``."""
        if self.rows is None:
            return L
        return asarray_like(to_host(L).astype(np.float64) @ self.rows, L)

    def of_coordinates(self, L: Array) -> np.ndarray:
        """Convert maps or points of the features to those of the coordinates: ``L @ B.T``."""
        return to_host(L) if self.rows is None else to_host(L) @ self.rows.T


def is_made_dense(n: int, d: int) -> bool:
    """Return whether n sparse samples with d features are made dense.

    Examples
    --------
    >>> is_made_dense(10_000, 2000), is_made_dense(10_000, 5000), is_made_dense(200, 5000)
    (True, False, True)
    """
    if d > MAX_DENSE_FEATURES:
        return d <= MAX_FEATURES_OF_SMALL and n * d <= MAX_ENTRIES_OF_SMALL
    return d <= MAX_RANK or n * d <= MAX_DENSE_ENTRIES


def dense_block(X: Array, method: str) -> Array:
    """Return a block of samples as a dense array.

    Raise if a sparse block has so many features that a matrix of all their products is too large.
    """
    if not sparse.issparse(X):
        return X
    d = X.shape[1]
    if d > MAX_FEATURES_OF_SMALL:
        raise ValueError(
            f"{method} needs a {d} x {d} matrix, which is too large for sparse samples. Use fit, "
            f"or map the blocks to at most {MAX_FEATURES_OF_SMALL} features first."
        )
    return X.toarray()


def _right_singular_vectors(X: sparse.csr_array, k: int) -> tuple[np.ndarray, float]:
    """Return at most k right singular vectors as rows, and the sum of squares that they keep.

    If k is less than the number of samples, this is a randomised power iteration [1]_ with a fixed
    seed. Vectors without variance are left out, but at least one is returned.

    References
    ----------
    .. [1] N. Halko, P.-G. Martinsson, J. A. Tropp, "Finding structure with randomness", SIAM
       Review 53, 2011.
    """
    n, d = X.shape
    Q = np.eye(n) if k == n else _power_iteration(X, min(k + N_OVERSAMPLES, n, d))
    W = X.T @ Q
    values, U = np.linalg.eigh(W.T @ W)
    values, U = values[: -k - 1 : -1], U[:, : -k - 1 : -1]
    if values[-1] > MIN_EIGENVALUE_RATIO * values[0]:
        return (U / np.sqrt(values)).T @ W.T, float(np.sum(values))
    # Squaring W would lose digits. These arrays are large, so the factorisation overwrites W.
    V, R = scipy.linalg.qr(W, mode="economic", overwrite_a=True, check_finite=False)
    U, s, _ = np.linalg.svd(R)
    rank = max(1, int(np.sum(s[:k] > max(n, d) * np.finfo(np.float64).eps * s[0])))
    return (V @ U[:, :rank]).T, float(np.sum(s[:rank] ** 2))


def _power_iteration(X: sparse.csr_array, k: int) -> np.ndarray:
    """Return k orthonormal columns whose span is close to that of the first left singular vectors.

    They need not be accurate: any columns of full rank lead to a basis inside the span of X. So
    products are computed in float32, which takes half the time and memory.
    """
    size = float(np.max(np.abs(X.data), initial=0.0)) or 1.0
    values = (X.data / size).astype(np.float32)
    A = sparse.csr_array((values, X.indices, X.indptr), shape=X.shape)
    transposed = A.T.tocsr()  # products with CSR arrays are the fastest
    Q = np.random.default_rng(0).standard_normal((X.shape[0], k), dtype=np.float32)
    for _ in range(N_POWER_ITERATIONS):
        Q = np.linalg.qr(A @ (transposed @ Q)).Q
    return Q.astype(np.float64)
