"""Model selection: cross-validation, parameter search and choice of the number of components."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
