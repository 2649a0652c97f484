"""Side information: which samples are similar, and which are more similar than others."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
