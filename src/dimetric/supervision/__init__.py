"""Supervision: pairs and triplets of samples, from labels, neighbours, graphs or scores.

``pairs`` and ``triplets`` hold one record each. ``_constraints`` is what they share, ``_sampling``
lists or draws them, ``_folds`` divides them for cross-validation, and ``_validation`` checks what
a learner is given.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
