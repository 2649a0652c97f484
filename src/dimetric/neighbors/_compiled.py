"""Where the compiled modules of this room come from."""

from functools import cache
from importlib import import_module
from types import ModuleType


@cache
def compiled(name: str) -> ModuleType | None:
    """Return the module ``numba_search`` or ``numba_paths``; None if numba is not installed.

    numba is an extra (``fast``), and takes a while to import: it is imported on first use.
    """
    try:
        return import_module(f"dimetric.neighbors.{name}")
    except ImportError:
        return None
