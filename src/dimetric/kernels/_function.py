"""Kernel functions, evaluated in blocks of rows."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import array_api_compat as compat
import numpy as np
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import manhattan_distances

from dimetric._arrays.blocks import row_blocks
from dimetric._arrays.compiled import exp_in_place
from dimetric._arrays.dissimilarities import asymmetric_pair
from dimetric._arrays.memory import require_memory
from dimetric._arrays.namespaces import Array, asarray_like, is_foreign, namespace
from dimetric._arrays.threads import run_on_threads
from dimetric._arrays.validation import ignoring_overflow
from dimetric.kernels.kernel import FUNCTION_PARAMETERS, NAMES, Kernel
from dimetric.linalg.deviation import standard_deviation
from dimetric.linalg.symmetric import TILE_SIZE, PackedSymmetric, upper_tiles

BLOCK_ENTRIES = 2**22  # numbers in a block of rows
CENTRED = ("linear", "rbf", "laplacian")  # kernels whose centred matrix has no origin

NOT_FINITE = (
    "The kernel matrix contains NaN or infinite values. Scale X, or decrease gamma or degree. If "
    "the kernel is your own function, check what it returns."
)


@dataclass(frozen=True)
class KernelFunction:
    """A kernel function with numerical parameters.

    :class:`~dimetric.kernels.Kernel` lists the formulas. Values are computed in float64 and
    returned in the dtype of the samples.

    Attributes
    ----------
    name : str or callable
        Name or function. See :class:`~dimetric.kernels.Kernel`.
    gamma, degree, coef0 : float
        Parameters of the named kernels.
    params : dict
        Keyword arguments, if `name` is a function.
    centre : array of shape (d,) or None
        Mean of the samples. It is subtracted from samples to reduce rounding errors. None for
        sparse samples, and for kernels whose centred matrix would change.

    Examples
    --------
    >>> X = np.array([[0.0, 1.0], [1.0, 1.0]])
    >>> KernelFunction("poly", gamma=1.0, degree=2, coef0=1.0)(X, X)
    array([[4., 4.],
           [4., 9.]])
    >>> KernelFunction.for_samples(X, Kernel("rbf", gamma="auto")).gamma
    0.5
    """

    name: str | Callable[..., Any]
    gamma: float = 1.0
    degree: float = 3
    coef0: float = 1.0
    params: dict[str, Any] = field(default_factory=dict)
    centre: Any = None

    @classmethod
    def for_samples(
        cls, X: Array, kernel: Kernel, weights: np.ndarray | None = None
    ) -> "KernelFunction":
        """Return the kernel function, with gamma="scale" or "auto" computed from weighted X."""
        xp, mean = namespace(X), None
        if kernel.name in CENTRED and not sparse.issparse(X):
            mean = xp.mean(xp.astype(X, xp.float64), axis=0)
        return cls.for_scale(kernel, X.shape[1], mean, lambda: standard_deviation(X, weights))

    @classmethod
    def for_scale(
        cls, kernel: Kernel, d: int, mean: Any, deviation: Callable[[], float]
    ) -> "KernelFunction":
        """Return the kernel function for d features with a mean and a standard deviation."""
        name, gamma = kernel.name, kernel.gamma
        if gamma == "scale" and name in FUNCTION_PARAMETERS["gamma"][1]:
            spread = deviation() ** (1 if name == "laplacian" else 2)
            gamma = 1 / (d * spread) if spread > 0 else 1.0
        elif isinstance(gamma, str):
            gamma = 1 / d
        centre = mean if name in CENTRED else None
        return cls(name, float(gamma), kernel.degree, kernel.coef0, kernel.params or {}, centre)

    @property
    def is_definite(self) -> bool:
        """Whether the kernel is known to be positive semidefinite."""
        is_product = self.name == "poly" and float(self.degree).is_integer() and self.coef0 >= 0
        return is_product or self.name in ("linear", "rbf", "laplacian", "cosine")

    @ignoring_overflow()  # checked_values raises
    def __call__(self, X: Array, Y: Array) -> Array:
        """Return the kernel matrix between the rows of X and the rows of Y.

        With "precomputed", X is the kernel matrix. Raises a MemoryError if the matrix is too large.
        """
        if self.name == "precomputed":
            return X
        m = Y.shape[0]
        K = self._empty(X, m)
        A, B = self._prepared(X, Y)
        for rows in row_blocks(X.shape[0], max(1, BLOCK_ENTRIES // m)):
            K[rows, :] = namespace(X).astype(self._values(A[rows, :], B, m), K.dtype, copy=False)
        return checked_values(K)

    def gram(self, X: Array) -> Array:
        """Return the symmetric kernel matrix of all rows of X.

        For NumPy arrays and named kernels, only the upper triangle is computed, on several threads.
        """
        if self.name == "precomputed":
            return X
        n = X.shape[0]
        if not self.can_pack(X):
            return self._with_unit_diagonal(self(X, X))
        K = self._empty(X, n)
        A, B = self._prepared(X, X)
        tiles = upper_tiles(n)

        @ignoring_overflow()
        def work(tasks: Iterator[tuple[slice, slice]]) -> None:
            for a, b in tasks:
                tile = self._values(A[a], B[b], n)
                K[b, a] = tile.T
                K[a, b] = tile

        run_on_threads(work, tiles, shared_queue=True)
        return checked_values(self._with_unit_diagonal(K))

    def can_pack(self, X: Array) -> bool:
        """Return whether :meth:`packed` supports X: a NumPy array and a named kernel."""
        return compat.is_numpy_array(X) and self.name in NAMES - {"precomputed"}

    def packed(self, X: np.ndarray) -> PackedSymmetric:
        """Return the matrix of :meth:`gram`, but store only its upper triangle."""
        n = len(X)
        self._require_memory(X, n * (n + TILE_SIZE) // 2, n, n)
        A, B = self._prepared(X, X)

        def values(a: slice, b: slice) -> np.ndarray:
            tile = self._values(A[a], B[b], n)
            return self._with_unit_diagonal(tile) if a == b else tile

        K = PackedSymmetric.from_function(n, X.dtype, values)
        if not np.isfinite(K.largest):
            raise ValueError(NOT_FINITE)
        return K

    def _with_unit_diagonal(self, K: Array) -> Array:
        """Return K with a diagonal of exactly 1, if the kernel is a function of the distance."""
        if self.name in ("rbf", "laplacian"):
            for rows in row_blocks(K.shape[0], TILE_SIZE):
                xp, tile = namespace(K), K[rows, rows]
                diagonal = xp.eye(tile.shape[0], dtype=xp.bool, device=compat.device(K))
                K[rows, rows] = xp.where(diagonal, xp.ones_like(tile), tile)
        return K

    def _empty(self, X: Array, m: int) -> Array:
        n = X.shape[0]
        self._require_memory(X, n * m, n, m)
        device = "cpu" if sparse.issparse(X) else compat.device(X)
        return namespace(X).empty((n, m), dtype=X.dtype, device=device)

    def _require_memory(self, X: Array, n_values: int, n: int, m: int) -> None:
        size = 4 if X.dtype == namespace(X).float32 else 8
        remedy = "Set n_landmarks, for example kernel=Kernel(n_landmarks=1000)."
        require_memory(size * n_values, f"The kernel between {n} and {m} samples", remedy)

    @ignoring_overflow()  # checked_values raises
    def _prepared(self, X: Array, Y: Array) -> tuple[Array, Array]:
        """Do all work that :meth:`_values` needs once per row, and return the prepared X and Y."""
        if callable(self.name):
            return X, Y
        if sparse.issparse(X) or sparse.issparse(Y):
            return self._prepared_sparse(X), self._prepared_sparse(Y, transposed=True)
        xp = namespace(X)
        X, Y = (xp.astype(A, xp.float64, copy=False) for A in (X, Y))
        if self.centre is not None:
            centre = asarray_like(self.centre, X)
            X, Y = X - centre, Y - centre
        if self.name == "rbf":
            # X @ Y.T is then the exponent. Multiplying squared_distances() by gamma instead would
            # change the numerical rank of the kernel for data of small scale.
            x, y = (-self.gamma * xp.sum(A * A, axis=1, keepdims=True) for A in (X, Y))
            X = xp.concat([2 * self.gamma * X, x, xp.ones_like(x)], axis=1)
            Y = xp.concat([Y, xp.ones_like(y), y], axis=1)
        return (_unit(X), _unit(Y)) if self.name == "cosine" else (X, Y)

    def _prepared_sparse(self, X: Array, *, transposed: bool = False) -> sparse.csr_array:
        """Return prepared rows as a CSR array, or as the rows of the right factor if transposed."""
        X = sparse.csr_array(X).astype(np.float64)
        if self.name == "rbf":
            norms = -self.gamma * X.power(2).sum(axis=1)[:, None]
            ones = np.ones_like(norms)
            parts = [X, ones, norms] if transposed else [2 * self.gamma * X, norms, ones]
            return sparse.hstack([sparse.csr_array(part) for part in parts], format="csr")
        if self.name == "cosine":
            norms = np.sqrt(X.power(2).sum(axis=1))
            X.data /= np.repeat(np.where(norms > 0, norms, 1.0), np.diff(X.indptr))
        return X

    @ignoring_overflow()  # checked_values raises
    def _values(self, A: Array, B: Array, n_samples: int) -> Array:
        """Return the kernel matrix of prepared rows, in float64.

        The rows of B are some of `n_samples` samples. Their number must not depend on the number of
        rows of A, so that results do not change if samples are mapped in other batches.
        """
        if callable(self.name):
            return _call_user_kernel(self.name, A, B, self.params)
        xp = namespace(A)
        if self.name == "laplacian":
            return xp.exp(-self.gamma * _manhattan(A, B))
        K = A @ B.T
        K = K.toarray() if sparse.issparse(K) else K
        if self.name == "rbf":
            return _exp_nonpositive(K, n_samples)
        if self.name == "poly":
            return (self.gamma * K + self.coef0) ** self.degree
        return xp.tanh(self.gamma * K + self.coef0) if self.name == "sigmoid" else K


def checked_values(K: Array) -> Array:
    """Return a kernel matrix, or raise a ValueError if some values are not finite."""
    xp = namespace(K)
    if not all(
        bool(xp.all(xp.isfinite(K[rows, :])))
        for rows in row_blocks(K.shape[0], max(1, BLOCK_ENTRIES // K.shape[1]))
    ):
        raise ValueError(NOT_FINITE)
    return K


def largest_of(K: Array) -> float:
    """Return the largest absolute value, without allocating a matrix of absolute values."""
    xp = namespace(K)
    return max(float(xp.max(K)), -float(xp.min(K)))


def check_precomputed(K: Array) -> None:
    """Raise a ValueError unless a precomputed kernel matrix is square and symmetric."""
    n = K.shape[0]
    if K.shape[1] != n:
        raise ValueError(
            f"A precomputed kernel must be a square matrix, but X has shape {tuple(K.shape)}. If X "
            "holds features, choose a kernel other than 'precomputed'."
        )
    pair = _asymmetric_entries(K)
    if pair is not None:
        i, j = pair
        raise ValueError(
            f"A precomputed kernel must be symmetric, but X[{i}, {j}] is {float(K[i, j]):.6g} and "
            f"X[{j}, {i}] is {float(K[j, i]):.6g}. Pass (X + X.T) / 2 instead."
        )


def check_symmetric(K: Array, samples: np.ndarray) -> None:
    """Raise a ValueError unless the matrix of a kernel function is symmetric up to rounding.

    `samples` holds the row indices of the samples in the user's X, for the error message.
    """
    pair = _asymmetric_entries(K)
    if pair is not None:
        (i, j), (a, b) = pair, (samples[pair[0]], samples[pair[1]])
        raise ValueError(
            f"The kernel function k must be symmetric, but k(X[{a}], X[{b}]) is "
            f"{float(K[i, j]):.6g} and k(X[{b}], X[{a}]) is {float(K[j, i]):.6g}. Use the mean of "
            "k(x, y) and k(y, x) instead."
        )


def _asymmetric_entries(K: Array) -> tuple[int, int] | None:
    """Return i and j where K[i, j] and K[j, i] differ by more than rounding errors, or None."""
    return asymmetric_pair(K, float(namespace(K).finfo(K.dtype).eps) ** 0.5 * largest_of(K))


def _call_user_kernel(
    kernel: Callable[..., Any], X: Array, Y: Array, params: dict[str, Any]
) -> Array:
    """Return the values of a user's kernel function in the namespace of X."""
    K = kernel(X, Y, **params)
    if sparse.issparse(X) and sparse.issparse(K):
        K = K.toarray()
    values = K if is_foreign(K) else np.asarray(K)
    shape, kinds = (X.shape[0], Y.shape[0]), ("bool", "integral", "real floating")
    if tuple(values.shape) != shape or not namespace(values).isdtype(values.dtype, kinds):
        raise ValueError(
            f"A kernel function must return a matrix of real numbers, of shape {shape} for samples "
            f"of shapes {tuple(X.shape)} and {tuple(Y.shape)}, but it returned "
            f"{type(K).__name__} of shape {tuple(values.shape)} and dtype {values.dtype}."
        )
    return asarray_like(values, X, dtype=namespace(X).float64)


def _exp_nonpositive(K: Array, n_samples: int) -> Array:
    """Return exp(min(K, 0)). Exponents are never positive, except for rounding errors.

    NumPy arrays are overwritten.
    """
    if compat.is_numpy_array(K):
        exp_in_place(np.minimum(K, 0, out=K), n_samples)
        return K
    xp = namespace(K)
    return xp.exp(xp.clip(K, max=0))


def _manhattan(X: Array, Y: Array) -> Array:
    """Return the Manhattan distances between the rows of X and the rows of Y."""
    if sparse.issparse(X):
        return manhattan_distances(X, Y)
    if compat.is_numpy_array(X):
        return cdist(X, Y, "cityblock")
    xp = namespace(X)
    D = xp.zeros((X.shape[0], Y.shape[0]), dtype=X.dtype, device=compat.device(X))
    for j in range(X.shape[1]):
        D += xp.abs(X[:, j][:, None] - Y[:, j][None, :])
    return D


def _unit(X: Array) -> Array:
    """Scale the rows to unit length. Rows of zeros are not changed."""
    xp = namespace(X)
    norm = xp.sqrt(xp.sum(X * X, axis=1, keepdims=True))
    return X / xp.where(norm > 0, norm, xp.ones_like(norm))
