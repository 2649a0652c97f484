"""Compiled neighbour search (the extra `fast`) against the search in NumPy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal
from threadpoolctl import threadpool_limits

pytest.importorskip("numba", reason="numba (the extra fast) is not installed")

from dimetric.neighbors.compiled import graph_search
from dimetric.neighbors.compiled.graph_search import nearest_other_rows
from dimetric.neighbors.euclidean.search import euclidean_neighbors

DATA = {
    "normal": lambda rng: rng.normal(size=(700, 20)),
    "one block": lambda rng: rng.normal(size=(256, 3)),
    "a block and one": lambda rng: rng.normal(size=(257, 3)),
    "clusters far apart": lambda rng: (
        rng.normal(size=(500, 4)) + 1e6 * (np.arange(500) % 3)[:, None]
    ),
    "far from the origin": lambda rng: rng.normal(size=(500, 4)) + 1e9,
    "ties": lambda rng: rng.integers(0, 3, size=(600, 4)).astype(float),
    "huge": lambda rng: 1e150 * rng.normal(size=(300, 3)),
    "tiny": lambda rng: 1e-150 * rng.normal(size=(300, 3)),
    "single precision": lambda rng: rng.normal(size=(400, 30)).astype(np.float32),
}


@pytest.mark.parametrize("k", [1, 10])
@pytest.mark.parametrize("data", DATA)
def test_neighbors_match_the_search_in_numpy(data, k, rng):
    X = DATA[data](rng)
    distances, indices = nearest_other_rows(X, k)
    expected, expected_indices = euclidean_neighbors(X.astype(np.float64), k)
    assert distances.dtype == X.dtype
    assert_allclose(distances, expected, rtol=1e-6 if X.dtype == np.float32 else 1e-12)
    distinct = expected > 0  # copies of a sample are in any order
    assert_array_equal(indices[distinct], expected_indices[distinct])


@settings(max_examples=50)
@given(
    hnp.arrays(
        float,
        st.tuples(st.integers(2, 40), st.integers(1, 4)),
        elements=st.integers(-3, 3).map(lambda i: i / 4),
    ),
    st.data(),
)
def test_distances_with_ties_and_copies(X, data):
    k = data.draw(st.integers(1, len(X) - 1))
    distances, indices = nearest_other_rows(X, k)
    assert_array_equal(distances, euclidean_neighbors(X, k)[0])
    between = np.linalg.norm(X[:, None] - X[indices], axis=2)
    assert_allclose(between, distances, atol=1e-12)
    assert all(i not in row and len(set(row)) == k for i, row in enumerate(indices))


def test_uncertain_rows_are_searched_again(rng, monkeypatch):
    query_counts = []
    monkeypatch.setattr(
        graph_search,
        "euclidean_neighbors",
        lambda X, *rest: query_counts.append(len(X)) or euclidean_neighbors(X, *rest),
    )
    X = rng.normal(size=(400, 3))
    nearest_other_rows(X, 5)
    assert sum(query_counts) < 20
    X[200:] = 1e5 + 1e-3 * X[200:]  # a cluster that single precision cannot resolve
    assert_array_equal(nearest_other_rows(X, 5)[1], euclidean_neighbors(X, 5)[1])
    assert query_counts[-1] >= 200


@pytest.mark.parametrize("max_compared_rows", [0, 1000])
@pytest.mark.parametrize("data", DATA)
def test_both_ways_to_search_again_find_the_neighbors(data, max_compared_rows, rng, monkeypatch):
    X, rows = DATA[data](rng), np.array([0, 3, 250])
    monkeypatch.setattr(graph_search, "MAX_COMPARED_ROWS", max_compared_rows)
    distances, indices = graph_search._search_again(X, rows, 7)
    expected, expected_indices = (a[rows] for a in euclidean_neighbors(X.astype(np.float64), 7))
    assert_allclose(distances, expected, rtol=1e-12)
    distinct = expected > 0
    assert_array_equal(indices[distinct], expected_indices[distinct])


def test_neighbors_do_not_depend_on_the_number_of_threads(rng):
    X = rng.normal(size=(900, 16))
    found = []
    for threads in (1, 3):
        with threadpool_limits(threads, "blas"):
            found.append(nearest_other_rows(X, 6))
    for first, second in zip(*found, strict=True):
        assert_array_equal(first, second)
