"""Linear learners. Each learns a map x -> L x, which defines a Mahalanobis distance."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
