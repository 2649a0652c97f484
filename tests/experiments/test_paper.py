"""Tests of the published experiments: data sets, learners, tables and reports."""

import csv

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris
from sklearn.model_selection import StratifiedKFold

from dimetric.benchmark import BenchmarkResult
from dimetric.benchmark._cell import Cell
from dimetric.data import DataSet
from dimetric.experiments import _plans as plans
from dimetric.experiments import _protocol as protocol
from dimetric.experiments import _report as report
from dimetric.experiments._paper import Reproduction, reproduce
from dimetric.experiments._plans import plan
from dimetric.experiments._protocol import (
    DATA_SETS,
    FOLD_COLUMN,
    SMALL_DATA_SETS,
    load_published_data_set,
)
from dimetric.experiments._report import markdown, write
from dimetric.experiments._tables import ScoreTable

X, y = load_iris(return_X_y=True)


@pytest.fixture(autouse=True)
def without_installed_data(monkeypatch):
    """Ignore data folders and packages on this computer, and do not download data."""
    monkeypatch.delenv("DIMETRIC_DATA", raising=False)
    monkeypatch.setattr("dimetric.data._named.find_spec", lambda name: None)
    monkeypatch.setattr("dimetric.data._named.from_openml", lambda *each: "")


@pytest.fixture
def folder(tmp_path):
    """Write iris under several names, with columns of published splits, and tables of scores."""
    (tmp_path / "keel").mkdir()
    frame = pd.DataFrame(X, columns=list("abcd")).assign(**{"class": y + 1})
    row = np.arange(150)
    fold10 = row % 10 + 1
    frame.assign(fold10=fold10).to_csv(tmp_path / "keel/iris.csv", index=False)
    frame.assign(fold10=row % 5 + 1).to_csv(tmp_path / "keel/letter.csv", index=False)
    subset_columns = {"fold5": row // 10 % 3 + 1, "pos5": 200 - row}
    for name in ("banana", "page-blocks"):
        frame.assign(fold10=fold10, **subset_columns).to_csv(
            tmp_path / f"keel/{name}.csv", index=False
        )
    position = np.where(row % 3 == 0, 300 - row, 0)
    frame.assign(paper460=position).to_csv(tmp_path / "keel/spambase.csv", index=False)
    frame.to_csv(tmp_path / "keel/ring.csv", index=False)
    frame.to_csv(tmp_path / "keel/sonar.csv", index=False)
    (tmp_path / "paper_tables").mkdir()
    for what, score in (("train", 0.9), ("test", 0.8)):
        path = tmp_path / "paper_tables" / f"basic-3nn-{what}.csv"
        path.write_text(f",Euclidean,LLDA,DML_eig\niris,{score},0.7,\nAVG SCORE,0.1,0.1,0.1\n")
        path = tmp_path / "paper_tables" / f"dim-5nn-sonar-{what}.csv"
        path.write_text(f",PCA,LDA\n1,{score},0.7\nDim. máxima,0.6,\nN. Clases - 1,0.5,\n")
    return tmp_path


def test_numbers_of_data_sets():
    assert len(DATA_SETS) == len(set(DATA_SETS)) == 34
    assert len(set(SMALL_DATA_SETS)) == 21
    assert set(SMALL_DATA_SETS) < set(DATA_SETS)
    assert set(protocol.USED_FRACTIONS) < set(DATA_SETS)


def test_published_subsets_and_folds(folder):
    iris = load_published_data_set("iris", folder)
    assert_array_equal(iris.X, X)
    assert_array_equal(iris.extra[FOLD_COLUMN], np.arange(150) % 10 + 1)
    assert not iris.notes
    second = np.flatnonzero(np.arange(150) // 10 % 3 == 1)[::-1]  # in the order of pos5
    banana = load_published_data_set("banana", folder)
    assert_array_equal(banana.X, X[second])
    blocks = load_published_data_set("page-blocks", folder)
    assert_array_equal(blocks.X, X[second[y[second] != 2]])
    letter = load_published_data_set("letter", folder)
    assert_array_equal(letter.X, X[1::5])
    assert_array_equal(load_published_data_set("spambase", folder).X, X[::3][::-1])


def test_reduced_data_sets_are_split_after_shuffling(folder):
    banana = load_published_data_set("banana", folder)
    folds = StratifiedKFold(10, shuffle=True, random_state=28).split(banana.X, banana.y)
    for number, (_, test) in enumerate(folds, start=1):
        assert_array_equal(np.flatnonzero(banana.extra[FOLD_COLUMN] == number), test)


def test_data_sets_without_published_splits(folder):
    ring = load_published_data_set("ring", folder)
    assert len(ring.X) == 30
    note = "The published subset is missing. A random 20% of the samples was chosen."
    assert ring.notes == (note,)
    sonar = load_published_data_set("sonar", folder)
    note = "The published folds are missing. The samples were split at random."
    assert sonar.notes == (note,)
    assert len(np.unique(load_published_data_set("digits").extra[FOLD_COLUMN])) == 10


def test_small_classes_reduce_the_number_of_folds(folder):
    pd.DataFrame({"a": np.arange(12.0), "class": list("aabbbbbbbbbb")}).to_csv(
        folder / "keel/glass.csv", index=False
    )
    with pytest.warns(
        UserWarning, match=r"smallest class has 2 samples\. 2 folds are used instead of 10"
    ):
        glass = load_published_data_set("glass", folder)
    assert_array_equal(np.unique(glass.extra[FOLD_COLUMN]), [1, 2])


def test_models_of_each_experiment():
    rng = np.random.default_rng(0)
    data = DataSet(rng.normal(size=(90, 60)), np.arange(90) % 4, (), name="sonar")
    first = plan(1, 5, data)
    assert [column for _, column in first] == [
        "Euclidean",
        "LDA",
        "ITML",
        "DMLMJ",
        "NCA",
        "LMNN",
        "LSI",
        "DML-eig",
        "MCML",
        "LDML",
    ]
    assert first["sonar", "DMLMJ"].n_neighbors == first["sonar", "LMNN"].n_neighbors == 5
    second = plan(2, 5, data)
    assert list(column for _, column in second) == [
        "Euclidean + NCM",
        "NCMML",
        "Euclidean + NCM (2 ctrd)",
        "NCMC (2 ctrd)",
        "Euclidean + NCM (3 ctrd)",
        "NCMC (3 ctrd)",
    ]
    two_centroids = second["sonar", "NCMC (2 ctrd)"]
    assert two_centroids.n_centroids == two_centroids.learner.n_centroids == 2
    third = plan(3, 3, data)
    assert len(third) == 26
    assert (
        third["sonar", "KANMM [Poly-2]"].get_params().items()
        >= {
            "n_friends": 3,
            "n_enemies": 3,
            "kernel__name": "poly",
            "kernel__degree": 2,
        }.items()
    )
    fourth = plan(4, 7, data)
    rows = list(dict.fromkeys(row for row, _ in fourth))
    assert rows == ["1", "2", "3", "5", "10", "20", "30", "40", "50", "classes - 1", "max"]
    lda = [row for row, column in fourth if column == "LDA"]
    assert lda == ["1", "2", "3", "classes - 1"]
    assert fourth["max", "NCA"].n_components == 60
    lmnn = fourth["classes - 1", "LMNN"]
    assert (lmnn.n_components, lmnn.n_neighbors, lmnn.solver) == (3, 7, "sgd")
    assert fourth["2", "ANMM"].n_friends == fourth["2", "ANMM"].n_enemies == 7


def test_baselines():
    columns = list(plans._centroids(3))
    assert plans.baselines(2, columns) == {
        "NCMML": "Euclidean + NCM",
        "NCMC (2 ctrd)": "Euclidean + NCM (2 ctrd)",
        "NCMC (3 ctrd)": "Euclidean + NCM (3 ctrd)",
    }
    assert plans.baselines(3, ["Euclidean", "KDA"]) == {"KDA": "Euclidean"}
    assert plans.baselines(4, ["PCA"]) == {}


def test_reproduce(folder, tmp_path, monkeypatch):
    options = {"folder": folder, "data_sets": ["iris"], "store": tmp_path / "cells"}
    learners = ["Euclidean", "LMNN", "DML-eig"]
    found = reproduce(1, learners=learners, **options)
    (score_table,) = found.score_tables
    assert (score_table.rows, score_table.learners) == (["iris"], ["Euclidean", "LMNN", "DML-eig"])
    assert_array_equal(score_table.published_test, [[0.8, np.nan, np.nan]])
    assert_array_equal(score_table.published_train, [[0.9, np.nan, np.nan]])
    assert np.all(score_table.test > 0.9)
    assert len(found.result.cells) == 30
    assert list(found.posteriors()) == [("Euclidean", "LMNN"), ("Euclidean", "DML-eig")]
    calls = []
    again = reproduce(
        1, k=5, learners=learners, callback=lambda *each: calls.append(each), **options
    )
    # Learners that are not tied to k were already scored for k = 5.
    assert [each[0] for each in calls if each[2] is None] == [20, 0]
    assert again.name == "experiment1-5nn"
    monkeypatch.setenv("DIMETRIC_DATA", str(folder))
    named = reproduce(1, learners=learners, **(options | {"folder": None}))
    assert_array_equal(named.score_tables[0].published_test, score_table.published_test)
    assert np.all(np.isnan(again.score_tables[0].published_test))


def test_reproduce_dimensions(folder, monkeypatch):
    monkeypatch.setattr(plans, "DIMENSIONS", (1, 2, 20))
    found = reproduce(4, k=5, folder=folder, data_sets=["sonar"], learners=["LDA", "PCA"])
    (score_table,) = found.score_tables
    assert (score_table.name, score_table.rows) == ("sonar", ["1", "2", "classes - 1", "max"])
    assert score_table.learners == ["PCA", "LDA"]
    assert_array_equal(np.isnan(score_table.test), [[0, 0], [0, 0], [0, 0], [0, 1]])
    assert_array_equal(score_table.test[1], score_table.test[2])  # both have two components
    expected = [[0.8, 0.7], [np.nan] * 2, [0.5, np.nan], [0.6, np.nan]]
    assert_array_equal(score_table.published_test, expected)
    assert found.posteriors() == {}
    assert "## sonar" in markdown(found)


@pytest.mark.parametrize("experiment", [2, 3])
def test_other_experiments(experiment):
    learners = {2: ["NCMML", "Euclidean + NCM"], 3: ["Euclidean", "KPCA [RBF]"]}[experiment]
    found = reproduce(experiment, data_sets=["iris"], learners=learners)
    assert np.all(found.score_tables[0].test > 0.8)
    assert found.name == {2: "experiment2", 3: "experiment3-3nn"}[experiment]
    assert "The published folds are missing." in markdown(found)


def reproduction_of(test, published, name=""):
    rows = [f"row {i}" for i in range(len(test))]
    learners = ["Euclidean", "NCA"]
    test, published = np.array(test), np.array(published)
    score_table = ScoreTable(name, rows, learners, test + 0.05, test, published + 0.05, published)
    scores = {"train": 0.9, "test": 0.8, "time": 0.5}
    cells = [Cell(row, each, 3, 0, 0, **scores) for row in rows for each in learners]
    cells.append(Cell("row 0", "NCA", 3, 0, 1, status="failed", message="a\nlong | story"))
    return Reproduction(1, 3, [score_table], BenchmarkResult(cells), {"NCA": "Euclidean"}, {})


def test_averages_use_comparable_rows():
    nan = np.nan
    found = reproduction_of(
        [[0.5, 0.7], [nan, 0.9], [0.3, 0.1]], [[0.6, 0.8], [0.9, 0.9], [0.2, nan]]
    )
    means, ranks = found.score_tables[0].averages()
    assert_allclose(means, [0.4, 0.8])
    assert_allclose(ranks, [2, 1])
    assert_allclose(found.score_tables[0].averages("published_test")[0], [0.4, 0.85])
    ours = reproduction_of([[0.5, 0.7], [0.3, 0.1]], [[nan, nan], [nan, nan]]).score_tables[0]
    assert_allclose(ours.averages()[0], [0.4, 0.4])
    assert_array_equal(ours.averages("published_test"), np.full((2, 2), nan))
    mostly = reproduction_of([[0.5, nan], [0.3, nan]], [[nan, nan], [nan, nan]]).score_tables[0]
    assert_array_equal(mostly.averages()[0], [0.4, nan])


def test_written_files(tmp_path):
    scores = [[0.5, 0.7]] * 8
    found = reproduction_of(scores, [[0.55, 0.75]] * 8)
    files = write(found, tmp_path / "new")
    assert [each.name for each in files] == [
        "experiment1-3nn.md",
        "experiment1-3nn.csv",
        "experiment1-3nn-verdicts.csv",
    ]
    text = files[0].read_text()
    assert "| row 3 | 0.5000 (0.5500) | 0.7000 (0.7500) |" in text
    assert "| NCA | 0.7000 | 0.7500 | -0.0500 | 1.00 | 1.00 | 0.7500 | 0.8000 |" in text
    assert "- NCA is better than Euclidean (100 % probability)." in text
    assert "| row 0 | NCA | 1 | failed | a long / story |" in text
    assert "numpy" in text
    with open(files[1]) as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 16
    assert rows[1] == {
        "data": "row 0",
        "dimension": "",
        "learner": "NCA",
        "train": "0.7500",
        "published_train": "0.8000",
        "test": "0.7000",
        "published_test": "0.7500",
    }


def test_environment_without_proc(monkeypatch):
    def fail(*args):
        raise OSError

    monkeypatch.setattr(report, "open", fail, raising=False)
    monkeypatch.setattr(report, "PACKAGES", ("numpy", "no-such-package"))
    assert "Python" in report._environment()
    assert "no-such" not in report._environment()


def test_report_states_the_rows_that_averages_cover():
    nan = np.nan
    scores = [[0.5, 0.7]] * 8
    assert "of the 8 rows" not in markdown(reproduction_of(scores, scores))
    found = reproduction_of([[0.5, nan], *scores[1:]], scores)
    assert "The averages of NCA cover 7 of the 8 rows." in markdown(found)
    ranks = "The ranks cover the 7 of 8 rows in which all ranked learners have a score."
    assert ranks in markdown(found)


def test_bad_input(folder):
    with pytest.raises(ValueError, match="experiment=5 must be 1, 2, 3 or 4"):
        reproduce(5)
    with pytest.raises(ValueError, match=r"no data set 'irsi'. Did you mean iris"):
        reproduce(1, data_sets=["irsi"])
    with pytest.raises(ValueError, match=r"no learner 'DMLeig'. Did you mean DML-eig"):
        reproduce(1, data_sets=["iris"], learners=["DMLeig"])
    with pytest.raises(ValueError, match="There is no local data set 'wisconsin'"):
        reproduce(1, data_sets=["wisconsin"], folder=folder)
