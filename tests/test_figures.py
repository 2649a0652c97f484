"""Tests of examples/figures.py: the script runs, and its printed results are as expected."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import dimetric

pytestmark = pytest.mark.slow  # each run of the script is a process
SCRIPT = Path(__file__).parents[1] / "examples" / "figures.py"
ALL = ["3", "4", "5", "6", "7", "8", "11", "14", "15", "16", "17", "10.1", "10.4"]


def run(folder, *figures, **environment):
    path = os.pathsep.join([str(Path(dimetric.__file__).parents[1]), *sys.path])
    inherited = {name: value for name, value in os.environ.items() if name != "DIMETRIC_DATA"}
    return subprocess.run(
        [sys.executable, SCRIPT, folder, *figures],
        env=inherited | {"PYTHONPATH": path} | environment,
        capture_output=True,
        text=True,
    )


def test_known_results(tmp_path):
    done = run(tmp_path, "10.1", "14", "7")
    assert done.returncode == 0, done.stderr
    votes = re.findall(r"(\d) neighbours: (\w+)", done.stdout)
    assert votes == [("1", "positive"), ("3", "negative"), ("5", "positive")]
    ours, theirs = re.findall(r"from (0\.\d+) to", done.stdout)
    # Both fits start from the same objective.
    assert float(ours) == pytest.approx(float(theirs), abs=2e-4)
    error, variance = re.search(
        r"reconstruction error ([\d.]+), variance of the second component ([\d.]+)", done.stdout
    ).groups()
    assert error == variance


def test_unknown_figure(tmp_path):
    done = run(tmp_path, "9")
    assert done.returncode == 1
    assert "There is no figure 9. Choose from 3, 4, 5" in done.stderr


def test_published_scores(tmp_path):
    tables = tmp_path / "paper_tables"
    tables.mkdir()
    rows = ",Euclidean,NCA,DMLMJ,LMNN\n" + "".join(f"{i},0.5,0.9,0.5,0.5\n" for i in range(20))
    (tables / "basic-3nn-test.csv").write_text(rows + "AVG SCORE,9,1,9,9\n")
    done = run(tmp_path, "16", DIMETRIC_DATA=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert "using the published scores on 20 data sets" in done.stdout
    assert "NCA better 1.00" in done.stdout


def test_all_figures(tmp_path):
    done = run(tmp_path)
    assert done.returncode == 0, done.stderr
    assert {each.name for each in tmp_path.iterdir()} == {f"figure-{name}.png" for name in ALL}
    bands = re.search(r"leave-one-out accuracy: ([\d.]+) Euclidean, ([\d.]+) learned", done.stdout)
    assert float(bands[2]) > float(bands[1]) + 0.15
    pca, lda = re.findall(r"3-NN after \w+, leave-one-out accuracy: ([\d.]+)", done.stdout)
    assert float(lda) > 0.9 > 0.6 > float(pca)
