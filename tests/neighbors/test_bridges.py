"""Bridges between the components of a graph, compared with loops."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.sparse import csgraph
from scipy.spatial.distance import cdist

from dimetric.neighbors import bridges as module
from dimetric.neighbors.bridges import bridged
from dimetric.neighbors.graph import Neighborhood
from dimetric.neighbors.paths import geodesics


def clusters(rng, n_clusters, size=10, d=2):
    centres = rng.normal(size=(n_clusters, d)) * 100
    return np.repeat(centres, size, axis=0) + rng.normal(size=(n_clusters * size, d))


def joined(graph, D):
    return bridged(graph, lambda rows, columns: D[rows][:, columns])


def edges(graph):
    graph = graph.tocoo()
    return set(zip(graph.row.tolist(), graph.col.tolist(), strict=True))


def three_matchings(here, there, D):
    """Match mutually nearest samples three times, each time without those already matched."""
    found = set()
    for _ in range(3):
        pairs = []
        for i in here if there else []:
            j = min(there, key=lambda j: (D[i, j], j))
            if i == min(here, key=lambda i: (D[i, j], i)):
                pairs.append((i, j))
        here = [i for i in here if i not in dict(pairs)]
        there = [j for j in there if j not in {j for _, j in pairs}]
        found |= {edge for i, j in pairs for edge in ((i, j), (j, i))}
    return found


def one_round(graph, D):
    """Return the edges that one round adds, by loops over components and samples."""
    n, label = csgraph.connected_components(graph)
    members = [np.flatnonzero(label == part) for part in range(n)]
    largest = np.argmax([len(part) for part in members])
    added = set()
    for a in range(n):
        if a == largest:
            continue
        others = [b for b in range(n) if b != a]
        others.sort(key=lambda b: (D[np.ix_(members[a], members[b])].min(), b))
        for b in others[:5]:
            added |= three_matchings(members[a].tolist(), members[b].tolist(), D)
    return added


@pytest.mark.parametrize("block", [1, 2**22])
@pytest.mark.parametrize("n_clusters", [2, 4, 12])
@pytest.mark.parametrize("integers", [False, True], ids=["floats", "ties"])
def test_bridges_join_mutually_nearest_samples(n_clusters, integers, block, rng, monkeypatch):
    monkeypatch.setattr(module, "BLOCK_ENTRIES", block)
    X = clusters(rng, n_clusters)
    X = np.unique((X / 2).round(), axis=0) if integers else X
    parts, D = Neighborhood(2).graph(X), cdist(X, X)
    whole, lengths = joined(parts, D)
    graph = parts
    while csgraph.connected_components(graph)[0] > 1:
        rows, columns = np.array(sorted(edges(graph) | one_round(graph, D))).T
        graph = sparse.csr_array((D[rows, columns], (rows, columns)), shape=D.shape)
    assert edges(whole) == edges(graph)
    assert whole.nnz == parts.nnz + 2 * len(lengths)
    assert_array_equal(whole.toarray(), whole.toarray().T)
    assert_array_equal(whole.toarray()[parts.nonzero()], parts.toarray()[parts.nonzero()])


def test_bridges_contain_the_shortest_edges_of_near_components(rng):
    X = clusters(rng, 6)
    parts, D = Neighborhood(2).graph(X), cdist(X, X)
    n, label = csgraph.connected_components(parts)
    whole = joined(parts, D)[0].toarray()
    D[label[:, None] == label] = np.inf
    for part in range(n):
        rows = label == part
        shortest = D[rows].min()
        assert (whole[rows] == shortest).any()


def test_connected_graph_is_unchanged(rng):
    X = rng.normal(size=(80, 2))
    graph = Neighborhood(10).graph(X)
    whole, lengths = bridged(graph, lambda rows, columns: pytest.fail("needs no distances"))
    assert whole is graph
    assert len(lengths) == 0


def test_distances_that_are_rounded_differently_by_direction(rng):
    X = clusters(rng, 3)
    D, parts = cdist(X, X), Neighborhood(2).graph(X)
    noisy = D * (1 + 1e-15 * rng.normal(size=D.shape))
    whole = joined(parts, noisy)[0]
    assert csgraph.connected_components(whole)[0] == 1


def test_equal_distances_are_resolved_by_the_order_of_rows():
    # Each sample of a line is between two samples of the other line. The first counts as nearer.
    line = np.arange(6.0)
    X = np.concatenate([np.c_[line, 0 * line], np.c_[line + 0.5, 0 * line + 9]])
    parts = Neighborhood(1, metric="precomputed").graph(cdist(X[:6], X[:6]))
    parts = sparse.block_diag([parts, parts], format="csr")
    added = edges(joined(parts, cdist(X, X))[0]) - edges(parts)
    assert added == {edge for i in range(3) for edge in ((i, 6 + i), (6 + i, i))}


def test_joining_components_warns():
    X = np.array([0.0, 1, 2, 5, 6, 7, 20, 21, 22])[:, None]
    says = r"3 connected components.*by 9 bridging edges .* longest of length 22\..*n_neighbors"
    with pytest.warns(UserWarning, match=says):
        graph = Neighborhood(1).graph(X, connected=True)
    assert_array_equal(geodesics(graph), np.abs(X - X.T))


def test_isolated_samples_are_joined():
    with pytest.warns(UserWarning, match="4 connected components"):
        graph = Neighborhood(None, 0.5).graph(np.array([[0.0], [1], [3], [6]]), connected=True)
    assert_array_equal(geodesics(graph)[0], [0, 1, 3, 6])


def test_identical_samples_are_joined_by_an_edge_of_length_0():
    X = np.array([[0.0], [0.0], [1.0], [1.0]])
    with pytest.warns(UserWarning, match="2 connected components"):
        graph = Neighborhood(1).graph(X, connected=True)
    assert_array_equal(geodesics(graph), np.abs(X - X.T))
    parts = sparse.csr_array((3, 3))
    whole, lengths = joined(parts, np.zeros((3, 3)))
    assert_array_equal(lengths, 0)
    assert whole.nnz == 2 * len(lengths)
    assert csgraph.connected_components(whole)[0] == 1


def test_joining_a_sparse_graph_without_distances_raises():
    edges = sparse.csr_array([[0.0, 1, 0], [1, 0, 0], [0, 0, 0]])
    with pytest.raises(ValueError, match=r"2 connected components.*more edges"):
        Neighborhood(None, metric="precomputed").graph(edges, connected=True)


@pytest.mark.parametrize("metric", ["manhattan", "precomputed"])
def test_other_metrics(metric, rng):
    X = clusters(rng, 5, d=3)
    given = cdist(X, X) if metric == "precomputed" else X
    with pytest.warns(UserWarning, match="connected components"):
        graph = Neighborhood(2, metric=metric).graph(given, connected=True)
    assert np.isfinite(geodesics(graph)).all()


def test_number_of_bridges_is_bounded(rng):
    X = clusters(rng, 100)
    parts, D = Neighborhood(3).graph(X), cdist(X, X)
    n = csgraph.connected_components(parts)[0]
    whole, lengths = joined(parts, D)
    assert csgraph.connected_components(whole)[0] == 1
    assert n - 1 <= len(lengths) <= 5 * 3 * len(X)
    assert_allclose(geodesics(whole) >= D - 1e-9, True)
