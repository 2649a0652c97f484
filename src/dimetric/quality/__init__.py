"""Measures of how well an embedding or a learned distance preserves neighbours and distances."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
