"""Tests of weights in the learners in which each sample picks a neighbour: NCA and MCML.

A weight multiplies the probability of being picked, and the loss of the sample that picks.
"""

import numpy as np
import pytest
from estimators import samples
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import approx_fprime
from sklearn.base import clone

from dimetric import MCML, NCA
from dimetric.learners._fitting.functions import LossOverMaps
from dimetric.learners._fitting.problem import Problem
from dimetric.objectives.objective import on_maps
from dimetric.supervision.labels import Labels

rng = np.random.default_rng(3)
X, y = samples(40)
WEIGHTS = rng.uniform(0.1, 3.0, 40)
L = rng.normal(size=(2, 4)) / 3
SOFTMAX_LEARNERS = [NCA(), MCML()]


def naive_nca(L, X, y, weights):
    """Return minus the mean probability of picking a sample of the same class, with loops."""
    total = 0.0
    for i in range(len(X)):
        e = [w * np.exp(-sum((L @ (X[i] - x)) ** 2)) for w, x in zip(weights, X, strict=True)]
        e[i] = 0.0
        total -= weights[i] * sum(e[j] for j in range(len(X)) if y[j] == y[i]) / sum(e)
    return total / sum(weights)


def naive_mcml(L, X, y, weights):
    """Return the objective of MCML with loops. The weights are divided by their mean."""
    weights, total, anchors = weights / np.mean(weights), 0.0, 0.0
    for i in range(len(X)):
        d2 = [sum((L @ (X[i] - x)) ** 2) for x in X]
        friends = [j for j in range(len(X)) if j != i and y[j] == y[i]]
        if friends:
            ideal = sum(weights[j] * d2[j] for j in friends) / sum(weights[j] for j in friends)
            others = sum(weights[j] * np.exp(-d2[j]) for j in range(len(X)) if j != i)
            total += weights[i] * (ideal + np.log(others))
            anchors += weights[i]
    return total / anchors


NAIVE = {NCA: naive_nca, MCML: naive_mcml}


def objective(learner, X, y, weights, namespace=np):
    order = np.argsort(y, kind="stable")
    labels = Labels(y[order], np.unique(y), None if weights is None else weights[order])
    return learner._objective(namespace.asarray(X[order]), labels, order)


@pytest.mark.parametrize("learner", SOFTMAX_LEARNERS, ids=str)
@pytest.mark.parametrize("alone", [False, True])
def test_weighted_objective_matches_a_loop(learner, alone, namespace):
    labels = np.where(np.arange(40) == 7, 3, y) if alone else y
    A = X - X.mean(axis=0)
    f, naive = on_maps(objective(learner, A, labels, WEIGHTS, namespace)), NAIVE[type(learner)]
    assert_allclose(f(L.ravel())[0], naive(L, X, labels, WEIGHTS), rtol=1e-10)
    numeric = approx_fprime(L.ravel(), lambda x: f(x)[0])
    assert_allclose(f(L.ravel())[1], numeric, atol=2e-6)


@pytest.mark.parametrize("learner", SOFTMAX_LEARNERS, ids=str)
def test_weighted_fast_path_matches_the_engine(learner, monkeypatch):
    monkeypatch.setattr("dimetric.objectives.fast.all_pairs.BLOCK_ROWS", 7)
    labels = np.where(np.arange(40) == 7, 3, y)
    fast = objective(learner, X - X.mean(axis=0), labels, WEIGHTS)
    monkeypatch.setattr(type(fast.rule), "fast", None)
    engine = objective(learner, X - X.mean(axis=0), labels, WEIGHTS)
    for dtype, tol in (("float64", 1e-11), ("float32", 1e-4)):
        Z = (fast.points @ L.T).astype(dtype)
        for V in (Z, fast.points.astype(dtype)):
            loss, product, _ = fast.evaluate(Z, V, fast.theta)
            expected, expected_product, _ = engine.evaluate(Z, V, fast.theta)
            assert_allclose(loss, expected, rtol=tol)
            assert_allclose(product, expected_product, atol=tol * np.abs(expected_product).max())


@pytest.mark.parametrize("learner", SOFTMAX_LEARNERS, ids=str)
def test_infimum_with_weights_is_approached_by_separated_classes(learner):
    labels = np.where(np.arange(40) == 7, 3, y)
    far = 1000.0 * labels[:, None] + np.zeros((40, 2))
    problem = objective(learner, far - far.mean(axis=0), labels, WEIGHTS)
    value = on_maps(problem)(np.eye(2).ravel())[0]
    assert_allclose(value, problem.infimum, rtol=1e-12)


@pytest.mark.parametrize("learner", SOFTMAX_LEARNERS, ids=str)
def test_weight_zero_is_absence_and_equal_weights_change_nothing(learner):
    learner = clone(learner).set_params(reg=0.0)
    kept = WEIGHTS > 1
    masked = learner.fit(X, y, sample_weight=np.where(kept, WEIGHTS, 0)).components_
    assert_array_equal(
        masked, learner.fit(X[kept], y[kept], sample_weight=WEIGHTS[kept]).components_
    )
    plain = learner.fit(X, y).components_
    assert_array_equal(plain, learner.fit(X, y, sample_weight=np.full(40, 0.3)).components_)
    weighted = learner.fit(X, y, sample_weight=WEIGHTS)
    facts = weighted.metadata()
    sign = -1 if learner._maximises else 1
    naive = NAIVE[type(learner)](weighted.components_, X, y, WEIGHTS)
    assert_allclose(sign * facts["final_objective"], naive, rtol=1e-9)
    again = learner.fit(X, y, sample_weight=1e190 * WEIGHTS)
    assert_allclose(again.metadata()["final_objective"], facts["final_objective"], rtol=1e-6)


@pytest.mark.parametrize("learner", SOFTMAX_LEARNERS, ids=str)
def test_mini_batches_keep_weights(learner):
    full = objective(learner, X - X.mean(axis=0), y, WEIGHTS)
    rows, order = np.arange(0, 40, 3), np.argsort(y, kind="stable")
    part = full.batch(rows)
    expected = NAIVE[type(learner)](L, X[order][rows], y[order][rows], WEIGHTS[order][rows])
    function = LossOverMaps(Problem(full, start=L, restore=lambda L: L))
    value = function._batch_loss(part)(L.ravel())[0]
    relative = part.side.weights.mean()  # the weights are divided by the mean over all samples
    shift = np.log(relative) if isinstance(learner, MCML) else 0.0
    assert_allclose(on_maps(part)(L.ravel())[0], expected + shift, rtol=1e-10)
    assert_allclose(value, expected + shift - part.infimum + full.infimum, rtol=1e-10)


@pytest.mark.parametrize("learner", SOFTMAX_LEARNERS, ids=str)
def test_class_weights_multiply_sample_weights(learner):
    kept = (y > 0) | (np.arange(40) % 3 == 0)
    A, labels = X[kept], y[kept]
    factors = len(labels) / 3 / np.bincount(labels)
    balanced = type(learner)(class_weight="balanced").fit(A, labels)
    given = type(learner)(class_weight=dict(enumerate(factors))).fit(A, labels)
    expected = learner.fit(A, labels, sample_weight=factors[labels])
    assert_allclose(balanced.components_, expected.components_, rtol=1e-6, atol=1e-6)
    assert_allclose(given.components_, expected.components_, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("learner", SOFTMAX_LEARNERS, ids=str)
def test_unlabelled_samples_are_left_out_and_counted(learner):
    labels = np.where(np.arange(40) % 4 == 0, -1, y)
    fitted = type(learner)(unlabelled=-1).fit(X, labels)
    assert fitted.metadata()["n_unlabelled"] == 10
    known = labels >= 0
    assert_array_equal(fitted.components_, learner.fit(X[known], labels[known]).components_)
