"""Neighbours with shared weights at tied distances, compared with loops."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.spatial.distance import cdist

from dimetric._arrays.row_order import equal_rows
from dimetric.neighbors import neighbor_block, ties
from dimetric.neighbors.euclidean import index
from dimetric.neighbors.neighbor_block import NeighborBlock
from dimetric.neighbors.queries import tie_tolerance
from dimetric.neighbors.ties import Neighborhoods


def inverse(distances):
    return 1 / (1 + distances)


def by_loops(D, values, k, weights=None):
    """Return the shared sums, and the neighbours in row order, from all distances."""
    weights = np.ones_like if weights is None else weights
    sums, lists = [], []
    for d in D:
        kth = np.sort(d)[k - 1]
        nearer, tied = d < kth - 1e-9, np.abs(d - kth) <= 1e-9
        share = (k - np.sum(nearer)) / np.sum(tied)
        at_kth = share * weights(np.full(np.sum(tied), kth))
        sums.append(weights(d[nearer]) @ values[nearer] + at_kth @ values[tied])
        lists.append(np.argsort(d, kind="stable")[:k])
    return np.array(sums), np.array(lists)


def left_out(D):
    """Return distances within a set of samples, without those to the sample itself."""
    np.fill_diagonal(D, np.inf)
    return D


@pytest.mark.parametrize("max_columns", [1, 64])
@pytest.mark.parametrize(("n", "n_values"), [(60, 2), (60, 4), (200, 50)])
@pytest.mark.parametrize("d", [1, 2, 14])
def test_shares_match_loops(d, n, n_values, max_columns, monkeypatch):
    monkeypatch.setattr(ties, "MAX_COLUMNS", max_columns)
    monkeypatch.setattr(ties, "MAX_DISTANCES_PER_BLOCK", 500)
    rng = np.random.default_rng(d)
    X, Q = (rng.integers(0, n_values, size=(m, d)).astype(float) for m in (n, 40))
    values = rng.normal(size=(n, 2))
    for k in (1, 3, 8):
        for near, D in (
            (Neighborhoods(X, 8), left_out(cdist(X, X))),
            (Neighborhoods(Q, 8, X), cdist(Q, X)),
            (Neighborhoods(Q[:5], k, X), cdist(Q[:5], X)),
        ):
            for weights in (None, inverse):
                sums, lists = by_loops(D, values, k, weights)
                assert_allclose(near.sums(values, k, weights), sums, atol=1e-12)
            distances, indices = near.listed(k)
            assert_array_equal(indices, lists)
            assert_allclose(distances, np.take_along_axis(D, lists, axis=1))


def test_all_points_are_equal():
    X, values = np.ones((5, 2)), np.arange(5.0)[:, None]
    near = Neighborhoods(X, 2)
    assert_allclose(near.sums(values, 2), (10 - values) / 2)
    assert_array_equal(near.listed(2)[1], [[1, 2], [0, 2], [0, 1], [0, 1], [0, 1]])
    sums, totals = (Neighborhoods(X, 4).sums(v, 4, inverse) for v in (values, np.ones((5, 1))))
    assert_allclose(sums / totals, (10 - values) / 4)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_distances_that_differ_by_rounding_are_tied(dtype):
    rng = np.random.default_rng(0)
    grid = np.stack(np.meshgrid(*[np.arange(5.0)] * 2), axis=-1).reshape(-1, 2)
    rotation = np.linalg.qr(rng.normal(size=(2, 2)))[0]
    values = rng.normal(size=(25, 1))
    expected = by_loops(left_out(cdist(grid, grid)), values, 3)[0]
    for offset in (0.0, 1.0, 100.0):
        Z = ((0.1 * grid + offset) @ rotation).astype(dtype)
        assert_allclose(Neighborhoods(Z, 3).sums(values, 3), expected, rtol=1e-6)


def test_distances_within_rounding_of_0_have_the_weight_of_0():
    Z, values = np.array([[1.0], [1.0 + 2e-16], [1.5]]), np.array([[1.0], [2.0], [4.0]])
    seen = []

    def recorded(distances):
        seen.append(distances)
        return np.ones_like(distances)

    Neighborhoods(np.array([[1.0]]), 3, Z).sums(values, 3, recorded)
    assert_array_equal(seen[0], [[0.0, 0.0, 0.5]])


def test_weights_depend_on_all_queries():
    rng = np.random.default_rng(8)
    X, Q = (rng.integers(0, 4, size=(n, 2)).astype(float) for n in (60, 50))
    shapes = []

    def relative(distances):
        shapes.append(distances.shape)
        return 1 / (1 + distances / distances.max())

    values = rng.normal(size=(60, 1))
    near = Neighborhoods(Q, 3, X)
    largest = near.listed(3)[0].max()
    expected = near.sums(values, 3, lambda distances: 1 / (1 + distances / largest))
    assert_allclose(near.sums(values, 3, relative), expected)
    assert shapes == [(50, 3)]


def test_the_tolerance_does_not_join_a_chain():
    # Each distance is within the tolerance of the next one, but only some are within that of
    # the k-th.
    d = 1 + 1.5 * tie_tolerance(1.0, np.ones(1)) / 2 * np.arange(-4, 5)
    near = Neighborhoods(np.zeros((1, 1)), 5, d[:, None])
    (shares,) = near.shares(5)
    assert shares.n_nearer == 3
    assert shares.n_tied == 3


def test_small_distances_of_unmapped_samples_are_exact():
    X = np.array([[0.0], [1.0], [3.0], [7.0]]) * 1e-20
    X = np.append(X, [[1e6], [1e7], [1e8], [1e9]], axis=0)
    constant = np.append(X, np.full((8, 1), 1e12), axis=1)
    for samples in (X, constant):
        near = Neighborhoods(samples, 1)
        n_tied = {
            query: n
            for shares in near.shares(1)
            for query, n in zip(shares.block.queries, shares.n_tied, strict=True)
        }
        # All four small samples are at the same distance from 1e6.
        assert [n_tied[query] for query in range(8)] == [1, 1, 1, 1, 4, 1, 1, 1]


def test_order_of_rows_does_not_matter():
    rng = np.random.default_rng(1)
    X = rng.integers(0, 3, size=(100, 3)).astype(float)
    values, order = rng.normal(size=(100, 3)), rng.permutation(100)
    sums = Neighborhoods(X, 4).sums(values, 4)
    assert_allclose(Neighborhoods(X[order], 4).sums(values[order], 4), sums[order], atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sparse_samples(dtype):
    rng = np.random.default_rng(2)
    X = rng.integers(0, 3, size=(80, 6)).astype(dtype) * (rng.random((80, 6)) < 0.5)
    values = rng.normal(size=(80, 2))
    expected = Neighborhoods(X, 3).sums(values, 3)
    assert_allclose(Neighborhoods(sparse.csr_array(X), 3).sums(values, 3), expected, atol=1e-6)
    expected = Neighborhoods(X[:9], 3, X).sums(values, 3, inverse)
    near = Neighborhoods(sparse.csr_array(X[:9]), 3, sparse.csr_array(X))
    assert_allclose(near.sums(values, 3, inverse), expected, atol=1e-6)


@pytest.mark.parametrize(
    ("metric", "scipy_metric"),
    [("manhattan", "cityblock"), ("cosine", "cosine"), ("chebyshev", "chebyshev")],
)
def test_other_metrics(metric, scipy_metric):
    rng = np.random.default_rng(3)
    X = rng.integers(1, 4, size=(70, 2)).astype(float)
    values = rng.normal(size=(70, 2))
    D = left_out(cdist(X, X, scipy_metric))
    assert_allclose(Neighborhoods(X, 3, metric=metric).sums(values, 3), by_loops(D, values, 3)[0])


def test_precomputed_distances():
    rng = np.random.default_rng(4)
    X, Q = (rng.integers(0, 4, size=(n, 2)).astype(float) for n in (50, 40))
    values, D = rng.normal(size=(50, 1)), cdist(X, X)
    before = D.copy()
    near = Neighborhoods(D, 3, metric="precomputed")
    assert_allclose(near.sums(values, 3), Neighborhoods(X, 3).sums(values, 3))
    assert_array_equal(D, before)
    near = Neighborhoods(cdist(Q, X), 3, D, metric="precomputed")
    assert_allclose(near.sums(values, 3), Neighborhoods(Q, 3, X).sums(values, 3))


def test_other_namespaces(namespace):
    rng = np.random.default_rng(5)
    X, values = rng.integers(0, 3, size=(90, 15)).astype(float), rng.normal(size=(90, 1))
    data = namespace.asarray(X)
    assert_allclose(Neighborhoods(data, 3).sums(values, 3), Neighborhoods(X, 3).sums(values, 3))
    ours, expected = (Neighborhoods(Z[:40, :], 3, Z) for Z in (data, X))
    assert_array_equal(ours.listed(3)[1], expected.listed(3)[1])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_equal_rows(dtype):
    rng = np.random.default_rng(6)
    X = rng.integers(-2, 3, size=(300, 3)).astype(dtype) * rng.choice([-1, 1], size=(300, 1))
    _, first, index = np.unique(X, axis=0, return_index=True, return_inverse=True)
    for samples in (X, sparse.csr_array(X)):
        equal = equal_rows(samples)
        assert_array_equal(equal.first, np.sort(first))
        assert_array_equal(equal.first[equal.index], first[index])
        assert_array_equal(equal.counts, np.bincount(equal.index))
        assert_array_equal(
            equal.members(np.array([1, 0]), np.array([2, 1])),
            [1, *(np.flatnonzero(equal.index == 1)[1:2]), 0],
        )
    assert equal_rows(rng.normal(size=(300, 2)).astype(dtype)) is None


def test_many_equal_rows_need_little_memory():
    import tracemalloc

    rng = np.random.default_rng(7)
    X = rng.normal(size=(12, 3))[rng.integers(0, 12, 20_000)]
    X = np.append(X, rng.normal(size=(2_000, 3)), axis=0)
    tracemalloc.start()
    try:
        sums = Neighborhoods(X, 5).sums(np.ones((22_000, 1)), 5)
        assert tracemalloc.get_traced_memory()[1] < 30e6
    finally:
        tracemalloc.stop()
    assert_allclose(sums, 5)


def test_listed_points_at_equal_distance_are_in_row_order(rng):
    X = np.unique(rng.integers(0, 5, size=(200, 3)), axis=0).astype(float)  # distinct, with ties
    queries = np.vstack([rng.integers(0, 5, size=(60, 3)), rng.normal(size=(60, 3))])
    distances, indices = Neighborhoods(queries, 9, X).listed(9)
    D = cdist(queries, X)
    order = np.argsort(D, axis=1, kind="stable")[:, :9]
    assert_array_equal(indices[:60], order[:60])
    assert_allclose(distances, np.take_along_axis(D, order, axis=1), rtol=1e-13)


def test_compiled_sums_equal_those_of_numpy(rng):
    pytest.importorskip("dimetric.neighbors.compiled.query_search", exc_type=ImportError)
    X = rng.integers(0, 3, size=(60, 3)).astype(float)  # with ties
    queries = rng.integers(0, 5, size=(20, 3)) / 2
    values = rng.normal(size=(60, 2))
    for points in (np.unique(X, axis=0), X):  # without and with equal points
        near = Neighborhoods(queries, 4, points)
        for shares in near.shares(4):
            at_points = near._totals(values[: len(points)])
            expected = shares._sums_without_numba(at_points)
            assert_allclose(shares.sums(at_points), expected, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("k", [1, 4, 9])
def test_compiled_shares_give_the_same_bits(k, rng, monkeypatch):
    pytest.importorskip("dimetric.neighbors.compiled.query_search", exc_type=ImportError)
    points = np.unique(rng.integers(0, 3, size=(90, 3)), axis=0).astype(float)  # with ties
    queries = np.vstack([rng.integers(0, 5, size=(40, 3)) / 2, rng.normal(size=(40, 3))])
    queries[0] = 1e150  # all points are tied
    values = rng.normal(size=(len(points), 2))
    near = Neighborhoods(queries, k, points)
    blocks = list(near._blocks())
    assert any(block.can_share_compiled(values) for block in blocks)
    compiled = near.sums(values, k)
    monkeypatch.setattr(NeighborBlock, "can_share_compiled", lambda *_: False)
    assert_array_equal(compiled, near.sums(values, k))


@pytest.mark.parametrize("n_values", [1, 3])
@pytest.mark.parametrize("n_queries", [1, 300])
def test_numba_does_not_change_the_bits_of_sums(n_queries, n_values, rng, monkeypatch):
    pytest.importorskip("dimetric.neighbors.compiled.query_search", exc_type=ImportError)
    monkeypatch.setattr(index, "MIN_COMPILED_NANOSECONDS", 0)
    monkeypatch.setattr(index, "MAX_DIFFERENCES", 0)
    points, queries = (np.round(rng.normal(size=(m, 4)), 1) for m in (511, n_queries))
    values = rng.normal(size=(511, n_values))

    def sums():
        return [Neighborhoods(queries, 9, points).sums(values, 9, w) for w in (None, inverse)]

    compiled = sums()
    for module in (index, neighbor_block):
        monkeypatch.setattr(module, "import_compiled", lambda name: None)
    assert_array_equal(compiled, sums())
