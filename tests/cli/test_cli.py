"""The command line: the verb reproduce, help, errors and interrupts."""

import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from dimetric.cli.main import run as command


@pytest.fixture
def folder(tmp_path):
    """Write the iris data, and a table of published scores."""
    X, y = load_iris(return_X_y=True)
    frame = pd.DataFrame(X).assign(**{"class": y, "fold10": np.arange(150) % 10 + 1})
    (tmp_path / "data/paper_tables").mkdir(parents=True)
    frame.to_csv(tmp_path / "data/iris.csv", index=False)
    table = tmp_path / "data/paper_tables/basic-3nn-test.csv"
    table.write_text(",Euclidean,LDA\niris,0.1234,0.5678\n")
    return tmp_path


@pytest.mark.slow
def test_reproduce(run, folder, monkeypatch):
    words = ["reproduce", "--only", "iris", "--learners", "Euclidean, LDA", "--out", folder / "out"]
    done = run(*words, "--data", folder / "data")
    assert done.exit_code == 0, done.output
    assert "0.1234" in done.output
    assert "LDA and Euclidean are equivalent" in done.output
    assert "20 cells: 20 ok" in done.output
    names = {each.name for each in (folder / "out").iterdir()}
    assert names >= {
        "cells.sqlite", "experiment1-3nn.md", "experiment1-3nn.csv",
        "experiment1-3nn-verdicts.csv", "experiment1-3nn-simplex.png",
    }  # fmt: skip
    first = (folder / "out/experiment1-3nn.csv").read_text()
    monkeypatch.setenv("DIMETRIC_DATA", str(folder / "data"))
    again = run(*words, "--k", 3, "--k", 5)  # finished fits are not repeated
    assert again.exit_code == 0, again.output
    assert (folder / "out/experiment1-3nn.csv").read_text() == first
    assert (folder / "out/experiment1-5nn.md").exists()


@pytest.mark.slow
def test_failed_fits_are_listed(run, folder):
    words = ["reproduce", "--only", "iris", "--learners", "Euclidean", "--data", folder / "data",
             "--out", folder / "out", "--k", 500]  # fmt: skip
    done = run(*words)
    assert done.exit_code == 1
    assert "Euclidean: 10 fits failed: " in done.output
    assert "n_neighbors=500 is larger than" in done.output
    assert "all of its fits failed (see above)" in done.output


@pytest.mark.slow
def test_reproduce_as_json(run, folder):
    words = ["reproduce", "--only", "iris", "--learners", "Euclidean, LDA", "--out", folder / "out"]
    done = run(*words, "--data", folder / "data", "--json")
    found = json.loads(done.stdout)["results"][0]
    assert found["score_tables"][0]["learners"] == ["Euclidean", "LDA"]
    assert found["score_tables"][0]["published_test"] == [[0.1234, 0.5678]]
    assert found["verdicts"][0].startswith("LDA and Euclidean are equivalent")
    assert len(found["files"]) == 4


@pytest.mark.slow
def test_experiment_without_verdicts(run, folder):
    words = ["--experiment", 4, "--only", "sonar", "--learners", "LDA", "--out", folder / "out"]
    frame = pd.read_csv(folder / "data/iris.csv")
    frame.to_csv(folder / "data/sonar.csv", index=False)
    done = run("reproduce", *words, "--data", folder / "data")
    assert done.exit_code == 0, done.output
    assert "classes - 1" in done.output
    assert not (folder / "out/experiment4-3nn-simplex.png").exists()


def test_version_and_help(run):
    assert run("--version").output.startswith("dimetric ")
    assert "--experiment" in run("reproduce", "--help").output
    assert run("reproduce", "--experiment", 7).exit_code == 2
    assert "the first 3" in " ".join(run("neighbors", "--help").output.split())
    assert "DATA-METHOD.png" in run("embed", "--help").output


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--only", "irsi"], "dimetric: There is no data set 'irsi'. Did you mean iris"),
        (["--data", "no/where", "--only", "iris"], "There is no directory no/where."),
    ],
)
def test_error_messages(tmp_path, monkeypatch, words, error):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["dimetric", "reproduce", *words])
    with pytest.raises(SystemExit) as raised:
        command()
    assert error in str(raised.value)


@pytest.mark.slow
def test_interrupt_during_imports():
    code = f"""import sys; sys.path[:0] = {sys.path!r}
class InterruptImport:
    def find_spec(self, name, *others):
        if name == "typer":
            raise KeyboardInterrupt
sys.meta_path.insert(0, InterruptImport())
from dimetric.cli import main
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "Interrupted.\n")


def test_interrupt(run, tmp_path, monkeypatch):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("dimetric.experiments._paper.reproduce", interrupted)
    done = run("reproduce", "--out", tmp_path)
    assert done.exit_code == 130
    assert done.stderr == "Interrupted. Repeat the command to continue.\n"


@pytest.mark.slow
def test_module_runs_the_command():
    done = subprocess.run(
        [sys.executable, "-m", "dimetric", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("dimetric ")
