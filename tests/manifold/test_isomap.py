"""Isomap: unrolled sheets, landmarks, neighbour graphs, and scans of n_neighbors."""

import pickle

import numpy as np
import pytest
from estimators import host
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.sparse.csgraph import shortest_path
from scipy.spatial import procrustes
from scipy.spatial.distance import cdist, pdist, squareform
from scipy.stats import pearsonr
from sklearn.linear_model import LinearRegression
from sklearn.manifold import Isomap as Reference
from sklearn.neighbors import kneighbors_graph

from dimetric import MDS, Isomap
from dimetric.data import make_s_curve, make_swiss_roll
from dimetric.manifold import isomap as module
from dimetric.manifold._neighbor_scan import scan_neighbors
from dimetric.neighbors.graph import Neighborhood
from dimetric.neighbors.paths import geodesics

ROLL, _, SHEET = make_swiss_roll(300, random_state=0)
LINE = np.array([0.0, 1, 3, 6, 10])[:, None]


@pytest.mark.parametrize("sampled", [make_swiss_roll, make_s_curve])
@pytest.mark.parametrize("landmarks", [None, 200])
def test_sheets_are_unrolled(sampled, landmarks):
    X, _, sheet = sampled(3000, random_state=0)
    isomap = Isomap(n_neighbors=10, n_landmarks=landmarks, random_state=0)
    assert procrustes(sheet, isomap.fit_transform(X))[2] < 0.002
    assert isomap.residual_variance() < 0.002
    between = sampled(200, random_state=1)
    assert procrustes(between.coordinates, isomap.transform(between.X))[2] < 0.003


@pytest.mark.parametrize("method", ["auto", "D", "FW"])
@pytest.mark.parametrize("given", [False, True])
def test_all_neighbours_give_classical_scaling(method, given):
    X = cdist(ROLL, ROLL) if given else ROLL
    isomap = Isomap(
        n_neighbors=299, path_method=method, metric="precomputed" if given else "euclidean"
    ).fit(X)
    mds = MDS(metric="precomputed").fit(cdist(ROLL, ROLL))
    size = np.abs(mds.embedding_).max()
    assert_allclose(isomap.embedding_, mds.embedding_, atol=1e-8 * size)
    assert_allclose(isomap.eigenvalues_, mds.eigenvalues_)


@pytest.mark.parametrize("params", [{"n_neighbors": 6}, {"n_neighbors": None, "radius": 6.0}])
def test_embedding_matches_scikit_learn(params):
    ours, theirs = Isomap(**params).fit(ROLL), Reference(**params).fit(ROLL)
    signs = np.sign(np.sum(ours.embedding_ * theirs.embedding_, axis=0))
    assert_allclose(ours.embedding_, signs * theirs.embedding_, atol=1e-8)
    assert_allclose(ours.reconstruction_error(), theirs.reconstruction_error())
    new = make_swiss_roll(40, random_state=1).X
    assert_allclose(ours.transform(new), signs * theirs.transform(new), atol=1e-8)


def test_single_precision_changes_the_eighth_digit(monkeypatch):
    exact = Isomap(n_neighbors=6).fit(ROLL)
    monkeypatch.setattr(module, "MAX_DOUBLE_GEODESICS", 0)
    single = Isomap(n_neighbors=6).fit(ROLL)
    assert single._map.lengths.dtype == np.float32
    size = np.abs(exact.embedding_).max()
    assert_allclose(single.embedding_, exact.embedding_, atol=1e-7 * size)
    assert_allclose(single.transform(ROLL), exact.embedding_, atol=1e-5 * size)


def test_transform_of_training_samples_matches_embedding():
    for landmarks in (None, 40):
        isomap = Isomap(n_neighbors=6, n_landmarks=landmarks, random_state=0).fit(ROLL)
        assert_allclose(isomap.transform(ROLL), isomap.embedding_, atol=1e-8)


def test_landmarks_reduce_the_size_of_the_model():
    isomap = Isomap(n_neighbors=6, n_landmarks=10, random_state=0).fit(ROLL)
    assert len(set(isomap.landmarks_)) == 10
    assert isomap._map.lengths.shape == (300, 10)
    assert len(pickle.dumps(isomap)) < 300 * 10 * 8 + ROLL.nbytes + 20_000


def test_all_samples_as_landmarks_match_no_landmarks():
    assert_array_equal(
        Isomap(n_neighbors=6, n_landmarks=300).fit(ROLL).embedding_,
        Isomap(n_neighbors=6).fit(ROLL).embedding_,
    )


def test_residual_variance_matches_correlation():
    isomap = Isomap(n_neighbors=6).fit(ROLL)
    G = geodesics(Neighborhood(6).graph(ROLL))
    r = pearsonr(squareform(G, checks=False), pdist(isomap.embedding_))[0]
    assert_allclose(isomap.residual_variance(), 1 - r**2)
    with_landmarks = Isomap(n_neighbors=6, n_landmarks=30, random_state=0).fit(ROLL)
    rows = with_landmarks.landmarks_
    others = np.arange(len(ROLL)) != rows[:, None]
    distances = cdist(with_landmarks.embedding_[rows], with_landmarks.embedding_)
    r = pearsonr(G[rows][others], distances[others])[0]
    assert_allclose(with_landmarks.residual_variance(), 1 - r**2)


def test_precomputed_graph_is_used_unchanged():
    # The geodesic distances of a ring are known.
    ring = sparse.csr_array(np.eye(12, k=1) + np.eye(12, k=-11))
    isomap = Isomap(n_neighbors=None, metric="precomputed").fit(ring)
    steps = np.abs(np.arange(12)[:, None] - np.arange(12))
    expected = MDS(metric="precomputed").fit(np.minimum(steps, 12 - steps).astype(float))
    assert_allclose(isomap.eigenvalues_, expected.eigenvalues_)
    radius = np.linalg.norm(isomap.embedding_, axis=1)
    assert_allclose(radius, radius[0])
    with pytest.raises(ValueError, match="1 of 1 samples have no edge in the given graph"):
        isomap.transform(sparse.csr_array((1, 12)))


def test_n_neighbors_reduces_a_precomputed_graph():
    # scikit-learn does the same with a graph that has more edges than n_neighbors.
    graph = kneighbors_graph(ROLL, 20, mode="distance")
    expected = Isomap(n_neighbors=6).fit(ROLL)
    isomap = Isomap(n_neighbors=6, metric="precomputed").fit(graph)
    assert_allclose(isomap.embedding_, expected.embedding_, atol=1e-8)
    new = make_swiss_roll(9, random_state=1).X
    placed = isomap.transform(sparse.csr_array(cdist(new, ROLL)))
    assert_allclose(placed, expected.transform(new), atol=1e-8)


def test_duplicate_samples_get_the_same_coordinates(rng):
    # Edges of length 0 must not be lost from the sparse graph.
    X = np.vstack([ROLL, ROLL[:50]])
    Z = Isomap(n_neighbors=8).fit_transform(X)
    assert_allclose(Z[300:], Z[:50], atol=1e-8)


def test_regressor_places_new_samples():
    isomap = Isomap(n_neighbors=6, regressor=LinearRegression()).fit(ROLL)
    expected = LinearRegression().fit(ROLL, isomap.embedding_)
    new = make_swiss_roll(9, random_state=1).X
    assert_allclose(isomap.transform(new), expected.predict(new))
    one = Isomap(n_neighbors=6, n_components=1, regressor=LinearRegression()).fit(ROLL)
    assert one.transform(new).shape == (9, 1)


def test_negative_eigenvalues_warn():
    with pytest.warns(
        UserWarning, match=r"\d+ of 40 eigenvalues are negative.*Reduce n_components"
    ):
        isomap = Isomap(n_neighbors=3, n_components=40).fit(make_swiss_roll(41, random_state=0).X)
    assert isomap.metadata()["smallest_eigenvalue"] < 0
    assert np.isfinite(isomap.embedding_).all()


# Open and short circuits


def test_components_are_joined_with_a_warning():
    X = np.vstack([ROLL, ROLL + 1000])
    says = r"2 connected components.*joined by \d+ bridging edges .*the longest of length \d+"
    with pytest.warns(UserWarning, match=says):
        isomap = Isomap(n_neighbors=6).fit(X)
    assert np.ptp(isomap.embedding_[:, 0]) > 1000 * 3**0.5


def test_new_samples_without_neighbours_are_linked_to_the_nearest():
    for given in (False, True):
        X = cdist(LINE, LINE) if given else LINE
        metric = "precomputed" if given else "euclidean"
        isomap = Isomap(n_neighbors=None, radius=5.0, n_components=1, metric=metric).fit(X)
        new = np.array([[20.0], [2.0]])
        with pytest.warns(UserWarning, match=r"1 of 2 samples have no neighbour within radius=5"):
            Z = isomap.transform(cdist(new, LINE) if given else new)
        assert_allclose(np.abs(Z - isomap.embedding_[0]).ravel(), [20, 2], atol=1e-9)


def test_scan_finds_open_and_short_circuits():
    # An edge between turns of the roll, whose parameters t differ by more than 4, crosses a gap.
    X, t, _ = make_swiss_roll(1000, random_state=0)
    scan = scan_neighbors(X, range(2, 26), random_state=0)
    graphs = [Neighborhood(k).graph(X).tocoo() for k in scan.n_neighbors]
    crosses_gap = np.array([np.any(np.abs(t[g.row] - t[g.col]) > 4) for g in graphs])
    first = np.argmax(crosses_gap)
    assert 0 < first < 20
    assert scan.n_neighbors[scan.short_circuit][0] == scan.n_neighbors[first]
    assert scan.open_circuit[0]
    assert not scan.open_circuit[first]
    assert scan.usable[first - 1]
    assert not scan.usable[first:].any()
    assert (np.diff(scan.mean_geodesic[~scan.open_circuit]) <= 0).all()
    assert_allclose(
        scan.drop[1:][~scan.open_circuit[:-1]],
        1 - (scan.mean_geodesic[1:] / scan.mean_geodesic[:-1])[~scan.open_circuit[:-1]],
    )


def test_scan_of_a_flat_sheet_finds_no_short_circuit(rng):
    scan = scan_neighbors(rng.random((500, 2)), range(4, 30), random_state=0)
    assert not scan.short_circuit.any()


def test_scan_input(namespace):
    expected = scan_neighbors(ROLL, [4, 6], random_state=0)
    result = scan_neighbors(namespace.asarray(ROLL), [6, 4, 4], random_state=0)
    assert_array_equal(result.drop, expected.drop)
    n = len(ROLL)  # paths from all samples
    precomputed = scan_neighbors(cdist(ROLL, ROLL), [4, 6], metric="precomputed", n_sources=n)
    expected = scan_neighbors(ROLL[::-1], [4, 6], n_sources=n)
    assert_allclose(precomputed.mean_geodesic, expected.mean_geodesic)
    for numbers in ([2.7], [0, 3], []):
        with pytest.raises(ValueError, match="one or more ints, all of at least 1"):
            scan_neighbors(ROLL, numbers)
    with pytest.raises(ValueError, match="n_sources=0 must be at least 1"):
        scan_neighbors(ROLL, [4], n_sources=0)
    with pytest.raises(ValueError, match="must be symmetric"):
        scan_neighbors(np.triu(cdist(ROLL, ROLL)), [4], metric="precomputed")
    with pytest.raises(ValueError, match="n_neighbors=300 must be at most"):
        scan_neighbors(ROLL, [300])


# Invalid input

BAD = {
    "both": ({"radius": 1.0}, ROLL, "Both n_neighbors and radius.*n_neighbors=None"),
    "neither": ({"n_neighbors": None}, ROLL, "n_neighbors and radius are both None"),
    "k": ({"n_neighbors": 300}, ROLL, "n_neighbors=300 must be at most .* 299"),
    "dimensions": ({"n_landmarks": 5, "n_components": 6}, ROLL, "must be at most n_landmarks=5"),
    "not square": ({"metric": "precomputed"}, ROLL, "square"),
    "graph not square": ({"metric": "precomputed"}, sparse.csr_array(ROLL), "square"),
    "negative": ({"metric": "precomputed"}, -np.ones((9, 9)), "must not be negative"),
    "graph negative": (
        {"metric": "precomputed"},
        sparse.csr_array(-np.ones((9, 9))),
        "non-negative",
    ),
    "asymmetric": ({"metric": "precomputed"}, np.triu(np.ones((9, 9)), 1), "symmetric"),
    "graph in parts": (
        {"metric": "precomputed"},
        sparse.csr_array((9, 9)),
        "9 connected",
    ),
    "metric": ({"metric": "beeline"}, ROLL, "beeline"),
    "regressor": ({"regressor": "me"}, ROLL, "'regressor' parameter"),
}


@pytest.mark.parametrize("row", BAD)
def test_bad_input(row):
    params, X, says = BAD[row]
    with pytest.raises(ValueError, match=says):
        Isomap(**params).fit(X)


def test_too_many_samples_without_landmarks_raise():
    with pytest.raises(MemoryError, match=r"90000000 samples would need .* GiB.*Set n_landmarks"):
        Isomap().fit(np.broadcast_to(np.zeros((1, 1)), (90_000_000, 1)))


def test_all_samples_equal():
    isomap = Isomap().fit(np.ones((9, 2)))
    assert_array_equal(isomap.embedding_, np.zeros((9, 2)))
    assert_array_equal(isomap.transform(np.ones((1, 2))), np.zeros((1, 2)))


def test_no_32_bit_overflow_with_more_than_65536_samples():
    n = 66_000
    X = np.linspace(0, 1, n)[:, None]
    isomap = Isomap(n_neighbors=2, n_components=1, n_landmarks=3, random_state=0).fit(X)
    Z = isomap.embedding_[:, 0] * np.sign(isomap.embedding_[-1, 0])
    assert_allclose(Z - Z[0], X[:, 0], atol=1e-5)


@pytest.mark.parametrize("params", [{}, {"n_landmarks": 40, "random_state": 0}], ids=str)
def test_transform_of_training_samples_with_ties_matches_embedding(params, rng):
    grid = np.stack(np.meshgrid(np.arange(12.0), np.arange(12.0)), axis=-1).reshape(-1, 2)
    for X in (rng.permutation(grid), rng.integers(0, 2, size=(150, 10)).astype(float)):
        isomap = Isomap(n_neighbors=6, **params).fit(X)
        assert_allclose(isomap.transform(X), isomap.embedding_, atol=1e-9)


def test_thin_sheet_keeps_its_second_coordinate_in_single_precision(rng, monkeypatch):
    X = rng.uniform(size=(400, 2)) * [1, 8e-4]
    double = Isomap(n_neighbors=40).fit(X)
    monkeypatch.setattr(module, "MAX_DOUBLE_GEODESICS", 0)
    single = Isomap(n_neighbors=40).fit(X)
    assert_allclose(single.eigenvalues_, double.eigenvalues_, rtol=0.02)
    assert np.abs(single.embedding_[:, 1]).max() > 4e-4


def test_negative_distances_of_new_samples_raise():
    D = cdist(ROLL, ROLL)
    isomap = Isomap(metric="precomputed").fit(D)
    for bad in (-D[:3], sparse.csr_array(-D[:3])):
        with pytest.raises(ValueError, match="must not be negative"):
            isomap.transform(bad)


def test_refit_removes_old_attributes():
    isomap = Isomap(n_landmarks=30, random_state=0).fit(ROLL)
    assert not hasattr(isomap.set_params(n_landmarks=None).fit(ROLL), "landmarks_")


# Geodesic distances


def test_dist_matrix_holds_the_geodesic_distances(namespace):
    """Scikit-learn's Dijkstra on scikit-learn's neighbour graph."""
    A = np.random.default_rng(0).normal(size=(60, 3))
    isomap = Isomap(n_neighbors=6).fit(namespace.asarray(A))
    graph = kneighbors_graph(A, 6, mode="distance")
    expected = shortest_path(graph, directed=False)
    assert_allclose(host(isomap.dist_matrix_), expected, rtol=1e-12)
    assert isomap.dist_matrix_.dtype == isomap.embedding_.dtype
    theirs = Reference(n_neighbors=6).fit(A)
    assert_allclose(host(isomap.dist_matrix_), theirs.dist_matrix_, rtol=1e-12)


def test_dist_matrix_of_landmarks_has_a_column_for_each():
    A = np.random.default_rng(0).normal(size=(60, 3))
    exact = Isomap(n_neighbors=6).fit(A).dist_matrix_
    isomap = Isomap(n_neighbors=6, n_landmarks=10, random_state=0).fit(A)
    assert isomap.dist_matrix_.shape == (60, 10)
    assert_allclose(isomap.dist_matrix_, exact[:, isomap.landmarks_], rtol=1e-12)


@pytest.mark.parametrize("factor", [1e-140, 1e-8, 1e8, 1e140])
def test_dist_matrix_has_the_unit_of_the_samples(factor):
    A = np.random.default_rng(0).normal(size=(30, 3))
    expected = factor * Isomap().fit(A).dist_matrix_
    assert_allclose(Isomap().fit(factor * A).dist_matrix_, expected, rtol=1e-9)


def test_dist_matrix_is_read_only_and_not_copied():
    isomap = Isomap()
    assert not hasattr(isomap, "dist_matrix_")
    A = np.random.default_rng(0).normal(size=(30, 3)).astype("float32")
    isomap.fit(A)
    assert isomap.dist_matrix_.dtype == np.float32
    assert np.shares_memory(isomap.dist_matrix_, isomap.dist_matrix_)
    with pytest.raises(ValueError, match="read-only"):
        isomap.dist_matrix_[0, 1] = 0
    loaded = pickle.loads(pickle.dumps(isomap))
    assert_allclose(loaded.dist_matrix_, isomap.dist_matrix_)
