"""k-NN accuracy of several learners."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, load_wine

from dimetric import LDA, PCA, KNNClassifier
from dimetric.selection import KNNScore, knn_scores


def test_scores_match_single_classifiers():
    X, y = load_wine(return_X_y=True)
    X, y, X_new, y_new = X[::2], y[::2], X[1::2], y[1::2]
    learners = {"as it is": None, "LDA": LDA(), "PCA": PCA(2)}
    result = knn_scores(learners, X, y, X_new, y_new, n_neighbors=[1, 4], weights="distance")
    assert [(each.learner, each.n_neighbors) for each in result] == [
        (name, k) for name in learners for k in (1, 4)
    ]
    for each in result:
        single = KNNClassifier(
            each.n_neighbors, learner=learners[each.learner], weights="distance"
        ).fit(X, y)
        assert each.train == single.score()
        assert each.test == single.score(X_new, y_new)
        assert each.time > 0


def test_names_of_learners_and_invalid_input():
    X, y = load_iris(return_X_y=True)
    result = knn_scores([None, LDA(), PCA(1), PCA(2)], X, y)
    names = ["Euclidean", "LDA", "PCA(n_components=1)", "PCA(n_components=2)"]
    assert [each.learner for each in result] == names
    assert isinstance(result[0], KNNScore)
    assert np.isnan(result[0].test)
    with pytest.raises(ValueError, match=r"have the name LDA\(\). Pass a mapping"):
        knn_scores([LDA(), LDA()], X, y)
    with pytest.raises(ValueError, match="X_test and y_test must be given together"):
        knn_scores([None], X, y, X)
    for wrong in ([], 2.5, [1, "2"]):
        with pytest.raises(ValueError, match=r"or several|must be an int or an Iterable"):
            knn_scores([None], X, y, n_neighbors=wrong)
    for one in (None, LDA()):
        with pytest.raises(TypeError, match=r"is a single learner\. Pass a list"):
            knn_scores(one, X, y)
