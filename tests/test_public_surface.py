"""Tests of the public names and signatures, which tests/public_surface.txt lists.

The list makes every change visible in a review. After an intended change, update it with
``python tests/test_public_surface.py --update``.
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
from dimetric._arguments import ArgumentErrorMixin

SNAPSHOT = Path(__file__).with_name("public_surface.txt")
UPDATE_COMMAND = "python tests/test_public_surface.py --update"
HEADER = f"# Every public name and its signature. Written by: {UPDATE_COMMAND}\n"


def public_packages():
    """Return the packages that declare public names in a stub, the root first."""
    root = Path(dimetric.__file__).parent
    stubs = sorted(root.rglob("__init__.pyi"))
    return [".".join(["dimetric", *stub.relative_to(root).parts[:-1]]) for stub in stubs]


PACKAGES = public_packages()
PUBLIC_NAMES = [
    (package, name) for package in PACKAGES for name in importlib.import_module(package).__all__
]


def surface_lines():
    """Return a line for each public name, method and property, sorted."""
    lines, defined_as = [], {}
    for package, name in reversed(PUBLIC_NAMES):  # the root comes last, because it re-exports names
        value = getattr(importlib.import_module(package), name)
        full_name = f"{package}.{name}"
        if id(value) in defined_as:
            lines.append(f"{full_name} is {defined_as[id(value)]}")
            continue
        defined_as[id(value)] = full_name
        lines += lines_of(full_name, value)
    return sorted(lines)


def lines_of(full_name, value):
    """Return the lines of a public object: one for itself, and for a class one per member."""
    if not inspect.isclass(value):
        return [
            full_name + (signature_of(value) if callable(value) else f": {type(value).__name__}")
        ]
    lines = [full_name + signature_of(value)]
    for name in dir(value):
        if name.startswith("_") or name.endswith("_request"):  # from scikit-learn's routing
            continue
        owner = next((cls for cls in value.__mro__ if name in vars(cls)), None)
        if owner is None or not owner.__module__.startswith("dimetric"):
            continue
        member = inspect.getattr_static(value, name)
        if isinstance(member, property | cached_property):
            lines.append(f"{full_name}.{name} (property)")
        elif callable(getattr(value, name)):
            lines.append(f"{full_name}.{name}{signature_of(getattr(value, name))}")
    return lines


def signature_of(function):
    """Return the parameters and defaults as text, without annotations and ``self``."""
    signature = inspect.signature(function)
    plain = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for name, parameter in signature.parameters.items()
        if name not in ("self", "cls")
    ]
    text = str(signature.replace(parameters=plain, return_annotation=inspect.Signature.empty))
    return re.sub(r" at 0x[0-9a-f]+", "", text)


def names_in_stub(package):
    """Return the names that the stub of a package imports, with the module and name of origin."""
    module = importlib.import_module(package)
    stub = Path(module.__file__).with_suffix(".pyi")
    names = {}
    for node in ast.parse(stub.read_text()).body:
        if isinstance(node, ast.ImportFrom):
            source = importlib.util.resolve_name("." * node.level + (node.module or ""), package)
            names |= {alias.asname or alias.name: (source, alias.name) for alias in node.names}
    return names


def test_public_names_match_the_snapshot():
    expected = SNAPSHOT.read_text().splitlines()
    found = [*HEADER.splitlines(), *surface_lines()]
    changes = [
        line
        for line in difflib.unified_diff(expected, found, "expected", "found", n=0, lineterm="")
        if not line.startswith("@@")
    ]
    assert not changes, (
        "Public names or signatures have changed:\n"
        + "\n".join(changes)
        + f"\nIf this is intended, run '{UPDATE_COMMAND}', commit {SNAPSHOT.name}, "
        "and describe the change in CHANGELOG.md."
    )


@pytest.mark.parametrize(("package", "name"), PUBLIC_NAMES, ids=".".join)
def test_every_public_name_can_be_imported(package, name):
    scope = {}
    exec(f"from {package} import {name}", scope)
    value = scope[name]
    assert not isinstance(value, ModuleType), f"{package}.{name} is a module"
    assert value.__module__.startswith("dimetric.")
    assert value.__doc__, f"{package}.{name} has no docstring"


@pytest.mark.parametrize(
    ("package", "name"),
    [
        (package, name)
        for package, name in PUBLIC_NAMES
        if isinstance(getattr(importlib.import_module(package), name), type)
    ],
    ids=".".join,
)
def test_errors_about_arguments_name_the_public_class(package, name):
    """Python names the class that defines the constructor, which may be a private base class."""
    cls = getattr(importlib.import_module(package), name)
    for arguments, keywords in (((), {"no_such_parameter": 1}), (range(99), {})):
        with pytest.raises(TypeError, match=rf"^{name}(\.__init__|\.__new__)?\(\) "):
            cls(*arguments, **keywords)


def test_error_for_an_unknown_keyword_suggests_a_parameter():
    message = r"^NCA.__init__\(\) got an unexpected keyword argument 'n_comp'. Did you mean "
    with pytest.raises(TypeError, match=message + "'?n_components'?"):
        dimetric.NCA(n_comp=2)
    with pytest.raises(TypeError, match="Choose from learner"):
        dimetric.NCMClassifier(no_such_parameter=1)


def test_error_for_a_keyword_that_a_constructor_passes_on():
    class Base(ArgumentErrorMixin):
        def __init__(self, *, value=1):
            self.value = value

    class Child(Base):
        def __init__(self, **options):
            super().__init__(**options)

    class Heir(Child):
        pass

    with pytest.raises(TypeError, match=r"^Heir.__init__\(\) got .*'other'. Choose from value.$"):
        Heir(other=1)
    with pytest.raises(TypeError, match=r"^int\(\) argument must be"):
        type("Converted", (Base,), {"__init__": lambda self: int([])})()
    assert Heir(value=2).value == 2
    assert list(inspect.signature(type("Other", (Base,), {})).parameters) == ["value"]


@pytest.mark.parametrize("package", PACKAGES)
def test_no_module_hides_a_public_name(package):
    """Importing a submodule sets an attribute of its package, which would replace the name."""
    module = importlib.import_module(package)
    submodules = {info.name for info in pkgutil.iter_modules(module.__path__)}
    assert not submodules & set(module.__all__)


@pytest.mark.parametrize("package", PACKAGES)
def test_stub_and_runtime_agree(package):
    module, declared = importlib.import_module(package), names_in_stub(package)
    assert sorted(module.__all__) == sorted(declared)
    assert set(module.__all__) <= set(dir(module))
    for name, (source, original) in declared.items():
        assert getattr(module, name) is getattr(importlib.import_module(source), original)


@pytest.mark.parametrize("package", PACKAGES)
def test_stub_declares_nothing_private(package):
    assert not [name for name in names_in_stub(package) if name.startswith("_")]


if __name__ == "__main__":
    if sys.argv[1:] != ["--update"]:
        sys.exit(f"Usage: {UPDATE_COMMAND}")
    SNAPSHOT.write_text(HEADER + "\n".join(surface_lines()) + "\n")
    print(f"{SNAPSHOT}: {len(surface_lines())} lines")
