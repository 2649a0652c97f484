"""Weights of tied friends and enemies against their definitions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

from dimetric._arrays.namespaces import to_host
from dimetric.neighbors import role_shares
from dimetric.neighbors.roles import enemies, friends

ignore_missing = pytest.mark.filterwarnings(r"ignore:\d+ of \d+ samples have fewer")


def weights_by_loops(X, codes, k, role):
    """Return the weight of j as a neighbour of i, from all distances."""
    D, W = cdist(X, X), np.zeros((len(X), len(X)))
    for i in range(len(X)):
        others = [
            j for j in range(len(X)) if j != i and (codes[j] == codes[i]) == (role is friends)
        ]
        if len(others) <= k:
            W[i, others] = 1
            continue
        kth = sorted(D[i, others])[k - 1]
        tolerance = 1e-9 * (1 + kth)
        nearer = [j for j in others if D[i, j] < kth - tolerance]
        tied = [j for j in others if abs(D[i, j] - kth) <= tolerance]
        W[i, nearer] = 1
        W[i, tied] = (k - len(nearer)) / len(tied)
    return W


def by_place(W, X):
    """Return the sums of weights over equal samples."""
    places = np.unique(X, axis=0, return_inverse=True)[1].ravel()
    return W @ (places[:, None] == np.arange(places.max() + 1))


def as_matrix(found, n):
    """Return the weights of neighbours as a matrix."""
    indices, W = to_host(found.indices), np.zeros((n, n))
    weights = np.arange(indices.shape[1]) < found.counts[:, None]
    weights = weights if found.weights is None else found.weights
    for rank in range(indices.shape[1]):
        W[np.arange(n), indices[:, rank]] += weights[:, rank]
    return W


@st.composite
def problems(draw):
    """Draw samples with many ties and duplicates, in any number of classes."""
    n, d = draw(st.integers(2, 30)), draw(st.integers(1, 4))
    X = draw(hnp.arrays(float, (n, d), elements=st.integers(-2, 2)))
    labels = draw(hnp.arrays(int, n, elements=st.integers(0, draw(st.integers(0, 3)))))
    unit = draw(st.sampled_from([1.0, 0.1, 1e-7]))
    return unit * X, np.sort(np.unique(labels, return_inverse=True)[1]), draw(st.integers(1, 6))


@ignore_missing
@pytest.mark.parametrize("role", [friends, enemies])
@settings(max_examples=40)
@given(problem=problems())
def test_weights_match_the_definition(role, problem):
    X, codes, k = problem
    found = role(X, codes, k, share_ties=True)
    unit = np.abs(X).max() or 1.0
    expected = weights_by_loops(X / unit, codes, k, role)
    W = as_matrix(found, len(X))
    assert_allclose(by_place(W, X), by_place(expected, X), atol=1e-12)
    assert_allclose(W.sum(axis=1), found.counts)
    present = W > 0
    assert not present[np.arange(len(X)), np.arange(len(X))].any()
    same = codes[:, None] == codes
    assert np.all(same[present] == (role is friends))


@pytest.mark.parametrize("role", [friends, enemies])
def test_without_ties_nothing_changes(role, rng):
    X, codes = rng.normal(size=(120, 3)), np.arange(120) // 40
    plain, shared = role(X, codes, 4), role(X, codes, 4, share_ties=True)
    assert shared.weights is None
    assert_array_equal(shared.indices, plain.indices)


def test_only_samples_with_ties_have_other_neighbors(rng):
    X, codes = rng.normal(size=(60, 2)), np.arange(60) // 30
    X[:3] = [[50, 0], [51, 0], [49, 0]]  # the first is between the two others
    plain, shared = friends(X, codes, 1), friends(X, codes, 1, share_ties=True)
    assert_array_equal(np.flatnonzero(np.sum(shared.weights > 0, axis=1) > 1), [0])
    assert_array_equal(shared.indices[1:, :1], plain.indices[1:])


@pytest.mark.parametrize("role", [friends, enemies])
def test_namespaces_agree(role, namespace, rng):
    X, codes = rng.integers(0, 3, size=(80, 3)).astype(float), np.arange(80) // 27
    found, expected = (role(A, codes, 3, share_ties=True) for A in (namespace.asarray(X), X))
    assert type(found.indices) is type(namespace.asarray(X))
    W, expected_W = as_matrix(found, 80), as_matrix(expected, 80)
    assert_allclose(by_place(W, X), by_place(expected_W, X))


def test_many_tied_places_are_limited(rng):
    n = role_shares.MAX_TIED + 40
    X, codes = np.eye(n), np.zeros(n, dtype=int)  # all distances are equal
    found = friends(X, codes, 3, share_ties=True)
    assert found.weights.shape == (n, role_shares.MAX_TIED)
    assert_allclose(found.weights.sum(axis=1), 3)
    order = rng.permutation(n)
    W, permuted = (
        as_matrix(each, n) for each in (found, friends(X[order], codes, 3, share_ties=True))
    )
    assert_allclose(permuted, W[np.ix_(order, order)])


def test_blocks_give_the_same_weights(monkeypatch, rng):
    X, codes = rng.integers(0, 3, size=(90, 3)).astype(float), np.arange(90) // 45
    expected = friends(X, codes, 3, share_ties=True)
    monkeypatch.setattr(role_shares, "MAX_DISTANCES_PER_BLOCK", 50)
    found = friends(X, codes, 3, share_ties=True)
    assert_array_equal(found.indices, expected.indices)
    assert_array_equal(found.weights, expected.weights)
