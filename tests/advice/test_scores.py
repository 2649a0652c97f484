"""Scores that fit the task: defaults, the guess, the sentences."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, TransformerMixin

import dimetric
from dimetric import KDA
from dimetric.advice import insight
from dimetric.advice._insight import _train_test_rows
from dimetric.advice._samples import labelled_samples
from dimetric.advice._split_rows import split_rows
from dimetric.advice._table import samples_from
from dimetric.report import Task

RNG = np.random.default_rng(0)


class First(TransformerMixin, BaseEstimator):
    """Keep the first feature. It has no parameters to tune, which saves time."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X[:, :1]

    def __sklearn_is_fitted__(self):
        return True


def table_of(counts, shift=1.5, n_features=3):
    """Return a frame with classes of the given sizes, shifted against each other."""
    y = np.repeat(list(counts), list(counts.values()))
    X = RNG.standard_normal((len(y), n_features))
    X[:, 0] += shift * np.unique(y, return_inverse=True)[1]
    return pd.DataFrame(X).add_prefix("x").assign(kind=y)


def samples_of(frame, **options):
    table = samples_from(frame, None, "kind", drop=(), missing="drop")
    return labelled_samples(table, cv=5, missing="drop", **options)


@pytest.mark.parametrize(
    ("n_largest", "score"), [(79, "accuracy"), (80, "accuracy"), (81, "balanced_accuracy")]
)
def test_the_default_is_the_balanced_accuracy_if_one_class_dominates(n_largest, score):
    samples = samples_of(table_of({"no": n_largest, "yes": 100 - n_largest}))
    assert samples.task == Task("classes", score)
    if score == "accuracy":
        assert samples.reading == ""
    else:
        assert samples.reading == (
            "The largest class has 81 of 100 rows (more than 80 %), so the score is the balanced "
            "accuracy, the mean of the recalls of the classes. To change this, set score to "
            "'accuracy' or 'f1_macro'."
        )


@pytest.mark.parametrize("score", ["accuracy", "balanced_accuracy", "f1_macro"])
def test_a_given_score_is_used(score):
    samples = samples_of(table_of({"no": 90, "yes": 10}), score=score)
    assert samples.task.score == score
    assert samples.reading == ""


def test_numbers_that_are_classes_get_both_sentences():
    frame = table_of({0: 90, 1: 10})
    assert "is read as classes (2 distinct values)" in samples_of(frame).reading
    assert "so the score is the balanced accuracy" in samples_of(frame).reading


@pytest.mark.parametrize("score", ["balanced_accuracy", "f1_macro"])
def test_scores_of_numbers_are_refused_for_classes_and_back(score):
    frame = table_of({"no": 90, "yes": 10})
    with pytest.raises(ValueError, match="must be 'accuracy', 'balanced_accuracy' or 'f1_macro'"):
        samples_of(frame, score="mae")
    with pytest.raises(ValueError, match=f"must be 'r2' or 'mae', not '{score}'"):
        samples_of(frame.assign(kind=RNG.random(100)), score=score)


@pytest.fixture(scope="module")
def comparison():
    frame = table_of({"no": 110, "yes": 22}, shift=3.0)
    options = {"learners": {"First": First()}, "budget": 60, "random_state": 0, "cv": 3}
    return dimetric.compare(frame, target="kind", **options)


def test_a_comparison_reports_its_score(comparison):
    assert comparison.to_dict()["score"] == "balanced_accuracy"
    assert "Cross-validated balanced accuracy:" in repr(comparison)
    assert "Cross-validated balanced accuracy of" in comparison._repr_html_()
    assert comparison.choice.better_than_guess > 0.95  # the guess scores 1/2


def test_a_comparison_has_the_confusion_of_its_final(comparison):
    confusion = comparison.choice.confusion
    assert confusion.classes == ("no", "yes")
    assert confusion.before.sum() == confusion.after.sum() == 132
    recalls = [each.after for each in confusion.recalls]
    first = comparison.choice.final_scores["First"][:3]  # of the first repeat
    assert np.mean(recalls) == pytest.approx(first.mean(), abs=0.02)  # folds differ in size
    record = comparison.to_dict()
    assert record["confusion"]["recall"][1]["rows"] == 22
    setting = comparison.n_neighbors, comparison.choice.scale
    assert (record["n_neighbors"], record["scale"]) == setting


def test_all_classes_reach_race_final_insight_and_model():
    """A class of 0.6 % of the rows keeps 20 rows, where a random sample would have 3."""
    rng = np.random.default_rng(0)
    y = np.repeat(["common", "rare"], [7952, 48])
    X = rng.standard_normal((8000, 2)) + 3 * (y == "rare")[:, None]
    race, final = split_rows(X, y, 500, 5, 0)
    assert [np.sum(y[rows] == "rare") for rows in (race, final)] == [20, 20]
    assert not set(race) & set(final)
    train, test = _train_test_rows(y, 0)
    assert np.sum(y[train] == "rare") + np.sum(y[test] == "rare") == 20
    assert np.sum(y[test] == "rare") == 8
    many = np.arange(8000) % 400  # 20 rows each
    race, final = split_rows(X, many, 500, 5, 0)
    assert set(np.bincount(many[race])) == {5}  # as many as folds: 20 of each would be all rows


def test_importance_is_the_drop_of_the_score():
    """A feature that finds a small class is important for the balanced accuracy."""
    frame = table_of({"no": 90, "yes": 10}, shift=6.0)
    X, y = frame[["x0", "x1", "x2"]].to_numpy(), frame["kind"].to_numpy()
    drops = {
        score: insight(KDA(), X, y, ["x0", "x1", "x2"], random_state=0, score=score).importance
        for score in ("accuracy", "balanced_accuracy", "f1_macro")
    }
    assert all(next(iter(each)) == "x0" for each in drops.values())
    assert drops["accuracy"]["x0"] > 0
    assert drops["balanced_accuracy"]["x0"] > 2 * drops["accuracy"]["x0"]
    assert drops["f1_macro"]["x0"] > 2 * drops["accuracy"]["x0"]


@pytest.mark.parametrize(
    ("counts", "note"),
    [
        (
            {"a": 40, "b": 40, "c": 3},
            "Class 'c' has only 3 rows, so there are 3 folds instead of 5.",
        ),
        (
            {"a": 600, "b": 420, "c": 8},
            "Class 'c' has fewer than 10 rows, so it is used to choose the best learner, but not "
            "to test it.",
        ),
        ({"a": 1100, "b": 8}, ""),  # race and final use the same rows
        ({"a": 600, "b": 420, "c": 10}, ""),
        ({"a": 40, "b": 40, "c": 8}, ""),
    ],
)
def test_notes_on_classes_that_are_too_small(counts, note):
    frame = table_of(counts)
    samples = samples_of(frame)
    assert samples.notes == [note] * bool(note)
    X, y = samples.coded.codes, samples.y
    race, final = split_rows(X, y, 500, samples.n_folds, 0)
    assert set(y[race]) == set(counts)
    is_tested = "not to test" not in note
    assert ("c" in y[final]) == (is_tested and "c" in counts)
    assert np.array_equal(race, final) == (
        len(y) < 1000 or (min(counts.values()) == 8 and is_tested)
    )
