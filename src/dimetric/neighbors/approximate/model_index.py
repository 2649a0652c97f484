"""Candidates for nearest neighbours, found by objects such as those of scikit-learn."""

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone


class ModelIndex:
    """Points that a copy of a neighbour model is fitted to.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        Points.
    search : object
        An object with ``fit(X)`` and ``kneighbors(X, n_neighbors=..., return_distance=False)``,
        such as :class:`sklearn.neighbors.NearestNeighbors`, or with ``fit(X)`` and
        ``transform(X)``, which returns a sparse graph, such as
        :class:`sklearn.neighbors.KNeighborsTransformer`.
    """

    def __init__(self, points: np.ndarray, search: Any) -> None:
        self._points, self._search = points, search
        self._model: Any = None
        self._n_neighbors = 0  # of a model whose neighbours only ``transform`` returns

    def candidates(self, Q: np.ndarray, m: int) -> np.ndarray:
        """Return the row numbers of about m near points of each query, and -1 for missing ones."""
        if hasattr(self._search, "kneighbors"):
            if self._model is None:
                self._model = clone(self._search, safe=False).fit(self._points)
            found = self._model.kneighbors(Q, n_neighbors=m, return_distance=False)
            found = np.asarray(found)
        else:
            found = self._from_graph(Q, m)
        n = len(self._points)
        valid_shape = found.ndim == 2 and len(found) == len(Q)
        if not valid_shape or found.dtype.kind not in "iu" or np.any((found < -1) | (found >= n)):
            raise ValueError(
                f"search={self._search!r} must return row numbers of the {n} points that it was "
                f"fitted to, for {len(Q)} queries. It returned an array of shape {found.shape} "
                f"and dtype {found.dtype}."
            )
        return found.astype(np.int64, copy=False)

    def _from_graph(self, Q: np.ndarray, m: int) -> np.ndarray:
        """Return the neighbours in the sparse graph of ``transform``."""
        if self._model is None or m > self._n_neighbors:
            self._n_neighbors, self._model = m, clone(self._search, safe=False)
            if "n_neighbors" in getattr(self._model, "get_params", dict)():
                # scikit-learn's transformers search for one more neighbour.
                self._model.set_params(n_neighbors=min(m, len(self._points) - 1))
            self._model.fit(self._points)
        graph = self._model.transform(Q)
        shape = len(Q), len(self._points)
        if not sparse.issparse(graph) or graph.shape != shape:
            raise ValueError(
                f"search={self._search!r} must return a sparse graph of shape {shape} from "
                "transform, as sklearn.neighbors.KNeighborsTransformer does. It returned "
                f"a {type(graph).__name__} of shape {getattr(graph, 'shape', None)}."
            )
        graph = sparse.csr_array(graph)
        counts = np.diff(graph.indptr)
        found = np.full((len(Q), int(counts.max(initial=0))), -1, np.int64)
        found[np.arange(found.shape[1]) < counts[:, None]] = graph.indices
        return found
