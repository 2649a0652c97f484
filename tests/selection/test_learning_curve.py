"""Learning curves: training sizes, nested training sets, scores, intervals and statements."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import t
from sklearn.datasets import load_diabetes, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score, f1_score, mean_absolute_error, r2_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dimetric import LDA, KNNClassifier, KNNRegressor
from dimetric.selection import LearningCurve, cross_validate, learning_curve
from dimetric.selection._nested_subsets import nested_order, nested_subsets, training_sizes
from dimetric.selection._score_interval import class_score_deviations, score_interval
from dimetric.selection._splits import splits

X, y = load_iris(return_X_y=True)


def curve_of(means, *, spread=0.01, score="accuracy", sizes=(50, 100, 200, 400, 800)):
    """Return a curve with given means and five folds that differ by a constant."""
    folds = spread * np.array([-2, -1, 0, 1, 2])
    scores = np.array(means)[:, None] + folds
    return LearningCurve(np.array(sizes), scores, np.ones_like(scores), 1000, 0.2, score)


def test_last_size_equals_cross_validation():
    curve = learning_curve(LDA(), X, y, random_state=0)
    expected = cross_validate(KNNClassifier(learner=LDA()), X, y, random_state=0).test_score
    assert curve.sizes[-1] == 120
    assert_allclose(curve.scores[-1], expected)
    assert curve.scores.shape == curve.fit_seconds.shape == (5, 5)
    assert_allclose(curve.mean, curve.scores.mean(axis=1))


def test_smaller_training_sets_are_parts_of_larger_ones_and_stratified():
    labels = np.array([0] * 80 + [1] * 15 + [2] * 5)
    folds, groups = splits(np.arange(100)[:, None], labels, 5, random_state=0)
    sizes = np.array([10, 20, 40, 80])
    subsets = nested_subsets(folds, sizes, labels, groups, np.random.RandomState(0))
    for fold in range(5):
        own = subsets[fold::5]
        for (small, test), (large, other) in pairwise(own):
            assert set(small) < set(large)
            assert_array_equal(test, other)
            assert not set(large) & set(test)
        for (train, _), size in zip(own, sizes, strict=True):
            assert len(train) == size
            counts = np.bincount(labels[train], minlength=3)
            assert np.all(counts >= 2)
            assert np.all(np.abs(counts - size * np.array([0.8, 0.15, 0.05])) <= 3.5)


def test_groups_are_added_as_a_whole():
    groups = np.repeat(np.arange(20), 5)
    labels = np.repeat([0, 1], 50)
    order = nested_order(labels, groups, np.random.RandomState(0))
    assert sorted(order) == list(range(100))
    assert np.sum(np.diff(groups[order]) != 0) == 19
    assert len(set(labels[order[:20]])) == 2
    seen = []

    class Recording(KNNClassifier):
        def fit(self, X, y):
            seen.append(set(X[:, 0]))
            return super().fit(X, y)

        def predict(self, X):
            assert not seen[-1] & set(X[:, 0])
            return super().predict(X)

    data = np.column_stack([groups, np.arange(100) % 7])
    curve = learning_curve(Recording(), data, labels, groups=groups, random_state=0)
    assert len(seen) == curve.scores.size


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("score", ["balanced_accuracy", "f1_macro"])
def test_scores_of_classes(score, weighted):
    labels = np.where(np.arange(150) < 110, 0, 1)
    weights = np.linspace(1, 2, 150) if weighted else None
    curve = learning_curve(
        LogisticRegression(), X, labels, score=score, random_state=0, sizes=3, sample_weight=weights
    )
    folds, _ = splits(X, labels, 5, random_state=0)
    scorer = {
        "balanced_accuracy": balanced_accuracy_score,
        "f1_macro": lambda *a, **b: f1_score(*a, average="macro", **b),
    }[score]
    for (train, test), found in zip(folds, curve.scores[-1], strict=True):
        of_train, of_test = (None if weights is None else weights[i] for i in (train, test))
        model = LogisticRegression().fit(X[train], labels[train], sample_weight=of_train)
        expected = scorer(labels[test], model.predict(X[test]), sample_weight=of_test)
        assert found == pytest.approx(expected)


def test_scores_of_numbers():
    X, y = load_diabetes(return_X_y=True)
    options = {"random_state": 0, "sizes": 3}
    r2 = learning_curve(None, X, y, **options)
    mae = learning_curve(KNNRegressor(3), X, y, score="mae", **options)
    assert (r2.score, mae.score) == ("r2", "mae")
    folds, _ = splits(X, y, 5, random_state=0, stratify=False)
    predicted = np.empty(len(y))
    for train, test in folds:
        predicted[test] = KNNRegressor(3).fit(X[train], y[train]).predict(X[test])
    assert mae.mean[-1] == pytest.approx(mean_absolute_error(y, predicted), rel=1e-3)
    assert r2.mean[-1] == pytest.approx(r2_score(y, predicted), rel=1e-2)
    ordinal = learning_curve(None, X, np.round(y / 120), score="mae", **options)
    assert not ordinal.greater_is_better


def test_pipelines_data_frames_and_repeats():
    frame = pd.DataFrame(X, columns=list("abcd"))
    pipeline = make_pipeline(StandardScaler(), KNNClassifier())
    done = []
    curve = learning_curve(
        pipeline, frame, y, sizes=[30, 60, 120], n_repeats=2, random_state=0,
        callback=lambda *each: done.append(each),
    )  # fmt: skip
    assert curve.scores.shape == (3, 10)
    assert done[0] == (1, 30)
    assert done[-1] == (30, 30)
    again = learning_curve(pipeline, X, y, sizes=[30, 60, 120], n_repeats=2, random_state=0)
    assert_allclose(curve.scores, again.scores)


def test_training_sizes():
    assert_array_equal(training_sizes(3, 100, 10), [10, 32, 100])
    assert_array_equal(training_sizes([0.25, 0.5, 1.0], 100, 10), [25, 50, 100])
    assert_array_equal(training_sizes([10, 90, 30, 30], 100, 10), [10, 30, 90])
    assert training_sizes(5, 12, 20)[0] == 6


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sizes": [10, 200, 30]}, r"contains 200, but the training part of a fold has only 120"),
        ({"sizes": 2}, "at least 3 different sizes from 2 to 120 are needed"),
        ({"score": "acuracy"}, "Did you mean accuracy"),
        ({"score": "r2", "learner": KNNClassifier()}, "does not fit KNNClassifier, which is a cla"),
        ({"confidence": 1.0}, "confidence=1.0 must be a number between 0 and 1"),
        ({"learner": 3}, "learner=3 has no method fit"),
        ({"learner": LDA}, r"learner is the class LDA. Pass an object, such as LDA\(\)"),
        ({"sizes": ["a"]}, r"sizes=\['a'\] must contain finite numbers"),
        ({"sizes": [np.nan, 20, 30]}, "must contain finite numbers"),
        ({"sizes": [10.5, 20, 40]}, "whole numbers of training samples, or only fractions"),
        ({"sizes": [1, 1, 1]}, r"gives the training sizes \[1\]"),
        ({"y": np.column_stack([y, y])}, r"y has shape \(150, 2\), but it must have one class or"),
        ({"y": np.full(150, 0.5), "score": "r2"}, "y is constant, so R2 is not defined"),
    ],
)
def test_errors(options, message):
    with pytest.raises(ValueError, match=message):
        learning_curve(**({"learner": None, "X": X, "y": y} | options))


def test_interval_of_the_mean():
    scores = np.array([0.8, 0.9, 0.85, 0.95, 0.75])
    half = t.ppf(0.95, 4) * scores.std(ddof=1) * np.sqrt(1 / 5 + 1 / 4)
    assert_allclose(score_interval(scores, 0.2, confidence=0.9), [0.85 - half, 0.85 + half])
    low, high = score_interval(np.ones(5), 0.2, n_tested=20)
    assert 0.85 < low < 0.95
    assert high == 1.0
    assert_allclose(score_interval(np.ones(5), 0.2), [1, 1])


@pytest.mark.parametrize("score", ["balanced_accuracy", "f1_macro"])
def test_interval_of_class_scores_against_naive_draws(score):
    confusion = np.array([[90, 8, 2], [5, 15, 0], [1, 1, 8]])
    rng = np.random.default_rng(0)
    draws = []
    for _ in range(3000):
        table = np.zeros((3, 3))
        for i, row in enumerate(confusion):
            recall = rng.beta(row[i] + 0.5, row.sum() - row[i] + 0.5)
            wrong = np.delete(row, i) / (row.sum() - row[i])
            table[i, i] = recall * row.sum()
            table[i, np.arange(3) != i] = (1 - recall) * row.sum() * wrong
        recalls, precisions = np.diag(table) / table.sum(axis=1), np.diag(table) / table.sum(axis=0)
        f1 = 2 * recalls * precisions / (recalls + precisions)
        draws.append(np.mean(recalls if score == "balanced_accuracy" else f1))
    low, high = class_score_deviations(confusion, score)
    truth = np.repeat(np.arange(3), confusion.sum(axis=1))
    guess = np.concatenate([np.repeat(np.arange(3), row) for row in confusion])
    found = balanced_accuracy_score(truth, guess)
    if score == "f1_macro":
        found = f1_score(truth, guess, average="macro")
    assert_allclose([found - low, found + high], np.quantile(draws, [0.025, 0.975]), atol=0.01)


def test_interval_of_perfect_class_scores():
    low, high = class_score_deviations(np.diag([980, 20]), "balanced_accuracy")
    assert 0.03 < low < 0.08
    assert high == 0


def test_power_law_is_extrapolated():
    sizes = np.array([50, 100, 200, 400, 800])
    for c in (0.25, 0.5, 1.0):
        curve = curve_of(0.95 - 0.5 * sizes**-c, spread=0.0, sizes=sizes)
        expected = 0.5 * (800**-c - 1600**-c)
        assert curve.gain.expected == pytest.approx(expected, abs=2e-4)
        errors = curve_of(3 + 0.5 * sizes**-c, spread=0.0, sizes=sizes, score="mae")
        assert errors.gain.expected == pytest.approx(expected, abs=2e-4)


def test_statements():
    rising = curve_of([0.60, 0.70, 0.78, 0.84, 0.88])
    assert rising.would_help
    assert rising.statement.startswith(
        "1,600 training rows instead of 800 would probably raise the accuracy from 0.880 to 0.9"
    )
    flat = curve_of([0.895, 0.9, 0.902, 0.899, 0.9])
    assert flat.would_help is False
    assert flat.statement == "The learning curve is flat: more rows would probably not help."
    noisy = curve_of([0.5, 0.8, 0.6, 0.9, 0.7])
    assert noisy.would_help is None
    assert noisy.statement.startswith("It is unclear whether more rows would help: 1,600 training")
    errors = curve_of([31.0, 25.0, 21.0, 18.0, 16.0], score="mae")
    assert "probably lower the mean absolute error from 16 to 14" in errors.statement
    assert "raise R2 from" in curve_of([0.1, 0.3, 0.45, 0.55, 0.62], score="r2").statement


def test_a_curve_with_a_wide_interval_is_not_called_flat():
    scores = np.tile([0.5, 0.83], (3, 1))
    curve = LearningCurve(np.array([3, 4, 6]), scores, np.ones_like(scores), 12, 0.5)
    assert curve.gain.high < 0.01
    assert curve.would_help is None
    assert curve.statement == (
        "It is unclear whether more rows would help: the accuracy with 6 training rows is too "
        "uncertain."
    )


def test_gain_is_at_most_what_is_missing():
    curve = curve_of([0.5, 0.7, 0.85, 0.95, 0.99], spread=0.002)
    assert curve.doubled[2] <= 1
