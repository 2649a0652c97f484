"""Tests of objectives over lists: references are loops, finite differences and the engine."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import approx_fprime

from dimetric import Pairs, Triplets
from dimetric.learners.ldml import LDMLRule
from dimetric.objectives import listed
from dimetric.objectives.listed import Graph, ListedObjective
from dimetric.objectives.margins.bounds import MarginBounds
from dimetric.objectives.margins.objective import pull_scale
from dimetric.objectives.margins.triplets import TripletObjective
from dimetric.objectives.objective import Objective, on_maps, on_metrics
from dimetric.objectives.pairwise import PairwiseObjective


def problem(rng, n=30, d=4, m=50):
    X, labels = rng.normal(size=(n, d)), rng.integers(0, 3, n)
    return X - X.mean(axis=0), Pairs.from_labels(labels, m, random_state=0)


def naive_ldml(L, b, X, pairs):
    """Return the mean loss, computed pair by pair."""
    total = 0.0
    for (i, j), similar in zip(pairs.rows, pairs.is_similar, strict=True):
        u = np.sum((L @ (X[i] - X[j])) ** 2) - b
        total += np.logaddexp(0, u if similar else -u)
    return total / len(pairs)


def naive_margins(L, X, triplets, *, mu, width):
    """Return the mean of pulls and pushes, computed triplet by triplet."""
    total = 0.0
    for i, j, l in triplets.rows:
        near, far = (np.sum((L @ (X[i] - X[other])) ** 2) for other in (j, l))
        t = 1 + near - far
        hinge = (t + width / 2) ** 2 / (2 * width) if 2 * abs(t) < width else max(t, 0.0)
        total += (1 - mu) * near + mu * hinge
    return total / len(triplets)


def test_pairs_match_a_naive_loop(rng, namespace):
    X, pairs = problem(rng)
    flat = np.append(rng.normal(size=(2, 4)), 1.3)
    objective = ListedObjective.of_pairs(LDMLRule(), namespace.asarray(X), pairs, [1.0])
    value, grad = on_maps(objective, ridge=0.1)(flat)

    def loop(x):
        return naive_ldml(x[:-1].reshape(2, 4), x[-1], X, pairs) + 0.1 * np.sum(x[:-1] ** 2)

    assert_allclose(value, loop(flat), rtol=1e-12)
    assert_allclose(grad, approx_fprime(flat, loop), atol=1e-6)


@pytest.mark.parametrize("width", [0.0, 0.3, 2.0])
def test_triplets_match_a_naive_loop(rng, namespace, width):
    X, triplets = rng.normal(size=(12, 3)), Triplets.from_labels(np.arange(12) % 3, 40)
    L = rng.normal(size=(2, 3))
    objective = TripletObjective(namespace.asarray(X), triplets.rows, mu=0.3, width=width)
    value, grad = on_maps(objective)(L.ravel())

    def loop(x):
        return naive_margins(x.reshape(2, 3), X, triplets, mu=0.3, width=width)

    assert_allclose(value, loop(L.ravel()), rtol=1e-12)
    assert_allclose(grad, approx_fprime(L.ravel(), loop), atol=1e-6)
    assert objective.n_terms == len(triplets)


@pytest.mark.parametrize("form", [on_maps, on_metrics])
def test_list_of_all_pairs_matches_the_engine(rng, namespace, form):
    X, codes = rng.normal(size=(25, 3)), np.sort(rng.integers(0, 3, 25))
    X = namespace.asarray(X - X.mean(axis=0))
    all_pairs = ListedObjective.of_pairs(LDMLRule(), X, Pairs.from_labels(codes), [0.0])
    engine = PairwiseObjective(LDMLRule(), X, codes, [0.0])
    at = np.append(np.eye(3), 1.5)
    for a, b in zip(form(all_pairs)(at), form(engine)(at), strict=True):
        assert_allclose(a, b, rtol=1e-9, atol=1e-12)
    assert all_pairs.n_similar() == engine.n_similar()
    assert all_pairs.n_terms == engine.n_terms


def test_gradients_by_laplacian_and_by_differences_agree(rng, namespace, monkeypatch):
    X, pairs = problem(rng)
    objective = ListedObjective.of_pairs(LDMLRule(2.0), namespace.asarray(X), pairs)
    L = namespace.asarray(rng.normal(size=(2, 4)))
    for gradient in ("gradient_in_map", "gradient_in_metric"):
        loss, expected, _ = getattr(Objective, gradient)(objective, L, objective.theta)
        for block in (listed.BLOCK_ENTRIES, 30):
            monkeypatch.setattr(listed, "BLOCK_ENTRIES", block)
            found = getattr(objective, gradient)(L, objective.theta)
            assert_allclose(found[0], loss, rtol=1e-12)
            assert_allclose(np.asarray(found[1]), np.asarray(expected), atol=1e-12)


def test_samples_without_pairs_are_dropped(rng):
    X, pairs = problem(rng, n=500, m=20)
    objective = ListedObjective.of_pairs(LDMLRule(1.0), X, pairs)
    assert len(objective.points) == len(np.unique(pairs.rows))
    assert_allclose(on_maps(objective)(np.eye(4).ravel())[0], naive_ldml(np.eye(4), 1.0, X, pairs))


def test_repeating_all_pairs_does_not_change_the_mean(rng):
    X, pairs = problem(rng)
    doubled = Pairs(*(np.concatenate([rows, rows]) for rows in (pairs.similar, pairs.dissimilar)))
    once, twice = (
        on_maps(ListedObjective.of_pairs(LDMLRule(1.0), X, listed_pairs))(np.eye(4).ravel())
        for listed_pairs in (pairs, doubled)
    )
    assert_allclose(twice[0], once[0])
    assert_allclose(twice[1], once[1])


def test_within_class_covariance_is_estimated_from_similar_pairs(rng, namespace):
    X, pairs = problem(rng)
    objective = ListedObjective.of_pairs(LDMLRule(), namespace.asarray(X), pairs)
    delta = X[pairs.similar[:, 0]] - X[pairs.similar[:, 1]]
    assert_allclose(
        objective.within_class_covariance(), delta.T @ delta / (2 * len(delta)), atol=1e-12
    )


def test_laplacian_product_matches_a_dense_matrix(rng):
    rows = np.array([[0, 1], [1, 3], [0, 1]])
    w, V = rng.normal(size=3), rng.normal(size=(4, 2))
    W = np.zeros((4, 4))
    np.add.at(W, tuple(rows.T), w)
    W = W + W.T
    expected = (np.diag(W.sum(axis=0)) - W) @ V
    assert_allclose(Graph(rows, 4).laplacian_product(w, V), expected, atol=1e-15)


def test_batch_is_the_objective_of_its_pairs_or_triplets(rng):
    X, pairs = problem(rng)
    objective = ListedObjective.of_pairs(LDMLRule(1.0), X, pairs)
    rows = np.array([0, 3, 30, 44])
    part = on_maps(objective.batch(rows))(np.eye(4).ravel())[0]
    assert_allclose(part, naive_ldml(np.eye(4), 1.0, X, pairs[rows]))
    assert objective.batch(np.arange(3)) is None  # all similar
    triplets = Triplets.from_labels(np.arange(30) % 3, 40, random_state=0)
    whole = TripletObjective(X, triplets.rows, mu=0.3, width=0.1)
    part = on_maps(whole.batch(rows[:2]))(np.eye(4).ravel())[0]
    assert_allclose(part, naive_margins(np.eye(4), X, triplets[rows[:2]], mu=0.3, width=0.1))


def test_pull_matrix_of_triplets(rng, namespace):
    X, triplets = rng.normal(size=(12, 3)), Triplets.from_labels(np.arange(12) % 3, 40)
    objective = TripletObjective(namespace.asarray(X), triplets.rows, mu=0.3)
    delta = X[triplets.anchor] - X[triplets.closer]
    assert_allclose(objective.pull_matrix(), 0.7 * delta.T @ delta / len(triplets), atol=1e-12)
    T = pull_scale(objective, 0.0)
    scaled = T @ objective.pull_matrix() @ T.T
    assert_allclose(scaled, np.eye(3), atol=0.1)  # pull_scale adds a small ridge


def test_smoothed_triplets_with_other_points(rng):
    X, triplets = rng.normal(size=(12, 3)), Triplets.from_labels(np.arange(12) % 3, 40)
    objective = TripletObjective(X, triplets.rows, mu=0.3)
    B, L = rng.normal(size=(3, 3)), np.eye(3)
    moved = objective.with_points(X @ B).smoothed(0.5)
    expected = naive_margins(L, X @ B, triplets, mu=0.3, width=0.5)
    assert_allclose(on_maps(moved)(L.ravel())[0], expected)
    expected = naive_margins(L, X, triplets, mu=0.3, width=0.0)
    assert_allclose(on_maps(objective)(L.ravel())[0], expected)  # unchanged


def test_certificate_of_triplets_bounds_the_gap(rng):
    X, triplets = rng.normal(size=(12, 3)), Triplets.from_labels(np.arange(12) % 3, 40)
    objective = TripletObjective(X, triplets.rows, mu=0.5)
    f = on_maps(objective)
    bounds = MarginBounds(objective, 0.0)
    L = rng.normal(size=(3, 3))
    bounds.add(L, 0.1)
    found = bounds.certificate(f(L.ravel())[0], L)
    assert found.proven
    for _ in range(50):
        other = rng.normal(size=(3, 3)) * rng.uniform(0.05, 2)
        assert f(other.ravel())[0] >= f(L.ravel())[0] - found.gap - 1e-12


def test_memory_does_not_grow_with_features_times_pairs(rng):
    """The differences of 100,000 pairs with 50 features would take 40 MB."""
    X = rng.normal(size=(2000, 50))
    pairs = Pairs.from_labels(rng.integers(0, 5, 2000), 100_000, random_state=0)
    objective = ListedObjective.of_pairs(LDMLRule(1.0), X, pairs)
    f, at = on_maps(objective), np.eye(50).ravel()
    f(at)
    tracemalloc.start()
    f(at)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 25e6
