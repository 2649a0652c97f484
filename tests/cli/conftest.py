"""What the tests of all verbs share."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine
from typer.testing import CliRunner

from dimetric.cli.main import app


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    """No data sets from elsewhere, and a terminal of some width."""
    monkeypatch.delenv("DIMETRIC_DATA", raising=False)
    monkeypatch.setattr("dimetric.data._named._from_openml", lambda *each: "")
    monkeypatch.setenv("COLUMNS", "200")


@pytest.fixture
def typed():
    """Return a function that runs the command as it is typed."""

    def run(*words):
        return CliRunner().invoke(app, [str(each) for each in words])

    return run


@pytest.fixture
def wine(tmp_path):
    """Wine, as a table that people have: ids, a category, a gap, classes with names."""
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
