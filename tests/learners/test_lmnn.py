"""Tests specific to LMNN: its optimum, its targets and its passes."""

import warnings
from unittest.mock import patch

import numpy as np
import oracles
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris, load_wine, make_blobs, make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler

from dimetric import LMNN, Triplets
from dimetric.learners._fitting import margin_stages, target_search
from dimetric.solvers import SGD, GradientDescent

X, y = load_iris(return_X_y=True)


def exact_lmnn(*args, **params):
    """Return LMNN without the defaults that trade the optimum for generalisation."""
    return LMNN(*args, **{"reg": 0.0, "tol": 1e-6} | params)


def overlapping(n=40, d=3, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % n_classes
    return rng.normal(size=(n, d)) + (labels[:, None] == np.arange(d)), labels


def as_pairs(targets):
    """Return targets as an array of pairs (sample, target), which the oracle takes."""
    i, rank = np.nonzero(targets >= 0)
    return np.stack([i, targets[i, rank]], axis=1)


def value(learner, X, y):
    """Return the objective of a fitted learner, computed by its formula."""
    pairs, weights = as_pairs(learner.targets_), learner.target_weights_[learner.targets_ >= 0]
    return oracles.lmnn_value(
        X, y, learner.metric(), pairs, weights, mu=learner.mu, reg=learner.reg
    )


CASES = {
    "overlapping": (*overlapping(), {}),
    "three classes": (*overlapping(45, 4, 3, seed=1), {"n_neighbors": 2}),
    "separable": (*make_blobs(40, 3, centers=2, cluster_std=2.0, random_state=0), {}),
    "small mu": (*overlapping(seed=2), {"mu": 0.05}),
    "ridge": (*overlapping(seed=3), {"reg": 0.5}),
    "large values": (100 * overlapping(seed=4)[0], overlapping()[1], {"reg": 0.5}),
}


@pytest.mark.parametrize("solver", ["lbfgs", "sdp"])
@pytest.mark.parametrize("case", CASES)
def test_optimum_and_gap_match_a_convex_solver(case, solver):
    X, y, params = CASES[case]
    learner = exact_lmnn(solver=solver, tol=1e-8, max_iter=5000, **params).fit(X, y)
    facts = learner.metadata()
    f = facts["final_objective"]
    assert_allclose(f, value(learner, X, y), rtol=1e-9)
    best = oracles.lmnn_optimum(X, y, as_pairs(learner.targets_), mu=learner.mu, reg=learner.reg)[1]
    assert facts["converged"]
    assert f - best <= 1e-3 * max(1, abs(best))
    assert f - best - 1e-6 * max(1, abs(best)) <= facts["gap"] <= 1e-2 * max(1, abs(f))
    assert facts["gap_proven"]
    assert np.trace(learner.metric()) <= facts["gap_radius"]


@pytest.mark.parametrize("solver", ["lbfgs", "sdp", "bgd"])
@pytest.mark.parametrize("max_iter", [1, 3, 10])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_gap_bounds_the_distance_to_the_optimum(solver, max_iter):
    X, y = overlapping(seed=5)
    learner = exact_lmnn(solver=solver, max_iter=max_iter).fit(X, y)
    facts = learner.metadata()
    best = oracles.lmnn_optimum(X, y, as_pairs(learner.targets_))[1]
    assert facts["final_objective"] - best <= facts["gap"] + 1e-6
    assert facts["gap"] <= facts["final_objective"] * (1 + 1e-9)


def test_gap_if_targets_do_not_differ_in_a_direction(rng):
    X, y = overlapping(40, 2)
    X = np.column_stack([X, np.repeat(rng.normal(size=10), 4)])  # constant in groups of four
    y = np.tile([0, 0, 1, 1], 10)
    targets = (np.arange(40) ^ 1)[:, None]  # in the same group
    facts = exact_lmnn(targets=targets).fit(X, y).metadata()
    best = oracles.lmnn_optimum(X, y, as_pairs(targets))[1]
    f = facts["final_objective"]
    assert f - best <= facts["gap"] <= 1e-2 * max(1, f)
    assert facts["gap_proven"]


@pytest.mark.parametrize(
    ("params", "has_gap"),
    [
        ({}, True),
        ({"n_components": 2}, False),
        ({"solver": "sdp"}, True),
        ({"solver": "sgd", "random_state": 0}, False),
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_reported_objectives_use_the_exact_hinge(params, has_gap):
    learner = exact_lmnn(init=np.eye(params.get("n_components", 4), 4), **params).fit(X, y)
    facts = learner.metadata()
    assert_allclose(facts["final_objective"], value(learner, X, y))
    assert ("gap" in facts) == has_gap
    if params.get("solver") != "sgd":
        start = learner_at_start(params)
        assert_allclose(facts["initial_objective"], value(start, X, y))


def learner_at_start(params):
    """Return a fitted learner whose map is replaced by the start."""
    learner = exact_lmnn(max_iter=1, **params)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        learner.fit(X, y)
    learner.components_ = np.eye(params.get("n_components", 4), 4)
    return learner


def test_named_starts_are_rescaled_and_given_ones_are_not():
    given = [exact_lmnn(init=s * np.eye(4)).fit(X, y).metadata() for s in 2.0 ** np.arange(-4, 5)]
    named = exact_lmnn(init="identity").fit(X, y).metadata()
    assert named["initial_objective"] < 1.001 * min(g["initial_objective"] for g in given)
    far = exact_lmnn(init=1e-3 * np.eye(4)).fit(X, y).metadata()["final_objective"]
    assert_allclose(far, exact_lmnn().fit(X, y).metadata()["final_objective"], rtol=1e-3)


def test_batch_gradient_descent_decreases_the_objective():
    results, minimise = [], GradientDescent.minimise

    def recorded(*args, **kwargs):
        results.append(minimise(*args, **kwargs))
        return results[-1]

    with patch.object(GradientDescent, "minimise", recorded):
        learner = exact_lmnn(solver="bgd", max_iter=1000).fit(X, y)
    (result,) = results
    assert (np.diff(result.history) < 0).all()
    assert_allclose(result.value, learner.metadata()["final_objective"])
    assert result.value < 1.02 * exact_lmnn().fit(X, y).metadata()["final_objective"]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_mini_batches_come_close_to_the_optimum():
    A, labels = make_classification(
        1500, 6, n_informative=4, n_redundant=0, n_classes=3, random_state=0
    )
    best = exact_lmnn(init=np.eye(6)).fit(A, labels).metadata()
    facts = exact_lmnn(solver=SGD(batch_size=128), random_state=0).fit(A, labels).metadata()
    assert facts["final_objective"] < 1.01 * best["final_objective"]
    assert best["initial_objective"] > 1.03 * best["final_objective"]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_objective_of_many_samples_is_estimated_from_mini_batches(rng):
    A, labels = overlapping(400, 4)
    with (
        patch.object(margin_stages, "MAX_TERMS_EVALUATED", 300),
        patch.object(target_search, "MAX_FRIENDS_SEARCHED", 50),
    ):
        learner = exact_lmnn(solver=SGD(batch_size=100), random_state=0, max_iter=30).fit(A, labels)
    facts = learner.metadata()
    assert_allclose(facts["final_objective"], value(learner, A, labels), rtol=0.2)
    assert facts["final_objective"] < facts["initial_objective"]
    assert (labels[learner.targets_] == labels[:, None]).all()


# Targets


def test_targets_are_the_nearest_neighbours_of_the_class(rng):
    A, labels = overlapping(50)
    p = rng.permutation(50)
    A, labels = A[p], labels[p]
    learner = exact_lmnn(n_neighbors=2).fit(A, labels)
    D = np.where(labels[:, None] == labels, oracles.squared_distances(A, np.eye(3)), np.inf)
    np.fill_diagonal(D, np.inf)
    assert_array_equal(learner.targets_, np.argsort(D, axis=1)[:, :2])


def test_given_targets_are_used(rng):
    A, labels = overlapping(50)
    nearest = exact_lmnn().fit(A, labels)
    with_targets = exact_lmnn(targets=nearest.targets_, n_neighbors=7).fit(A, labels)
    assert_array_equal(with_targets.components_, nearest.components_)
    assert_array_equal(with_targets.targets_, nearest.targets_)
    other = np.array([rng.choice(np.flatnonzero(labels == c), 2) for c in labels])
    other[other == np.arange(50)[:, None]] = -1
    learner = exact_lmnn(targets=other).fit(A, labels)
    assert_array_equal(learner.targets_, other)
    assert_allclose(learner.metadata()["final_objective"], value(learner, A, labels))


def test_given_targets_are_checked():
    with pytest.raises(
        ValueError, match=r"targets\[0\] = \[60\] contains a sample of another class"
    ):
        exact_lmnn(targets=np.full((150, 1), 60)).fit(X, y)
    with pytest.raises(ValueError, match="n_passes=2 chooses new targets, but targets are given"):
        exact_lmnn(targets=np.full((150, 1), -1), n_passes=2).fit(X, y)


def test_second_pass_chooses_targets_by_the_learned_distance():
    A, labels = overlapping(80, 6, seed=1)
    first = exact_lmnn(max_iter=1000, tol=1e-8).fit(A, labels)
    second = exact_lmnn(max_iter=2000, tol=1e-8, n_passes=2).fit(A, labels)
    D = oracles.squared_distances(A, first.metric())
    D = np.where(labels[:, None] == labels, D, np.inf)
    np.fill_diagonal(D, np.inf)
    assert_array_equal(second.targets_, np.argsort(D, axis=1)[:, :3])
    assert (second.targets_ != first.targets_).any()
    facts = second.metadata()
    assert_allclose(facts["final_objective"], value(second, A, labels))
    assert facts["final_objective"] < first.metadata()["final_objective"]
    assert facts["initial_objective"] == first.metadata()["initial_objective"]
    assert second.n_iter_ > first.n_iter_
    best = oracles.lmnn_optimum(A, labels, as_pairs(second.targets_))[1]
    assert -1e-6 <= facts["final_objective"] - best <= facts["gap"] + 1e-6


def test_passes_share_max_iter():
    with pytest.warns(ConvergenceWarning, match="max_iter=4 reached. Increase max_iter"):
        assert exact_lmnn(max_iter=4, n_passes=2).fit(X, y).n_iter_ == 4


def test_passes_end_when_targets_do_not_change():
    A, labels = make_blobs(60, 2, centers=3, cluster_std=0.1, random_state=0)
    once, often = (
        exact_lmnn(n_neighbors=1, n_passes=p, max_iter=2000).fit(A, labels) for p in (2, 50)
    )
    if (once.targets_ == often.targets_).all():
        assert often.n_iter_ <= 3 * once.n_iter_


def test_samples_of_small_classes_have_fewer_targets():
    labels = y.copy()
    labels[:2], labels[2] = 7, 8
    alone = r"1 of 5 classes have a single sample: \[8\]. These samples have no neighbour"
    few = "3 of 150 samples have fewer than 3 friends"
    with pytest.warns(UserWarning, match=alone), pytest.warns(UserWarning, match=few):
        learner = exact_lmnn().fit(X, labels)
    assert_array_equal(learner.targets_[:3, :3], [[1, -1, -1], [0, -1, -1], [-1, -1, -1]])
    assert_array_equal(learner.target_weights_[:3].sum(axis=1), [1, 1, 0])
    assert_allclose(learner.metadata()["final_objective"], value(learner, X, labels))


# Difficult data


def test_one_class_keeps_the_initial_map():
    with pytest.warns(UserWarning, match="y has only one class, so LMNN has nothing to learn"):
        learner = exact_lmnn().fit(X, np.zeros(150))
    assert_array_equal(learner.components_, np.eye(4))
    assert learner.n_iter_ == 0


def test_identical_samples_warn():
    with pytest.warns(ConvergenceWarning, match="LMNN made no progress, because all samples"):
        learner = exact_lmnn().fit(np.ones((10, 3)), np.arange(10) % 2)
    assert np.isfinite(learner.components_).all()
    assert learner.metadata()["gap"] < 1e-9


@pytest.mark.parametrize("far", [1e4, 1e6])
def test_an_outlier_does_not_reduce_the_accuracy(far):
    A, labels = np.vstack([X, np.full((1, 4), far)]), np.append(y, 0)
    learner = exact_lmnn().fit(A, labels)
    expected = value(learner, A, labels)
    # Squared distances of 1e12 have rounding errors of 1e-4.
    assert_allclose(learner.metadata()["final_objective"], expected, rtol=1e-5)
    assert expected < 5


def test_features_of_very_different_scales():
    A, labels = load_wine(return_X_y=True)  # from 0.1 to 1,000
    sizes = np.geomspace(1e-3, 1e3, 13)
    raw, scaled = (exact_lmnn(init=np.diag(s)).fit(A / s, labels) for s in (np.ones(13), sizes))
    # Targets differ, because distances do, but both fits converge.
    for learner in (raw, scaled):
        facts = learner.metadata()
        assert facts["converged"]
        assert facts["gap"] < 0.02 * max(1, facts["final_objective"])


def test_sdp_requires_all_components():
    with pytest.raises(ValueError, match=r"make_pipeline\(PCA\(2\), LMNN\(solver='sdp'\)\)"):
        exact_lmnn(2, solver="sdp").fit(X, y)


def test_warm_start_continues_from_the_previous_map():
    with pytest.warns(ConvergenceWarning, match="max_iter=3"):
        learner = exact_lmnn(max_iter=3, warm_start=True).fit(X, y)
    first = learner.metadata()["final_objective"]
    learner.set_params(max_iter=300).fit(X, y)
    assert_allclose(learner.metadata()["initial_objective"], first)
    assert learner.metadata()["final_objective"] < first


def test_nearest_neighbour_accuracy_does_not_drop():
    A, labels = load_wine(return_X_y=True)
    A = StandardScaler().fit_transform(A)
    train, test = np.arange(178) % 2 == 0, np.arange(178) % 2 == 1
    learner = exact_lmnn().fit(A[train], labels[train])
    plain, learned = (
        KNeighborsClassifier(3).fit(Z[train], labels[train]).score(Z[test], labels[test])
        for Z in (A, learner.transform(A))
    )
    assert learned >= plain - 0.02


@pytest.mark.parametrize("solver", ["lbfgs", "sdp"])
def test_rescaling_does_not_shrink_the_start_to_zero(solver, rng):
    labels = np.arange(30) % 2
    A = rng.normal(size=(30, 3)) + (labels[:, None] == np.arange(3))
    learner = exact_lmnn(mu=0.01, solver=solver, max_iter=1000).fit(A, labels)
    _, best = oracles.lmnn_optimum(A, labels, as_pairs(learner.targets_), mu=0.01)
    assert learner.metadata()["final_objective"] <= best + 1e-3


def test_fewer_samples_than_features_have_a_certificate(rng):
    labels = np.arange(12) % 2
    A = rng.normal(size=(12, 16)) + (labels[:, None] == np.arange(16))
    facts = exact_lmnn(reg=0.1, max_iter=1000).fit(A, labels).metadata()
    assert facts["gap_proven"]
    assert facts["gap"] < 1e-2


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_gap_after_an_early_stop_holds_for_large_metrics(rng):
    labels = np.arange(30) % 2
    A = (rng.normal(size=(30, 3)) + (labels[:, None] == np.arange(3))) * [1e-4, 1, 1e4]
    facts = exact_lmnn(solver="bgd", max_iter=3).fit(A, labels).metadata()
    assert facts["gap_proven"]
    assert facts["gap_radius"] > 1e6


@pytest.mark.parametrize("params", [{}, {"mu": 0.9}, {"reg": 0.3}, {"solver": "sdp"}], ids=str)
def test_optimum_of_triplets_matches_a_convex_solver(params):
    A, labels = overlapping(40, 3, 3)
    triplets = Triplets.from_labels(labels, 300, random_state=0)
    oracle_params = {name: value for name, value in params.items() if name != "solver"}
    _, best = oracles.triplets_optimum(A, triplets.rows, **oracle_params)
    facts = exact_lmnn(tol=1e-7, max_iter=2000, **params).fit(A, triplets=triplets).metadata()
    assert abs(facts["final_objective"] - best) < 1e-3 * max(1, abs(best))
    assert facts["final_objective"] - best <= facts["gap"] + 1e-6
    assert facts["gap_proven"]


def test_all_triplets_are_equivalent_to_labels():
    """LMNN sums over the same triplets, but pulls each target once instead of in each triplet."""
    A, labels = overlapping(30, 3, 2)
    by_labels = exact_lmnn(n_neighbors=1, mu=0.5, tol=1e-8).fit(A, labels)
    rows = [
        (i, by_labels.targets_[i, 0], l)
        for i in range(30)
        for l in np.flatnonzero(labels != labels[i])
    ]
    # Each target is in 15 triplets and is pulled 15 times, which mu compensates.
    by_triplets = exact_lmnn(mu=15 / 16, tol=1e-8).fit(A, triplets=Triplets.from_rows(rows))
    assert_allclose(by_triplets.metric(), by_labels.metric(), atol=0.02)


def test_triplets_cannot_be_combined_with_targets():
    triplets = Triplets.from_labels(y, 100, random_state=0)
    with pytest.raises(ValueError, match="n_passes=2 chooses new targets, but triplets are given"):
        exact_lmnn(n_passes=2).fit(X, triplets=triplets)
    with pytest.raises(ValueError, match="targets cannot be used with triplets"):
        exact_lmnn(targets=np.full((150, 1), -1)).fit(X, triplets=triplets)
    assert not hasattr(exact_lmnn().fit(X, triplets=triplets), "targets_")


@pytest.mark.parametrize("solver", ["bgd", SGD(batch_size=100)], ids=str)
def test_all_solvers_learn_from_triplets(solver):
    triplets = Triplets.from_labels(y, 2000, random_state=0)
    best = exact_lmnn().fit(X, triplets=triplets).metadata()["final_objective"]
    learner = exact_lmnn(solver=solver, random_state=0, tol=1e-4)
    value = learner.fit(X, triplets=triplets).metadata()["final_objective"]
    assert value < 1.1 * best


def test_given_targets_with_unlabelled_samples(rng):
    labels = np.where(np.arange(150) % 3 == 0, -1, y)
    A = X + rng.normal(scale=1e-4, size=X.shape)  # no ties, so that all targets have weight 1
    first = exact_lmnn(unlabelled=-1).fit(A, labels)
    again = exact_lmnn(unlabelled=-1, targets=first.targets_).fit(A, labels)
    assert_array_equal(again.components_, first.components_)
    wrong = first.targets_.copy()
    wrong[1, 0] = 3
    with pytest.raises(ValueError, match=r"targets\[1\] = .* contains a sample of another class"):
        exact_lmnn(unlabelled=-1, targets=wrong).fit(A, labels)
