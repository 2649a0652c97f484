"""Embeddings: low-dimensional coordinates that preserve distances or neighbourhoods.

``mds``, ``isomap`` and ``lle`` contain one method each. ``_embedding`` contains their base classes,
``_classical`` prepares classical scaling, ``_smacof`` and ``_stress`` minimise the stress, and
``_patches`` computes the local geometry for LLE and its variants. ``scan_neighbors``, in
``_neighbor_scan``, helps to choose the number of neighbours.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
