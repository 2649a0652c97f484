"""Positive semidefinite matrices: projection, square roots, and conversion between M and L."""

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal
from oracles import is_psd

from dimetric._arrays.namespaces import to_host
from dimetric.linalg.psd import inverse_square_root, map_of, metric_of, project_psd, square_root

MATRIX_FUNCTIONS = [project_psd, metric_of, map_of, square_root, inverse_square_root]


@st.composite
def squares(draw):
    """Draw a square matrix of small integers (with ties and zeros) times a power of ten."""
    d = draw(st.integers(1, 6))
    size = 10.0 ** draw(st.integers(-40, 40))
    return size * draw(hnp.arrays(float, (d, d), elements=st.integers(-9, 9).map(float)))


@st.composite
def spectra(draw):
    """Draw a PSD matrix with eigenvalues of 0 or between 0.1 and 10, and its rank."""
    d = draw(st.integers(1, 6))
    rank = draw(st.integers(0, d))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    Q = np.linalg.qr(rng.normal(size=(d, d))).Q
    values = np.r_[rng.uniform(0.1, 10, rank), np.zeros(d - rank)]
    return (Q * values) @ Q.T, rank


def indefinite(smallest):
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3))).Q
    return (Q * [2.0, 1.0, smallest]) @ Q.T


@given(squares())
def test_projection_is_psd_and_idempotent(M):
    P = project_psd(M)
    assert_array_equal(P, P.T)
    assert is_psd(P)
    assert_allclose(project_psd(P), P, rtol=0, atol=1e-14 * np.linalg.norm(M))


@given(squares(), st.integers(0, 2**32 - 1))
def test_projection_is_the_nearest_psd_matrix(M, seed):
    """P is nearest in a cone iff <M - P, P> = 0 and <M - P, Z> <= 0 for every Z in the cone."""
    P = project_psd(M)
    size = np.linalg.norm(M)
    assert abs(np.sum((M - P) * P)) <= 1e-13 * size**2
    for R in np.random.default_rng(seed).normal(size=(20, *M.shape)):
        Z = R.T @ R
        assert np.sum((M - P) * Z) <= 1e-13 * size * np.linalg.norm(Z)
        assert np.linalg.norm(M - P) <= (1 + 1e-14) * np.linalg.norm(M - Z)
        near = P + Z * size / np.linalg.norm(Z) / 100
        assert np.linalg.norm(M - P) <= (1 + 1e-14) * np.linalg.norm(M - near)


def test_projection_of_known_matrices():
    assert_allclose(project_psd(np.array([[0.0, 2.0], [0.0, 0.0]])), np.full((2, 2), 0.5))
    assert_array_equal(project_psd(-np.eye(3)), np.zeros((3, 3)))


@given(spectra())
def test_map_of_inverts_metric_of_and_has_the_rank_as_rows(M_rank):
    M, rank = M_rank
    L = map_of(M)
    assert L.shape == (rank, M.shape[0])
    assert_allclose(metric_of(L), M, rtol=0, atol=1e-13)
    assert_allclose(L @ L.T, np.diag(np.linalg.eigvalsh(M)[::-1][:rank]), rtol=0, atol=1e-12)
    if rank:
        tops = np.take_along_axis(L, np.abs(L).argmax(axis=1)[:, None], axis=1)
        assert tops.min() > 0


@given(spectra())
def test_maps_of_equal_metric_differ_by_an_isometry(M_rank):
    L = map_of(M_rank[0])
    Q = np.linalg.qr(np.random.default_rng(0).normal(size=(L.shape[0] + 2, L.shape[0]))).Q
    assert_allclose(metric_of(Q @ L), metric_of(L), rtol=0, atol=1e-13)


@pytest.mark.parametrize(("least", "rank"), [(10.0, 3), (0.1, 2)])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rank_counts_eigenvalues_above_rounding(dtype, least, rank):
    # M is diagonal, so its eigenvalues are exact. The rounding level is 3 eps times the largest.
    M = np.diag(np.array([2.0, 1.0, least * 3 * np.finfo(dtype).eps * 2.0], dtype=dtype))
    assert map_of(M).shape == (rank, 3)


@pytest.mark.parametrize("shape", [(100, 258), (150, 258), (0, 6)])
def test_metric_is_exactly_symmetric(shape):
    # With threaded OpenBLAS, L.T @ L is not exactly symmetric for this strided L.
    L = np.random.default_rng(0).normal(size=shape)[:, ::2]
    M = metric_of(L)
    assert_array_equal(M, M.T)
    assert_allclose(M, np.einsum("ki,kj->ij", L, L), atol=1e-12)


@given(spectra())
def test_square_roots_meet_their_definitions(M_rank):
    M, rank = M_rank
    half, inverse = square_root(M), inverse_square_root(M)
    assert is_psd(half)
    assert is_psd(inverse)
    assert_allclose(half @ half, M, rtol=0, atol=1e-13)
    assert_allclose(inverse, np.linalg.pinv(half, rcond=1e-8), rtol=0, atol=1e-12)
    on_range = half @ inverse
    assert_allclose(on_range @ M, M, rtol=0, atol=1e-12)
    assert np.trace(on_range) == pytest.approx(rank)


def test_square_root_matches_scipy():
    M = metric_of(np.random.default_rng(0).normal(size=(9, 5)))
    assert_allclose(square_root(M), scipy.linalg.sqrtm(M), rtol=1e-10)


@pytest.mark.parametrize("function", [map_of, square_root, inverse_square_root])
def test_indefinite_matrices_raise(function):
    with pytest.raises(ValueError, match=r"positive semidefinite.*negative eigenvalue is -0\.25 "):
        function(indefinite(-0.25))
    assert_allclose(function(indefinite(-1e-16)), function(project_psd(indefinite(-1e-16))))


@pytest.mark.parametrize("function", MATRIX_FUNCTIONS)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_namespaces_match_numpy(namespace, dtype, function):
    M = metric_of(np.random.default_rng(0).normal(size=(3, 5)))  # singular
    if function is project_psd:
        M = M - np.eye(5)
    given_M = namespace.asarray(M, dtype=getattr(namespace, dtype))
    before = to_host(given_M).copy()
    found = function(given_M)
    assert found.dtype == given_M.dtype
    assert type(found) is type(given_M)
    assert_array_equal(to_host(given_M), before)
    expected = function(M)
    tol = 1e-12 if dtype == "float64" else 2e-5
    assert_allclose(to_host(found), expected, rtol=0, atol=tol * np.abs(expected).max())
