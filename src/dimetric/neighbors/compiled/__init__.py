"""Searches and shortest paths compiled by numba (the extra ``fast``).

- ``graph_search``: neighbours within a set of samples.
- ``query_search``: neighbours of queries by matrix products.
- ``query_lanes``: the same for blocks of many queries.
- ``tree``: neighbours of queries by a k-d tree.
- ``paths``: shortest paths.
"""

from functools import cache
from importlib import import_module
from types import ModuleType

from dimetric._arrays.threads import uninterrupted


@cache
def import_compiled(name: str) -> ModuleType | None:
    """Import a module of this package. Return None if numba is not installed.

    numba is optional (the extra ``fast``) and slow to import, so it is imported on first use. It
    cannot be imported again in the same process if Ctrl-C interrupted the import.
    """
    try:
        return uninterrupted(lambda: import_module(f"dimetric.neighbors.compiled.{name}"))
    except ImportError:
        return None
