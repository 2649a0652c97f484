"""Comparison of retrieval with and without an adapter, on held-out queries.

- ``compare``: the public function.
- ``rivals``: other maps that the adapter is compared with.
- ``held_out``: scores of held-out queries, fold by fold.
- ``comparison``: the result.
"""
