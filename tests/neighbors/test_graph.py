"""Neighbour graphs against scikit-learn, and geodesics against SciPy."""

from functools import cache
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.sparse import csgraph
from scipy.spatial.distance import cdist
from sklearn.datasets import load_iris
from sklearn.neighbors import kneighbors_graph, radius_neighbors_graph

from dimetric.data import make_swiss_roll
from dimetric.neighbors import paths
from dimetric.neighbors.graph import Neighborhood, undirected
from dimetric.neighbors.metric_search import metric_neighbors
from dimetric.neighbors.paths import geodesics

IRIS = load_iris().data
ROLL = make_swiss_roll(300, random_state=0).X


def symmetric(graph):
    """Return the graph as a dense symmetric matrix of lengths, infinite without an edge."""
    D = np.full(graph.shape, np.inf)
    graph = graph.tocoo()
    D[graph.row, graph.col] = graph.data
    return np.minimum(D, D.T)


@pytest.fixture(params=["numba", "SciPy"])
def engine(request):
    """Compute shortest paths with or without numba."""
    if request.param == "numba":
        pytest.importorskip("numba", reason="numba (the extra fast) is not installed")
        yield
    else:
        with patch.object(paths, "import_compiled", lambda name: None):
            yield


# Neighbours


@pytest.mark.parametrize("d", [2, 12, 13, 30])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_metric_neighbors_match_sorted_distances(d, dtype, rng):
    X, Y = rng.normal(size=(150, d)).astype(dtype), rng.normal(size=(40, d)).astype(dtype)
    D = cdist(X, X) + np.diag(np.full(150, np.inf))
    for (distances, indices), all_ in (
        (metric_neighbors(X, 7), D),
        (metric_neighbors(Y, 7, X), cdist(Y, X)),
    ):
        assert distances.dtype == dtype
        assert_array_equal(indices, np.argsort(all_, axis=1)[:, :7])
        assert_allclose(distances, np.sort(all_, axis=1)[:, :7], rtol=1e-6)


@pytest.mark.parametrize("d", [1, 3, 20])
def test_sample_with_copies_is_not_its_own_neighbor(d):
    distances, indices = metric_neighbors(np.ones((9, d)), 3)
    assert not (indices == np.arange(9)[:, None]).any()
    assert all(len(set(row)) == 3 for row in indices)
    assert_array_equal(distances, 0)


@pytest.mark.parametrize(
    ("metric", "params"),
    [
        ("manhattan", None),
        ("minkowski", {"p": 3}),
        ("cosine", None),
        (lambda a, b: abs(a - b).max(), None),
    ],
)
def test_other_metrics_match_cdist(metric, params):
    distances, _ = metric_neighbors(ROLL, 4, metric=metric, metric_params=params)
    name = metric if isinstance(metric, str) else "chebyshev"
    D = cdist(ROLL, ROLL, "cityblock" if name == "manhattan" else name, **(params or {}))
    assert_allclose(distances, np.sort(D + np.diag(np.full(300, np.inf)))[:, :4], atol=1e-12)


def test_more_neighbors_than_samples_raises():
    for neighborhood in (Neighborhood(5), Neighborhood(5, metric="precomputed")):
        with pytest.raises(ValueError, match=r"n_neighbors=5 must be at most .*other samples, 4"):
            neighborhood.graph(np.zeros((5, 5)))


# Graphs


@pytest.mark.parametrize("k", [1, 5, 299])
def test_neighbor_graph_matches_sklearn(k):
    expected = symmetric(kneighbors_graph(ROLL, k, mode="distance"))
    for graph in (
        Neighborhood(k).graph(ROLL),
        Neighborhood(k, metric="precomputed").graph(cdist(ROLL, ROLL)),
        Neighborhood(k, metric="precomputed").graph(sparse.csr_array(cdist(ROLL, ROLL))),
        Neighborhood(k).graph(sparse.csr_array(ROLL)),
    ):
        assert_allclose(symmetric(graph), expected, atol=1e-6)


@pytest.mark.parametrize("radius", [0.5, 3.0, np.inf])
def test_radius_graph_matches_sklearn(radius):
    expected = symmetric(radius_neighbors_graph(ROLL, radius, mode="distance"))
    for graph in (
        Neighborhood(None, radius).graph(ROLL),
        Neighborhood(None, radius, metric="precomputed").graph(cdist(ROLL, ROLL)),
        Neighborhood(None, radius, metric="precomputed").graph(sparse.csr_array(cdist(ROLL, ROLL))),
    ):
        assert_allclose(symmetric(graph), expected)


def test_given_sparse_graph_keeps_all_edges_except_loops():
    edges = sparse.csr_array([[7.0, 3, 0], [1, 0, 0], [2, 0, 0]])
    graph = Neighborhood(None, metric="precomputed").graph(edges)
    assert_array_equal(graph.toarray(), [[0, 1, 2], [1, 0, 0], [2, 0, 0]])


@pytest.mark.parametrize("d", [4, 16])
@pytest.mark.parametrize("connected", [False, True])
def test_graph_does_not_depend_on_the_order_of_rows(d, connected, rng):
    # Iris has many ties, because its values are rounded.
    X = np.hstack([IRIS] * (d // 4))
    p = rng.permutation(len(X))
    with pytest.warns(UserWarning, match="components") if connected else np.errstate():
        first = Neighborhood(3).graph(X, connected=connected)
        second = Neighborhood(3).graph(X[p], connected=connected)
    lengths, permuted = geodesics(first), geodesics(second)
    assert_array_equal(np.isinf(lengths).any(), not connected)
    assert_allclose(permuted, lengths[np.ix_(p, p)], rtol=1e-12)


def test_identical_samples_have_an_edge_of_length_0():
    graph = Neighborhood(1).graph(np.array([[0.0], [0.0], [1.0]]))
    assert graph.nnz == 4
    assert_array_equal(geodesics(graph), [[0, 0, 1], [0, 0, 1], [1, 1, 0]])


# Geodesics


@cache
def roll_graph(k):
    return Neighborhood(k).graph(ROLL)


@pytest.mark.parametrize("k", [1, 4, 40])
@pytest.mark.parametrize("method", ["auto", "D", "FW"])
@pytest.mark.parametrize("sources", [None, [7], [200, 3, 77], list(range(299, 0, -2))], ids=str)
def test_geodesics_match_scipy(k, method, sources, engine):
    lengths = geodesics(roll_graph(k), sources, method=method)
    expected = csgraph.shortest_path(roll_graph(k), method="D", directed=False)
    assert_allclose(lengths, expected if sources is None else expected[sources], rtol=1e-14)


@pytest.mark.parametrize("sources", [None, [5]])
def test_numba_and_scipy_are_bitwise_equal(sources):
    pytest.importorskip("numba", reason="numba (the extra fast) is not installed")
    compiled = geodesics(roll_graph(4), sources, method="D")
    with patch.object(paths, "import_compiled", lambda name: None):
        assert_array_equal(geodesics(roll_graph(4), sources, method="D"), compiled)


def test_dtype_applies_only_to_the_result(engine):
    exact = geodesics(roll_graph(4))
    assert_array_equal(geodesics(roll_graph(4), dtype=np.float32), exact.astype(np.float32))


@st.composite
def graphs(draw):
    n = draw(st.integers(1, 40))
    lengths = hnp.arrays(float, (n, n), elements=st.integers(0, 5).map(float))
    return draw(lengths), draw(hnp.arrays(bool, (n, n)))


@settings(max_examples=60)
@given(graphs())
def test_geodesics_of_random_graphs_match_floyd_warshall(drawn):
    # The graphs have edges of length 0, ties, several components and isolated nodes.
    lengths, edge = drawn
    edge &= ~np.eye(len(edge), dtype=bool)
    rows, columns = np.nonzero(edge)
    graph = undirected(sparse.csr_array((lengths[rows, columns], (rows, columns)), lengths.shape))
    expected = np.where(edge, lengths, np.inf)
    expected = np.minimum(expected, expected.T)
    assert_array_equal(symmetric(graph), expected)
    for via in range(len(expected)):
        expected = np.minimum(expected, expected[:, [via]] + expected[[via], :])
    np.fill_diagonal(expected, 0)
    for method in ("auto", "D", "FW"):
        assert_array_equal(geodesics(graph, method=method), expected)


def test_geodesics_do_not_depend_on_the_number_of_threads():
    pytest.importorskip("numba", reason="numba (the extra fast) is not installed")
    from threadpoolctl import threadpool_limits

    results = []
    for threads in (1, 3):
        with threadpool_limits(threads, "blas"):
            results.append(geodesics(roll_graph(4), method="D"))
    assert_array_equal(*results)


def test_negative_lengths_raise():
    with pytest.raises(ValueError, match="negative length"):
        geodesics(sparse.csr_array([[0.0, -1.0], [-1.0, 0.0]]))


def test_neighbors_at_equal_distance_are_chosen_by_index(rng):
    X = np.unique(rng.integers(0, 2, size=(150, 10)).astype(float), axis=0)
    D = cdist(X, X) + np.diag(np.full(len(X), np.inf))
    expected = np.argsort(D, axis=1, kind="stable")[:, :5]
    for shift in (0, 100):
        assert_array_equal(metric_neighbors(X + shift, 5)[1], expected)
        assert_array_equal(
            metric_neighbors(X[:9] + shift, 5, X + shift)[1][:, 1:], expected[:9, :4]
        )
    graph = Neighborhood(5, metric="precomputed").graph(cdist(X, X))
    assert abs(graph - Neighborhood(5).graph(X)).max() == 0
