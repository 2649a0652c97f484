"""The contract that every learner must meet. tests/estimators.py lists the learners."""

import copy
import os
import pickle
import subprocess
import sys
import warnings
from functools import cache
from pathlib import Path
from unittest.mock import patch

import array_api_compat
import array_api_strict
import numpy as np
import pandas as pd
import polars as pl
import pytest
from estimators import (
    ABSENT,
    LEARNERS,
    NAMESPACES,
    ONE_OF_EACH,
    accepts_sparse,
    each,
    each_check,
    each_with,
    fit,
    fitted_arrays,
    has_distance,
    has_fast_path,
    has_n_components,
    has_partial_fit,
    host,
    is_kernel,
    is_linear,
    iterates,
    largest_entry,
    learned_arrays,
    learns_classes,
    needs_labels,
    objective_of,
    samples,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn import config_context
from sklearn.base import clone
from sklearn.datasets import load_iris

from dimetric.objectives.fast import all_pairs
from dimetric.objectives.objective import on_maps, on_metrics

# tests/manifold tests the warning about neighbour graphs with several connected components.
pytestmark = pytest.mark.filterwarnings("ignore:The neighbour graph has:UserWarning")

X, y = samples()
FEATURE_NAMES = ["length", "width", "height", "weight"]
PAIR_ROWS = np.random.default_rng(1).integers(0, len(X), size=(40, 2))
PAIR_VECTORS = X[PAIR_ROWS]


def fitted(learner):
    """Return the learner fitted to X and y. Tests share the result and must not change it."""
    return _fitted(str(learner))


@cache  # by the repr, which a learner shares with its clones
def _fitted(text):
    return fit(next(learner for learner in LEARNERS if str(learner) == text), X, y)


def assert_identical_fits(a, b):
    """Assert that two learners have the same attributes and equal fitted arrays."""
    assert vars(a).keys() == vars(b).keys()
    for name, value in fitted_arrays(a).items():
        assert_array_equal(host(value), host(getattr(b, name)), err_msg=name)


def assert_same_map(a, b, tol=1e-6, rows=slice(None)):
    """Assert that two learned maps agree up to `tol` times their largest entry.

    `a` was fitted to X, and `b` to ``X[rows]``.
    """
    got = learned_arrays(b)
    for name, expected in learned_arrays(a, rows).items():
        scale = np.abs(expected).max() + (name == "offset_")  # an offset may be 0
        assert_allclose(got[name], expected, rtol=0, atol=tol * scale, err_msg=name)


def expected_fit_transform(learner):
    """Return the result that fit_transform should have for a fitted learner."""
    return learner.transform(X) if has_distance(learner) else learner.embedding_


# The scikit-learn interface


@each_check(LEARNERS)
@pytest.mark.filterwarnings("ignore:NCA did not converge. max_iter=50 reached")
@pytest.mark.filterwarnings("ignore:LMNN did not converge. the line search failed")
@pytest.mark.filterwarnings("ignore:The class means differ in a direction in which no class varies")
def test_scikit_learn_checks(estimator, check):
    """A check raises an error if the estimator fails it."""
    check(estimator)


@each()
def test_pickle_and_deepcopy_keep_the_fit_and_clone_does_not(learner):
    learner = fitted(learner)
    assert not clone(learner).__sklearn_is_fitted__()
    for copied in (pickle.loads(pickle.dumps(learner)), copy.deepcopy(learner)):
        assert_identical_fits(learner, copied)
        assert_array_equal(copied.transform(X), learner.transform(X))
        assert copied.metadata() == learner.metadata()


def frame(library, values=X):
    if library == "polars":
        return pl.DataFrame(values, schema=FEATURE_NAMES)
    return pd.DataFrame(values, columns=FEATURE_NAMES, index=np.arange(len(values)) + 100)


@each()
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_data_frames_give_data_frames(learner, library):
    """Results have the library of X, unless set_output or the configuration chooses another."""
    data, on_numpy = frame(library), fitted(learner)
    learner = fit(learner, data, y)
    assert_array_equal(learner.feature_names_in_, FEATURE_NAMES)
    for Z, expected in (
        (learner.transform(data), on_numpy.transform(X)),
        (clone(learner).fit_transform(data, y), expected_fit_transform(on_numpy)),
    ):
        assert type(Z) is type(data)
        assert list(Z.columns) == list(learner.get_feature_names_out())
        assert_allclose(Z.to_numpy(), expected, rtol=0, atol=1e-6 * np.abs(expected).max())
        if library == "pandas":
            assert_array_equal(Z.index, data.index)
    other = {"pandas": "polars", "polars": "pandas"}[library]
    with config_context(transform_output=other):
        assert type(learner.transform(data)) is type(frame(other))
    assert type(learner.set_output(transform=other).transform(data)) is type(frame(other))
    assert type(learner.set_output(transform="default").transform(data)) is np.ndarray


@each()
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_set_output_chooses_the_library_of_results(learner, library):
    on_numpy, learner = fitted(learner), clone(learner).set_output(transform=library)
    for Z, expected in (
        (learner.fit_transform(X, y), expected_fit_transform(on_numpy)),
        (learner.transform(X), on_numpy.transform(X)),
    ):
        assert type(Z) is type(frame(library))
        assert list(Z.columns) == [
            f"{type(learner).__name__.lower()}{i}" for i in range(Z.shape[1])
        ]
        assert_array_equal(Z.to_numpy(), expected)


@each()
def test_fit_transform_matches_fit_and_prints_nothing(learner, capfd):
    Z = clone(learner).fit_transform(X, y)
    assert_array_equal(Z, expected_fit_transform(fitted(learner)))
    assert capfd.readouterr() == ("", "")


# No side effects


@each()
def test_inputs_and_parameters_are_not_modified(learner):
    init = np.eye(2, 4)
    if is_linear(learner) and has_n_components(learner) and "init" in learner.get_params():
        learner = clone(learner).set_params(init=init, n_components=2)
    learner = clone(learner)
    before = learner.get_params()
    data = [X.copy(), y.copy(), PAIR_VECTORS.copy(), PAIR_ROWS.copy()]
    learner.fit(data[0], data[1])
    Z = learner.transform(data[0])
    inputs, copies = [*data, Z], [X, y, PAIR_VECTORS, PAIR_ROWS, Z.copy()]
    if is_linear(learner):
        learner.inverse_transform(Z)
    if has_distance(learner):
        learner.pair_distance(data[2])
        learner.pair_distance(data[3], data[0])
    if has_partial_fit(learner):
        learner.partial_fit(data[0], data[1])
    for used, expected in zip(inputs, copies, strict=True):
        assert_array_equal(used, expected)
    assert_array_equal(init, np.eye(2, 4))
    after = learner.get_params()
    assert before.keys() == after.keys()
    assert all(before[name] is after[name] for name in before)


@each()
def test_methods_do_not_modify_a_fitted_learner(learner):
    learner = copy.deepcopy(fitted(learner))
    state = pickle.dumps(learner)
    Z = learner.transform(X[:5] + 1)
    learner.get_feature_names_out()
    if has_distance(learner):
        learner.pair_distance(PAIR_ROWS, X)
        learner.pair_score(PAIR_VECTORS)
    if is_linear(learner):
        learner.inverse_transform(Z)
        learner.metric()[:] = 0
    Z[:] = 0
    learner.metadata().clear()
    assert pickle.dumps(learner) == state


# Reproducibility and invariance


@each()
def test_repeated_fits_are_identical(learner):
    again = fit(learner, X, y)
    assert_identical_fits(fitted(learner), again)
    assert_identical_fits(fitted(learner), again.fit(X, y))


DATA = {"small": (X, y), "iris": load_iris(return_X_y=True), "200 samples": samples(200, 3)}


@each()
@pytest.mark.parametrize(
    ("data", "namespace"),
    [
        (data, namespace)
        for data in DATA
        for namespace in NAMESPACES
        if data == "small" or namespace != "torch"  # array_api_strict takes the same code path
    ],
    indirect=["namespace"],
)
def test_row_order_does_not_matter(learner, data, namespace):
    X, y = DATA[data]
    order = np.random.default_rng(2).permutation(len(X))
    first, second = (
        fit(learner, namespace.asarray(X[rows]), namespace.asarray(y[rows]))
        for rows in (np.arange(len(X)), order)
    )
    assert_same_map(first, second, rows=order)


@each(is_linear)
def test_metric_does_not_depend_on_the_origin(learner):
    moved = fit(learner, X + 1024, y)
    expected = fitted(learner)
    assert_allclose(
        moved.components_, expected.components_, rtol=0, atol=1e-6 * largest_entry(expected)
    )
    assert_allclose(
        moved.pair_distance(PAIR_ROWS, X), expected.pair_distance(PAIR_ROWS, X), rtol=1e-5
    )


@each(lambda learner: not has_distance(learner))
def test_embedding_does_not_depend_on_the_origin(learner):
    assert_same_map(fitted(learner), fit(learner, X + 1024, y))


# Functions from class codes to labels, and the codes in the order of their sorted labels.
LABELS = {
    "sorted strings": (lambda y: np.array(["a", "b", "c"])[y], [0, 1, 2]),
    "unsorted strings": (lambda y: np.array(["c", "a", "b"])[y], [1, 2, 0]),
    "objects": (lambda y: np.array(["c", "a", "b"], object)[y], [1, 2, 0]),
    "large integers": (lambda y: np.array([10**12, -3, 7])[y], [1, 2, 0]),
    "integral floats": (lambda y: y.astype(float), [0, 1, 2]),
    "list": (lambda y: y.tolist(), [0, 1, 2]),
    "pandas": (lambda y: pd.Series(np.array(["c", "a", "b"])[y]), [1, 2, 0]),
    "pandas categories": (
        lambda y: pd.Series(np.array(["c", "a", "b"])[y], dtype="category"),
        None,
    ),
    "polars": (lambda y: pl.Series(y), [0, 1, 2]),
    "torch": (lambda y: pytest.importorskip("torch").asarray(y), [0, 1, 2]),
    "strict": (lambda y: array_api_strict.asarray(y), [0, 1, 2]),
}


@each(learns_classes)
@pytest.mark.parametrize("labels", [name for name in LABELS if name not in ABSENT])
def test_label_values_do_not_matter(learner, labels):
    labels_of, sorted_codes = LABELS[labels]
    learner = fit(learner, X, labels_of(y))
    assert_same_map(fitted(learner), learner)
    if sorted_codes:
        assert list(learner.classes_) == list(np.asarray(labels_of(np.array(sorted_codes))))


# The distance


@each(is_linear)
def test_pair_distance_matches_transform_and_metric(learner):
    learner = fitted(learner)
    Z, M = learner.transform(X), learner.metric()
    by_transform = cdist(Z, Z)[PAIR_ROWS[:, 0], PAIR_ROWS[:, 1]]
    v = PAIR_VECTORS[:, 0] - PAIR_VECTORS[:, 1]
    by_metric = np.sqrt(np.einsum("ij,jk,ik->i", v, M, v).clip(0))
    tol = 1e-7 * by_transform.max()  # the square root amplifies rounding errors near 0
    for distance in (learner.pair_distance(PAIR_VECTORS), learner.pair_distance(PAIR_ROWS, X)):
        assert distance.shape == (len(PAIR_ROWS),)
        assert_allclose(distance, by_transform, rtol=1e-9, atol=1e-12 * by_transform.max())
        assert_allclose(distance, by_metric, rtol=1e-7, atol=tol)
    assert_array_equal(learner.pair_score(PAIR_VECTORS), -learner.pair_distance(PAIR_VECTORS))
    assert_array_equal(learner.pair_score(PAIR_ROWS, X), -learner.pair_distance(PAIR_ROWS, X))


@each(is_linear)
def test_metric_and_transform_match_components(learner):
    learner = fitted(learner)
    L, M, d = learner.components_, learner.metric(), X.shape[1]
    assert learner.transformer() is L
    assert L.shape == (learner.metadata()["n_components"], d)
    assert_array_equal(M, M.T)
    assert_allclose(M, L.T @ L, rtol=1e-12, atol=1e-12 * np.abs(M).max())
    values = np.linalg.eigvalsh(M)
    rounding = d * np.finfo(float).eps * values[-1]
    assert values[0] >= -rounding
    assert learner.metadata()["rank"] == np.sum(values > rounding) <= len(L)
    assert_allclose(learner.transform(X), (X - learner.offset_) @ L.T, atol=1e-12 * np.abs(L).max())


@each(is_linear)
@settings(max_examples=30)
@given(hnp.arrays(float, (3, 4), elements=st.floats(-1e3, 1e3, width=32)))
def test_distance_axioms(learner, points):
    i, j = np.divmod(np.arange(9), 3)
    distance = fitted(learner).pair_distance(np.stack([points[i], points[j]], axis=1))
    D = distance.reshape(3, 3)
    assert (D >= 0).all()
    assert_array_equal(np.diag(D), 0)
    assert_array_equal(D, D.T)
    rounding = 1e-12 * largest_entry(fitted(learner)) * np.abs(points).max()
    assert D[0, 2] <= D[0, 1] + D[1, 2] + rounding


@each(is_linear)
def test_inverse_transform(learner):
    learner = fitted(learner)
    Z = learner.transform(X)
    k, d = learner.components_.shape
    back = learner.inverse_transform(Z)
    if learner.metadata()["rank"] == k:
        assert_allclose(learner.transform(back), Z, rtol=0, atol=1e-9 * np.abs(Z).max())
        if k == d:
            assert_allclose(back, X, rtol=0, atol=1e-9 * np.abs(X).max())
    assert back.shape == X.shape
    with pytest.raises(ValueError, match=rf"Z has {k + 1} columns, .* maps to {k} components"):
        learner.inverse_transform(np.hstack([Z, Z[:, :1]]))


# Metadata

METADATA = {
    "n_iter": int,
    "initial_objective": float,
    "final_objective": float,
    "converged": bool,
    "reason": str,
    "gap": float,
    "gap_radius": float,
    "gap_proven": bool,
    "n_components": int,
    "accumulated_eigenvalues": float,
    "margin": float,
    "smallest_eigenvalue": float,
    "additive_constant": float,
    "normalized_stress": float,
    "reconstruction_error": float,
    "rank": int,
    "kernel_rank": int,
    "reg": float,
    "objective_of": str,
    "identity_mix": float,
    "identity_mix_grid": list,
    "identity_mix_scores": list,
    "search": str,
    "search_recall": float,
    "time": float,
}


@each()
def test_metadata_keys_and_types(learner, namespace):
    learner = fit(learner, namespace.asarray(X), namespace.asarray(y))
    facts = learner.metadata()
    assert {name: type(value) for name, value in facts.items()} == {
        name: METADATA[name] for name in facts
    }
    assert {"n_components", "time"} <= facts.keys()
    assert ("rank" in facts) == has_distance(learner)
    assert facts["time"] >= 0
    # NCA has a default for each kind of target, and LDA for each shape of X.
    if learner.get_params().get("reg") not in (None, "auto"):
        assert facts["reg"] == learner.reg
    if iterates(learner):
        assert facts["n_iter"] == learner.n_iter_ >= 1
        assert facts["converged"]
        assert facts["reason"]
        assert facts["initial_objective"] != facts["final_objective"]


# Containers, dtypes and namespaces


def _strided(X):
    wide = np.zeros((2 * X.shape[0], 3 * X.shape[1]), X.dtype)
    wide[::2, ::3] = X
    return wide[::2, ::3]


def _read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


def _torch(X, grad=False):
    return pytest.importorskip("torch").asarray(X).requires_grad_(grad)


CONTAINERS = {
    "C order": np.ascontiguousarray,
    "Fortran order": np.asfortranarray,
    "read-only": _read_only,
    "strided view": _strided,
    "list of lists": lambda X: X.tolist(),
    "pandas": lambda X: frame("pandas", X),
    "polars": lambda X: frame("polars", X),
    "torch": _torch,
    "torch with gradient": lambda X: _torch(X, grad=X.dtype.kind == "f"),
    "strict": array_api_strict.asarray,
    "strict, second device": lambda X: array_api_strict.asarray(
        X, device=array_api_strict.Device("device1")
    ),
}


INPUT_TYPES = {
    f"{container}, {dtype}": (container, dtype)
    for container in CONTAINERS
    for dtype in ["float64", "float32", "int64"]
    if container.split()[0] not in ABSENT
    if (container, dtype) != ("list of lists", "float32")  # a list has no float32
}


def keeps_ties(learner, input_type):
    """Return whether equal distances stay equal if the samples are integers.

    With a kernel, torch's rounding breaks these ties.
    """
    container, dtype = INPUT_TYPES[input_type]
    return not (is_kernel(learner) and dtype == "int64" and container.startswith("torch"))


@cache
def fitted_in_float64(learner, dtype):
    """Return the learner fitted in float64 to the values of ``X_in(dtype)``."""
    # With a ridge, the optimum is finite and rounding errors do not grow during the iterations.
    params = {"reg": 1.0} if iterates(learner) and "reg" in learner.get_params() else {}
    return fit(learner, X_in(dtype).astype(float), y, **params)


def X_in(dtype):
    """Return X in another dtype. Integers are taken from 2 X, which has more distinct ones."""
    return (2 * X if dtype == "int64" else X).astype(dtype)


@each_with("input_type", INPUT_TYPES, where=keeps_ties)
def test_results_have_the_type_dtype_and_device_of_X(learner, input_type):
    container, dtype = INPUT_TYPES[input_type]
    values = X_in(dtype)
    data = CONTAINERS[container](values)
    expected = fitted_in_float64(learner, dtype)
    learner = clone(expected).fit(data, y)
    assert_same_map(expected, learner, tol=1e-3 if dtype == "float32" else 1e-6)

    is_array_api = container.startswith(("torch", "strict"))
    array_type = type(data) if is_array_api else np.ndarray
    dtype = "float32" if dtype == "float32" else "float64"
    Z = learner.transform(data)
    returned = fitted_arrays(learner) | {"fit_transform": clone(learner).fit_transform(data, y)}
    if is_linear(learner):
        returned |= {
            "metric": learner.metric(),
            "inverse_transform": learner.inverse_transform(Z),
        }
    if has_distance(learner):
        pairs = CONTAINERS[container if is_array_api else "C order"](values[PAIR_ROWS])
        returned |= {
            "pair_distance": learner.pair_distance(pairs),
            "pair_distance of rows": learner.pair_distance(PAIR_ROWS, data),
        }
    if container in ("pandas", "polars"):
        assert isinstance(returned.pop("fit_transform"), type(data))
        assert isinstance(Z, type(data))
        Z = Z.to_numpy()
    for name, array in (returned | {"transform": Z}).items():
        assert type(array) is array_type, name
        assert str(array.dtype).endswith(dtype), name
        if is_array_api:
            assert array_api_compat.device(array) == array_api_compat.device(data), name
            assert not getattr(array, "requires_grad", False), name


@each()
def test_fit_and_transform_in_different_namespaces(learner, namespace):
    on_numpy = fitted(learner)
    Z = on_numpy.transform(X)
    results = [(on_numpy.transform(namespace.asarray(X)), Z)]
    if is_linear(learner):
        inverse = on_numpy.inverse_transform
        results += [(inverse(namespace.asarray(Z)), inverse(Z))]
    if has_distance(learner):
        distance = on_numpy.pair_distance(PAIR_VECTORS)
        by_vectors = on_numpy.pair_distance(namespace.asarray(PAIR_VECTORS))
        by_rows = on_numpy.pair_distance(namespace.asarray(PAIR_ROWS), namespace.asarray(X))
        results += [(by_vectors, distance), (by_rows, distance)]
    for array, expected in results:
        assert type(array) is type(namespace.asarray(X))
        assert_allclose(host(array), expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
    on_namespace = fit(learner, namespace.asarray(X), namespace.asarray(y))
    mapped = on_namespace.transform(X)
    assert type(mapped) is np.ndarray
    assert_allclose(mapped, Z, rtol=0, atol=1e-6 * np.abs(Z).max())


FIT_ALL_LEARNERS = """
import sys, {name}
from estimators import LEARNERS, fit, is_linear, samples
X, y = samples()
for learner in LEARNERS:
    learner = fit(learner, {name}.asarray(X), {name}.asarray(y))
    Z = learner.transform({name}.asarray(X))
    assert type(Z) is type({name}.asarray(X)), learner
    if is_linear(learner):
        learner.inverse_transform(Z), learner.pair_distance([[0, 1]], {name}.asarray(X))
print(len(LEARNERS), "learners")
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in NAMESPACES if name != "numpy"])
def test_no_environment_variable_is_needed(name):
    """SciPy and scikit-learn require SCIPY_ARRAY_API=1. dimetric does not."""
    env = {key: value for key, value in os.environ.items() if key != "SCIPY_ARRAY_API"}
    path = os.pathsep.join([str(Path(__file__).parent), *filter(None, sys.path)])
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", FIT_ALL_LEARNERS.format(name=name)],
        env=env | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == f"{len(LEARNERS)} learners\n", done.stderr


# Equivalent computations


@each(accepts_sparse)
@pytest.mark.parametrize(
    "sparse_type",
    [sparse.csr_array, sparse.csc_array, sparse.csr_matrix, sparse.coo_array],
    ids=lambda sparse_type: sparse_type.__name__,
)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.filterwarnings("ignore:DMLEig did not converge. rounding errors")
def test_sparse_input_matches_dense(learner, sparse_type, dtype):
    dense = np.where(np.abs(X) > 1, X, 0).astype(dtype)
    data = sparse_type(dense)
    expected, learner = fit(learner, dense, y), fit(learner, data, y)
    tol = 1e-6 if dtype == "float64" else 1e-4
    assert_same_map(expected, learner, tol)
    Z = learner.transform(data)
    assert type(Z) is np.ndarray
    assert {Z.dtype, *(a.dtype for a in learned_arrays(learner).values())} == {np.dtype(dtype)}
    results = [(Z, expected.transform(dense))]
    if is_linear(learner):
        results += [
            (learner.pair_distance(PAIR_ROWS, data), expected.pair_distance(PAIR_ROWS, dense))
        ]
    for got, wanted in results:
        assert_allclose(got, wanted, rtol=0, atol=10 * tol * np.abs(wanted).max())


@st.composite
def row_blocks(draw):
    """Generate partitions of the rows of X into blocks.

    The rows are shuffled or sorted by class. If sorted, some classes first appear in late blocks.
    """
    n = len(X)
    if draw(st.booleans()):
        rows = np.argsort(y, kind="stable")
    else:
        rows = np.random.default_rng(draw(st.integers(0, 99))).permutation(n)
    if draw(st.booleans()):
        return np.split(rows, np.arange(1, n))  # single rows
    cuts = draw(st.lists(st.integers(1, n - 1), unique=True, max_size=6).map(sorted))
    return np.split(rows, cuts)


def _with_all_components():
    """Return learners with the largest n_components that X allows. A block may allow fewer."""
    return [
        clone(learner).set_params(n_components=2 if needs_labels(learner) else 4)
        for learner in ONE_OF_EACH
        if has_partial_fit(learner) and has_n_components(learner)
    ]


@each(has_partial_fit, learners=[*LEARNERS, *_with_all_components()])
@settings(max_examples=15)
@given(blocks=row_blocks())
def test_partial_fit_matches_fit(learner, blocks):
    incremental = clone(learner)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the first rows may span too few dimensions
        for rows in blocks:
            assert incremental.partial_fit(X[rows], y[rows]) is incremental
    expected = fit(learner, X, y)
    assert_same_map(expected, incremental, tol=1e-8)
    assert incremental.metadata().keys() == expected.metadata().keys()
    for name, value in fitted_arrays(expected).items():
        scale = np.abs(value).max()
        assert_allclose(getattr(incremental, name), value, atol=1e-8 * scale, err_msg=name)


@each(has_partial_fit)
def test_fit_discards_earlier_blocks(learner):
    incremental = clone(learner).partial_fit(X + 7, y).fit(X, y)
    assert_same_map(fitted(learner), incremental)
    incremental.partial_fit(X, y)
    assert_same_map(fitted(learner), incremental)


@st.composite
def pairwise_problems(draw):
    """Generate samples with ties and duplicates, class codes of 1 to n classes, and a map."""
    n, d, k = draw(st.integers(2, 40)), draw(st.integers(1, 5)), draw(st.integers(1, 3))
    halves = st.integers(-4, 4).map(lambda i: i / 2)
    X = draw(hnp.arrays(float, (n, d), elements=halves))
    L = draw(hnp.arrays(float, (k, d), elements=halves))
    labels = draw(hnp.arrays(int, n, elements=st.integers(0, draw(st.integers(0, n - 1)))))
    return X - X.mean(axis=0), np.unique(labels, return_inverse=True)[1], L


@each(has_fast_path, learners=ONE_OF_EACH)
@settings(max_examples=200)
@given(
    problem=pairwise_problems(),
    block=st.integers(1, 64),
    threads=st.integers(1, 3),
    dtype=st.sampled_from(["float64", "float32"]),
)
def test_fast_path_matches_the_engine(learner, problem, block, threads, dtype):
    X, codes, L = problem
    X, codes = X.astype(dtype), np.sort(codes)
    objective = objective_of(learner, X, codes)
    with patch.object(type(objective.rule), "fast", None):
        engine = objective_of(learner, X, codes)
    for function, A in ((on_maps, L), (on_metrics, L.T @ L)):
        point = np.concatenate([A.ravel(), objective.theta])
        with (
            patch.object(all_pairs, "BLOCK_ROWS", block),
            patch("dimetric._arrays.threads.n_threads", lambda *_: threads),
        ):
            value, grad = function(objective)(point)
        expected, expected_grad = function(engine)(point)
        tol = 1e-3 if dtype == "float32" else 1e-10
        assert_allclose(value, expected, rtol=tol, atol=tol)
        scale = max(1, np.abs(expected_grad).max())
        assert_allclose(grad, expected_grad, rtol=tol, atol=tol * scale)
