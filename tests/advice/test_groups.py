"""dimetric.compare: groups, equal rows, and encoders that see only the training rows of a fold."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.preprocessing import FunctionTransformer

import dimetric
from dimetric import LDA
from dimetric.advice import _choose, _insight
from dimetric.advice._insight import _train_test_rows
from dimetric.advice._samples import labelled_samples
from dimetric.advice._split_rows import split_rows
from dimetric.advice._table import samples_from
from dimetric.selection import _splits

# Enough time for all folds on a busy machine, so that results do not depend on the time.
# The identity as a learner has no parameters to tune.
FAST = {"learners": {"identity": FunctionTransformer()},
        "budget": 120.0, "random_state": 0, "cv": 3}  # fmt: skip


def prepared(X, y=None, *, target=None, missing="drop", drop=(), groups=None):
    """Return the samples that a comparison uses."""
    table = samples_from(X, y, target, drop=drop, missing=missing, groups=groups)
    return labelled_samples(table, cv=3, missing=missing)


@pytest.fixture
def patients():
    """Eight rows of each of 15 patients. Rows of one patient are alike, and classes are random."""
    rng = np.random.default_rng(0)
    patient, ill = np.repeat(np.arange(15), 8), rng.permutation(np.arange(15) % 2 == 0)
    X = rng.standard_normal((15, 3))[patient] + 0.01 * rng.standard_normal((120, 3))
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame["patient"] = [f"p{i}" for i in patient]
    frame["ill"] = np.where(ill, "yes", "no")[patient]
    return frame.sample(frac=1, random_state=0, ignore_index=True)


@pytest.fixture
def made_folds(monkeypatch):
    """Record the groups and the rows of all folds that are made."""
    made, original = [], _splits._repeated_folds

    def repeated_folds(groups, *args):
        folds = original(groups, *args)
        made.append((groups, folds))
        return folds

    monkeypatch.setattr(_splits, "_repeated_folds", repeated_folds)
    return made


@pytest.mark.slow
def test_groups_are_not_split(patients, made_folds, monkeypatch):
    parts = []
    original = _insight._train_test_rows
    monkeypatch.setattr(
        _insight, "_train_test_rows", lambda *args: parts.append(original(*args)) or parts[-1]
    )
    options = FAST | {"learners": {"LDA": LDA()}}  # has parameters to tune
    found = dimetric.compare(patients, target="ill", groups="patient", **options)
    assert found.samples.feature_names == ["a", "b", "c"]
    assert found.choice.params
    assert found.insight.n_test > 0
    assert len(made_folds) > 5  # race, final, tuning within each fold, last tuning, insight
    for groups, folds in made_folds:
        assert len(np.unique(groups)) <= 15
        assert not any(set(groups[train]) & set(groups[test]) for train, test in folds)
    (train, test), names = parts[0], patients["patient"].to_numpy()
    assert not set(names[train]) & set(names[test])
    assert "The 15 groups in column 'patient' are not split" in " ".join(found.notes)
    assert found.to_dict()["groups"] == 15
    assert found.scores["Euclidean"].mean() < 0.8
    leaking = dimetric.compare(patients.drop(columns="patient"), target="ill", **FAST)
    assert leaking.scores["Euclidean"].mean() > 0.95


def test_groups_may_be_an_array_or_a_column(patients):
    X, y = patients.drop(columns="ill"), patients["ill"]
    numbers = X.drop(columns="patient")
    first, *others = [
        prepared(patients, target="ill", groups="patient"),
        prepared(patients, target="ill", groups="patient", drop=["patient"]),
        prepared(X, y, groups="patient"),
        prepared(numbers, y, groups=patients["patient"]),
        prepared(numbers.to_numpy(), y, groups=patients["patient"].tolist()),
    ]
    for found in others:
        assert_array_equal(found.X, first.X)
        assert_array_equal(found.groups, first.groups)


def test_rows_without_a_group_are_dropped(patients):
    patients.loc[[3, 5], "patient"] = None
    with pytest.warns(UserWarning, match="Dropped 2 of 120 rows because their group is missing"):
        found = prepared(patients, target="ill", groups="patient")
    assert len(found.y) == len(found.groups) == 118
    with pytest.raises(ValueError, match="groups has missing values in 2 of 120 rows"):
        prepared(patients, target="ill", groups="patient", missing="raise")


@pytest.mark.parametrize(("options", "message"), [
    ({"groups": "nobody"}, "groups: there is no column 'nobody'"),
    ({"groups": "ill"}, "groups: column 'ill' is also the target"),
    ({"groups": [1, 2]}, r"groups has shape \(2,\), but must have shape \(120,\)"),
    ({"groups": "patient", "cv": 20}, "groups has 15 distinct values, fewer than the number of"),
    ({"groups": "sex", "cv": 2}, "groups: each class is in one group only"),
    ({"groups": "ward", "cv": 2}, "groups: the rows outside one of the groups are all of the same"),
])  # fmt: skip
def test_wrong_groups(patients, options, message):
    patients["sex"] = np.where(patients["ill"] == "yes", "f", "m")
    patients["ward"] = np.where(patients["ill"] == "yes", "a", patients["patient"])
    with pytest.raises(ValueError, match=message):
        dimetric.compare(patients, target="ill", **FAST | options)


def test_groups_of_arrays_and_files(patients, tmp_path):
    with pytest.raises(ValueError, match="groups='patient' requires X to be a data frame"):
        dimetric.compare(np.eye(6), np.arange(6) % 2, groups="patient", **FAST)
    patients.to_csv(tmp_path / "patients.csv", index=False)
    with pytest.raises(ValueError, match="groups must be the name of a column, because X is a"):
        dimetric.compare(tmp_path / "patients.csv", target="ill", groups=range(120), **FAST)


def test_a_class_in_a_single_group_is_noted(patients):
    patients["ill"] = np.where(patients["patient"] == "p3", "maybe", patients["ill"])
    found = prepared(patients, target="ill", groups="patient")
    assert "Class 'maybe' is in one group only" in found.notes[-1]


def test_race_and_final_have_no_group_in_common():
    rng = np.random.default_rng(0)
    groups, y = rng.integers(300, size=3000), rng.integers(3, size=3000)
    race, final = split_rows(np.zeros((3000, 5)), y, 500, 5, 0, groups)
    assert not set(groups[race]) & set(groups[final])
    for rows in (race, final):
        assert len(rows) == pytest.approx(500, abs=30)
        assert_allclose(np.bincount(y[rows]) / len(rows), np.bincount(y) / 3000, atol=0.02)
    few = np.arange(3000) % 6  # too few to give five groups to both
    race, final = split_rows(np.zeros((3000, 5)), y, 500, 5, 0, few)
    assert_array_equal(race, final)
    unequal = np.minimum(np.arange(3000), 4)  # the sample must not leave out the small groups
    race, final = split_rows(np.zeros((3000, 5)), y, 500, 5, 0, unequal)
    assert set(unequal[race]) == {0, 1, 2, 3, 4}


@pytest.mark.parametrize("n_groups", [2, 3, 40])
def test_insight_tests_other_groups(n_groups):
    groups, y = np.arange(400) % n_groups, np.arange(400) % 3
    train, test = _train_test_rows(y, 0, groups)
    assert not set(groups[train]) & set(groups[test])
    assert_array_equal(np.sort(np.concatenate([train, test])), np.arange(400))
    assert 0.3 <= len(test) / 400 <= 0.5


def test_insight_trains_on_two_classes():
    groups, y = np.repeat(np.arange(6), 10), np.repeat([0, 0, 0, 0, 1, 1], 10)
    for seed in range(20):
        train, test = _train_test_rows(y, seed, groups)
        assert len(np.unique(y[train])) == 2
        assert not set(groups[train]) & set(groups[test])
        assert len(test)


# Equal rows


def doubled_noise(seed, n=60):
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((n, 3)), rng.integers(2, size=n)
    return np.tile(X, (2, 1)), np.tile(y, 2)


def test_copies_are_reported_and_kept_in_one_fold(made_folds):
    X, y = doubled_noise(0)
    found = dimetric.compare(X, y, **FAST)
    assert found.equal_rows == {"repeated": 120, "copies": 120, "conflicting": 0}
    assert found.to_dict()["equal_rows"] == found.equal_rows
    note = (
        "120 of 120 rows equal another row. These are probably copies, so copies of a row stay in "
        "one fold."
    )
    assert found.notes == [note]
    assert note in repr(found)
    assert found.to_dict()["groups"] is None
    original, n_whole = np.arange(120) % 60, 0
    for groups, folds in made_folds:
        assert len(np.unique(groups)) == len(groups) / 2
        assert not any(set(groups[train]) & set(groups[test]) for train, test in folds)
        if len(groups) == 120:  # race, final and insight
            n_whole += 1
            assert_array_equal(groups[:, None] == groups, original[:, None] == original)
    assert n_whole > 1


def test_copies_may_be_split_on_request():
    X, y = doubled_noise(0)
    found = prepared(X, y, groups=np.arange(120))
    assert_array_equal(found.groups, np.arange(120))
    assert found.equal_rows.n_copies == 120
    assert found.notes[0] == "120 of 120 rows equal another row."


def test_tables_of_few_distinct_rows_are_split_as_usual():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({
        "class": rng.choice(["1st", "2nd", "3rd", "crew"], 900),
        "sex": rng.choice(["male", "female"], 900),
    })  # fmt: skip
    found = prepared(frame, (rng.random(900) < 0.4).astype(int))
    assert found.equal_rows[:2] == (900, 0)
    assert found.groups is None
    assert "equal rows may be in different folds" in found.notes[-1]


# Encoder and imputation


class MedianLearner(TransformerMixin, BaseEstimator):
    """Fail unless the imputed values of the first feature are the median of the others.

    The second feature marks the rows with imputed values. Scaling does not change what is tested.
    """

    def fit(self, X, y=None):
        imputed = X[:, 1] == 1
        assert_allclose(X[imputed, 0], np.median(X[~imputed, 0]), atol=1e-12)
        return self

    def transform(self, X):
        return X


def test_values_are_imputed_from_training_rows_only():
    rng = np.random.default_rng(0)
    value, lacks_value = rng.lognormal(size=121), np.arange(121) % 3 == 0
    X = np.column_stack([np.where(lacks_value, np.nan, value), lacks_value])
    y, options = np.arange(121) % 2, FAST | {"learners": {"median": MedianLearner()}}
    found = dimetric.compare(X, y, missing="impute", **options)
    assert found.choice.dropped == {}
    assert found.insight.n_test > 0


class CategoryLearner(TransformerMixin, BaseEstimator):
    """Fail if test rows have a feature that is constant in the training rows."""

    def fit(self, X, y=None):
        self.constant_ = X.min(axis=0) == X.max(axis=0)
        self.value_ = X[0]
        return self

    def transform(self, X):
        assert_array_equal(X[:, self.constant_], np.tile(self.value_[self.constant_], (len(X), 1)))
        return X


def test_categories_are_learned_from_training_rows_only():
    rng = np.random.default_rng(0)
    town = rng.choice([f"town {i}" for i in range(30)], 90)  # some are in a single fold
    frame = pd.DataFrame({"town": town, "size": rng.random(90)})
    options = FAST | {"learners": {"category": CategoryLearner()}}
    found = dimetric.compare(frame, np.arange(90) % 2, **options)
    assert found.choice.dropped == {}
    assert found.samples.X.shape == (90, 1 + len(np.unique(town)))


def test_a_column_of_many_categories_is_encoded_in_each_fold():
    rng = np.random.default_rng(0)
    names = np.repeat([f"name {i}" for i in range(75)], 2)  # too many for the rows of a fold alone
    frame = pd.DataFrame({"name": names, "size": rng.random(150)})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = dimetric.compare(frame, rng.integers(2, size=150), **FAST)
    assert found.choice.dropped == {}


@pytest.mark.slow
def test_doubled_noise_gains_nothing(monkeypatch):
    # More repeats with the same rows would say little more.
    settings = replace(_choose.SETTINGS, max_final_repeats=1)
    monkeypatch.setattr(_choose, "SETTINGS", settings)
    gains = []
    for seed in range(20):
        X, y = doubled_noise(seed, n=100)
        options = FAST | {"learners": ["LDA"], "random_state": seed}
        found = dimetric.compare(X, y, **options).choice
        gains.append(found.final_scores[found.best].mean() - found.final_scores["Euclidean"].mean())
    assert abs(np.mean(gains)) < 3 * np.std(gains) / 20**0.5
