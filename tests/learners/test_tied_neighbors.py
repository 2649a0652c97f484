"""Learners that use neighbours depend neither on the order of tied rows nor on the axes."""

import numpy as np
import oracles
import pytest
from numpy.testing import assert_allclose
from scipy.spatial.distance import cdist

from dimetric import (
    ANMM,
    DMLMJ,
    KANMM,
    KDMLMJ,
    KLMNN,
    LMNN,
    PCA,
    EnergyClassifier,
    MultiMetricKNNClassifier,
)


def integer_grid(rng):
    return rng.integers(0, 4, size=(60, 3)).astype(float)


def decimal_grid(rng):
    # Differences of such numbers are equal only up to rounding.
    return rng.integers(0, 5, size=(60, 3)) * 0.1 + 0.7


def binary_features(rng):
    return rng.integers(0, 2, size=(60, 6)).astype(float)


def duplicates(rng):
    return np.vstack([np.repeat(rng.normal(size=(15, 3)), 2, axis=0), rng.normal(size=(30, 3))])


TIED_DATA = [integer_grid, decimal_grid, binary_features, duplicates]
LEARNERS = [
    ANMM(2),
    ANMM(2, n_friends=5, n_enemies=2),
    DMLMJ(2),
    DMLMJ(alpha=0),
    LMNN(max_iter=10),
    LMNN(2, n_neighbors=2, max_iter=10),
    LMNN(solver="sdp", max_iter=10),
    LMNN(n_passes=2, max_iter=10),
    KANMM(2),
    KANMM(2, orthonormal="coefficients"),
    KDMLMJ(2),
    KLMNN(max_iter=10),
]


def labelled(make, rng):
    X = make(rng)
    # Duplicates have the same class, so that the problem has a solution.
    distinct, place = np.unique(X, axis=0, return_inverse=True)
    return X, rng.integers(0, 3, size=len(distinct))[place.ravel()]


def distances(learner, X, y, at):
    Z = learner.fit(X, y).transform(at)
    return cdist(Z, Z)


@pytest.mark.parametrize("change", ["rows", "features"])
@pytest.mark.parametrize("make", TIED_DATA)
@pytest.mark.parametrize("learner", LEARNERS, ids=str)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_order_of_rows_and_axes_have_no_effect(learner, make, change, rng):
    X, y = labelled(make, rng)
    expected = distances(learner, X, y, X)
    A, order = X, np.arange(len(X))
    if change == "rows":
        order = rng.permutation(len(X))
    else:  # this changes the order into which learners sort samples, and the first of tied ones
        A = -X[:, rng.permutation(X.shape[1])]
    found = distances(learner, A[order], y[order], A)
    assert_allclose(found, expected, rtol=0, atol=1e-6 * expected.max())


def scatter_by_loops(X, y, k, same_class):
    """Return the mean scatter of the differences to k neighbours, where tied ones share places."""
    D, S = cdist(X, X), np.zeros((X.shape[1], X.shape[1]))
    for i in range(len(X)):
        others = np.flatnonzero((y == y[i]) == same_class)
        others = others[others != i]
        kth = np.sort(D[i, others])[k - 1]
        nearer = others[D[i, others] < kth - 1e-9]
        tied = others[abs(D[i, others] - kth) <= 1e-9]
        for j in [*nearer, *tied]:
            weight = 1.0 if j in nearer else (k - len(nearer)) / len(tied)
            S += weight / k * np.outer(X[i] - X[j], X[i] - X[j])
    return S


@pytest.mark.parametrize("make", [integer_grid, decimal_grid, binary_features])
def test_scatters_match_loops_with_weights(make, rng):
    X, y = labelled(make, rng)
    C, S = (scatter_by_loops(X, y, k, same) for k, same in ((3, True), (2, False)))
    values = np.linalg.eigvalsh(S - C)[::-1]
    anmm = ANMM(2, n_friends=3, n_enemies=2).fit(X, y)
    assert_allclose(anmm.metadata()["margin"], values[:2].sum(), rtol=1e-9)
    # With all components, the metric of DMLMJ is the inverse of the covariance of friends.
    M = DMLMJ(n_neighbors=3, alpha=0, weighting=None).fit(X, y).metric()
    assert_allclose(M, np.linalg.inv(C / len(X)), rtol=1e-7, atol=1e-9 * np.abs(M).max())


def pairs_by_loops(X, y, k):
    """Return all pairs of a sample and a target, and their weights."""
    D, pairs, weights = cdist(X, X), [], []
    for i in range(len(X)):
        others = np.flatnonzero(y == y[i])
        others = others[others != i]
        kth = np.sort(D[i, others])[k - 1]
        nearer = others[D[i, others] < kth - 1e-9]
        tied = others[abs(D[i, others] - kth) <= 1e-9]
        pairs += [(i, j) for j in [*nearer, *tied]]
        weights += [1.0] * len(nearer) + [(k - len(nearer)) / len(tied)] * len(tied)
    return np.array(pairs), np.array(weights)


@pytest.mark.parametrize("solver", ["lbfgs", "sdp"])
def test_optimum_and_gap_of_lmnn_match_a_convex_solver(solver, rng):
    X, y = rng.integers(0, 3, size=(30, 3)).astype(float), np.arange(30) % 2
    learner = LMNN(n_neighbors=2, solver=solver, reg=0.0, tol=1e-8, max_iter=5000).fit(X, y)
    pairs, weights = pairs_by_loops(X, y, 2)
    facts = learner.metadata()
    found = oracles.lmnn_value(X, y, learner.metric(), pairs, weights)
    assert_allclose(facts["final_objective"], found, rtol=1e-9)
    best = oracles.lmnn_optimum(X, y, pairs, weights)[1]
    assert found - best <= 1e-3 * max(1, best)
    assert found - best - 1e-6 * max(1, best) <= facts["gap"] <= 1e-2 * max(1, found)


@pytest.mark.parametrize("make", TIED_DATA)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_weights_of_targets_sum_to_their_number(make, rng):
    X, y = labelled(make, rng)
    learner = LMNN(max_iter=2, n_neighbors=3).fit(X, y)
    assert_allclose(learner.target_weights_.sum(axis=1), 3)
    present = learner.targets_ >= 0
    assert np.all((learner.target_weights_ > 0) == present)
    assert np.all(
        y[learner.targets_][present] == np.broadcast_to(y[:, None], present.shape)[present]
    )
    assert np.all(learner.targets_ != np.arange(len(X))[:, None])


def test_weights_are_1_without_ties(rng):
    X, y = rng.normal(size=(40, 3)), np.arange(40) % 2
    learner = LMNN().fit(X, y)
    assert_allclose(learner.target_weights_, np.ones((40, 3)))


@pytest.mark.parametrize("make", TIED_DATA)
@pytest.mark.parametrize("learner", [LMNN(max_iter=10), PCA()], ids=str)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_energies_do_not_depend_on_order_or_axes(learner, make, rng):
    X, y = labelled(make, rng)
    order, A = rng.permutation(len(X)), -X[:, rng.permutation(X.shape[1])]
    expected = EnergyClassifier(learner).fit(X, y).energy(X)
    found = EnergyClassifier(learner).fit(A[order], y[order]).energy(A)
    assert_allclose(found, expected, rtol=1e-6, atol=1e-6 * expected.max())


@pytest.mark.parametrize("make", TIED_DATA)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_maps_of_classes_do_not_depend_on_the_order_of_rows(make, rng):
    X, y = labelled(make, rng)
    order = rng.permutation(len(X))
    first, second = (
        MultiMetricKNNClassifier(max_iter=5).fit(X[rows], y[rows]).components_
        for rows in (np.arange(len(X)), order)
    )
    assert_allclose(second, first, rtol=0, atol=1e-6 * np.abs(first).max())
