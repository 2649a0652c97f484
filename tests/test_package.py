"""The package as it is imported: lazy names, and nothing heavy behind them."""

import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version

import pytest

import dimetric


def modules_after(code):
    """Return the top-level modules that a fresh interpreter has loaded after some code."""
    script = f"import sys; sys.path[:0] = {sys.path!r}\n{code}\nprint(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return {name.partition(".")[0] for name in done.stdout.split()}


@pytest.mark.parametrize("name", dimetric.__all__)
def test_names_resolve(name):
    value = getattr(dimetric, name)
    assert value.__name__ == name
    assert value.__module__.startswith("dimetric.")
    assert vars(dimetric)[name] is value  # the second access is a plain one


def test_names_are_listed():
    assert sorted(dimetric.__all__) == list(dimetric.__all__)
    assert set(dimetric.__all__) <= set(dir(dimetric))
    assert len(set(dir(dimetric))) == len(dir(dimetric))


def test_every_registered_learner_is_public():
    from estimators import VARIANTS

    assert {cls.__name__ for cls in VARIANTS} <= set(dimetric.__all__)


def test_unknown_name():
    with pytest.raises(AttributeError, match="No dimetric attribute PCB"):
        dimetric.PCB  # noqa: B018
    with pytest.raises(ImportError, match="cannot import name 'PCB'"):
        from dimetric import PCB  # noqa: F401


def test_version():
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
def test_learners_load_nothing_heavy():
    """Beside what scikit-learn and SciPy load themselves."""
    theirs = modules_after("import sklearn.base, scipy.linalg, scipy.optimize")
    names = ", ".join(dimetric.__all__)
    ours = modules_after(f"from dimetric import {names}") - theirs
    assert "dimetric" in ours
    heavy = {"torch", "dask", "numba", "matplotlib", "pandas", "polars", "pyarrow"}
    assert not ours & heavy
