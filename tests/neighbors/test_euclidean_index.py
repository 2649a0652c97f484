"""Search among points that are prepared once, against all distances in double precision."""

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist
from threadpoolctl import threadpool_limits

from dimetric.neighbors.euclidean import in_numpy
from dimetric.neighbors.euclidean import index as module
from dimetric.neighbors.euclidean.index import EuclideanIndex
from dimetric.neighbors.euclidean.products import FAR_SQUARED, ProductIndex

DATA = {
    "normal": lambda rng, n: rng.normal(size=(n, 20)),
    "many tiles": lambda rng, n: rng.normal(size=(7 * n, 3)),
    "one feature": lambda rng, n: rng.normal(size=(n, 1)),
    "clusters far apart": lambda rng, n: (
        rng.normal(size=(n, 4)) + 1e6 * rng.integers(0, 3, size=(n, 1))
    ),
    "one point far away": lambda rng, n: np.vstack([rng.normal(size=(n - 1, 4)), [[1e12] * 4]]),
    "far from the origin": lambda rng, n: rng.normal(size=(n, 4)) + 1e9,
    "huge": lambda rng, n: 1e150 * rng.normal(size=(n, 3)),
    "tiny": lambda rng, n: 1e-150 * rng.normal(size=(n, 3)),
    "single precision": lambda rng, n: rng.normal(size=(n, 30)).astype(np.float32),
    "columns in memory": lambda rng, n: np.asfortranarray(rng.normal(size=(n, 5))),
}


def _limit_differences(monkeypatch, number):
    monkeypatch.setattr(module, "MAX_DIFFERENCES", number)
    monkeypatch.setattr(module, "MAX_DIFFERENCES_WITHOUT_NUMBA", number)


@pytest.fixture(params=["tree", "compiled products", "products", "differences"])
def way(request, monkeypatch):
    """The way to search. Trees are used for all points, and numba for any number of distances."""
    _limit_differences(monkeypatch, 10**9 if request.param == "differences" else 0)
    if request.param in ("products", "differences"):
        monkeypatch.setattr(module, "import_compiled", lambda name: None)
    else:
        pytest.importorskip("numba", reason="numba (the extra fast) is not installed")
    monkeypatch.setattr(module, "MIN_COMPILED_NANOSECONDS", 0)
    monkeypatch.setattr(module, "TREE_POINTS", 0 if request.param == "tree" else 10**9)
    if request.param == "tree":
        monkeypatch.setattr(module, "PROBED_FEATURES", 1000)
        monkeypatch.setattr(module, "SCAN_NANOSECONDS", 1e-9)
    return request.param


@pytest.mark.parametrize("n_queries", [1, 40, 300])
@pytest.mark.parametrize("data", DATA)
def test_neighbors_match_all_distances(data, n_queries, way, rng):
    X = DATA[data](rng, 900)
    queries = DATA[data](rng, 900)[:n_queries]
    index = EuclideanIndex(X)
    assert (index._tree is not None) == (way == "tree")
    D = cdist(queries.astype(float), X.astype(float))
    for k in (1, 6):
        distances, indices = index.nearest(queries, k)
        assert_allclose(distances, np.sort(D, axis=1)[:, :k], rtol=1e-12)
        assert_array_equal(indices, np.argsort(D, axis=1)[:, :k])


@pytest.mark.parametrize("scale", [1e15, 1e31, 1e38, 1e100])
@pytest.mark.parametrize("n", [5, 600])
def test_far_queries_among_near_ones_find_distinct_points(n, scale, way, rng):
    X, queries = rng.normal(size=(n, 10)), rng.normal(size=(60, 10))
    queries[30] *= scale
    D = np.sort(cdist(queries, X), axis=1)
    for k in (1, 5):
        distances, indices = EuclideanIndex(X).nearest(queries, k)
        assert_allclose(distances, D[:, :k], rtol=1e-12)
        assert all(len(set(row)) == k for row in indices)


def test_each_query_finds_itself(way, rng):
    X = rng.normal(size=(500, 6)) + 1e6
    distances, indices = EuclideanIndex(X).nearest(X, 2)
    assert_array_equal(indices[:, 0], np.arange(500))
    assert_array_equal(distances[:, 0], 0)


@settings(max_examples=40)
@given(
    hnp.arrays(
        float,
        st.tuples(st.integers(1, 40), st.integers(1, 4)),
        elements=st.integers(-3, 3).map(lambda i: i / 4),
    ),
    st.data(),
)
def test_distances_with_ties(X, data):
    k = data.draw(st.integers(1, len(X)))
    distances, indices = EuclideanIndex(X).nearest(X + 0.25, k)
    D = cdist(X + 0.25, X)
    assert_allclose(distances, np.sort(D, axis=1)[:, :k], atol=1e-15)
    assert_allclose(np.take_along_axis(D, indices, axis=1), distances, atol=1e-15)
    assert all(len(set(row)) == k for row in indices.tolist())


def test_more_ties_than_candidates(way):
    grid = np.stack(np.meshgrid(*[np.arange(4.0)] * 4), axis=-1).reshape(-1, 4)
    distances, _ = EuclideanIndex(grid).nearest(grid + 0.5, 7)
    assert_array_equal(distances, np.sort(cdist(grid + 0.5, grid), axis=1)[:, :7])


@pytest.mark.parametrize("size", [1e12, 1e60])
def test_queries_outside_the_range_of_single_precision(size, way, rng):
    X = rng.normal(size=(600, 3))
    queries = size * rng.normal(size=(5, 3))
    distances, _ = EuclideanIndex(X).nearest(queries, 3)
    assert_allclose(distances, np.sort(cdist(queries, X), axis=1)[:, :3], rtol=1e-12)


def test_all_points_are_equal(way):
    distances, indices = EuclideanIndex(np.full((60, 2), 7.0)).nearest(np.full((1, 2), 4.0), 60)
    assert_array_equal(distances, np.full((1, 60), np.sqrt(18)))
    assert_array_equal(np.sort(indices), [np.arange(60)])


@pytest.mark.parametrize("d", [2, 7, 150])
def test_all_ways_give_the_same_bits(d, monkeypatch, rng):
    pytest.importorskip("numba", reason="numba (the extra fast) is not installed")
    X, queries = rng.normal(size=(6000, d)), rng.normal(size=(300, d))
    found = []
    for tree_points in (0, 10**9):
        monkeypatch.setattr(module, "TREE_POINTS", tree_points)
        monkeypatch.setattr(module, "TREE_FEATURES", 1000)
        monkeypatch.setattr(module, "PROBED_FEATURES", 1000)
        monkeypatch.setattr(module, "SCAN_NANOSECONDS", 1e-9)
        for threads in (1, 2):
            with threadpool_limits(threads, "blas"):
                found.append(EuclideanIndex(X).nearest(queries, 6))
    monkeypatch.setattr(module, "import_compiled", lambda name: None)
    found.append(EuclideanIndex(X).nearest(queries, 6))
    # A single query is searched in other blocks.
    one = [EuclideanIndex(X).nearest(queries[i : i + 1], 6) for i in range(20)]
    for distances, indices in found[1:]:
        assert_array_equal(distances, found[0][0])
        assert_array_equal(indices, found[0][1])
    assert_array_equal(np.concatenate([each[0] for each in one]), found[0][0][:20])


def test_a_tree_is_used_where_it_compares_few_points(rng):
    pytest.importorskip("numba", reason="numba (the extra fast) is not installed")
    plane = rng.normal(size=(8000, 2))
    in_plane = plane @ rng.normal(size=(2, 25))
    assert EuclideanIndex(plane)._tree is not None
    assert EuclideanIndex(in_plane)._tree is not None
    assert EuclideanIndex(rng.normal(size=(8000, 25)))._tree is None
    assert EuclideanIndex(rng.normal(size=(200, 2)))._tree is None


def test_numba_is_imported_only_for_much_work(monkeypatch, rng):
    imported = []
    monkeypatch.setattr(module, "import_compiled", imported.append)
    monkeypatch.delitem(sys.modules, "numba", raising=False)
    monkeypatch.setattr(module, "MIN_COMPILED_NANOSECONDS", 5_000 * (0.9 + 0.022 * 20))
    _limit_differences(monkeypatch, 0)
    X = rng.normal(size=(1000, 20))
    index = EuclideanIndex(X)
    for _ in range(4):
        index.nearest(X[:1], 3)
    assert not imported
    index.nearest(X[:1], 3)
    assert imported


@pytest.mark.parametrize("m", [1, 7, 64])
@pytest.mark.parametrize("n", [70, 512, 2000])
def test_vectors_of_queries_keep_the_same_candidates(n, m, rng):
    search = pytest.importorskip("dimetric.neighbors.compiled.query_search", exc_type=ImportError)
    lanes = pytest.importorskip("dimetric.neighbors.compiled.query_lanes", exc_type=ImportError)
    X = rng.integers(0, 4, size=(n, 3)).astype(float)  # with ties
    queries = rng.integers(0, 8, size=(90, 3)) / 2
    queries[0], queries[50] = np.nan, 1e60
    points = ProductIndex(X)
    A = in_numpy.rescaled(queries, points.centre, points.scale, np.empty(90))
    found = []
    for keep in (search.keep_smallest_of_queries, lanes.keep_smallest_of_many):
        squares = np.full((90, m), FAR_SQUARED)
        indices = np.zeros((90, m), np.int32)
        keep(A, points.tiles, points.norms, squares, indices, 5)
        found.append((squares, indices))
    assert np.all(found[0][0][1:50] < FAR_SQUARED)
    assert_array_equal(*(squares for squares, _ in found))
    assert_array_equal(*(indices for _, indices in found))


@pytest.mark.parametrize("k", [1, 5, 13])
def test_few_and_many_queries_are_sorted_alike(k, rng):
    search = pytest.importorskip("dimetric.neighbors.compiled.query_search", exc_type=ImportError)
    squares = rng.integers(0, 6, size=(90, 13)).astype(float)  # with ties
    squares[:2] = [[np.inf], [np.nan]]
    candidates = rng.integers(0, 999, size=(90, 13)).astype(np.int32)
    found = []
    for sort in (search._sort_few, search._sort_many):
        distances, indices = np.empty((90, k)), np.empty((90, k), np.int64)
        sort(squares, candidates, distances, indices)
        found.append((distances, indices))
    order = np.argsort(squares, axis=1, kind="stable")[:, :k]
    assert_array_equal(found[1][1], np.take_along_axis(candidates, order, axis=1))
    assert_array_equal(found[0][0], found[1][0])
    assert_array_equal(found[0][1], found[1][1])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_compiled_code_rescales_and_measures_as_numpy_does(dtype, rng):
    search = pytest.importorskip("dimetric.neighbors.compiled.query_search", exc_type=ImportError)
    X = rng.integers(0, 4, size=(60, 7)).astype(dtype)  # with ties
    queries = rng.integers(0, 8, size=(20, 7)).astype(dtype) / 2
    points = ProductIndex(X)
    candidates = rng.permuted(np.tile(np.arange(60, dtype=np.int32), (20, 1)), axis=1)[:, :13]
    found = []
    for functions in (in_numpy, search):
        norms, distances, indices = np.empty(20), np.empty((20, 5)), np.empty((20, 5), np.int64)
        A = functions.rescaled(queries, points.centre, points.scale, norms)
        functions.measure_nearest(queries, X, candidates, distances, indices)
        found.append((A, norms, distances, indices))
    assert_array_equal(found[0][0], found[1][0])
    assert_allclose(found[0][1], found[1][1], rtol=1e-14)
    assert_array_equal(found[0][2], found[1][2])
    assert_array_equal(found[0][3], found[1][3])
    expected = np.take_along_axis(cdist(queries, X), candidates.astype(int), axis=1)
    assert_allclose(found[1][2], np.sort(expected, axis=1)[:, :5], rtol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [1, 3, 40])
def test_few_and_many_queries_have_the_same_distances(d, dtype, rng, monkeypatch):
    X, queries = rng.normal(size=(80, d)).astype(dtype), rng.normal(size=(9, d)).astype(dtype)
    distances, indices = EuclideanIndex(X).nearest(queries, 5)
    _limit_differences(monkeypatch, 0)
    many = EuclideanIndex(X).nearest(queries, 5)
    assert_array_equal(distances, many[0])
    assert_array_equal(indices, many[1])


@pytest.mark.parametrize("n_queries", [1, 2, 5, 10])
@pytest.mark.parametrize("d", [1, 3, 4, 9])
def test_products_of_few_queries(n_queries, d, rng):
    search = pytest.importorskip("dimetric.neighbors.compiled.query_search", exc_type=ImportError)
    A = rng.integers(-9, 9, size=(n_queries, d)).astype(np.float32)  # exact in single precision
    tile = rng.integers(-9, 9, size=(d, 512)).astype(np.float32)
    products = np.full((n_queries, 512), np.nan, np.float32)
    search.products_of_few(A, tile, products)
    assert_array_equal(products, A @ tile)


def test_some_queries_outside_the_range_of_single_precision(way, rng):
    X, queries = rng.normal(size=(1200, 3)), rng.normal(size=(80, 3))
    queries[::9] *= 1e60
    distances, _ = EuclideanIndex(X).nearest(queries, 3)
    assert_allclose(distances, np.sort(cdist(queries, X), axis=1)[:, :3], rtol=1e-12)
