"""Keys by which a later run finds a fit again: they depend on what is computed, not on names."""

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

# Rooms of dimetric that compute no score.
PRESENTATION_ROOMS = ("cli", "explore", "export", "plot", "report")
# Attributes of a class that do not change what it computes.
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


def key_of(*what: Any) -> str:
    """Return a text that is the same for equal objects, in any process.

    Installed functions and classes are identified by their names, and those of dimetric by the
    digest of its source too. All others, such as those of a script, are identified by their code
    and everything it refers to: an edited learner is another learner.

    Parameters
    ----------
    what : object
        Arrays, numbers, texts, functions, classes, estimators, and containers of them.
    """
    return str(joblib.hash([_own_source(), _plain(what, {})]))


@functools.cache
def _own_source() -> str:
    """Return the digest of all modules of dimetric that scores depend on."""
    return source_digest(Path(dimetric.__file__).parent)


def source_digest(folder: Path) -> str:
    """Return the digest of the Python files of a package, except those that only show results."""
    found = hashlib.sha256()
    for file in sorted(folder.rglob("*.py")):
        name = file.relative_to(folder)
        if name.parts[0] not in PRESENTATION_ROOMS:
            found.update(name.as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return found.hexdigest()


def _plain(value: Any, seen: dict[int, int]) -> Any:
    """Return a value as lists, mappings, names, and objects that joblib can hash.

    Parameters
    ----------
    value : object
        The value.
    seen : dict of int to int
        Numbers of the definitions seen so far, by id: code may refer to itself.
    """
    if isinstance(value, ModuleType):
        return value.__name__
    if isinstance(value, Mapping):
        return {name: _plain(each, seen) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each, seen) for each in value]
    if isinstance(value, set | frozenset):  # their order differs between processes
        return sorted(joblib.hash(_plain(each, seen)) for each in value)
    if isinstance(value, CodeType):
        return [value.co_code, value.co_names, _plain(value.co_consts, seen)]
    if _installed(value):
        return f"{value.__module__}.{value.__qualname__}"
    parts = _parts(value)
    if parts is not None:
        return [type(value).__name__, *(_plain(each, seen) for each in parts)]
    if isinstance(value, type | FunctionType):
        return _definition(value, seen)
    return value


def _parts(value: Any) -> list[Any] | None:
    """Return the parts of an object; None for a definition, or an object to be hashed whole."""
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
    if owner is not None and not isinstance(owner, ModuleType):  # a method of that object
        return [owner, value.__name__, getattr(value, "__func__", None)]
    return None if _of_package(type(value).__module__) else [type(value), vars(value)]


def _definition(value: Any, seen: dict[int, int]) -> Any:
    """Return the parts of a function or class: its code, defaults, closure, globals, attributes."""
    if id(value) in seen:
        return f"definition {seen[id(value)]}"
    seen[id(value)] = len(seen)
    if isinstance(value, type):
        parts = {
            name: each for name, each in vars(value).items() if name not in IGNORED_CLASS_ATTRIBUTES
        }
        return _plain([value.__name__, value.__bases__, parts], seen)
    held = [each.cell_contents for each in value.__closure__ or ()]
    used = {name: value.__globals__.get(name) for name in _global_names(value.__code__)}
    return _plain([value.__code__, value.__defaults__, value.__kwdefaults__, held, used], seen)


def _global_names(code: CodeType) -> list[str]:
    """Return the global names that code and the functions inside it refer to."""
    found = {each.argval for each in dis.get_instructions(code) if each.opname == "LOAD_GLOBAL"}
    for const in code.co_consts:
        if isinstance(const, CodeType):
            found.update(_global_names(const))
    return sorted(found)


def _installed(value: Any) -> bool:
    """Tell whether a class or function can be imported from an installed package."""
    module, path = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(path, str) or not _of_package(module):
        return False
    found: Any = sys.modules.get(module)
    for name in path.split("."):
        found = getattr(found, name, None)
    return found is value


def _of_package(module: str) -> bool:
    if module.partition(".")[0] == "dimetric":
        return True
    file = getattr(sys.modules.get(module), "__file__", None)
    if file is None:
        return module != "__main__"  # part of the interpreter
    installed = {"site-packages", "dist-packages"} & set(Path(file).parts)
    return bool(installed) or Path(file).is_relative_to(sysconfig.get_path("stdlib"))
