"""Friends and enemies against their definitions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from threadpoolctl import threadpool_limits

from dimetric._arrays.namespaces import to_host
from dimetric.neighbors.euclidean import search as euclidean_search
from dimetric.neighbors.roles import enemies, friends, friends_and_enemies

ignore_missing = pytest.mark.filterwarnings(r"ignore:\d+ of \d+ samples have fewer")


def by_definition(X, codes, k, role):
    """Return the neighbours from a stable sort of all distances, row by row."""
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
    """Draw samples with many ties and duplicates, in any number of classes."""
    n, d = draw(st.integers(2, 40)), draw(st.integers(1, 4))
    X = draw(hnp.arrays(float, (n, d), elements=st.integers(-3, 3)))
    labels = draw(hnp.arrays(int, n, elements=st.integers(0, draw(st.integers(0, n - 1)))))
    return X, np.sort(np.unique(labels, return_inverse=True)[1]), draw(st.integers(1, 6))


@ignore_missing
@pytest.mark.parametrize("role", [friends, enemies])
@settings(max_examples=100)
@given(problem=problems(), tile=st.integers(1, 50))
def test_neighbors_with_ties_and_missing_ones_match_the_definition(role, problem, tile):
    X, codes, k = problem
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(euclidean_search, "TILE_POINTS", tile)
        found = role(X, codes, k)
    indices, counts = by_definition(X, codes, k, role)
    np.testing.assert_array_equal(found.counts, counts)
    np.testing.assert_array_equal(X[found.indices], X[indices])  # copies are in any order
    missing = found.indices == np.arange(len(X))[:, None]
    np.testing.assert_array_equal(missing.sum(axis=1), max(counts) - np.array(counts))
    differs = (X[indices] != X[:, None]).any(axis=2)
    np.testing.assert_array_equal(found.indices[differs], indices[differs])


@pytest.mark.parametrize("role", [friends, enemies])
@pytest.mark.parametrize("tile", [50, 10_000])
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_result_does_not_depend_on_tiles_or_threads(role, tile, threads, dtype, monkeypatch, rng):
    X, codes = rng.normal(size=(600, 5)).astype(dtype), np.sort(rng.integers(0, 4, 600))
    monkeypatch.setattr(euclidean_search, "TILE_POINTS", tile)
    with threadpool_limits(threads, "blas"):
        found = role(X, codes, 3).indices
    np.testing.assert_array_equal(found, by_definition(X, codes, 3, role)[0])


@ignore_missing
@pytest.mark.parametrize("role", [friends, enemies])
@pytest.mark.parametrize("sizes", [(300, 2), (512, 2), (2, 510, 1)])
def test_classes_with_too_few_samples_match_the_definition(role, sizes, rng):
    X, codes = rng.normal(size=(sum(sizes), 3)), np.repeat(np.arange(len(sizes)), sizes)
    found, (indices, counts) = role(X, codes, 3), by_definition(X, codes, 3, role)
    np.testing.assert_array_equal(found.indices, indices)
    np.testing.assert_array_equal(found.counts, counts)


@ignore_missing
@pytest.mark.parametrize("role", [friends, enemies])
def test_namespaces_match_numpy(role, namespace, rng):
    X, codes = rng.integers(0, 9, size=(80, 3)).astype(float), np.sort(rng.integers(0, 30, 80))
    found, expected = role(namespace.asarray(X), codes, 3), role(X, codes, 3)
    assert type(found.indices) is type(namespace.asarray(X))
    np.testing.assert_array_equal(X[to_host(found.indices)], X[expected.indices])
    np.testing.assert_array_equal(found.counts, expected.counts)


@pytest.mark.parametrize("role", [friends, enemies])
def test_result_does_not_depend_on_the_order_of_rows(role, rng):
    X, codes = rng.normal(size=(70, 3)), np.arange(70) // 24
    p = np.concatenate([rng.permutation(24), 24 + rng.permutation(24), 48 + rng.permutation(22)])
    permuted, original = role(X[p], codes, 4).indices, role(X, codes, 4).indices
    np.testing.assert_array_equal(p[permuted], original[p])


def test_near_duplicates_far_from_the_origin():
    X = np.array([[1e6], [1e6 + 3e-5], [1e6 + 1e-5], [0.0], [-1e6]])
    found = friends(X, np.zeros(5, int), 1)
    assert found.indices.ravel().tolist() == [2, 2, 0, 0, 3]


def test_missing_neighbors_are_counted_and_warned_about():
    X, codes = np.arange(6.0)[:, None], np.array([0, 0, 0, 0, 1, 2])
    with pytest.warns(UserWarning, match=r"2 of 6 samples have fewer than 3 friends.*\(2 have no"):
        assert friends(X, codes, 3).counts.tolist() == [3, 3, 3, 3, 0, 0]
    with pytest.warns(UserWarning, match=r"4 of 6 samples have fewer than 3 enemies.*\(0 have no"):
        assert enemies(X, codes, 3).counts.tolist() == [2, 2, 2, 2, 3, 3]


def test_unsorted_codes_raise():
    with pytest.raises(ValueError, match="codes must be in ascending order"):
        friends(np.arange(3.0)[:, None], np.array([0, 1, 0]), 1)


@pytest.mark.parametrize("share_ties", [False, True])
def test_a_common_search_finds_the_same_friends_and_enemies(rng, share_ties):
    X, codes = rng.integers(4, size=(60, 2)).astype(float), np.sort(rng.integers(3, size=60))
    together = friends_and_enemies(X, codes, 3, 2, share_ties=share_ties)
    apart = friends(X, codes, 3, share_ties=share_ties), enemies(X, codes, 2, share_ties=share_ties)
    for found, expected in zip(together, apart, strict=True):
        np.testing.assert_array_equal(found.indices, expected.indices)
        np.testing.assert_array_equal(found.weights, expected.weights)
