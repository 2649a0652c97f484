"""Quick recognition of valid input, with scikit-learn's own validation as reference.

Each input is validated twice: with the quick path, and without it. Results, errors, warnings and
the learner's attributes must be the same.
"""

import warnings
from collections import Counter
from contextlib import nullcontext
from functools import partial
from itertools import product
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import config_context

from dimetric import LMNN
from dimetric._arrays import validation
from dimetric._arrays.plain_input import (
    MIN_THREADED_VALUES,
    are_plain_labels,
    is_finite,
    is_plain,
)

rng = np.random.default_rng(0)
X = rng.normal(size=(30, 3))
Y = np.arange(30) % 3


def with_value(value, dtype=np.float64):
    A = X.astype(dtype)
    A[7, 1] = value
    return A


def read_only(A):
    A = A.copy()
    A.flags.writeable = False
    return A


PLAIN = {
    "float64": X,
    "float32": X.astype(np.float32),
    "Fortran order": np.asfortranarray(X),
    "transposed": np.ascontiguousarray(X.T).T,
    "every second column": np.repeat(X, 2, axis=1)[:, ::2],
    "reversed": X[::-1, ::-1],
    "read-only": read_only(X),
    "negative zeros": -0.0 * X,
    "subnormal": 1e-310 * X,
    "dtype with metadata": X.astype(np.dtype(np.float64, metadata={"unit": "m"})),
    "one sample": X[:1],
    "one feature": X[:, :1],
}
OTHER = {
    "sum overflows": np.full((30, 3), 1e308),
    "float32 sum overflows": np.full((30, 3), 3e38, np.float32),
    "opposite sums overflow": np.repeat([[1e308], [-1e308]], 15, axis=0) * np.ones(3),
    "float16": X.astype(np.float16),
    "longdouble": X.astype(np.longdouble),
    "big-endian": X.astype(">f8"),
    "big-endian float32": X.astype(">f4"),
    "int": (10 * X).astype(int),
    "uint8": np.abs(10 * X).astype(np.uint8),
    "bool": X > 0,
    "object": X.astype(object),
    "objects that are no numbers": np.full((30, 3), "a", object),
    "numbers as strings": X.astype(str),
    "strings": np.full((30, 3), "a"),
    "complex": X + 1j,
    "complex without imaginary part": X + 0j,
    "dates": np.zeros((30, 3), "datetime64[D]"),
    "structured": np.zeros(30, [("a", float), ("b", float)]),
    "NaN": with_value(np.nan),
    "float32 NaN": with_value(np.nan, np.float32),
    "infinity": with_value(np.inf),
    "minus infinity": with_value(-np.inf, np.float32),
    "0-d": np.array(1.0),
    "1-d": X[:, 0],
    "3-d": X[None],
    "no samples": X[:0],
    "no features": X[:, :0],
    "another number of features": np.hstack([X, X]),
    "number": 1.0,
    "None": None,
    "string": "abc",
    "list": X.tolist(),
    "ragged list": [[1.0], [1.0, 2.0]],
    "matrix": X.view(np.matrix),
    "masked": np.ma.masked_array(X, mask=X > 1),
    "subclass": X.view(type("Subclass", (np.ndarray,), {})),
    "record array": X.view(np.recarray),
    "data frame": pd.DataFrame(X, columns=["a", "b", "c"]),
    "data frame without names": pd.DataFrame(X),
    "sparse": sparse.csr_array(X),
}
PLAIN_LABELS = {
    "int64": Y,
    "int8": Y.astype(np.int8),
    "big-endian": Y.astype(">i4"),
    "negative": -Y,
    "read-only": read_only(Y),
    "one class": 0 * Y,
    "half as many classes": np.arange(30) // 2,
}
OTHER_LABELS = {
    "strided": np.repeat(Y, 2)[::2],
    "reversed": Y[::-1],
    "uint8": Y.astype(np.uint8),
    "bool": Y > 0,
    "float": Y.astype(float),
    "fractions": Y + 0.5,
    "NaN": np.where(Y == 1, np.nan, Y),
    "infinity": np.where(Y == 1, np.inf, Y),
    "complex": Y + 1j,
    "strings": np.array(["a", "b", "c"])[Y],
    "objects": Y.astype(object),
    "mixed objects": np.array([1, "a", None] * 10, object),
    "dates": Y.astype("datetime64[D]"),
    "durations": Y.astype("timedelta64[D]"),
    "many classes": np.arange(30),
    "int8 with a large range": np.array([-128, 127] * 15, np.int8),
    "int64 with a large range": np.array([-(2**63), 2**63 - 1] * 15),
    "more classes than half": np.arange(30) * 16 // 30,
    "column": Y[:, None],
    "two columns": np.stack([Y, Y], axis=1),
    "0-d": np.array(1),
    "empty": Y[:0],
    "too short": Y[:-1],
    "None": None,
    "list": Y.tolist(),
    "matrix": Y.view(np.matrix),
    "masked": np.ma.masked_array(Y, mask=Y > 1),
    "series": pd.Series(Y),
    "sparse": sparse.csr_array(Y[:, None]),
}
CONTEXTS = {
    "default": nullcontext,
    "assume_finite": lambda: config_context(assume_finite=True),
    "skip_parameter_validation": lambda: config_context(skip_parameter_validation=True),
    "metadata_routing": lambda: config_context(enable_metadata_routing=True),
    "array_api_dispatch": lambda: config_context(array_api_dispatch=True),
}


def new_learner():
    return LMNN()


def learner_of_arrays():
    learner = LMNN()
    learner.n_features_in_ = 3
    return learner


def learner_of_frames():
    learner = learner_of_arrays()
    learner.feature_names_in_ = np.array(["a", "b", "c"], object)
    return learner


LEARNERS = new_learner, learner_of_arrays, learner_of_frames


def described(value):
    """Return all that distinguishes a result from another one."""
    if isinstance(value, tuple):
        return tuple(map(described, value))
    if sparse.issparse(value):
        return type(value), value.dtype, value.shape, value.toarray().tobytes()
    if isinstance(value, np.ndarray):
        layout = value.strides, value.flags.writeable, value.flags.c_contiguous
        return type(value), value.dtype, value.shape, layout, value.astype(str).tolist()
    return type(value), repr(value)


def outcome(learner, validate):
    """Return the result or the error, the warnings, and the attributes of the learner."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = described(validate(learner))
        except Exception as error:
            result = type(error), str(error)
    messages = Counter((w.category, str(w.message)) for w in caught)
    names = vars(learner).get("feature_names_in_")
    return result, messages, vars(learner).get("n_features_in_"), described(names)


def assert_same_outcome(make_learner, validate):
    with (
        patch.object(validation, "is_plain", lambda *_, **__: False),
        patch.object(validation, "are_plain_labels", lambda *_: False),
    ):
        expected = outcome(make_learner(), validate)
    assert outcome(make_learner(), validate) == expected


@pytest.mark.parametrize("context", CONTEXTS)
@pytest.mark.parametrize("kind", [*PLAIN, *OTHER])
def test_samples_are_validated_as_by_sklearn(kind, context):
    A = (PLAIN | OTHER)[kind]
    with CONTEXTS[context]():
        for learner, reset, least in product(LEARNERS, [False, True], [1, 31]):
            assert_same_outcome(
                learner, partial(validation.checked_samples, X=A, reset=reset, min_samples=least)
            )


@pytest.mark.parametrize("kind", [*PLAIN_LABELS, *OTHER_LABELS])
def test_labels_are_validated_as_by_sklearn(kind):
    labels = (PLAIN_LABELS | OTHER_LABELS)[kind]
    samples = [X, *(OTHER[name] for name in ("NaN", "list", "1-d", "None", "int"))]
    for A, multi_output in product(samples, [False, True]):
        options = {"reset": True, "min_samples": 2, "multi_output": multi_output}
        check = partial(validation.checked_samples_with_labels, X=A, y=labels, **options)
        assert_same_outcome(learner_of_frames, check)


@pytest.mark.parametrize("n", [2, 19, 20, 21, 22, 23, 40])
def test_many_classes_are_reported_as_by_sklearn(n):
    for n_classes in range(1, n + 1):
        assert_same_outcome(
            new_learner,
            partial(
                validation.checked_samples_with_labels,
                X=np.ones((n, 2)),
                y=np.arange(n) % n_classes,
                reset=True,
                min_samples=2,
            ),
        )


def test_the_quick_path_is_taken_for_plain_input_only():
    assert all(is_plain(LMNN(), A, reset=True, min_samples=1) for A in PLAIN.values())
    learner = LMNN()
    accepted = [
        kind for kind, A in OTHER.items() if is_plain(learner, A, reset=True, min_samples=1)
    ]
    assert accepted == ["another number of features"]
    assert all(are_plain_labels(X, labels) for labels in PLAIN_LABELS.values())
    assert not any(are_plain_labels(X, labels) for labels in OTHER_LABELS.values())


def test_rejected_input_leaves_the_learner_unchanged():
    learner = learner_of_frames()
    before = dict(vars(learner))
    for A in OTHER.values():
        is_plain(learner, A, reset=False, min_samples=1)
        assert not is_plain(learner, A, reset=True, min_samples=100)
    assert vars(learner) == before


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_large_arrays_are_read_on_several_threads(order, bad):
    A = np.zeros((MIN_THREADED_VALUES // 8, 9), order=order)
    assert is_finite(A)
    assert is_finite(A[:, ::2])
    for place in ((0, 0), (len(A) - 1, 8), (len(A) // 2, 4)):
        A[place] = bad
        assert not is_finite(A)
        assert not is_finite(A[::-1])
        A[place] = 0.0
