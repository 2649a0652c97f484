r"""In-place NumPy paths of the pairwise rules, each tested equal to the engine.

Samples come sorted by class, so that "same class" is a slice of columns instead of a mask.
Squared distances of a block come from one matrix product of augmented rows,
:math:`[-2z, |z|^2, 1] \cdot [z', 1, |z'|^2]`, into a buffer that everything else works in.
Blocks are dealt out to threads with single-threaded BLAS: element-wise NumPy uses one core, and a
BLAS that brings its own threads to each worker would only make them wait for one another.
"""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import wraps
from typing import Any

import numpy as np

from dimetric._arrays.threads import n_threads, one_blas_thread

BLOCK = 128  # rows; fits the cache beside the columns at a few thousand samples
REACH = 40.0  # softmax weights below e^-40 of the largest count for nothing


def _over_blocks(work: Callable[[range], Any], n_samples: int, threads: int) -> list[Any]:
    """Run ``work(starts of blocks)`` on every thread; block b goes to thread b mod threads.

    The deal is fixed, so the same thread count gives the same bits.
    """
    deals = [range(t * BLOCK, n_samples, threads * BLOCK) for t in range(threads)]
    if threads == 1:
        return [work(deals[0])]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, deals))


def _single_threaded_blas(evaluate: Callable[..., Any]) -> Callable[..., Any]:
    """Run with one BLAS thread, and with as many workers as BLAS had threads."""

    @wraps(evaluate)
    def limited(Z: np.ndarray, *arguments: Any) -> Any:
        with one_blas_thread() as allowed:
            return evaluate(Z, *arguments, threads=n_threads(allowed, len(Z)))

    return limited


def _augmented(Z: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return A, B with A @ B = squared distances between the rows of Z."""
    norms = np.einsum("ij,ij->i", Z, Z)[:, None]
    ones = np.ones_like(norms)
    return np.hstack([-2 * Z, norms, ones]), np.ascontiguousarray(np.hstack([Z, ones, norms]).T)


def _class_runs(first: int, last: int, starts: np.ndarray) -> list[tuple[slice, slice]]:
    """Return (rows of the block, columns of their class) for each class in rows first:last."""
    runs = []
    c = int(np.searchsorted(starts, first, side="right")) - 1
    while first < last:
        stop = min(last, int(starts[c + 1]))
        if stop > first:
            runs.append((slice(first, stop), slice(int(starts[c]), int(starts[c + 1]))))
        first, c = stop, c + 1
    return runs


def _product(
    weigh: Callable[[np.ndarray, int, int], float],
    Z: np.ndarray,
    V: np.ndarray,
    threads: int,
    *,
    upper: bool = False,
) -> tuple[float, np.ndarray, np.ndarray]:
    """Return a loss, the Laplacian of its weights W times V, and the degrees of W.

    ``weigh(D, first, last)`` turns the squared distances of the points first:last to all points,
    or to those from `first` on if `upper`, into their weights, in place, and returns the loss.
    """
    n = len(Z)
    A, B = _augmented(Z)
    V1 = np.hstack([V, np.ones_like(V[:, :1])])  # the ones make the degrees ride along

    def work(blocks: range) -> tuple[float, np.ndarray]:
        buffer = np.empty(min(BLOCK, n) * n, Z.dtype)
        loss, total = 0.0, np.zeros_like(V1)
        for first in blocks:
            rows, columns = slice(first, min(first + BLOCK, n)), slice(first if upper else 0, n)
            shape = rows.stop - first, n - columns.start
            W = buffer[: shape[0] * shape[1]].reshape(shape)
            np.matmul(A[rows], B[:, columns], out=W)
            loss += weigh(W, rows.start, rows.stop)
            total[rows] += W @ V1[columns]
            total[columns] += W.T @ V1[rows]
        return loss, total

    parts = _over_blocks(work, n, threads)
    loss = sum(part[0] for part in parts)
    total = np.sum([part[1] for part in parts], axis=0)
    return loss, total[:, -1:] * V - total[:, :-1], total[:, -1]


def _softmax(P: np.ndarray, first: int, last: int) -> tuple[np.ndarray, np.ndarray]:
    """Turn distances P of the points first:last into softmax weights, but for their scale.

    Returns the distance of each point's nearest neighbour, whose weight is 1, and their sum.
    """
    # Below this share of its nearest neighbour's weight a sample counts for nothing, but on the
    # way to 0 are subnormal numbers, at a hundred times the cost of others.
    negligible = P.dtype.type(0.4) * np.log(np.finfo(P.dtype).tiny)
    itself = np.arange(last - first), np.arange(first, last)
    P[itself] = np.inf
    nearest = P.min(axis=1, keepdims=True)
    np.subtract(nearest, P, out=P)
    np.maximum(P, negligible, out=P)
    np.exp(P, out=P)
    P[itself] = 0
    return nearest, P.sum(axis=1, keepdims=True)


@_single_threaded_blas
def nca(
    Z: np.ndarray, V: np.ndarray, starts: np.ndarray, theta: np.ndarray, *, threads: int = 1
) -> tuple[float, np.ndarray, float]:
    """Return what ``engine.laplacian_product`` does for ``neighborhood.nca.NCARule``."""
    tiny = np.finfo(Z.dtype).tiny

    def weigh(P: np.ndarray, first: int, last: int) -> float:
        scale = 1 / _softmax(P, first, last)[1]
        loss = 0.0
        for rows, own in _class_runs(first, last, starts):
            here = slice(rows.start - first, rows.stop - first)
            # W = P (same - p): -p P everywhere, then (p - 1) / p times that in the own class.
            p = P[here, own].sum(axis=1, keepdims=True) * scale[here]
            loss -= float(p.sum(dtype=np.float64))
            p = np.maximum(p, tiny)
            P[here] *= -p * scale[here]
            P[here, own] *= (p - 1) / p
        return loss

    return *_product(weigh, Z, V, threads)[:2], 0.0


@_single_threaded_blas
def mcml(
    Z: np.ndarray, V: np.ndarray, starts: np.ndarray, theta: np.ndarray, *, threads: int = 1
) -> tuple[float, np.ndarray, float]:
    """Return what ``engine.laplacian_product`` does for ``information.mcml.MCMLRule``."""
    sizes = np.diff(starts)
    is_anchor = np.repeat(sizes > 1, sizes)[:, None]

    def weigh(P: np.ndarray, first: int, last: int) -> float:
        nearest, scale = _softmax(P, first, last)
        anchors = is_anchor[first:last]
        P *= np.where(anchors, -1 / scale, 0)
        return float(np.sum(np.log(scale) - nearest, where=anchors, dtype=np.float64))

    loss, product, _ = _product(weigh, Z, V, threads)
    # The other term is linear in M: the scatter of each class.
    for start, size in zip(starts[:-1].tolist(), sizes.tolist(), strict=True):
        if size > 1:
            members, weight = slice(start, start + size), 2 * size / (size - 1)
            deviation = Z[members] - Z[members].mean(axis=0)
            loss += weight * float(np.sum(deviation**2, dtype=np.float64))
            product[members] += weight * (V[members] - V[members].mean(axis=0))
    return loss, product, 0.0


@_single_threaded_blas
def ldml(
    Z: np.ndarray, V: np.ndarray, starts: np.ndarray, b: float, *, threads: int = 1
) -> tuple[float, np.ndarray, float]:
    """Return what ``engine.laplacian_product`` does for ``similarity.ldml.LDMLRule``."""
    far = -0.4 * float(np.log(np.finfo(Z.dtype).tiny))  # e^-far counts for nothing
    lower = np.tri(min(BLOCK, len(Z)), dtype=bool)

    def weigh(T: np.ndarray, first: int, last: int) -> float:
        size = last - first
        corner, seen = T[:, :size], lower[:size, :size]  # a pair counts once, itself never
        runs = [
            (slice(rows.start - first, rows.stop - first), own.stop - first)
            for rows, own in _class_runs(first, last, starts)
        ]
        # With t = d2 - b the loss is log(1 + e^-t), plus t for the similar pairs.
        T -= b
        corner[seen] = 0
        loss = sum(float(T[rows, :similar].sum()) for rows, similar in runs)
        if b > far:  # there log(1 + e^-t) is -t
            loss -= float(np.minimum(T + far, 0).sum())
        corner[seen] = far
        np.clip(T, -far, far, out=T)
        np.negative(T, out=T)
        np.exp(T, out=T)
        T += 1
        loss += float(np.log(T).sum())
        np.reciprocal(T, out=T)
        for rows, similar in runs:
            T[rows, similar:] -= 1
        corner[seen] = 0
        return loss

    loss, product, degrees = _product(weigh, Z, V, threads, upper=True)
    return loss, product, -float(degrees.sum(dtype=np.float64)) / 2


@_single_threaded_blas
def distances(
    Z: np.ndarray, V: np.ndarray, starts: np.ndarray, eps: float, *, threads: int = 1
) -> tuple[float, np.ndarray, float]:
    """Return what ``engine.laplacian_product`` does for ``similarity.lsi.DistanceRule``."""

    def weigh(T: np.ndarray, first: int, last: int) -> float:
        loss = 0.0
        for rows, own in _class_runs(first, last, starts):
            here, after = slice(rows.start - first, rows.stop - first), own.stop - first
            T[here, :after] = 0  # of the same class, or met before
            R = T[here, after:]
            np.maximum(R, 0, out=R)
            R += eps
            np.sqrt(R, out=R)
            loss += float(R.sum(dtype=np.float64))
            np.divide(0.5, R, out=R, where=R > 0)
        return loss

    return *_product(weigh, Z, V, threads, upper=True)[:2], 0.0


@_single_threaded_blas
def softmin(
    Z: np.ndarray,
    V: np.ndarray,
    starts: np.ndarray,
    mu: float,
    left_out: np.ndarray,
    *,
    threads: int = 1,
) -> tuple[float, float, np.ndarray]:
    r"""Return the least squared distance of different classes, and weights relative to it.

    Weights are :math:`e^{-d^2 / \mu}`: their sum, and their Laplacian times V. Pairs ``left_out``,
    of shape (m, 2), the smaller number first and ascending, do not count.
    """
    n = len(Z)
    A, B = _augmented(Z)
    V1 = np.hstack([V, np.ones_like(V[:, :1])])

    def work(blocks: range) -> tuple[float, np.ndarray]:
        buffer = np.empty(min(BLOCK, n) * n, Z.dtype)
        least, total = np.inf, np.zeros_like(V1)
        for first in blocks:
            last = min(first + BLOCK, n)
            rows, columns = slice(first, last), slice(first, n)
            W = buffer[: (last - first) * (n - first)].reshape(last - first, n - first)
            np.matmul(A[rows], B[:, columns], out=W)
            for own_rows, own in _class_runs(first, last, starts):
                W[own_rows.start - first : own_rows.stop - first, : own.stop - first] = np.inf
            some = left_out[slice(*np.searchsorted(left_out[:, 0], [first, last]))] - first
            W[some[:, 0], some[:, 1]] = np.inf
            low = max(0.0, float(W.min()))
            if low == np.inf or low > least + REACH * mu:  # nothing near in this block
                continue
            if low < least:
                total *= np.exp((low - least) / mu)
                least = low
            np.subtract(least, W, out=W)
            W /= mu
            np.clip(W, -700, 0, out=W)  # lower exponents are slow, and count for nothing
            np.exp(W, out=W)
            total[rows] += W @ V1[columns]
            total[columns] += W.T @ V1[rows]
        return least, total

    parts = _over_blocks(work, n, threads)
    least = min(part[0] for part in parts)
    shares = [np.exp((least - low) / mu) if low < np.inf else 0.0 for low, _ in parts]
    total = np.sum([share * part for share, (_, part) in zip(shares, parts, strict=True)], axis=0)
    weight = float(total[:, -1].sum()) / 2
    return least, weight, total[:, -1:] * V - total[:, :-1]
