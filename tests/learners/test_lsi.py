"""Tests specific to LSI: its objective, its optimum and its constraint."""

import numpy as np
import oracles
import pytest
from numpy.testing import assert_allclose
from scipy.linalg import eigh
from scipy.optimize import approx_fprime
from scipy.spatial.distance import pdist
from sklearn.base import clone
from sklearn.datasets import load_iris, load_wine
from sklearn.preprocessing import minmax_scale

from dimetric import ITML, LSI, PCA, DMLEig
from dimetric.learners._fitting.constrained import similar_scatter
from dimetric.learners._fitting.gain import (
    GainOverMaps,
    RegularizedGain,
    project_onto_metrics,
    project_onto_simplex,
)
from dimetric.learners.lsi import DistanceRule
from dimetric.objectives.engine import laplacian_product
from dimetric.objectives.fast import all_pairs
from dimetric.objectives.listed import ListedObjective
from dimetric.objectives.pairwise import PairwiseObjective
from dimetric.supervision.labels import Labels
from dimetric.supervision.pairs import Pairs

X, y = load_iris(return_X_y=True)
FEW = slice(None, None, 4)
OPTIMAL = {"reg": 0.0, "tol": 1e-9, "max_iter": 2000}


def pairs_of(labels):
    """Return all pairs of samples, similar if their labels are equal."""
    i, j = np.triu_indices(len(labels), 1)
    same = labels[i] == labels[j]
    rows = np.stack([i, j], axis=1)
    return Pairs(rows[same], rows[~same])


def constraint_value(lsi, A, labels, delta):
    """Return the left-hand side of the constraint."""
    S, d = oracles.similar_scatter(A, labels), oracles.n_directions(A, lsi.diagonal)
    return np.sum(lsi.metric() * (S + delta * np.trace(S) / d * np.eye(len(S))))


def test_objective_matches_a_loop(rng):
    A, labels = rng.normal(size=(17, 3)), np.repeat([0, 1, 2], [6, 5, 6])
    flat, epsilon, reg = rng.normal(size=9), np.array([0.01]), 0.7

    def loop(flat):
        L = flat.reshape(3, 3) / np.linalg.norm(flat)
        total = sum(
            np.sqrt(np.sum((L @ (A[i] - A[j])) ** 2) + 0.01)
            for i in range(17)
            for j in range(i)
            if labels[i] != labels[j]
        )
        return -np.log(total) - reg * np.log(3 * np.linalg.det(L.T @ L) ** (1 / 3))

    pairs = pairs_of(labels)
    kinds = np.ones(len(pairs.dissimilar), int)
    for objective in (
        PairwiseObjective(DistanceRule(), A, labels, epsilon),
        ListedObjective(DistanceRule(), A, pairs.dissimilar, kinds, epsilon),
    ):
        gain = RegularizedGain(objective, reg)
        value, grad = GainOverMaps(gain, np.eye(4), epsilon)(flat)
        np.testing.assert_allclose(value, loop(flat), rtol=1e-12)
        np.testing.assert_allclose(grad, approx_fprime(flat, loop), atol=1e-6)
        L = flat.reshape(3, 3) / np.linalg.norm(flat)
        assert gain.negative_log_at_metric(L.T @ L, epsilon)[0] == pytest.approx(value)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("block", [1, 7, 128])
def test_fast_path_matches_the_engine(block, threads, monkeypatch, rng):
    monkeypatch.setattr(all_pairs, "BLOCK_ROWS", block)
    monkeypatch.setattr("dimetric._arrays.threads.n_threads", lambda *_: threads)
    A, labels = np.round(rng.normal(size=(50, 3)), 1), np.sort(rng.integers(0, 4, 50))
    theta = np.array([0.01])
    objective = PairwiseObjective(DistanceRule(), A, labels, theta)
    value, product, _ = objective.evaluate(A, A, theta)
    expected, other, _ = laplacian_product(DistanceRule(), A, A, objective.side, theta)
    np.testing.assert_allclose(value, expected, rtol=1e-12)
    np.testing.assert_allclose(product, other, atol=1e-10)


def test_similar_scatter_of_labels_and_pairs(rng):
    A, labels = rng.normal(size=(20, 3)), np.sort(rng.integers(0, 3, 20))
    expected = oracles.similar_scatter(A, labels)
    for supervision in (Labels(labels, np.arange(3)), pairs_of(labels)):
        np.testing.assert_allclose(similar_scatter(A, supervision), expected)


PROBLEMS = [("iris", 0.0), ("iris", 0.1), ("wine", 0.1), ("a feature twice", 0.01)]
DATA = {
    "iris": (X[FEW], y[FEW]),
    "wine": (minmax_scale(load_wine().data)[::4], load_wine().target[::4]),
    "a feature twice": (X[FEW][:, [0, 1, 2, 0]], y[FEW]),
}


@pytest.mark.parametrize("diagonal", [False, True])
@pytest.mark.parametrize("solver", ["lbfgs", "projected"])
@pytest.mark.parametrize(("name", "delta"), PROBLEMS)
def test_optimum_and_gap_match_a_convex_solver(name, delta, solver, diagonal):
    A, labels = DATA[name]
    best = oracles.lsi_optimum(A, labels, delta=delta, diagonal=diagonal)
    lsi = LSI(solver=solver, delta=delta, diagonal=diagonal, **OPTIMAL).fit(A, labels)
    facts = lsi.metadata()
    true_gap = best - facts["final_objective"]
    assert true_gap <= 1e-3 * max(1, abs(best))
    assert true_gap - 1e-5 * abs(best) <= facts["gap"] <= 1e-3 * abs(best)
    value = oracles.lsi_value(A, labels, lsi.metric())
    np.testing.assert_allclose(facts["final_objective"], value, rtol=1e-6)
    assert constraint_value(lsi, A, labels, delta) == pytest.approx(1, abs=1e-6)
    if diagonal:
        np.testing.assert_array_equal(lsi.metric(), np.diag(np.diag(lsi.metric())))


@pytest.mark.parametrize("max_iter", [1, 2])
@pytest.mark.parametrize("reg", [0.0, 1.0])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_gap_bounds_the_distance_to_the_optimum(max_iter, reg):
    A, labels = DATA["iris"]
    best = LSI(reg=reg, tol=1e-10, max_iter=1000).fit(A, labels).metadata()
    assert best["gap"] <= 1e-5 * best["final_objective"]
    for solver in ("lbfgs", "projected"):
        facts = LSI(reg=reg, max_iter=max_iter, solver=solver).fit(A, labels).metadata()
        true_gap = best["final_objective"] - facts["final_objective"]
        assert facts["gap"] >= true_gap - 1e-6 * best["final_objective"]
        assert facts["gap"] > 1e-3  # the solver has not converged


def test_squared_distances_have_an_optimum_of_rank_one(rng):
    """With squared distances, the optimum is the top generalised eigenvector."""
    A, labels = DATA["iris"]
    pairs = pairs_of(labels)
    v = A[pairs.dissimilar[:, 0]] - A[pairs.dissimilar[:, 1]]
    S = oracles.similar_scatter(A, labels)
    values, vectors = eigh(v.T @ v, S)
    w = vectors[:, -1]
    assert np.sum(v @ w * (v @ w)) == pytest.approx(values[-1])
    for _ in range(20):
        B = rng.normal(size=(4, 4))
        M = B @ B.T / np.sum(S * (B @ B.T))
        assert np.sum(M * (v.T @ v)) <= values[-1]
    # With one feature, both variants agree.
    lsi = LSI(delta=0.0, **OPTIMAL).fit(A[:, :1], labels)
    assert lsi.metric()[0, 0] == pytest.approx(1 / S[0, 0])


def test_large_reg_whitens_within_classes():
    A, labels = DATA["iris"]
    S = oracles.similar_scatter(A, labels)
    M = LSI(reg=1e5, delta=0.0, tol=1e-8).fit(A, labels).metric()
    np.testing.assert_allclose(M, np.linalg.inv(S) / 4, rtol=1e-3)


def test_all_pairs_are_equivalent_to_labels():
    A, labels = DATA["iris"]
    expected, listed = LSI().fit(A, labels), LSI().fit(A, pairs=pairs_of(labels))
    np.testing.assert_allclose(listed.metric(), expected.metric(), rtol=1e-5, atol=1e-9)
    assert not hasattr(listed, "classes_")


def test_order_and_repetition_of_pairs(rng):
    pairs = pairs_of(y)[rng.permutation(len(y) * (len(y) - 1) // 2)[:300]]
    M = LSI().fit(X, pairs=pairs).metric()
    shuffled = Pairs(rng.permutation(pairs.similar)[:, ::-1], rng.permutation(pairs.dissimilar))
    np.testing.assert_allclose(LSI().fit(X, pairs=shuffled).metric(), M, atol=1e-8)
    twice = Pairs(np.tile(pairs.similar, (2, 1)), np.tile(pairs.dissimilar, (2, 1)))
    np.testing.assert_allclose(2 * LSI().fit(X, pairs=twice).metric(), M, rtol=1e-6, atol=1e-10)


def test_dissimilar_pairs_of_identical_samples_have_no_effect():
    A = np.concatenate([X[FEW], X[FEW][:3]])
    labels = np.append(y[FEW], [1, 1, 1])
    lsi = LSI(**OPTIMAL).fit(A, labels)
    assert np.isfinite(lsi.metric()).all()
    best = oracles.lsi_optimum(A, labels, delta=lsi.delta)
    assert lsi.metadata()["final_objective"] == pytest.approx(best, rel=1e-3)


@pytest.mark.parametrize("diagonal", [False, True])
def test_features_constant_within_classes_require_delta(diagonal, rng):
    A = np.column_stack([X[FEW], y[FEW]])  # constant within classes
    with pytest.raises(
        ValueError, match=r"vary in 5 directions but similar samples only in 4.*delta > 0, or drop"
    ):
        LSI(delta=0.0, diagonal=diagonal).fit(A, y[FEW])
    lsi = LSI(delta=1e-3, diagonal=diagonal).fit(A, y[FEW])
    assert constraint_value(lsi, A, y[FEW], 1e-3) == pytest.approx(1, abs=1e-6)
    wide = rng.normal(size=(20, 50))
    lsi = LSI(diagonal=diagonal).fit(wide, np.arange(20) % 2)
    assert constraint_value(lsi, wide, np.arange(20) % 2, lsi.delta) == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("kind", [LSI, DMLEig])
def test_duplicate_samples_span_fewer_directions(kind, rng):
    A, labels = np.repeat(rng.normal(size=(5, 12)), 2, axis=0), np.arange(10) % 2
    model = kind(delta=0.0).fit(A, labels)
    assert model.components_.shape == (4, 12)
    assert constraint_value(model, A, labels, 0.0) == pytest.approx(1, abs=1e-6)
    assert np.linalg.norm(model.transform(rng.normal(size=(1, 12)))) < 1


@pytest.mark.parametrize("d", [4, 5])
def test_two_points_differ_in_one_direction(d, rng):
    a, b = rng.normal(size=(2, d))
    lsi = LSI(delta=0.0, reg=0.0).fit(np.array([a, b, a, b]), pairs=Pairs([[0, 1]], [[2, 3]]))
    v = a - b
    np.testing.assert_allclose(lsi.metric(), np.outer(v, v) / (v @ v) ** 2, atol=1e-9)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("origin", [0.0, 1e4])
@pytest.mark.parametrize("n", [9, 10])
def test_rounding_errors_do_not_count_as_variance(n, origin, dtype, rng):
    A = (rng.normal(size=(n, 2)) @ rng.normal(size=(2, 9)) + origin).astype(dtype)
    assert LSI(delta=0.0).fit(A, np.arange(n) % 2).components_.shape == (2, 9)


@pytest.mark.parametrize("diagonal", [False, True])
def test_feature_constant_within_classes_up_to_rounding(diagonal):
    A = np.column_stack([X, 0.1 + 0.2 * y])  # computed class means have rounding errors
    with pytest.raises(ValueError, match="vary in 5 directions but similar samples only in 4"):
        LSI(delta=0.0, diagonal=diagonal).fit(A, y)


def test_one_class_and_identical_similar_samples_raise():
    with pytest.raises(ValueError, match="LSI requires at least 2 classes, but y has only 1"):
        LSI().fit(X, np.zeros(150))
    with pytest.raises(ValueError, match="LSI needs similar samples that differ, but the samples"):
        LSI().fit(X[[0, 0, 100, 100]], [0, 0, 1, 1])


@pytest.mark.parametrize("kind", [LSI, DMLEig, ITML])
def test_identical_dissimilar_samples_raise(kind):
    with pytest.raises(ValueError, match=rf"{kind.__name__} needs dissimilar samples that differ"):
        kind().fit(X[[0, 1, 1]], pairs=Pairs([[0, 1]], [[1, 2]]))


def test_first_step_does_not_lead_to_a_singular_map():
    """At a singular map the objective is 0, and a line search cannot recover."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        A = rng.normal(size=(9, 2)) @ rng.normal(size=(2, 9))
        facts = LSI(delta=0.0).fit(A, np.arange(9) % 2).metadata()
        assert facts["gap"] <= 1e-3 * facts["final_objective"]


def test_projections_return_the_nearest_point(rng):
    for _ in range(20):
        weights = rng.normal(size=6)
        near = project_onto_simplex(weights)
        assert near.min() >= 0
        assert near.sum() <= 1 + 1e-12
        for _ in range(20):
            other = rng.dirichlet(np.ones(7))[:6]
            assert np.linalg.norm(weights - near) <= np.linalg.norm(weights - other)
        inside = rng.dirichlet(np.ones(7))[:6]
        np.testing.assert_allclose(project_onto_simplex(inside), inside)
        B = rng.normal(size=(3, 3))
        M = project_onto_metrics((B + B.T).ravel()).reshape(3, 3)
        assert np.linalg.eigvalsh(M)[0] >= -1e-12
        assert np.trace(M) <= 1 + 1e-12


@pytest.mark.parametrize("kind", [LSI, DMLEig, ITML])
def test_unlabelled_samples_are_ignored(kind):
    labels = np.where(np.arange(150) % 3 == 0, -1, y)
    params = {"random_state": 0} if kind is ITML else {}
    known = labels >= 0
    expected = kind(**params).fit(X[known], y[known])
    model = kind(unlabelled=-1, **params).fit(X, labels)
    np.testing.assert_allclose(model.metric(), expected.metric(), rtol=1e-9, atol=1e-15)
    assert list(model.classes_) == [0, 1, 2]


@pytest.mark.parametrize("kind", [LSI, DMLEig, ITML])
def test_pairs_of_vectors_match_pairs_of_rows(kind):
    pairs = pairs_of(y[FEW])
    params = {"bounds": (1.0, 9.0)} if kind is ITML else {}
    vectors = Pairs.from_arrays(X[FEW][pairs.similar], X[FEW][pairs.dissimilar])
    expected = kind(**params).fit(X[FEW], pairs=pairs).metric()
    M = kind(**params).fit(None, pairs=vectors).metric()
    np.testing.assert_allclose(M, expected, rtol=1e-2, atol=1e-3 * np.abs(expected).max())


# Directions without variation


LEARNERS = [LSI(), LSI(diagonal=True), LSI(delta=0.0), DMLEig(), DMLEig(delta=0.0)]
each_learner = pytest.mark.parametrize("learner", LEARNERS, ids=repr)


def distances(learner, A, labels):
    """Return all distances under a new fit, divided by their mean."""
    D = pdist(clone(learner).fit(A, labels).transform(A))
    return D / D.mean()


@each_learner
@pytest.mark.parametrize("n", [5, 6, 60])  # fewer samples than features, as many, and more
def test_constant_features_change_nothing(learner, n, rng):
    A, labels = rng.normal(size=(n, 5)), np.arange(n) % 2
    if n < 60:
        learner = clone(learner).set_params(delta=0.1)  # required for so few samples
    expected = distances(learner, A, labels)
    for where, value in ((0, 0.1), (3, 0.0), (5, 1e15)):
        wider = np.insert(A, [where, where], value, axis=1)
        assert_allclose(distances(learner, wider, labels), expected, rtol=2e-4)


@pytest.mark.parametrize("learner", [LSI(), DMLEig(), LSI(delta=0.0), DMLEig(delta=0.0)], ids=repr)
@pytest.mark.parametrize("n", [4, 60])
def test_dependent_features_add_no_direction(learner, n, rng):
    """Only distances matter, so coordinates in the span of the samples give the same result."""
    A, labels = rng.normal(size=(n, 3)), np.arange(n) % 2
    if n < 60:
        learner = clone(learner).set_params(delta=0.1)
    A = np.column_stack([A, A @ [1.0, -2, 0.5], A[:, 0]])
    isometric = PCA().fit_transform(A)[:, :3]
    fitted = clone(learner).fit(A, labels)
    assert len(fitted.components_) == 3
    assert_allclose(distances(learner, A, labels), distances(learner, isometric, labels), rtol=2e-4)


@each_learner
@pytest.mark.parametrize("n", [6, 60])
def test_units_do_not_matter(learner, n, rng):
    A, labels = rng.normal(size=(n, 5)) + 3, np.arange(n) % 2
    A = np.column_stack([A, np.full(n, 0.1)])
    if n < 60:
        learner = clone(learner).set_params(delta=0.1)
    expected = distances(learner, A, labels)
    for factor in (1e-8, 1e-3, 1e8):
        assert_allclose(distances(learner, factor * A, labels), expected, rtol=2e-4)
