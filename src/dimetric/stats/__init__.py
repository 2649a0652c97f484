"""Statistics of results: Bayesian tests, ranks and bounds on the Bayes error."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
