"""Reproduce the four published experiments and compare the scores with the published ones."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
