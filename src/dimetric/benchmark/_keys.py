"""Keys that identify a fit across runs. They depend on the computation, not on names."""

import dis
import functools
import hashlib
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import joblib

import dimetric

# Packages of dimetric that do not affect scores.
PRESENTATION_PACKAGES = ("cli", "export", "plot", "report")
# Attributes of a class that do not affect its results.
IGNORED_CLASS_ATTRIBUTES = (
    "__module__",
    "__qualname__",
    "__doc__",
    "__dict__",
    "__weakref__",
    "__annotations__",
    "__firstlineno__",
    "__dataclass_fields__",
    "__static_attributes__",
    "__abstractmethods__",
    "__slotnames__",
    "_abc_impl",
)


def key_of(*objects: Any) -> str:
    """Return a hash that is the same for equal objects in all processes.

    Functions and classes of installed packages are identified by their names. The key also includes
    a digest of dimetric's source. All other functions and classes, such as those defined in a
    script, are identified by their code and everything the code refers to, so editing a learner
    changes its key.

    Parameters
    ----------
    *objects : object
        Arrays, numbers, strings, functions, classes, estimators, and containers of them.
    """
    return str(joblib.hash([_dimetric_digest(), _hashable(objects, {})]))


@functools.cache
def _dimetric_digest() -> str:
    """Return a digest of the modules of dimetric that affect scores."""
    return source_digest(Path(dimetric.__file__).parent)


def source_digest(folder: Path) -> str:
    """Return a digest of the Python files in a folder, except the presentation packages."""
    digest = hashlib.sha256()
    for file in sorted(folder.rglob("*.py")):
        name = file.relative_to(folder)
        if name.parts[0] not in PRESENTATION_PACKAGES:
            digest.update(name.as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()


def _hashable(value: Any, seen: dict[int, int]) -> Any:
    """Convert a value to lists, mappings, names and other objects that joblib can hash.

    Parameters
    ----------
    value : object
        The value.
    seen : dict of int to int
        Functions and classes visited so far: their ids and the order of their visits. A definition
        that was visited is represented by its position in this order, so that recursion ends.
    """
    if isinstance(value, ModuleType):
        return value.__name__
    if isinstance(value, Mapping):
        return {name: _hashable(each, seen) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_hashable(each, seen) for each in value]
    if isinstance(value, set | frozenset):  # the order of a set differs between processes
        return sorted(joblib.hash(_hashable(each, seen)) for each in value)
    if isinstance(value, CodeType):
        return [value.co_code, value.co_names, _hashable(value.co_consts, seen)]
    if _is_importable(value):
        return f"{value.__module__}.{value.__qualname__}"
    parts = _parts(value)
    if parts is not None:
        return [type(value).__name__, *(_hashable(each, seen) for each in parts)]
    if isinstance(value, type | FunctionType):
        return _definition(value, seen)
    return value


def _parts(value: Any) -> list[Any] | None:
    """Return the objects that determine a value.

    Return None for functions and classes, and for values that joblib can hash.
    """
    if isinstance(value, functools.partial):
        return [value.func, value.args, value.keywords]
    if isinstance(value, property):
        return [value.fget, value.fset]
    if isinstance(value, functools.cached_property):
        return [value.func]
    if isinstance(value, classmethod | staticmethod):
        return [value.__func__]
    if isinstance(value, type):
        return None
    if hasattr(value, "get_params"):
        return [type(value), value.get_params(deep=False)]
    owner = getattr(value, "__self__", None)
    if owner is not None and not isinstance(owner, ModuleType):  # value is a bound method of owner
        return [owner, value.__name__, getattr(value, "__func__", None)]
    return None if _is_installed_module(type(value).__module__) else [type(value), vars(value)]


def _definition(value: Any, seen: dict[int, int]) -> Any:
    """Return the code, defaults, closure and globals of a function, or the content of a class."""
    if id(value) in seen:
        return f"definition {seen[id(value)]}"
    seen[id(value)] = len(seen)
    if isinstance(value, type):
        parts = {
            name: each for name, each in vars(value).items() if name not in IGNORED_CLASS_ATTRIBUTES
        }
        return _hashable([value.__name__, value.__bases__, parts], seen)
    closure = [each.cell_contents for each in value.__closure__ or ()]
    used = {name: value.__globals__.get(name) for name in _global_names(value.__code__)}
    return _hashable(
        [value.__code__, value.__defaults__, value.__kwdefaults__, closure, used], seen
    )


def _global_names(code: CodeType) -> list[str]:
    """Return the global names used by a code object and by the functions defined in it."""
    names = {each.argval for each in dis.get_instructions(code) if each.opname == "LOAD_GLOBAL"}
    for const in code.co_consts:
        if isinstance(const, CodeType):
            names.update(_global_names(const))
    return sorted(names)


def _is_importable(value: Any) -> bool:
    """Return whether a class or function can be imported from an installed package."""
    module, path = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(path, str) or not _is_installed_module(module):
        return False
    imported: Any = sys.modules.get(module)
    for name in path.split("."):
        imported = getattr(imported, name, None)
    return imported is value


def _is_installed_module(module: str) -> bool:
    if module.partition(".")[0] == "dimetric":
        return True
    file = getattr(sys.modules.get(module), "__file__", None)
    if file is None:
        return module != "__main__"  # built-in modules have no file
    installed = {"site-packages", "dist-packages"} & set(Path(file).parts)
    return bool(installed) or Path(file).is_relative_to(sysconfig.get_path("stdlib"))
