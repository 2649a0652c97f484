"""Tests specific to DML-eig: its objective, its optimum and its solvers."""

import numpy as np
import oracles
import pytest
from scipy.optimize import approx_fprime
from sklearn.datasets import load_iris, load_wine
from sklearn.preprocessing import minmax_scale

from dimetric import LSI, DMLEig
from dimetric.learners._fitting.gain import GainOverMaps, RegularizedGain
from dimetric.objectives.softmin import ListedSoftmin, SoftminObjective
from dimetric.solvers import FrankWolfe
from dimetric.supervision.pairs import Pairs

X, y = load_iris(return_X_y=True)
FEW = slice(None, None, 4)
DATA = {
    "iris": (X[FEW], y[FEW]),
    "wine": (minmax_scale(load_wine().data)[::4], load_wine().target[::4]),
    "a feature twice": (X[FEW][:, [0, 1, 2, 0]], y[FEW]),
}
OPTIMAL = {"reg": 0.0, "smoothing": 1e-4, "tol": 1e-9, "max_iter": 3000}


def pairs_of(labels):
    """Return all pairs of samples, similar if their labels are equal."""
    i, j = np.triu_indices(len(labels), 1)
    same = labels[i] == labels[j]
    rows = np.stack([i, j], axis=1)
    return Pairs(rows[same], rows[~same])


def smallest_squared_distance(A, labels, M):
    """Return the smallest squared distance between distinct samples of different classes."""
    D = oracles.squared_distances(A, M)
    apart = np.any(A[:, None] != A[None], axis=2)
    return D[(labels[:, None] != labels[None]) & apart].min()


@pytest.mark.parametrize("mu", [1e-3, 0.3, 30.0])
def test_objective_matches_a_loop(mu, rng):
    A = np.round(rng.normal(size=(19, 3)), 1)
    A[7:9] = A[:2]  # identical, of different classes
    labels = np.repeat([0, 1, 2], [6, 6, 7])
    flat, reg, theta = rng.normal(size=9), 0.7, np.array([mu])

    def loop(flat):
        L = flat.reshape(3, 3) / np.linalg.norm(flat)
        squares = np.array(
            [
                np.sum((L @ (A[i] - A[j])) ** 2)
                for i in range(19)
                for j in range(i)
                if labels[i] != labels[j] and np.any(A[i] != A[j])
            ]
        )
        low = squares.min()
        smooth = low - mu * np.log(np.mean(np.exp((low - squares) / mu)))
        return -np.log(smooth) - reg * np.log(3 * np.linalg.det(L.T @ L) ** (1 / 3))

    for objective in (SoftminObjective(A, labels), ListedSoftmin(A, pairs_of(labels).dissimilar)):
        gain = RegularizedGain(objective, reg)
        value, grad = GainOverMaps(gain, np.eye(4), theta)(flat)
        np.testing.assert_allclose(value, loop(flat), rtol=1e-10)
        slope = approx_fprime(flat, loop, 1e-7)
        np.testing.assert_allclose(grad, slope, atol=1e-4 * np.abs(slope).max())
        L = flat.reshape(3, 3) / np.linalg.norm(flat)
        Z = objective.points @ L.T
        assert objective.smallest_squared_distance(Z) == pytest.approx(
            smallest_squared_distance(A, labels, L.T @ L)
        )


def test_duplicate_samples_count_once(rng):
    A, labels = rng.normal(size=(12, 2)), np.repeat([0, 1], 6)
    twice, labels_twice = np.repeat(A, 2, axis=0), np.repeat(labels, 2)
    once, again = (
        SoftminObjective(points, codes) for points, codes in ((A, labels), (twice, labels_twice))
    )
    np.testing.assert_array_equal(again.points, once.points)
    assert again.n_pairs == once.n_pairs == 36


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("block", [3, 128])
def test_fast_path_matches_the_engine(namespace, block, threads, monkeypatch, rng):
    from dimetric.objectives.fast import all_pairs

    monkeypatch.setattr(all_pairs, "BLOCK_ROWS", block)
    monkeypatch.setattr("dimetric._arrays.threads.n_threads", lambda *_: threads)
    A, labels = np.round(rng.normal(size=(60, 2)), 1), np.sort(rng.integers(0, 4, 60))
    order = np.lexsort((*A.T, labels))
    objective = SoftminObjective(A[order], labels)
    there = SoftminObjective(namespace.asarray(A[order]), labels)
    for mu in (1e-4, 0.1, 10.0):
        theta = np.array([mu])
        value, product, _ = objective.evaluate(objective.points, objective.points, theta)
        expected, other, _ = there.evaluate(there.points, there.points, theta)
        np.testing.assert_allclose(value, expected, rtol=1e-10)
        np.testing.assert_allclose(product, np.asarray(other), atol=1e-10)
    smallest = objective.smallest_squared_distance(objective.points)
    assert smallest == there.smallest_squared_distance(there.points) > 0  # pairs that differ


def test_threads_may_find_very_different_distances(monkeypatch):
    """One thread finds pairs that are near each other, the other one only pairs that are far."""
    A, labels = np.array([[0.0], [0.1], [9.0], [9.2], [10.0], [10.1]]), np.repeat([0, 1, 2], 2)
    objective, theta = SoftminObjective(A, labels), np.array([0.01])
    expected, product, _ = objective.evaluate(objective.points, objective.points, theta)
    monkeypatch.setattr("dimetric.objectives.fast.all_pairs.BLOCK_ROWS", 2)
    monkeypatch.setattr("dimetric._arrays.threads.n_threads", lambda *_: 2)
    value, other, _ = objective.evaluate(objective.points, objective.points, theta)
    np.testing.assert_allclose(value, expected)
    np.testing.assert_allclose(other, product, atol=1e-12 * np.abs(product).max())


@pytest.mark.parametrize(("name", "delta"), [("iris", 0.0), ("iris", 0.1), ("wine", 0.1)])
def test_optimum_and_gap_match_a_convex_solver(name, delta):
    A, labels = DATA[name]
    best = oracles.dml_eig_optimum(A, labels, delta=delta)
    model = DMLEig(delta=delta, **OPTIMAL).fit(A, labels)
    facts = model.metadata()
    true_gap = best - facts["final_objective"]
    assert true_gap <= 1e-3 * best  # relative, because the optimum is far below 1
    assert true_gap - 1e-5 * best <= facts["gap"] <= 2e-3 * best
    assert facts["final_objective"] == pytest.approx(
        smallest_squared_distance(A, labels, model.metric())
    )
    S = oracles.similar_scatter(A, labels)
    used = np.sum(model.metric() * (S + delta * np.trace(S) / len(S) * np.eye(len(S))))
    assert used == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("name", ["iris", "wine"])
def test_small_tol_reaches_the_optimum(name):
    A, labels = DATA[name]
    best = oracles.dml_eig_optimum(A, labels, delta=0.1)
    facts = DMLEig(reg=0.0, tol=1e-8, max_iter=3000).fit(A, labels).metadata()
    assert facts["converged"]
    assert best - facts["final_objective"] <= 1e-3 * best
    assert facts["gap"] <= 2e-3 * best
    pairs = Pairs.from_labels(y, 10, random_state=3)
    rough, fine = (DMLEig(reg=0.0, tol=tol).fit(X, pairs=pairs).metadata() for tol in (1e-5, 1e-7))
    assert fine["gap"] <= 1e-3 * fine["final_objective"]
    assert rough["gap"] >= 1e-2 * rough["final_objective"]  # the default tol is not enough


@pytest.mark.parametrize("reg", [0.0, 1.0])
@pytest.mark.parametrize("max_iter", [100, 3000])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_tiny_smoothing_reaches_the_optimum(max_iter, reg):
    """The smooth minimum almost has kinks, where small steps do not imply convergence."""
    A, labels = load_wine(return_X_y=True)
    best = DMLEig(**OPTIMAL | {"reg": reg}).fit(A, labels).metadata()["final_objective"]
    facts = DMLEig(smoothing=1e-12, reg=reg, max_iter=max_iter).fit(A, labels).metadata()
    assert facts["final_objective"] >= 0.99 * best
    assert facts["gap"] <= 0.1 * best
    assert not facts["converged"] or facts["gap"] <= 1e-3 * best


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_max_iter_limits_the_sum_over_smoothing_levels():
    A, labels = DATA["iris"]
    enough = DMLEig().fit(A, labels).n_iter_
    for max_iter in range(1, enough + 2):
        facts = DMLEig(max_iter=max_iter).fit(A, labels).metadata()
        assert facts["n_iter"] == min(max_iter, enough)
        assert facts["converged"] == (max_iter > enough)
        assert facts["converged"] or facts["reason"] == f"max_iter={max_iter} reached"


def test_reported_objectives_are_smallest_distances():
    A, labels = DATA["iris"]
    model = DMLEig(reg=0.0, tol=1e-7, max_iter=1000).fit(A, labels)
    facts = model.metadata()
    S = oracles.similar_scatter(A, labels)
    M0 = np.linalg.inv(S + model.delta * np.trace(S) / 4 * np.eye(4)) / 4
    assert facts["initial_objective"] == pytest.approx(smallest_squared_distance(A, labels, M0))
    assert facts["final_objective"] > 1.1 * facts["initial_objective"]


@pytest.mark.parametrize("near", [1e-7, 1e-9])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_smallest_distance_is_accurate_for_close_samples(near, namespace):
    """Computed from inner products, the distance would be a rounding error."""
    A = np.concatenate([X, X[:1] + near * np.array([[1, 2, -1, 0.5]])])
    model = DMLEig(reg=0.0).fit(namespace.asarray(A), np.append(y, 1))
    v = (A[150] - A[0]) @ np.asarray(model.metric()) @ (A[150] - A[0])
    assert model.metadata()["final_objective"] == pytest.approx(v, rel=1e-5, abs=0)


@pytest.mark.parametrize("schedule", ["smoothed", "averaging"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_frank_wolfe_comes_close_to_the_optimum(schedule):
    A, labels = DATA["iris"]
    best = oracles.dml_eig_optimum(A, labels, delta=0.1)
    model = DMLEig(solver=FrankWolfe(schedule=schedule), smoothing=0.1, reg=0.0, max_iter=2000).fit(
        A, labels
    )
    facts = model.metadata()
    assert 0.9 * best <= facts["final_objective"] <= best * (1 + 1e-6)
    assert facts["gap"] >= best - facts["final_objective"] - 1e-6 * best


@pytest.mark.parametrize("reg", [0.0, 1.0])
@pytest.mark.parametrize("max_iter", [1, 3, 10])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_gap_bounds_the_distance_to_the_optimum(max_iter, reg):
    A, labels = DATA["iris"]
    best = DMLEig(**OPTIMAL | {"reg": reg}).fit(A, labels).metadata()["final_objective"]
    for solver in ("lbfgs", "frank_wolfe"):
        facts = DMLEig(reg=reg, max_iter=max_iter, solver=solver).fit(A, labels).metadata()
        assert facts["gap"] >= best - facts["final_objective"]


def test_all_pairs_are_equivalent_to_labels():
    A, labels = DATA["iris"]
    expected, listed = DMLEig().fit(A, labels), DMLEig().fit(A, pairs=pairs_of(labels))
    np.testing.assert_allclose(listed.metric(), expected.metric(), rtol=1e-3, atol=1e-6)


def test_order_and_repetition_of_pairs(rng):
    pairs = pairs_of(y)[rng.permutation(len(y) * (len(y) - 1) // 2)[:300]]
    M = DMLEig().fit(X, pairs=pairs).metric()
    shuffled = Pairs(rng.permutation(pairs.similar)[:, ::-1], rng.permutation(pairs.dissimilar))
    np.testing.assert_allclose(DMLEig().fit(X, pairs=shuffled).metric(), M, atol=1e-8)
    twice = Pairs(np.tile(pairs.similar, (2, 1)), np.tile(pairs.dissimilar, (2, 1)))
    M, again = (
        DMLEig(smoothing=1.0, tol=1e-12, max_iter=500).fit(X, pairs=some).metric()
        for some in (pairs, twice)
    )
    np.testing.assert_allclose(2 * again, M, rtol=0, atol=1e-5 * np.abs(M).max())


@pytest.mark.parametrize("kind", [LSI, DMLEig])
def test_stopping_does_not_depend_on_the_number_of_pairs(kind):
    pairs = Pairs.from_labels(y, 100, random_state=0)
    many = Pairs(np.tile(pairs.similar, (1024, 1)), np.tile(pairs.dissimilar, (1024, 1)))
    one, other = (kind(reg=0.0).fit(X, pairs=some) for some in (pairs, many))
    assert one.n_iter_ == other.n_iter_
    M = one.metric()
    np.testing.assert_allclose(1024 * other.metric(), M, rtol=0, atol=1e-6 * np.abs(M).max())


def test_dissimilar_pairs_of_identical_samples_are_ignored():
    A = np.concatenate([X[FEW], X[FEW][:3]])
    labels = np.append(y[FEW], [1, 1, 1])
    facts = DMLEig(**OPTIMAL).fit(A, labels).metadata()
    assert facts["final_objective"] > 0
    best = oracles.dml_eig_optimum(A, labels, delta=DMLEig().delta)
    assert facts["final_objective"] == pytest.approx(best, rel=2e-3)
    with pytest.raises(ValueError, match="DMLEig needs dissimilar samples that differ"):
        DMLEig().fit(X[[0, 100, 100]], pairs=Pairs([[0, 1]], [[1, 2]]))


def test_one_class_raises():
    with pytest.raises(ValueError, match="DMLEig requires at least 2 classes, but y has only 1"):
        DMLEig().fit(X, np.zeros(150))
