"""Dimensionality reduction and distance metric learning with scikit-learn's estimator interface.

Public names are loaded on first use, which keeps ``import dimetric`` fast. ``__init__.pyi`` lists
them.
"""

from typing import Any

import lazy_loader

_load, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("dimetric")
    return _load(name)
