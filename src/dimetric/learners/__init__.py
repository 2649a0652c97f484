"""Linear learners: each learns a map x -> L x, and with it a Mahalanobis distance."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
