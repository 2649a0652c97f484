"""Choosing the best learner, and testing it against the Euclidean distance."""

import numpy as np
import pytest
from benchmark_runs import FailingLearner
from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin
from sklearn.datasets import load_iris, load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

import dimetric
from dimetric import KDA, LDA, NCA, PCA, NCMClassifier
from dimetric.advice._candidates import candidate_grid, candidate_learners
from dimetric.advice._choose import choose
from dimetric.advice._final import FinalScores, limit_to_time
from dimetric.advice._insight import insight
from dimetric.advice._judge import judge
from dimetric.advice._race_options import RaceOptions
from dimetric.advice._selection import FAVOURITE, best_learner, selection_bias
from dimetric.advice._settings import SETTINGS
from dimetric.advice._split_rows import split_rows
from dimetric.advice._stratified import stratified_rows
from dimetric.data import make_parallel_bands
from dimetric.kernels import Kernel
from dimetric.report._task import Task
from dimetric.selection._splits import splits


def shifted(n_samples, n_features):
    """Return normal samples of two classes that differ only in the mean of the first feature."""
    X = np.random.default_rng(0).standard_normal((n_samples, n_features))
    y = np.arange(n_samples) % 2
    X[:, 0] += 3 * y
    return X, y


@pytest.mark.slow
def test_best_learner_beats_euclidean():
    X, y = shifted(300, 30)
    found = choose(X, y, {"PCA": PCA(10), "LDA": LDA()}, random_state=0)
    assert found.best == "LDA"
    assert found.mean_scores["LDA"] > found.mean_scores["Euclidean"] + 0.08
    assert found.posterior.right > 0.99
    assert found.verdict.startswith("LDA is better than Euclidean (")
    assert list(found.mean_scores) == sorted(
        found.mean_scores, key=lambda name: -found.mean_scores[name]
    )
    assert not found.judged_on_unseen_rows
    assert found.n_repeats == SETTINGS.max_final_repeats
    assert {len(scores) for scores in found.final_scores.values()} == {5 * found.n_repeats}
    assert set(found.params) == {"reg"}


@pytest.mark.slow
def test_kernel_is_tuned_if_given_by_name_or_object():
    X, y = shifted(120, 5)
    by_name, by_object = (
        choose(X, y, {"KDA": KDA(kernel=kernel)}, cv=3, random_state=0)
        for kernel in ("laplacian", Kernel("laplacian"))
    )
    assert set(by_name.params) == {"reg", "kernel__gamma"}
    assert by_name.params == by_object.params
    assert by_name.learner.kernel.name == "laplacian"


@pytest.mark.slow
def test_no_learner_is_better_on_noise():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((150, 4)), rng.integers(0, 2, 150)
    models = {f"PCA {i}": PCA(i) for i in (1, 2, 3)}
    found = choose(X, y, models, random_state=0)
    assert found.posterior.right < 0.9  # the race was won by luck, and the final uses new folds


@pytest.mark.parametrize(("n_learners", "n_folds"), [(2, 2), (3, 5), (10, 5)])
def test_selection_bias_is_the_part_of_the_lead_that_noise_explains(n_learners, n_folds):
    rng = np.random.default_rng(n_learners)
    for spread in (0.0, 0.05, 1.0):
        skill, folds = spread * rng.standard_normal(n_learners), rng.standard_normal(n_folds)
        table = skill[:, None] + folds + 0.1 * rng.standard_normal((n_learners, n_folds))
        scores = {"Euclidean": folds} | {f"L{i}": row for i, row in enumerate(table)}
        best = max(scores.keys() - {"Euclidean"}, key=lambda name: scores[name].mean())
        means = [row.mean() for row in table]
        total = sum(means) / n_learners
        rest = sum((table[i, k] - means[i] - table[:, k].mean() + total) ** 2
                   for i in range(n_learners) for k in range(n_folds))  # fmt: skip
        rest *= (1 / n_folds + 1 / (n_folds - 1)) / ((n_learners - 1) * (n_folds - 1))
        variance = sum((mean - total) ** 2 for mean in means) / (n_learners - 1)
        expected = min(1.0, rest / variance) * (max(means) - total)
        assert selection_bias(scores, best, n_folds) == pytest.approx(expected)
        shifted_scores = {name: each + 0.3 for name, each in scores.items()}
        assert selection_bias(shifted_scores, best, n_folds) == pytest.approx(expected)
        repeated = {name: np.tile(each, 2) for name, each in scores.items()}
        assert selection_bias(repeated, best, n_folds) <= expected + 1e-12


def test_selection_bias_counts_learners_that_were_dropped_early():
    table = 0.1 * np.random.default_rng(0).standard_normal((8, 5)) + np.arange(8)[:, None] / 50
    order = np.argsort(-table.mean(axis=1))
    kept = {f"L{i}": table[i] for i in order[:3]}
    rest = table[order[:3]]
    offsets = [table[i].mean() - rest.mean() for i in order[3:]]
    noise = rest - rest.mean(axis=1, keepdims=True) - rest.mean(axis=0) + rest.mean()
    of_noise = np.sum(noise**2) / (2 * 4) * (1 / 5 + 1 / 4)
    ratio = min(1, of_noise / np.var(table.mean(axis=1), ddof=1))
    expected = ratio * (table.mean(axis=1).max() - table.mean())
    assert selection_bias(kept, f"L{order[0]}", 5, offsets) == pytest.approx(expected)


def test_selection_bias_of_the_only_learner_left_uses_the_noise_of_its_lead():
    scores = {
        "Euclidean": np.array([0.7, 0.8, 0.6, 0.7, 0.8]),
        "LDA": np.array([0.8, 0.75, 0.72, 0.7, 0.86]),
    }
    offsets = [-0.1, -0.05, -0.02, -0.08]
    lead = scores["LDA"] - scores["Euclidean"]
    # The difference has the noise of both.
    of_noise = np.var(lead, ddof=1) / 2 * (1 / 5 + 1 / 4)
    means = [0.0, *offsets]
    expected = min(1, of_noise / np.var(means, ddof=1)) * -np.mean(means)
    assert expected > 0.01
    assert selection_bias(scores, "LDA", 5, offsets) == pytest.approx(expected)


def test_selection_bias_is_never_negative():
    scores = {"A": np.array([0.5, 0.6, 0.4]), "B": np.array([0.6, 0.4, 0.5])}
    assert selection_bias(scores, "A", 3, [0.1, 0.2]) == 0


def test_selection_bias_without_a_selection_is_zero():
    scores = {"Euclidean": np.array([0.1, 0.2]), "LDA": np.array([0.3, 0.5])}
    assert selection_bias(scores, "LDA", 2) == 0
    equal = {"A": np.full(3, 0.5), "B": np.full(3, 0.5)}
    assert selection_bias(equal, "A", 3) == 0
    assert selection_bias(scores | {FAVOURITE: np.array([0.2, 0.9])}, FAVOURITE, 2) == 0


def test_favourite_is_best_unless_another_learner_leads_clearly():
    base = np.array([0.7, 0.8, 0.6, 0.7, 0.8])
    noise = np.array([0.03, -0.02, 0.01, -0.01, 0.04])  # mean 0.01, standard error 0.017
    scores = {"Euclidean": base + 1, FAVOURITE: base, "LDA": base + noise, "PCA": base - 0.1}
    assert best_learner(scores, 5) == FAVOURITE
    assert best_learner(scores | {"LDA": base + noise + 0.03}, 5) == "LDA"
    assert best_learner({name: scores[name] for name in ("Euclidean", "LDA", "PCA")}, 5) == "LDA"
    assert best_learner({FAVOURITE: base, "LDA": base}, 5) == FAVOURITE


@pytest.mark.slow
def test_same_seed_gives_the_same_choice():
    X, y = load_iris(return_X_y=True)
    models = {"LDA": LDA(), "PCA": PCA(2)}
    one, two = (choose(X, y, models, cv=3, random_state=3) for _ in range(2))
    for name in one.scores:
        np.testing.assert_array_equal(one.scores[name], two.scores[name])
        if name in one.final_scores:
            np.testing.assert_array_equal(one.final_scores[name], two.final_scores[name])
    assert one.params == two.params
    assert one.posterior.right == two.posterior.right


def test_race_and_final_use_disjoint_rows():
    rng = np.random.default_rng(0)
    y = rng.permutation(np.repeat([0, 1, 2], [2400, 90, 12]))
    X = rng.standard_normal((len(y), 5))
    race, final = split_rows(X, y, 500, 5, 0)
    assert not set(race) & set(final)
    assert len(race) == pytest.approx(500, abs=10)
    assert len(final) == pytest.approx(500, abs=10)
    assert np.bincount(y[race])[1:].tolist() == [20, 6]  # 20 rows of a class, or half of its rows
    assert np.bincount(y[final])[1:].tolist() == [20, 6]
    y[np.flatnonzero(y == 2)[:6]] = 0  # too few for race and final: only the race has them
    race, final = split_rows(X, y, 500, 5, 0)
    assert set(y[race]) == {0, 1, 2}
    assert set(y[final]) == {0, 1}
    race, final = split_rows(X[:900], y[:900], 500, 5, 0)
    np.testing.assert_array_equal(race, final)


def test_stratified_rows_are_in_proportion():
    rng = np.random.default_rng(0)
    y = rng.permutation(np.repeat([0, 1, 2], [700, 290, 10]))
    rows = stratified_rows(np.arange(1000), y, 100, 4, rng)
    assert np.bincount(y[rows]).tolist() == [70, 29, 4]
    assert np.all(np.diff(rows) > 0)


def test_error_if_no_learner_can_be_evaluated():
    X, y = load_wine(return_X_y=True)
    with pytest.raises(ValueError, match=r"No learner could be evaluated\. wrong: .*no way"):
        choose(X, y, {"wrong": FailingLearner(log="no/where")})
    with pytest.raises(
        ValueError, match="n_neighbors must be at most 141, not 142, because only 142"
    ):
        choose(X, y, {"LDA": LDA()}, n_neighbors=142)
    with pytest.raises(ValueError, match="learners contains only Euclidean"):
        choose(X, y, {"Euclidean": None})


@pytest.mark.parametrize(("n_neighbors", "tuned"), [(59, {"reg"}), (60, set())])
def test_parameters_are_tuned_if_inner_folds_have_enough_rows(n_neighbors, tuned):
    X, y = load_wine(return_X_y=True)
    found = choose(X, y, {"LDA": LDA()}, n_neighbors=n_neighbors, cv=2, random_state=0)
    assert set(found.params) == tuned


@pytest.mark.slow
def test_short_time_still_gives_scores(monkeypatch):
    X, y = load_wine(return_X_y=True)
    calls = []
    found = choose(X, y, {"LDA": LDA(), "NCA": NCA()}, seconds=0.01, random_state=0,
                   callback=lambda *each: calls.append(each))  # fmt: skip
    assert len(found.scores["LDA"]) >= 2
    assert found.n_repeats == 1
    assert {stage for stage, *_ in calls} == {"race", "final"}


def test_grids_shrink_to_fit_the_time():
    grid = {"a": [1, 2, 3], "b": [1, 2]}
    options = RaceOptions(3, 5, 1, 0)
    # Tuning takes 6 x 3 fits in each of 5 folds, one fit follows, and 18 fits after the final.
    assert limit_to_time(grid, 1.0, 5 * 19.0 + 18, options) == (grid, 1)
    assert limit_to_time(grid, 1.0, 5 * 19.0 * 2 + 18, options) == (grid, 2)
    assert limit_to_time(grid, 1.0, 5 * 20.0 + 18, options, 1.0) == (grid, 1)
    assert limit_to_time(grid, 1.0, 5 * 13.0 + 12, options) == ({"a": [1, 2], "b": [1, 2]}, 1)
    assert limit_to_time(grid, 1.0, 5.0, options) == ({}, 1)
    assert limit_to_time(grid, 1.0, 0.1, options) == ({}, 1)
    assert limit_to_time({}, 0.0, 1.0, options) == ({}, SETTINGS.max_final_repeats)


@pytest.mark.parametrize("n_features", [1, 4, 64, 500, 5000])
def test_grids_start_with_the_current_value(n_features):
    found = candidate_learners(200, n_features)
    assert "KDA" in found  # a kernel learner is always a candidate
    assert all(hasattr(each, "transform") for each in found.values())
    for name, learner in found.items():
        for parameter, values in candidate_grid(learner, n_features).items():
            assert values[0] == learner.get_params()[parameter], name
            assert len(values) == len(set(map(str, values)))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", sorted(candidate_learners(100, 6)))
def test_every_value_of_a_grid_can_be_fitted(name):
    X, y = load_wine(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    learner = candidate_learners(100, 13)[name]
    for parameter, values in candidate_grid(learner, 13).items():
        for value in values:
            Z = learner.set_params(**{parameter: value}).fit(X, y).transform(X)
            assert np.isfinite(Z).all(), f"{parameter}={value!r}"


def test_grid_has_no_parameter_that_the_kernel_does_not_use():
    assert "kernel__gamma" in candidate_grid(KDA(kernel=Kernel("poly")), 13)
    assert "kernel__gamma" not in candidate_grid(KDA(kernel=Kernel("cosine")), 13)


class Guess(TransformerMixin, BaseEstimator):
    """Always predict the largest class, or the mean."""

    def __init__(self, mean=False):
        self.mean = mean

    def fit(self, X, y):
        values, counts = np.unique(y, return_counts=True)
        self.classes_, self.guess_ = values, y.mean() if self.mean else values[counts.argmax()]
        return self

    def predict(self, X):
        return np.full(len(X), self.guess_)

    def score(self, X, y):
        return np.mean(self.predict(X) == y)

    def transform(self, X):
        return X

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.estimator_type = "regressor" if self.mean else "classifier"
        return tags


@pytest.mark.parametrize("score", ["accuracy", "balanced_accuracy", "f1_macro", "r2", "mae"])
def test_a_guess_without_features_is_not_better(score):
    rng = np.random.default_rng(0)
    X, kind = rng.standard_normal((90, 3)), "continuous" if score in ("r2", "mae") else "classes"
    y = rng.permutation(np.repeat([0, 1], [70, 20])) if kind == "classes" else rng.random(90)
    models = {"guess": Guess(mean=kind != "classes")}
    found = choose(X, y, models, cv=3, task=Task(kind, score), n_neighbors=3)
    sign = -1 if score == "mae" else 1
    if score not in ("balanced_accuracy", "f1_macro"):  # a single class is no better than noise
        assert sign * found.mean_scores["guess"] > sign * found.mean_scores["Euclidean"]
        assert found.posterior.left < 0.5
    assert found.posterior.right <= found.better_than_guess < 0.5
    assert found.chosen == "Euclidean"


def test_scores_that_differ_clearly_are_not_equivalent():
    rng, y = np.random.default_rng(0), np.repeat([0, 1], [90, 10])
    scores = {"Euclidean": rng.normal(0.75, 0.01, 25), "NCA": rng.normal(0.85, 0.01, 25)}
    found = judge(FinalScores(scores, 5, None, {}), "NCA", y, Task(), 0.01, 0)
    assert found.posterior.right == found.better_than_guess < 0.05  # the guess has 0.9
    assert found.posterior.rope < 0.05
    assert found.posterior.left < 0.05


def test_insight():
    X, y = shifted(400, 40)
    names = [f"feature {i}" for i in range(40)]
    found = insight(LDA(), X, y, names, random_state=0)
    assert next(iter(found.importance)) == "feature 0"
    assert list(found.importance.values()) == sorted(found.importance.values(), reverse=True)
    assert found.from_metric
    assert found.n_train + found.n_test == 400
    assert len(found.corrected_errors) > 2 * len(found.new_errors)
    for each in found.corrected_errors:
        assert np.sum(y[each.after] == y[each.row]) >= 2
        assert np.sum(y[each.before] == y[each.row]) <= 1
        assert each.row not in each.before
        assert each.row not in each.after
    first, second = found.explained_changes
    assert first.row == found.corrected_errors[0].row
    assert second.row == found.new_errors[0].row
    changed = found.corrected_errors[0]
    assert first.removed.row == changed.before[~np.isin(changed.before, changed.after)][0]
    assert first.added.row == changed.after[~np.isin(changed.after, changed.before)][0]
    assert first.removed.parts.sum() > first.added.parts.sum() > 0
    assert found.before.shape == found.after.shape == (len(found.rows), 2)
    assert found.shows_unseen_rows
    assert len(found.rows) == found.n_test


def test_insight_of_a_nonlinear_learner():
    X, y, _ = make_parallel_bands(100, random_state=0)
    found = insight(dimetric.KDA(), X, y, ["along", "across"], random_state=0)
    assert found.metric is None
    assert not found.from_metric
    assert found.explained_changes == []
    assert found.importance["across"] > found.importance["along"]
    assert not found.shows_unseen_rows
    assert len(found.rows) == 100


def test_insight_of_one_feature_and_small_classes():
    X = np.arange(20.0)[:, None]
    y = np.repeat([0, 1, 2], [10, 8, 2])
    found = insight(PCA(1), X, y, ["x"], random_state=0)
    assert found.before.shape == (20, 2)
    assert found.n_test > 0


class CentroidsUnderLDA(ClassifierMixin, TransformerMixin, BaseEstimator):
    """A learner that predicts by itself."""

    def fit(self, X, y):
        self.classes_, self.model_ = np.unique(y), NCMClassifier(learner=LDA()).fit(X, y)
        return self

    def predict(self, X):
        return self.model_.predict(X)

    def transform(self, X):
        return self.model_.learner_.transform(X)

    def explain_pair(self, x, x2):
        raise ValueError("The predictions of a classifier are not explained by a distance.")


def test_a_classifier_is_compared_by_its_own_predictions():
    X, y = shifted(120, 20)
    model = CentroidsUnderLDA()
    options = {"cv": 3, "budget": 60, "random_state": 0, "scale": "minmax", "n_neighbors": 3}
    found = dimetric.compare(X, y, learners={"centroids": model}, **options)
    n_repeats = SETTINGS.max_race_repeats
    folds, _ = splits(X, y, 3, n_repeats, random_state=0, groups=np.arange(120))
    expected = [
        np.mean(make_pipeline(MinMaxScaler(), model).fit(X[a], y[a]).predict(X[b]) == y[b])
        for a, b in folds
    ]
    np.testing.assert_allclose(found.scores["centroids"], expected)
    assert found.chosen == "centroids"
    assert (
        "The model classifies by centroids, with features scaled to [0, 1], trained"
        in found.learner_description
    )
    assert isinstance(found.learner[-1], CentroidsUnderLDA)
    assert found.transform(X[:3]).shape == (3, 1)
    assert len(found.insight.corrected_errors) > len(found.insight.new_errors)
    assert next(iter(found.insight.importance)) == found.samples.feature_names[0]
    assert "centroids" in found._repr_html_()


def test_a_rare_class_does_not_keep_a_good_learner_out_of_the_model():
    X = np.random.default_rng(0).normal(size=(400, 12))
    choice = choose(X, (X[:, 0] > 1.64).astype(int), {"LDA": LDA()}, seconds=3)
    assert choice.better_than_guess > 0.5
    assert choice.chosen == "LDA"


def test_luck_in_the_race_does_not_make_a_learner_worse_than_euclidean(rng):
    X, y = rng.normal(size=(90, 6)), np.arange(90) % 2
    choice = choose(X, y, {"LDA": LDA(), "PCA": PCA(1), "PCA2": PCA(2)}, seconds=3)
    lead = np.mean(choice.final_scores[choice.best] - choice.final_scores["Euclidean"])
    assert 0 <= choice.selection_bias <= max(0, lead)
