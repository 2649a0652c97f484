"""Modules compiled by numba (the extra ``fast``)."""

from functools import cache
from importlib import import_module
from types import ModuleType

from dimetric._arrays.threads import uninterrupted


@cache
def import_compiled(name: str) -> ModuleType | None:
    """Import the module ``dimetric.{name}``. Return None if numba is not installed.

    numba is optional and slow to import, so it is imported on first use. It cannot be imported
    again in the same process if Ctrl-C interrupted the import.
    """
    try:
        return uninterrupted(lambda: import_module(f"dimetric.{name}"))
    except ImportError:
        return None
