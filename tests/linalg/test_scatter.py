"""Moments and difference scatter against their definitions, for any division into blocks."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from dimetric._arrays.namespaces import to_host
from dimetric.linalg.scatter import Moments, difference_scatter


def samples(n=40, d=5, n_classes=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)) + 100, rng.integers(0, n_classes, n)


def by_definition(X, codes, n_classes):
    """Return counts, means and within-class scatter by their definitions."""
    counts = np.bincount(codes, minlength=n_classes)
    means = np.array([X[codes == c].mean(0) if counts[c] else 0 * X[0] for c in range(n_classes)])
    residual = X - means[codes]
    return counts, means, sum(np.outer(r, r) for r in residual)


def scatter(moments):
    return moments.spread.T @ moments.spread if moments.is_root else moments.spread


@pytest.mark.parametrize("of", [Moments.scatter_of, Moments.root_of])
@given(cuts=st.lists(st.integers(0, 40), max_size=4), seed=st.integers(0, 50))
def test_moments_of_blocks_add_up(of, cuts, seed):
    X, codes = samples(seed=seed)
    edges = sorted({0, 40, *cuts})
    parts = [of(X[a:b], codes[a:b], 3) for a, b in pairwise(edges)]
    total = sum(parts[1:], parts[0])
    counts, means, S = by_definition(X, codes, 3)
    np.testing.assert_array_equal(total.counts, counts)
    np.testing.assert_allclose(total.means, means, rtol=1e-12)
    np.testing.assert_allclose(scatter(total), S, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("root", [False, True])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_weights_count_samples(root, container, rng):
    if root and container is sparse.csr_array:
        return
    X, codes = samples()
    weights = rng.integers(1, 4, size=len(X))
    rows = np.repeat(np.arange(len(X)), weights)
    found = Moments.of_all(container(X), codes, 3, weights, root=root)
    counts, means, S = by_definition(X[rows], codes[rows], 3)
    np.testing.assert_allclose(found.counts, counts)
    np.testing.assert_allclose(found.means, means)
    np.testing.assert_allclose(scatter(found), S, rtol=1e-7, atol=1e-7)
    one_class = Moments.of_all(container(X), weights=weights, root=root)
    pooled = found.pooled()
    for moments in (one_class, pooled):
        np.testing.assert_allclose(moments.mean, X[rows].mean(0))
        expected = (len(rows) - 1) * np.cov(X[rows].T)
        np.testing.assert_allclose(scatter(moments), expected, rtol=1e-7, atol=1e-7)


def test_root_has_at_most_d_rows_and_keeps_small_singular_values():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3)) * [1, 1e-4, 1e-8]
    moments = Moments.root_of(X[:300]) + Moments.root_of(X[300:])
    assert moments.spread.shape == (3, 3)
    expected = np.linalg.svd(X - X.mean(0), compute_uv=False)
    np.testing.assert_allclose(np.linalg.svd(moments.spread, compute_uv=False), expected, rtol=1e-6)


def test_scatter_is_accurate_far_from_the_origin():
    X, _ = samples()
    np.testing.assert_allclose(
        scatter(Moments.scatter_of(X + 1e7)), scatter(Moments.scatter_of(X)), rtol=1e-6, atol=1e-6
    )


def test_scatter_of_sparse_samples_is_centred():
    X, _ = samples()
    moments = Moments.scatter_of(sparse.csr_array(X))
    np.testing.assert_allclose(moments.spread, 39 * np.cov(X.T), rtol=1e-8)
    np.testing.assert_allclose(moments.mean, X.mean(0))


def test_with_classes_at_moves_only_the_classes():
    X, codes = samples()
    wide = Moments.scatter_of(X, codes, 3).with_classes_at(np.array([4, 0, 2]), 5)
    expected = Moments.scatter_of(X, np.array([4, 0, 2])[codes], 5)
    np.testing.assert_allclose(wide.counts, expected.counts)
    np.testing.assert_allclose(wide.means, expected.means)
    np.testing.assert_allclose(wide.spread, expected.spread)


@pytest.mark.parametrize("root", [False, True])
def test_difference_scatter_matches_its_definition(root, namespace, rng):
    X, indices = rng.normal(size=(50, 4)) + 1e3, rng.integers(0, 50, size=(50, 3))
    counts = rng.integers(0, 4, size=50)
    indices = np.where(np.arange(3) < counts[:, None], indices, np.arange(50)[:, None])
    expected = np.zeros((4, 4))
    for x, others, count in zip(X, indices, counts, strict=True):
        for j in others[:count]:
            expected += np.outer(x - X[j], x - X[j]) / count
    S = difference_scatter(namespace.asarray(X), namespace.asarray(indices), counts, root=root)
    S = S.T @ S if root else S
    np.testing.assert_allclose(to_host(S), expected, rtol=1e-9)
