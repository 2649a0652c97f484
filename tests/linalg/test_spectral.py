"""Eigenproblems and whitening against SciPy, the sign rule, and coordinates in a span."""

import numpy as np
import pytest
import scipy.linalg
from scipy import sparse
from scipy.spatial.distance import pdist

from dimetric._arrays.namespaces import to_host
from dimetric.linalg.sample_span import span_coordinates
from dimetric.linalg.spectral import (
    fixed_signs,
    lanczos_svd,
    randomized_svd,
    top_eigenvectors,
    top_ratio,
    top_singular,
    whitening,
)

R = np.random.default_rng(0).normal(size=(30, 6)) * [5, 4, 3, 2, 1, 0.5]
S = R.T @ R


def test_fixed_signs_do_not_depend_on_the_input_signs(rng):
    flips = np.array([1, -1, -1])[:, None]
    V = rng.normal(size=(3, 5))
    np.testing.assert_array_equal(fixed_signs(V), fixed_signs(V * flips))
    assert (np.take_along_axis(fixed_signs(V), np.abs(V).argmax(1)[:, None], 1) > 0).all()


def test_top_eigenvectors_maximise_the_trace(rng):
    values, V = top_eigenvectors(S, 2)
    np.testing.assert_allclose(V @ V.T, np.eye(2), atol=1e-12)
    np.testing.assert_allclose(np.trace(V @ S @ V.T), scipy.linalg.eigvalsh(S)[-2:].sum())
    others = [np.linalg.qr(rng.normal(size=(6, 2)))[0].T for _ in range(200)]
    assert max(np.trace(Q @ S @ Q.T) for Q in others) <= values.sum() + 1e-9


def test_top_singular_matches_top_eigenvectors_of_the_gram_matrix():
    values, V = top_eigenvectors(S, 4)
    s, W = top_singular(R, 4)
    np.testing.assert_allclose(s**2, values)
    np.testing.assert_allclose(V, W, atol=1e-9)


@pytest.mark.parametrize("is_root", [False, True])
@pytest.mark.parametrize("ridge", [0.0, 0.7])
def test_whitened_matrix_is_the_identity(ridge, is_root):
    T, reliable = whitening(R if is_root else S, is_root=is_root, ridge=ridge)
    np.testing.assert_allclose(T @ (S + ridge * np.eye(6)) @ T.T, np.eye(6), atol=1e-10)
    assert reliable


@pytest.mark.parametrize("ridge", [0.0, 0.7])
def test_triangular_whitening_gives_the_same_ratios(ridge):
    T, reliable = whitening(S, is_root=False, ridge=ridge, triangular=True)
    np.testing.assert_array_equal(T, np.tril(T))
    np.testing.assert_allclose(T @ (S + ridge * np.eye(6)) @ T.T, np.eye(6), atol=1e-10)
    assert reliable
    expected = top_ratio(R[:9], whitening(S, is_root=False, ridge=ridge)[0], 3, is_root=True)
    for found, value in zip(top_ratio(R[:9], T, 3, is_root=True), expected, strict=True):
        np.testing.assert_allclose(found, value, rtol=1e-9)


def test_ill_conditioned_matrices_have_no_triangular_whitening():
    noise = np.random.default_rng(1).normal(size=(30, 1))
    for last in (R[:, :1] + 1e-6 * noise, R[:, :1], np.zeros((30, 1))):
        B = np.hstack([R, last])
        for found, expected in zip(
            whitening(B.T @ B, is_root=False, triangular=True),
            whitening(B.T @ B, is_root=False),
            strict=True,
        ):
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("is_root", [False, True])
def test_whitening_drops_null_directions_but_keeps_small_features(is_root):
    def whitened(R):
        return whitening(R if is_root else R.T @ R, is_root=is_root)[0]

    assert whitened(R * [1, 1e-9, 1e9, 1, 1, 1]).shape == (6, 6)
    flat = np.hstack([R, R[:, :1] + R[:, 1:2], np.zeros((30, 1))])
    T = whitened(flat)
    assert T.shape == (6, 8)
    np.testing.assert_allclose(T @ flat.T @ flat @ T.T, np.eye(6), atol=1e-9)
    assert whitened(np.zeros((3, 4))).shape == (0, 4)


def test_whitening_reports_lost_digits():
    noise = np.random.default_rng(1).normal(size=(30, 1))
    nearly_singular = np.hstack([R, R[:, :1] + 1e-6 * noise])
    B = nearly_singular.T @ nearly_singular
    assert not whitening(B, is_root=False)[1]
    T, reliable = whitening(nearly_singular, is_root=True)
    assert reliable
    np.testing.assert_allclose(T @ nearly_singular.T @ nearly_singular @ T.T, np.eye(7), atol=1e-4)
    constant = np.hstack([R, np.zeros((30, 1))])
    assert whitening(constant.T @ constant, is_root=False)[1]


@pytest.mark.parametrize("is_root", [False, True])
def test_top_ratio_matches_scipy_generalised_eigh(is_root, rng):
    B = R.T @ R
    root = rng.normal(size=(4, 6))
    A = root.T @ root
    T, _ = whitening(R, is_root=True)
    values, L, total = top_ratio(root if is_root else A, T, 5, is_root=is_root)
    expected, vectors = scipy.linalg.eigh(A, B)
    np.testing.assert_allclose(values, expected[::-1][:5], atol=1e-12)
    np.testing.assert_allclose(total, expected.sum())
    np.testing.assert_allclose(L @ B @ L.T, np.eye(5), atol=1e-10)
    np.testing.assert_allclose(L[:4], fixed_signs(vectors.T[::-1][:4]), atol=1e-9)


def test_fixed_signs_of_equal_entries_do_not_depend_on_rounding():
    row = np.array([[1.0, -1.0, 0.5]])
    for error in (1e-15, -1e-15):
        np.testing.assert_allclose(fixed_signs(row * [1 + error, 1, 1]), row)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
def test_iterative_svds_match_the_dense_svd_of_centred_samples(make, rng):
    X = R + 3
    expected = top_singular(X - X.mean(0), 2)
    start = rng.normal(size=(6, 4))
    for s, V in (
        lanczos_svd(make(X), X.mean(0), 2, np.ones(6), 0.0),
        randomized_svd(make(X), X.mean(0), 2, start, 60),
    ):
        np.testing.assert_allclose(s, expected[0], rtol=1e-9)
        np.testing.assert_allclose(V, expected[1], atol=1e-7)


@pytest.mark.parametrize("is_root", [False, True])
def test_whitening_drops_directions_of_rounding_errors(is_root):
    # A sum of features, and a constant one, far from the origin.
    far = (R + 1e3).astype(np.float32)
    far = np.hstack([far, far[:, :1] + far[:, 1:2], np.full((30, 1), 1e3 / 3, np.float32)])
    rounding = 16 * np.finfo(np.float32).eps * np.abs(far).max(axis=0).astype(float)
    centred = far.astype(float) - far.astype(float).mean(axis=0)
    B = centred if is_root else centred.T @ centred
    assert whitening(B, is_root=is_root)[0].shape[0] == 7
    assert whitening(B, is_root=is_root, rounding=rounding)[0].shape[0] == 6
    assert whitening(B, is_root=is_root, rounding=rounding, ridge=0.1)[0].shape[0] == 8


@pytest.mark.parametrize("extra", [0, 3])
def test_span_coordinates_preserve_distances(extra, namespace, rng):
    X = rng.normal(size=(10, 40))
    Z, lifted = span_coordinates(namespace.asarray(X), extra)
    assert Z.shape == (10, 10 + extra)
    np.testing.assert_allclose(pdist(to_host(Z)), pdist(X), rtol=1e-12)
    Q = to_host(lifted(namespace.asarray(np.eye(10 + extra))))
    np.testing.assert_allclose(Q @ Q.T, np.eye(10 + extra), atol=1e-12)
    centred = X - X.mean(axis=0)
    np.testing.assert_allclose(centred @ Q.T @ Q, centred, atol=1e-12)  # the span contains X


def test_span_coordinates_of_many_samples_are_the_features():
    Z, lifted = span_coordinates(R[:4], 2)
    np.testing.assert_array_equal(Z, R[:4])
    np.testing.assert_array_equal(lifted(R), R)
