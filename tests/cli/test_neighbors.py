"""The verb neighbors."""

import json
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine
from sklearn.preprocessing import MinMaxScaler
from typer.testing import CliRunner

import dimetric
from dimetric import LDA
from dimetric.cli.main import app
from dimetric.cli.main import run as command

X, y = load_wine(return_X_y=True)
NAMES = load_wine().target_names[y]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Write a table with a missing value in row 3, and a model of it."""
    folder = tmp_path_factory.mktemp("wine")
    frame = pd.DataFrame(X, columns=load_wine().feature_names).assign(kind=NAMES)
    frame.loc[3, "ash"] = np.nan
    frame.to_csv(folder / "wine.csv", index=False)
    words = ["fit", "wine.csv", "--target", "kind", "--learner", "LDA", "--out", "lda.dimetric"]
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    return folder


def run(folder, *words):
    files = [folder / "lda.dimetric", folder / "wine.csv"]
    return CliRunner().invoke(app, ["neighbors", *map(str, (*files, *words))])


def nearest(A, row, k):
    return np.argsort(np.linalg.norm(A - A[row], axis=1), kind="stable")[1 : k + 1]


def test_neighbors_match_brute_force(folder, tmp_path):
    picture = tmp_path / "near.png"
    done = run(folder, "--row", 65, "--k", 6, "--json", "--out", picture)
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    rows = np.delete(np.arange(178), 3)
    scaled = MinMaxScaler().fit_transform(X[rows])
    mapped = LDA().fit(scaled, y[rows]).transform(scaled)
    position = 64  # position of row 65, because row 3 is dropped
    before, after = rows[nearest(scaled, position, 6)], rows[nearest(mapped, position, 6)]
    assert [each["row"] for each in found["before"]] == before.tolist()
    assert [each["row"] for each in found["after"]] == after.tolist()
    assert set(found["new"]) == set(after) - set(before)
    assert set(found["lost"]) == set(before) - set(after)
    assert found["row"] == 65
    assert found["columns"]["kind"] == NAMES[65]
    assert float(found["before"][0]["columns"]["alcohol"]) == X[before[0], 0]
    assert found["notes"] == ["Dropped 1 of 178 rows because of missing values."]
    assert picture.stat().st_size > 10_000


def test_printed_table(folder):
    done = run(folder, "--row", -1, "--k", 2, "--show", "hue,proline")
    assert done.exit_code == 0, done.output
    lines = done.stdout.splitlines()
    assert lines[0] == "Row 177: kind class_2, hue 0.61, proline 560.0"
    assert lines[2] == "Euclidean"
    assert lines[3].split() == ["row", "distance", "kind", "hue", "proline"]
    assert lines[7] == "LDA"
    assert lines[-1].endswith("lost.")


def test_k_is_reduced_to_the_number_of_other_rows(folder, tmp_path):
    done = run(folder, "--row", 0, "--k", 1000, "--json")
    found = json.loads(done.stdout)
    assert len(found["before"]) == 176
    assert found["new"] == []
    assert "--k 1000 was reduced to 176, the number of other rows." in found["notes"]


def test_model_that_is_only_a_learner(folder, tmp_path):
    dimetric.save(LDA().fit(X, y), tmp_path / "alone.dimetric")
    np.savez(tmp_path / "wine.npz", X=X)
    words = ["neighbors", tmp_path / "alone.dimetric", tmp_path / "wine.npz", "--row", 5,
             "--json"]  # fmt: skip
    done = CliRunner().invoke(app, [str(each) for each in words])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    mapped = LDA().fit(X, y).transform(X)
    assert [each["row"] for each in found["after"]] == nearest(mapped, 5, 10).tolist()
    assert float(found["columns"]["x0"]) == X[5, 0]


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["--row", "500"], "--row 500 is out of range"),
        (["--row", "3"], "--row 3 has missing values"),
        (["--row", "1", "--show", "alkohol"], "--show: there is no column 'alkohol'. Did you mean"),
        (["--row", "1", "--target", "sort"], "--target: there is no column 'sort'"),
        (
            ["--row", "1", "--out", "a.csv"],
            "Unsupported file type: a.csv. Use one of .png, .svg, .pdf.",
        ),
    ],
)
def test_error_messages(folder, monkeypatch, words, error):
    files = [str(folder / "lda.dimetric"), str(folder / "wine.csv")]
    monkeypatch.setattr(sys, "argv", ["dimetric", "neighbors", *files, *words])
    with pytest.raises(SystemExit) as raised:
        command()
    assert error in str(raised.value)


def test_error_if_the_file_is_not_a_model(folder, monkeypatch):
    file = str(folder / "wine.csv")
    monkeypatch.setattr(sys, "argv", ["dimetric", "neighbors", file, file, "--row", "1"])
    with pytest.raises(SystemExit, match=r"wine\.csv is not a model file"):
        command()
