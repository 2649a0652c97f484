"""Candidates for nearest neighbours, found by faiss in single precision."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from math import isqrt
from typing import Any

import numpy as np

from dimetric._arrays.blocks import row_blocks
from dimetric.neighbors.approximate.search import ApproximateNeighbors
from dimetric.neighbors.euclidean.products import centre_and_scale

EF_CONSTRUCTION = 80  # points that are kept to find the links of a new point
KMEANS_ITERATIONS = 10
KMEANS_POINTS_PER_LIST = 64
LISTS_PER_ROOT = 2  # number of lists, relative to the square root of the number of points
# Calls of faiss take at most a few tenths of a second, so that they can be interrupted.
SLICE_POINTS = 1000
SLICE_QUERIES = 2048
# Single precision cannot tell which points are near a query this far away, in units of the range
# of the points.
FAR = 2.0**8


class FaissIndex:
    """Points in an index of faiss.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        Points.
    search : ApproximateNeighbors
        Settings of the search.
    """

    def __init__(self, points: np.ndarray, search: ApproximateNeighbors) -> None:
        self._faiss = _import_faiss()
        self._centre, self._scale = centre_and_scale(points)
        n, d = points.shape
        self._index = getattr(self, f"_{search.kind}")(n, d, search)
        # With several threads, the links of a graph depend on which thread is faster.
        with self._one_thread(search.kind == "hnsw"):
            if not self._index.is_trained:
                self._index.train(self._scaled(points))
            for block in row_blocks(n, SLICE_POINTS):
                self._index.add(self._scaled(points[block]))

    def candidates(self, Q: np.ndarray, m: int) -> np.ndarray:
        """Return the row numbers of about m near points of each query, and -1 for missing ones."""
        found = np.full((len(Q), m), -1, np.int64)
        for block in row_blocks(len(Q), SLICE_QUERIES):
            queries = self._scaled(Q[block])
            near = np.flatnonzero(np.max(np.abs(queries), axis=1, initial=0) <= FAR)
            if len(near):
                found[block.start + near] = self._index.search(queries[near], m)[1]
        return found

    def _flat(self, n: int, d: int, search: ApproximateNeighbors) -> Any:
        return self._faiss.IndexFlatL2(d)

    def _hnsw(self, n: int, d: int, search: ApproximateNeighbors) -> Any:
        index = self._faiss.IndexHNSWFlat(d, int(search.n_links))
        index.hnsw.efConstruction = max(EF_CONSTRUCTION, 2 * int(search.n_links))
        index.hnsw.efSearch = int(search.ef_search)
        index.hnsw.rng = self._faiss.RandomGenerator(int(search.random_state))
        return index

    def _ivf(self, n: int, d: int, search: ApproximateNeighbors) -> Any:
        n_lists = LISTS_PER_ROOT * isqrt(n) if search.n_lists is None else int(search.n_lists)
        n_lists = max(1, min(n_lists, n))
        index = self._faiss.IndexIVFFlat(self._faiss.IndexFlatL2(d), d, n_lists)
        index.nprobe = min(int(search.n_probes), n_lists)
        index.cp.seed, index.cp.niter = int(search.random_state), KMEANS_ITERATIONS
        # faiss prints a warning if there are fewer points for each list than the minimum.
        index.cp.min_points_per_centroid = 1
        index.cp.max_points_per_centroid = KMEANS_POINTS_PER_LIST
        return index

    def _scaled(self, Q: np.ndarray) -> np.ndarray:
        """Return queries or points, centred and rescaled, in single precision."""
        with np.errstate(over="ignore"):
            return ((Q - self._centre) * self._scale).astype(np.float32, order="C")

    @contextmanager
    def _one_thread(self, is_needed: bool) -> Iterator[None]:
        n_threads = self._faiss.omp_get_max_threads()
        try:
            if is_needed:
                self._faiss.omp_set_num_threads(1)
            yield
        finally:
            self._faiss.omp_set_num_threads(n_threads)


def _import_faiss() -> Any:
    try:
        return import_module("faiss")
    except ImportError:
        raise ImportError(
            "ApproximateNeighbors requires the package faiss. Install it: "
            'pip install "dimetric[ann]". Or set search=None for an exact search.'
        ) from None
