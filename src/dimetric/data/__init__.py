"""Data sets: loaded by name, read from files, or generated with a known structure."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
