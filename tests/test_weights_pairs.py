"""Tests of weights in LDML, LSI, DML-eig, ITML and LMNN: loops, absence, and the convex optimum."""

import warnings
from unittest.mock import patch

import cvxpy as cp
import numpy as np
import oracles
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import approx_fprime
from sklearn.exceptions import ConvergenceWarning

from dimetric import ITML, LDML, LMNN, LSI, DMLEig
from dimetric.learners._fitting.constrained import similar_scatter
from dimetric.learners._fitting.gain import GainOverMaps, RegularizedGain
from dimetric.learners.ldml import LDMLRule
from dimetric.learners.lsi import DistanceRule
from dimetric.objectives.engine import laplacian_product
from dimetric.objectives.fast import all_pairs
from dimetric.objectives.margins import impostors, tiles
from dimetric.objectives.margins.objective import MarginObjective
from dimetric.objectives.margins.targets import nearest_targets
from dimetric.objectives.objective import on_maps
from dimetric.objectives.pairwise import PairwiseObjective
from dimetric.objectives.softmin import SoftminObjective
from dimetric.supervision.labels import Labels

RNG = np.random.default_rng(0)
Y = np.arange(30) % 3
X = RNG.normal(size=(30, 3)) + (Y[:, None] == np.arange(3))
W = RNG.uniform(0.2, 3.0, size=30)
MAP = RNG.normal(size=(2, 3))
RELATIVE = W / W.mean()
I, J = np.triu_indices(30, 1)
SAME, PAIR_WEIGHTS = Y[I] == Y[J], RELATIVE[I] * RELATIVE[J]

LEARNERS = {
    "LDML": LDML(reg=0.0, tol=1e-8, max_iter=500),
    "LDML, sdp": LDML(reg=0.0, solver="sdp", tol=1e-8, max_iter=3000),
    "LDML, b": LDML(b=1.0, reg=0.1, tol=1e-8, max_iter=500),
    "LMNN": LMNN(n_neighbors=2, reg=0.0, tol=1e-6, max_iter=2000),
    "LMNN, sdp": LMNN(n_neighbors=2, reg=0.1, solver="sdp", tol=1e-7, max_iter=3000),
    "LSI": LSI(tol=1e-9, max_iter=2000),
    "LSI, diagonal": LSI(reg=0.0, diagonal=True, tol=1e-9, max_iter=2000),
    "DMLEig": DMLEig(tol=1e-6, max_iter=2000),
    "ITML": ITML(n_constraints=60, tol=1e-9, max_iter=2000, random_state=0),
    "ITML, bregman": ITML(
        n_constraints=30, solver="bregman", tol=1e-6, max_iter=2000, random_state=0
    ),
}
# One variant of each learner is enough for the quick tests.
NAMES = [pytest.param(name, marks=[pytest.mark.slow] if ", " in name else []) for name in LEARNERS]


def sorted_problem(n=40, d=3):
    """Return samples sorted by class, with duplicates, and their classes and weights."""
    rng = np.random.default_rng(1)
    codes = np.sort(rng.integers(0, 4, n))
    A = rng.normal(size=(n, d))
    A[-1] = A[0]  # identical, of different classes
    order = np.lexsort((*A.T, codes))
    return A[order], codes, rng.uniform(0.1, 2.0, n)


def ridge_weight(reg):
    """Return the weight of tr(M): reg times the weighted mean variance, divided by d."""
    mean = np.average(X, axis=0, weights=W)
    return reg * np.average((X - mean) ** 2, axis=0, weights=W).mean() / X.shape[1]


def ldml_loop(L, b, X, y, w):
    """Return the weighted mean of the losses of all pairs, with loops."""
    total = weight = 0.0
    for i in range(len(X)):
        for j in range(i):
            u = (1 if y[i] == y[j] else -1) * (np.sum((L @ (X[i] - X[j])) ** 2) - b)
            total += w[i] * w[j] * np.logaddexp(0, u)
            weight += w[i] * w[j]
    return total / weight


def lsi_loop(L, X, y, w):
    """Return the weighted sum of distances between classes, with loops."""
    return sum(
        w[i] * w[j] * np.linalg.norm(L @ (X[i] - X[j]))
        for i in range(len(X))
        for j in range(i)
        if y[i] != y[j]
    )


def lmnn_loop(L, X, y, targets, target_weights, w, *, mu=0.5, width=0.0):
    """Return the weighted mean of pulls and pushes, with loops."""
    total = 0.0
    for i in range(len(X)):
        for j, share in zip(targets[i], target_weights[i], strict=True):
            if j < 0:
                continue
            near = np.sum((L @ (X[i] - X[j])) ** 2)
            total += w[i] * share * (1 - mu) * near
            for k in range(len(X)):
                if y[k] != y[i]:
                    t = 1 + near - np.sum((L @ (X[i] - X[k])) ** 2)
                    value = (t + width / 2) ** 2 / (2 * width) if 2 * abs(t) < width else max(t, 0)
                    total += w[i] * w[k] * share * mu * value
    return total / sum(w)


def scatter_loop(X, y, w):
    """Return the weighted scatter of the differences of similar pairs, with loops."""
    return sum(
        w[i] * w[j] * np.outer(X[i] - X[j], X[i] - X[j])
        for i in range(len(X))
        for j in range(i)
        if y[i] == y[j]
    )


def test_ldml_objective_and_gradient(namespace):
    A, codes, w = sorted_problem()
    flat = np.append(MAP.ravel(), 1.3)
    objective = PairwiseObjective(LDMLRule(), namespace.asarray(A), codes, [1.0], weights=w)

    def loop(x):
        return ldml_loop(x[:-1].reshape(2, 3), x[-1], A, codes, w)

    value, grad = on_maps(objective)(flat)
    assert_allclose(value, loop(flat), rtol=1e-12)
    assert_allclose(grad, approx_fprime(flat, loop), atol=1e-6)
    i, j = np.triu_indices(len(A), 1)
    expected = np.sum((w[i] * w[j])[codes[i] == codes[j]])
    assert_allclose([objective.n_similar(), objective.n_terms], [expected, np.sum(w[i] * w[j])])


@pytest.mark.parametrize("mu", [1e-3, 0.3, 30.0])
def test_dml_eig_objective_and_gradient(mu, namespace):
    A, codes, w = sorted_problem()
    flat, theta = np.append(MAP, [1.0, -2.0, 0.5]), np.array([mu])
    twins = np.all(A[1:] == A[:-1], axis=1) & (codes[1:] == codes[:-1])
    assert not twins.any()

    def loop(flat):
        L = flat.reshape(3, 3) / np.linalg.norm(flat)
        squares, weights = np.array(
            [
                (np.sum((L @ (A[i] - A[j])) ** 2), w[i] * w[j])
                for i in range(len(A))
                for j in range(i)
                if codes[i] != codes[j] and np.any(A[i] != A[j])
            ]
        ).T
        low = squares.min()
        return -np.log(low - mu * np.log(np.average(np.exp((low - squares) / mu), weights=weights)))

    objective = SoftminObjective(namespace.asarray(A), codes, weights=w)
    value, grad = GainOverMaps(RegularizedGain(objective, 0.0), np.eye(3), theta)(flat)
    assert_allclose(value, loop(flat), rtol=1e-10)
    slope = approx_fprime(flat, loop, 1e-7)
    assert_allclose(grad, slope, atol=1e-4 * np.abs(slope).max())


def test_smooth_minimum_counts_twins_once_with_their_largest_weight():
    A, codes = np.array([[0.0], [0.0], [1.0], [3.0]]), np.array([0, 0, 1, 1])
    twins = SoftminObjective(A, codes, weights=np.array([1e-9, 2.0, 1.0, 3.0]))
    alone = SoftminObjective(A[1:], codes[1:], weights=np.array([2.0, 1.0, 3.0]))
    theta = np.array([0.5])
    assert (
        twins.evaluate(twins.points, twins.points, theta)[0]
        == (alone.evaluate(alone.points, alone.points, theta)[0])
    )


@pytest.mark.parametrize("width", [0.0, 0.3])
@pytest.mark.parametrize("shares", [False, True])
def test_lmnn_objective_and_gradient(width, shares, namespace):
    A, codes, w = sorted_problem(24)
    targets = nearest_targets(A, codes, 2)[0]
    given = W[targets] * (targets >= 0) if shares else None
    weights = np.ones(targets.shape) if given is None else given
    L, options = MAP, {"mu": 0.3, "width": width}
    objective = MarginObjective(
        namespace.asarray(A), codes, targets, given, sample_weights=w, **options
    )

    def loop(flat):
        return lmnn_loop(flat.reshape(2, 3), A, codes, targets, weights, w, **options)

    value, grad = on_maps(objective)(L.ravel())
    assert_allclose(value, loop(L.ravel()), rtol=1e-12)
    assert_allclose(grad, approx_fprime(L.ravel(), loop), atol=1e-5)
    pull = lmnn_loop(L, A, 0 * codes, targets, weights, w, mu=0.3)
    assert_allclose(np.vdot(objective.pull_matrix(), L.T @ L), pull)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("block", [1, 7, 128])
def test_fast_paths_match_the_engine(block, dtype):
    A, codes, w = sorted_problem(60)
    A, tol = A.astype(dtype), 1e-4 if dtype == "float32" else 1e-10
    for rule, theta in ((LDMLRule(), [0.7]), (LDMLRule(), [500.0]), (DistanceRule(), [0.01])):
        objective = PairwiseObjective(rule, A, codes, theta, weights=w)
        with patch.object(all_pairs, "BLOCK_ROWS", block):
            fast = objective.evaluate(A, A, np.array(theta))
        engine = laplacian_product(rule, A, A, objective.side, np.array(theta))
        for part, expected in zip(fast, engine, strict=True):
            assert_allclose(part, expected, rtol=tol, atol=tol * np.abs(expected).max())


@pytest.mark.parametrize("width", [0.0, 0.3])
@pytest.mark.parametrize("sparse", [-1.0, 2.0])
@pytest.mark.parametrize("block", [3, 128])
def test_fast_path_of_lmnn_matches_the_engine(block, sparse, width):
    A, codes, w = sorted_problem(60)
    targets, shares = nearest_targets(A, codes, 3)
    for given in (None, shares):
        objective = MarginObjective(A, codes, targets, given, mu=0.4, width=width, sample_weights=w)
        with (
            patch.object(tiles, "TILE_ROWS", block),
            patch.object(tiles, "TILE_COLUMNS", block),
            patch.object(impostors, "SPARSE_FRACTION", sparse),
        ):
            fast = objective.evaluate(A, A, np.zeros(0))
        engine = laplacian_product(objective.rule, A, A, objective.side)
        for part, expected in zip(fast, engine, strict=True):
            assert_allclose(part, expected, rtol=1e-10, atol=1e-10 * np.abs(expected).max())


def test_batches_of_lmnn_keep_the_weights():
    A, codes, w = sorted_problem()
    targets, shares = nearest_targets(A, codes, 2)
    objective = MarginObjective(A, codes, targets, shares, mu=0.4, sample_weights=w)
    rows = np.arange(0, 40, 3)
    assert_array_equal(objective.batch(rows).sample_weights, w[rows])
    assert_allclose(objective.batch(rows).n_terms, w[rows].sum())


def test_scatter_of_similar_pairs():
    A, codes, w = sorted_problem()
    scatter = similar_scatter(A, Labels(codes, np.arange(4), w))
    assert_allclose(scatter, scatter_loop(A, codes, w / w.mean()))


def sampled_terms(itml):
    """Return the pairs that ITML samples, whether they are similar, and their weights."""
    with (
        patch.object(ITML, "_objective", autospec=True, side_effect=RuntimeError) as objective,
        pytest.raises(RuntimeError),
    ):
        type(itml)(**itml.get_params()).fit(X, Y, sample_weight=W)
    _, _, pairs, originals, weights = objective.call_args.args
    rows = pairs.rows
    return originals[rows[:, 0]] - originals[rows[:, 1]], pairs.is_similar, weights[rows].prod(1)


def formula(learner, fitted):
    """Return the objective of a fitted learner, computed by its formula with loops."""
    L = fitted.components_
    if isinstance(learner, LDML):
        reg = ridge_weight(learner.reg) * np.sum(L**2)
        return -ldml_loop(L, fitted.b_, X, Y, W) - reg
    if isinstance(learner, LMNN):
        targets, shares = fitted.targets_, fitted.target_weights_
        reg = ridge_weight(learner.reg) * np.sum(L**2)
        return lmnn_loop(L, X, Y, targets, shares, RELATIVE) + reg
    if isinstance(learner, ITML):
        V, similar, weights = sampled_terms(learner)
        D = np.sum((V @ L.T) ** 2, axis=1)
        upper, lower = fitted.bounds_
        ratio = np.where(similar, np.maximum(D / upper, 1), np.minimum(D / lower, 1))
        penalty = weights @ (ratio - np.log(ratio) - 1)
        return oracles.logdet_divergence(L.T @ L, np.eye(3)) + learner.gamma * penalty
    A = scatter_loop(X, Y, RELATIVE)
    A = A + learner.delta * np.trace(A) / 3 * np.eye(3)
    assert_allclose(np.vdot(A, L.T @ L), 1.0)  # the constraint
    values = np.linalg.eigvals(A @ L.T @ L).real
    evenness = (np.prod(values) ** (1 / 3) / values.mean()) ** learner.reg
    if isinstance(learner, LSI):
        return lsi_loop(L, X, Y, RELATIVE) * evenness
    return np.min(oracles.squared_distances(X, L.T @ L)[I, J][~SAME]) * evenness


@pytest.mark.parametrize("name", NAMES)
def test_the_objective_matches_its_formula(name):
    learner = LEARNERS[name]
    learner.fit(X, Y, sample_weight=W)
    assert_allclose(learner.metadata()["final_objective"], formula(learner, learner), rtol=1e-8)


def ldml_optimum(b, reg):
    M, threshold = cp.Variable((3, 3), PSD=True), cp.Variable() if b is None else b
    D = oracles._distances(X[I] - X[J], M)
    losses = cp.logistic(cp.multiply(np.where(SAME, 1.0, -1.0), D - threshold))
    mean = PAIR_WEIGHTS / PAIR_WEIGHTS.sum() @ losses
    oracles._solve(mean, M, ridge_weight(reg))
    return -float(mean.value + ridge_weight(reg) * np.trace(M.value))


def lmnn_optimum(fitted):
    M = cp.Variable((3, 3), PSD=True)
    i, rank = np.nonzero(fitted.targets_ >= 0)
    j = fitted.targets_[i, rank]
    shares = RELATIVE[i] * fitted.target_weights_[i, rank]
    near = oracles._distances(X[i] - X[j], M)
    p, other = np.nonzero(Y[i][:, None] != Y)
    hinges = cp.pos(1 + near[p] - oracles._distances(X[i[p]] - X[other], M))
    loss = (shares @ near + (shares[p] * RELATIVE[other]) @ hinges) / (2 * len(X))
    ridge = ridge_weight(fitted.reg)
    oracles._solve(loss, M, ridge)
    return float(loss.value + ridge * np.trace(M.value))


def bounded_optimum(learner, gain):
    A = scatter_loop(X, Y, RELATIVE)
    A = A + learner.delta * np.trace(A) / 3 * np.eye(3)
    if learner.diagonal:
        T, M = np.diag(1 / np.sqrt(np.diag(A))), cp.diag(cp.Variable(3, nonneg=True))
    else:
        T, M = np.linalg.inv(np.linalg.cholesky(A)), cp.Variable((3, 3), PSD=True)
    D = oracles._distances((X[I] - X[J])[~SAME] @ T.T, M)
    oracles._solve(-gain(D), constraints=[cp.trace(M) <= 1])
    return float(gain(D).value)


def itml_optimum(learner):
    V, similar, weights = sampled_terms(learner)
    upper, lower = learner.bounds_
    M, slack = cp.Variable((3, 3), PSD=True), cp.Variable(len(V))
    sign, ratio = np.where(similar, 1.0, -1.0), slack / np.where(similar, upper, lower)
    loss = cp.trace(M) - cp.log_det(M) - 3
    loss = loss + learner.gamma * (weights @ (ratio - cp.log(ratio) - 1))
    oracles._solve(loss, constraints=[cp.multiply(sign, oracles._distances(V, M) - slack) <= 0])
    return float(loss.value)


def optimum(learner):
    """Return the best objective by a convex solver, with reg=0 for LSI and DML-eig."""
    if isinstance(learner, LDML):
        return ldml_optimum(learner.b, learner.reg)
    if isinstance(learner, LMNN):
        return lmnn_optimum(learner)
    if isinstance(learner, ITML):
        return itml_optimum(learner)
    if isinstance(learner, LSI):
        weights = PAIR_WEIGHTS[~SAME]
        return bounded_optimum(learner, lambda D: weights @ cp.sqrt(D))
    return bounded_optimum(learner, cp.min)


@pytest.mark.parametrize("max_iter", [3, None])
@pytest.mark.parametrize("name", NAMES)
def test_the_gap_bounds_the_distance_to_the_optimum(name, max_iter):
    learner = LEARNERS[name]
    params = learner.get_params() | ({} if max_iter is None else {"max_iter": max_iter})
    if "delta" in params:
        params["reg"] = 0.0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        fitted = type(learner)(**params).fit(X, Y, sample_weight=W)
    facts, best = fitted.metadata(), optimum(fitted)
    difference = abs(best - facts["final_objective"])
    assert difference <= facts["gap"] + 1e-5 * max(1, abs(best))
    if max_iter is None:
        assert facts["gap"] <= 0.02 * max(1, abs(best))


def objective_and_metric(learner, *data, **weights):
    learner.fit(*data, **weights)
    return learner.metadata()["final_objective"], learner.metric()


@pytest.mark.parametrize("name", NAMES)
def test_weight_zero_is_absence(name):
    learner, w = LEARNERS[name], np.where(np.arange(30) % 4 == 1, 0.0, W)
    value, M = objective_and_metric(learner, X, Y, sample_weight=w)
    expected, N = objective_and_metric(learner, X[w > 0], Y[w > 0], sample_weight=w[w > 0])
    assert_allclose(value, expected, rtol=1e-10)
    assert_allclose(M, N, rtol=1e-10, atol=1e-10 * np.abs(N).max())


@pytest.mark.parametrize("name", NAMES)
def test_constant_weights_have_no_effect(name):
    learner = LEARNERS[name]
    value, M = objective_and_metric(learner, X, Y, sample_weight=np.full(30, 0.7))
    expected, N = objective_and_metric(learner, X, Y)
    assert_allclose(value, expected, rtol=1e-10)
    assert_allclose(M, N, rtol=1e-10)


@pytest.mark.parametrize("name", NAMES)
def test_the_unit_of_weights_has_no_effect(name):
    learner = LEARNERS[name]
    value, M = objective_and_metric(learner, X, Y, sample_weight=2.0**500 * W)
    expected, N = objective_and_metric(learner, X, Y, sample_weight=W)
    assert_allclose(value, expected, rtol=1e-8)
    assert_allclose(M, N, rtol=1e-4, atol=1e-4 * np.abs(N).max())


@pytest.mark.parametrize("name", NAMES)
def test_class_weights_multiply_sample_weights(name):
    learner, factors = LEARNERS[name], {0: 0.5, 1: 2.0, 2: 1.0}
    expected = objective_and_metric(learner, X, Y, sample_weight=W * np.take([0.5, 2.0, 1.0], Y))
    weighted = type(learner)(**learner.get_params() | {"class_weight": factors})
    value, M = objective_and_metric(weighted, X, Y, sample_weight=W)
    assert_allclose(value, expected[0], rtol=1e-10)
    assert_allclose(M, expected[1], rtol=1e-10)
    unbalanced = np.r_[np.flatnonzero(Y < 2), np.flatnonzero(Y == 2)[:4]]
    balanced = type(learner)(**learner.get_params() | {"class_weight": "balanced"})
    value, M = objective_and_metric(balanced, X[unbalanced], Y[unbalanced])
    counts = np.bincount(Y[unbalanced])
    expected = objective_and_metric(
        learner, X[unbalanced], Y[unbalanced], sample_weight=1 / counts[Y[unbalanced]]
    )
    assert_allclose(value, expected[0], rtol=1e-8)


@pytest.mark.parametrize("name", NAMES)
def test_the_order_of_rows_has_no_effect(name):
    """Also not if identical samples have different weights."""
    learner, A, w = LEARNERS[name], X.copy(), W.copy()
    A[[3, 6, 9]] = A[0]
    back = slice(None, None, -1)
    value, M = objective_and_metric(learner, A, Y, sample_weight=w)
    expected, N = objective_and_metric(learner, A[back], Y[back], sample_weight=w[back])
    assert value == expected
    assert_array_equal(M, N)


@pytest.mark.parametrize("given", [False, True])
def test_targets_of_lmnn_are_rows_of_x(given):
    w, y = np.where(np.arange(30) % 4 == 1, 0.0, W), np.where(np.arange(30) % 7 == 0, -1, Y)
    used = (w > 0) & (y >= 0)
    numbers = np.flatnonzero(used)
    inner = LMNN(n_neighbors=2).fit(X[used], Y[used], sample_weight=w[used])
    targets = np.full((30, 2), -1)
    targets[used] = numbers[inner.targets_]
    options = {"targets": targets} if given else {"n_neighbors": 2}
    learner = LMNN(unlabelled=-1, **options).fit(X, y, sample_weight=w)
    assert_array_equal(learner.targets_, targets)
    assert_array_equal(learner.target_weights_, np.where(targets < 0, 0.0, 1.0))
    assert learner.metadata()["n_unlabelled"] == np.sum((y < 0) & (w > 0))
    assert_allclose(learner.metadata()["final_objective"], inner.metadata()["final_objective"])


@pytest.mark.parametrize("cls", [LDML, LMNN, LSI, DMLEig, ITML])
def test_unlabelled_samples_are_left_out_with_their_weights(cls):
    y = np.where(np.arange(30) % 5 == 0, -1, Y)
    params = {"random_state": 0} if cls is ITML else {}
    value, M = objective_and_metric(cls(unlabelled=-1, **params), X, y, sample_weight=W)
    rows = y >= 0
    expected = objective_and_metric(cls(**params), X[rows], y[rows], sample_weight=W[rows])
    assert_allclose(value, expected[0], rtol=1e-10)
    assert_allclose(M, expected[1], rtol=1e-10)
    assert cls(unlabelled=-1, **params).fit(X, y).metadata()["n_unlabelled"] == 6


@pytest.mark.parametrize("cls", [LDML, LMNN, LSI, DMLEig, ITML])
def test_a_class_of_weight_zero_is_absent(cls):
    params = {"random_state": 0} if cls is ITML else {}
    value, M = objective_and_metric(cls(class_weight={1: 0.0}, **params), X, Y)
    expected = objective_and_metric(cls(**params), X[Y != 1], Y[Y != 1])
    assert_allclose(value, expected[0], rtol=1e-10)
    assert_allclose(M, expected[1], rtol=1e-10)


def test_a_class_of_weight_zero_is_no_class():
    assert_array_equal(LDML(class_weight={1: 0.0}).fit(X, Y).classes_, [0, 2])
    with pytest.raises(ValueError, match="ITML requires at least 2 classes, but y has only 1"):
        ITML(class_weight={0: 0.0, 1: 0.0}).fit(X, Y)
    with pytest.warns(UserWarning, match="y has only one class, so LMNN has nothing to learn"):
        LMNN(class_weight={0: 0.0, 1: 0.0}).fit(X, Y)
