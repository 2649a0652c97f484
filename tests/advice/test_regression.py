"""dimetric.compare with numbers as targets."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.datasets import load_diabetes, make_friedman1
from sklearn.metrics import r2_score
from sklearn.neighbors import KNeighborsRegressor

import dimetric
from dimetric import Covariance, KNNRegressor
from dimetric.advice import insight
from dimetric.advice._candidates import candidate_grid, candidate_learners
from dimetric.advice._choose import choose
from dimetric.advice._samples import labelled_samples
from dimetric.advice._split_rows import split_rows
from dimetric.advice._stratified import strata
from dimetric.advice._table import samples_from
from dimetric.data._fold_encoder import FoldEncoder
from dimetric.report import Task
from dimetric.selection._splits import splits


class Weights(TransformerMixin, BaseEstimator):
    """Weigh each feature by its correlation with the target. A learner that numbers suffice for."""

    def fit(self, X, y):
        self.weights_ = np.abs(np.corrcoef(X.T, y)[-1, :-1]) ** 2
        return self

    def transform(self, X):
        return X * self.weights_


RNG = np.random.default_rng(0)
X = RNG.standard_normal((90, 6))
PRICE = 1000 + 100 * (2 * X[:, 0] + X[:, 1])
# Enough time for all folds on a busy machine, so that results do not depend on the time.
FAST = {"learners": {"Weights": Weights()}, "budget": 120.0, "random_state": 0, "cv": 3}


@pytest.fixture(scope="module")
def frame():
    table = pd.DataFrame(X, columns=list("abcdef")).assign(price=PRICE)
    table["town"] = np.where(X[:, 2] > 0, "A", "B")
    return table


@pytest.fixture(scope="module")
def comparison(frame):
    return dimetric.compare(frame, target="price", **FAST)


def test_numbers_are_predicted_by_regression(comparison, frame):
    assert comparison.samples.task == Task("continuous", "r2")
    assert comparison.best == "Weights"
    assert comparison.posterior.right > 0.95
    assert comparison.rope == 0.01
    assert isinstance(comparison.learner[-1], KNNRegressor)
    predicted = comparison.learner.predict(frame.drop(columns="price").head(5))
    assert predicted.dtype == np.float64
    assert r2_score(frame["price"][:5], predicted) > 0.5
    first, second, third = comparison.verdict.split(". ")
    assert first.startswith("Weights is better than Euclidean (")
    assert second.startswith("k-NN under Weights explains 0.")
    assert "of the variance of price (R2), and 0." in second
    assert third == "Baseline: always predicting the mean has R2 0.000."
    for words in ("(90 samples, 7 features, continuous numbers)", "Cross-validated R2: Weights 0.",
                  "R2 of reference models without a distance: ridge 1.000", comparison.verdict,
                  "Column 'price' is read as continuous numbers (90 distinct values). To change "
                  "this, set target_kind to 'classes' or 'ordinal'."):  # fmt: skip
        assert words in repr(comparison)
    assert "Ridge (reference)" in comparison._repr_html_()
    assert list(comparison.frame().index) == list(comparison.scores)


def test_scores_of_a_fold_are_in_units_of_the_total_variance():
    setting = {"n_neighbors": 3, "scale": "minmax"}
    found = choose(X, PRICE, FAST["learners"], cv=3, task=Task("continuous", "r2"), **setting)
    n_repeats = len(found.scores["Euclidean"]) // 3
    folds, _ = splits(X, None, 3, n_repeats, random_state=0, groups=np.arange(90))
    for score, (train, test) in zip(found.scores["Euclidean"], folds, strict=True):
        low, high = X[train].min(0), X[train].max(0)
        Z = (X - low) / (high - low)
        model = KNeighborsRegressor(3).fit(Z[train], PRICE[train])
        mean_squared_error = np.mean((model.predict(Z[test]) - PRICE[test]) ** 2)
        assert score == pytest.approx(1 - mean_squared_error / np.var(PRICE))
    assert -0.2 < found.references["Mean prediction"].mean() < 0


@pytest.mark.slow
def test_mean_absolute_error(frame):
    found = dimetric.compare(frame, target="price", score="mae", **FAST)
    assert list(found.scores) == ["Weights", "Euclidean"]  # the smaller error first
    assert all(np.all(each > 0) for each in found.scores.values())
    assert found.choice.table[0].gain < 0
    assert found.posterior.right > 0.95
    assert found.rope == pytest.approx(0.01 * np.mean(np.abs(PRICE - PRICE.mean())))
    assert "The mean absolute error of price is " in found.verdict
    assert (
        dimetric.compare(frame, target="price", score="mae", rope=500, **FAST).posterior.rope > 0.9
    )


@pytest.mark.slow
def test_the_unit_of_the_target_does_not_matter(comparison, frame):
    for unit in (1e-120, 1e120):
        scaled = frame.assign(price=frame["price"] * unit)
        found = dimetric.compare(scaled, target="price", **FAST)
        for name, scores in found.scores.items():
            assert_allclose(scores, comparison.scores[name], rtol=1e-6)
        assert_allclose(found.references["Ridge"], comparison.references["Ridge"], rtol=1e-5)


def test_results_as_a_dictionary(comparison):
    found = comparison.to_dict()
    assert found["target_kind"] == "continuous"
    assert found["target_reading"] == comparison.samples.reading
    assert found["score"] == "r2"
    assert found["classes"] == {}
    names = {row["learner"] for row in found["references"]}
    assert names == {"Mean prediction", "Ridge", "RBF SVM", "Random forest", "Gradient boosting"}
    assert found["verdict"]["text"] == comparison.verdict
    assert found["verdict"]["rope"] == 0.01


@pytest.mark.parametrize(
    ("y", "kind"),
    [
        (np.arange(90) % 3, "classes"),
        (np.array(["a", "b", "c"] * 30), "classes"),
        (np.arange(90) % 2 == 0, "classes"),
        (np.arange(90) % 3 + 0.5, "continuous"),  # fractions
        (np.arange(90) % 46, "continuous"),  # fewer than two rows for each number
        (np.arange(90) % 45, "classes"),
        (np.arange(90) * 1000, "continuous"),
        (np.array([f"{each:,}" for each in range(1000, 91000, 1000)]), "continuous"),
    ],
)
def test_likely_kind_of_a_target(y, kind):
    table = samples_from(X, y, None, drop=(), missing="drop")
    samples = labelled_samples(table, cv=2, missing="drop")
    assert samples.task.kind == kind
    assert bool(samples.reading) == (np.asarray(y).dtype.kind in "if" or kind == "continuous")
    if kind == "continuous":
        assert samples.y.dtype == np.float64


def test_the_kind_of_a_target_can_be_set():
    levels = np.clip(np.round(PRICE / 200), 3, 7).astype(int)
    table = samples_from(X, levels, None, drop=(), missing="drop")
    found = labelled_samples(table, cv=2, missing="drop", kind="ordinal", score="mae")
    assert found.task == Task("ordinal", "mae")
    assert found.reading == "Column 'y' is read as ordinal numbers (5 distinct values)."
    reading = labelled_samples(table, cv=2, missing="drop").reading
    assert reading == (
        "Column 'y' is read as classes (5 distinct values). To change this, set target_kind to "
        "'ordinal' or 'continuous'."
    )


STRINGS = np.array(["low", "high"] * 45)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (
            {"target_kind": "number"},
            "target_kind must be 'classes', 'ordinal' or 'continuous', not",
        ),
        (
            {"score": "rmse"},
            "score must be 'accuracy', 'balanced_accuracy', 'f1_macro', 'r2' or 'mae', not",
        ),
        (
            {"score": "accuracy"},
            "score must be 'r2' or 'mae', not 'accuracy', because column 'y' is",
        ),
        (
            {"y": STRINGS, "score": "r2"},
            "score must be 'accuracy', 'balanced_accuracy' or 'f1_macro', not 'r2', because "
            "column 'y' is read as classes. To change "
            "this, set target_kind to 'ordinal' or 'continuous'",
        ),
        ({"y": STRINGS, "target_kind": "ordinal"}, "'low', which is not a number. .* become 1, 2 "),
        ({"y": STRINGS == "low", "target_kind": "continuous"}, "'y' holds booleans, which are two"),
        ({"y": np.full(90, 1.5)}, "'y' has the value 1.5 in all rows, so there is nothing to"),
        ({"y": np.append(PRICE[1:], np.inf)}, "'y' holds 1 infinite value. Replace or remove"),
        ({"y": np.full(90, np.nan)}, "No rows remain: all 90 rows have missing values"),
        ({"y": PRICE * 1e300}, "'y' holds values around 2e.303, whose squares are too large"),
        ({"y": PRICE * 1e-200}, "values that differ by only .*e-197, whose squares are too small"),
        ({"y": np.array(["2020-01-01"] * 90), "target_kind": "continuous"}, "'y' holds dates or"),
        ({"X": X[:9], "y": PRICE[:9]}, "but the table has only 9 usable rows. At least 10"),
        ({"rope": 2}, r"rope=2 must be a number in \[0, 1\)"),
        ({"learners": ["LDA"]}, "No learner could be evaluated. LDA: .*learns from"),
    ],
)
def test_error_messages(options, sentence):
    with pytest.raises(ValueError, match=sentence):
        dimetric.compare(**{"X": X, "y": PRICE} | FAST | options)


def test_missing_numbers_are_dropped(frame):
    holes = frame.assign(price=frame["price"].where(frame.index > 4))
    with pytest.warns(UserWarning, match="Dropped 5 of 90 rows"):
        table = samples_from(holes, None, "price", drop=(), missing="drop")
    assert len(labelled_samples(table, cv=3, missing="drop").y) == 85
    with pytest.raises(ValueError, match="Missing values in 5 of 90 rows"):
        samples_from(holes, None, "price", drop=(), missing="raise")


def test_infinite_and_missing_numbers_do_not_become_integers():
    y = np.append(np.arange(88.0), [np.inf, np.nan])
    with pytest.warns(UserWarning, match="Dropped 1 of 90 rows"):
        table = samples_from(X, y, None, drop=(), missing="drop")
    assert table.y[-1] == np.inf


@pytest.mark.slow
def test_groups_are_not_split(frame):
    groups = np.arange(90) // 6
    found = dimetric.compare(frame, target="price", groups=groups, **FAST)
    assert found.samples.n_given_groups == 15
    test = found.insight.predictions.rows
    train = np.setdiff1d(np.arange(90), test)
    assert not set(groups[train]) & set(groups[test])


def test_race_and_final_use_disjoint_rows():
    y = np.where(np.arange(3000) < 2700, 0.0, np.arange(3000))  # most numbers are equal
    X = np.zeros((3000, 2))
    race, final = split_rows(X, y, 500, 5, 0, is_regression=True)
    assert len(race) == len(final) == 500
    assert not set(race) & set(final)
    assert abs(np.mean(y[race] > 0) - 0.1) < 0.05
    groups = np.arange(3000) // 30
    race, final = split_rows(X, y, 500, 5, 0, groups, is_regression=True)
    assert not set(groups[race]) & set(groups[final])


def test_strata_of_numbers_are_quantiles():
    found = strata(np.random.default_rng(0).permutation(1000.0 + np.arange(1000)), True)
    assert_array_equal(np.bincount(found), np.full(10, 100))
    assert len(np.unique(strata(np.zeros(50), True))) == 1


def test_insight_of_numbers(comparison, frame):
    found = comparison.insight
    rows, true, before, after = found.predictions
    assert_array_equal(true, PRICE[rows])
    gain = np.abs(before - true) - np.abs(after - true)
    assert [each.row for each in found.corrected_errors] == list(
        rows[np.argsort(-gain, kind="stable")][: np.sum(gain > 0)]
    )
    assert len(found.new_errors) == np.sum(gain < 0)
    changed = found.corrected_errors[0]
    assert_allclose(after[rows == changed.row], PRICE[changed.after].mean())
    assert next(iter(found.importance)) == "a"
    again = insight(
        Weights(), X, PRICE, list("abcdef"), is_regression=True, random_state=0, n_neighbors=3
    )
    assert again.predictions is not None


def test_insight_explains_neighbors_for_numbers_and_one_hot_columns():
    codes = np.column_stack([X, np.arange(len(X)) % 3])
    codes[::7, 1] = np.nan
    encoder, names = FoldEncoder([0] * 6 + [3]), [*"abcdef", "town=A", "town=B", "town=C"]
    found = insight(
        Covariance(), codes, PRICE, names, encoder=encoder, is_regression=True, random_state=0
    )
    assert found.explained_changes[0].row == found.corrected_errors[0].row
    for each in found.explained_changes:
        for neighbor in (each.removed, each.added):
            assert neighbor.parts.shape == (len(names),)
            assert neighbor.parts.sum() > 0


@pytest.mark.slow
def test_report_of_numbers(comparison, tmp_path):
    path = tmp_path / "r.html"
    comparison.report(path, model_file="m.dimetric")
    text = " ".join(path.read_text(encoding="utf-8").split())
    for words in ("Predicted and true price", "Ridge (reference)", "explains 0.",
                  "held-out rows under the Euclidean distance (mean absolute error ",
                  "Distribution of price: smallest ", '<th scope="col">Euclidean prediction</th>',
                  "new.csv --out predictions.csv"):  # fmt: skip
        assert words in text
    for words in ("classified", "ccurac", "✓"):
        assert words not in text


def test_learners_for_numbers_are_tuned_by_their_ridge():
    learners = candidate_learners(150, 4, "ordinal")
    assert learners["NCA"].cost == "absolute"
    assert candidate_learners(150, 4, "continuous")["NCA"].cost == "squared"
    for name in ("MLKR", "MLKR diagonal", "NCA"):
        assert list(candidate_grid(learners[name], 4)) == ["reg"]
    assert list(candidate_learners(60, 5000, "continuous")) == ["PCA", "KPCA"]


@pytest.mark.slow
@pytest.mark.parametrize("data", [load_diabetes, lambda **_: make_friedman1(300, random_state=0)])
def test_learned_distances_explain_more_than_the_euclidean_one(data):
    X, y = data(return_X_y=True)
    found = dimetric.compare(X, y, n_neighbors=5, budget=60, random_state=0)
    final = {name: scores.mean() for name, scores in found.choice.final_scores.items()}
    assert final[found.best] > final["Euclidean"] + 0.02
