"""Approximate neighbours: candidates of faiss or of other models, measured exactly."""

import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.base import BaseEstimator, clone
from sklearn.neighbors import KNeighborsTransformer, NearestNeighbors

from dimetric.neighbors import ApproximateNeighbors
from dimetric.neighbors.approximate.index import ApproximateIndex
from dimetric.neighbors.approximate.log import SearchLog
from dimetric.neighbors.approximate.roles import approximate_roles
from dimetric.neighbors.roles import enemies, friends


class GraphOnly(BaseEstimator):
    """A transformer to neighbour graphs without ``kneighbors``."""

    def __init__(self, n_neighbors=5):
        self.n_neighbors = n_neighbors

    def fit(self, X):
        self._model = KNeighborsTransformer(n_neighbors=self.n_neighbors).fit(X)
        return self

    def transform(self, X):
        return self._model.transform(X)


class Blind(BaseEstimator):
    """A model that finds the true neighbours of some queries only, and other points for the rest.

    `share` is the part of the queries with true neighbours.
    """

    def __init__(self, share=0.5):
        self.share = share

    def fit(self, X):
        self._X = X
        return self

    def kneighbors(self, X, n_neighbors, return_distance):
        assert not return_distance
        order = np.argsort(cdist(X, self._X), axis=1)
        sees = np.modf(np.abs(X[:, :1]) * 1e4)[0] < self.share
        return np.where(sees, order[:, :n_neighbors], order[:, -n_neighbors:])


def faiss_search(kind="flat", **params):
    pytest.importorskip("faiss", reason="faiss is not installed: pip install 'dimetric[ann]'")
    return ApproximateNeighbors(kind, min_samples=0, **params)


def searches():
    """Return searches that find all neighbours."""
    pytest.importorskip("faiss", reason="faiss is not installed: pip install 'dimetric[ann]'")
    return {
        "flat": faiss_search("flat"),
        "ivf": faiss_search("ivf", n_lists=7, n_probes=7),
        "hnsw": faiss_search("hnsw", ef_search=500),
        "model": NearestNeighbors(algorithm="ball_tree"),
        "transformer": KNeighborsTransformer(mode="connectivity"),
        "graph": GraphOnly(2),
    }


EXHAUSTIVE = ["flat", "ivf", "hnsw", "model", "transformer", "graph"]


def nearest(D, k):
    order = np.argsort(D, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(D, order, axis=1), order


@pytest.mark.parametrize("name", EXHAUSTIVE)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("k", [1, 6])
def test_an_exhaustive_search_finds_the_nearest(name, dtype, k, rng):
    points, Q = (rng.normal(size=(n, 5)).astype(dtype) for n in (300, 80))
    distances, indices = ApproximateIndex(points, searches()[name]).nearest(Q, k)
    expected, order = nearest(cdist(Q, points), k)
    assert_array_equal(indices, order)
    assert distances.dtype == np.float64
    assert_allclose(distances, expected, rtol=1e-14)


@pytest.mark.parametrize("name", EXHAUSTIVE)
def test_a_point_is_not_its_own_neighbour(name, rng):
    X = rng.normal(size=(200, 3))
    D = cdist(X, X)
    np.fill_diagonal(D, np.inf)
    distances, indices = ApproximateIndex(X, searches()[name]).nearest_others(4)
    assert_array_equal(indices, nearest(D, 4)[1])
    assert_allclose(distances, nearest(D, 4)[0])


@pytest.mark.parametrize("name", EXHAUSTIVE)
def test_copies_are_neighbours_at_distance_0(name, rng):
    X = np.repeat(rng.normal(size=(30, 3)), 5, axis=0)
    distances, indices = ApproximateIndex(X, searches()[name]).nearest_others(4)
    assert_array_equal(distances, 0)
    assert_array_equal(indices // 5, np.repeat(np.arange(30), 5)[:, None] * np.ones(4, int))
    assert not np.any(indices == np.arange(150)[:, None])


@pytest.mark.parametrize("name", EXHAUSTIVE)
def test_all_points_can_be_asked_for(name, rng):
    points, Q = rng.normal(size=(9, 2)), rng.normal(size=(4, 2))
    _, indices = ApproximateIndex(points, searches()[name]).nearest(Q, 9)
    assert_array_equal(indices, nearest(cdist(Q, points), 9)[1])


@pytest.mark.parametrize("name", ["flat", "ivf", "hnsw"])
@pytest.mark.parametrize(("scale", "shift"), [(1e-150, 0.0), (1e150, 0.0), (1.0, 1e7)])
def test_single_precision_does_not_limit_the_range(name, scale, shift, rng):
    X = scale * rng.normal(size=(150, 4)) + shift
    distances, indices = ApproximateIndex(X, searches()[name]).nearest_others(3)
    D = cdist(X, X)
    np.fill_diagonal(D, np.inf)
    assert_array_equal(indices, nearest(D, 3)[1])
    assert_allclose(distances, nearest(D, 3)[0])


@pytest.mark.parametrize("name", ["flat", "ivf", "hnsw"])
def test_far_queries_are_searched_exactly(name, rng):
    points = rng.normal(size=(200, 3))
    Q = np.array([[1e9, 0.0, 0.0], [0.0, 0.0, -1e5], [1e300, 1.0, 1.0], [0.1, 0.2, 0.3]])
    _, indices = ApproximateIndex(points, searches()[name]).nearest(Q, 2)
    D = cdist(Q, points)
    assert_array_equal(indices[[0, 1, 3]], nearest(D, 2)[1][[0, 1, 3]])


def test_queries_with_too_few_candidates_are_searched_exactly(rng):
    points, Q = rng.normal(size=(500, 2)), rng.normal(size=(50, 2))
    index = ApproximateIndex(points, faiss_search("ivf", n_lists=100, n_probes=1))
    expected, order = nearest(cdist(Q, points), 60)
    distances, indices = index.nearest(Q, 60)  # a list has 5 points
    assert_array_equal(indices, order)
    assert_allclose(distances, expected)


def test_below_min_samples_the_search_is_exact(rng, monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", None)  # not needed
    X = rng.normal(size=(50, 3))
    log = SearchLog(ApproximateNeighbors(min_samples=51))
    assert not log.is_approximate(50)
    assert log.is_approximate(51)
    assert_array_equal(
        ApproximateIndex(X, log.search).nearest_others(2)[1],
        SearchLog(NearestNeighbors()).nearest_others(X, 2)[1],
    )


def test_without_faiss_an_error_names_the_extra(rng, monkeypatch):
    monkeypatch.setitem(sys.modules, "faiss", None)
    with pytest.raises(ImportError, match=r'pip install "dimetric\[ann\]"'):
        ApproximateIndex(rng.normal(size=(9, 2)), ApproximateNeighbors(min_samples=0)).build()


@pytest.mark.parametrize("kind", ["hnsw", "ivf"])
def test_the_same_seed_gives_the_same_neighbours(kind, rng):
    X = rng.normal(size=(3000, 20))
    settings = {"hnsw": {"n_links": 2, "ef_search": 4}, "ivf": {"n_lists": 60, "n_probes": 2}}[kind]
    found = [
        ApproximateIndex(X, faiss_search(kind, random_state=seed, **settings)).nearest_others(5)[1]
        for seed in (1, 1, 2)
    ]
    assert_array_equal(found[0], found[1])
    assert not np.array_equal(found[0], found[2])


def test_the_number_of_threads_of_faiss_is_kept(rng):
    faiss = pytest.importorskip("faiss")
    before = faiss.omp_get_max_threads()
    try:
        faiss.omp_set_num_threads(2)
        ApproximateIndex(rng.normal(size=(50, 2)), faiss_search("hnsw")).build()
        assert faiss.omp_get_max_threads() == 2
    finally:
        faiss.omp_set_num_threads(before)


# Recall


def brute_recall(X, found, k, rows):
    """Return the part of the neighbours of some rows that are among the true ones."""
    D = cdist(X, X)
    np.fill_diagonal(D, np.inf)
    true = [set(each) for each in nearest(D, k)[1][rows]]
    return np.mean([len(set(a) & b) / k for a, b in zip(found[rows], true, strict=True)])


@pytest.mark.parametrize("n", [300, 1200])
def test_recall_is_the_part_of_true_neighbours(n, rng):
    X = rng.normal(size=(n, 12))
    log = SearchLog(faiss_search("ivf", n_lists=40, n_probes=3))
    with pytest.warns(UserWarning, match="found only"):
        _, found = log.nearest_others(X, 5)
    recall = brute_recall(X, found, 5, log.sampled_rows(n))
    assert 0.3 < recall < 0.9
    assert log.metadata() == {"search": "ivf", "search_recall": pytest.approx(recall)}
    assert len(log.sampled_rows(n)) == min(n, 400)


def test_tied_neighbours_count_as_found(rng):
    X = np.repeat(rng.normal(size=(40, 2)), 8, axis=0)  # 7 copies of each row, of which 3 are found
    log = SearchLog(NearestNeighbors())
    log.nearest_others(X, 3)
    assert log.metadata()["search_recall"] == 1.0


@pytest.mark.parametrize(
    ("search", "remedy"),
    [
        (Blind(0.5), "Choose more accurate settings of the search, or set search=None"),
        (ApproximateNeighbors(), "Increase n_probes=16, or set search=None"),
        (ApproximateNeighbors("hnsw"), "Increase ef_search=64 or n_links, or set search=None"),
    ],
)
def test_low_recall_warns_with_a_remedy(search, remedy):
    exact = np.ones((10, 2))
    with pytest.warns(UserWarning, match=f"50 % of the nearest .*{remedy}"):
        SearchLog(search).record(exact * [1.0, 2.0], exact)


def test_the_lowest_recall_is_kept():
    log, exact = SearchLog(NearestNeighbors()), np.ones((20, 5))
    for missed in (1, 8, 0):
        log.record(exact + (np.arange(100) < missed).reshape(20, 5), exact)
    assert log.metadata()["search_recall"] == 0.92


def test_missing_neighbours_do_not_count():
    log, exact = SearchLog(NearestNeighbors()), np.array([[1.0, 2.0], [1.0, np.inf]])
    log.record(exact, exact)
    assert log.metadata()["search_recall"] == 1.0


# Friends and enemies


@pytest.mark.parametrize("name", ["flat", "ivf", "model"])
@pytest.mark.parametrize("n_classes", [2, 3, 9])
def test_roles_equal_those_of_the_exact_search(name, n_classes, rng):
    X, codes = rng.normal(size=(240, 4)), np.sort(rng.integers(n_classes, size=240))
    for role in (friends, enemies):
        log = SearchLog(searches()[name])
        found, exact = role(X, codes, 3, search=log), role(X, codes, 3, share_ties=True)
        assert_array_equal(found.indices, exact.indices)
        assert_array_equal(found.counts, exact.counts)
        assert found.weights is None
        assert log.metadata() == {"search": log.metadata()["search"], "search_recall": 1.0}


@pytest.mark.filterwarnings("ignore:.* samples have fewer than")
def test_small_classes_have_fewer_friends_and_enemies(rng):
    X, codes = rng.normal(size=(12, 2)), np.repeat([0, 1, 2], [1, 3, 8])
    for role in (friends, enemies):
        found = role(X, codes, 5, search=SearchLog(NearestNeighbors()))
        exact = role(X, codes, 5)
        assert_array_equal(found.indices, exact.indices)
        assert_array_equal(found.counts, exact.counts)


@pytest.mark.parametrize("role", ["friends", "enemies"])
def test_recall_of_roles(role, rng):
    X, codes = rng.normal(size=(300, 3)), np.sort(rng.integers(4, size=300))
    log = SearchLog(Blind(0.6))
    with pytest.warns(UserWarning, match="found only"):
        distances, indices = approximate_roles(X, codes, 3, role, log)
    D = cdist(X, X)
    np.fill_diagonal(D, np.inf)
    same = codes[:, None] == codes
    assert np.all(same[np.arange(300)[:, None], indices] == (role == "friends"))
    assert_allclose(distances, np.take_along_axis(D, indices, axis=1))
    kth = np.sort(np.where(same == (role == "friends"), D, np.inf), axis=1)[:, 2:3]
    recall = np.mean(distances <= kth)
    assert 0.3 < recall < 0.9
    assert log.metadata()["search_recall"] == pytest.approx(recall)


def test_small_sets_are_searched_exactly_with_shared_ties():
    X, codes = np.array([[0.0], [2.0], [-2.0]]), np.zeros(3, int)
    log = SearchLog(ApproximateNeighbors(min_samples=4))
    found = friends(X, codes, 1, share_ties=True, search=log)
    assert_array_equal(found.weights, [[0.5, 0.5], [1, 0], [1, 0]])
    assert log.metadata() == {"search": "exact", "search_recall": 1.0}


# Objects that are not a search


class Wrong(BaseEstimator):
    def __init__(self, result=None):
        self.result = result

    def fit(self, X):
        return self

    def kneighbors(self, X, n_neighbors, return_distance):
        return self.result


@pytest.mark.parametrize("result", [np.zeros((3, 2)), [[9, 1]] * 4, np.zeros((4, 3)), None])
def test_a_model_that_returns_no_row_numbers_raises(result):
    with pytest.raises(ValueError, match="must return row numbers of the 5 points"):
        ApproximateIndex(np.eye(5), Wrong(result)).nearest(np.eye(4, 5), 2)


class Dense(GraphOnly):
    def transform(self, X):
        return super().transform(X).toarray()


class Transposed(GraphOnly):
    def transform(self, X):
        return sparse.csr_array(super().transform(X).T)


@pytest.mark.parametrize("search", [Dense(), Transposed()])
def test_a_transformer_that_returns_no_graph_raises(search):
    with pytest.raises(ValueError, match=r"must return a sparse graph of shape \(4, 9\)"):
        ApproximateIndex(np.eye(9, 5), search).nearest(np.eye(4, 5), 2)


def test_parameters_are_checked_and_cloned():
    search = ApproximateNeighbors("ivf", n_probes=3)
    assert clone(search).get_params() == search.get_params()
    with pytest.raises(ValueError, match="'kind' parameter of ApproximateNeighbors"):
        SearchLog(ApproximateNeighbors("tree"))
