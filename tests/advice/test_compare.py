"""dimetric.compare: from arrays and data frames to a verdict, a fitted model and a report."""

import re
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import load_wine

import dimetric
from dimetric import LDA, PCA, KNNClassifier
from dimetric.advice import Comparison
from dimetric.advice._seeds import seed_from

X, y = load_wine(return_X_y=True)
NAMES = np.array(["barolo", "grignolino", "barbera"])[y]
# Enough time for all folds on a busy machine, so that results do not depend on the time.
FAST = {"learners": ["LDA", "PCA"], "budget": 120.0, "random_state": 0, "cv": 3}
ONE_LEARNER = FAST | {"learners": {"PCA": PCA(2, whiten=True)}}


@pytest.fixture(scope="module")
def frame():
    """The wine data with ids, a category, a missing value and class names."""
    table = pd.DataFrame(X[:, :4].copy(), columns=["alcohol", "acid", "ash", "alcalinity"])
    table.insert(0, "id", np.arange(1000, 1178))
    table["colour"] = np.where(y == 2, "red", "white")
    table.loc[7, "ash"] = np.nan
    return table.assign(kind=NAMES)


@pytest.fixture(scope="module")
def array_comparison():
    return dimetric.compare(X, y, **FAST | {"cv": 5})


@pytest.fixture(scope="module")
def frame_comparison(frame):
    with pytest.warns(UserWarning, match="Dropped 1 of 178 rows because of missing values"):
        return dimetric.compare(frame, target="kind", **FAST)


@pytest.mark.slow
def test_compare_arrays(array_comparison):
    assert isinstance(array_comparison, Comparison)
    assert array_comparison.best == "LDA"
    assert re.search("LDA is (probably )?better than Euclidean", array_comparison.verdict)
    assert next(iter(array_comparison.scores)) == "LDA"
    # A PCA that keeps all components is the Euclidean distance.
    assert set(array_comparison.scores) == {"LDA", "Euclidean"}
    assert "PCA" in array_comparison.choice.dropped
    # The tests allow two repeats of the five folds.
    assert {len(each) for each in array_comparison.scores.values()} <= {5, 10}
    assert array_comparison.posterior.right > 0.5
    assert array_comparison.notes == []
    model = array_comparison.learner
    assert np.mean(model.predict(X) == y) > 0.98
    assert model is array_comparison.learner  # the model is fitted once
    assert array_comparison.transform(X[:5]).shape == (5, 2)


def test_compare_data_frame(frame_comparison, frame):
    assert frame_comparison.samples.feature_names == [
        "alcohol", "acid", "ash", "alcalinity", "colour=white",
    ]  # fmt: skip
    assert frame_comparison.samples.classes == {"grignolino": 71, "barolo": 58, "barbera": 48}
    assert frame_comparison.notes == [
        "Dropped column 'id': it looks like a row identifier.",
        "Dropped 1 of 178 rows because of missing values.",
        "Column 'colour' is encoded as 1 for 'white' and 0 for 'red'.",
    ]
    complete = frame.drop(index=7)
    assert np.mean(frame_comparison.learner.predict(complete) == complete["kind"]) > 0.8
    shuffled = complete[["colour", "ash", "acid", "alcohol", "alcalinity"]]  # columns match by name
    np.testing.assert_array_equal(
        frame_comparison.learner.predict(shuffled), frame_comparison.learner.predict(complete)
    )


@pytest.mark.slow
def test_polars_pandas_and_separate_target_give_the_same_scores(frame):
    complete = frame.drop(index=7)
    columns = {name: complete[name].tolist() for name in complete}
    first, *others = [
        dimetric.compare(complete, target="kind", **ONE_LEARNER),
        dimetric.compare(pl.DataFrame(columns), target="kind", **ONE_LEARNER),
        dimetric.compare(complete.drop(columns="kind"), complete["kind"], **ONE_LEARNER),
        dimetric.compare(complete, target=-1, **ONE_LEARNER),
    ]
    for found in others:
        assert found.samples.target == "kind"
        np.testing.assert_array_equal(found.samples.X, first.samples.X)
        assert_same_scores(found, first)


def assert_same_scores(one, two):
    assert list(one.scores) == list(two.scores)
    for name, scores in one.scores.items():
        np.testing.assert_array_equal(scores, two.scores[name])


def test_compare_file(frame_comparison, frame, tmp_path):
    frame.to_csv(tmp_path / "wine.csv", index=False)
    with pytest.warns(UserWarning, match="Dropped 1 of 178 rows"):
        found = dimetric.compare(tmp_path / "wine.csv", target="kind", **FAST)
    np.testing.assert_array_equal(found.samples.X, frame_comparison.samples.X)
    assert found.samples.table.name == "wine"


def test_missing_values(frame):
    imputed = dimetric.compare(frame, target="kind", missing="impute", **FAST)
    assert len(imputed.samples.y) == 178
    with_missing_value = frame.drop(columns="kind").head(10)
    assert len(imputed.learner.predict(with_missing_value)) == 10
    with pytest.raises(ValueError, match="Missing values in 1 of 178 rows"):
        dimetric.compare(frame, target="kind", missing="raise", **FAST)
    A, b = X.copy(), NAMES.astype(object)
    A[3, 2], b[5] = np.nan, None
    with pytest.warns(UserWarning, match="Dropped 2 of 178 rows because of missing values"):
        found = dimetric.compare(A, b, **FAST)
    assert found.samples.table.rows.tolist() == np.delete(np.arange(178), [3, 5]).tolist()
    assert set(found.learner.predict(X[:20])) <= {"barolo", "grignolino", "barbera"}


def test_nullable_and_categorical_targets():
    codes = pd.Series(y, name="grape", dtype="Int64")
    codes[4] = pd.NA
    with pytest.warns(UserWarning, match="1 of 178 rows"):
        found = dimetric.compare(X, codes, **FAST)
    assert found.samples.target == "grape"
    assert found.samples.classes == {"1": 71, "0": 58, "2": 48}
    assert found.learner.predict(X[:2]).tolist() == [0, 0]
    categories = dimetric.compare(X, pd.Series(NAMES, dtype="category"), **FAST)
    assert categories.samples.classes == {"grignolino": 71, "barolo": 59, "barbera": 48}


def test_frame_and_dict_of_a_comparison(array_comparison):
    table = array_comparison.frame()
    assert list(table.columns) == ["score", "std", "gain", "seconds"]
    assert table.index[0] == "LDA"
    assert table.loc["Euclidean", "gain"] == 0
    assert table.loc["LDA", "score"] == pytest.approx(array_comparison.scores["LDA"].mean())
    found = array_comparison.to_dict()
    assert found["rows"] == 178
    assert found["target"] == "y"
    assert found["verdict"]["text"] == array_comparison.verdict
    assert [row["learner"] for row in found["table"]] == list(array_comparison.scores)
    assert "LDA" in found["model"]
    assert "178 rows" in found["model"]
    assert array_comparison.insight is array_comparison.insight
    assert next(iter(array_comparison.insight.importance)).startswith("x")
    assert 0 < array_comparison.seconds < 60


def test_repr(frame_comparison):
    lines = repr(frame_comparison).splitlines()
    assert lines[0] == "Comparison(177 samples, 5 features, 3 classes)"
    assert lines[1].strip() == frame_comparison.verdict
    assert "Euclidean 0." in lines[2]
    assert "Dropped 1 of 178 rows" in repr(frame_comparison)


@pytest.mark.slow
def test_summary_for_notebooks(frame_comparison, monkeypatch):
    html = frame_comparison._repr_html_().replace("\N{NO-BREAK SPACE}", " ")
    assert frame_comparison.choice.verdict in html
    assert "Baseline: always predicting the largest class is 40.1 % accurate." in html
    assert "177 rows, 5 features, 3 classes" in html
    n_rows = len(frame_comparison.scores) + len(frame_comparison.references)
    assert html.count("<tr") == 1 + n_rows
    monkeypatch.setitem(sys.modules, "jinja2", None)
    monkeypatch.setattr("dimetric.report._page.environment", uncached_environment())
    assert frame_comparison._repr_html_() is None
    with pytest.raises(ImportError, match=r"pip install 'dimetric\[cli\]'"):
        frame_comparison.report("nowhere.html")


def uncached_environment():
    from dimetric.report._page import environment

    return environment.__wrapped__


def test_names_of_a_summary_are_escaped(frame):
    evil = "<script>alert('x')</script>"
    table = frame.rename(columns={"colour": evil, "kind": f"{evil} & more"}).drop(index=7)
    found = dimetric.compare(table, target=-1, **FAST)
    html = found._repr_html_()
    assert "<script" not in html
    assert "&lt;script&gt;" in html
    assert "&amp; more" in html


def test_report_and_model_file(frame_comparison, frame, tmp_path):
    frame_comparison.save(tmp_path / "wine.dimetric")
    frame_comparison.report(tmp_path / "wine.html", model_file=tmp_path / "wine.dimetric")
    frame_comparison.report(tmp_path / "alone.html")
    rows = frame.drop(index=7)
    loaded = dimetric.load(tmp_path / "wine.dimetric")
    np.testing.assert_array_equal(loaded.predict(rows), frame_comparison.learner.predict(rows))
    about = dimetric.describe(tmp_path / "wine.dimetric")["about"]
    assert about == {"data": "a data frame", "target": "kind", "verdict": frame_comparison.verdict}
    page = (tmp_path / "wine.html").read_text(encoding="utf-8").replace("\N{NO-BREAK SPACE}", " ")
    assert frame_comparison.choice.verdict in page
    assert "Baseline: always predicting the largest class is 40.1 % accurate." in page
    assert "dimetric predict" in page
    page = (tmp_path / "alone.html").read_text(encoding="utf-8")
    assert "comparison.save(&#39;table.dimetric&#39;)" in page
    assert "dimetric predict" not in page


def test_report_neither_uses_nor_changes_matplotlib_settings(array_comparison, tmp_path):
    import matplotlib

    before = dict(matplotlib.rcParams)
    with matplotlib.rc_context({"axes.facecolor": "black"}):
        array_comparison.report(tmp_path / "dark.html")
        assert matplotlib.rcParams["axes.facecolor"] == "black"
    array_comparison.report(tmp_path / "light.html")
    assert dict(matplotlib.rcParams) == before
    dark, light = ((tmp_path / f"{name}.html").read_text() for name in ("dark", "light"))
    assert dark.partition("data:image")[2][:5000] == light.partition("data:image")[2][:5000]


@pytest.mark.slow
def test_the_same_seed_gives_the_same_results():
    one, two = (dimetric.compare(X, y, **ONE_LEARNER) for _ in range(2))
    assert_same_scores(one, two)
    np.testing.assert_array_equal(one.transform(X), two.transform(X))
    unseeded = dimetric.compare(X, y, **ONE_LEARNER | {"random_state": None})
    assert 0 <= unseeded.random_state < 2**31
    assert_same_scores(
        unseeded, dimetric.compare(X, y, **ONE_LEARNER | {"random_state": unseeded.random_state})
    )


def test_seeds():
    assert seed_from(7) == 7
    assert seed_from(np.random.RandomState(0)) == seed_from(np.random.RandomState(0))
    assert seed_from(None) != seed_from(None)
    with pytest.raises(ValueError, match="cannot be used to seed"):
        seed_from("seven")


def test_model_is_euclidean_if_that_is_better():
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, 200)
    radius = np.repeat([1, 2], 100) + 0.1 * rng.standard_normal(200)
    rings = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    found = dimetric.compare(rings, np.repeat(["in", "out"], 100), learners=[LDA()], budget=5,
                             random_state=0)  # fmt: skip
    assert found.verdict.startswith("LDA is worse than Euclidean")
    assert "No learner beat Euclidean, so the model uses the Euclidean distance." in found.verdict
    assert found.verdict.endswith("always predicting the largest class is 50.0 % accurate.")
    assert found.best == "LDA"
    assert found.chosen == found.to_dict()["verdict"]["chosen"] == "Euclidean"
    assert found.learner[-1].learner_ is None
    assert "under the Euclidean distance" in found.learner_description


def test_rare_classes_are_dropped_with_a_note():
    labels = NAMES.astype(object)
    labels[0], labels[1:4] = "alone", "three"
    found = dimetric.compare(X, labels, **FAST | {"cv": 5})
    assert len(found.samples.classes) == 4
    assert found.samples.n_folds == 3
    assert found.notes == [
        "Class 'alone' has fewer than 3 members: 1 row was dropped.",
        "Class 'three' has only 3 rows, so there are 3 folds instead of 5.",
    ]


def test_final_of_large_tables_uses_unseen_rows():
    rng = np.random.default_rng(0)
    classes = np.arange(1200) % 2
    A = rng.standard_normal((1200, 5))
    A[:, 0] += 3 * classes
    found = dimetric.compare(A, classes, learners={"first": PCA(1)}, budget=3, random_state=0)
    assert found.choice.judged_on_unseen_rows
    assert found.choice.n_race_rows + found.choice.n_final_rows <= 1200
    assert next(iter(found.scores)) in ("first", "Euclidean")


def test_callback_reports_both_stages():
    calls = []
    dimetric.compare(X, y, callback=lambda *each: calls.append(each), **FAST)
    assert [stage for stage, *_ in calls[:1]] == ["race"]
    assert calls[-1][0] == "final"
    assert all(0 <= done <= total for _, done, total in calls)


@pytest.mark.parametrize(
    ("change", "error", "sentence"),
    [
        ({"y": None}, ValueError, "Neither y nor target is given. Pass the classes or numbers as"),
        ({"target": "kind"}, ValueError, "y and target are both given"),
        ({"y": None, "target": "kind"}, ValueError, "to be a data frame or a path, but X is nda"),
        (
            {"y": X[:, 0], "target_kind": "classes"},
            ValueError,
            "'y' has 126 distinct numbers in 178 rows, so it does not",
        ),
        (
            {"y": np.arange(178) % 60, "target_kind": "classes"},
            ValueError,
            "'y' has 60 distinct numbers",
        ),
        ({"y": np.zeros(178)}, ValueError, "'y' has only one class, '0.0'"),
        ({"y": y[:9]}, ValueError, "inconsistent numbers of samples"),
        ({"y": np.c_[y, y]}, ValueError, "y should be a 1d array"),
        ({"X": X[:, 0]}, ValueError, "Expected 2D array"),
        ({"X": X.astype(complex)}, ValueError, "Complex data not supported"),
        ({"X": np.full(X.shape, "a")}, ValueError, "X contains strings. Pass a data frame"),
        ({"X": {"a": X[:, 0]}}, TypeError, "A table must be a file path or a pandas or polars"),
        ({"learners": [KNNClassifier()]}, TypeError, "no method transform, so it does not learn"),
        ({"learners": ["LDAA"]}, ValueError, "There is no learner 'LDAA'. Did you mean LDA"),
        ({"learners": []}, ValueError, "learners is empty. Give at least one learner"),
        ({"learners": ["Euclidean"]}, ValueError, "learners contains only Euclidean"),
        ({"budget": 0}, ValueError, "budget=0 must be a positive, finite number of seconds"),
        ({"budget": np.inf}, ValueError, "budget=inf must be"),
        ({"cv": 1}, ValueError, "cv=1 must be an integer >= 2"),
        ({"n_neighbors": 0}, ValueError, "n_neighbors=0 must be an integer >= 1"),
        ({"rope": -1}, ValueError, "rope=-1 must be"),
        ({"missing": "fill"}, ValueError, "missing='fill' must be"),
        ({"random_state": -1}, ValueError, "Seed must be between 0 and"),
    ],
)
def test_error_messages(change, error, sentence):
    with pytest.raises(error, match=sentence):
        dimetric.compare(**{"X": X, "y": y} | FAST | change)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({}, "Neither y nor target .* X are id, alcohol, acid, ash, alcalinity, colour, kind."),
        ({"target": "kin"}, "target: there is no column 'kin'. Did you mean kind"),
        (
            {"target": "alcohol", "target_kind": "classes"},
            "'alcohol' has 126 distinct numbers .* with target",
        ),
        ({"target": "kind", "drop": ["colr"]}, "drop: there is no column 'colr'. Did you mean col"),
        ({"y": y[:3]}, "inconsistent numbers of samples"),
    ],
)
def test_error_messages_for_data_frames(frame, options, sentence):
    with pytest.raises(ValueError, match=sentence):
        dimetric.compare(frame.drop(index=7), **options, **FAST)
