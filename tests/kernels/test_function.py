"""Tests of kernel functions: scikit-learn as reference, all array namespaces, error messages."""

import numpy as np
import pandas as pd
import pytest
from estimators import host
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.metrics.pairwise import pairwise_kernels, rbf_kernel

from dimetric.kernels import Kernel, _function
from dimetric.kernels._function import KernelFunction, check_precomputed

NAMED = ["linear", "poly", "rbf", "laplacian", "sigmoid", "cosine"]


@pytest.fixture
def X(rng):
    return rng.normal(size=(70, 5)) + 3


@pytest.mark.parametrize("name", NAMED)
@pytest.mark.parametrize("tile", [16, 512])
def test_named_kernels_match_scikit_learn(name, tile, X, namespace, monkeypatch):
    monkeypatch.setattr(_function, "TILE_SIZE", tile)
    monkeypatch.setattr(_function, "BLOCK_ENTRIES", 100 * tile)
    kernel = KernelFunction(name, gamma=0.2, degree=2, coef0=0.5)
    params = {"gamma": 0.2, "degree": 2, "coef0": 0.5}
    expected = pairwise_kernels(X, X[:20], metric=name, filter_params=True, **params)
    converted = namespace.asarray(X)
    assert_allclose(host(kernel(converted, converted[:20, :])), expected, rtol=1e-12)
    K = host(kernel.gram(converted))
    assert_allclose(K[:, :20], expected, rtol=1e-12)
    assert_allclose(K, K.T, rtol=1e-14)


@pytest.mark.parametrize("name", NAMED)
def test_float32_values_are_rounded_float64_values(name, X):
    X = X.astype("float32")
    kernel = KernelFunction.for_samples(X, Kernel(name))
    K = kernel.gram(X)
    assert K.dtype == np.float32
    assert_array_equal(K, kernel.gram(X.astype(float)).astype("float32"))


def test_rbf_is_accurate_far_from_the_origin(X):
    near, far = (
        KernelFunction.for_samples(A, Kernel("rbf", gamma=0.1)).gram(A) for A in (X, X + 2.0**20)
    )
    assert_allclose(far, near, rtol=1e-8)


def test_gamma_is_computed_from_the_samples(X):
    for name in ("poly", "rbf", "sigmoid"):
        assert KernelFunction.for_samples(X, Kernel(name)).gamma == pytest.approx(1 / (5 * X.var()))
    assert KernelFunction.for_samples(X, Kernel("laplacian")).gamma == pytest.approx(
        1 / (5 * X.std())
    )
    assert KernelFunction.for_samples(X, Kernel("rbf", gamma="auto")).gamma == 0.2
    assert KernelFunction.for_samples(X, Kernel("rbf", gamma=7)).gamma == 7.0
    assert KernelFunction.for_samples(np.ones((3, 2)), Kernel("rbf")).gamma == 1.0


@pytest.mark.parametrize("name", ["rbf", "laplacian", "poly", "sigmoid"])
def test_gamma_scale_does_not_depend_on_units(name, X):
    K, scaled = (KernelFunction.for_samples(A, Kernel(name)).gram(A) for A in (X, 1000 * X))
    assert_allclose(scaled, K, rtol=1e-10)


def test_function_as_kernel(X):
    kernel = KernelFunction(rbf_kernel, params={"gamma": 0.2})
    assert_allclose(kernel.gram(X), KernelFunction("rbf", gamma=0.2).gram(X), rtol=1e-12)
    with pytest.raises(ValueError, match=r"of shape \(70, 70\).*returned float of shape \(\)"):
        KernelFunction(lambda x, y: 1.0).gram(X)


@pytest.mark.parametrize("returned", [np.asarray, np.ndarray.tolist, pd.DataFrame])
def test_function_may_return_another_array_type(returned, X, namespace):
    kernel = KernelFunction(lambda A, B: returned(rbf_kernel(host(A), host(B), gamma=0.2)))
    K = kernel.gram(namespace.asarray(X))
    assert type(K) is type(namespace.asarray(X))
    assert_allclose(host(K), rbf_kernel(X, gamma=0.2), rtol=1e-12)


@pytest.mark.parametrize(
    ("returned", "told"),
    [
        (csr_array, "csr_array of shape"),
        (lambda K: None, "NoneType of shape"),
        (lambda K: K * 1j, "dtype complex128"),
        (lambda K: K.astype(str), "dtype <U"),
    ],
)
def test_function_must_return_real_numbers(returned, told, X):
    with pytest.raises(ValueError, match=f"matrix of real numbers, of shape .*{told}"):
        KernelFunction(lambda A, B: returned(A @ B.T)).gram(X)


def test_error_for_nan_or_infinite_values(X):
    with pytest.raises(ValueError, match=r"contains NaN or infinite values.*Scale X"):
        KernelFunction(lambda A, B: np.full((len(A), len(B)), np.nan)).gram(X)
    with pytest.raises(ValueError, match="NaN or infinite"):
        KernelFunction("poly", degree=500).gram(1e3 * X)


@pytest.mark.filterwarnings("error")
def test_precomputed_must_be_square_and_symmetric(X, namespace):
    K = X @ X.T
    check_precomputed(namespace.asarray(K))
    with pytest.raises(ValueError, match=r"square matrix, but X has shape \(70, 5\)"):
        check_precomputed(namespace.asarray(X))
    K[3, 4] += 1
    with pytest.raises(ValueError, match=r"symmetric, but X\[3, 4\] is .*X.T\) / 2"):
        check_precomputed(namespace.asarray(K))


def test_kernels_known_to_be_definite():
    assert all(KernelFunction(name).is_definite for name in ("linear", "poly", "rbf", "laplacian"))
    assert KernelFunction("cosine").is_definite
    unknown = [KernelFunction("sigmoid"), KernelFunction("precomputed"), KernelFunction(rbf_kernel)]
    unknown += [KernelFunction("poly", coef0=-1.0), KernelFunction("poly", degree=1.5)]
    assert not any(kernel.is_definite for kernel in unknown)
