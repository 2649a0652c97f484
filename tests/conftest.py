"""Fixtures of the whole suite."""

import os

# Read by SciPy when it is first imported: without it scikit-learn skips its array-API checks.
os.environ["SCIPY_ARRAY_API"] = "1"

import numpy as np
import pytest
from hypothesis import settings

settings.register_profile("dimetric", deadline=None)  # no test measures time
settings.load_profile("dimetric")


def pytest_configure(config):
    """Know the markers of scikit-learn's own tests."""
    config.addinivalue_line("markers", "thread_unsafe: not to be run in several threads")


@pytest.fixture
def global_random_seed():
    """Seed of scikit-learn's own tests."""
    return 42


@pytest.fixture(params=[np.float64, np.float32], ids=["float64", "float32"])
def global_dtype(request):
    """Both dtypes of scikit-learn's own tests."""
    return request.param


@pytest.fixture
def rng():
    """A generator of the test's own: what it draws depends on no other test."""
    return np.random.default_rng(0)


@pytest.fixture(params=["numpy", "torch", "array_api_strict"])
def namespace(request):
    """Array namespace; a test on torch is skipped where torch is not installed."""
    return pytest.importorskip(request.param, reason=f"{request.param} is not installed")
