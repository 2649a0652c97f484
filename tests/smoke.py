"""Test an installed dimetric without extras, or with `--extras` the command and an export.

`make dist` runs this script in an empty environment, outside the source tree. It is not a test
module, because pytest is not installed there.
"""

import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path

import numpy as np
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

import dimetric


def check_core():
    """Test the library without extras."""
    assert "site-packages" in dimetric.__file__, f"not the installed package: {dimetric.__file__}"
    assert Path(dimetric.__file__).with_name("py.typed").exists()
    for name in dimetric.__all__:
        getattr(dimetric, name)
    for package in ("benchmark", "data", "experiments", "export", "quality", "selection", "stats"):
        module = import_module(f"dimetric.{package}")
        assert module.__all__, package
    X, y = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    nca = dimetric.NCA(n_components=2, random_state=0).fit(X, y)
    model = dimetric.KNNClassifier(3, learner=dimetric.LMNN()).fit(X[::2], y[::2])
    accuracy = model.score(X[1::2], y[1::2])
    assert accuracy > 0.9, accuracy
    assert nca.transform(X).shape == (178, 2)
    assert dimetric.Isomap(n_neighbors=8).fit_transform(X).shape == (178, 2)


def check_missing_extra():
    """Test that the command names the missing extra."""
    done = subprocess.run([command()], capture_output=True, text=True, check=False)
    assert done.returncode == 1, done
    assert "dimetric[cli]" in done.stderr, done.stderr
    assert "Traceback" not in done.stderr, done.stderr


def check_extras():
    """Test the command (report, model file, prediction, plot, export) and a notebook's summary."""
    X, y = load_wine(return_X_y=True)
    with tempfile.TemporaryDirectory() as folder:
        table, model = Path(folder, "wine.csv"), Path(folder, "wine.dimetric")
        header = ",".join([*(f"x{i}" for i in range(X.shape[1])), "kind"])
        np.savetxt(table, np.column_stack([X, y]), delimiter=",", header=header, comments="")
        run("compare", table, "--target", "kind", "--budget", "5", "--out", folder)
        run("fit", table, "--target", "kind", "--learner", "LDA", "--out", model)
        run("info", model)
        run("predict", model, table, "--out", Path(folder, "kinds.csv"))
        run("embed", table, "--color", "kind", "--out", Path(folder, "wine.png"))
        run("export", model, "--to", "onnx", "--out", Path(folder, "wine.onnx"))
        html = dimetric.compare(X, y, learners=["LDA"], budget=5, random_state=0)._repr_html_()
        assert "LDA" in html, html
        assert len(Path(folder, "kinds.csv").read_text().splitlines()) == 179


def command():
    """Return the path of the command in the environment of this Python."""
    return str(Path(sys.executable).with_name("dimetric"))


def run(*arguments):
    """Run the command; show its output if it fails."""
    done = subprocess.run(
        [command(), *map(str, arguments)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"dimetric {arguments[0]}: {done.stdout}{done.stderr}"


if __name__ == "__main__":
    check_core()
    if "--extras" in sys.argv[1:]:
        check_extras()
    else:
        check_missing_extra()
    extras = "with extras" if "--extras" in sys.argv[1:] else "without extras"
    print(f"dimetric {dimetric.__version__} works {extras}")
