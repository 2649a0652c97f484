"""Solvers: objects that minimise a function of a vector. They do not depend on any learner."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
