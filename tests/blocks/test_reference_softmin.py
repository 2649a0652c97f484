"""Tests of DML-eig with references. The smooth minimum over all pairs is the oracle."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import approx_fprime
from sklearn.datasets import make_classification

from dimetric import DMLEig
from dimetric.blocks.source import ArraySource
from dimetric.learners._fitting.references import sampled
from dimetric.objectives.objective import on_maps
from dimetric.objectives.references.references import class_totals
from dimetric.objectives.references.softmin import ReferenceSoftmin
from dimetric.objectives.softmin import SoftminObjective

N, D = 60, 4
X, y = make_classification(
    N, D, n_informative=4, n_redundant=0, n_classes=3, n_clusters_per_class=1, random_state=0
)
X[7], y[7], X[8], y[8] = X[20], y[20], X[20], (y[20] + 1) % 3  # identical, of two classes
X[7] += 0.01
WEIGHTS = np.random.default_rng(0).uniform(0.5, 2, N)
L = np.random.default_rng(1).normal(size=(D, D)) / 2
by_weights = pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["equal", "weighted"])


def objective(m, weights=None, block_rows=None):
    source = ArraySource(X, y, weights, block_rows)
    points, labels = sampled(DMLEig(), source, source.reduce(class_totals, None), m, None)
    order = np.argsort(labels.codes, kind="stable")
    sample = SoftminObjective(points[order], labels.codes[order])
    return ReferenceSoftmin(source, labels.references, sample, np.eye(D))


def all_pairs(weights=None):
    order = np.argsort(y, kind="stable")
    w = None if weights is None else weights[order]
    return SoftminObjective(X[order], y[order], None, w)


@by_weights
def test_with_all_rows_as_references_the_objective_is_that_of_all_pairs(weights):
    ours, exact = objective(N, weights), all_pairs(weights)
    for mu in (0.01, 1.0):
        x = np.concatenate([L.ravel(), [mu]])
        for value, expected in zip(on_maps(ours)(x), on_maps(exact)(x), strict=True):
            assert_allclose(value, expected, rtol=1e-9, atol=1e-11)
    smallest = [each.smallest_squared_distance_at(L) for each in (ours, exact)]
    assert_allclose(*smallest, rtol=1e-12)
    assert smallest[0] > 0


@by_weights
def test_sums_do_not_depend_on_the_blocks_and_have_the_gradient_of_finite_differences(weights):
    whole, parts = objective(20, weights), objective(20, weights, block_rows=7)
    x = np.concatenate([L.ravel(), [0.5]])
    value, gradient = on_maps(whole)(x)
    assert_allclose(on_maps(parts)(x)[0], value, rtol=1e-12)
    assert_allclose(on_maps(parts)(x)[1], gradient, rtol=1e-9, atol=1e-12)
    numeric = approx_fprime(x, lambda v: on_maps(whole)(v)[0], 1e-6)[: L.size]
    assert_allclose(gradient[: L.size], numeric, atol=1e-4)
