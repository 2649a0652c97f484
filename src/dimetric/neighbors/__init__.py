"""Neighbours: which samples are near which, and what follows from it.

- ``euclidean_search``: exact Euclidean neighbours by matrix products, in any array namespace and
  on any device (``euclidean_neighbors``); also among some of the points only (``EuclideanSearch``).
- ``metric_search``: exact neighbours under any metric, on the host, by the fastest method that
  applies (``metric_neighbors``).
- ``numba_search``, ``numba_paths``: the compiled forms of two searches, with the extra ``fast``.
- ``roles``: friends and enemies, the nearest samples of the same class and of other classes.
- ``graph``: neighbour graphs, made connected.
- ``paths``: shortest paths along a graph.
- ``landmarks``: samples drawn at random that stand for all.
"""
