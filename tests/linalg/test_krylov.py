"""Largest eigenpairs of matrices with known spectra."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dimetric.linalg import krylov
from dimetric.linalg.krylov import largest_eigenvectors

N = 600


def with_spectrum(values, rng):
    Q = np.linalg.qr(rng.normal(size=(N, N))).Q
    return (Q * values) @ Q.T


SPECTRA = {
    "two stand out": lambda rng: np.r_[100, 50, rng.uniform(-1, 1, N - 2)],
    "rank 1": lambda rng: np.r_[3, np.zeros(N - 1)],
    "all negative": lambda rng: -rng.uniform(50, 100, N),
    "negative ones stand out": lambda rng: np.r_[1, 0.5, -rng.uniform(50, 100, N - 2)],
    "a double eigenvalue": lambda rng: np.r_[1, 1, rng.uniform(-1, 0.9, N - 2)],
    "30 equal eigenvalues": lambda rng: np.r_[np.ones(30), rng.uniform(-1, 0.9, N - 30)],
    "30 equal ones that are not the largest": lambda rng: np.r_[
        2, 1.5, np.ones(30), rng.uniform(-1, 0.9, N - 32)
    ],
    "falling": lambda rng: np.logspace(0, -12, N),
    "semicircle": lambda rng: np.linalg.eigvalsh(rng.normal(size=(N, N)) + np.eye(N)),
    "tiny": lambda rng: 1e-120 * rng.uniform(0, 1, N) ** 4,
    "zero": lambda rng: np.zeros(N),
}


@pytest.mark.parametrize("k", [1, 2, 7, 25])
@pytest.mark.parametrize("spectrum", SPECTRA)
def test_eigenpairs_match_the_known_spectrum(spectrum, k, rng):
    values = SPECTRA[spectrum](rng)
    A = with_spectrum(values, rng)
    size = np.abs(values).max()
    found = largest_eigenvectors(lambda V: A @ V, N, k)
    assert_allclose(found.values, np.sort(values)[::-1][:k], rtol=0, atol=1e-11 * size)
    assert_allclose(found.V @ found.V.T, np.eye(k), atol=1e-12)
    assert_allclose(found.V @ A, found.values[:, None] * found.V, rtol=0, atol=1e-11 * size)
    assert_allclose(found.smallest, np.min(values), rtol=0, atol=0.05 * size)
    assert (found.V.max(axis=1) >= -found.V.min(axis=1) * (1 - 1e-6)).all()  # signs


def test_separated_eigenvalues_need_few_passes(rng):
    A, passes = with_spectrum(SPECTRA["two stand out"](rng), rng), []
    largest_eigenvectors(lambda V: passes.append(1) or A @ V, N, 2)
    assert len(passes) < 12


def test_warns_if_not_converged(rng, monkeypatch):
    monkeypatch.setattr(krylov, "MAX_PASSES", 3)
    A = with_spectrum(rng.normal(size=N), rng)
    with pytest.warns(UserWarning, match=r"2 largest eigenvalues did not converge in 3 passes"):
        largest_eigenvectors(lambda V: A @ V, N, 2)
