"""The packages that the command imports. Large ones are imported only by verbs that need them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

LARGE = {"sklearn", "scipy", "pandas", "pyarrow", "matplotlib", "joblib", "jinja2"}
CODE = """import sys
from dimetric.cli.main import run
try:
    run()
finally:
    print(*sys.modules, file=sys.stderr)
"""


def imported(*words):
    """Run the command in a process of its own. Return the names of all packages it imported."""
    source = Path(__file__).resolve().parents[2] / "src"
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(source), *sys.path])}
    command = [sys.executable, "-c", CODE, *map(str, words)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    return {name.partition(".")[0] for name in done.stderr.splitlines()[-1].split()}


@pytest.mark.slow
@pytest.mark.parametrize("words", [[], ["--help"], ["--version"], ["fit", "--help"], ["info"]])
def test_help_imports_no_large_package(words):
    packages = imported(*words)
    assert "typer" in packages
    assert not packages & (LARGE | {"numpy"})


@pytest.mark.slow
@pytest.mark.parametrize("words", [[], ["--json"]])
def test_info_imports_no_large_package(model, words):
    assert not imported("info", model, *words) & LARGE


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["predict", "transform"])
def test_applying_a_model_imports_no_plots(model, wine, verb):
    packages = imported(verb, model, wine)
    assert {"sklearn", "pyarrow"} <= packages
    assert not packages & {"matplotlib", "jinja2"}


@pytest.mark.slow
def test_fitting_imports_no_plots(wine):
    out = wine.with_name("m.dimetric")
    packages = imported("fit", wine, "--learner", "LDA", "--out", out)
    assert not packages & {"matplotlib", "jinja2"}
