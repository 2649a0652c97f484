"""Scores of embeddings do not depend on the order of the rows if distances are tied."""

from itertools import permutations

import numpy as np
import pytest
from estimators import host
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

from dimetric.quality import embedding_quality, neighborhood, trustworthiness

RANK_SCORES = ("trustworthiness", "continuity", "knn_preservation", "neighborhood_hit", "r_nx_auc")


def few_distinct_rows(rng):
    return rng.normal(size=(12, 4))[rng.integers(0, 12, size=200)]


def decimal_grid(rng):
    # Differences of such numbers are equal only up to rounding.
    return rng.integers(0, 5, size=(150, 3)) * 0.1 + 0.7


def binary_features(rng):
    return rng.integers(0, 2, size=(120, 14)).astype(float)


def duplicates(rng):
    return np.repeat(rng.normal(size=(40, 20)), 3, axis=0)


TIED_DATA = [few_distinct_rows, decimal_grid, binary_features, duplicates]


def scores_in_row_order(D, E, k, y):
    """Return scores by their definitions. Tied neighbours are in row order."""
    n = len(D)
    r, s = np.full((2, n, n), n)
    for i in range(n):
        others = np.delete(np.arange(n), i)
        for ranks, distances in ((r, D), (s, E)):
            ranks[i, others[np.argsort(distances[i, others], kind="stable")]] = np.arange(1, n)
    worst = n * k * (2 * n - 3 * k - 1) / 2
    sizes = np.arange(1, n - 1)
    q = np.array([np.sum((r <= K) & (s <= K)) / (n * K) for K in sizes])
    R = ((n - 1) * q - sizes) / (n - 1 - sizes)
    return {
        "trustworthiness": 1 - np.sum(np.maximum(r - k, 0), where=s <= k) / worst,
        "continuity": 1 - np.sum(np.maximum(s - k, 0), where=r <= k) / worst,
        "knn_preservation": q[k - 1],
        "neighborhood_hit": np.mean((y[:, None] == y)[s <= k]),
        "r_nx_auc": np.sum(R / sizes) / np.sum(1 / sizes),
    }


def means_over_row_orders(D, E, k, y):
    orders = [np.array(order) for order in permutations(range(len(D)))]
    all_scores = [scores_in_row_order(D[np.ix_(o, o)], E[np.ix_(o, o)], k, y[o]) for o in orders]
    return {name: np.mean([scores[name] for scores in all_scores]) for name in RANK_SCORES}


TIED = np.array([[0, 0], [0, 1], [1, 0], [1, 1], [1, 1], [2, 1]], dtype=float)
LABELS = np.array([0, 1, 0, 1, 1, 0])


@pytest.mark.parametrize("k", [1, 2])
@pytest.mark.parametrize("tied_in", ["data", "embedding"])
def test_scores_are_means_over_all_orders_of_tied_neighbours(tied_in, k, rng):
    untied = rng.normal(size=(6, 2))
    A, B = (TIED, untied) if tied_in == "data" else (untied, TIED)
    expected = means_over_row_orders(cdist(A, A), cdist(B, B), k, LABELS)
    quality = embedding_quality(A, B, n_neighbors=k, y=LABELS)
    for name, value in expected.items():
        assert_allclose(getattr(quality, name), value, rtol=0, atol=1e-12, err_msg=name)
    assert_allclose(trustworthiness(A, B, n_neighbors=k), expected["trustworthiness"], atol=1e-12)


def test_orders_of_neighbours_tied_in_both_spaces_agree_as_far_as_possible():
    B = TIED[:, ::-1] * [1.0, 0.0]
    means = means_over_row_orders(cdist(TIED, TIED), cdist(B, B), 2, LABELS)
    scores = embedding_quality(TIED, B, n_neighbors=2).scores()
    for name in ("knn_preservation", "r_nx_auc"):
        assert scores[name] >= means[name]


@pytest.mark.parametrize("make", TIED_DATA)
def test_the_data_themselves_have_the_best_scores(make, rng):
    X = make(rng)
    for Z in (X, X[:, ::-1] + 7):
        quality = embedding_quality(X, Z)
        for name in ("trustworthiness", "continuity", "knn_preservation", "r_nx_auc"):
            assert_allclose(getattr(quality, name), 1, rtol=1e-12)
        assert_allclose(quality.q_nx, 1, rtol=1e-12)
        assert trustworthiness(X, Z) == 1


@pytest.mark.parametrize("metric", ["euclidean", "cityblock", "cosine", "precomputed"])
@pytest.mark.parametrize("make", TIED_DATA)
def test_permuted_rows_have_the_same_scores(make, metric, rng):
    X = make(rng)
    Z, y = np.round(X[:, :2] + 0.2 * X[:, 1:3], 1), rng.integers(0, 3, size=len(X))
    if metric == "precomputed":
        X = cdist(X, X)
    options = {"n_neighbors": 7, "metric": metric}
    quality = embedding_quality(X, Z, y=y, **options)
    for _ in range(3):
        order = rng.permutation(len(Z))
        A = X[np.ix_(order, order)] if metric == "precomputed" else X[order]
        permuted = embedding_quality(A, Z[order], y=y[order], **options)
        for name, value in quality.scores().items():
            # The root of a rounding error is larger than the error.
            tol = 1e-7 if "stress" in name else 1e-12
            assert_allclose(getattr(permuted, name), value, rtol=0, atol=tol, err_msg=name)
        assert_allclose(permuted.r_nx, quality.r_nx, rtol=0, atol=1e-12)
        for name, values in quality.per_point.items():
            assert_allclose(permuted.per_point[name], values[order], rtol=0, atol=1e-7)
        value = trustworthiness(A, Z[order], **options)
        assert_allclose(value, quality.trustworthiness, rtol=0, atol=1e-12)


def test_an_embedding_in_one_point_scores_like_chance(rng):
    X = rng.normal(size=(60, 3))
    with pytest.warns(UserWarning, match="all points are equally near"):
        quality = embedding_quality(X, np.zeros((60, 2)), y=np.arange(60) % 2)
    assert_allclose([quality.lcmc, quality.r_nx_auc], 0, atol=1e-12)
    assert_allclose(quality.neighborhood_hit, 29 / 59)


@pytest.mark.parametrize("make", TIED_DATA)
def test_namespaces_agree_on_ties(make, namespace, rng):
    X = make(rng)
    Z, y = X[:, :2], rng.integers(0, 3, size=len(X))
    expected = embedding_quality(X, Z, y=y)
    quality = embedding_quality(namespace.asarray(X), namespace.asarray(Z), y=namespace.asarray(y))
    for name, value in expected.scores().items():
        assert_allclose(getattr(quality, name), value, rtol=0, atol=1e-7, err_msg=name)
    assert_allclose(host(quality.q_nx), expected.q_nx, atol=1e-12)
    value = trustworthiness(namespace.asarray(X), namespace.asarray(Z))
    assert_allclose(value, expected.trustworthiness, atol=1e-12)


def test_only_points_with_ties_are_affected(rng):
    X, Z = rng.normal(size=(90, 3)), rng.normal(size=(90, 2))
    untied = embedding_quality(X, Z).per_point["trustworthiness"]
    X[:30] = 100 * np.arange(30)[:, None] + [1e4, 0, 0]  # on a line, far from the others
    tied = embedding_quality(X, Z).per_point["trustworthiness"]
    by_row_order = embedding_quality(cdist(X, X) + 0.0, Z, metric="precomputed")
    assert_allclose(tied, by_row_order.per_point["trustworthiness"], atol=1e-12)
    assert not np.allclose(tied, untied)


def test_ties_do_not_change_a_neighborhood(rng):
    X = rng.integers(0, 3, size=(80, 3)).astype(float)
    Z = X @ np.diag([1.0, 2.0, 0.5])
    near = neighborhood(X, X[:, ::-1] * 3, 5, n_neighbors=10)
    assert_array_equal(near.new, [])
    assert_array_equal(near.lost, [])
    order = rng.permutation(80)
    row = int(np.flatnonzero(order == 5)[0])
    first, second = neighborhood(X, Z, 5), neighborhood(X[order], Z[order], row)
    for name in ("before", "after", "kept", "new", "lost"):
        locations = X[getattr(first, name)], X[order][getattr(second, name)]
        assert_array_equal(*locations, err_msg=name)
