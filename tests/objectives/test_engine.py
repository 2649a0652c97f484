"""Tests of the engine and PairwiseObjective: references are dense matrices, finite differences."""

import numpy as np
import pytest
from estimators import each, minimises_mean_loss, objective_of
from numpy.testing import assert_allclose
from oracles import weighted_scatter
from scipy.optimize import approx_fprime

from dimetric._arrays.namespaces import to_host
from dimetric._arrays.squared_distances import squared_distances
from dimetric.learners.nca import NCARule
from dimetric.objectives.engine import Rule, pairwise_loss
from dimetric.objectives.objective import on_maps, on_metrics
from dimetric.objectives.pairwise import PairwiseObjective
from dimetric.objectives.side import Side

rng = np.random.default_rng(0)
X = rng.normal(size=(23, 4))
X -= X.mean(0)
codes = np.sort(rng.integers(0, 3, 23))
L = rng.normal(size=(2, 4))
SIDE = Side.of(X, labels=codes)


class Stress(Rule):
    """The sum of d2, times theta for pairs of the same class. Its gradient is known."""

    def block(self, xp, D, rows, columns, theta):
        same = rows.same_label(columns)
        W = xp.where(same, theta, xp.ones_like(D))
        return xp.sum(W * D), W, xp.sum(xp.where(same, D, xp.zeros_like(D)))


@pytest.mark.parametrize("block", [5, 256])
def test_loss_and_gradients_match_dense_matrices(block):
    loss, grad, dtheta = pairwise_loss(Stress(), L, X, SIDE, 3.0, block=block)
    D = squared_distances(X @ L.T, X @ L.T)
    same = codes[:, None] == codes
    np.testing.assert_allclose(loss, (D * np.where(same, 3.0, 1.0)).sum())
    np.testing.assert_allclose(dtheta, D[same].sum())
    np.testing.assert_allclose(grad, 2 * L @ weighted_scatter(X, np.where(same, 3.0, 1.0)))


@pytest.mark.parametrize(
    ("found", "says"),
    [
        (lambda D: (D.sum(), D), r"three values, \(loss, W, dtheta\)"),
        (lambda D: D, "three values"),
        (lambda D: (D, D, 0.0), r"loss as one number, summed over the block\. .*shape \(23, 23\)"),
        (lambda D: (D.sum(), 1.0, 0.0), r"W with the shape of D, \(23, 23\)\. .*shape \(\)"),
        (lambda D: (D.sum(), D[0], 0.0), r"They have shape \(23,\)"),
    ],
)
def test_error_for_a_rule_that_returns_the_wrong_form(found, says):
    class Wrong(Rule):
        def block(self, xp, D, rows, columns, theta):
            return found(D)

    with pytest.raises(TypeError, match=rf"Wrong\.block must return .*{says}"):
        pairwise_loss(Wrong(), L, X, SIDE)


def test_all_namespaces_agree(namespace):
    converted = namespace.asarray(X)
    loss, grad, _ = pairwise_loss(
        NCARule(), namespace.asarray(L), converted, Side.of(converted, labels=codes), block=6
    )
    expected = pairwise_loss(NCARule(), L, X, SIDE, block=6)
    np.testing.assert_allclose(loss, expected[0])
    np.testing.assert_allclose(to_host(grad), expected[1], atol=1e-12)


@pytest.mark.parametrize("ridge", [0.0, 0.3])
def test_gradient_matches_finite_differences(ridge, namespace):
    f = on_maps(PairwiseObjective(NCARule(), namespace.asarray(X), codes), ridge=ridge)
    value, grad = f(L.ravel())
    loss = pairwise_loss(NCARule(), L, X, SIDE)[0]
    np.testing.assert_allclose(value, loss / 23 + ridge * (L**2).sum())
    np.testing.assert_allclose(grad, approx_fprime(L.ravel(), lambda x: f(x)[0]), atol=1e-6)


@each(minimises_mean_loss)
def test_gradient_of_every_learner_matches_finite_differences(learner, namespace):
    objective = objective_of(learner, namespace.asarray(X), codes)
    f, at = on_maps(objective, ridge=0.3), np.concatenate([L.ravel() / 3, objective.theta])
    assert_allclose(f(at)[1], approx_fprime(at, lambda x: f(x)[0]), rtol=1e-5, atol=1e-5)


def test_labels_must_be_sorted():
    with pytest.raises(ValueError, match="labels must be in ascending order"):
        PairwiseObjective(NCARule(), X, codes[::-1])


@pytest.mark.parametrize("ridge", [0.0, 0.3])
def test_gradients_in_map_and_metric_agree(ridge, namespace):
    objective = PairwiseObjective(NCARule(), namespace.asarray(X), codes)
    value, grad = on_maps(objective, ridge=ridge)(L.ravel())
    same_value, G = on_metrics(objective, ridge=ridge)((L.T @ L).ravel())
    np.testing.assert_allclose(same_value, value)
    np.testing.assert_allclose(2 * L @ G.reshape(4, 4), grad.reshape(2, 4), atol=1e-12)


def test_vector_holds_the_map_and_extra_parameters():
    objective = PairwiseObjective(Stress(), X, codes, theta=[3.0])
    flat = np.concatenate([L.ravel(), [3.0]])
    f = on_maps(objective)
    np.testing.assert_allclose(f(flat)[1], approx_fprime(flat, lambda x: f(x)[0]), rtol=1e-5)


def test_batch_is_the_objective_of_its_samples():
    rows = np.arange(0, 23, 2)
    part = PairwiseObjective(NCARule(), X, codes).batch(rows)
    alone = PairwiseObjective(NCARule(), X[rows], codes[rows])
    np.testing.assert_array_equal(on_maps(part)(L.ravel())[1], on_maps(alone)(L.ravel())[1])
    assert PairwiseObjective(NCARule(), X, codes).batch(np.flatnonzero(codes == 1)) is None
