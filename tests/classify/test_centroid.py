"""Nearest-centroid classifiers compared with scikit-learn and with NCMML and NCMC."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from sklearn.datasets import load_digits, load_iris, load_wine
from sklearn.neighbors import NearestCentroid

from dimetric import NCMC, NCMML, NCMCClassifier, NCMClassifier


@pytest.mark.filterwarnings("ignore:self.within_class_std_dev_")  # for constant features
@pytest.mark.parametrize("load", [load_iris, load_wine, load_digits])
def test_nearest_mean_matches_scikit_learn(load):
    X, y = load(return_X_y=True)
    ours, theirs = NCMClassifier().fit(X, y), NearestCentroid().fit(X, y)
    assert_allclose(ours.centroids_, theirs.centroids_, atol=1e-12)
    assert_array_equal(ours.predict(X), theirs.predict(X))
    one_centroid = NCMCClassifier(1).fit(X, y)
    assert_array_equal(one_centroid.predict(X), ours.predict(X))


def test_probabilities_follow_the_model_of_NCMML():
    X, y = load_iris(return_X_y=True)
    model = NCMClassifier(NCMML(reg=0.0)).fit(X, y)
    P = model.predict_proba(X)
    likelihood = np.mean(np.log(P[np.arange(150), y]))
    assert_allclose(likelihood, model.learner_.metadata()["final_objective"], rtol=1e-6)
    assert_allclose(model.centroids_, model.learner_.transform(model.learner_.centroids_))


def test_predictions_follow_the_nearest_centroid():
    X, y = load_wine(return_X_y=True)
    model = NCMCClassifier([1, 2, 3], random_state=0).fit(X, y)
    assert_array_equal(model.centroid_classes_, [0, 1, 1, 2, 2, 2])
    D = cdist(X, model.centroids_)
    assert_array_equal(model.predict(X), model.centroid_classes_[np.argmin(D, axis=1)])
    nearest = np.stack([D[:, :1].min(1), D[:, 1:3].min(1), D[:, 3:].min(1)], axis=1)
    P = np.exp(-(nearest**2) / 2 + nearest.min(1, keepdims=True) ** 2 / 2)
    assert_allclose(model.predict_proba(X), P / P.sum(1, keepdims=True), atol=1e-10)


def test_centroids_match_those_of_NCMC():
    X, y = load_iris(return_X_y=True)
    learner = NCMC(n_centroids=2, random_state=0).fit(X, y)
    assert_allclose(NCMCClassifier(2, random_state=0).fit(X, y).centroids_, learner.centroids_)


def test_random_state_makes_fit_reproducible():
    X, y = load_digits(return_X_y=True)
    a, b = (NCMCClassifier(3, random_state=4).fit(X, y) for _ in range(2))
    assert_array_equal(a.centroids_, b.centroids_)


def test_bad_numbers_of_centroids():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=r"one integer for each of the 3 classes"):
        NCMCClassifier([1, 2]).fit(X, y)
    with pytest.raises(ValueError, match="integers of at least 1"):
        NCMCClassifier([0, 1, 2]).fit(X, y)
    with pytest.raises(ValueError, match="'n_centroids' parameter"):
        NCMCClassifier(0).fit(X, y)
    with pytest.warns(UserWarning, match=r"1 of 2 classes have fewer distinct samples.*\[1\]"):
        NCMCClassifier(3).fit([[0.0], [1.0], [2.0], [9.0]], [0, 0, 0, 1])
