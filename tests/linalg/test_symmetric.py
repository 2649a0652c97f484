"""Packed symmetric matrices against dense ones."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from threadpoolctl import threadpool_limits

from dimetric._arrays.compiled import import_compiled
from dimetric.kernels import Kernel
from dimetric.kernels._function import KernelFunction
from dimetric.linalg import symmetric as module
from dimetric.linalg.centred_products import centred_product
from dimetric.linalg.symmetric import MAX_VECTORS, TILE_SIZE, PackedSymmetric, SymmetricProduct

SIZES = (1, TILE_SIZE - 1, TILE_SIZE, 2 * TILE_SIZE + 3)


def symmetric(rng, n):
    A = rng.normal(size=(n, n))
    return A + A.T


def packed(K):
    return PackedSymmetric.from_function(len(K), K.dtype, lambda a, b: K[a, b])


@pytest.mark.parametrize("n", SIZES)
def test_packed_matrix_matches_the_dense_one(n, rng):
    K = symmetric(rng, n)
    P = packed(K)
    assert P.shape == K.shape
    assert P.largest == np.abs(K).max()
    assert_allclose(P.trace, np.trace(K))
    assert_allclose(P.row_sums, K.sum(axis=1), atol=1e-11)
    V = rng.normal(size=(n, 5))
    assert_allclose(SymmetricProduct(n, P.tile)(V), K @ V, atol=1e-11)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_centred_product_matches_the_dense_one(n, power, dtype, rng):
    K = symmetric(rng, n).astype(dtype)
    J = np.eye(n) - 1 / n
    V = rng.normal(size=(n, MAX_VECTORS + 2))
    expected = J @ K.astype("float64") ** power @ J @ V
    assert_allclose(centred_product(K, power=power)(V), expected, atol=1e-9)
    if power == 1:
        assert_allclose(centred_product(packed(K))(V), expected, atol=1e-9)


@pytest.mark.skipif(import_compiled("linalg._compiled") is None, reason="needs numba")
@pytest.mark.parametrize("n", [*SIZES, 3 * TILE_SIZE + 5])
@pytest.mark.parametrize("p", [1, 3, 12])
def test_compiled_products_match_the_dense_ones(n, p, rng, monkeypatch):
    monkeypatch.setattr(module, "MIN_ROWS_COMPILED", 1)
    K, V = symmetric(rng, n), rng.normal(size=(n, p))
    tiles = {
        "float64": lambda a, b: K[a, b],
        "float32": lambda a, b: K.astype("float32")[a, b],
        "reversed": lambda a, b: K[::-1, ::-1].copy()[::-1, ::-1][a, b],
    }
    for name, tile in tiles.items():
        expected = tile(slice(None), slice(None)).astype("float64")
        assert_allclose(SymmetricProduct(n, tile)(V), expected @ V, atol=1e-11, err_msg=name)
        product, norm = SymmetricProduct(n, tile, squared=True).with_squared_norm(V)
        assert_allclose(product, expected**2 @ V, atol=1e-10, err_msg=name)
        assert_allclose(norm, np.sum(expected**4))


def test_workspace_is_reused_for_other_numbers_of_vectors(rng):
    K = symmetric(rng, 300)
    product = SymmetricProduct(300, packed(K).tile)
    for p in (4, 1, 9, 4):
        V = rng.normal(size=(300, p))
        assert_allclose(product(V), K @ V, atol=1e-11)


def test_product_does_not_depend_on_the_number_of_threads(rng):
    K, V = symmetric(rng, 3 * TILE_SIZE), rng.normal(size=(3 * TILE_SIZE, 3))
    products = []
    for threads in (1, 3):
        with threadpool_limits(threads):
            products.append(SymmetricProduct(len(K), packed(K).tile)(V))
    assert_array_equal(*products)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [(0, 0), (2, TILE_SIZE + 1)])
def test_largest_is_not_finite_if_any_value_is_not(bad, place):
    K = np.zeros((TILE_SIZE + 2, TILE_SIZE + 2))
    K[place] = bad
    assert not np.isfinite(packed(K).largest)


@pytest.mark.parametrize("name", ["linear", "poly", "rbf", "laplacian", "sigmoid", "cosine"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_packed_kernel_matrix_matches_the_dense_one(name, dtype, rng):
    X = rng.normal(size=(TILE_SIZE + 5, 3)).astype(dtype)
    kernel = KernelFunction.for_samples(X, Kernel(name))
    dense, P = kernel.gram(X), kernel.packed(X)
    assert P.tiles.dtype == X.dtype
    eye = np.eye(len(X))
    assert_array_equal(SymmetricProduct(len(X), P.tile)(eye).astype(dtype), dense)


def test_packed_kernel_matrix_that_overflows_raises():
    X = np.full((3, 1), 1e120)
    with pytest.raises(ValueError, match="NaN or infinite"):
        KernelFunction("poly", degree=3).packed(X)
