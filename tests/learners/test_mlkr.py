"""Tests of MLKR: its objective against loops, units of the targets, vectors, weights and SGD."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from oracles import assert_same_evaluation, ridge_weight
from scipy.optimize import approx_fprime
from sklearn.datasets import load_diabetes, make_friedman1

from dimetric import MLKR, Kernelized, KNNRegressor
from dimetric.objectives.objective import on_maps
from dimetric.supervision.labels import Targets

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

X, y = make_friedman1(80, n_features=5, random_state=0)
rng = np.random.default_rng(1)
Y = np.column_stack([y, rng.normal(size=80), X[:, 0] - X[:, 1]])
WEIGHTS = rng.uniform(0.1, 3.0, 80)
L = rng.normal(size=(2, 5))


def naive(L, X, y, weights=None):
    """Return the unexplained fraction of the variance, with loops."""
    n, y = len(X), y.reshape(len(y), -1)
    w = np.ones(n) if weights is None else weights
    errors = 0.0
    for i in range(n):
        e = [0.0 if j == i else w[j] * np.exp(-sum((L @ (X[i] - X[j])) ** 2)) for j in range(n)]
        predicted = sum(e[j] * y[j] for j in range(n)) / sum(e)
        errors += w[i] * sum((y[i] - predicted) ** 2)
    mean = sum(w[i] * y[i] for i in range(n)) / sum(w)
    return errors / sum(w[i] * sum((y[i] - mean) ** 2) for i in range(n))


def objective(X, y, weights=None, namespace=np):
    order = np.lexsort(y.reshape(len(y), -1).T[::-1])
    targets = Targets(y[order], None if weights is None else weights[order])
    return MLKR()._objective(namespace.asarray(X[order] - X.mean(axis=0)), targets, order)


@pytest.mark.parametrize("targets", [y, Y], ids=["numbers", "vectors"])
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["equal", "weights"])
def test_objective_matches_a_loop(targets, weights, namespace):
    f = on_maps(objective(X, targets, weights, namespace))
    value, gradient = f(L.ravel())
    assert_allclose(value, naive(L, X, targets, weights), rtol=1e-10)
    assert_allclose(gradient, approx_fprime(L.ravel(), lambda x: f(x)[0]), atol=2e-6)


@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["equal", "weights"])
@pytest.mark.parametrize(("dtype", "tol"), [("float64", 1e-11), ("float32", 1e-4)])
def test_fast_path_matches_the_engine(weights, dtype, tol, monkeypatch):
    monkeypatch.setattr("dimetric.objectives.fast.all_pairs.BLOCK_ROWS", 13)
    fast = objective(X.astype(dtype), Y, weights)
    monkeypatch.setattr("dimetric.learners.mlkr.MLKRRule.fast", None)
    engine = objective(X.astype(dtype), Y, weights)
    assert_same_evaluation(fast, engine, L.astype(dtype), tol)


def test_reported_objectives_and_ridge():
    learner = MLKR(init=np.eye(5), reg=0.1).fit(X, y)
    facts, components = learner.metadata(), learner.components_
    ridge = ridge_weight(X, 0.1)
    assert_allclose(facts["initial_objective"], naive(np.eye(5), X, y) + 5 * ridge)
    expected = naive(components, X, y) + ridge * (components**2).sum()
    assert_allclose(facts["final_objective"], expected)
    assert facts["final_objective"] < 0.6 * facts["initial_objective"]


@pytest.mark.parametrize("unit", [1e-100, 2.0**-30, 1e6, 1e150])
def test_unit_and_origin_of_the_targets_do_not_matter(unit):
    learner, expected = MLKR(reg=0.05).fit(X, unit * (y - 7)), MLKR(reg=0.05).fit(X, y)
    assert_allclose(learner.components_, expected.components_, rtol=1e-5, atol=1e-5)
    for name in ("initial_objective", "final_objective"):
        assert learner.metadata()[name] == pytest.approx(expected.metadata()[name], rel=1e-6)


def test_order_of_samples_does_not_matter():
    p = rng.permutation(80)
    assert_array_equal(MLKR().fit(X[p], y[p]).components_, MLKR().fit(X, y).components_)


def test_weight_zero_is_absence_and_equal_weights_change_nothing():
    kept = WEIGHTS > 1
    masked = MLKR().fit(X, y, sample_weight=np.where(kept, WEIGHTS, 0))
    expected = MLKR().fit(X[kept], y[kept], sample_weight=WEIGHTS[kept])
    assert_array_equal(masked.components_, expected.components_)
    plain = MLKR().fit(X, y).components_
    assert_array_equal(plain, MLKR().fit(X, y, sample_weight=np.full(80, 7.0)).components_)
    weighted = MLKR(reg=0.0).fit(X, y, sample_weight=WEIGHTS)
    assert_allclose(
        weighted.metadata()["final_objective"],
        naive(weighted.components_, X, y, WEIGHTS),
        rtol=1e-8,
    )


def test_mini_batches_keep_targets_and_weights():
    full = objective(X, Y, WEIGHTS)
    rows = np.arange(0, 80, 3)
    part = full.batch(rows)
    assert_array_equal(part.side.targets, full.side.targets[rows])
    assert_array_equal(part.side.weights, full.side.weights[rows])
    counts = np.bincount(full.strata)
    assert (counts == 8).all()
    order = np.lexsort(Y.T[::-1])
    variances = np.sum(part.side.targets**2 * part.side.weights[:, None]) / part.n_terms
    expected = naive(L, X[order][rows], part.side.targets, part.side.weights)
    centred = part.side.targets - np.average(part.side.targets, axis=0, weights=part.side.weights)
    scale = np.sum(centred**2 * part.side.weights[:, None]) / part.n_terms
    assert variances > scale
    assert_allclose(on_maps(part)(L.ravel())[0], expected * scale, rtol=1e-10)


@pytest.mark.slow
def test_sgd_learns_from_continuous_targets():
    A, target = make_friedman1(1000, random_state=0)
    facts = MLKR(solver="sgd", max_iter=10, random_state=0).fit(A, target).metadata()
    assert facts["final_objective"] < 0.7 * facts["initial_objective"]


def test_equal_targets_warn_and_change_nothing():
    with pytest.warns(UserWarning, match="All targets are equal, so MLKR has nothing to learn"):
        facts = MLKR().fit(X, np.full(80, 0.1)).metadata()
    assert (facts["n_iter"], facts["converged"]) == (0, True)
    assert facts["final_objective"] == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("init", ["pca", "identity", "random"])
def test_named_starts(init):
    assert MLKR(2, init=init, random_state=0).fit(X, y).components_.shape == (2, 5)


def test_auto_start_is_pca_for_fewer_components():
    a, b = (MLKR(2, init=init).fit(X, y).components_ for init in ("auto", "pca"))
    assert_array_equal(a, b)


def test_start_by_lda_needs_classes():
    with pytest.raises(ValueError, match=r"init='lda' needs class labels.*Use init='auto'"):
        MLKR(2, init="lda").fit(X, y)


@pytest.mark.parametrize(
    ("targets", "says"),
    [
        (np.where(np.arange(80) == 3, np.nan, y), "Input y contains NaN"),
        (np.where(np.arange(80) == 3, np.inf, y), "Input y contains infinity"),
        (np.array(["a", "b"] * 40), "MLKR learns from numbers, but y has dtype <U1"),
        (np.array([1, "b"] * 40, dtype=object), "MLKR learns from numbers, but y has dtype object"),
        (np.array([{1}, {2}] * 40), "MLKR learns from numbers, but y has dtype object"),
        (y + 1j, "[Cc]omplex|dtype complex"),
        (y[:-1], "inconsistent numbers of samples"),
        (np.zeros((80, 2, 2)), "dim 3|shape"),
        (1e200 * y, "largest absolute value of y"),
    ],
    ids=["nan", "inf", "strings", "objects", "sets", "complex", "length", "3d", "huge"],
)
def test_wrong_targets_raise(targets, says):
    with pytest.raises(ValueError, match=says):
        MLKR().fit(X, targets)


def test_columns_and_integers_and_booleans_are_numbers():
    assert_array_equal(MLKR().fit(X, y[:, None]).components_, MLKR().fit(X, y).components_)
    for dtype in (int, bool, np.float32):
        MLKR(max_iter=200).fit(X, (y > 14).astype(dtype))


def test_numbers_of_dtype_object_are_numbers():
    assert_array_equal(MLKR().fit(X, y.astype(object)).components_, MLKR().fit(X, y).components_)
    with pytest.raises(ValueError, match="Input y contains infinity"):
        MLKR().fit(X, np.where(np.arange(80) == 3, np.inf, y).astype(object))


def test_learned_distance_predicts_better_than_the_euclidean_one():
    A, target = make_friedman1(400, noise=0.5, random_state=3)
    learner = MLKR().fit(A[:200], target[:200])
    model = KNNRegressor(5).fit(learner.transform(A[:200]), target[:200])
    plain = KNNRegressor(5).fit(A[:200], target[:200])
    score = model.score(learner.transform(A[200:]), target[200:])
    assert score > plain.score(A[200:], target[200:]) + 0.1


def test_in_the_feature_space_of_a_kernel():
    A, target = load_diabetes(return_X_y=True)
    learner = Kernelized(MLKR(2, max_iter=5), kernel="rbf")
    facts = learner.fit(A[:100], target[:100]).metadata()
    assert facts["final_objective"] < facts["initial_objective"]
    assert not hasattr(learner, "classes_")
