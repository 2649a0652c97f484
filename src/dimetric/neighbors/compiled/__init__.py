"""Searches and shortest paths compiled by numba (the extra ``fast``).

- ``graph_search``: neighbours within a set of samples.
- ``query_search``: neighbours of queries by matrix products.
- ``query_lanes``: the same for blocks of many queries.
- ``tree``: neighbours of queries by a k-d tree.
- ``paths``: shortest paths.
"""
