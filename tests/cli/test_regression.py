"""The command with a target of numbers."""

import json
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestRegressor

import dimetric

# Enough time for all folds on a busy machine, so that results do not depend on the time.
FAST = ("--learners", "PCA", "--budget", "120", "--folds", "3", "--jobs", "1")


@pytest.fixture(autouse=True)
def small_forest(monkeypatch):
    """Let the random forest have few trees, to save time."""
    forest = partial(RandomForestRegressor, n_estimators=3)
    monkeypatch.setattr("dimetric.advice._references.RandomForestRegressor", forest)


@pytest.fixture
def houses(tmp_path):
    """Write a table of prices with thousands separators, levels and a category."""
    rng = np.random.default_rng(0)
    size, age = rng.uniform(40, 200, 60), rng.uniform(0, 80, 60)
    price = np.round(2500 * size - 500 * age)
    frame = pd.DataFrame({"size": size, "age": age, "town": np.where(age > 40, "old", "new")})
    frame["level"] = np.clip(np.round(price / 1e5), 1, 4).astype(int)
    frame["price"] = [f"{each:,.0f}" for each in price]
    path = tmp_path / "houses.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.mark.slow
def test_compare_prices(run, houses, tmp_path):
    out = tmp_path / "out"
    done = run("compare", houses, "--target", "price", "--out", out, *FAST)
    assert done.exit_code == 0, done.output
    for words in (
        "houses: 60 rows, 4 features, continuous numbers in column price",
        "To change this, set --target-kind to 'classes' or 'ordinal'.",
        "Mean prediction (reference)", "Random forest (reference)",
        "k-NN under PCA explains 0.",
        "Values of R2 that differ by at most 0.01 count as equivalent",
    ):  # fmt: skip
        assert words in done.stdout
    model = out / "houses.dimetric"
    frame = pd.read_csv(houses, thousands=",")
    predicted = dimetric.load(model).predict(frame)
    assert np.corrcoef(predicted, frame["price"])[0, 1] > 0.9
    done = run("predict", model, houses, "--out", tmp_path / "p.csv", "--json")
    assert json.loads(done.stdout)["classes"] == {}
    assert np.array_equal(pd.read_csv(tmp_path / "p.csv")["prediction"], predicted)
    assert "KNNRegressor" in run("info", model).stdout
    done = run("neighbors", model, houses, "--row", 5)
    assert f"Row 5: price {pd.read_csv(houses)['price'][5]}" in done.stdout
    done = run("predict", model, houses, "--probabilities")
    assert "predicts numbers, which have no probabilities. Omit" in str(done.exception)


@pytest.mark.slow
def test_ordinal_levels_as_json(run, houses, tmp_path):
    options = ("--target-kind", "ordinal", "--score", "mae", "--drop", "price", "--json")
    done = run("compare", houses, "--target", "level", "--out", tmp_path / "out", *options, *FAST)
    found = json.loads(done.stdout)["results"][0]
    assert (found["target_kind"], found["score"]) == ("ordinal", "mae")
    assert [row["learner"] for row in found["references"]][-1] == "Mean prediction"
    errors = [row["score"] for row in found["table"]]
    assert errors == sorted(errors)
    assert found["verdict"]["rope"] == pytest.approx(
        found["references"][-1]["score"] / 100, rel=0.1
    )


def test_fit_prices(run, houses, tmp_path):
    model = tmp_path / "m.dimetric"
    done = run("fit", houses, "--target", "price", "--learner", "PCA", "--out", model)
    assert done.exit_code == 0, done.output
    assert "Training R2 (3-NN, leave-one-out): 0.9" in done.stdout
    assert "Column 'price' is read as continuous numbers" in done.stderr
    assert dimetric.describe(model)["about"]["target_kind"] == "continuous"
    holes = pd.read_csv(houses).assign(age=lambda each: each["age"].where(each.index != 1))
    holes.to_csv(tmp_path / "holes.csv", index=False)
    for name in ("p.csv", "p.parquet"):
        assert (
            run("predict", model, tmp_path / "holes.csv", "--out", tmp_path / name).exit_code == 0
        )
    for each in (pd.read_csv(tmp_path / "p.csv"), pd.read_parquet(tmp_path / "p.parquet")):
        assert each["prediction"].dtype == float
        assert list(np.flatnonzero(each["prediction"].isna())) == [1]
    done = run("fit", houses, "--target", "level", "--learner", "PCA", "--json", "--out", model)
    assert json.loads(done.stdout)["target_kind"] == "classes"


def test_numbers_are_fitted_with_mlkr(run, houses, tmp_path):
    model = tmp_path / "m.dimetric"
    options = ("--target", "price", "--option", "max_iter=2", "--json", "--out", model)
    done = run("fit", houses, *options)
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["leave_one_out_accuracy"] is None
    assert found["leave_one_out_r2"] > 0.5
    learner = dimetric.load(model)[-1].learner_
    assert type(learner).__name__ == "MLKR"
    assert learner.reg == 0.3


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--target-kind", "number"), "--target-kind must be 'classes', 'ordinal' or 'continuous'"),
        (("--score", "accuracy"), "--score must be 'r2' or 'mae', not 'accuracy'"),
        (("--target", "town", "--score", "r2"), "To change this, set --target-kind to 'ordinal'"),
    ],
)
def test_error_messages(run, houses, tmp_path, words, sentence):
    done = run("compare", houses, "--target", "price", "--out", tmp_path / "out", *words)
    assert sentence in str(done.exception)


def test_options_of_targets_require_a_target(run, houses, tmp_path):
    done = run("compare", "--score", "r2")
    assert done.exit_code == 2
    assert "--score requires DATA" in done.stderr
    options = ("--learner", "PCA", "--target-kind", "ordinal", "--out", tmp_path / "m.dimetric")
    assert "--target-kind requires --target" in run("fit", houses, *options).stderr
