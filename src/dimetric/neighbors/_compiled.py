"""Import of the modules that need numba."""

from functools import cache
from importlib import import_module
from types import ModuleType


@cache
def import_compiled(name: str) -> ModuleType | None:
    """Import ``numba_search`` or ``numba_paths``. Return None if numba is not installed.

    numba is optional (the extra ``fast``) and slow to import, so it is imported on first use.
    """
    try:
        return import_module(f"dimetric.neighbors.{name}")
    except ImportError:
        return None
