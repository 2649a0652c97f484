"""Shortest paths along the edges of a graph."""

from typing import Any

import numpy as np
from scipy.sparse import csgraph

from dimetric._arrays.blocks import row_blocks
from dimetric.neighbors._compiled import compiled
from dimetric.neighbors.graph import BLOCK, Graph

SMALL = 512  # nodes up to which Floyd's and Warshall's algorithm is faster on a dense graph


def geodesics(
    graph: Graph,
    sources: np.ndarray | None = None,
    *,
    method: str = "auto",
    dtype: Any = np.float64,
) -> np.ndarray:
    """Return the lengths of the shortest paths from sources to all nodes.

    Parameters
    ----------
    graph : csr_array of shape (n, n)
        Undirected.
    sources : ndarray of shape (m,), optional
        Distinct nodes, by default all.
    method : {"auto", "D", "FW"}, default="auto"
        Dijkstra's algorithm, or Floyd's and Warshall's, which is for small graphs with many
        edges. ``"D"`` uses all cores if numba is installed (the extra ``fast``).
    dtype : dtype, default=float64
        dtype of the result. Paths are summed in float64.

    Returns
    -------
    lengths : ndarray of shape (m, n)
        Infinite where there is no path.

    Examples
    --------
    >>> from dimetric.neighbors.graph import Neighborhood
    >>> geodesics(Neighborhood(1).graph(np.array([[0.0], [1.0], [3.0]])))
    array([[0., 1., 3.],
           [1., 0., 2.],
           [3., 2., 0.]])
    """
    n = graph.shape[0]
    if graph.nnz and graph.data.min() < 0:
        raise ValueError("Edges of negative length have no shortest paths.")
    every = sources is None
    sources = np.arange(n) if sources is None else np.asarray(sources)
    if method == "FW" or (method == "auto" and every and n <= SMALL and graph.nnz > n * n / 4):
        return csgraph.floyd_warshall(graph)[sources].astype(dtype, copy=False)
    lengths = np.empty((len(sources), n), dtype)
    numba_paths = compiled("numba_paths")
    if numba_paths is not None:
        data = graph.data.astype(np.float64, copy=False)
        numba_paths.shortest_paths(graph.indptr, graph.indices, data, sources, lengths)
        return lengths
    for b in row_blocks(len(sources), max(1, BLOCK // n)):
        lengths[b] = csgraph.dijkstra(graph, indices=sources[b])
    return lengths
