"""Tests of LMNN with references. LMNN over all samples and dense NumPy are the oracles."""

import dask
import dask.array as da
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import approx_fprime
from scipy.spatial.distance import cdist
from sklearn.datasets import make_classification

from dimetric import LMNN
from dimetric.blocks.dask_source import DaskSource
from dimetric.blocks.source import ArraySource
from dimetric.learners._fitting.references import sampled
from dimetric.objectives.margins.objective import MarginObjective
from dimetric.objectives.margins.targets import nearest_targets
from dimetric.objectives.objective import on_maps
from dimetric.objectives.references.margins import ReferenceMargins
from dimetric.objectives.references.neighbors import nearest_references
from dimetric.objectives.references.references import class_totals

N, D = 90, 4
X, y = make_classification(
    N, D, n_informative=4, n_redundant=0, n_classes=3, n_clusters_per_class=1, random_state=0
)
WEIGHTS = np.random.default_rng(0).uniform(0.5, 2, N)
L = np.random.default_rng(1).normal(size=(3, D)) / 2
by_weights = pytest.mark.parametrize("weights", [None, WEIGHTS], ids=["equal", "weighted"])


@pytest.fixture(autouse=True)
def in_this_process():
    with dask.config.set(scheduler="synchronous"):
        yield


def references_of(source, m):
    return sampled(LMNN(), source, source.reduce(class_totals, None), m, None)


def objective(m, weights=None, source=None, width=0.0, scale=0.5):
    source = ArraySource(X, y, weights) if source is None else source
    points, labels = references_of(source, m)
    order = np.argsort(labels.codes, kind="stable")
    points, codes = points[order], labels.codes[order]
    sample = MarginObjective(scale * points, codes, *nearest_targets(points, codes, 3), mu=0.4)
    return ReferenceMargins(source, labels.references, sample, scale, 3).smoothed(width)


def all_pairs(weights=None, width=0.0, scale=0.5):
    order = np.argsort(y, kind="stable")
    w = None if weights is None else (weights / weights.mean())[order]
    targets = nearest_targets(X[order], y[order], 3)
    options = {"mu": 0.4, "width": width, "sample_weights": w}
    return MarginObjective(scale * X[order], y[order], *targets, **options)


@by_weights
@pytest.mark.parametrize("width", [0.0, 0.1])
def test_with_all_rows_as_references_the_objective_is_that_of_all_samples(weights, width):
    ours, exact = objective(N, weights, width=width), all_pairs(weights, width)
    assert_allclose(ours.n_terms, exact.n_terms, rtol=1e-12)
    for value, expected in zip(on_maps(ours)(L.ravel()), on_maps(exact)(L.ravel()), strict=True):
        assert_allclose(value, expected, rtol=1e-10, atol=1e-12)
    assert_allclose(ours.pull_matrix(), exact.pull_matrix(), rtol=1e-10, atol=1e-12)
    ours, exact = ours.gradient_in_metric(L, ours.theta), exact.gradient_in_metric(L, ours.theta)
    for value, expected in zip(ours, exact, strict=True):
        assert_allclose(value, expected, rtol=1e-10, atol=1e-10)


@by_weights
def test_gradient_is_that_of_finite_differences(weights):
    function = on_maps(objective(25, weights, width=0.1))
    numeric = approx_fprime(L.ravel(), lambda x: function(x)[0], 1e-7)
    assert_allclose(function(L.ravel())[1], numeric, atol=1e-5)


@pytest.mark.parametrize("scale", [0.05, 3.0])
def test_sparse_and_dense_weights_give_the_sum_over_triplets(scale):
    """With a small scale, most references are impostors. With a large one, few are."""
    ours = objective(30, scale=scale)
    _, labels = references_of(ArraySource(X, y), 30)
    references = labels.references
    rows = references.meet(next(ArraySource(X, y).blocks()))
    targets = nearest_references(next(ArraySource(X, y).blocks()), references, None, k=3)
    distances = cdist(scale * rows.X @ L.T, scale * references.X @ L.T, "sqeuclidean")
    total = 0.0
    for i, row in enumerate(rows.kept):
        near = distances[i, targets[row]]
        impostors = distances[i, references.side.labels != rows.side.labels[i]]
        hinges = np.maximum(1 + near[:, None] - impostors, 0)
        total += 0.6 * near.sum() + 0.4 * hinges.sum()
    assert_allclose(ours.value(L, ours.theta)[0], total, rtol=1e-10)


def test_targets_are_the_nearest_other_references_of_the_class():
    source = ArraySource(X, y)
    _, labels = references_of(source, 30)
    R = labels.references
    for map_ in (None, L):
        Z, Q = (A if map_ is None else A @ map_.T for A in (X - R.centre, R.X))
        distances = cdist(Z, Q)
        distances[y[:, None] != R.side.labels] = np.inf
        distances[np.arange(N)[:, None] == R.side.positions] = np.inf
        found = nearest_references(next(source.blocks()), R, map_, k=3)
        assert_array_equal(found, np.argsort(distances, axis=1)[:, :3])


def test_small_classes_have_fewer_targets():
    labels = np.where(np.arange(N) < 2, 3, y)
    source = ArraySource(X, labels)
    _, known = references_of(source, 40)
    found = nearest_references(next(source.blocks()), known.references, None, k=3)
    assert_array_equal(found[:2] >= 0, [[True, False, False]] * 2)
    single = np.where(np.arange(N) < 1, 3, y)
    with (
        pytest.warns(UserWarning, match="single reference"),
        pytest.warns(UserWarning, match="fewer than 3 friends"),
    ):
        model = LMNN(n_references=40).fit(X, single)
    assert np.all(np.isfinite(model.components_))


def test_objective_does_not_depend_on_the_blocks():
    sources = [
        ArraySource(X, y),
        ArraySource(X, y, block_rows=7),
        DaskSource(da.from_array(X, chunks=((1, 80, 9), D)), da.from_array(y, chunks=11)),
    ]
    values = [on_maps(objective(25, source=source))(L.ravel()) for source in sources]
    for each in values[1:]:
        assert_allclose(each[0], values[0][0], rtol=1e-13)
        assert_allclose(each[1], values[0][1], rtol=1e-10, atol=1e-13)


def test_passes_choose_new_targets():
    first = LMNN(n_references=40).fit(X, y)
    both = LMNN(n_references=40, n_passes=2).fit(X, y)
    assert np.max(np.abs(first.components_ - both.components_)) > 1e-3
    start = objective(40)
    other = start.with_targets_by(L)
    assert other.value(L, other.theta)[0] < start.value(L, start.theta)[0]


def test_given_targets_are_refused():
    with pytest.raises(ValueError, match="targets cannot be used with references"):
        LMNN(n_references=40, targets=np.full((N, 1), -1)).fit(X, y)
