"""Reference models in the race and the final, and the guess without features."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

import dimetric
from dimetric import LDA, PCA
from dimetric.advice._choose import choose
from dimetric.selection._splits import splits

CLASS_REFERENCES = {"Logistic regression", "RBF SVM", "Random forest", "Gradient boosting"}


def last_column(X):
    return X[:, -1:]


@pytest.fixture(scope="module")
def choice():
    X = np.random.default_rng(0).standard_normal((200, 30))
    learners = {"noise": FunctionTransformer(last_column)}
    return choose(X, (X[:, 0] + X[:, 1] > 0).astype(int), learners, cv=3, seconds=120)


def test_references_of_classes_use_the_folds_of_the_race(choice):
    X = np.random.default_rng(0).standard_normal((200, 30))
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    assert set(choice.references) == set(choice.reference_seconds) == CLASS_REFERENCES
    n_repeats = len(choice.scores["noise"]) // 3
    folds, _ = splits(X, y, 3, n_repeats, random_state=0, groups=np.arange(200))
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    expected = [model.fit(X[a], y[a]).score(X[b], y[b]) for a, b in folds]
    np.testing.assert_allclose(choice.references["Logistic regression"], expected)


def test_best_reference_is_tested_in_the_final(choice):
    assert choice.best_reference == "Logistic regression"
    assert choice.reference_scores.shape == choice.final_scores["noise"].shape
    assert set(choice.final_scores) == {"Euclidean", "noise"}
    assert choice.better_reference == "Logistic regression"
    assert choice.verdict.endswith(
        "Use logistic regression for prediction; the Euclidean distance is still the best one for "
        "search and pictures."
    )


def test_reference_that_is_not_better_is_not_recommended():
    X = np.random.default_rng(0).standard_normal((120, 4))
    found = choose(X, (X[:, 0] > 0).astype(int), {"LDA": LDA()}, cv=3, seconds=120)
    assert found.chosen == "LDA"
    assert found.better_reference is None
    assert "for prediction" not in found.verdict


def test_a_learner_may_have_the_name_of_a_reference():
    X = np.random.default_rng(0).standard_normal((60, 3))
    found = choose(X, np.arange(60) % 2, {"RBF SVM": PCA(1)}, cv=3, seconds=60)
    assert found.best == "RBF SVM"
    assert set(found.final_scores) == {"Euclidean", "RBF SVM"}
    assert "RBF SVM" not in found.references


def test_majority_of_a_comparison():
    X = np.random.default_rng(0).standard_normal((90, 3))
    y = np.repeat(["a", "b"], [60, 30])
    found = dimetric.compare(X, y, learners=[PCA(1)], cv=3, budget=60, random_state=0)
    assert found.choice.majority == pytest.approx(2 / 3)
    sentence = "Baseline: always predicting the largest class is 66.7 % accurate."
    assert sentence in found.verdict
    assert "RBF SVM 0." in repr(found)
    assert "random forest 0." in repr(found)
