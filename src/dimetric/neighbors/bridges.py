"""Bridges: edges that join the connected components of a neighbour graph."""

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from dimetric._arrays.blocks import row_blocks

# distances(rows, columns) returns the distances between two sets of samples, given by indices.
Distances = Callable[[np.ndarray, Any], np.ndarray]

NEAR_COMPONENTS = 5  # each connected component is joined to this many others
BLOCK_ENTRIES = 2**22  # distances in memory at once


def bridged(graph: Any, distances: Distances) -> tuple[Any, np.ndarray]:
    """Connect the components of a graph, and return it with the lengths of the added edges.

    Each component but the largest is joined to the 5 components with the shortest distances to it.
    Two components are joined by edges between all pairs of samples that are mutually nearest: each
    of the two is the nearest one to the other in its component. The shortest edge between the
    components is one of them. If several components are left, the same is done with them.

    A single edge would make all paths between two components pass through two samples. The
    components would then be far apart in all places but one.

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
    >>> whole.nnz - parts.nnz, bridges
    (2, array([4.]))
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


def _bridges(
    label: np.ndarray, distances: Distances
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return ends and lengths of the bridges between each component and those near it."""
    sizes = np.bincount(label)
    order = np.argsort(label, kind="stable")
    members = np.split(order, np.cumsum(sizes)[:-1])
    largest = np.argmax(sizes)
    found = [
        _bridges_from(a, label, members, distances) for a in range(len(sizes)) if a != largest
    ]
    left, right, length = (np.concatenate(part) for part in zip(*found, strict=True))
    # Two components may both be joined to each other.
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
    left, right = [], []
    for b in np.argsort(to_component, kind="stable")[: min(NEAR_COMPONENTS, len(members) - 1)]:
        there = members[b]
        ends = np.unique(nearest[there])  # no other sample of a is nearest to a sample of b
        back = _nearest(there, ends, distances, len(label))[0]
        # A metric may round differently in the two directions. The shortest edge is always added.
        shortest = there[np.argmin(length[there])]
        back[ends == nearest[shortest]] = shortest
        mutual = nearest[back] == ends
        left.append(ends[mutual])
        right.append(back[mutual])
    ends_there = np.concatenate(right)
    return np.concatenate(left), ends_there, length[ends_there]


def _nearest(
    points: np.ndarray, samples: Any, distances: Distances, n: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the nearest of the points to each sample, and the distance to it.

    `samples` are indices or a slice of all n samples.
    """
    nearest = np.full(len(np.arange(n)[samples]), -1)
    length = np.full(len(nearest), np.inf)
    for b in row_blocks(len(points), max(1, BLOCK_ENTRIES // len(nearest))):
        D = distances(points[b], samples)
        closest = np.argmin(D, axis=0)
        in_block = D[closest, np.arange(len(nearest))]
        closer = in_block < length
        nearest[closer] = points[b][closest[closer]]
        length[closer] = in_block[closer]
    return nearest, length
