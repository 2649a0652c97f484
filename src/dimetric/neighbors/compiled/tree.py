r"""Exact Euclidean neighbours from a k-d tree with numba (the extra ``fast``).

The tree is balanced and complete: all leaves have the same depth and the same size, so nodes need
no pointers. Node i has the children 2 i + 1 and 2 i + 2. A node is split at the median of the
feature in which its points spread most. It stores the bounding box of its points. A query descends
to the nearer child first, and skips nodes whose box is farther than the k-th neighbour found so
far.
"""

from collections.abc import Iterator

import numpy as np
from numba import njit

from dimetric._arrays.blocks import row_blocks
from dimetric._arrays.threads import run_on_threads
from dimetric.neighbors.compiled._insert import insert

LEAF_POINTS = 48  # largest number of points in a leaf
BLOCK_ENTRIES = 2**20  # points compared by the queries of a task, in the mean
MAX_BLOCK_QUERIES = 256
SAMPLE_QUERIES = 64  # points whose search measures the cost of a query
SAMPLE_NEIGHBORS = 8


class Tree:
    """A k-d tree of distinct points.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        Points, of any floating dtype.

    Attributes
    ----------
    scanned : float
        Mean number of points that a query compares, measured by queries near the points.
    """

    def __init__(self, points: np.ndarray) -> None:
        n, d = points.shape
        levels = int(np.ceil(np.log2(max(1, n / LEAF_POINTS))))
        size = -(-n // 2**levels)
        # Indices from n on are padding. They fill the leaves, but are never neighbours.
        order = np.arange(2**levels * size)[None, :]
        X = points[np.minimum(order, n - 1)].astype(np.float64, copy=False)
        boxes = [(X.min(axis=1), X.max(axis=1))]
        for _ in range(levels):
            low, high = boxes[-1]
            feature = np.argmax(high - low, axis=1)
            values = X[np.arange(len(X)), :, feature]
            half = X.shape[1] // 2
            chosen = np.argpartition(values, half, axis=1)
            order = np.take_along_axis(order, chosen, axis=1).reshape(-1, half)
            X = np.take_along_axis(X, chosen[:, :, None], axis=1).reshape(-1, half, d)
            boxes.append((X.min(axis=1), X.max(axis=1)))
        self._low = np.concatenate([low for low, _ in boxes])
        self._high = np.concatenate([high for _, high in boxes])
        leaves = np.where((order < n)[:, :, None], X, np.inf)
        self._leaves = np.ascontiguousarray(leaves.transpose(0, 2, 1))
        self._indices = order.astype(np.int32)
        sample = points[np.linspace(0, n - 1, min(n, SAMPLE_QUERIES)).astype(np.int64)]
        shape = len(sample), min(SAMPLE_NEIGHBORS, n)
        scans = self._query(sample, np.full(shape, np.inf), np.zeros(shape, np.int32))
        self.scanned = size * scans / len(sample)

    def nearest(self, Q: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the squared distances and indices of the k nearest points of every row of Q."""
        squares, indices = np.full((len(Q), k), np.inf), np.zeros((len(Q), k), np.int32)
        rows = int(max(1, min(MAX_BLOCK_QUERIES, BLOCK_ENTRIES // max(1.0, self.scanned))))

        def work(tasks: Iterator[slice]) -> None:
            for b in tasks:
                self._query(Q[b], squares[b], indices[b])

        if len(Q) <= rows:
            work(iter([slice(0, len(Q))]))
        else:
            run_on_threads(work, list(row_blocks(len(Q), rows)), shared_queue=True)
        return squares, indices

    def _query(self, Q: np.ndarray, squares: np.ndarray, indices: np.ndarray) -> int:
        """Search the nearest points of queries, and return the number of leaves scanned."""
        Q = np.ascontiguousarray(Q, dtype=np.float64)
        return _query(Q, self._low, self._high, self._leaves, self._indices, squares, indices)


@njit(nogil=True, cache=True)
def _square_to_box(q, low, high):  # type: ignore # pragma: no cover - compiled
    """Return the squared distance from a query to the nearest point of a box."""
    total = 0.0
    for f in range(len(q)):
        difference = max(low[f] - q[f], q[f] - high[f], 0.0)
        total += difference * difference
    return total


@njit(nogil=True, cache=True)
def _squares_to_leaf(q, leaf, squares):  # type: ignore # pragma: no cover - compiled
    """Compute the squared distances from a query to the points of a leaf.

    The features are summed in the same order as in `_square_to_box`. So, after rounding too, no
    point is nearer than the box of its leaf.
    """
    for j in range(len(squares)):
        squares[j] = 0.0
    for f in range(len(q)):
        value, row = q[f], leaf[f]
        for j in range(len(squares)):
            difference = value - row[j]
            squares[j] += difference * difference


@njit(nogil=True, cache=True)
def _query(  # type: ignore # pragma: no cover - compiled
    Q, low, high, leaves, leaf_indices, squares, indices
):
    """Search the neighbours of all rows of Q, and return the number of leaves scanned."""
    n_leaves, size = leaf_indices.shape
    n_inner = n_leaves - 1
    waiting, waiting_squares = np.empty(64, np.int64), np.empty(64)
    in_leaf = np.empty(size)
    scans = 0
    for i in range(len(Q)):
        q, row, row_indices = Q[i], squares[i], indices[i]
        waiting[0], waiting_squares[0], n_waiting = 0, 0.0, 1
        while n_waiting > 0:
            n_waiting -= 1
            node, nearest = waiting[n_waiting], waiting_squares[n_waiting]
            while node < n_inner and nearest < row[-1]:
                node = 2 * node + 1
                nearest = _square_to_box(q, low[node], high[node])
                other = _square_to_box(q, low[node + 1], high[node + 1])
                farther = node + 1
                if other < nearest:
                    node, farther, nearest, other = farther, node, other, nearest
                if other < row[-1]:
                    waiting[n_waiting], waiting_squares[n_waiting] = farther, other
                    n_waiting += 1
            if nearest >= row[-1]:
                continue
            scans += 1
            leaf = node - n_inner
            _squares_to_leaf(q, leaves[leaf], in_leaf)
            for j in range(size):
                if in_leaf[j] < row[-1]:
                    insert(row, row_indices, in_leaf[j], leaf_indices[leaf, j])
    return scans
