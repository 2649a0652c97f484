"""Exponentials by numba against those of NumPy in extended precision."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dimetric._arrays import compiled

exponential = pytest.importorskip("dimetric._arrays.exponential", exc_type=ImportError)


@pytest.mark.parametrize("limits", [(-1e-8, 1e-8), (-1, 1), (-50, 0), (-708, 709)])
def test_relative_error_is_less_than_the_machine_epsilon(limits, rng):
    x = np.append(rng.uniform(*limits, size=1999), limits).reshape(3, -1)
    expected = np.exp(x.astype(np.longdouble))
    found = x.copy()
    exponential.exp_in_place(found)
    assert np.abs(found / expected - 1).max() < 2.0**-52


def test_special_values():
    x = np.array([0.0, -0.0, 5e-324, -708.0, -708.1, -1e300, -np.inf, np.nan])
    found = x.copy()
    exponential.exp_in_place(found)
    assert_allclose(found, [1, 1, 1, np.exp(-708), 0, 0, 0, np.nan], rtol=1e-15)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_number_of_samples_decides_which_function_is_used(dtype, rng, monkeypatch):
    used = []
    monkeypatch.setattr(exponential, "exp_in_place", lambda A: used.append(A.shape))
    for n in (compiled.MIN_SAMPLES_FOR_EXP - 1, compiled.MIN_SAMPLES_FOR_EXP):
        compiled.exp_in_place(np.zeros((2, 3), dtype), n)
    assert len(used) == (dtype == np.float64)


def test_arrays_with_gaps_are_supported(rng):
    x = rng.normal(size=(4, 9))[:, ::2]
    found = x.copy(order="C")
    expected = np.exp(x)
    compiled.exp_in_place(x, compiled.MIN_SAMPLES_FOR_EXP)
    compiled.exp_in_place(found, compiled.MIN_SAMPLES_FOR_EXP)
    assert_allclose(x, expected, rtol=1e-15)
    assert_allclose(found, expected, rtol=1e-15)
