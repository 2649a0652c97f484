"""Tests of the centroid objective: naive loops, finite differences and the engine as references."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import approx_fprime
from scipy.special import logsumexp

from dimetric._arrays.namespaces import to_host
from dimetric.objectives.bipartite import BipartiteObjective
from dimetric.objectives.centroids import CentroidObjective, CentroidRule, group_means
from dimetric.objectives.objective import Objective, on_maps, on_metrics

rng = np.random.default_rng(0)
X = rng.normal(size=(31, 5))
clusters = np.sort(rng.integers(0, 6, 31))
classes = np.array([0, 0, 1, 2, 2, 2])
MAPS = {k: rng.normal(size=(k, 5)) for k in (1, 2, 5)}  # small k map the samples, large k do not


def objective(xp=np, X=X, **options):
    C = np.stack([X[clusters == m].mean(axis=0) for m in range(6)])
    return CentroidObjective(xp.asarray(X), classes[clusters], xp.asarray(C), classes, **options)


def naive(L, X=X):
    """Return minus the mean log-likelihood, computed sample by sample."""
    total = 0.0
    for i, m in enumerate(clusters):
        d2 = [np.sum((L @ (X[i] - X[clusters == j].mean(axis=0))) ** 2) for j in range(6)]
        same_class = classes == classes[m]
        total += logsumexp(-np.array(d2) / 2) - logsumexp(-np.array(d2)[same_class] / 2)
    return total / len(X)


@pytest.mark.parametrize("k", MAPS)
@pytest.mark.parametrize("block", [None, 4])
def test_objective_and_gradient_match_a_naive_loop(k, block, namespace):
    f, L = on_maps(objective(namespace, block=block)), MAPS[k].ravel()
    value, grad = f(L)
    assert_allclose(value, naive(MAPS[k]), rtol=1e-12)
    numeric = approx_fprime(L, lambda flat: naive(flat.reshape(k, 5)))
    assert_allclose(grad, numeric, atol=1e-6)


@pytest.mark.parametrize("k", MAPS)
@pytest.mark.parametrize("gradient", ["gradient_in_map", "gradient_in_metric"])
def test_gradients_with_and_without_mapping_agree(k, gradient, namespace):
    problem, L = objective(namespace, block=7), namespace.asarray(MAPS[k])
    value, G, _ = getattr(problem, gradient)(L, problem.theta)
    expected, expected_G, _ = getattr(Objective, gradient)(problem, L, problem.theta)
    assert_allclose(value, expected, rtol=1e-12)
    assert_allclose(to_host(G), to_host(expected_G), atol=1e-12)


@pytest.mark.parametrize("scale", [1.0, 30.0])
@pytest.mark.parametrize("block", [None, 4])
def test_evaluate_matches_the_engine(block, scale, namespace):
    problem, L = objective(namespace, block=block), namespace.asarray(scale * MAPS[2])
    C = problem.points[31:, :]
    engine = BipartiteObjective(
        CentroidRule(), problem.points[:31, :], C, problem.rows, problem.columns
    )
    Z = problem.points @ L.T
    loss, product, _ = problem.evaluate(Z, problem.points, problem.theta)
    expected, expected_product, _ = engine.evaluate(Z, problem.points, problem.theta)
    assert_allclose(loss, expected, rtol=1e-10)
    assert_allclose(to_host(product), to_host(expected_product), atol=1e-10)
    assert (problem.n_terms, problem.infimum) == (engine.n_terms, engine.infimum) == (31.0, 0.0)


@pytest.mark.parametrize("k", MAPS)
def test_gradients_in_map_and_metric_agree(k):
    L = MAPS[k]
    value, grad = on_maps(objective(), ridge=0.3)(L.ravel())
    same_value, G = on_metrics(objective(), ridge=0.3)((L.T @ L).ravel())
    assert_allclose(same_value, value)
    assert_allclose(2 * L @ G.reshape(5, 5), grad.reshape(k, 5), atol=1e-12)


@pytest.mark.parametrize("k", MAPS)
@pytest.mark.parametrize("threads", [2, 3, 99])
def test_threads_do_not_change_the_result(k, threads, monkeypatch):
    monkeypatch.setattr("dimetric._arrays.threads.n_threads", lambda *_: threads)
    value, grad = on_maps(objective(block=4))(MAPS[k].ravel())
    again, same_grad = on_maps(objective(block=4))(MAPS[k].ravel())
    assert value == again
    assert_array_equal(grad, same_grad)
    expected, expected_grad = on_maps(objective())(MAPS[k].ravel())
    assert_allclose(value, expected, rtol=1e-12)
    assert_allclose(grad, expected_grad, atol=1e-12)


@pytest.mark.parametrize("k", MAPS)
def test_float32_matches_float64(k):
    L = MAPS[k].ravel()
    value, grad = on_maps(objective(X=X.astype("float32")))(L)
    expected, expected_grad = on_maps(objective())(L)
    assert_allclose(value, expected, rtol=1e-5)
    assert_allclose(grad, expected_grad, rtol=0, atol=1e-5 * np.abs(expected_grad).max())


def test_loss_is_finite_far_from_the_centroids():
    """The softmax weights of all centroids of a sample's own class underflow here."""
    L = 200 * MAPS[5]
    value, grad = on_maps(objective())(L.ravel())
    assert value > 1000
    assert_allclose(value, naive(L), rtol=1e-9)
    assert np.isfinite(grad).all()


def test_batch_keeps_all_centroids():
    rows = np.array([0, 3, 30])
    value, _ = on_maps(objective().batch(rows))(MAPS[2].ravel())
    single = []
    for row in rows:
        single.append(on_maps(objective().batch(np.array([row])))(MAPS[2].ravel())[0])
    assert_allclose(value, np.mean(single))
    whole, _ = on_maps(objective().batch(np.arange(31)))(MAPS[2].ravel())
    assert_allclose(whole, naive(MAPS[2]))


def test_group_means_match_numpy(namespace):
    groups = rng.integers(0, 4, 31)
    means = group_means(namespace.asarray(X), groups, 4)
    expected = [X[groups == g].mean(axis=0) for g in range(4)]
    assert_allclose(to_host(means), expected, rtol=1e-12)
    assert group_means(X.astype("float32"), groups, 4).dtype == np.float32
