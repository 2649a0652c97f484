"""The public surface: every public name and its signature, as tests/public_surface.txt lists them.

The file makes a change of the surface visible in a review. After a change on purpose, write it
anew: ``python tests/test_public_surface.py --update``.
"""

import ast
import difflib
import importlib
import inspect
import pkgutil
import re
import sys
from functools import cached_property
from pathlib import Path
from types import ModuleType

import pytest

import dimetric

SNAPSHOT = Path(__file__).with_name("public_surface.txt")
UPDATE = "python tests/test_public_surface.py --update"
HEADER = f"# Every public name and its signature. Written by: {UPDATE}\n"


def public_rooms():
    """Return the packages that declare public names in a stub, the root first."""
    root = Path(dimetric.__file__).parent
    stubs = sorted(root.rglob("__init__.pyi"))
    return [".".join(["dimetric", *stub.relative_to(root).parts[:-1]]) for stub in stubs]


ROOMS = public_rooms()
NAMES = [(room, name) for room in ROOMS for name in importlib.import_module(room).__all__]


def surface():
    """Return a line for each public name, method and property, sorted."""
    lines, home = [], {}
    for room, name in reversed(NAMES):  # the root re-exports: it comes last
        value = getattr(importlib.import_module(room), name)
        full = f"{room}.{name}"
        if id(value) in home:
            lines.append(f"{full} is {home[id(value)]}")
            continue
        home[id(value)] = full
        lines += lines_of(full, value)
    return sorted(lines)


def lines_of(full, value):
    """Return the line of a function, or those of a class and what it defines in public."""
    if not inspect.isclass(value):
        return [full + (signature_of(value) if callable(value) else f": {type(value).__name__}")]
    lines = [full + signature_of(value)]
    for name in dir(value):
        if name.startswith("_") or name.endswith("_request"):  # requests: scikit-learn's routing
            continue
        owner = next((cls for cls in value.__mro__ if name in vars(cls)), None)
        if owner is None or not owner.__module__.startswith("dimetric"):
            continue
        member = inspect.getattr_static(value, name)
        if isinstance(member, property | cached_property):
            lines.append(f"{full}.{name} (property)")
        elif callable(getattr(value, name)):
            lines.append(f"{full}.{name}{signature_of(getattr(value, name))}")
    return lines


def signature_of(function):
    """Return parameters and defaults as they are written, without types and ``self``."""
    signature = inspect.signature(function)
    plain = [
        each.replace(annotation=inspect.Parameter.empty)
        for name, each in signature.parameters.items()
        if name not in ("self", "cls")
    ]
    text = str(signature.replace(parameters=plain, return_annotation=inspect.Signature.empty))
    return re.sub(r" at 0x[0-9a-f]+", "", text)


def names_in_stub(room):
    """Return the names that a room's stub declares, with the module each comes from."""
    module = importlib.import_module(room)
    stub = Path(module.__file__).with_suffix(".pyi")
    found = {}
    for node in ast.parse(stub.read_text()).body:
        if isinstance(node, ast.ImportFrom):
            source = importlib.util.resolve_name("." * node.level + (node.module or ""), room)
            found |= {each.asname or each.name: (source, each.name) for each in node.names}
    return found


def test_surface_is_the_announced_one():
    announced = SNAPSHOT.read_text().splitlines()
    found = [*HEADER.splitlines(), *surface()]
    changes = [
        line
        for line in difflib.unified_diff(announced, found, "announced", "found", n=0, lineterm="")
        if not line.startswith("@@")
    ]
    assert not changes, (
        "The public surface has changed:\n"
        + "\n".join(changes)
        + f"\nIf that is on purpose, run '{UPDATE}' and commit {SNAPSHOT.name}; "
        "tell users in CHANGELOG.md."
    )


@pytest.mark.parametrize(("room", "name"), NAMES, ids=".".join)
def test_every_public_name_can_be_imported(room, name):
    scope = {}
    exec(f"from {room} import {name}", scope)
    value = scope[name]
    assert not isinstance(value, ModuleType), f"{room}.{name} is a module"
    assert value.__module__.startswith("dimetric.")
    assert value.__doc__, f"{room}.{name} has no docstring"


@pytest.mark.parametrize("room", ROOMS)
def test_no_module_hides_a_public_name(room):
    """Importing a submodule sets an attribute of its package, which would replace the name."""
    package = importlib.import_module(room)
    modules = {each.name for each in pkgutil.iter_modules(package.__path__)}
    assert not modules & set(package.__all__)


@pytest.mark.parametrize("room", ROOMS)
def test_stub_and_runtime_agree(room):
    package, declared = importlib.import_module(room), names_in_stub(room)
    assert sorted(package.__all__) == sorted(declared)
    assert set(package.__all__) <= set(dir(package))
    for name, (source, original) in declared.items():
        there = importlib.import_module(source)
        assert getattr(package, name) is getattr(there, original)


@pytest.mark.parametrize("room", ROOMS)
def test_stub_declares_nothing_private(room):
    assert not [name for name in names_in_stub(room) if name.startswith("_")]


if __name__ == "__main__":
    if sys.argv[1:] != ["--update"]:
        sys.exit(f"Usage: {UPDATE}")
    SNAPSHOT.write_text(HEADER + "\n".join(surface()) + "\n")
    print(f"{SNAPSHOT}: {len(surface())} lines")
