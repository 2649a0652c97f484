"""Approximate neighbours with exact distances."""

from functools import cached_property
from typing import Any

import numpy as np

from dimetric.neighbors.approximate.faiss_index import FaissIndex
from dimetric.neighbors.approximate.model_index import ModelIndex
from dimetric.neighbors.approximate.search import ApproximateNeighbors, is_approximate
from dimetric.neighbors.euclidean.index import EuclideanIndex
from dimetric.neighbors.euclidean.search import euclidean_neighbors

SPARE_CANDIDATES = 4  # candidates in addition to the k neighbours, because faiss rounds distances


class ApproximateIndex:
    """Points that are searched for the neighbours of queries, as a parameter `search` says.

    Distances are computed from the differences between the vectors, in double precision. If the
    search finds fewer than k candidates of a query, this query is searched exactly. If there are
    too few points for an approximate search, all queries are.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        Points on the host.
    search : ApproximateNeighbors or neighbour model
        See :class:`~dimetric.neighbors.approximate.model_index.ModelIndex`.

    Examples
    --------
    >>> from sklearn.neighbors import NearestNeighbors
    >>> index = ApproximateIndex(np.array([[0.0], [1.0], [5.0]]), NearestNeighbors())
    >>> index.nearest(np.array([[2.0]]), 2)
    (array([[1., 2.]]), array([[1, 0]]))
    """

    def __init__(self, points: np.ndarray, search: Any) -> None:
        self._points, self._search = points, search
        self._exact = EuclideanIndex(points)

    def build(self) -> None:
        """Prepare the search now. Otherwise the first query prepares it."""
        _ = self._found_by

    def nearest(self, Q: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the distances and indices of k near points of every row, nearest first.

        Points at equal distance are ordered by index.
        """
        if self._found_by is None:
            return self._nearest_exactly(Q, k)
        m = min(k + SPARE_CANDIDATES, len(self._points))
        candidates = np.sort(self._found_by.candidates(Q, m), axis=1)
        complete = np.sum(candidates >= 0, axis=1) >= k
        if not np.any(complete):
            return self._nearest_exactly(Q, k)
        squares = self._exact.squared_distances(Q, np.maximum(candidates, 0))
        squares[candidates < 0] = np.inf
        order = np.argsort(squares, axis=1, kind="stable")[:, :k]
        distances = np.sqrt(np.take_along_axis(squares, order, axis=1))
        indices = np.take_along_axis(candidates, order, axis=1)
        rows = np.flatnonzero(~complete)
        if len(rows):
            distances[rows], indices[rows] = self._nearest_exactly(Q[rows], k)
        return distances, indices

    def nearest_others(
        self, k: int, rows: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the distances and indices of k other points near each point.

        Parameters
        ----------
        k : int
            Number of neighbours.
        rows : ndarray, optional
            Row numbers of the points whose neighbours are searched. By default, these are all.
        """
        rows = np.arange(len(self._points)) if rows is None else rows
        distances, indices = self.nearest(self._points[rows], k + 1)
        others = indices != rows[:, None]
        others[np.all(others, axis=1), -1] = False
        return distances[others].reshape(-1, k), indices[others].reshape(-1, k)

    @cached_property
    def _found_by(self) -> FaissIndex | ModelIndex | None:
        """The index that finds candidates, or None if the search is exact."""
        if not is_approximate(self._search, len(self._points)):
            return None
        if not isinstance(self._search, ApproximateNeighbors):
            return ModelIndex(self._points, self._search)
        return FaissIndex(self._points, self._search)

    def _nearest_exactly(self, Q: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        Q, points = (a.astype(np.float64, copy=False) for a in (Q, self._points))
        with np.errstate(over="ignore", invalid="ignore"):
            return euclidean_neighbors(Q, k, points)
