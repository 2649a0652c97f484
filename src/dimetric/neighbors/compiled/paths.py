"""Shortest paths with numba (the extra ``fast``), from several sources at a time.

Searches from sources that are near each other reach a node at about the same distance. Sixteen of
them therefore share one priority queue, and the edges of a node are relaxed for all sixteen at
once, one in each lane of the processor's vector registers. If a lane improves a node later, the
node is queued again, so the distances are bitwise those of Dijkstra's algorithm. The key of a node
is the mean of its smallest improved distance and its largest known one. At this key, most lanes
have reached the node, so it is seldom queued again. Sources that are far apart would queue nodes
often, so each is searched alone in one lane, which is Dijkstra's algorithm.

The kernels release the GIL and run on Python threads instead of numba's thread pool.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numba import njit

from dimetric._arrays.thread_group import stop_if_interrupted
from dimetric._arrays.threads import run_on_threads

LANES = 16  # sources searched together
GROUP_NODES = 400  # maximum number of nodes visited to find the sources of a group
MAX_SEARCHED_NODES = 2**13  # in one call of a kernel, which takes some hundredths of a second
TRANSPOSED_NODES = 64  # nodes in a block that is transposed within the cache


def shortest_paths(
    indptr: np.ndarray, indices: np.ndarray, weights: np.ndarray, sources: np.ndarray, out: Any
) -> None:
    """Write the distances from every source to all nodes into the rows of `out`.

    Parameters
    ----------
    indptr, indices, weights : ndarray
        A graph in CSR format, with edges in both directions and nonnegative float64 weights.
    sources : ndarray of shape (m,)
        Distinct nodes.
    out : ndarray of shape (m, n)
        Output of any floating dtype. It is infinite where there is no path.
    """
    n, m = len(indptr) - 1, len(sources)
    together = LANES * m >= n  # enough sources that the sources of a group are near each other
    order = _group_nearby(indptr, indices, sources) if together else np.arange(m)
    lanes, search = (LANES, _sixteen_lanes) if together else (1, _one_lane)
    order = np.concatenate([order, np.repeat(order[-1:], -m % lanes)])  # fill up the last group
    groups = order.reshape(-1, lanes)

    def work(tasks: Iterator[np.ndarray]) -> None:
        dist, keys = np.empty((n, lanes)), np.empty(n)
        nodes, position = np.empty(n, np.int32), np.empty(n, np.int32)
        for group in tasks:
            size = _enqueue(sources[group], dist, keys, nodes, position)
            while size > 0:
                stop_if_interrupted()
                size = search(indptr, indices, weights, dist, keys, nodes, position, size)
            _write_transposed(dist, out, group)

    run_on_threads(work, list(groups), shared_queue=True)


@njit(nogil=True, cache=True)
def _group_nearby(indptr: Any, indices: Any, sources: Any) -> Any:  # pragma: no cover - compiled
    """Return an order of the sources in which LANES consecutive sources are near each other.

    A group starts from the first source left and adds the sources that are the fewest edges away.
    The search stops after GROUP_NODES nodes. Later groups contain the sources that are left.
    """
    n, m = len(indptr) - 1, len(sources)
    source_at = np.full(n, -1)  # index of the source at a node; -1 if none or already in a group
    for i in range(m):
        source_at[sources[i]] = i
    seen, queue = np.full(n, -1), np.empty(n, np.int64)
    order, done = np.empty(m, np.int64), 0
    for i in range(m):
        if source_at[sources[i]] < 0:
            continue
        queue[0], seen[sources[i]] = sources[i], i
        head, tail, last = 0, 1, min(done + LANES, m)
        while head < tail and done < last and head < GROUP_NODES:
            u = queue[head]
            head += 1
            if source_at[u] >= 0:
                order[done], source_at[u] = source_at[u], -1
                done += 1
            for e in range(indptr[u], indptr[u + 1]):
                v = indices[e]
                if seen[v] != i:
                    seen[v], queue[tail] = i, v
                    tail += 1
    return order


@njit(nogil=True, cache=True, inline="always")
def _sift_up(keys, nodes, position, p, key, node):  # type: ignore # pragma: no cover - compiled
    """Insert a node into the queue, a 4-ary heap, at position p, and move it up to its place."""
    while p > 0:
        parent = (p - 1) >> 2
        if keys[parent] <= key:
            break
        keys[p], nodes[p] = keys[parent], nodes[parent]
        position[nodes[p]] = p
        p = parent
    keys[p], nodes[p], position[node] = key, node, p


@njit(nogil=True, cache=True, inline="always")
def _sift_down(keys, nodes, position, size):  # type: ignore # pragma: no cover - compiled
    """Move the last node of the queue to the free top position, and then down to its place."""
    key, node, p = keys[size], nodes[size], 0
    while True:
        first = 4 * p + 1
        if first >= size:
            break
        least = first
        for child in range(first + 1, min(first + 4, size)):
            if keys[child] < keys[least]:
                least = child
        if keys[least] >= key:
            break
        keys[p], nodes[p] = keys[least], nodes[least]
        position[nodes[p]] = p
        p = least
    keys[p], nodes[p], position[node] = key, node, p


def _kernel(lanes: int) -> Callable[..., int]:
    """Compile the search for groups of `lanes` sources.

    The search stops after MAX_SEARCHED_NODES nodes and returns the size of the queue, so that its
    caller can react to an interrupt before it continues.
    """

    # The compiler vectorises loops of known length if it may reorder the minimum.
    @njit(nogil=True, cache=True, fastmath={"nnan", "nsz", "reassoc", "contract"})
    def search(indptr, indices, weights, dist, keys, nodes, position, size):  # type: ignore
        infinite = np.inf
        for _ in range(MAX_SEARCHED_NODES):
            if size == 0:
                break
            u, size = nodes[0], size - 1
            position[u] = -1
            if size > 0:
                _sift_down(keys, nodes, position, size)
            from_u = dist[u]
            for e in range(indptr[u], indptr[u + 1]):
                v, weight = indices[e], weights[e]
                to_v, first, last = dist[v], infinite, 0.0
                for lane in range(lanes):
                    known, through_u = to_v[lane], from_u[lane] + weight
                    improved = through_u < known
                    to_v[lane] = through_u if improved else known
                    first = min(first, through_u if improved else infinite)
                    last = max(last, to_v[lane] if to_v[lane] < infinite else 0.0)
                if first < infinite:
                    p, key = position[v], (first + last) / 2
                    if p < 0:
                        p, size = size, size + 1
                    elif keys[p] <= key:
                        continue
                    _sift_up(keys, nodes, position, p, key, v)
        return size

    return search


@njit(nogil=True, cache=True)
def _enqueue(group, dist, keys, nodes, position):  # type: ignore # pragma: no cover - compiled
    """Start a search with a queue that contains the sources, and return its size."""
    dist[:], position[:] = np.inf, -1
    size = 0
    for lane in range(len(group)):
        dist[group[lane], lane] = 0
        if position[group[lane]] < 0:
            keys[size], nodes[size], position[group[lane]] = 0, group[lane], size
            size += 1
    return size


@njit(nogil=True, cache=True)
def _write_transposed(dist, out, group):  # type: ignore # pragma: no cover - compiled
    """Write the columns of `dist` into rows of `out`, in blocks small enough for the cache."""
    n = len(dist)
    for start in range(0, n, TRANSPOSED_NODES):
        for lane in range(len(group)):
            row = out[group[lane]]
            for node in range(start, min(start + TRANSPOSED_NODES, n)):
                row[node] = dist[node, lane]


_one_lane, _sixteen_lanes = _kernel(1), _kernel(LANES)
