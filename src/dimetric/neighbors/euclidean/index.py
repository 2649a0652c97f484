r"""Euclidean neighbours of new queries among fixed points, which are prepared once.

There are three ways to search, and all are exact:

- **Differences.** For little work, the distances to all points are computed.
- **Products.** A matrix product in single precision finds candidates
  (:mod:`dimetric.neighbors.euclidean.products`).
- **Tree.** A k-d tree (:mod:`dimetric.neighbors.compiled.tree`) compares only some of the points.

In all cases the distances are sums of squared differences in double precision.

**Choice.** The time of a query is about

.. math:: t_{tree} = 7\, s, \qquad t_{product} = n\, (0.9 + 0.022\, d)

nanoseconds. The constants are rounded from a few measurements on one processor. s is the mean
number of points that the tree compares with a query, measured with 64 of the points as queries. The
tree is used if its time is less.
"""

import sys
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from dimetric._arrays.blocks import row_blocks
from dimetric._arrays.compiled import import_compiled
from dimetric._arrays.namespaces import smallest_in_rows
from dimetric._arrays.threads import run_on_threads
from dimetric.neighbors.euclidean import in_numpy
from dimetric.neighbors.euclidean.products import ProductIndex, nanoseconds_per_distance

COMPILED_VALUES = 2**20  # coordinates of candidates that one task measures
# numba takes half a second to import, so products use it from this much work on.
MIN_COMPILED_NANOSECONDS = 4e6
TREE_POINTS = 5_000  # for fewer points, products are as fast as a tree
TREE_FEATURES = 64  # for more features, building a tree takes too long
PROBED_FEATURES = 8  # for more features, a tree of some points shows whether to build one of all
PROBED_PART = 16  # one of this many points
SCAN_NANOSECONDS = 7.0  # per point that a tree compares
# Number of queries times coordinates of all points, up to which differences take less time than
# products, with and without numba.
MAX_DIFFERENCES, MAX_DIFFERENCES_WITHOUT_NUMBA = 2**15, 2**18


class EuclideanIndex:
    """Exact search for the points nearest to queries.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        Points of dtype float32 or float64. They should be distinct, because a tree cannot separate
        equal points.

    Examples
    --------
    >>> index = EuclideanIndex(np.array([[0.0], [1.0], [5.0]]))
    >>> index.nearest(np.array([[2.0]]), 2)
    (array([[1., 2.]]), array([[1, 0]]))
    """

    def __init__(self, points: np.ndarray) -> None:
        self._points = points
        self._nanoseconds = 0.0  # work done without numba so far

    def build(self) -> None:
        """Prepare the search now. Otherwise the first query prepares it."""
        if self._tree is None:
            _ = self._product

    def nearest(self, Q: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the distances and indices of the k nearest points of every row, nearest first.

        Distances are in double precision. The order of points at equal distance is arbitrary.
        """
        if self._tree is not None:
            squares, found = self._tree.nearest(Q, k)
            return np.sqrt(squares, out=squares), found.astype(np.int64)
        n_values, (n, d) = len(Q) * self._points.size, self._points.shape
        if n_values <= MAX_DIFFERENCES:
            return self._by_differences(Q, k)
        functions = self._functions(len(Q) * n * nanoseconds_per_distance(d))
        if functions is in_numpy and n_values <= MAX_DIFFERENCES_WITHOUT_NUMBA:
            return self._by_differences(Q, k)
        return self._product.nearest(Q, k, functions)

    def squared_distances(self, Q: np.ndarray, candidates: np.ndarray) -> np.ndarray:
        """Return the squared distances from every row of Q to its candidates, of shape (n, m)."""
        (n_queries, m), d = candidates.shape, self._points.shape[1]
        squares = np.empty((n_queries, m))
        functions = self._functions(0)

        def work(tasks: Iterator[slice]) -> None:
            for b in tasks:
                functions.measure(Q[b], self._points, candidates[b], squares[b])

        # Compiled code needs no memory for the coordinates, but waking threads takes time.
        values = in_numpy.MEASURED_VALUES if functions is in_numpy else COMPILED_VALUES
        blocks = list(row_blocks(n_queries, max(1, values // (m * d))))
        if len(blocks) > 1:
            run_on_threads(work, blocks, shared_queue=True)
        else:
            work(iter(blocks))
        return squares

    def _by_differences(self, Q: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the nearest points of a few queries, by the distances to all points."""
        # cdist adds one feature after the other, as the compiled code does.
        squares, indices = smallest_in_rows(cdist(Q, self._in_double, "sqeuclidean"), k)
        return np.sqrt(squares, out=squares), indices

    @cached_property
    def _in_double(self) -> np.ndarray:
        """The points in double precision, row by row in memory."""
        return np.ascontiguousarray(self._points, dtype=np.float64)

    @cached_property
    def _product(self) -> ProductIndex:
        return ProductIndex(self._points)

    @cached_property
    def _tree(self) -> Any:
        """A tree, if it is faster than products. It requires numba."""
        n, d = self._points.shape
        if n < TREE_POINTS or d > TREE_FEATURES:
            return None
        compiled = import_compiled("neighbors.compiled.tree")
        if compiled is None:
            return None
        limit = n * nanoseconds_per_distance(d) / SCAN_NANOSECONDS
        if d > PROBED_FEATURES:
            # The number of compared points grows slower than the square root of all points.
            part = compiled.Tree(self._points[::PROBED_PART])
            if part.scanned * PROBED_PART**0.5 > limit:
                return None
        tree = compiled.Tree(self._points)
        return tree if tree.scanned < limit else None

    def _functions(self, nanoseconds: float) -> Any:
        """Return the module with the inner loops. numba is not imported for little work."""
        if "numba" not in sys.modules and self._nanoseconds < MIN_COMPILED_NANOSECONDS:
            self._nanoseconds += nanoseconds
            if self._nanoseconds < MIN_COMPILED_NANOSECONDS:
                return in_numpy
        compiled = import_compiled("neighbors.compiled.query_search")
        return in_numpy if compiled is None else compiled
