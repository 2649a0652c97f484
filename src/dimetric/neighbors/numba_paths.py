"""Shortest paths with numba (the extra ``fast``): many sources over one heap.

Sources that are near each other reach all other nodes at about the same time. Sixteen of them
share one queue, and the edges of a node are relaxed for all sixteen at once, in the lanes of the
processor's vectors. A node that a later lane improves is queued again, so the distances equal those
of Dijkstra's algorithm to the last bit. Its key lies between its first new distance and its last
known one: by then most lanes have arrived, and it is seldom queued again. Sources far apart would
queue nodes again and again, so they run alone, in one lane, which is Dijkstra's algorithm.

The kernels release the GIL and run on our own threads, not on a pool of numba's.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numba import njit

from dimetric._arrays.threads import run_on_threads

LANES = 16  # sources searched together
GROUP_NODES = 400  # nodes visited to find the other sources of a group


def shortest_paths(
    indptr: np.ndarray, indices: np.ndarray, weights: np.ndarray, sources: np.ndarray, out: Any
) -> None:
    """Write the distances from every source to all nodes into the rows of `out`.

    Parameters
    ----------
    indptr, indices, weights : ndarray
        A graph in CSR form, with edges in both directions and weights >= 0 in float64.
    sources : ndarray of shape (m,)
        Nodes, each at most once.
    out : ndarray of shape (m, n)
        Of any floating dtype; infinite where there is no path.
    """
    n, m = len(indptr) - 1, len(sources)
    together = LANES * m >= n  # then a group's sources are near each other
    order = _grouped(indptr, indices, sources) if together else np.arange(m)
    lanes, search = (LANES, _sixteen_lanes) if together else (1, _one_lane)
    order = np.concatenate([order, np.repeat(order[-1:], -m % lanes)])  # fill up the last group
    groups = order.reshape(-1, lanes)

    def work(tasks: Iterator[np.ndarray]) -> None:
        dist, keys = np.empty((n, lanes)), np.empty(n)
        nodes, place = np.empty(n, np.int32), np.empty(n, np.int32)
        for group in tasks:
            search(indptr, indices, weights, sources[group], dist, keys, nodes, place)
            _write(dist, out, group)

    run_on_threads(work, list(groups), shared_queue=True)


@njit(nogil=True, cache=True)
def _grouped(indptr: Any, indices: Any, sources: Any) -> Any:  # pragma: no cover - compiled
    """Return the numbers of the sources, ordered so that each group of LANES is near each other.

    A group begins with the first source left and collects the nearest others by number of edges.
    The search ends after GROUP_NODES nodes; sources beyond are collected by later groups.
    """
    n, m = len(indptr) - 1, len(sources)
    number = np.full(n, -1)  # of the source at a node; -1 where there is none, or none left
    for i in range(m):
        number[sources[i]] = i
    seen, queue = np.full(n, -1), np.empty(n, np.int64)
    order, done = np.empty(m, np.int64), 0
    for i in range(m):
        if number[sources[i]] < 0:
            continue
        queue[0], seen[sources[i]] = sources[i], i
        head, tail, last = 0, 1, min(done + LANES, m)
        while head < tail and done < last and head < GROUP_NODES:
            u = queue[head]
            head += 1
            if number[u] >= 0:
                order[done], number[u] = number[u], -1
                done += 1
            for e in range(indptr[u], indptr[u + 1]):
                v = indices[e]
                if seen[v] != i:
                    seen[v], queue[tail] = i, v
                    tail += 1
    return order


@njit(nogil=True, cache=True, inline="always")
def _rise(keys, nodes, place, p, key, node):  # type: ignore # pragma: no cover - compiled
    """Put a node into the queue, a heap with four children a node, at position p or above."""
    while p > 0:
        parent = (p - 1) >> 2
        if keys[parent] <= key:
            break
        keys[p], nodes[p] = keys[parent], nodes[parent]
        place[nodes[p]] = p
        p = parent
    keys[p], nodes[p], place[node] = key, node, p


@njit(nogil=True, cache=True, inline="always")
def _sink(keys, nodes, place, size):  # type: ignore # pragma: no cover - compiled
    """Move the last node of the queue to its top, which is free, and then down to its place."""
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
        place[nodes[p]] = p
        p = least
    keys[p], nodes[p], place[node] = key, node, p


def _kernel(lanes: int) -> Callable[..., None]:
    """Compile the search for groups of `lanes` sources."""

    # The compiler vectorises a loop of known length whose minimum may be taken in any order.
    @njit(nogil=True, cache=True, fastmath={"nnan", "nsz", "reassoc", "contract"})
    def search(indptr, indices, weights, group, dist, keys, nodes, place):  # type: ignore
        infinite = np.inf
        dist[:], place[:] = infinite, -1
        size = 0
        for lane in range(lanes):
            dist[group[lane], lane] = 0
            if place[group[lane]] < 0:
                keys[size], nodes[size], place[group[lane]] = 0, group[lane], size
                size += 1
        while size > 0:
            u, size = nodes[0], size - 1
            place[u] = -1
            if size > 0:
                _sink(keys, nodes, place, size)
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
                    p, key = place[v], (first + last) / 2
                    if p < 0:
                        p, size = size, size + 1
                    elif keys[p] <= key:
                        continue
                    _rise(keys, nodes, place, p, key, v)

    return search


@njit(nogil=True, cache=True)
def _write(dist, out, group):  # type: ignore # pragma: no cover - compiled
    """Write the columns of `dist` into rows of `out`, in blocks small enough for the cache."""
    n = len(dist)
    for start in range(0, n, 64):
        for lane in range(len(group)):
            row = out[group[lane]]
            for node in range(start, min(start + 64, n)):
                row[node] = dist[node, lane]


_one_lane, _sixteen_lanes = _kernel(1), _kernel(LANES)
