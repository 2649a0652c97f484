"""Tests of ``NCA(cost=...)``: costs between classes, numbers, vectors and sets of labels."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from oracles import assert_same_evaluation, ridge_weight
from scipy.optimize import approx_fprime
from sklearn.datasets import load_iris

from dimetric import NCA, Kernelized
from dimetric.objectives.objective import on_maps
from dimetric.supervision.labels import Labels, Targets

rng = np.random.default_rng(0)
A, LABELS = load_iris(return_X_y=True)
X, labels = A[::4], LABELS[::4]
n = len(X)
WEIGHTS = rng.uniform(0.1, 3.0, n)
L = rng.normal(size=(2, 4)) / 2
TABLE = np.array([[0.0, 1.0, 4.0], [2.0, 0.5, 1.0], [3.0, 1.0, 0.0]])
NUMBERS = X[:, 0] ** 2 + rng.normal(size=n)
VECTORS = np.column_stack([NUMBERS, X[:, 1], rng.normal(size=n)])
SETS = (rng.uniform(size=(n, 4)) < 0.3).astype(float)


def relative_error(a, b):
    """Return a cost that is not symmetric."""
    return np.abs(a[:, None] - b) / (1 + np.abs(a[:, None]))


def jaccard(a, b):
    union = sum(u or v for u, v in zip(a, b, strict=True))
    return 1 - sum(u * v for u, v in zip(a, b, strict=True)) / union if union else 0.0


# For each case: the parameter `cost`, y, and the cost of a pair of targets.
CASES = {
    "table": (TABLE, labels, lambda a, b: TABLE[a, b]),
    "absolute": ("absolute", NUMBERS, lambda a, b: abs(a - b)),
    "squared": ("squared", NUMBERS, lambda a, b: (a - b) ** 2),
    "absolute vectors": ("absolute", VECTORS, lambda a, b: np.linalg.norm(a - b)),
    "squared vectors": ("squared", VECTORS, lambda a, b: sum((a - b) ** 2)),
    "jaccard": ("jaccard", SETS, jaccard),
    "function": (relative_error, NUMBERS, lambda a, b: abs(a - b) / (1 + abs(a))),
}
each_case = pytest.mark.parametrize("case", CASES)


def naive(L, X, y, cost, weights=None):
    """Return the expected cost of the picked neighbours, with loops."""
    w = np.ones(len(X)) if weights is None else weights
    total = 0.0
    for i in range(len(X)):
        e = [w[j] * np.exp(-sum((L @ (X[i] - X[j])) ** 2)) for j in range(len(X))]
        e[i] = 0.0
        total += w[i] * sum(e[j] * cost(y[i], y[j]) for j in range(len(X))) / sum(e)
    return total / sum(w)


def mean_of_costs(y, cost, weights=None):
    w = np.ones(len(y)) if weights is None else weights
    pairs = [(i, j) for i in range(len(y)) for j in range(len(y)) if i != j]
    total = sum(w[i] * w[j] * cost(y[i], y[j]) for i, j in pairs)
    return total / sum(w[i] * w[j] for i, j in pairs)


def objective(case, weights=None, namespace=np, dtype="float64"):
    """Return the objective of samples that are sorted by target, and their order."""
    cost, y, _ = CASES[case]
    order = np.lexsort(y.reshape(n, -1).T[::-1])
    w = None if weights is None else weights[order]
    given = Labels(y[order], np.unique(y), w) if case == "table" else Targets(y[order], w)
    A = namespace.asarray((X[order] - X.mean(axis=0)).astype(dtype))
    return NCA(cost=cost)._objective(A, given, order)


@each_case
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["equal", "weights"])
def test_objective_matches_a_loop(case, weights, namespace):
    _, y, cost = CASES[case]
    f = on_maps(objective(case, weights, namespace))
    value, gradient = f(L.ravel())
    expected = naive(L, X, y, cost, weights) / mean_of_costs(y, cost, weights)
    assert_allclose(value, expected, rtol=1e-10)
    assert_allclose(gradient, approx_fprime(L.ravel(), lambda x: f(x)[0]), atol=2e-6)


@each_case
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["equal", "weights"])
@pytest.mark.parametrize(("dtype", "tol"), [("float64", 1e-11), ("float32", 1e-4)])
def test_fast_path_matches_the_engine(case, weights, dtype, tol, monkeypatch):
    monkeypatch.setattr("dimetric.objectives.fast.all_pairs.BLOCK_ROWS", 13)
    fast = objective(case, weights, dtype=dtype)
    monkeypatch.setattr("dimetric.learners.nca.CostRule.fast", None)
    engine = objective(case, weights, dtype=dtype)
    assert_same_evaluation(fast, engine, L.astype(dtype), tol)


@each_case
def test_fitted_objective_is_the_expected_cost_in_the_unit_of_the_targets(case):
    cost, y, pair_cost = CASES[case]
    learner = NCA(cost=cost, reg=0.1).fit(X, y)
    facts, components = learner.metadata(), learner.components_
    ridge = ridge_weight(X, 0.1) * mean_of_costs(y, pair_cost) * (components**2).sum()
    assert_allclose(facts["final_objective"], naive(components, X, y, pair_cost) + ridge)
    assert facts["final_objective"] < facts["initial_objective"]
    assert not learner._maximises
    assert hasattr(learner, "classes_") == (case == "table")


@each_case
def test_infimum_is_the_mean_of_the_smallest_costs(case):
    _, y, pair_cost = CASES[case]
    lowest = [min(pair_cost(y[i], y[j]) for j in range(n) if j != i) for i in range(n)]
    expected = np.average(lowest, weights=WEIGHTS) / mean_of_costs(y, pair_cost, WEIGHTS)
    assert_allclose(objective(case, WEIGHTS).infimum, expected, rtol=1e-10, atol=1e-15)


@each_case
def test_mini_batches_keep_targets_and_weights(case):
    full, rows = objective(case, WEIGHTS), np.arange(0, n, 3)
    part = full.batch(rows)
    _, y, pair_cost = CASES[case]
    order = np.lexsort(y.reshape(n, -1).T[::-1])[rows]
    expected = naive(L, X[order], y[order], pair_cost, WEIGHTS[order])
    scaled = expected / mean_of_costs(y, pair_cost, WEIGHTS)
    assert_allclose(on_maps(part)(L.ravel())[0], scaled, rtol=1e-10)


@each_case
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_sgd_and_fewer_components(case):
    cost, y, _ = CASES[case]
    learner = NCA(2, cost=cost, solver="sgd", max_iter=5, random_state=0).fit(X, y)
    assert learner.components_.shape == (2, 4)
    assert learner.metadata()["final_objective"] < learner.metadata()["initial_objective"]


def test_zero_one_is_nca():
    """Both minimise the same function. The table of zeros and ones divides it by the mean cost."""
    table = 1.0 - np.eye(3)
    given = Labels(np.sort(LABELS), np.arange(3))
    order = np.argsort(LABELS, kind="stable")
    B = A[order] - A.mean(axis=0)
    by_table = NCA(cost=table)._objective(B, given, order)
    plain = NCA()._objective(B, given, order)
    (cost, gradient), (value, expected) = (on_maps(f)(L.ravel()) for f in (by_table, plain))
    unit = by_table.rule.unit
    assert_allclose(unit * cost, 1 + value)
    assert_allclose(unit * gradient, expected, atol=1e-13)
    assert_array_equal(
        NCA(cost="zero-one").fit(A, LABELS).components_, NCA().fit(A, LABELS).components_
    )
    params = {"reg": 0.0, "max_iter": 200, "tol": 1e-8}
    fitted = NCA(cost=table, **params).fit(A, LABELS).metadata()["final_objective"]
    best = NCA(**params).fit(A, LABELS).metadata()["final_objective"]
    assert_allclose(fitted, 1 - best, atol=1e-3)


@pytest.mark.parametrize("cost", ["absolute", "squared"])
@pytest.mark.parametrize("unit", [1e-90, 2.0**-30, 1e6, 1e150])
def test_unit_of_the_targets_does_not_matter(cost, unit):
    learner = NCA(cost=cost, reg=0.05).fit(X, unit * NUMBERS)
    expected = NCA(cost=cost, reg=0.05).fit(X, NUMBERS)
    assert_allclose(learner.components_, expected.components_, rtol=1e-5, atol=1e-5)
    factor = unit ** (2 if cost == "squared" else 1)
    value, expected_value = (f.metadata()["final_objective"] for f in (learner, expected))
    assert value == pytest.approx(factor * expected_value, rel=1e-6)
    assert learner.metadata()["n_iter"] == expected.metadata()["n_iter"]


def test_unit_of_a_table_does_not_matter():
    first, second = (NCA(cost=c * TABLE, reg=0.1).fit(X, labels) for c in (1.0, 1e5))
    assert_allclose(first.components_, second.components_, rtol=1e-5, atol=1e-5)


def test_string_classes_use_the_table_in_sorted_order():
    names = np.array(["a", "b", "c"])
    shuffled = np.array(["c", "a", "b"])  # the classes 0, 1 and 2
    permuted = TABLE[np.ix_([1, 2, 0], [1, 2, 0])]
    first = NCA(cost=TABLE).fit(X, names[labels])
    second = NCA(cost=permuted).fit(X, shuffled[labels])
    assert_allclose(first.components_, second.components_, rtol=1e-5, atol=1e-6)


def test_kernelized_nca_with_a_cost():
    learner = Kernelized(NCA(2, cost="absolute", max_iter=100)).fit(X, NUMBERS)
    facts = learner.metadata()
    assert facts["final_objective"] < facts["initial_objective"]
    assert not learner._maximises
    assert Kernelized(NCA())._maximises


def test_class_weights_of_a_table():
    learner = NCA(cost=TABLE, class_weight={0: 2.0}).fit(X, labels)
    expected = NCA(cost=TABLE).fit(X, labels, sample_weight=np.where(labels == 0, 2.0, 1.0))
    assert_array_equal(learner.components_, expected.components_)


@pytest.mark.parametrize(
    ("params", "y", "says"),
    [
        ({"cost": TABLE[:2]}, labels, r"shape \(2, 3\), but y has 3 classes: \[0, 1, 2\]"),
        ({"cost": TABLE[:2, :2]}, labels, r"shape \(2, 2\), but y has 3 classes"),
        ({"cost": TABLE - 1}, labels, r"contains -1\.0 at \(0, 0\), but costs must not be neg"),
        ({"cost": np.where(TABLE == 4, np.inf, TABLE)}, labels, r"contains inf at \(0, 2\), but"),
        ({"cost": [["a"] * 3] * 3}, labels, "table cost must contain numbers"),
        ({"cost": "jaccard"}, SETS + 1, "y contains other values"),
        ({"cost": "jaccard"}, labels, "y is not a matrix.*MultiLabelBinarizer"),
        ({"cost": "squared"}, np.array(["a", "b", "c"])[labels], "NCA learns from numbers"),
        ({"cost": "squared"}, NUMBERS * np.nan, "Input y contains NaN"),
        ({"cost": "nearest"}, NUMBERS, "'cost' parameter of NCA must be"),
        ({"cost": "absolute", "class_weight": "balanced"}, NUMBERS, "needs classes, but cost="),
        ({"cost": "absolute", "init": "lda"}, NUMBERS, "init='lda' needs class labels"),
        ({"cost": lambda a, b: np.ones(3)}, NUMBERS, r"returned an array of shape \(3,\)"),
        ({"cost": lambda a, b: -np.ones((len(a), len(b)))}, NUMBERS, "negative, infinite or NaN"),
        ({"cost": lambda a, b: np.full((len(a), len(b)), "x")}, NUMBERS, "dtype <U1"),
        ({}, NUMBERS, r"NCA learns from classes, but y contains fractions.*MLKR"),
    ],
)
def test_wrong_costs_and_targets_raise(params, y, says):
    with pytest.raises(ValueError, match=says):
        NCA(**params).fit(X, y)


@pytest.mark.parametrize("cost", ["absolute", "squared", "jaccard"])
def test_equal_targets_warn_and_change_nothing(cost):
    y = np.ones((n, 2))
    with pytest.warns(UserWarning, match="All targets are equal, so NCA has nothing to learn"):
        facts = NCA(cost=cost).fit(X, y).metadata()
    assert (facts["n_iter"], facts["converged"], facts["final_objective"]) == (0, True, 0.0)


@pytest.mark.parametrize(
    "cost",
    [np.zeros((3, 3)), np.ones((3, 3)), np.outer([1, 2, 3], np.ones(3))],
    ids=["zero", "one", "rows"],
)
@pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["equal", "weights"])
def test_equal_costs_warn_and_change_nothing(cost, weights):
    with pytest.warns(UserWarning, match="the same cost, so NCA has nothing to learn") as caught:
        learner = NCA(2, cost=cost).fit(X, labels, sample_weight=weights)
    assert len(caught) == 1
    assert (learner.n_iter_, learner.metadata()["converged"]) == (0, True)
    with pytest.warns(UserWarning, match="y has only one class") as caught:
        NCA(2, cost=[[0.0]]).fit(X, np.ones(n))
    assert len(caught) == 1


def test_samples_with_similar_sets_of_labels_become_neighbours():
    """The first feature determines the labels, and the others are noise."""
    B = rng.normal(size=(120, 4))
    sets = (B[:, :1] > np.array([-1.0, 0.0, 1.0])).astype(int)
    learned = NCA(1, cost="jaccard").fit(B, sets).components_[0]
    assert abs(learned[0]) > 5 * np.abs(learned[1:]).max()
