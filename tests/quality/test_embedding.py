"""Scores of embeddings compared with their definitions, computed by loops."""

import re
from bisect import bisect_left, bisect_right
from dataclasses import FrozenInstanceError
from unittest.mock import patch

import numpy as np
import pytest
from estimators import host
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse, stats
from scipy.spatial import procrustes
from scipy.spatial.distance import cdist
from sklearn import manifold
from sklearn.datasets import load_iris

from dimetric import PCA
from dimetric.quality import EmbeddingQuality, _distances, embedding_quality, trustworthiness

X, y = load_iris(return_X_y=True)
X = X + np.random.default_rng(0).normal(scale=1e-4, size=X.shape)  # no ties
Z = PCA(2).fit_transform(X)


def tied_ranks_by_loops(D):
    """Return the smallest and the largest rank of neighbour j of i, if distances are tied."""
    first, last = np.full((2, *D.shape), len(D))
    for i, row in enumerate(D.tolist()):
        others = sorted(row[:i] + row[i + 1 :])
        for j, value in enumerate(row):
            if j != i:
                first[i, j], last[i, j] = (
                    bisect_left(others, value) + 1,
                    bisect_right(others, value),
                )
    return first, last


def shares(first, last, k):
    """Return the fractions of the ranks from first to last that are at most k."""
    return np.clip((k + 1 - first) / (last + 1 - first), 0, 1)


def penalty(near, far, k):
    lost = np.maximum(0, shares(*near, k) - shares(*far, k))
    excesses = (np.maximum(far[0], k + 1) + far[1]) / 2 - k
    return np.sum(lost * excesses)


def by_definition(D, E, k, y):
    """Return the scores and curves, given distances D in the data and E in the embedding."""
    n = len(D)
    r, s = tied_ranks_by_loops(D), tied_ranks_by_loops(E)
    pairs = [(i, j) for i in range(n) for j in range(n) if i != j]
    worst = n * k * (2 * n - 3 * k - 1) / 2
    sizes = np.arange(1, n - 1)
    q = np.array([np.sum(np.minimum(shares(*r, K), shares(*s, K))) / (n * K) for K in sizes])
    R = ((n - 1) * q - sizes) / (n - 1 - sizes)
    delta, d = np.array([D[p] for p in pairs]), np.array([E[p] for p in pairs])
    scale = (delta @ d) / (d @ d)
    return {
        "trustworthiness": 1 - penalty(s, r, k) / worst,
        "continuity": 1 - penalty(r, s, k) / worst,
        "knn_preservation": q[k - 1],
        "lcmc": q[k - 1] - k / (n - 1),
        "neighborhood_hit": np.sum(shares(*s, k), where=y[:, None] == y) / (n * k),
        "r_nx_auc": sum(R / sizes) / sum(1 / sizes),
        "stress": np.sqrt(np.sum((delta - d) ** 2) / np.sum(delta**2)),
        "scaled_stress": np.sqrt(np.sum((delta - scale * d) ** 2) / np.sum(delta**2)),
        "shepard_correlation": stats.spearmanr(delta, d).statistic,
        "residual_variance": 1 - stats.pearsonr(delta, d).statistic ** 2,
        "q_nx": q,
        "r_nx": R,
    }


# Ranks are binned, and the root of a rounding error is larger than the error.
MIN_TOLERANCES = {"shepard_correlation": 5e-6, "stress": 1e-7, "scaled_stress": 1e-7}


def assert_quality(quality, expected, tol=1e-9):
    for name, value in expected.items():
        atol = max(tol, MIN_TOLERANCES.get(name, 0))
        assert_allclose(host(getattr(quality, name)), value, rtol=0, atol=atol, err_msg=name)


@pytest.mark.parametrize("k", [1, 5, 29])
@pytest.mark.parametrize("d", [4, 12])
def test_scores_match_their_definitions(k, d, rng):
    data = X[::2] @ rng.normal(size=(4, d))
    expected = by_definition(cdist(data, data), cdist(Z[::2], Z[::2]), k, y[::2])
    expected["procrustes"] = procrustes(data, np.pad(Z[::2], [(0, 0), (0, d - 2)]))[2]
    assert_quality(embedding_quality(data, Z[::2], n_neighbors=k, y=y[::2]), expected)


@settings(max_examples=50)
@given(st.data())
def test_scores_with_ties_match_their_definitions(data):
    # Small integers, so that many distances are equal and points coincide.
    n = data.draw(st.integers(3, 14))
    whole = st.integers(0, 3).map(float)
    A, B = (data.draw(hnp.arrays(float, (n, 2), elements=whole)) for _ in range(2))
    A[0], B[0] = 5, 6  # not all equal
    k = data.draw(st.integers(1, (n - 1) // 2))
    labels = np.arange(n) % 2
    expected = by_definition(cdist(A, A), cdist(B, B), k, labels)
    for name in ("shepard_correlation", "residual_variance"):
        if np.isnan(expected[name]):  # all distances equal
            del expected[name]
    assert_quality(embedding_quality(A, B, n_neighbors=k, y=labels), expected)


@pytest.mark.parametrize("n", [60, 700])
@pytest.mark.parametrize("k", [1, 8, 29])
def test_trustworthiness_matches_scikit_learn(n, k, rng):
    A, B = rng.normal(size=(n, 12)), rng.normal(size=(n, 2))
    expected = manifold.trustworthiness(A, B, n_neighbors=k)
    assert_allclose(trustworthiness(A, B, n_neighbors=k), expected, rtol=1e-12)
    quality = embedding_quality(A, B, n_neighbors=k)
    assert_allclose(quality.trustworthiness, expected, rtol=1e-12)
    assert_allclose(quality.continuity, trustworthiness(B, A, n_neighbors=k), rtol=1e-12)


def test_shepard_correlation_keeps_five_digits(rng):
    # Clusters of very different size with an outlier, and distances that hardly differ.
    clusters = np.concatenate([1e-3 * rng.normal(size=(80, 3)), 5 + rng.normal(size=(80, 3))])
    clusters[0] = 1e5
    concentrated = rng.normal(size=(160, 3000))
    for data in (clusters, concentrated):
        Z = data[:, :2] + rng.normal(size=(160, 2))
        upper = np.triu_indices(160, 1)
        distances = (cdist(a, a)[upper] for a in (data, Z))
        expected = stats.spearmanr(*distances).statistic
        assert_allclose(embedding_quality(data, Z).shepard_correlation, expected, rtol=0, atol=5e-6)


def test_rotated_and_scaled_data_have_the_best_scores():
    rotation = np.linalg.qr(np.random.default_rng(1).normal(size=(4, 4)))[0]
    best = dict.fromkeys(("trustworthiness", "continuity", "knn_preservation", "r_nx_auc"), 1)
    best |= {"shepard_correlation": 1, "residual_variance": 0, "procrustes": 0}
    quality = embedding_quality(X, 3 * X @ rotation + 7)
    assert_quality(quality, best | {"scaled_stress": 0, "stress": 2, "lcmc": 1 - 5 / 149}, 1e-6)
    assert_allclose(quality.q_nx, 1)
    assert_allclose(quality.r_nx, 1)
    assert "neighborhood_hit" not in quality.scores()
    assert quality.neighborhood_hit is None


def test_random_embedding_scores_like_chance(rng):
    quality = embedding_quality(rng.normal(size=(400, 5)), rng.normal(size=(400, 2)))
    for name in ("lcmc", "r_nx_auc", "shepard_correlation"):
        assert abs(getattr(quality, name)) < 0.02
    assert_allclose(quality.trustworthiness, 0.5, atol=0.03)
    assert_allclose(quality.residual_variance, 1, atol=0.01)
    assert_allclose(quality.procrustes, 1, atol=0.05)


def test_scores_per_point():
    quality = embedding_quality(X, Z, y=y)
    assert_array_equal(quality.points, np.arange(150))
    for name, values in quality.per_point.items():
        assert values.shape == (150,)
        if name != "scaled_stress":
            assert_allclose(values.mean(), getattr(quality, name), rtol=1e-9)
    D, E = cdist(X, X), cdist(Z, Z)
    scale = np.sum(D * E) / np.sum(E * E)
    expected = np.sqrt(np.sum((D - scale * E) ** 2, axis=1) / np.sum(D**2, axis=1))
    assert_allclose(quality.per_point["scaled_stress"], expected, atol=1e-9)


def test_namespaces_agree(namespace):
    expected = embedding_quality(X, Z, y=y)
    for dtype, tol in (("float64", 1e-12), ("float32", 1e-3)):
        data = namespace.asarray(X, dtype=getattr(namespace, dtype))
        quality = embedding_quality(data, Z, y=namespace.asarray(y))
        assert_quality(quality, expected.scores() | {"q_nx": expected.q_nx}, tol)
        for array in (quality.q_nx, quality.r_nx, *quality.per_point.values()):
            assert type(array) is type(data)
            assert array.dtype == data.dtype
        assert type(quality.points) is type(data)
        assert trustworthiness(data, namespace.asarray(Z)) == quality.trustworthiness


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine", "canberra"])
def test_metric_matches_precomputed_distances(metric, namespace):
    cdist_name = {"manhattan": "cityblock"}.get(metric, metric)
    D = namespace.asarray(cdist(X, X, metric=cdist_name))
    by_name = embedding_quality(namespace.asarray(X), Z, metric=metric)
    computed = embedding_quality(D, Z, metric="precomputed")
    assert computed.procrustes is None
    assert_quality(by_name, computed.scores(), 1e-6)
    assert_allclose(trustworthiness(D, Z, metric="precomputed"), by_name.trustworthiness)


def test_callable_metric():
    def distance(a, b):
        return np.abs(a - b).sum()

    expected = embedding_quality(X[:40], Z[:40], metric="manhattan").scores()
    assert_quality(embedding_quality(X[:40], Z[:40], metric=distance), expected)


@pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
def test_sparse_matches_dense(metric):
    dense = np.where(X > 1, X, 0)
    expected = embedding_quality(dense, Z, metric=metric).scores()
    for made in (sparse.csr_array, sparse.csc_matrix):
        assert_quality(embedding_quality(made(dense), Z, metric=metric), expected, 1e-6)


def test_data_frames_and_lists():
    pd = pytest.importorskip("pandas")
    expected = embedding_quality(X, Z, y=y).scores()
    named = embedding_quality(pd.DataFrame(X), pd.DataFrame(Z), y=pd.Series(y).map(str))
    assert_quality(named, expected)
    assert_quality(embedding_quality(X.tolist(), Z.tolist(), y=y.tolist()), expected)


def test_row_order_and_block_size_do_not_matter(rng):
    order = rng.permutation(150)
    expected = embedding_quality(X, Z, y=y)
    assert_quality(embedding_quality(X[order], Z[order], y=y[order]), expected.scores(), 1e-7)
    with patch.object(_distances, "BLOCK_ENTRIES", 1):
        small = embedding_quality(X, Z, y=y)
    assert_quality(small, expected.scores() | {"q_nx": expected.q_nx}, 1e-12)
    assert embedding_quality(X, Z, y=y).scores() == expected.scores()


def test_input_is_not_changed():
    D, given_ = cdist(X, X), (X.copy(), Z.copy(), y.copy())
    embedding_quality(*given_[:2], y=given_[2])
    embedding_quality(D, given_[1], metric="precomputed")
    for array, kept in zip(given_, (X, Z, y), strict=True):
        assert_array_equal(array, kept)
    assert_array_equal(D, cdist(X, X))


# A sample of the points


def test_sample_estimates_scores_and_standard_errors():
    truth = embedding_quality(X, Z, y=y)
    assert set(truth.standard_error) == set(truth.scores()) - {"procrustes"}
    assert not any(truth.standard_error.values())
    sampled = [
        embedding_quality(X, Z, y=y, sample_size=40, random_state=seed) for seed in range(200)
    ]
    for name, score in truth.scores().items():
        estimates = np.array([getattr(quality, name) for quality in sampled])
        if name == "procrustes":  # always uses all points
            assert_allclose(estimates, score)
            continue
        errors = [quality.standard_error[name] for quality in sampled]
        spread = estimates.std()
        assert abs(estimates.mean() - score) < 0.3 * spread, name
        assert 0.8 < np.mean(errors) / spread < 1.25, name


def test_sampled_points_have_their_own_scores():
    quality = embedding_quality(X, Z, sample_size=30, random_state=3)
    truth = embedding_quality(X, Z)
    assert_array_equal(quality.points, np.unique(quality.points))
    for name in ("trustworthiness", "continuity", "knn_preservation", "r_nx_auc"):
        assert_allclose(quality.per_point[name], truth.per_point[name][quality.points])
    again = embedding_quality(X, Z, sample_size=30, random_state=3)
    assert again.scores() == quality.scores()
    assert embedding_quality(X, Z, sample_size=150).scores() == truth.scores()
    assert embedding_quality(X, Z, sample_size=10**30).scores() == truth.scores()


# Extreme and invalid input


def test_huge_and_tiny_values():
    expected = embedding_quality(X, Z)
    for factor in (1e150, 1e-150):
        assert_quality(embedding_quality(factor * X, factor * Z), expected.scores())
        assert_allclose(embedding_quality(X, factor * Z).scaled_stress, expected.scaled_stress)
    assert_allclose(embedding_quality(X, 1e150 * Z).stress, 1e150, rtol=0.1)
    assert_quality(embedding_quality(X + 1e6, Z), expected.scores(), 1e-4)


def test_embedding_of_equal_points():
    with pytest.warns(UserWarning, match="All points of Z are equal"):
        quality = embedding_quality(X, np.ones((150, 2)))
    assert_quality(
        quality,
        {"shepard_correlation": 0, "residual_variance": 1, "scaled_stress": 1, "procrustes": 1},
    )
    assert np.isfinite(list(quality.scores().values())).all()


def test_embedding_of_three_points():
    quality = embedding_quality(X[:3], Z[:3], n_neighbors=1)
    assert quality.q_nx.shape == (1,)
    assert np.isfinite(list(quality.scores().values())).all()


D = cdist(X, X)
BAD = {
    "k of 0": (lambda: (X, Z), {"n_neighbors": 0}, "n_neighbors=0 must be an int of at least 1"),
    "k not an int": (lambda: (X, Z), {"n_neighbors": 2.5}, "n_neighbors=2.5 must be an int"),
    "k of n": (lambda: (X, Z), {"n_neighbors": 150}, "should be less than n_samples / 2 = 75"),
    "k of n / 2": (lambda: (X, Z), {"n_neighbors": 75}, "n_neighbors = 75 should be less"),
    "k huge": (lambda: (X, Z), {"n_neighbors": 2**70}, "should be less than n_samples / 2"),
    "lengths": (lambda: (X, Z[1:]), {}, r"inconsistent numbers of samples: \[150, 149\]"),
    "labels": (lambda: (X, Z), {"y": y[1:]}, r"inconsistent numbers of samples: \[150, 149\]"),
    "labels continuous": (lambda: (X, Z), {"y": X[:, 0]}, "Unknown label type: continuous"),
    "NaN": (lambda: (X * np.nan, Z), {}, "Input X contains NaN"),
    "NaN in Z": (lambda: (X, Z * np.nan), {}, "Input Z contains NaN"),
    "complex": (lambda: (X, Z + 1j), {}, "Complex data not supported"),
    "1-D": (lambda: (X, Z[:, 0]), {}, "Expected 2D array, got 1D"),
    "no samples": (lambda: (X[:0], Z[:0]), {}, r"0 sample\(s\)"),
    "two samples": (lambda: (X[:2], Z[:2]), {"n_neighbors": 1}, "should be less than n_samples"),
    "sparse Z": (lambda: (X, sparse.csr_array(Z)), {}, "dense data is required"),
    "huge": (lambda: (1e200 * X, Z), {}, "largest absolute value of X is .* Rescale X"),
    "huge Z": (lambda: (X, 1e200 * Z), {}, "largest absolute value of Z is .* Rescale Z"),
    "X equal": (lambda: (np.ones((150, 4)) / 3, Z), {}, "All points of X are equal"),
    "X equal, sparse": (lambda: (sparse.csr_array(np.ones((150, 4))), Z), {}, "X are equal"),
    "metric": (lambda: (X, Z), {"metric": "miles"}, "'metric' parameter .* Got 'miles' instead"),
    "metric NaN": (
        lambda: (X, Z),
        {"metric": lambda a, b: np.nan},
        "returns negative, infinite or NaN distances",
    ),
    "sample of 1": (
        lambda: (X, Z),
        {"sample_size": 1},
        "sample_size=1 must be an int of at least 2",
    ),
    "sample not an int": (lambda: (X, Z), {"sample_size": 0.5}, "sample_size=0.5 must be an int"),
    "not square": (lambda: (X, Z), {"metric": "precomputed"}, r"X has shape \(150, 4\)"),
    "sparse distances": (
        lambda: (sparse.csr_array(D), Z),
        {"metric": "precomputed"},
        "dense data is required",
    ),
    "negative": (lambda: (-D, Z), {"metric": "precomputed"}, "must not be negative"),
    "asymmetric": (
        lambda: (np.triu(D), Z),
        {"metric": "precomputed"},
        r"must be symmetric, .* \(X \+ X.T\) / 2",
    ),
    "diagonal": (lambda: (D + 1, Z), {"metric": "precomputed"}, "diagonal .* must be 0"),
    "no distances": (lambda: (0 * D, Z), {"metric": "precomputed"}, "All points of X are equal"),
}


@pytest.mark.parametrize("row", BAD)
def test_bad_input(row):
    data, params, says = BAD[row]
    with pytest.raises((ValueError, TypeError), match=says):
        embedding_quality(*data(), **params)
    if not params.keys() & {"sample_size", "y"}:
        with pytest.raises((ValueError, TypeError), match=says):
            trustworthiness(*data(), **params)


def test_result_is_frozen_and_prints_its_scores():
    quality = embedding_quality(X, Z)
    assert isinstance(quality, EmbeddingQuality)
    with pytest.raises(FrozenInstanceError):
        quality.lcmc = 1.0
    assert re.match(r"EmbeddingQuality\(n_neighbors=5, trustworthiness=0\.9\d+, ", repr(quality))
    assert "array" not in repr(quality)


def test_ties_with_many_features(rng):
    X = rng.integers(0, 2, size=(80, 12)).astype(float)
    Z, D = X[:, :9], cdist(X, X)
    expected = embedding_quality(D, Z, metric="precomputed")
    assert_allclose(trustworthiness(X, Z), expected.trustworthiness)
    result = embedding_quality(X, Z).scores()
    assert_allclose([result[name] for name in expected.scores()], list(expected.scores().values()))
    assert embedding_quality(X, 3 * X).knn_preservation == 1


@pytest.mark.parametrize("far", [1e2, 1e4, 1e8])
def test_distant_clusters(far, rng):
    X = rng.normal(size=(200, 13)) + far * (np.arange(200) % 2)[:, None]
    Z = X[:, :2] / 10
    quality = embedding_quality(X, Z)
    D, E = cdist(X, X), cdist(Z, Z)
    expected = embedding_quality(D, Z, metric="precomputed")
    assert quality.knn_preservation == expected.knn_preservation
    pairs = np.triu_indices(200, 1)
    rho = stats.spearmanr(D[pairs], E[pairs])[0]
    assert_allclose(quality.shepard_correlation, rho, atol=1e-5)


def test_scales_of_X_and_Z_may_differ_widely(rng):
    X = 1e150 * rng.normal(size=(50, 4))
    quality = embedding_quality(X, 1e-280 * X)
    assert_allclose([quality.scaled_stress, quality.residual_variance], 0, atol=1e-9)


def test_metric_params(rng):
    X = rng.normal(size=(60, 4))
    result = embedding_quality(X, X[:, :2], metric="minkowski", metric_params={"p": 3})
    D = cdist(X, X, "minkowski", p=3)
    assert result.scores() | {"procrustes": None} == pytest.approx(
        embedding_quality(D, X[:, :2], metric="precomputed").scores() | {"procrustes": None}
    )
