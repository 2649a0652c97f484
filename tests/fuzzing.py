"""Random arguments for public classes and functions, and the rules that every call must obey.

`obeying_rules` runs a call and checks it:

- It ends with a result, or with a ValueError, TypeError, OSError or ImportError whose message is
  written for users.
- It ends in time, and NumPy reports no overflow or invalid value.
- It changes neither its arguments nor the state of the process.

The environment variable ``DIMETRIC_FUZZ_FACTOR`` multiplies the number of examples.
"""

import inspect
import os
import re
import signal
import sys
import threading
import warnings
from contextlib import contextmanager
from functools import cache

import joblib
import numpy as np
import pandas as pd
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import FitFailedWarning
from threadpoolctl import ThreadpoolController

FACTOR = int(os.environ.get("DIMETRIC_FUZZ_FACTOR", "1"))
MAX_SECONDS = 120  # per call; a hundred times as long as the slowest call takes
ALLOWED_ERRORS = (ValueError, TypeError, OSError, ImportError)
# Words of messages that come from NumPy or Python, and do not say which argument is wrong.
INTERNAL_ERROR = re.compile(
    r"could not be broadcast|not aligned|out of bounds|unhashable|unsupported operand|object is not"
    r"|object has no attribute|'NoneType'|mismatch in its core|invalid literal|truth value|ufunc"
    r"|zero-size|cannot reshape|must be real number|not supported between|did not converge"
    r"|[Ss]ingular matrix|internal"
)


def examples(count):
    """Return the settings of a test with `count` examples, times ``DIMETRIC_FUZZ_FACTOR``.

    The first failure is shown as it was found, because shrinking it would repeat slow fits.
    """
    return settings(
        max_examples=count * FACTOR,
        deadline=None,
        derandomize=FACTOR == 1,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )


# Samples and labels


@st.composite
def matrices(draw, max_rows=16, max_columns=5):
    """Draw a matrix of finite numbers that is difficult: tied, constant, huge, tiny or shifted."""
    n = draw(st.sampled_from([2, 3, 5, 8, 12, 15, max_rows]))
    d = draw(st.integers(1, max_columns))
    rng = np.random.default_rng(draw(st.integers(0, 2**16)))
    X = rng.normal(size=(n, d))
    kind = draw(st.sampled_from(["normal"] * 8 + list(DIFFICULT)))
    return DIFFICULT[kind](X, rng) if kind in DIFFICULT else X


DIFFICULT = {
    "integers": lambda X, rng: np.round(X),
    "binary": lambda X, rng: (X > 0) * 1.0,
    "duplicates": lambda X, rng: X[rng.integers(0, 3, len(X)) % len(X)],
    "all equal": lambda X, rng: np.ones_like(X),
    "constant column": lambda X, rng: np.column_stack([X, np.full(len(X), 7.0)]),
    "dependent columns": lambda X, rng: np.column_stack([X, X.sum(axis=1)]),
    "huge": lambda X, rng: 1e120 * X,
    "tiny": lambda X, rng: 1e-120 * X,
    "largest": lambda X, rng: 1e307 * X,
    "subnormal": lambda X, rng: 1e-310 * X,
    "shifted": lambda X, rng: X + 1e9,
    "unequal columns": lambda X, rng: X * 10.0 ** rng.integers(-9, 9, X.shape[1]),
    "one outlier": lambda X, rng: X + 1e12 * (np.arange(len(X)) == 0)[:, None],
}

CONTAINERS = {
    "float32": lambda X: np.clip(X, -1e30, 1e30).astype(np.float32),
    "int": lambda X: np.clip(X, -1e6, 1e6).astype(np.int64),
    "bool": lambda X: X > 0,
    "Fortran": np.asfortranarray,
    "strided": lambda X: np.repeat(X, 2, axis=0)[::2],
    "reversed": lambda X: X[::-1, ::-1],
    "list": lambda X: X.tolist(),
    "frame": lambda X: pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]),
    "csr": sparse.csr_array,
    "csc": lambda X: sparse.csc_matrix(X),
    "object": lambda X: X.astype(object),
}

INVALID = {
    "NaN": lambda X: np.where(np.arange(X.size).reshape(X.shape) == 0, np.nan, X),
    "infinite": lambda X: np.where(np.arange(X.size).reshape(X.shape) == 0, np.inf, X),
    "vector": lambda X: X[:, 0],
    "cube": lambda X: X[:, :, None],
    "no rows": lambda X: X[:0],
    "no columns": lambda X: X[:, :0],
    "one row": lambda X: X[:1],
    "complex": lambda X: X + 1j,
    "texts": lambda X: X.astype(str).astype(object) + "a",
    "None": lambda X: None,
    "number": lambda X: 3.0,
    "masked": lambda X: np.ma.masked_greater(X, 0),
    "ragged": lambda X: [[1.0, 2.0], [3.0]],
    "dates": lambda X: np.zeros(X.shape, "datetime64[D]"),
}


@st.composite
def containers(draw, X, wild=False):
    """Draw a container that holds X. If `wild` is true, it may be invalid."""
    kinds = ["array", *CONTAINERS] + 3 * list(INVALID) if wild else ["array"] * 10 + [*CONTAINERS]
    kind = draw(st.sampled_from(kinds))
    if kind != "array":
        return (CONTAINERS | INVALID)[kind](X)
    X = X.copy()
    X.flags.writeable = False
    return X


LABELS = {
    "int": lambda n, rng: rng.integers(0, 3, n),
    "balanced": lambda n, rng: np.arange(n) % 2,
    "text": lambda n, rng: np.array(["b", "a", "c"])[rng.integers(0, 3, n)],
    "bool": lambda n, rng: rng.integers(0, 2, n) == 1,
    "object": lambda n, rng: np.array(["b", "a", ""], dtype=object)[rng.integers(0, 3, n)],
    "list": lambda n, rng: rng.integers(-1, 2, n).tolist(),
    "series": lambda n, rng: pd.Series(rng.integers(0, 3, n), name="class"),
    "category": lambda n, rng: pd.Series(rng.integers(0, 3, n)).astype(str).astype("category"),
    "one class": lambda n, rng: np.zeros(n, int),
    "all different": lambda n, rng: np.arange(n),
    "huge": lambda n, rng: np.array([2**62, -(2**62)])[rng.integers(0, 2, n)],
    "continuous": lambda n, rng: rng.normal(size=n),
    "column": lambda n, rng: rng.integers(0, 2, (n, 1)),
    "several outputs": lambda n, rng: rng.integers(0, 2, (n, 2)),
    "NaN": lambda n, rng: np.where(np.arange(n) == 0, np.nan, np.arange(n) % 2),
    "None inside": lambda n, rng: np.array([None] + ["a", "b"] * n, dtype=object)[:n],
    "mixed types": lambda n, rng: np.array([1, "a"] * n, dtype=object)[:n],
    "too short": lambda n, rng: np.arange(n - 1) % 2,
    "None": lambda n, rng: None,
}


def defaults_of(function):
    """Return the parameters of a function or class, and their defaults."""
    parameters = inspect.signature(function).parameters.values()
    return {
        p.name: p.default for p in parameters if p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL)
    }


@st.composite
def labels(draw, n, wild=True):
    """Draw n labels of any type. If `wild` is true, they may be invalid."""
    kind = draw(st.sampled_from(list(LABELS) if wild else ["int", "balanced", "text"]))
    return LABELS[kind](n, np.random.default_rng(draw(st.integers(0, 2**16))))


# Values of parameters

ANYTHING = st.sampled_from(
    [
        *(None, True, -1, 0, 1, 2, 7, 2**31, 2**63, -(2**70), 0.0, 0.5, 1.0, -0.5, 1e-300, 1e300),
        *(float("nan"), float("inf"), "", "nonsense", "auto", b"bytes", (), [], {}, [1, 2], (0.5,)),
        *(
            np.float32(0.5),
            np.int8(3),
            np.array(2),
            np.array([1.0, 2.0]),
            np.bool_(1),
            1j,
            object(),
        ),
        *(range(3), {"a": 1}, print, int, np.random.default_rng(0), "\x1b[31m\n", "é" * 300),
    ]
)


def arguments(defaults, choices, wild):
    """Draw keyword arguments: a few of the `choices` by name.

    Parameters
    ----------
    defaults : dict
        Names and defaults of the parameters.
    choices : dict
        Reasonable values by the name of a parameter.
    wild : bool
        Whether one argument has a value of any type.
    """

    @st.composite
    def draw_arguments(draw):
        drawn = {}
        known = sorted(set(defaults) & set(choices))
        for name in draw(st.lists(st.sampled_from(known), max_size=2)) if known else []:
            drawn[name] = draw(st.sampled_from(choices[name]))
        if defaults and wild:
            drawn[draw(st.sampled_from(sorted(defaults)))] = draw(ANYTHING)
        return drawn

    return draw_arguments()


# The rules


class Refused(Exception):
    """The call raised an error that it may raise."""


@cache
def libraries():
    """Return the libraries with threads that the first call finds. The search is slow."""
    return ThreadpoolController()


def process_state():
    """Return a description of everything that a call must not change."""
    return {
        "error state of NumPy": np.geterr(),
        "global random state": joblib.hash(np.random.get_state(legacy=False)),  # noqa: NPY002
        "print options": repr(np.get_printoptions()),
        "warning filters": list(warnings.filters),
        "environment": dict(os.environ),
        "directory": os.getcwd(),
        "import path": list(sys.path),
        "threads of libraries": [each["num_threads"] for each in libraries().info()],
        "threads": threading.active_count(),
    }


def changes(before, after):
    """Return what differs between two states."""
    return {name: (before[name], after[name]) for name in before if before[name] != after[name]}


def digest(value):
    """Return a hash of a value, or None if it cannot be hashed. Containers become lists."""
    if isinstance(value, dict):
        return [(name, digest(each)) for name, each in value.items()]
    if isinstance(value, list | tuple):
        return [digest(each) for each in value]
    if hasattr(value, "indptr"):  # SciPy stores in the matrix whether its indices are sorted
        return digest([value.shape, value.data, value.indices, value.indptr])
    if isinstance(value, np.ma.MaskedArray):
        return digest([value.data, value.mask])
    if isinstance(value, pd.DataFrame):  # the hash depends on caches of pandas
        return repr([value.columns.tolist(), value.dtypes.tolist(), value.to_numpy(object)])
    if isinstance(value, np.random.RandomState | np.random.Generator):
        return None  # a call draws from it
    if isinstance(value, BaseException):  # some libraries add the traceback to its hash
        return digest([type(value).__name__, value.args])
    try:
        return joblib.hash(value)
    except Exception:
        return None


@contextmanager
def time_limit(seconds):
    """Raise an AssertionError if the block takes longer."""

    def stop(number, frame):
        raise AssertionError(f"the call took longer than {seconds} s")

    previous = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def obeying_rules(function, /, *args, **kwargs):
    """Call a function and return its result. Raise Refused if it raises an allowed error."""
    before, arguments_before = process_state(), digest((args, kwargs))
    try:
        with warnings.catch_warnings(), time_limit(MAX_SECONDS):
            warnings.simplefilter("ignore")
            for category in (RuntimeWarning, DeprecationWarning, FutureWarning):
                warnings.simplefilter("error", category)
            # scikit-learn's warning about fits that failed is a RuntimeWarning.
            warnings.simplefilter("ignore", FitFailedWarning)
            return function(*args, **kwargs)
    except ALLOWED_ERRORS as error:
        check_message(error)
        raise Refused(str(error)) from error
    finally:
        changed = changes(before, process_state())
        assert not changed, f"the call changed the state of the process: {changed}"
        assert digest((args, kwargs)) == arguments_before, "the call changed its arguments"


def check_message(error):
    """Check that an error is written for users."""
    assert not isinstance(error, np.linalg.LinAlgError | UnicodeError), repr(error)
    text = str(error)
    assert len(text) > 10, f"too short: {error!r}"
    assert not INTERNAL_ERROR.search(text), f"an internal message: {error!r}"


def assert_finite(value, what):
    """Check that all numbers in a result are real and finite."""
    if sparse.issparse(value):
        value = value.data
    value = np.asarray(value)
    if value.dtype.kind in "fc":
        assert np.isrealobj(value), f"{what}: {value}"
        assert np.all(np.isfinite(value)), f"{what}: {value}"
