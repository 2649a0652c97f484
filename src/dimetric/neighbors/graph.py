"""Neighbour graphs, with edges between samples that are near each other.

A graph is a SciPy sparse array on the host whose values are the lengths of the edges. In undirected
graphs, both directions of an edge are stored. Edges of length 0 between identical samples are
stored explicitly.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from dimetric._arrays.blocks import row_blocks
from dimetric._arrays.row_order import canonical_order
from dimetric._warnings import warn
from dimetric.neighbors.approximate.log import SearchLog
from dimetric.neighbors.bridges import bridged
from dimetric.neighbors.metric_search import (
    Metric,
    distances_between,
    metric_neighbors,
    nearest_neighbors_model,
)

Graph = Any  # a SciPy csr_array

BLOCK_ENTRIES = 2**22  # distances in memory at once


@dataclass(frozen=True)
class Neighborhood:
    """Rule for the edges of a sample: to its nearest neighbours, or to all samples within a radius.

    Parameters
    ----------
    n_neighbors : int or None
        Number of neighbours, k.
    radius : float or None
        Radius, used if `n_neighbors` is None. If both are None, keep all edges of a sparse graph.
    metric, metric_params
        A metric of scikit-learn and its parameters. With ``"precomputed"``, X holds distances or
        is a sparse graph.
    search : SearchLog, optional
        An approximate search in Euclidean distance for the edges of :meth:`graph`.
    """

    n_neighbors: int | None
    radius: float | None = None
    metric: Metric = "euclidean"
    metric_params: dict[str, Any] | None = None
    search: SearchLog | None = None

    def graph(self, X: Any, *, connected: bool = False) -> Graph:
        """Return the undirected graph of all samples.

        The choice among neighbours at equal distance does not depend on the order of dense samples.
        With precomputed distances, the first samples are chosen.

        Parameters
        ----------
        X : array or sparse array of shape (n, d)
            Samples, or distances.
        connected : bool, default=False
            Join the connected components by
            :func:`~dimetric.neighbors.bridges.bridged`, and warn if there are several.

        Examples
        --------
        >>> X = np.array([[0.0], [1.0], [3.0]])
        >>> Neighborhood(1).graph(X).toarray()
        array([[0., 1., 0.],
               [1., 0., 2.],
               [0., 2., 0.]])
        """
        n = X.shape[0]
        order = np.arange(n)
        if self.metric != "precomputed" and not sparse.issparse(X):
            order = canonical_order(X, np.zeros(n, np.int64))
            X = X[order]
        graph = undirected(self.links(X))
        if connected:
            parts = graph
            graph, bridges = bridged(parts, partial(self._distances, X))
            if len(bridges):
                _warn_about_bridges(parts, bridges)
        edges = graph.tocoo()
        return sparse.csr_array((edges.data, (order[edges.row], order[edges.col])), shape=(n, n))

    def links(self, X: Any, points: Any = None) -> Graph:
        """Return the edges from each row of X to its neighbours among `points`, by default X.

        A row without points within the radius has no edges.
        """
        if self.metric == "precomputed":
            return self.precomputed_edges(X, exclude_self=True)
        metric, params = self.metric, self.metric_params
        if self.n_neighbors is None:
            model = nearest_neighbors_model(metric, params).fit(X if points is None else points)
            queries = None if points is None else X
            return sparse.csr_array(model.radius_neighbors_graph(queries, self.radius, "distance"))
        distances, indices = metric_neighbors(
            X,
            self.n_neighbors,
            points,
            metric=metric,
            metric_params=params,
            search=self.search,
        )
        return directed(indices, distances, X.shape[0] if points is None else points.shape[0])

    def _distances(self, X: Any, rows: np.ndarray, columns: Any) -> np.ndarray:
        """Return the distances between two sets of samples, given by indices."""
        if self.metric == "precomputed":
            if sparse.issparse(X):
                parts = csgraph.connected_components(X, directed=False)[0]
                raise ValueError(
                    f"The graph X has {parts} connected components. Joining them needs all "
                    "distances. Pass a graph with more edges, or a dense distance matrix."
                )
            return X[rows][:, columns]
        return distances_between(
            X[rows], X[columns], metric=self.metric, metric_params=self.metric_params
        )

    def precomputed_edges(self, D: Any, *, exclude_self: bool = False) -> Graph:
        """Return the edges from precomputed distances, dense or sparse.

        Parameters
        ----------
        D : array or sparse array of shape (m, n)
            Distances from m samples to n samples.
        exclude_self : bool, default=False
            Leave out the diagonal. Use this if the m samples and the n samples are the same.
        """
        k, n = self.n_neighbors, D.shape[1] - exclude_self
        if k is not None and k > n:
            raise ValueError(f"n_neighbors={k} must be at most the number of other samples, {n}.")
        if sparse.issparse(D):
            return _shortest_edges(D.tocoo(), k, self.radius, exclude_self)
        reach: Any = np.inf if self.radius is None else self.radius
        parts = []
        for b in row_blocks(len(D), max(1, BLOCK_ENTRIES // D.shape[1])):
            if k is not None:  # ties are kept, and _shortest_edges() takes the first of them
                rank = k - 1 + exclude_self
                reach = np.partition(D[b], rank, axis=1)[:, rank, None]
            rows, columns = np.nonzero(D[b] <= reach)
            shape = (b.stop - b.start, D.shape[1])
            parts.append(sparse.coo_array((D[b][rows, columns], (rows, columns)), shape=shape))
        return _shortest_edges(sparse.vstack(parts, format="coo"), k, None, exclude_self)


def _warn_about_bridges(parts: Graph, bridges: np.ndarray) -> None:
    n_components = csgraph.connected_components(parts, directed=False)[0]
    warn(
        f"The neighbour graph has {n_components} connected components. They were joined by "
        f"{len(bridges)} bridging edges between mutually nearest samples, the longest of length "
        f"{bridges.max():.3g}. Increase n_neighbors or radius, or analyse the components "
        "separately.",
    )


def _shortest_edges(edges: Any, k: int | None, radius: float | None, exclude_self: bool) -> Graph:
    """Return the k shortest edges of each row, or the edges up to a radius."""
    keep = np.ones(edges.nnz, bool) if radius is None else edges.data <= radius
    if exclude_self:
        keep &= edges.row != edges.col
    row, column, length = edges.row[keep], edges.col[keep], edges.data[keep]
    if k is not None:
        order = np.lexsort((column, length, row))
        row, column, length = row[order], column[order], length[order]
        first = np.arange(len(row)) - np.searchsorted(row, row) < k
        row, column, length = row[first], column[first], length[first]
    return sparse.csr_array((length, (row, column)), shape=edges.shape)


def directed(neighbors: np.ndarray, lengths: np.ndarray, n_points: int) -> Graph:
    """Return the graph with an edge from each sample to each of its neighbours.

    Parameters
    ----------
    neighbors : ndarray of shape (n, k)
        Indices of the neighbours of each sample.
    lengths : ndarray of shape (n, k)
        Lengths of the edges to these neighbours.
    n_points : int
        Number of points that the indices refer to.

    Examples
    --------
    >>> directed(np.array([[1], [0], [1]]), np.array([[1.0], [1.0], [2.0]]), 3).toarray()
    array([[0., 1., 0.],
           [1., 0., 0.],
           [0., 2., 0.]])
    """
    n, k = neighbors.shape
    starts = np.arange(0, n * k + 1, k)
    return sparse.csr_array((lengths.ravel(), neighbors.ravel(), starts), shape=(n, n_points))


def undirected(graph: Graph) -> Graph:
    """Return the graph with every edge in both directions, with the shorter of the two lengths.

    Examples
    --------
    >>> undirected(sparse.csr_array([[0.0, 2.0], [1.0, 0.0]])).toarray()
    array([[0., 1.],
           [1., 0.]])
    """
    # Rank the edges from 1 for the longest, and take the maximum of the ranks of both directions.
    # The element-wise minimum of the lengths would be wrong, because it treats missing edges as
    # edges of length 0.
    order = np.argsort(-graph.data, kind="stable")
    rank = np.empty(graph.nnz, np.int64)
    rank[order] = np.arange(1, graph.nnz + 1)
    ranked = sparse.csr_array((rank, graph.indices, graph.indptr), shape=graph.shape)
    symmetric = ranked.maximum(ranked.T.tocsr()).tocsr()
    symmetric.sort_indices()
    lengths = graph.data[order[symmetric.data - 1]]
    return sparse.csr_array((lengths, symmetric.indices, symmetric.indptr), shape=graph.shape)
