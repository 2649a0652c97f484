"""Tests of rules over two sets of points: dense NumPy and finite differences as references."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import approx_fprime
from scipy.spatial.distance import cdist

from dimetric._arrays.namespaces import to_host
from dimetric.learners.ldml import LDMLRule
from dimetric.learners.nca import NCARule
from dimetric.objectives.bipartite import BipartiteObjective
from dimetric.objectives.engine import Rule, bipartite_product, laplacian_product
from dimetric.objectives.objective import on_maps, on_metrics
from dimetric.objectives.pairwise import PairwiseObjective
from dimetric.objectives.side import Side

rng = np.random.default_rng(0)
X, Y = rng.normal(size=(19, 4)), rng.normal(size=(7, 4))
L = rng.normal(size=(2, 4)) / 2
KNOWN = {
    "targets": (rng.normal(size=(19, 2)), rng.normal(size=(7, 2))),
    "weights": (rng.uniform(size=19), rng.uniform(size=7)),
    "labels": (np.sort(rng.integers(0, 3, 19)), rng.integers(0, 3, 7)),
}


class TargetRule(Rule):
    r"""A weighted sum of :math:`|t_i - t_j|^2 e^{-s d^2}`: near points should have near targets.

    t are vectors of targets, and s is an extra parameter.
    """

    def block(self, xp, D, rows, columns, theta):
        difference = rows.targets[:, None, :] - columns.targets[None, :, :]
        weight = rows.weights[:, None] * columns.weights[None, :]
        weight = weight * xp.astype(rows.different_sample(columns), D.dtype)
        terms = weight * xp.sum(difference**2, axis=2) * xp.exp(-float(theta[0]) * D)
        return xp.sum(terms), -float(theta[0]) * terms, -float(xp.sum(terms * D))

    def n_terms(self, rows, columns):
        return float(np.sum(to_host(rows.weights)))


def side(points, number, xp=np, **options):
    return Side.of(points, **{name: xp.asarray(KNOWN[name][number]) for name in KNOWN}, **options)


def objective(xp=np, rule=None, theta=(0.7,)):
    A, B = xp.asarray(X), xp.asarray(Y)
    rows, columns = side(A, 0, xp), side(B, 1, xp, first=19)
    return BipartiteObjective(rule or TargetRule(), A, B, rows, columns, theta)


def dense_terms(L, theta, one_set=False):
    """Return all terms of the sum, and the squared distances."""
    (t, u), (v, w) = KNOWN["targets"], KNOWN["weights"]
    B, u, w = (X, t, v) if one_set else (Y, u, w)
    D = cdist(X @ L.T, B @ L.T, "sqeuclidean")
    return np.outer(v, w) * cdist(t, u, "sqeuclidean") * np.exp(-theta * D), D


def dense_mean(flat):
    terms, _ = dense_terms(flat[:-1].reshape(2, 4), flat[-1])
    return terms.sum() / KNOWN["weights"][0].sum()


@pytest.mark.parametrize("block", [None, 1, 5])
def test_product_matches_dense_matrices(block, namespace):
    problem = objective(namespace)
    Z = tuple(namespace.asarray(A @ L.T) for A in (X, Y))
    V = namespace.asarray(X), namespace.asarray(Y)
    loss, by_row, by_column, dtheta = bipartite_product(
        problem.rule, Z, V, problem.rows, problem.columns, [0.7], block=block
    )
    terms, D = dense_terms(L, 0.7)
    W = -0.7 * terms
    assert_allclose(loss, terms.sum())
    assert_allclose(dtheta, -(terms * D).sum())
    assert_allclose(to_host(by_row), W.sum(axis=1)[:, None] * X - W @ Y, atol=1e-12)
    assert_allclose(to_host(by_column), W.sum(axis=0)[:, None] * Y - W.T @ X, atol=1e-12)


def test_objective_and_gradient_match_dense_matrices(namespace):
    flat = np.append(L.ravel(), 0.7)
    value, grad = on_maps(objective(namespace))(flat)
    assert_allclose(value, dense_mean(flat))
    assert_allclose(grad, approx_fprime(flat, dense_mean), atol=1e-6)


def test_gradients_in_map_and_metric_agree(namespace):
    value, grad = on_maps(objective(namespace), ridge=0.3)(np.append(L.ravel(), 0.7))
    same_value, G = on_metrics(objective(namespace), ridge=0.3)(np.append((L.T @ L).ravel(), 0.7))
    assert_allclose(same_value, value)
    assert_allclose(2 * L @ G[:-1].reshape(4, 4), grad[:-1].reshape(2, 4), atol=1e-12)
    assert_allclose(G[-1], grad[-1])


def test_pairs_of_one_set_exclude_a_sample_with_itself(namespace):
    known = {name: KNOWN[name][0] for name in ("targets", "weights")}
    problem = PairwiseObjective(
        TargetRule(), namespace.asarray(X), KNOWN["labels"][0], [0.7], **known
    )
    terms, _ = dense_terms(L, 0.7, one_set=True)
    value, grad = on_maps(problem)(np.append(L.ravel(), 0.7))
    assert_allclose(value, terms.sum() / known["weights"].sum())  # the diagonal is 0
    numeric = approx_fprime(np.append(L.ravel(), 0.7), lambda flat: on_maps(problem)(flat)[0])
    assert_allclose(grad, numeric, atol=1e-6)


def test_batches_keep_targets_weights_and_all_columns(namespace):
    rows = np.array([0, 3, 9, 18])
    part = objective(namespace).batch(rows)
    terms, _ = dense_terms(L, 0.7)
    value = on_maps(part)(np.append(L.ravel(), 0.7))[0]
    assert_allclose(value, terms[rows].sum() / KNOWN["weights"][0][rows].sum())
    assert_allclose(part.strata, KNOWN["labels"][0][rows])
    known = {name: KNOWN[name][0] for name in ("targets", "weights")}
    one_set = PairwiseObjective(
        TargetRule(), namespace.asarray(X), KNOWN["labels"][0], [0.7], **known
    )
    terms, _ = dense_terms(L, 0.7, one_set=True)
    value = on_maps(one_set.batch(rows))(np.append(L.ravel(), 0.7))[0]
    assert_allclose(value, terms[np.ix_(rows, rows)].sum() / known["weights"][rows].sum())


def test_nca_over_two_sets(namespace):
    """No pair is excluded, because the two sets have no sample in common."""
    labels, column_labels = KNOWN["labels"]
    weights, column_weights = KNOWN["weights"]
    E = column_weights * np.exp(-cdist(X @ L.T, Y @ L.T, "sqeuclidean"))
    expected = -np.sum(E * (labels[:, None] == column_labels), axis=1) / E.sum(axis=1)
    problem = objective(namespace, NCARule(), ())
    value, grad = on_maps(problem)(L.ravel())
    assert_allclose(value, np.average(expected, weights=weights))
    numeric = approx_fprime(L.ravel(), lambda flat: on_maps(problem)(flat)[0])
    assert_allclose(grad, numeric, atol=1e-6)
    known = np.isin(labels, column_labels)
    assert_allclose(problem.infimum, -np.average(known, weights=weights))


def test_ldml_over_two_sets(namespace):
    labels, column_labels = KNOWN["labels"]
    D = cdist(X @ L.T, Y @ L.T, "sqeuclidean")
    u = np.where(labels[:, None] == column_labels, 1, -1) * (D - 1.5)
    value, _ = on_maps(objective(namespace, LDMLRule(1.5), ()))(L.ravel())
    w, v = KNOWN["weights"]
    assert_allclose(value, np.average(np.logaddexp(0, u), weights=np.outer(w, v)))


def test_same_samples_as_rows_and_columns_are_one_set():
    labels = KNOWN["labels"][0]
    rows, columns = Side.of(X, labels=labels), Side.of(X, labels=labels)
    loss, by_row, by_column, _ = bipartite_product(NCARule(), (X, X), (X, X), rows, columns)
    expected, product, _ = laplacian_product(NCARule(), X, X, rows)
    assert loss == expected
    assert_allclose(by_row + by_column, product, atol=1e-14)


def test_unlabelled_rows_are_one_stratum():
    problem = BipartiteObjective(TargetRule(), X, Y, side(X, 0), side(Y, 1, first=19), [0.7])
    assert_allclose(problem.strata, KNOWN["labels"][0])
    rows = Side.of(X, targets=X, weights=X[:, 0])
    assert not BipartiteObjective(TargetRule(), X, Y, rows, side(Y, 1, first=19)).strata.any()
