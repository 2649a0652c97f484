"""Tests specific to LDML: its likelihood, its optimum and its threshold b."""

from unittest.mock import patch

import numpy as np
import oracles
import pytest
from scipy.optimize import approx_fprime, minimize
from sklearn.base import clone
from sklearn.datasets import load_iris, make_blobs

from dimetric import LDML, Pairs
from dimetric.learners.ldml import LDMLRule
from dimetric.objectives.objective import on_maps, on_metrics
from dimetric.objectives.pairwise import PairwiseObjective
from dimetric.solvers import SGD, GradientDescent

X, y = load_iris(return_X_y=True)
FEW = slice(None, None, 4)


def naive(L, b, X, y):
    """Return the mean log-likelihood of the similarity of each pair, with loops."""
    total, n = 0.0, len(X)
    for i in range(n):
        for j in range(i):
            t = b - sum((L @ (X[i] - X[j])) ** 2)
            total -= np.logaddexp(0, -t if y[i] == y[j] else t)
    return total / (n * (n - 1) / 2)


def overlapping(rng, n=40, d=3):
    """Return three classes that no metric separates."""
    labels = np.arange(n) % 3
    return rng.normal(size=(n, d)) + (labels[:, None] == np.arange(d)), labels


def test_objective_matches_a_loop(rng):
    A, L, b = rng.normal(size=(17, 3)), rng.normal(size=(2, 3)), 1.3
    labels = np.array([0] * 6 + [1] * 5 + [2] + [3] * 5)
    flat = np.append(L, b)
    learned = on_maps(PairwiseObjective(LDMLRule(), A - A.mean(0), labels, [b]))(flat)
    fixed = on_maps(PairwiseObjective(LDMLRule(b), A - A.mean(0), labels))(L.ravel())
    expected = approx_fprime(flat, lambda x: -naive(x[:-1].reshape(2, 3), x[-1], A, labels))
    np.testing.assert_allclose(learned[1], expected, atol=1e-6)
    np.testing.assert_allclose(fixed[1], expected[:-1], atol=1e-6)
    for value in (learned[0], fixed[0]):
        np.testing.assert_allclose(value, -naive(L, b, A, labels), rtol=1e-12)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("b", [-2000.0, 0.0, 2000.0])
@pytest.mark.parametrize("size", [1.0, 1000.0])
def test_fast_path_matches_the_engine_at_extreme_values(b, size, dtype, rng):
    """The exponential overflows or underflows for some pairs or for all."""
    A, codes = rng.normal(size=(40, 3)).astype(dtype), np.sort(rng.integers(0, 3, 40))
    fast = PairwiseObjective(LDMLRule(b), A, codes)
    with patch.object(LDMLRule, "fast", None):
        engine = PairwiseObjective(LDMLRule(b), A, codes)
    (value, grad), (expected, expected_grad) = (
        on_metrics(objective)(size * np.eye(3).ravel()) for objective in (fast, engine)
    )
    tol = 1e-5 if dtype == "float32" else 1e-12
    np.testing.assert_allclose(value, expected, rtol=tol, atol=tol)
    np.testing.assert_allclose(grad, expected_grad, atol=10 * tol * np.abs(expected_grad).max())


def test_float32_matches_float64_up_to_rounding(rng):
    A, flat = rng.normal(size=(200, 5)), rng.normal(size=26)
    labels = np.sort(np.arange(200) % 3)
    double, single = (
        on_maps(PairwiseObjective(LDMLRule(), A.astype(dtype), labels, [1.0]))(flat)
        for dtype in ("float64", "float32")
    )
    np.testing.assert_allclose(single[0], double[0], rtol=1e-3)
    np.testing.assert_allclose(single[1], double[1], rtol=0, atol=1e-3 * np.abs(double[1]).max())


DATA = {
    "iris": (X[FEW], y[FEW]),
    "noise": overlapping(np.random.default_rng(0)),
    "a feature twice": (X[FEW][:, [0, 1, 2, 0]], y[FEW]),
}
PROBLEMS = [("iris", 0.0, None), ("iris", 0.1, None), ("iris", 0.0, 1.0), ("noise", 0.0, None)]
PROBLEMS += [("noise", 0.1, 1.0), ("a feature twice", 0.0, None), ("a feature twice", 0.1, None)]


@pytest.fixture(scope="module", params=PROBLEMS, ids=str)
def solved(request):
    """Return data, parameters, and the optimum found by a convex solver."""
    name, reg, b = request.param
    return *DATA[name], {"reg": reg, "b": b}, -oracles.ldml_optimum(*DATA[name], reg=reg, b=b)[2]


@pytest.mark.parametrize("solver", ["lbfgs", "sdp"])
def test_optimum_and_gap_match_a_convex_solver(solved, solver):
    A, labels, params, best = solved
    ldml = LDML(solver=solver, tol=1e-8, max_iter=3000, **params).fit(A, labels)
    facts = ldml.metadata()
    true_gap = best - facts["final_objective"]
    assert true_gap <= 1e-3 * max(1, abs(best))
    assert true_gap - 1e-6 <= facts["gap"] <= 1e-2 * max(1, abs(best))
    ridge = oracles.ridge_weight(A, params["reg"]) * np.trace(ldml.metric())
    likelihood = naive(ldml.components_, ldml.b_, A, labels)
    np.testing.assert_allclose(facts["final_objective"], likelihood - ridge)


@pytest.mark.parametrize("max_iter", [1, 2, 5, 10])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_gap_bounds_the_distance_to_the_optimum(solved, max_iter):
    A, labels, params, best = solved
    for dtype in ("float64", "float32"):
        facts = LDML(max_iter=max_iter, **params).fit(A.astype(dtype), labels).metadata()
        assert facts["gap"] >= best - facts["final_objective"] - 1e-5


def test_gap_is_proven_for_overlapping_classes():
    facts = LDML(tol=1e-7).fit(*overlapping(np.random.default_rng(0), n=90)).metadata()
    assert facts["gap_proven"]
    assert facts["gap"] < 1e-4


@pytest.mark.parametrize("reg", [0.0, 0.1])
def test_learned_threshold_is_optimal(reg):
    ldml = LDML(reg=reg, max_iter=500).fit(X, y)
    f = on_maps(PairwiseObjective(LDMLRule(), X, y, [1.0]))
    slope = f(np.append(ldml.components_, ldml.b_))[1][-1]
    assert abs(slope) < 1e-7
    assert LDML(b=2).fit(X, y).b_ == 2.0


def test_learned_threshold_beats_given_ones():
    learned = LDML(tol=1e-8, max_iter=500).fit(X, y)
    best = learned.metadata()["final_objective"]
    for b in (0.5, 1.0, learned.b_, 10.0):
        with_fixed_b = LDML(b=b, tol=1e-8, max_iter=500).fit(X, y).metadata()["final_objective"]
        assert with_fixed_b <= best + 1e-6
        assert (with_fixed_b > best - 1e-6) == (b == learned.b_)


def likelihoods(scale, b):
    """Return the mean log-likelihood of M = scale * I for each threshold in b."""
    i, j = np.triu_indices(len(X), 1)
    t = scale * ((X[i] - X[j]) ** 2).sum(axis=1) - np.reshape(b, (-1, 1))
    return -np.logaddexp(0, np.where(y[i] == y[j], t, -t)).mean(axis=1)


def test_given_start_uses_the_best_threshold():
    facts = LDML(init=np.eye(4), reg=0.0).fit(X, y).metadata()
    best = likelihoods(1.0, np.linspace(1, 4, 301)).max()
    np.testing.assert_allclose(facts["initial_objective"], best, atol=1e-5)


def test_named_start_uses_the_best_scale_and_threshold():
    facts = LDML(init="identity", reg=0.0).fit(X, y).metadata()
    best = minimize(lambda x: -likelihoods(*x)[0], [1.0, 3.0])
    np.testing.assert_allclose(facts["initial_objective"], -best.fun, atol=1e-5)


@pytest.mark.parametrize("unit", [1e-6, 1e6, 10.0 ** np.arange(-4, 4, 2)], ids=str)
def test_units_of_features_do_not_matter(unit):
    expected = LDML(tol=1e-7, max_iter=500).fit(X, y).metadata()
    facts = LDML(tol=1e-7, max_iter=500).fit(X * unit, y).metadata()
    np.testing.assert_allclose(facts["final_objective"], expected["final_objective"], rtol=1e-4)
    assert facts["gap"] <= 1e-3


def test_gradient_descent_never_increases_the_loss():
    f = on_maps(PairwiseObjective(LDMLRule(), X, y, [3.0]))
    history = GradientDescent().minimise(f, np.append(np.eye(4), 3.0), max_iter=200).history
    assert np.all(np.diff(history) <= 0)
    assert history[-1] < history[0] - 0.1


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_mini_batches_come_close_to_the_optimum():
    A, labels = overlapping(np.random.default_rng(1), n=300)
    best = LDML().fit(A, labels).metadata()["final_objective"]
    solver = SGD(batch_size=100, learning_rate="constant", eta0=0.3)
    ldml = LDML(solver=solver, random_state=0).fit(A, labels)
    assert naive(ldml.components_, ldml.b_, A, labels) >= best - 0.01
    assert "gap" not in ldml.metadata()


def test_separable_data_converge_to_a_finite_map():
    A, labels = make_blobs(60, 3, centers=[[0, 0, 0], [9, 9, 9]], random_state=0)
    ldml = LDML(reg=0.0, tol=1e-5).fit(A, labels)
    facts = ldml.metadata()
    assert facts["reason"] == "within tol of the infimum"
    assert facts["converged"]
    assert -1e-5 <= facts["final_objective"] < 0
    assert facts["gap"] <= 1e-5
    assert facts["gap_proven"]
    assert np.isfinite([ldml.b_, *ldml.components_.ravel()]).all()


@pytest.mark.parametrize(("labels", "sign"), [(np.zeros(38), 1), (np.arange(38), -1)])
@pytest.mark.filterwarnings("ignore:The number of unique classes")
def test_threshold_is_finite_if_all_pairs_are_of_one_kind(labels, sign):
    with pytest.warns(UserWarning, match=r"y has .*, so LDML has nothing to learn"):
        ldml = LDML(reg=0.0).fit(X[FEW], labels)
    assert ldml.metadata()["reason"] == "within tol of the infimum"
    assert sign * ldml.b_ > 1
    assert np.isfinite(ldml.b_)


def test_all_pairs_are_equivalent_to_labels():
    ldml = LDML(tol=1e-6)
    by_labels, by_pairs = (
        clone(ldml).fit(X, **kind) for kind in ({"y": y}, {"pairs": Pairs.from_labels(y)})
    )
    for name in ("final_objective", "gap"):
        assert abs(by_labels.metadata()[name] - by_pairs.metadata()[name]) < 1e-4
    assert by_pairs.metadata()["gap_proven"]
    np.testing.assert_allclose(by_pairs.b_, by_labels.b_, rtol=1e-3)


@pytest.mark.parametrize("reg", [0.0, 0.1])
@pytest.mark.parametrize("b", [None, 2.0])
def test_optimum_of_pairs_matches_a_convex_solver(reg, b, rng):
    A, labels = overlapping(rng)
    pairs = Pairs.from_labels(labels, 200, random_state=0)
    _, _, best = oracles.ldml_pairs_optimum(A, pairs.rows, pairs.is_similar, b=b, reg=reg)
    facts = LDML(reg=reg, b=b, tol=1e-8, max_iter=500).fit(A, pairs=pairs).metadata()
    assert abs(-facts["final_objective"] - best) < 1e-3 * max(1, abs(best))
    assert -facts["final_objective"] - best <= facts["gap"] + 1e-6
    assert facts["gap"] < 0.02


@pytest.mark.parametrize("solver", ["bgd", SGD(batch_size=200), "sdp"], ids=str)
def test_all_solvers_learn_from_pairs(solver):
    pairs = Pairs.from_labels(y, 3000, random_state=0)
    best = LDML().fit(X, pairs=pairs).metadata()["final_objective"]
    ldml = LDML(solver=solver, random_state=0, max_iter=300, tol=1e-4)
    assert ldml.fit(X, pairs=pairs).metadata()["final_objective"] > best - 0.02


def test_pairs_that_a_threshold_separates():
    blobs, labels = make_blobs(60, 3, centers=3, cluster_std=0.1, random_state=0)
    facts = (
        LDML(reg=0.0).fit(blobs, pairs=Pairs.from_labels(labels, 400, random_state=0)).metadata()
    )
    assert facts["reason"] == "within tol of the infimum"
    assert facts["final_objective"] > -1e-4


def test_metric_of_duplicate_samples_is_bounded(rng):
    A, labels = np.repeat(rng.normal(size=(5, 12)), 2, axis=0), np.arange(10) % 2
    assert np.abs(LDML().fit(A, labels).metric()).max() < 10


def test_a_single_labelled_sample_raises():
    with pytest.raises(
        ValueError, match="LDML requires at least 2 samples, but only 1 of 3 have a label"
    ):
        LDML(unlabelled=-1).fit(X[:3], [0, -1, -1])
