"""The choice of scaling and number of neighbours from the training rows of a fold."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler

import dimetric
from dimetric import LDA, benchmark, export
from dimetric.advice._model import table_pipeline
from dimetric.advice._race_options import RaceOptions
from dimetric.advice._scaled_neighbors import ScaledNeighbors, Setting, best_setting
from dimetric.export._index import map_samples
from dimetric.selection import tune

SCALERS = {"minmax": MinMaxScaler, "standard": StandardScaler, "robust": RobustScaler}
KS = [1, 3, 5, 7]
X, y = make_classification(
    60, 5, n_informative=3, n_redundant=0, n_classes=3, class_sep=0.8, random_state=0
)
X *= [1, 5, 1, 0.2, 1]


def predicted_without_itself(Z, y, k, score):
    """Predict each row by its k nearest other rows."""
    near = NearestNeighbors(n_neighbors=k + 1).fit(Z).kneighbors(return_distance=False)[:, :k]
    if score in ("r2", "mae"):
        return y[near].mean(axis=1)
    return np.array([np.argmax(np.bincount(y[each])) for each in near])


def naive_losses(score, X, y):
    """Leave each row out, with scikit-learn. Scalers see all rows: they do not use the target."""
    losses = {}
    for scale, scaler in SCALERS.items():
        Z = scaler().fit_transform(X)
        for k in KS:
            guess = predicted_without_itself(Z, y, k, score)
            if score == "accuracy":
                loss = (guess != y) * 1.0
            elif score == "r2":
                loss = (guess - y) ** 2
            elif score == "mae":
                loss = np.abs(guess - y)
            else:
                sizes = np.array([np.sum(y == each) for each in y])
                loss = (guess != y) / sizes * len(y) / len(set(y))
            losses[scale, k] = loss
    return losses


@pytest.mark.parametrize("score", ["accuracy", "balanced_accuracy", "f1_macro", "r2", "mae"])
def test_the_setting_has_the_smallest_leave_one_out_loss(score):
    target = y if score not in ("r2", "mae") else X[:, 0] + 0.3 * X[:, 1] ** 2
    losses = naive_losses(score, X, target)
    means = {key: each.mean() for key, each in losses.items()}
    scale = min(SCALERS, key=lambda each: np.mean([means[each, k] for k in KS]))
    best = min(KS, key=lambda k: means[scale, k])
    slack = losses[scale, best].std() / np.sqrt(len(y)) if score == "accuracy" else 0
    k = max(k for k in KS if means[scale, k] <= means[scale, best] + slack)
    assert best_setting(X, target, score=score) == Setting(scale, k)


def test_given_values_are_kept():
    assert best_setting(X, y, n_neighbors=4, scale="robust") == Setting("robust", 4)
    assert best_setting(X, y, n_neighbors=4).n_neighbors == 4
    assert best_setting(X, y, scale="robust").scale == "robust"
    assert best_setting(X[:4], y[:4], n_neighbors=9) == Setting("minmax", 9)  # fit refuses it


@pytest.mark.parametrize("n", [2, 3, 4, 8])
def test_tiny_tables(n):
    found = best_setting(X[:n], np.arange(n) % 2)
    assert found.n_neighbors <= n - 1
    groups = np.arange(n) // 2
    assert best_setting(X[:n], np.arange(n) % 2, groups).n_neighbors <= max(1, n - 2)


def test_copies_do_not_make_one_neighbour_the_best():
    """Of noise, a row's copy knows the class. Groups keep the copies from being neighbours."""
    rng = np.random.default_rng(0)
    Z, labels = np.repeat(rng.random((60, 3)), 2, axis=0), np.repeat(rng.permutation(60) < 20, 2)
    assert best_setting(Z, labels).n_neighbors == 1
    assert best_setting(Z, labels, np.arange(120) // 2).n_neighbors > 1


def test_scaling_follows_outliers():
    """Two values far away squeeze the others in [0, 1], but not between the quartiles."""
    rng = np.random.default_rng(1)
    labels = np.arange(150) % 2
    Z = np.column_stack([labels + 0.3 * rng.standard_normal(150), 3 * rng.standard_normal(150)])
    Z[:2, 0] = 1e4, -1e4
    assert best_setting(Z, labels).scale == "robust"
    model = ScaledNeighbors().fit(Z, labels)
    assert isinstance(model.model_[0], RobustScaler)
    assert model.score(Z, labels) > 0.9


def test_the_choice_does_not_depend_on_test_rows():
    """Change the test rows of a fold: the setting stays, and so do predictions of others."""
    options = RaceOptions("auto", 3, None, 0, scale="auto")
    train, test = np.arange(40), np.arange(40, 60)
    seen = []
    for change in (1.0, 100.0):
        Z = X.copy()
        Z[test] *= change
        folds = [(train, test)]
        found = benchmark.run(
            {"LDA": options.pipeline(LDA())}, {"data": (Z, y)}, cv=folds, scale=None
        )
        assert found.cells[0].status == "ok"
        seen.append(options.pipeline(LDA()).fit(Z[train], y[train])[-1].setting_)
    assert seen[0] == seen[1] == best_setting(X[train], y[train])


def test_a_pipeline_equals_its_parts():
    model = RaceOptions("auto", 3, None, 0, scale="auto").pipeline(LDA()).fit(X, y)
    scale, k = model[-1].setting_
    expected = make_pipeline(SCALERS[scale](), dimetric.KNNClassifier(k, learner=LDA())).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), expected.predict(X))
    assert clone(model).get_params()["model__learner__reg"] == LDA().reg


def test_groups_reach_the_choice_in_runs_and_searches():
    seen = []

    class Recorder(ScaledNeighbors):
        def fit(self, X, y, groups=None):
            seen.append(None if groups is None else len(np.unique(groups)) / len(groups))
            return super().fit(X, y, groups)

    model = Pipeline([("model", Recorder(LDA()))])
    groups = np.arange(60) // 2
    benchmark.run({"model": model}, {"data": (X, y)}, cv=3, scale=None, groups={"data": groups})
    assert seen == [0.5] * 3
    seen.clear()
    tune(model, X, y, {"model__learner__reg": [0.1, 1.0]}, groups=groups, cv=3, random_state=0)
    assert seen == [0.5] * 7


@pytest.mark.parametrize(
    ("options", "auto"),
    [
        ({}, ("n_neighbors", "scale")),
        ({"n_neighbors": 5}, ("scale",)),
        ({"n_neighbors": 5, "scale": "robust"}, ()),
    ],
)
def test_options_know_what_is_chosen(options, auto):
    given = {"n_neighbors": "auto", "scale": "auto"} | options
    found = RaceOptions(**given, cv=3, n_jobs=None, random_state=0)
    assert found.chosen_in_folds == auto
    assert found.setting(X, y) == best_setting(X, y, **options)


@pytest.mark.parametrize("is_regression", [False, True])
def test_the_model_and_the_insight_use_the_setting(is_regression):
    target = X[:, 0] + X[:, 1] ** 2 if is_regression else y
    options = {"budget": 60, "random_state": 0, "cv": 3, "n_neighbors": np.int64(4)}
    learner = make_pipeline(StandardScaler())  # it has no parameters to tune
    found = dimetric.compare(X, target, learners={"scaled": learner}, **options)
    assert found.choice.chosen_in_folds == ("scale",)
    score = "r2" if is_regression else "accuracy"
    setting = best_setting(X, target, n_neighbors=4, score=score)
    assert (found.choice.scale, found.n_neighbors) == setting
    assert isinstance(found.learner["scale"], SCALERS[setting.scale])
    assert found.learner[-1].n_neighbors == 4
    changed = [*found.insight.corrected_errors, *found.insight.new_errors]
    assert all(each.before.shape == (4,) for each in changed)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"scale": "log"}, "scale must be 'minmax', 'standard', 'robust' or 'auto', not 'log'"),
        ({"n_neighbors": "all"}, "n_neighbors='all' must be an integer >= 1 or 'auto'"),
        ({"n_neighbors": 0}, "n_neighbors=0 must be an integer >= 1 or 'auto'"),
    ],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=message):
        dimetric.compare(X, y, **options)


@pytest.mark.parametrize("scale", SCALERS)
def test_models_of_every_scaling_are_exported(scale, tmp_path):
    """The file, NumPy, ONNX and SQL give the results of the model."""
    duckdb, onnxruntime = pytest.importorskip("duckdb"), pytest.importorskip("onnxruntime")
    names = [f"x{i}" for i in range(X.shape[1])]
    frame = pd.DataFrame(X, columns=names)
    model = table_pipeline(LDA(), n_neighbors=5, scale=scale).fit(frame, y)
    expected, Z = model.predict(frame), map_samples(model, frame)
    dimetric.save(model, tmp_path / "model.dimetric")
    loaded = dimetric.load(tmp_path / "model.dimetric")
    np.testing.assert_array_equal(loaded.predict(frame), expected)
    assert type(loaded["scale"]) is SCALERS[scale]
    features = model[:1].transform(frame)
    module: dict = {}
    exec(compile(export.to_numpy(model[1:]), "model.py", "exec"), module)
    np.testing.assert_array_equal(module["predict"](features), expected)
    graph = export.to_onnx(model[1:], dtype="float64").SerializeToString()
    session = onnxruntime.InferenceSession(graph)
    (given,) = session.get_inputs()
    labels = session.run(None, {given.name: features})[0]
    np.testing.assert_array_equal(labels, expected)
    with duckdb.connect() as base:
        base.register("frame", frame.assign(id=range(len(frame))))
        base.sql("CREATE TABLE samples AS SELECT * FROM frame")
        base.execute(export.to_sql(model))
        z = np.array(base.sql("SELECT z FROM samples_mapped ORDER BY id").fetchall())[:, 0]
    np.testing.assert_allclose(z, Z, rtol=1e-9, atol=1e-9)
