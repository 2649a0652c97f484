"""Fixtures for the tests of the command line."""

import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine
from typer.testing import CliRunner

from dimetric.cli.main import app
from dimetric.cli.main import run as command


@pytest.fixture(autouse=True)
def isolated(monkeypatch):
    """Hide other sources of data sets, and fix the width of the terminal."""
    monkeypatch.delenv("DIMETRIC_DATA", raising=False)
    monkeypatch.setattr("dimetric.data._named.from_openml", lambda *each: "")
    monkeypatch.setenv("COLUMNS", "200")


@pytest.fixture
def run():
    """Return a function that runs the command with the given arguments."""

    def invoke(*args):
        return CliRunner().invoke(app, [str(each) for each in args])

    return invoke


@pytest.fixture
def wine(tmp_path):
    """Write the wine data to a CSV file, with ids, a category and class names."""
    X, y = load_wine(return_X_y=True)
    frame = pd.DataFrame(
        X[:, :6], columns=["alcohol", "acid", "ash", "alcalinity", "mg", "phenols"]
    )
    frame.insert(0, "id", np.arange(1000, 1000 + len(X)))
    frame["colour"] = np.where(y == 2, "red", "white")
    frame["kind"] = np.array(["barolo", "grignolino", "barbera"])[y]
    path = tmp_path / "wine.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.fixture
def model(run, wine):
    """Fit a model to the wine data, and return its path."""
    path = wine.parent / "wine.dimetric"
    done = run("fit", wine, "--target", "kind", "--learner", "lda", "--out", path)
    assert done.exit_code == 0, done.output
    return path


@pytest.fixture
def error_of(monkeypatch):
    """Return a function that runs a command, and returns its error message."""

    def message(*words):
        monkeypatch.setattr(sys, "argv", ["dimetric", *map(str, words)])
        with pytest.raises(SystemExit) as raised:
            command()
        return str(raised.value)

    return message
