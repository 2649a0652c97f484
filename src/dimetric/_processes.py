"""Search paths for the modules of child processes.

``python -c`` and ``python -m`` search the current folder for modules before all others. A file such
as ``queue.py`` next to a table would then replace a module of the standard library. Child processes
therefore start with Python's safe path, which leaves out this folder. Afterwards they search it
last, for the modules of the user.
"""

import os
import site
import sys
import sysconfig
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.machinery import PathFinder
from types import ModuleType

# Environment variables, which grandchildren inherit.
SAFE_PATH, PYTHON_PATH = "PYTHONSAFEPATH", "PYTHONPATH"
STANDARD_LIBRARY = frozenset(
    {
        sysconfig.get_path("stdlib"),
        sysconfig.get_path("platstdlib"),
        sysconfig.get_config_var("DESTSHARED"),
    }
)

_lock = threading.Lock()
_n_users = 0
_original_path: list[str] = []
_original_variables: dict[str, str | None] = {}


@contextmanager
def safe_path_for_children() -> Iterator[None]:
    """Let the processes that start within the block import modules safely.

    They start with Python's safe path. Then joblib gives them the search path of this process, in
    which the current folder and the folder of the script come last during the block. The block
    changes ``os.environ`` and ``sys.path``, because joblib has no option for it.

    Examples
    --------
    >>> with safe_path_for_children():
    ...     os.environ["PYTHONSAFEPATH"]
    '1'
    """
    global _n_users
    with _lock:  # the blocks of several threads may overlap
        if _n_users == 0:
            _original_path[:] = sys.path
            sys.path[:] = _path_of_children()
            safe = safe_environment()
            for name in (SAFE_PATH, PYTHON_PATH):
                _original_variables[name] = os.environ.get(name)
                _set_variable(name, safe.get(name))
        _n_users += 1
    try:
        yield
    finally:
        with _lock:
            _n_users -= 1
            if _n_users == 0:
                _restore_path()
                for name, value in _original_variables.items():
                    _set_variable(name, value)


def _path_of_children() -> list[str]:
    """Return ``sys.path`` with the current folder and the folder of the script at the end.

    If a module that was loaded from there has the same name as an installed one, processes must
    load the same file. Then only the standard library comes before these folders.
    """
    last = [each for each in sys.path if _is_current_or_script_folder(each)]
    others = [each for each in sys.path if not _is_current_or_script_folder(each)]
    is_hidden = any(
        _is_current_or_script_folder(folder) and _has_module(others, name)
        for name, folder in modules_of_user().items()
    )
    if not is_hidden:
        return others + last
    library = [each for each in others if each in STANDARD_LIBRARY]
    return library + last + [each for each in others if each not in STANDARD_LIBRARY]


def _has_module(path: list[str], name: str) -> bool:
    spec = PathFinder.find_spec(name, path)
    # A folder without __init__.py never hides a module.
    return spec is not None and spec.origin is not None


def _restore_path() -> None:
    """Restore the order of ``sys.path``. Keep the entries that were added within the block."""
    added = [each for each in sys.path if each not in _original_path]
    n_first = next((i for i, each in enumerate(sys.path) if each in _original_path), len(added))
    kept = [each for each in _original_path if each in sys.path]
    sys.path[:] = added[:n_first] + kept + added[n_first:]


def _set_variable(name: str, value: str | None) -> None:
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value


def safe_environment() -> dict[str, str]:
    """Return the environment of a child process.

    The current folder and the folder of the script are not in ``PYTHONPATH``.
    """
    environment = os.environ | {SAFE_PATH: "1"}
    entries = environment.pop(PYTHON_PATH, "").split(os.pathsep)
    entries = [each for each in entries if not _is_current_or_script_folder(each)]
    return environment | ({PYTHON_PATH: os.pathsep.join(entries)} if entries else {})


def search_path() -> list[str]:
    """Return the search path of this process, with current folder and script folder at the end.

    At the end, these folders provide the modules of the user, but do not replace modules of Python
    or of installed packages.
    """
    entries = [each or _current_folder() for each in sys.path if isinstance(each, str)]
    return sorted(dict.fromkeys(filter(None, entries)), key=_is_current_or_script_folder)


def modules_of_user() -> dict[str, str]:
    """Return the folders of the top-level modules from the current folder and the script folder.

    A child process loads modules of these names from there, because a module of the user may have
    the same name as an installed one. Names of the standard library are left out. The result also
    contains the folder of dimetric, so that the child runs the same version.
    """
    folders = {}
    for name, module in list(sys.modules.items()):
        folder = _folder_of(module)
        is_users = "." not in name and name not in sys.stdlib_module_names and name != "__main__"
        if (
            folder is not None
            and is_users
            and (name == "dimetric" or _is_current_or_script_folder(folder))
        ):
            folders[name] = folder
    return folders


def _folder_of(module: ModuleType) -> str | None:
    """Return the folder in which a top-level module or package was found."""
    places = getattr(module, "__path__", None)  # the folders of a package
    # Some modules of torch have an attribute of any name, which is not iterable.
    places = list(places) if isinstance(places, Iterable) else []
    file = places[0] if places else getattr(module, "__file__", None)
    return os.path.dirname(file) if isinstance(file, str) else None


def _is_current_or_script_folder(entry: object) -> bool:
    """Return whether an entry of a search path is the current folder or that of the script."""
    if not isinstance(entry, str):
        return False  # Python ignores such entries
    if not os.path.isabs(entry):
        entry = os.path.join(_current_folder(), entry)
    script = getattr(sys.modules.get("__main__"), "__file__", None) or ""
    folders = [_current_folder(), os.path.dirname(script)]
    if folders[1] in (*STANDARD_LIBRARY, *site.getsitepackages(), site.getusersitepackages()):
        del folders[1]  # ``python -m`` runs an installed module
    real_folders = map(os.path.realpath, filter(None, folders))
    return not os.path.isabs(entry) or os.path.realpath(entry) in real_folders


def _current_folder() -> str:
    """Return the current folder, or "" if it was removed."""
    try:
        return os.getcwd()
    except FileNotFoundError:
        return ""
