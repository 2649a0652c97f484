"""Settings, hooks and fixtures of all tests."""

import os
import signal
from importlib import import_module
from importlib.util import find_spec
from operator import itemgetter

# SciPy reads this variable on import. Without it, scikit-learn skips its array API checks.
os.environ["SCIPY_ARRAY_API"] = "1"
# So does Triton. Tests run its kernels in an interpreter, which needs no graphics processor.
os.environ.setdefault("TRITON_INTERPRET", "1")

import numpy as np
import pytest
from estimators import ABSENT, LEARNERS, MODELS, NAMESPACES
from hypothesis import settings

# A shell lets commands in the background ignore Ctrl-C, but some tests interrupt themselves.
signal.signal(signal.SIGINT, signal.default_int_handler)

settings.register_profile("dimetric", deadline=None)  # a slow machine must not fail tests
settings.load_profile("dimetric")


@pytest.fixture(autouse=True)
def unchanged_handler_of_interrupts():
    """Fail a test that changes how the process handles Ctrl-C, because later tests would hang."""
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.fixture(scope="session", autouse=True)
def few_repeats():
    """Let comparisons split the rows into folds twice only, to save time."""
    from dimetric.advice._settings import SETTINGS

    for name in ("max_race_repeats", "max_final_repeats"):
        object.__setattr__(SETTINGS, name, 2)


def pytest_report_header():
    """Report that tests of torch arrays or of kernels are left out, if packages are missing."""
    if "torch" in ABSENT:
        return ["torch is not installed: its tests are left out"]
    return [] if find_spec("triton") else ["triton is not installed: tests of kernels are left out"]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark as slow all but the first variant of each class, in tests with several parameters.

    The examples of Hypothesis count as a parameter.
    """
    variants = {id(estimator) for estimator in LEARNERS + MODELS}
    combined = [
        (item.callspec.indices[name], estimator, item)
        for item in items
        if hasattr(item, "callspec")
        if len(item.callspec.params) > 1 or hasattr(item.function, "hypothesis")
        for name, estimator in item.callspec.params.items()
        if id(estimator) in variants
    ]
    first = {}
    for _, estimator, item in sorted(combined, key=itemgetter(0)):
        if first.setdefault((item.function, type(estimator)), estimator) is not estimator:
            item.add_marker(pytest.mark.slow)


@pytest.fixture
def global_random_seed():
    """The seed that scikit-learn's own tests use."""
    return 42


@pytest.fixture(params=[np.float64, np.float32], ids=["float64", "float32"])
def global_dtype(request):
    """Each dtype that scikit-learn's own tests use."""
    return request.param


@pytest.fixture
def rng():
    """A new random generator with a fixed seed, so that no test depends on another."""
    return np.random.default_rng(0)


@pytest.fixture(params=NAMESPACES)
def namespace(request):
    """Each installed array namespace."""
    return import_module(request.param)
