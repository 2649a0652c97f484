"""Exact neighbours in Euclidean distance.

- ``search``: neighbours by matrix products, in any array namespace and on any device.
  ``euclidean_neighbors`` searches all points, ``EuclideanSearch`` also subsets.
- ``index``: points on the host that are prepared once and searched many times
  (``EuclideanIndex``), by the fastest of several ways.
- ``products``: one of these ways, matrix products.
- ``in_numpy``: its inner loops without numba.
"""
