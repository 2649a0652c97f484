"""Lengths of shortest paths in a graph."""

from typing import Any

import numpy as np
from scipy.sparse import csgraph

from dimetric._arrays.blocks import row_blocks
from dimetric._arrays.compiled import import_compiled
from dimetric.neighbors.graph import BLOCK_ENTRIES, Graph

FLOYD_WARSHALL_NODES = 512  # up to this many nodes, Floyd-Warshall is faster on dense graphs
DENSE_FRACTION = 1 / 4  # of all pairs of nodes; a graph with more edges counts as dense


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
        Undirected graph.
    sources : ndarray of shape (m,), optional
        Distinct nodes. By default, all nodes are sources.
    method : {"auto", "D", "FW"}, default="auto"
        ``"D"`` is Dijkstra's algorithm, which uses all cores if numba is installed (the extra
        ``fast``). ``"FW"`` is the Floyd-Warshall algorithm, for small graphs with many edges.
    dtype : dtype, default=float64
        dtype of the result. Lengths are summed in float64.

    Returns
    -------
    lengths : ndarray of shape (m, n)
        Lengths of the paths. They are infinite where there is no path.

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
        raise ValueError("The graph has edges of negative length. Lengths must be nonnegative.")
    all_sources = sources is None
    sources = np.arange(n) if sources is None else np.asarray(sources)
    favours_floyd_warshall = (
        all_sources and n <= FLOYD_WARSHALL_NODES and graph.nnz > DENSE_FRACTION * n * n
    )
    if method == "FW" or (method == "auto" and favours_floyd_warshall):
        return csgraph.floyd_warshall(graph)[sources].astype(dtype, copy=False)
    lengths = np.empty((len(sources), n), dtype)
    compiled = import_compiled("neighbors.compiled.paths")
    if compiled is not None:
        data = graph.data.astype(np.float64, copy=False)
        compiled.shortest_paths(graph.indptr, graph.indices, data, sources, lengths)
        return lengths
    for b in row_blocks(len(sources), max(1, BLOCK_ENTRIES // n)):
        lengths[b] = csgraph.dijkstra(graph, indices=sources[b])
    return lengths
