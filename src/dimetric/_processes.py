"""The modules that child processes import.

``python -c`` and ``python -m`` search the current folder for modules before all others. A file such
as ``queue.py`` next to a table would then replace a module of the standard library. Child processes
therefore start with Python's safe path, which leaves out this folder.
"""

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

SAFE_PATH = "PYTHONSAFEPATH"  # the environment variable, which grandchildren inherit

_lock = threading.Lock()
_n_users = 0
_was_set_here = False


@contextmanager
def safe_path_for_children() -> Iterator[None]:
    """Let the processes that start within the block use Python's safe path.

    The block changes an environment variable, because joblib has no option for it.

    Examples
    --------
    >>> with safe_path_for_children():
    ...     os.environ["PYTHONSAFEPATH"]
    '1'
    """
    global _n_users, _was_set_here
    with _lock:  # the blocks of several threads may overlap
        if _n_users == 0:
            _was_set_here = not os.environ.get(SAFE_PATH)
        if _was_set_here:
            os.environ[SAFE_PATH] = "1"
        _n_users += 1
    try:
        yield
    finally:
        with _lock:
            _n_users -= 1
            if _n_users == 0 and _was_set_here:
                os.environ.pop(SAFE_PATH, None)


def safe_environment() -> dict[str, str]:
    """Return the environment of a child process.

    The current folder and the folder of the script are not in ``PYTHONPATH``.
    """
    environment = os.environ | {SAFE_PATH: "1"}
    entries = environment.pop("PYTHONPATH", "").split(os.pathsep)
    entries = [each for each in entries if not _is_implicit(each)]
    return environment | ({"PYTHONPATH": os.pathsep.join(entries)} if entries else {})


def search_path() -> list[str]:
    """Return the module search path of this process, with the implicit folders at the end.

    These are the current folder and the folder of the script. At the end, they provide the modules
    of the user, but do not replace modules of Python or of installed packages.
    """
    entries = [each or _current_folder() for each in sys.path if isinstance(each, str)]
    return sorted(dict.fromkeys(filter(None, entries)), key=_is_implicit)


def modules_of_user() -> dict[str, str]:
    """Return the folders of the top-level modules that were loaded from the implicit folders.

    A child process loads modules of these names from there, because a module of the user may have
    the same name as an installed one. Names of the standard library are left out. The result also
    contains the folder of dimetric, so that the child runs the same version.
    """
    folders = {}
    for name, module in list(sys.modules.items()):
        folder = _folder_of(module)
        is_users = "." not in name and name not in sys.stdlib_module_names and name != "__main__"
        if folder is not None and is_users and (name == "dimetric" or _is_implicit(folder)):
            folders[name] = folder
    return folders


def _folder_of(module: ModuleType) -> str | None:
    """Return the folder in which a top-level module or package was found."""
    places = list(getattr(module, "__path__", None) or [])  # the folders of a package
    file = places[0] if places else getattr(module, "__file__", None)
    return os.path.dirname(file) if isinstance(file, str) else None


def _is_implicit(entry: str) -> bool:
    """Return whether a folder is the current folder or that of the script."""
    if not os.path.isabs(entry):
        entry = os.path.join(_current_folder(), entry)
    script = getattr(sys.modules.get("__main__"), "__file__", None) or ""
    folders = filter(None, (_current_folder(), os.path.dirname(script)))
    return not os.path.isabs(entry) or os.path.realpath(entry) in map(os.path.realpath, folders)


def _current_folder() -> str:
    """Return the current folder, or "" if it was removed."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        return ""
