"""Bridges: edges that join the connected components of a neighbour graph."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from dimetric._arrays.blocks import row_blocks

# distances(rows, columns) returns the distances between two sets of samples, given by indices.
Distances = Callable[[np.ndarray, Any], np.ndarray]

NEAR_COMPONENTS = 5  # each connected component is joined to this many others
MATCHING_ROUNDS = 3  # rounds in which mutually nearest samples of two components are matched
BLOCK_ENTRIES = 2**22  # distances in memory at once


def bridged(graph: Any, distances: Distances) -> tuple[Any, np.ndarray]:
    """Connect the components of a graph, and return it with the lengths of the added edges.

    Each component but the largest is joined to the 5 components with the shortest distances to it.
    Two components are joined by edges between all pairs of samples that are mutually nearest: each
    of the two is the nearest one to the other in its component. This is done three times, each time
    with the samples that are not yet an end of such an edge. The first time gives the shortest edge
    between the components. If several components are left, the same is done with them.

    With a single edge, all paths between two components would pass through two samples, and samples
    far from these would be too far apart. If many edges shared an end, such as the only sample of a
    small component, paths through it would make other samples too close.

    Parameters
    ----------
    graph : csr_array of shape (n, n)
        Undirected graph.
    distances : callable
        ``distances(rows, columns)`` returns the distances between the samples with these indices.
        Among samples at equal distance, the first is the nearest.

    Examples
    --------
    >>> from dimetric.neighbors.graph import Neighborhood
    >>> x = np.array([0.0, 1.0, 5.0, 6.0])
    >>> parts = Neighborhood(1).graph(x[:, None])
    >>> whole, bridges = bridged(parts, lambda rows, columns: np.abs(x[rows, None] - x[columns]))
    >>> whole.nnz - parts.nnz, np.sort(bridges)
    (4, array([4., 6.]))
    """
    n = graph.shape[0]
    bridges = np.zeros(0)
    while True:
        n_components, label = csgraph.connected_components(graph, directed=False)
        if n_components == 1:
            return graph, bridges
        left, right, length = _bridges(label, distances)
        bridges = np.concatenate([bridges, length])
        # Adding the graphs would drop bridges of length 0 between identical samples.
        edges = graph.tocoo()
        data = np.concatenate([edges.data, length, length])
        rows = np.concatenate([edges.row, left, right])
        columns = np.concatenate([edges.col, right, left])
        graph = sparse.csr_array((data, (rows, columns)), shape=(n, n))


def _bridges(label: np.ndarray, distances: Distances) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return ends and lengths of the bridges between each component and those near it."""
    sizes = np.bincount(label)
    order = np.argsort(label, kind="stable")
    members = np.split(order, np.cumsum(sizes)[:-1])
    largest = np.argmax(sizes)
    found = [_bridges_from(a, label, members, distances) for a in range(len(sizes)) if a != largest]
    left, right, length = (np.concatenate(part) for part in zip(*found, strict=True))
    # Two components may each be among the nearest of the other.
    key = np.minimum(left, right) * len(label) + np.maximum(left, right)
    distinct = np.unique(key, return_index=True)[1]
    return left[distinct], right[distinct], length[distinct]


def _bridges_from(
    a: int, label: np.ndarray, members: list[np.ndarray], distances: Distances
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return ends and lengths of the bridges from one component to those near it."""
    nearest, length = _nearest(members[a], slice(None), distances, len(label))
    to_component = np.full(len(members), np.inf)
    np.minimum.at(to_component, label, length)
    to_component[a] = np.inf
    near = np.argsort(to_component, kind="stable")[: min(NEAR_COMPONENTS, len(members) - 1)]
    found = [
        edges
        for there in (members[b] for b in near)
        for edges in _matched(members[a], there, nearest[there], length[there], distances)
    ]
    left, right, lengths = (np.concatenate(part) for part in zip(*found, strict=True))
    return left, right, lengths


def _matched(
    here: np.ndarray,
    there: np.ndarray,
    nearest: np.ndarray,
    length: np.ndarray,
    distances: Distances,
) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Yield ends and lengths of the edges between two components, round by round.

    `nearest` and `length` belong to the samples there: the nearest sample here, and its distance.
    """
    for remaining_rounds in reversed(range(MATCHING_ROUNDS)):
        ends = np.unique(nearest)  # no other sample here is nearest to a sample there
        back = np.searchsorted(there, _nearest(there, ends, distances, len(ends))[0])
        # A metric may round differently in the two directions. The shortest edge is always added.
        shortest = np.argmin(length)
        back[ends == nearest[shortest]] = shortest
        mutual = nearest[back] == ends
        yield ends[mutual], there[back[mutual]], length[back[mutual]]
        here, there = np.setdiff1d(here, ends[mutual]), np.delete(there, back[mutual])
        if not remaining_rounds or len(here) == 0 or len(there) == 0:
            return
        nearest, length = _nearest(here, there, distances, len(there))


def _nearest(
    points: np.ndarray, samples: Any, distances: Distances, n: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the nearest of the points to each of n samples, and the distance to it."""
    nearest, length = np.full(n, points[0]), np.full(n, np.inf)
    for b in row_blocks(len(points), max(1, BLOCK_ENTRIES // n)):
        D = distances(points[b], samples)
        closest = np.argmin(D, axis=0)
        in_block = D[closest, np.arange(n)]
        closer = in_block < length
        nearest[closer] = points[b][closest[closer]]
        length[closer] = in_block[closer]
    return nearest, length
