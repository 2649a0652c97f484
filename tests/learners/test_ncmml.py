"""Tests specific to NCMML: its likelihood, its optimum, class means and maps with few rows."""

import cvxpy as cp
import numpy as np
import pytest
from numpy.testing import assert_allclose
from oracles import ridge_weight
from scipy.special import log_softmax
from sklearn.datasets import load_breast_cancer, load_iris, make_blobs
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from dimetric import NCMML

X, y = load_iris(return_X_y=True)


def likelihood(L, X, y):
    """Return the mean log-likelihood of the labels, given distances to the class means."""
    means = np.stack([X[y == c].mean(axis=0) for c in np.unique(y)])
    D = ((X[:, None, :] @ L.T - means @ L.T) ** 2).sum(axis=2)
    return log_softmax(-D / 2, axis=1)[np.arange(len(X)), y].mean()


@pytest.mark.parametrize("n_components", [None, 1])
def test_objective_matches_the_likelihood(n_components):
    init = np.eye(n_components or 4, 4)
    ncmml = NCMML(n_components, init=init, reg=0.0).fit(X, y)
    facts = ncmml.metadata()
    assert_allclose(facts["final_objective"], likelihood(ncmml.components_, X, y))
    assert_allclose(facts["initial_objective"], likelihood(init, X, y))


@pytest.mark.parametrize("unit", [1e-4, 1e4])
def test_the_optimum_is_found_in_any_unit(unit):
    best, result = (NCMML(max_iter=500).fit(A, y).metadata() for A in (X, unit * X))
    assert result["converged"]
    assert_allclose(result["final_objective"], best["final_objective"], atol=1e-4)


def optimum(X, y, reg):
    """Return the maximum of the objective over all metrics, found by a convex solver."""
    n, d = X.shape
    means = np.stack([X[y == c].mean(axis=0) for c in np.unique(y)])
    M = cp.Variable((d, d), PSD=True)
    terms = []
    for x, label in zip(X, y, strict=True):
        d2 = cp.hstack([(x - mean) @ M @ (x - mean) for mean in means])
        terms.append(-d2[label] / 2 - cp.log_sum_exp(-d2 / 2))
    problem = cp.Problem(cp.Maximize(sum(terms) / n - ridge_weight(X, reg) * cp.trace(M)))
    return problem.solve(cp.CLARABEL)


@pytest.fixture(scope="module")
def overlapping():
    return make_blobs(40, 3, centers=3, cluster_std=5, random_state=0)


@pytest.mark.parametrize("solver", ["lbfgs", "sdp"])
@pytest.mark.parametrize("reg", [0.0, 0.3])
def test_optimum_matches_a_convex_solver(solver, reg, overlapping):
    A, labels = overlapping
    best = optimum(A, labels, reg)
    facts = NCMML(solver=solver, reg=reg, tol=1e-7, max_iter=1000).fit(A, labels).metadata()
    assert_allclose(facts["final_objective"], best, atol=1e-6)
    assert facts["gap"] < 1e-2
    assert facts["gap_proven"] == (reg > 0)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("n_components", [2, 3])
@pytest.mark.parametrize("reg", [0.0, 0.3])
def test_gap_bounds_the_distance_to_the_optimum(n_components, reg, overlapping):
    """The gap holds at every iteration and for any unit of X."""
    A, labels = overlapping
    best = optimum(A, labels, reg)
    for max_iter in (1, 2, 4, 8, 16):
        for unit in (1.0, 64.0):
            L0 = np.eye(n_components, 3) / unit
            ncmml = NCMML(init=L0, max_iter=max_iter, reg=reg).fit(A * unit, labels)
            facts = ncmml.metadata()
            assert facts["gap"] >= best - facts["final_objective"] - 1e-7
            assert facts["gap_radius"] >= np.trace(ncmml.metric()) * (1 - 1e-9)


def test_a_map_of_too_few_rows_has_no_gap():
    assert "gap" not in NCMML(1).fit(X, y).metadata()
    assert "gap" in NCMML(2).fit(X, y).metadata()


def test_ridge_is_part_of_the_objective():
    ncmml = NCMML(reg=0.5).fit(X, y)
    L = ncmml.components_
    expected = likelihood(L, X, y) - ridge_weight(X, 0.5) * (L**2).sum()
    assert_allclose(ncmml.metadata()["final_objective"], expected)


def test_two_classes_match_logistic_regression():
    """The log odds are linear, and 0 in the middle between the two means."""
    A, labels = make_blobs(200, 4, centers=2, cluster_std=6, random_state=0)
    middle = (A[labels == 0].mean(axis=0) + A[labels == 1].mean(axis=0)) / 2
    logistic = LogisticRegression(C=np.inf, fit_intercept=False, tol=1e-10)
    odds = logistic.fit(A - middle, labels).predict_log_proba(A - middle)
    for n_components in (1, 4):
        facts = NCMML(n_components, reg=0.0, tol=1e-9, max_iter=500).fit(A, labels).metadata()
        assert_allclose(facts["final_objective"], odds[np.arange(200), labels].mean(), rtol=1e-6)


def test_fewer_rows_than_classes_reach_the_optimum():
    """Only the part of the map in the plane of the three class means matters."""
    whole, flat = (
        NCMML(k, init="pca", reg=0.0, tol=1e-9, max_iter=1000).fit(X, y).metadata() for k in (4, 2)
    )
    assert_allclose(flat["final_objective"], whole["final_objective"], atol=1e-6)


@pytest.mark.parametrize("d", [3, 60])
@pytest.mark.parametrize("shift", [0, 1000])
def test_centroids_are_class_means(d, shift, rng):
    A, labels = make_blobs(20, d, centers=3, cluster_std=8, random_state=0)
    ncmml = NCMML(reg=0.01).fit(A + shift, np.array(["c", "a", "b"])[labels])
    assert list(ncmml.centroid_classes_) == list(ncmml.classes_) == ["a", "b", "c"]
    expected = [A[labels == c].mean(axis=0) + shift for c in (1, 2, 0)]
    assert_allclose(ncmml.centroids_, expected)
    assert ncmml.n_centroids_ == (1, 1, 1)


def test_fewer_samples_than_features(rng):
    A, labels = make_blobs(20, 60, centers=3, cluster_std=8, random_state=0)
    L0 = rng.normal(size=(2, 60)) / 30
    ncmml = NCMML(2, init=L0, reg=0.0).fit(A, labels)
    facts = ncmml.metadata()
    assert_allclose(facts["initial_objective"], likelihood(L0, A, labels))
    assert_allclose(facts["final_objective"], likelihood(ncmml.components_, A, labels), rtol=1e-6)


def test_separable_data_converge():
    A, labels = make_blobs(60, 3, centers=[[0, 0, 0], [9, 9, 9]], random_state=0)
    facts = NCMML(init=np.eye(3) / 5, reg=0.0).fit(A, labels).metadata()
    assert facts["reason"] == "within tol of the infimum"
    assert facts["converged"]
    assert -1e-5 < facts["final_objective"] < 0


def test_a_start_with_vanishing_likelihood_converges():
    """Samples whose likelihood underflows still have a gradient."""
    A, labels = load_breast_cancer(return_X_y=True)
    A = StandardScaler().fit_transform(A)
    facts = NCMML(init=10 * np.eye(30), reg=0.0, tol=1e-5, max_iter=500).fit(A, labels).metadata()
    assert facts["initial_objective"] < -30
    assert facts["final_objective"] > -0.1
