"""The options --score, --k and --scale of compare."""

import json

import numpy as np
import pandas as pd
import pytest

FAST = ("--learners", "LDA", "--budget", "60", "--folds", "3", "--jobs", "1")


@pytest.fixture
def churn(tmp_path):
    """Write a table of customers, few of whom leave."""
    rng = np.random.default_rng(0)
    leaves = np.arange(140) < 14
    frame = pd.DataFrame(rng.standard_normal((140, 20))).add_prefix("x")
    frame["x0"] += 3.5 * leaves  # Euclidean neighbours also see the 19 other columns
    frame["leaves"] = np.where(leaves, "yes", "no")
    path = tmp_path / "churn.csv"
    frame.sample(frac=1, random_state=0).to_csv(path, index=False)
    return path


def test_a_rare_class_is_scored_and_shown(run, churn):
    out = churn.parent / "out"
    done = run("compare", churn, "--target", "leaves", "--out", out, *FAST)
    assert done.exit_code == 0, done.output
    assert (
        "The largest class has 126 of 140 rows (more than 80 %), so the score is the balanced "
        "accuracy, the mean of the recalls of the classes. To change this, set --score to "
        "'accuracy' or 'f1_macro'."
    ) in done.stdout
    assert "Mean balanced accuracy over" in done.stdout
    assert "LDA finds more of the rare class yes: " in done.stdout
    assert "of its 14 test rows, against" in done.stdout
    assert "k and the scaling of features were chosen in each fold" in done.stdout
    assert "balanced accuracy" in (out / "churn.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_json_has_the_score_the_setting_and_the_confusion(run, churn):
    words = ("--target", "leaves", "--out", churn.parent, "--json", "--score", "f1_macro")
    done = run("compare", churn, *words, "--k", 5, "--scale", "robust", *FAST)
    assert done.exit_code == 0, done.output
    (result,) = json.loads(done.stdout)["results"]
    assert (result["score"], result["n_neighbors"], result["scale"]) == ("f1_macro", 5, "robust")
    assert result["confusion"]["classes"] == ["no", "yes"]
    assert np.sum(result["confusion"]["after"]) == 140
    assert [each["rows"] for each in result["confusion"]["recall"]] == [126, 14]
    assert result["target_reading"] == ""


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--score", "r2"), "--score must be 'accuracy', 'balanced_accuracy' or 'f1_macro', not"),
        (("--score", "auc"), "--score must be 'accuracy', 'balanced_accuracy', 'f1_macro', 'r2'"),
        (("--scale", "log"), "--scale must be 'minmax', 'standard', 'robust' or 'auto', not 'log'"),
        (("--k", "many"), "--k must be an integer >= 1 or 'auto', not 'many'"),
        (("--k", "0"), "--k must be an integer >= 1 or 'auto', not '0'"),
        (("--k", "200"), "--k must be at most"),
    ],
)
def test_wrong_options(options, message, run, churn):
    done = run("compare", churn, "--target", "leaves", "--out", churn.parent, *options, *FAST)
    assert done.exit_code in (1, 2)
    assert message in " ".join(str(done.exception or "").split() + done.output.split())


def test_the_default_k_suits_a_tiny_table(run, tmp_path):
    frame = pd.DataFrame(
        {"x": [1.0, 2, 3, 7, 8, 9], "y": [1.0, 1, 2, 1, 2, 2], "c": list("aaabbb")}
    )
    frame.to_csv(tmp_path / "tiny.csv", index=False)
    done = run("compare", tmp_path / "tiny.csv", "--out", tmp_path, *FAST)
    assert done.exit_code == 0, done.output
    assert (tmp_path / "tiny.dimetric").exists()
