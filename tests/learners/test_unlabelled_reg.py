"""Tests of the penalty on distances between neighbours, which uses unlabelled samples."""

import warnings

import cvxpy as cp
import numpy as np
import oracles
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import approx_fprime
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

from dimetric import LDML, LMNN, MCML, MLKR, NCA, NCMC, NCMML, Pairs, Triplets
from dimetric.learners._fitting.graph_term import neighbor_scatter
from dimetric.learners.ldml import LDMLRule
from dimetric.linalg.psd import metric_of
from dimetric.linalg.sample_span import least_penalty, sample_span
from dimetric.objectives.objective import on_maps, on_metrics
from dimetric.objectives.pairwise import PairwiseObjective

RNG = np.random.default_rng(0)
CODES = np.arange(90) % 3
X = RNG.normal(size=(90, 3)) * [1.0, 2.0, 0.5] + (CODES[:, None] == np.arange(3))
MORE = RNG.normal(size=(90, 4))
W = np.where(np.arange(90) % 4 == 1, 0.0, RNG.uniform(0.5, 2.0, 90))
MAP = RNG.normal(size=(2, 3))
Y = np.where(np.arange(90) < 36, CODES, -1)
LABELLED = Y >= 0
REG = 0.3
LEARNERS = [
    NCA(tol=1e-7, max_iter=500),
    MCML(tol=1e-7, max_iter=500),
    LDML(tol=1e-7, max_iter=500),
    LMNN(tol=1e-6, max_iter=2000),
    NCMML(tol=1e-7, max_iter=500),
    NCMC(n_centroids=2, random_state=0, tol=1e-7, max_iter=500),
]
each_learner = pytest.mark.parametrize("learner", LEARNERS, ids=lambda a: type(a).__name__)


def naive_scatter(X, w=None, k=10):
    """Return the scatter of differences between neighbours with the trace d, with loops."""
    w = np.ones(len(X)) if w is None else w
    S = np.zeros((X.shape[1], X.shape[1]))
    rows = np.flatnonzero(w > 0)
    for i in rows:
        others = rows[rows != i]
        near = others[np.argsort(np.sum((X[others] - X[i]) ** 2, axis=1), kind="stable")][:k]
        for j in near:
            S += w[i] * w[j] * np.outer(X[i] - X[j], X[i] - X[j])
    return len(S) * S / np.trace(S)


def penalty_matrix(X, y, w=None, reg=REG):
    """Return R, for which the penalty is tr(L R L^T)."""
    used = y >= 0 if w is None else (y >= 0) & (w > 0)
    return reg * np.var(X[used], axis=0).mean() / X.shape[1] * naive_scatter(X, w)


def fitted(learner, X, y, **kwargs):
    params = kwargs.pop("params", {})
    return clone(learner).set_params(unlabelled=-1, **params).fit(X, y, **kwargs)


def test_scatter_matches_a_loop(namespace):
    w, A = W, namespace.asarray(X)
    assert_allclose(neighbor_scatter(A), naive_scatter(X), atol=1e-12)
    assert_allclose(neighbor_scatter(A, w), naive_scatter(X, w), atol=1e-12)
    assert_allclose(neighbor_scatter(A, 2.0**500 * w), naive_scatter(X, w), atol=1e-12)
    assert_allclose(neighbor_scatter(namespace.asarray(1e150 * X)), naive_scatter(X), atol=1e-12)
    assert_allclose(neighbor_scatter(A[:5, :]), naive_scatter(X[:5]), atol=1e-12)


def test_scatter_of_identical_samples_is_zero():
    assert_array_equal(neighbor_scatter(np.ones((4, 2))), np.zeros((2, 2)))
    assert_array_equal(neighbor_scatter(np.ones((1, 2))), np.zeros((2, 2)))


def test_scatter_of_a_lattice_is_the_identity():
    """Neighbours differ equally in all directions, so the penalty is a ridge."""
    grid = np.stack(np.meshgrid(*2 * [np.arange(20.0)]), axis=-1).reshape(-1, 2)
    swapped = np.concatenate([grid, grid[:, ::-1] + 100])
    assert_allclose(neighbor_scatter(swapped), np.eye(2), atol=0.02)


def test_gradients_of_a_penalty_with_a_matrix():
    A, codes = X[LABELLED], np.sort(CODES[LABELLED])
    R, L = penalty_matrix(X, Y), MAP
    objective = PairwiseObjective(LDMLRule(1.0), A, codes)
    value, grad = on_maps(objective, ridge=R)(L.ravel())
    assert_allclose(value, on_maps(objective)(L.ravel())[0] + np.trace(L @ R @ L.T))
    numeric = approx_fprime(L.ravel(), lambda x: on_maps(objective, ridge=R)(x)[0])
    assert_allclose(grad, numeric, atol=1e-5)
    same_value, G = on_metrics(objective, ridge=R)(metric_of(L).ravel())
    assert_allclose(same_value, value)
    assert_allclose(2 * L @ G.reshape(3, 3), grad.reshape(2, 3), atol=1e-10)
    ridges = (0.7, 0.7 * np.eye(3))
    values = [on_maps(objective, ridge=ridge)(L.ravel()) for ridge in ridges]
    assert_allclose(values[0][0], values[1][0])
    assert_allclose(values[0][1], values[1][1])


@pytest.mark.parametrize("n", [3, 9])
def test_least_penalty(n, rng):
    A, B = rng.normal(size=(n, 5)), rng.normal(size=(5, 5))
    R = B @ B.T
    _, E, Q = sample_span(A)
    assert_allclose(least_penalty(np.eye(5), E), Q, atol=1e-10)
    P = least_penalty(R, E)
    T = rng.normal(size=(5, 5))
    K = E.T @ T @ T.T @ E
    N = cp.Variable((5, 5), PSD=True)
    problem = cp.Problem(cp.Minimize(cp.trace(R @ N)), [E.T @ N @ E == K])
    assert_allclose(problem.solve(solver=cp.CLARABEL), np.vdot(P, K), rtol=1e-5)


@each_learner
def test_the_objective_is_the_loss_plus_the_penalty(learner):
    model = fitted(learner, X, Y, params={"unlabelled_reg": REG})
    L, sign = model.components_, -1 if model._maximises else 1
    penalty = sign * np.trace(L @ penalty_matrix(X, Y) @ L.T)
    params = {"init": L, "max_iter": 1, "n_components": 3}
    if isinstance(learner, LDML):
        params["b"] = model.b_
    if isinstance(learner, NCMC):
        assert model.n_centroids_ == (2, 2, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        plain = clone(learner).set_params(**params).fit(X[LABELLED], Y[LABELLED])
    expected = plain.metadata()["initial_objective"] + penalty
    assert_allclose(model.metadata()["final_objective"], expected, rtol=1e-8)
    assert model.metadata()["n_unlabelled"] == 54


@each_learner
def test_unlabelled_samples_are_ignored_without_the_penalty(learner):
    given, expected = fitted(learner, X, Y), clone(learner).fit(X[LABELLED], Y[LABELLED])
    assert_array_equal(given.components_, expected.components_)
    with_penalty = fitted(learner, X, Y, params={"unlabelled_reg": REG})
    assert np.max(np.abs(with_penalty.components_ - expected.components_)) > 1e-3


@each_learner
def test_the_unit_and_the_order_of_rows_have_no_effect(learner):
    model = fitted(learner, X, Y, params={"unlabelled_reg": REG})
    in_grams = fitted(learner, 1024 * X, Y, params={"unlabelled_reg": REG})
    assert_allclose(1024 * in_grams.components_, model.components_, rtol=1e-9)
    back = slice(None, None, -1)
    backwards = fitted(learner, X[back], Y[back], params={"unlabelled_reg": REG})
    assert_array_equal(backwards.components_, model.components_)


@each_learner
def test_array_libraries_agree(learner):
    import array_api_strict as xp

    model = fitted(learner, X, Y, params={"unlabelled_reg": REG})
    there = fitted(learner, xp.asarray(X), Y, params={"unlabelled_reg": REG})
    values = [each.metadata()["final_objective"] for each in (model, there)]
    assert_allclose(*values, rtol=1e-5)


def test_weight_zero_is_absence():
    w = W
    for learner in (LDML(), LMNN()):
        model = fitted(learner, X, Y, params={"unlabelled_reg": REG}, sample_weight=w)
        used = w > 0
        expected = fitted(
            learner, X[used], Y[used], params={"unlabelled_reg": REG}, sample_weight=w[used]
        )
        assert_allclose(model.components_, expected.components_, rtol=1e-10)
        assert model.metadata()["n_unlabelled"] == expected.metadata()["n_unlabelled"]


def optimum(learner, A, y, R):
    """Return the minimum of the objective plus the penalty, by a convex solver."""
    d = A.shape[1]
    M = cp.Variable((d, d), PSD=True)
    i, j = np.triu_indices(len(A), 1)
    if isinstance(learner, LDML):
        b = cp.Variable()
        sign = np.where(y[i] == y[j], 1.0, -1.0)
        margin = cp.multiply(sign, oracles._distances(A[i] - A[j], M) - b)
        loss = cp.sum(cp.logistic(margin)) / len(i)
    else:
        pairs = oracles.nearest_targets(A, y, learner.n_neighbors)
        near = oracles._distances(A[pairs[:, 0]] - A[pairs[:, 1]], M)
        p, other = np.nonzero(y[pairs[:, 0]][:, None] != y)
        far = oracles._distances(A[pairs[p, 0]] - A[other], M)
        loss = (cp.sum(near) + cp.sum(cp.pos(1 + near[p] - far))) / (2 * len(A))
    total = loss + cp.trace(R @ M)
    oracles._solve(total)
    return float(total.value)


@pytest.mark.parametrize("solver", ["lbfgs", pytest.param("sdp", marks=pytest.mark.slow)])
@pytest.mark.parametrize("n_labelled", [36, 6])
@pytest.mark.parametrize("cls", [LDML, LMNN])
def test_the_gap_bounds_the_distance_to_the_optimum(cls, n_labelled, solver):
    """Also if the labelled samples span fewer dimensions than the unlabelled ones."""
    A = np.hstack([X, MORE]) if n_labelled == 6 else X
    y = np.where(np.arange(90) < n_labelled, CODES, -1)
    params = {"n_neighbors": 1} if cls is LMNN else {}
    learner = cls(solver=solver, reg=0.0, tol=1e-8, max_iter=5000, **params)
    for max_iter in (5000, 2):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            changed = {"unlabelled_reg": REG, "max_iter": max_iter}
            facts = fitted(learner, A, y, params=changed).metadata()
        best = optimum(learner, A[y >= 0], y[y >= 0], penalty_matrix(A, y))
        value = -facts["final_objective"] if cls is LDML else facts["final_objective"]
        assert value >= best - 1e-5
        assert value - best <= facts["gap"] + 1e-5
        if max_iter == 5000:
            assert value - best <= 2e-3
            assert facts["gap"] <= 0.02
            assert facts["gap_proven"]


@pytest.mark.parametrize("cls", [MCML, NCMML])
def test_other_certificates_include_the_penalty(cls):
    best = fitted(cls(tol=1e-9, max_iter=2000), X, Y, params={"unlabelled_reg": REG}).metadata()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        rough = fitted(cls(max_iter=2), X, Y, params={"unlabelled_reg": REG}).metadata()
    distance = abs(best["final_objective"] - rough["final_objective"])
    assert best["gap"] <= 1e-3
    assert rough["gap"] >= distance - 1e-9


def test_pairs_and_triplets_use_all_samples():
    pairs = Pairs(np.array([[0, 3], [1, 4], [2, 5]]), np.array([[0, 1], [1, 2], [3, 4]]))
    triplets = Triplets([0, 1, 2, 4], [3, 4, 5, 1], [1, 2, 0, 3])
    for learner, given in ((LDML(), {"pairs": pairs}), (LMNN(), {"triplets": triplets})):
        model = clone(learner).set_params(unlabelled_reg=REG).fit(X, **given)
        fewer = clone(learner).set_params(unlabelled_reg=REG).fit(X[:50], **given)
        assert np.max(np.abs(model.components_ - fewer.components_)) > 1e-6


@pytest.mark.parametrize("cls", [NCA, LMNN])
def test_mini_batches_include_the_penalty(cls):
    params = {"unlabelled_reg": 100.0, "solver": "sgd", "random_state": 0}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        small = fitted(cls(), X, Y, params=params)
        large = fitted(cls(), X, Y, params=params | {"unlabelled_reg": 0.0})
    assert np.linalg.norm(small.components_) < 0.8 * np.linalg.norm(large.components_)


TARGETS = X[:, 0] + np.sin(X[:, 1])


@pytest.mark.parametrize("outputs", [1, 2])
@pytest.mark.parametrize("learner", [MLKR(), NCA(cost="absolute"), NCA(cost="squared")], ids=str)
def test_targets_may_be_missing(learner, outputs):
    y = np.where(LABELLED, TARGETS, -1.0)
    if outputs == 2:
        y = np.stack([y, np.where(LABELLED, X[:, 2], -1.0)], axis=1)
    plain = clone(learner).fit(X[LABELLED], y[LABELLED])
    given = fitted(learner, X, y)
    assert_array_equal(given.components_, plain.components_)
    assert given.metadata()["n_unlabelled"] == 54
    model = fitted(learner, X, y, params={"unlabelled_reg": 3.0})
    assert model.metadata()["n_unlabelled"] == 54
    R = penalty_matrix(X, np.where(LABELLED, 0, -1), reg=3.0)
    penalties = [np.trace(L @ R @ L.T) for L in (model.components_, plain.components_)]
    assert penalties[0] < penalties[1]
    with pytest.raises(ValueError, match=r"All values of y are unlabelled=-1"):
        fitted(learner, X, np.full_like(y, -1.0))


def test_few_labels_lead_to_a_start_of_a_suitable_scale():
    """Within classes, four labelled samples vary in one direction only, up to rounding."""
    X, y = load_iris(return_X_y=True)
    rows = np.random.default_rng(1).permutation(150)[:4]
    labels = np.full(150, -1)
    labels[rows] = y[rows]
    with pytest.warns(UserWarning, match="2 of 3 classes have a single sample"):
        learner = NCA(2, unlabelled=-1, unlabelled_reg=0.1).fit(X, labels)
    facts = learner.metadata()
    assert facts["converged"]
    assert facts["n_iter"] > 0
    assert np.abs(learner.components_).max() < 100
