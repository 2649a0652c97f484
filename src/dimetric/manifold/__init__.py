"""Embeddings: points of a low-dimensional space that keep distances or neighbours."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
