"""Fixtures of the whole suite."""

import os
from importlib import import_module
from operator import itemgetter

# Read by SciPy when it is first imported: without it scikit-learn skips its array-API checks.
os.environ["SCIPY_ARRAY_API"] = "1"

import numpy as np
import pytest
from estimators import ABSENT, LEARNERS, MODELS, NAMESPACES
from hypothesis import settings

settings.register_profile("dimetric", deadline=None)  # no test measures time
settings.load_profile("dimetric")


def pytest_configure(config):
    """Register the markers of scikit-learn's own tests."""
    config.addinivalue_line("markers", "thread_unsafe: not to be run in several threads")


def pytest_report_header():
    """Report whether tests with torch arrays are skipped."""
    return ["torch is not installed: no tests with torch arrays"] if "torch" in ABSENT else []


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark as slow all but the first variant of each class, in tests with another parameter.

    The examples of hypothesis count as another parameter.
    """
    variants = {id(estimator) for estimator in LEARNERS + MODELS}
    crossed = [
        (item.callspec.indices[name], estimator, item)
        for item in items
        if hasattr(item, "callspec")
        if len(item.callspec.params) > 1 or hasattr(item.function, "hypothesis")
        for name, estimator in item.callspec.params.items()
        if id(estimator) in variants
    ]
    first = {}
    for _, estimator, item in sorted(crossed, key=itemgetter(0)):
        if first.setdefault((item.function, type(estimator)), estimator) is not estimator:
            item.add_marker(pytest.mark.slow)


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
    """A new random generator for each test, so that tests do not depend on each other."""
    return np.random.default_rng(0)


@pytest.fixture(params=NAMESPACES)
def namespace(request):
    """Each array namespace that is installed."""
    return import_module(request.param)
