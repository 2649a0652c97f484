"""Scores of classes in benchmark.run and tune: balanced accuracy, macro F1 and confusion counts."""

import numpy as np
import pytest
from sklearn.metrics import balanced_accuracy_score, confusion_matrix, f1_score
from sklearn.model_selection import StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import MinMaxScaler

from dimetric import LDA, PCA, KNNRegressor, NCMClassifier, benchmark
from dimetric.data import DataSet
from dimetric.report import Task
from dimetric.selection import tune

RNG = np.random.default_rng(0)
y = np.array(["common"] * 80 + ["rare"] * 15 + ["rarest"] * 6)
X = RNG.standard_normal((101, 3)) + 1.2 * (y[:, None] == "rare") - 1.5 * (y[:, None] == "rarest")
FOLDS = list(StratifiedKFold(3, shuffle=True, random_state=1).split(X, y))
SCORES = {
    "balanced_accuracy": balanced_accuracy_score,
    "f1_macro": lambda true, guess: f1_score(true, guess, average="macro"),
}


@pytest.fixture(scope="module")
def data():
    fold = np.zeros(len(y), int)
    for i, (_, test) in enumerate(FOLDS):
        fold[test] = i
    return DataSet(X, y, tuple("abc"), name="data", extra={"fold": fold})


@pytest.mark.parametrize("score", SCORES)
def test_scores_of_classes_match_scikit_learn(score, data):
    learners = {"Euclidean": None, "NCM": NCMClassifier()}
    found = benchmark.run(learners, [data], n_neighbors=[1, 3], fold_column="fold", score=score)
    for fold, (train, test) in enumerate(FOLDS):
        scaler = MinMaxScaler().fit(X[train])
        X_train, X_test = scaler.transform(X[train]), scaler.transform(X[test])
        models = {("Euclidean", k): KNeighborsClassifier(k) for k in (1, 3)}
        models["NCM", None] = NCMClassifier()
        for (name, k), model in models.items():
            guess = model.fit(X_train, y[train]).predict(X_test)
            (cell,) = (
                each
                for each in found.cells
                if (each.learner, each.n_neighbors, each.fold) == (name, k, fold)
            )
            assert cell.test == pytest.approx(SCORES[score](y[test], guess))
            expected = confusion_matrix(y[test], guess, labels=sorted(set(y)))
            counts = cell.metadata["confusion"]
            classes = sorted(set(y))
            given = [[counts[true].get(each, 0) for each in classes] for true in classes]
            np.testing.assert_array_equal(given, expected)


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("scale", ["fold", None])
def test_learners_are_tuned_for_the_score(score, scale, data):
    grid = {"n_components": [1, 2, 3]}
    found = benchmark.run(
        {"PCA": PCA()},
        [data],
        n_neighbors=1,
        fold_column="fold",
        score=score,
        scale=scale,
        param_grids={"PCA": grid},
    )
    assert [cell.status for cell in found.cells] == ["ok"] * 3
    assert {cell.metadata["best_params"]["n_components"] for cell in found.cells} <= {1, 2, 3}


@pytest.mark.parametrize("score", SCORES)
def test_criterion_of_tune_is_the_score(score):
    found = tune(
        KNeighborsClassifier(), X, y, {"n_neighbors": [1, 3, 9]}, criterion=score, cv=FOLDS
    )
    for i, k in enumerate((1, 3, 9)):
        scores = [
            SCORES[score](y[test], KNeighborsClassifier(k).fit(X[train], y[train]).predict(X[test]))
            for train, test in FOLDS
        ]
        assert found.cv_results_["mean_test_score"][i] == pytest.approx(np.mean(scores))


def test_criterion_of_tune_uses_weights():
    weights = np.where(y == "common", 1, 2)
    found = tune(
        NCMClassifier(learner=LDA()),
        X,
        y,
        {"learner__reg": [0.1]},
        criterion="f1_macro",
        sample_weight=weights,
        cv=FOLDS,
    )
    scores = []
    for train, test in FOLDS:
        model = NCMClassifier(learner=LDA(reg=0.1)).fit(X[train], y[train], weights[train])
        guess = model.predict(X[test])
        scores.append(f1_score(y[test], guess, average="macro", sample_weight=weights[test]))
    assert found.best_score_ == pytest.approx(np.mean(scores))


def test_regressors_have_no_score_of_classes(data):
    with pytest.raises(TypeError, match="regressor, but score='f1_macro' compares classifiers"):
        benchmark.run({"model": KNNRegressor()}, [data], score="f1_macro")


@pytest.mark.parametrize("score", ["accuracy", *SCORES])
def test_the_guess_scores_as_the_largest_class_does(score):
    guess = np.full(len(y), "common")
    functions = SCORES | {"accuracy": lambda true, guess: float(np.mean(true == guess))}
    assert Task("classes", score).guess_score(y) == pytest.approx(functions[score](y, guess))


def test_the_guess_of_numbers_is_their_mean():
    numbers = X[:, 0]
    errors = np.abs(numbers - numbers.mean())
    assert Task("continuous", "mae").guess_score(numbers) == pytest.approx(errors.mean())
    assert Task("continuous", "r2").guess_score(numbers) == 0
