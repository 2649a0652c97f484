"""The limit: only the products, passes and decompositions that a work cannot do without.

Each function makes the products on arrays of the same sizes as the work, in float64, by blocks of
rows, and with the BLAS of this Python (on a GPU, in float32 by torch). What else the work does
(exponentials, selection, sorting, a solver's own steps) is left out. An implementation is faster
only if it makes fewer products, or makes them in single precision.
"""

import numpy as np
from scipy.spatial import KDTree

BLOCK_ROWS = 512
GPU_BLOCK_ROWS = 4096


def blocks(n):
    """Yield slices that cover n rows."""
    return (slice(i, i + BLOCK_ROWS) for i in range(0, n, BLOCK_ROWS))


def all_pairs(arrays, *, k=None):
    """One evaluation over all pairs: map, inner products, weighted sums, and gradient."""
    X = np.ascontiguousarray(arrays["X"], dtype=np.float64)
    L = np.eye(k or X.shape[1], X.shape[1])

    def call():
        Z = X @ L.T
        sums = np.empty_like(Z)
        for rows in blocks(len(X)):
            sums[rows] = (Z[rows] @ Z.T) @ Z
        return {"gradient": sums.T @ X}

    return call


def all_pairs_on_gpu(arrays, *, k=None, device="cuda"):
    """One evaluation over all pairs on a GPU, by torch in float32."""
    import torch

    X = torch.asarray(arrays["X"], device=device)
    L = torch.eye(k or X.shape[1], X.shape[1], dtype=X.dtype, device=device)

    def call():
        Z = X @ L.T
        sums = [(rows @ Z.T) @ Z for rows in torch.split(Z, GPU_BLOCK_ROWS)]
        gradient = torch.concat(sums).T @ X
        return {"norm": float(torch.linalg.norm(gradient))}  # float waits for the GPU

    return call


def map_and_gradient(arrays, *, k=None):
    """One evaluation of a sum over few pairs: map all samples, and compute the gradient."""
    X = np.ascontiguousarray(arrays["X"], dtype=np.float64)
    L = np.eye(k or X.shape[1], X.shape[1])

    def call():
        Z = X @ L.T
        return {"gradient": Z.T @ X}

    return call


def listed_pairs(arrays):
    """One evaluation of a sum over listed pairs: map the differences, and compute the gradient."""
    X, rows = arrays["X"], arrays["rows"]
    V = X[rows[:, 0]] - X[rows[:, 1]]
    M = np.eye(X.shape[1])

    def call():
        return {"gradient": V.T @ (V @ M)}

    return call


def inner_products(arrays, *, names=("X",), passes=1):
    """All inner products of the samples, for a search or for distances."""
    X = [np.ascontiguousarray(arrays[name], dtype=np.float64) for name in names]

    def call():
        total = 0.0
        for _ in range(passes):
            for each in X:
                for rows in blocks(len(each)):
                    total += (each[rows] @ each.T)[0, 0]
        return {"total": total}

    return call


def kernel_and_products(arrays, *, k):
    """The kernel matrix, and one product of it with k vectors."""
    X = np.ascontiguousarray(arrays["X"], dtype=np.float64)
    X = X / (np.abs(X).max() * X.shape[1])  # so that exp does not overflow
    V = np.random.default_rng(0).normal(size=(len(X), k))

    def call():
        K = np.empty((len(X), len(X)))
        for rows in blocks(len(X)):
            np.exp(X[rows] @ X.T, out=K[rows])
        return {"product": K @ V}

    return call


def kernel_eigenvectors(arrays):
    """The kernel matrix, and its eigenvectors, which are the coordinates of the samples."""
    X = np.ascontiguousarray(arrays["X"], dtype=np.float64)
    X = X / (np.abs(X).max() * X.shape[1])  # so that exp does not overflow
    return lambda: {"eigenvectors": np.linalg.eigh(np.exp(X @ X.T))[1]}


def square_and_multiply(arrays, *, k, n=None):
    """Square a matrix of distances once, and multiply it by k vectors."""
    D = arrays["D"] if "D" in arrays else np.ones((n or len(arrays["X"]),) * 2)
    V = np.random.default_rng(0).normal(size=(len(D), k))

    def call():
        product = np.empty_like(V)
        for rows in blocks(len(D)):
            product[rows] = np.square(D[rows]) @ V
        return {"product": product}

    return call


def neighborhoods(arrays, *, n_neighbors, eigen):
    """Find the neighbours by a tree, and solve one small system or eigenproblem for each sample."""
    X = arrays["X"]

    def call():
        indices = KDTree(X).query(X, n_neighbors + 1, workers=-1)[1][:, 1:]
        V = X[indices] - X[:, None]
        gram = V @ V.transpose(0, 2, 1) + 0.1 * np.eye(n_neighbors)
        ones = np.ones((len(X), n_neighbors, 1))
        return {"found": np.linalg.eigh(gram)[1] if eigen else np.linalg.solve(gram, ones)}

    return call


def query_products(arrays):
    """All inner products of new rows with the samples."""
    X, Q = arrays["X"], arrays["Q"]

    def call():
        total = 0.0
        for rows in blocks(len(Q)):
            total += (Q[rows] @ X.T)[0, 0]
        return {"total": total}

    return call


def scatter(arrays):
    """The product of the transposed samples with the samples, in their own precision."""
    X = arrays["X"]
    return lambda: {"scatter": X.T @ X}
