"""Import of the modules that need numba."""

from functools import cache
from importlib import import_module
from types import ModuleType

from dimetric._arrays.threads import uninterrupted


@cache
def import_compiled(name: str) -> ModuleType | None:
    """Import ``numba_search`` or ``numba_paths``. Return None if numba is not installed.

    numba is optional (the extra ``fast``) and slow to import, so it is imported on first use. It
    cannot be imported again in the same process if Ctrl-C interrupted the import.
    """
    try:
        return uninterrupted(lambda: import_module(f"dimetric.neighbors.{name}"))
    except ImportError:
        return None
