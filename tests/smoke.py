"""Try an installed dimetric: `python tests/smoke.py` without extras, `... --extras` with them.

`make dist` runs this file in an empty environment, far from the source tree. It is a script and not
a test module, because an installation without extras has no pytest.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

import dimetric


def try_core():
    """Use what the library offers without any extra."""
    assert "site-packages" in dimetric.__file__, f"not the installed one: {dimetric.__file__}"
    for name in dimetric.__all__:
        getattr(dimetric, name)
    X, y = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    nca = dimetric.NCA(n_components=2, random_state=0).fit(X, y)
    model = dimetric.KNNClassifier(3, learner=dimetric.LMNN()).fit(X[::2], y[::2])
    accuracy = model.score(X[1::2], y[1::2])
    assert accuracy > 0.9, accuracy
    assert nca.transform(X).shape == (178, 2)
    assert dimetric.Isomap(n_neighbors=8).fit_transform(X).shape == (178, 2)


def try_missing_extra():
    """Without the extra `cli` the command must name it."""
    done = subprocess.run([command()], capture_output=True, text=True, check=False)
    assert done.returncode == 1, done
    assert "dimetric[cli]" in done.stderr, done.stderr
    assert "Traceback" not in done.stderr, done.stderr


def try_extras():
    """Use the command, a picture, a report, a model file and an export."""
    X, y = load_wine(return_X_y=True)
    with tempfile.TemporaryDirectory() as folder:
        table, model = Path(folder, "wine.csv"), Path(folder, "wine.dimetric")
        lines = [*(",".join(map(str, row)) for row in np.column_stack([X, y])), ""]
        header = ",".join([*(f"x{i}" for i in range(X.shape[1])), "kind"])
        table.write_text("\n".join([header, *lines]))
        run("compare", table, "--target", "kind", "--budget", "5", "--out", folder)
        run("fit", table, "--target", "kind", "--learner", "LDA", "--out", model)
        run("info", model)
        run("predict", model, table, "--out", Path(folder, "kinds.csv"))
        run("embed", table, "--color", "kind", "--out", Path(folder, "wine.png"))
        run("export", model, "--to", "onnx", "--out", Path(folder, "wine.onnx"))
        assert len(Path(folder, "kinds.csv").read_text().splitlines()) == 179


def command():
    """Return the path of the command that was installed beside this Python."""
    return str(Path(sys.executable).with_name("dimetric"))


def run(*words):
    """Run the command; show its output if it fails."""
    done = subprocess.run(
        [command(), *map(str, words)], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"dimetric {words[0]}: {done.stdout}{done.stderr}"


if __name__ == "__main__":
    try_core()
    if "--extras" in sys.argv[1:]:
        try_extras()
    else:
        try_missing_extra()
    print(f"dimetric {dimetric.__version__} works, {' '.join(sys.argv[1:]) or 'without extras'}")
