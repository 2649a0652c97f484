"""Import of the package: lazy names, and no unneeded dependencies."""

import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version

import pytest

import dimetric


def modules_after(code):
    """Return the top-level modules that are loaded after running code in a new interpreter."""
    script = f"import sys; sys.path[:0] = {sys.path!r}\n{code}\nprint(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return {name.partition(".")[0] for name in done.stdout.split()}


@pytest.mark.parametrize("name", dimetric.__all__)
def test_public_name_resolves(name):
    value = getattr(dimetric, name)
    assert value.__name__ == name
    assert value.__module__.startswith("dimetric.")
    assert vars(dimetric)[name] is value  # cached after the first access


def test_public_names_are_sorted_and_in_dir():
    assert sorted(dimetric.__all__) == list(dimetric.__all__)
    assert set(dimetric.__all__) <= set(dir(dimetric))
    assert len(set(dir(dimetric))) == len(dir(dimetric))


def test_every_registered_learner_is_public():
    from estimators import VARIANTS

    assert {cls.__name__ for cls in VARIANTS} <= set(dimetric.__all__)


def test_unknown_name_raises():
    with pytest.raises(AttributeError, match="No dimetric attribute PCB"):
        dimetric.PCB  # noqa: B018
    with pytest.raises(ImportError, match="cannot import name 'PCB'"):
        from dimetric import PCB  # noqa: F401


def test_version_is_that_of_the_installed_package():
    try:
        installed = version("dimetric")
    except PackageNotFoundError:
        pytest.skip("dimetric is on the path, but not installed")
    assert dimetric.__version__ == installed


@pytest.mark.slow
def test_import_is_lazy():
    assert "dimetric" in modules_after("import dimetric")
    assert not modules_after("import dimetric") & {"numpy", "scipy", "sklearn"}


@pytest.mark.slow
def test_public_names_load_no_heavy_modules():
    already_loaded = modules_after("import sklearn.base, scipy.linalg, scipy.optimize")
    names = ", ".join(dimetric.__all__)
    loaded = modules_after(f"from dimetric import {names}") - already_loaded
    assert "dimetric" in loaded
    heavy = {"torch", "dask", "numba", "matplotlib", "pandas", "polars", "pyarrow"}
    assert not loaded & heavy
