"""Tests specific to NCMC: its likelihood and its centroids."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from scipy.special import logsumexp
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris, load_wine, make_blobs
from sklearn.exceptions import ConvergenceWarning

from dimetric import NCMC, NCMML
from dimetric.learners._class_clusters import class_clusters

X, y = load_iris(return_X_y=True)


def likelihood(learner, X, y):
    """Return the mean log-likelihood of the labels, given distances to the centroids."""
    D = cdist(learner.transform(X), learner.transform(learner.centroids_), "sqeuclidean")
    of_class = y[:, None] == learner.centroid_classes_
    return np.mean(
        logsumexp(np.where(of_class, -D / 2, -np.inf), axis=1) - logsumexp(-D / 2, axis=1)
    )


@pytest.mark.parametrize("n_centroids", [2, [1, 4, 2]])
@pytest.mark.parametrize("labels", [y, np.array(["c", "a", "b"])[y]], ids=["numbers", "names"])
def test_objective_matches_the_likelihood(n_centroids, labels):
    ncmc = NCMC(n_centroids=n_centroids, reg=0.0, max_iter=200, random_state=0).fit(X, labels)
    assert_allclose(ncmc.metadata()["final_objective"], likelihood(ncmc, X, labels), rtol=1e-6)


def test_one_centroid_matches_ncmml():
    params = {"reg": 0.0, "tol": 1e-5, "max_iter": 500}
    ncmc, ncmml = NCMC(n_centroids=1, **params).fit(X, y), NCMML(**params).fit(X, y)
    best, same = (learner.metadata()["final_objective"] for learner in (ncmml, ncmc))
    assert_allclose(same, best, atol=1e-3)
    assert_allclose(same, likelihood(ncmml, X, y), atol=1e-3)
    assert_array_equal(ncmc.centroids_, ncmml.centroids_)


def test_centroids_are_sorted_by_class():
    labels = np.array(["c", "a", "b"])[y]
    ncmc = NCMC(n_centroids=(1, 3, 2), random_state=0).fit(X, labels)
    assert ncmc.n_centroids_ == (1, 3, 2)
    assert_array_equal(ncmc.centroid_classes_, list("abbbcc"))


def test_a_start_that_is_too_large_is_not_called_converged():
    reason = "the objective decreases too slowly from the initial map, because distances are too"
    with pytest.warns(ConvergenceWarning, match=f"NCMC did not converge: {reason} large"):
        facts = NCMC(init=1e6 * np.eye(4), reg=0.0, random_state=0).fit(X, y).metadata()
    assert not facts["converged"]
    ncmc = NCMC(random_state=0, reg=0.0, tol=1e-5, max_iter=100).fit(1e6 * X, y)
    assert ncmc.metadata()["final_objective"] > -0.05


def test_centroids_are_those_of_k_means():
    """Each centroid is the mean of the samples of its class that are closest to it."""
    ncmc = NCMC(random_state=0, max_iter=100).fit(X, y)
    for c in range(3):
        A, C = X[y == c], ncmc.centroids_[ncmc.centroid_classes_ == c]
        nearest = cdist(A, C).argmin(axis=1)
        assert_allclose([A[nearest == m].mean(axis=0) for m in range(3)], C)


@pytest.mark.parametrize("change", ["shift", "rows", "names"])
def test_centroids_do_not_depend_on_shift_row_order_or_class_names(change, rng):
    A, labels = make_blobs(200, 3, centers=2, cluster_std=4, random_state=0)
    expected = NCMC(n_centroids=5, random_state=0, reg=0.1).fit(A, labels).centroids_
    order = rng.permutation(200) if change == "rows" else np.arange(200)
    shift = 1e3 if change == "shift" else 0.0
    labels = 1 - labels if change == "names" else labels
    result = NCMC(n_centroids=5, random_state=0, reg=0.1).fit(A[order] + shift, labels[order])
    result = result.centroids_ - shift
    assert_allclose(
        np.roll(result, 5, axis=0) if change == "names" else result, expected, rtol=1e-9
    )


def test_clusters_are_the_best_of_several_starts():
    """A single start often ends in a poor local optimum, as on wine."""
    A, codes = load_wine(return_X_y=True)

    def inertia(clusters):
        means = np.stack([A[clusters == c].mean(axis=0) for c in range(9)])
        return np.sum((A - means[clusters]) ** 2)

    single, several = np.empty((2, 8))
    for seed in range(8):
        labels = np.concatenate(
            [
                3 * c + KMeans(3, n_init=1, random_state=seed).fit(A[codes == c]).labels_
                for c in range(3)
            ]
        )
        single[seed] = inertia(labels)  # wine is sorted by class
        several[seed] = inertia(class_clusters(A, codes, 3, np.arange(3), seed))
    assert single.max() > 1.05 * single.min()
    assert several.max() < 1.002 * min(single.min(), several.min())


def test_centroids_follow_random_state(rng):
    A, labels = rng.normal(size=(300, 2)), np.repeat([0, 1], 150)
    a, b, c = (
        NCMC(n_centroids=7, random_state=s, reg=0.1).fit(A, labels).centroids_ for s in (0, 0, 1)
    )
    assert_array_equal(a, b)
    assert np.abs(a - c).max() > 1e-3


def test_classes_in_two_pieces_need_two_centroids(rng):
    corners = np.array([[0, 0], [1, 1], [0, 1], [1, 0]])
    A, labels = (
        np.repeat(corners, 50, axis=0) + rng.normal(size=(200, 2)) / 10,
        np.arange(200) // 100,
    )
    scores = []
    for n_centroids in (1, 2):
        ncmc = NCMC(n_centroids=n_centroids, random_state=0, reg=1e-3).fit(A, labels)
        nearest = cdist(ncmc.transform(A), ncmc.transform(ncmc.centroids_)).argmin(axis=1)
        scores.append(np.mean(ncmc.centroid_classes_[nearest] == labels))
    assert scores[0] < 0.8
    assert scores[1] == 1


def test_a_class_gets_no_more_centroids_than_it_has_distinct_samples():
    A, labels = np.vstack([X[:50], X[[50, 50, 51]], X[100:101]]), np.repeat([0, 1, 2], [50, 3, 1])
    says = (
        r"2 of 3 classes have fewer distinct samples than n_centroids: \[1, 2\]\. Each .*centroid"
    )
    with pytest.warns(UserWarning, match=says):
        ncmc = NCMC(n_centroids=3, random_state=0).fit(A, labels)
    assert ncmc.n_centroids_ == (3, 2, 1)
    assert_allclose(np.sort(ncmc.centroids_[3:5], axis=0), np.sort(X[50:52], axis=0))


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ([2, 2], r"n_centroids has shape \(2,\), .* each of the 3 classes"),
        ([2], r"n_centroids has shape \(1,\), .* each of the 3 classes"),
        ([[1, 1, 1]], r"n_centroids has shape \(1, 3\)"),
        ([1, 0, 2], r"n_centroids=\[1, 0, 2\] must contain integers of at least 1"),
        ([1, 1.5, 2], r"n_centroids=\[1, 1\.5, 2\] must contain integers"),
        (["a", "b", "c"], r"n_centroids=\['a', 'b', 'c'\] must contain integers"),
        (0, "'n_centroids' parameter of NCMC must be an int in the range"),
        (1.5, "'n_centroids' parameter of NCMC must be an int in the range"),
    ],
)
def test_invalid_n_centroids_raise(value, says):
    with pytest.raises(ValueError, match=says):
        NCMC(n_centroids=value).fit(X, y)


def test_separable_data_converge():
    A, labels = make_blobs(60, 3, centers=[[0, 0, 0], [9, 9, 9]], random_state=0)
    facts = NCMC(init=np.eye(3) / 5, reg=0.0, tol=1e-5, random_state=0).fit(A, labels).metadata()
    assert facts["reason"] == "within tol of the infimum"
    assert facts["converged"]
    assert -1e-5 < facts["final_objective"] < 0
