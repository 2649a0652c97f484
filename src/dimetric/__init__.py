"""dimetric: learn a distance, and see your data under it.

Dimensionality reduction and distance metric learning with scikit-learn's estimator interface.
Names are loaded on first use, so that ``import dimetric`` is fast. ``__init__.pyi`` lists them.
"""

from typing import Any

import lazy_loader

_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("dimetric")
    return _load(name)
