"""A symmetric matrix of which half is kept, against all of it."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from threadpoolctl import threadpool_limits

from dimetric.kernels import Kernel
from dimetric.kernels._function import KernelFunction
from dimetric.linalg.classical_scaling import centred_product
from dimetric.linalg.symmetric import MAX_VECTORS, TILE_SIZE, PackedSymmetric, SymmetricProduct

SIZES = (1, TILE_SIZE - 1, TILE_SIZE, 2 * TILE_SIZE + 3)


def symmetric(rng, n):
    A = rng.normal(size=(n, n))
    return A + A.T


def half_of(K):
    return PackedSymmetric.from_function(len(K), K.dtype, lambda a, b: K[a, b])


@pytest.mark.parametrize("n", SIZES)
def test_half_tells_all(n, rng):
    K = symmetric(rng, n)
    half = half_of(K)
    assert half.shape == K.shape
    assert half.largest == np.abs(K).max()
    assert_allclose(half.trace, np.trace(K))
    V = rng.normal(size=(n, 5))
    assert_allclose(SymmetricProduct(n, half.tile)(V), K @ V, atol=1e-11)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_centred_product(n, power, dtype, rng):
    K = symmetric(rng, n).astype(dtype)
    J = np.eye(n) - 1 / n
    V = rng.normal(size=(n, MAX_VECTORS + 2))
    expected = J @ K.astype("float64") ** power @ J @ V
    assert_allclose(centred_product(K, power=power)(V), expected, atol=1e-9)
    if power == 1:
        assert_allclose(centred_product(half_of(K))(V), expected, atol=1e-9)


def test_room_is_used_again_for_other_vectors(rng):
    K = symmetric(rng, 300)
    times = SymmetricProduct(300, half_of(K).tile)
    for p in (4, 1, 9, 4):
        V = rng.normal(size=(300, p))
        assert_allclose(times(V), K @ V, atol=1e-11)


def test_threads_do_not_matter(rng):
    K, V = symmetric(rng, 3 * TILE_SIZE), rng.normal(size=(3 * TILE_SIZE, 3))
    products = []
    for threads in (1, 3):
        with threadpool_limits(threads):
            products.append(SymmetricProduct(len(K), half_of(K).tile)(V))
    assert_array_equal(*products)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [(0, 0), (2, TILE_SIZE + 1)])
def test_what_is_not_finite_shows(bad, place):
    K = np.zeros((TILE_SIZE + 2, TILE_SIZE + 2))
    K[place] = bad
    assert not np.isfinite(half_of(K).largest)


@pytest.mark.parametrize("name", ["linear", "poly", "rbf", "laplacian", "sigmoid", "cosine"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_half_a_kernel(name, dtype, rng):
    X = rng.normal(size=(TILE_SIZE + 5, 3)).astype(dtype)
    kernel = KernelFunction.for_samples(X, Kernel(name))
    whole, half = kernel.gram(X), kernel.packed(X)
    assert half.tiles.dtype == X.dtype
    eye = np.eye(len(X))
    assert_array_equal(SymmetricProduct(len(X), half.tile)(eye).astype(dtype), whole)


def test_half_a_kernel_that_overflows():
    X = np.full((3, 1), 1e120)
    with pytest.raises(ValueError, match="NaN or infinite"):
        KernelFunction("poly", degree=3).packed(X)
