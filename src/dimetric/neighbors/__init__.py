"""Nearest neighbours, neighbour graphs and shortest paths.

- ``euclidean``: exact Euclidean neighbours (``euclidean_neighbors``, ``EuclideanIndex``).
- ``metric_search``: exact neighbours under any metric, on the host, by the fastest method that
  applies (``metric_neighbors``).
- ``ranking``: documents with the highest inner products, and the nDCG of a ranking.
- ``ties``: nearest neighbours, where points tied at the k-th distance share weight
  (``Neighborhoods``).
- ``neighbor_block``: the neighbours of some queries, as a ragged array.
- ``queries``: distances from queries to points, and the tolerance within which distances count as
  equal (``tie_tolerance``).
- ``index``: points that are prepared once and searched many times under any metric
  (``NeighborIndex``).
- ``compiled``: neighbour search and shortest paths compiled by numba (the extra ``fast``).
- ``roles``: friends and enemies, the nearest samples of the same class and of other classes.
- ``role_shares``: weights of friends and enemies that are tied at the k-th distance.
- ``graph``: neighbour graphs, optionally made connected.
- ``paths``: lengths of shortest paths in a graph.
- ``landmarks``: a random subset of the samples that represents all of them.
- ``approximate``: approximate neighbours with exact distances (``ApproximateNeighbors``).
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
