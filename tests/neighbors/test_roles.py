"""Friends and enemies against their definitions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from threadpoolctl import threadpool_limits

from dimetric._arrays.namespaces import to_host
from dimetric.neighbors import euclidean_search
from dimetric.neighbors.roles import enemies, friends

few = pytest.mark.filterwarnings(r"ignore:\d+ of \d+ samples have fewer")


def by_definition(X, codes, k, role):
    """Sort all samples of the role, row by row; of equally far ones the first come first."""
    indices, counts = np.tile(np.arange(len(X))[:, None], k), []
    for i, x in enumerate(X):
        others = np.delete(np.arange(len(X)), i)
        others = others[(codes[others] == codes[i]) == (role is friends)]
        distances = np.sum((x - X[others]).astype(float) ** 2, axis=1)
        found = others[np.argsort(distances, kind="stable")[:k]]
        indices[i, : len(found)] = found
        counts.append(len(found))
    return indices[:, : max(counts)], counts


@st.composite
def problems(draw):
    """Samples on a coarse grid, full of ties and duplicates; from one class to as many as rows."""
    n, d = draw(st.integers(2, 40)), draw(st.integers(1, 4))
    X = draw(hnp.arrays(float, (n, d), elements=st.integers(-3, 3)))
    labels = draw(hnp.arrays(int, n, elements=st.integers(0, draw(st.integers(0, n - 1)))))
    return X, np.sort(np.unique(labels, return_inverse=True)[1]), draw(st.integers(1, 6))


@few
@pytest.mark.parametrize("role", [friends, enemies])
@settings(max_examples=100)
@given(problem=problems(), tile=st.integers(1, 50))
def test_ties_and_missing_neighbours(role, problem, tile):
    X, codes, k = problem
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(euclidean_search, "TILE_POINTS", tile)
        found = role(X, codes, k)
    indices, counts = by_definition(X, codes, k, role)
    np.testing.assert_array_equal(found.counts, counts)
    np.testing.assert_array_equal(X[found.indices], X[indices])  # copies are as good
    missing = found.indices == np.arange(len(X))[:, None]
    np.testing.assert_array_equal(missing.sum(axis=1), max(counts) - np.array(counts))
    told_apart = (X[indices] != X[:, None]).any(axis=2)
    np.testing.assert_array_equal(found.indices[told_apart], indices[told_apart])


@pytest.mark.parametrize("role", [friends, enemies])
@pytest.mark.parametrize("tile", [50, 10_000])
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_tiles_and_threads_make_no_difference(role, tile, threads, dtype, monkeypatch, rng):
    X, codes = rng.normal(size=(600, 5)).astype(dtype), np.sort(rng.integers(0, 4, 600))
    monkeypatch.setattr(euclidean_search, "TILE_POINTS", tile)
    with threadpool_limits(threads, "blas"):
        found = role(X, codes, 3).indices
    np.testing.assert_array_equal(found, by_definition(X, codes, 3, role)[0])


@few
@pytest.mark.parametrize("role", [friends, enemies])
@pytest.mark.parametrize("sizes", [(300, 2), (512, 2), (2, 510, 1)])
def test_blocks_with_too_few_neighbours(role, sizes, rng):
    """Other blocks find as many as are asked for."""
    X, codes = rng.normal(size=(sum(sizes), 3)), np.repeat(np.arange(len(sizes)), sizes)
    found, (indices, counts) = role(X, codes, 3), by_definition(X, codes, 3, role)
    np.testing.assert_array_equal(found.indices, indices)
    np.testing.assert_array_equal(found.counts, counts)


@few
@pytest.mark.parametrize("role", [friends, enemies])
def test_follows_the_namespace(role, namespace, rng):
    X, codes = rng.integers(0, 9, size=(80, 3)).astype(float), np.sort(rng.integers(0, 30, 80))
    found, expected = role(namespace.asarray(X), codes, 3), role(X, codes, 3)
    assert type(found.indices) is type(namespace.asarray(X))
    np.testing.assert_array_equal(X[to_host(found.indices)], X[expected.indices])
    np.testing.assert_array_equal(found.counts, expected.counts)


@pytest.mark.parametrize("role", [friends, enemies])
def test_order_of_rows_makes_no_difference(role, rng):
    X, codes = rng.normal(size=(70, 3)), np.arange(70) // 24
    p = np.concatenate([rng.permutation(24), 24 + rng.permutation(24), 48 + rng.permutation(22)])
    there, here = role(X[p], codes, 4).indices, role(X, codes, 4).indices
    np.testing.assert_array_equal(p[there], here[p])


def test_far_from_the_origin_near_duplicates_are_told_apart():
    X = np.array([[1e6], [1e6 + 3e-5], [1e6 + 1e-5], [0.0], [-1e6]])
    found = friends(X, np.zeros(5, int), 1)
    assert found.indices.ravel().tolist() == [2, 2, 0, 0, 3]


def test_missing_neighbours_are_counted():
    X, codes = np.arange(6.0)[:, None], np.array([0, 0, 0, 0, 1, 2])
    with pytest.warns(UserWarning, match=r"2 of 6 samples have fewer than 3 friends.*\(2 have no"):
        assert friends(X, codes, 3).counts.tolist() == [3, 3, 3, 3, 0, 0]
    with pytest.warns(UserWarning, match=r"4 of 6 samples have fewer than 3 enemies.*\(0 have no"):
        assert enemies(X, codes, 3).counts.tolist() == [2, 2, 2, 2, 3, 3]


def test_classes_out_of_order():
    with pytest.raises(ValueError, match="codes must be in ascending order"):
        friends(np.arange(3.0)[:, None], np.array([0, 1, 0]), 1)
