"""Tests of the example scripts. Data files that they need are replaced by generated data."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import dimetric

pytestmark = pytest.mark.slow  # each example is a process
EXAMPLES = Path(__file__).parents[1] / "examples"


def run(name, *arguments, **environment):
    path = os.pathsep.join([str(Path(dimetric.__file__).parents[1]), *sys.path])
    inherited = {name: value for name, value in os.environ.items() if name != "DIMETRIC_DATA"}
    return subprocess.run(
        [sys.executable, EXAMPLES / name, *map(str, arguments)],
        env=inherited | {"PYTHONPATH": path} | environment,
        capture_output=True,
        text=True,
    )


@pytest.fixture
def folder(tmp_path):
    """Write materials with 40 features, triplets that depend on two of them, and noisy faces."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 255, size=(60, 40), dtype=np.uint8)
    X[:, 2:] //= 2
    rows = np.array([rng.choice(60, 3, replace=False) for _ in range(1500)])
    seen = X[:, :2].astype(float)
    near, far = (np.sum((seen[rows[:, 0]] - seen[rows[:, side]]) ** 2, axis=1) for side in (1, 2))
    rows[near > far] = rows[near > far][:, [0, 2, 1]]
    np.savez(
        tmp_path / "materials_triplets.npz",
        X=X,
        triplets_train=rows[:1000],
        triplets_test=rows[1000:],
    )
    people = np.repeat(np.arange(40), 10)
    faces = 100 * rng.uniform(size=(40, 80))[people] + 155 * rng.uniform(size=(400, 80))
    np.savez(tmp_path / "orl_faces32.npz", X=faces.astype(np.uint8), y=people)
    return tmp_path


def scores(text):
    """Return all numbers below 1 with three decimals, except signed differences."""
    words = text.replace(",", " ").split()
    return [float(word) for word in words if word.startswith("0.") and len(word) == 5]


def test_human_triplets(folder):
    done = run("human_triplets.py", folder)
    assert done.returncode == 0, done.stderr
    euclidean, learned, *_ = scores(done.stdout)
    assert learned > euclidean + 0.1


def test_verify_faces(folder):
    done = run("verify_faces.py", DIMETRIC_DATA=str(folder))
    assert done.returncode == 0, done.stderr
    assert len(scores(done.stdout)) == 6


def test_retrieval(tmp_path):
    done = run("retrieval.py")
    assert done.returncode == 0, done.stderr
    assert "No path was given, so the questions are generated." in done.stdout
    found = re.findall(r"nDCG@10 (\S+)", done.stdout)
    before, *rows = np.reshape(np.array(found, dtype=float), (-1, 2))  # both tests
    clean, noisy = rows[::2], rows[1::2]
    assert np.all(clean[2] > before + 0.2)  # 5,000 pairs
    assert np.all(clean[2] > clean[0])
    assert np.all(noisy[2] > before + 0.2)


def test_retrieval_of_a_file(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(240, 6)), np.arange(240) % 6
    split = (np.arange(240) % 4 == 0).astype(np.int8)
    np.savez(tmp_path / "banking77_minilm384.npz", X=X, y=y, split=split, classes=np.arange(6))
    done = run("retrieval.py", tmp_path)
    assert done.returncode == 0, done.stderr
    assert "generated" not in done.stdout
    assert "6 features" in done.stdout


@pytest.mark.parametrize("name", ["human_triplets.py", "verify_faces.py"])
def test_missing_data(name, tmp_path):
    for done, problem in ((run(name), "No path was given"), (run(name, tmp_path), "not found at")):
        assert done.returncode == 1
        assert "Give its path as the argument, or set DIMETRIC_DATA" in done.stderr
        assert problem in done.stderr


def test_cluster_with_must_links():
    done = run("cluster_with_must_links.py")
    assert done.returncode == 0, done.stderr
    assert not done.stderr  # warnings
    lines = [line.split() for line in done.stdout.splitlines() if "0." in line]
    assert [line[0] for line in lines] == ["before", "after", "before", "after", "after", "after"]
    for line in lines:
        if line[0] == "before":
            before = float(line[1])
        else:
            assert float(line[2]) > before


def test_half_labelled():
    done = run("half_labelled.py")
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines() if line[:6].strip().isdigit()]
    assert [line[0] for line in lines] == [n for n in ("10", "50", "200") for _ in range(4)]
    gains = {(line[0], line[1]): float(line[4]) for line in lines if line[1] in ("NCA", "LMNN")}
    assert gains["50", "NCA"] > 0
    assert gains["50", "LMNN"] > 0.1
    assert abs(gains["200", "NCA"]) < 0.02


def test_propagate_labels():
    done = run("propagate_labels.py")
    assert done.returncode == 0, done.stderr
    assert len(scores(done.stdout)) >= 5
