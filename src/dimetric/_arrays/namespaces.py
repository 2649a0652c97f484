"""Array namespaces, and functions that the array-API standard lacks.

An algorithm starts with ``xp = namespace(X)`` and uses the functions of the standard, so results
have the namespace and device of X. This module adds the functions that the standard lacks: the k
smallest entries, partial eigendecompositions, and moves between devices.
"""

from contextlib import nullcontext
from functools import cache
from types import ModuleType
from typing import Any

import array_api_compat as compat
import numpy as np
import scipy.linalg
from scipy import sparse

from dimetric._arrays.blas_limit import one_blas_thread

MAX_SIZE_ON_ONE_THREAD = 200  # up to this size, BLAS finds eigenvectors faster on one thread
MIN_PARTIAL_EIGH_SIZE = 1000  # for smaller matrices, NumPy computes all eigenpairs
MIN_COLUMNS_PER_GROUP = 4  # for smaller groups, partitioning whole rows is faster
# For fewer entries or fewer columns, partitioning whole rows is faster.
MAX_PARTITIONED, MAX_COLUMNS = 2**13, 2**10
MAX_INDICES = 2**11  # for fewer entries, partitioning indices is faster

Array = Any  # an array of any namespace; the standard defines no common base class


def is_foreign(X: object) -> bool:
    """Return whether X is a dense array of a namespace other than NumPy, such as torch or CuPy."""
    if type(X) is np.ndarray:
        return False
    return (
        compat.is_array_api_obj(X)
        and not compat.is_numpy_array(X)
        and not compat.is_dask_array(X)
        and not compat.is_pydata_sparse_array(X)
    )


def namespace(*arrays: Array) -> ModuleType:
    """Return the array-API namespace of the arrays. SciPy sparse arrays count as NumPy arrays."""
    if len(arrays) == 1 and type(arrays[0]) is np.ndarray:  # the usual case, which is fast
        return _numpy_namespace()
    dense = [a for a in arrays if not sparse.issparse(a)]
    return compat.array_namespace(*dense) if dense else compat.array_namespace(np.empty(0))


@cache
def _numpy_namespace() -> ModuleType:
    return compat.array_namespace(np.empty(0))


def is_host(X: Array) -> bool:
    """Return whether an array is in host memory and not on an accelerator."""
    return sparse.issparse(X) or "cpu" in str(compat.device(X)).lower()


def to_host(a: Array) -> np.ndarray:
    """Return an array of any namespace and device as a NumPy array. Sparse arrays stay sparse."""
    if type(a) is np.ndarray:
        return a
    if sparse.issparse(a):
        return a
    if compat.is_torch_array(a):
        return a.detach().cpu().numpy()
    if compat.is_cupy_array(a):  # pragma: no cover - needs a GPU
        return a.get()
    if is_foreign(a):
        return np.from_dlpack(compat.to_device(a, "cpu") if compat.is_jax_array(a) else a)
    return np.asarray(a)


def is_dask(X: Any) -> bool:
    """Return whether X is a Dask array, data frame or series, without importing Dask."""
    return type(X).__module__.partition(".")[0] == "dask" and hasattr(X, "dask")


def asarray_like(a: Array, X: Array, dtype: Any = None) -> Array:
    """Return `a` in the namespace and on the device of X, with X's dtype or the given one."""
    if type(X) is np.ndarray and type(a) is np.ndarray:
        return a.astype(X.dtype if dtype is None else dtype, copy=False)
    xp = namespace(X)
    dtype = X.dtype if dtype is None else dtype
    if sparse.issparse(X) or compat.is_numpy_array(X):
        return np.asarray(to_host(a), dtype=dtype)
    if is_foreign(a) and namespace(a) is xp and compat.device(a) == compat.device(X):
        return xp.astype(a, dtype, copy=False)
    return xp.asarray(np.ascontiguousarray(to_host(a)), dtype=dtype, device=compat.device(X))


def take_rows(X: Array, rows: np.ndarray) -> Array:
    """Return some rows of X as a dense array on X's device. The indices `rows` are on the host."""
    if sparse.issparse(X):
        return X[rows].toarray()
    xp = namespace(X)
    return xp.take(X, asarray_like(rows, X, dtype=xp.int64), axis=0)


def selected_rows(X: Array, rows: np.ndarray) -> Array:
    """Return some rows of X, as a sparse array if X is sparse. See :func:`take_rows`."""
    return X[rows] if sparse.issparse(X) else take_rows(X, rows)


def eps(a: Array) -> float:
    """Return the machine epsilon of the dtype of `a`."""
    return float(namespace(a).finfo(a.dtype).eps)


def one_hot(codes: Array, n_classes: int, dtype: Any) -> Array:
    """Return the (n, n_classes) indicator matrix of the classes.

    Its transpose times a matrix gives sums by class. Indexed addition would be an alternative, but
    does not accumulate repeated indices in every namespace.
    """
    xp = namespace(codes)
    classes = xp.arange(n_classes, dtype=codes.dtype, device=compat.device(codes))
    return xp.astype(codes[:, None] == classes[None, :], dtype)


def smallest_in_rows(D: Array, k: int) -> tuple[Array, Array]:
    """Return the k smallest entries of each row in ascending order, and their columns.

    The choice among equal entries, and their order, depend on the namespace.

    Examples
    --------
    >>> smallest_in_rows(np.array([[4.0, 1.0, 3.0, 2.0]]), 2)
    (array([[1., 2.]]), array([[1, 3]]))
    """
    xp = namespace(D)
    if compat.is_numpy_array(D):
        columns, first = _columns_of_smallest(D, k), D.shape[1] * np.arange(len(D))[:, None]
        values = D.take(columns + first)  # faster than a pair of indices
        order = np.argsort(values, axis=1)
        order += k * np.arange(len(D))[:, None]
        return values.take(order), columns.take(order)
    if compat.is_torch_array(D):
        values, columns = xp.topk(D, k, dim=1, largest=False, sorted=True)
        return values, columns
    columns = xp.argsort(D, axis=1)[:, :k]
    return xp.take_along_axis(D, columns, axis=1), columns


def _columns_of_smallest(D: np.ndarray, k: int) -> np.ndarray:
    """Return the columns of the k smallest entries of each row, unsorted.

    Columns of long rows are divided into groups, with a few columns left over. The k groups with
    the smallest minima contain k smallest entries of all groups, so only these groups and the
    columns left over are partitioned. Taking minima is several times as fast as partitioning.
    """
    size = int((D.shape[1] / k) ** 0.5)  # columns in a group; balances the two partitions
    if size < MIN_COLUMNS_PER_GROUP or D.size <= MAX_PARTITIONED or D.shape[1] <= MAX_COLUMNS:
        return _partitioned(D, k)
    n_groups = D.shape[1] // size
    # Group g has the columns g, g + n_groups, ...: minima then run over contiguous memory.
    minima = D[:, : size * n_groups].reshape(-1, size, n_groups).min(axis=1)
    groups = _partitioned(minima, k)
    columns = (groups[:, :, None] + n_groups * np.arange(size)).reshape(len(D), -1)
    left_over = np.arange(size * n_groups, D.shape[1])
    left_over = np.broadcast_to(left_over, (len(D), len(left_over)))
    columns = np.concatenate([columns, left_over], axis=1)
    chosen = _partitioned(np.take_along_axis(D, columns, axis=1), k)
    return np.take_along_axis(columns, chosen, axis=1)


def _partitioned(D: np.ndarray, k: int) -> np.ndarray:
    """Return the columns of the k smallest entries of each row, unsorted, by one partition.

    NumPy partitions values two to three times as fast as indices. If exactly k entries of
    each row are at most its k-th smallest value, they are the result. Otherwise some entries are
    equal, and indices are partitioned.
    """
    if D.size > MAX_INDICES:
        found = np.flatnonzero(np.partition(D, k - 1, axis=1)[:, k - 1 : k] >= D)
        if len(found) == k * len(D):
            columns = found.reshape(-1, k) - D.shape[1] * np.arange(len(D))[:, None]
            if np.all((columns[:, 0] >= 0) & (columns[:, -1] < D.shape[1])):
                return columns
    return np.argpartition(D, k - 1, axis=1)[:, :k]


def largest_eigenpairs(S: Array, k: int) -> tuple[Array, Array]:
    """Return the k largest eigenvalues of a symmetric matrix, descending, and eigenvectors as rows.

    For few eigenpairs of large NumPy matrices, SciPy computes only these k. Smaller matrices use
    NumPy, because SciPy has its own BLAS, whose threads would compete with those of NumPy's BLAS.
    """
    xp = namespace(S)
    d = S.shape[0]
    if compat.is_numpy_array(S) and d > MIN_PARTIAL_EIGH_SIZE and 4 * k < d:
        values, vectors = scipy.linalg.eigh(S, subset_by_index=(d - k, d - 1), check_finite=False)
    else:
        with one_blas_thread() if d <= MAX_SIZE_ON_ONE_THREAD else nullcontext():
            values, vectors = xp.linalg.eigh(S)
        values, vectors = values[d - k :], vectors[:, d - k :]
    return xp.flip(values), xp.flip(vectors, axis=1).T


def triangular_factor(A: Array) -> Array:
    """Return the factor R of the QR decomposition of A."""
    if compat.is_numpy_array(A):
        return np.linalg.qr(A, mode="r")
    return namespace(A).linalg.qr(A, mode="reduced").R
