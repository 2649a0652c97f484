"""Reproduce four published experiments and compare the scores with the published ones.

The experiments are those of J. L. Suárez, S. García, F. Herrera, "A tutorial on distance metric
learning", Neurocomputing 425, 2021.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
