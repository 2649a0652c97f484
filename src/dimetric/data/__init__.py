"""Data sets: by name, from files, and generated ones whose structure is known."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
