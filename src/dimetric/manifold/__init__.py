"""Embeddings: low-dimensional coordinates that keep distances or neighbours.

``mds``, ``isomap`` and ``lle`` hold one method each. ``_embedding`` is what they share,
``_classical`` is what classical scaling starts from, ``_smacof`` and ``_stress`` minimise a stress,
``_patches`` holds the local geometry for LLE and its relatives. ``scan_neighbors``, in
``_neighbor_scan``, helps to choose a number of neighbours.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
