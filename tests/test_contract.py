"""What every learner promises; the registry of learners is tests/estimators.py."""

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
    has_partial_fit,
    host,
    is_kernel,
    is_linear,
    iterates,
    largest_entry,
    learned_arrays,
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

from dimetric.objectives import fast_paths
from dimetric.objectives.objective import on_maps, on_metrics

# Into how many parts a graph falls is tested where it is made.
pytestmark = pytest.mark.filterwarnings("ignore:The neighbour graph has:UserWarning")

X, y = samples()
NAMES = ["length", "width", "height", "weight"]
INDEX = np.random.default_rng(1).integers(0, len(X), size=(40, 2))  # pairs, as row indices
PAIRS = X[INDEX]  # and as vectors


def fitted(learner):
    """Return the learner fitted to X, y: once for all the tests that only look at it."""
    return _fitted(str(learner))


@cache
def _fitted(text):
    return fit(next(learner for learner in LEARNERS if str(learner) == text), X, y)


def assert_same_bits(a, b):
    """Assert that all that two learners have learned is equal."""
    assert vars(a).keys() == vars(b).keys()
    for name, value in fitted_arrays(a).items():
        assert_array_equal(host(value), host(getattr(b, name)), err_msg=name)


def assert_same_map(a, b, tol=1e-6, rows=slice(None)):
    """Assert that two learners have learned the same, relative to its size; b from `rows` of X."""
    got = learned_arrays(b)
    for name, expected in learned_arrays(a, rows).items():
        size = np.abs(expected).max() + (name == "offset_")
        assert_allclose(got[name], expected, rtol=0, atol=tol * size, err_msg=name)


def training_samples_of(learner):
    """Return what fit_transform returns."""
    return learner.transform(X) if has_distance(learner) else learner.embedding_


# The scikit-learn interface


@each_check(LEARNERS)
def test_checks_of_scikit_learn(estimator, check):
    """Each check raises an error where the estimator does not pass it."""
    check(estimator)


@each()
def test_clone_pickle_deepcopy(learner):
    learner = fitted(learner)
    assert not clone(learner).__sklearn_is_fitted__()
    for again in (pickle.loads(pickle.dumps(learner)), copy.deepcopy(learner)):
        assert_same_bits(learner, again)
        assert_array_equal(again.transform(X), learner.transform(X))
        assert again.metadata() == learner.metadata()


def frame(library, values=X):
    if library == "polars":
        return pl.DataFrame(values, schema=NAMES)
    return pd.DataFrame(values, columns=NAMES, index=np.arange(len(values)) + 100)


@each()
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_come_back(learner, library):
    """A frame in, a frame of the same library out, unless set_output or the config say more."""
    data, here = frame(library), fitted(learner)
    learner = fit(learner, data, y)
    assert_array_equal(learner.feature_names_in_, NAMES)
    for Z, expected in (
        (learner.transform(data), here.transform(X)),
        (clone(learner).fit_transform(data, y), training_samples_of(here)),
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
def test_set_output(learner, library):
    here, learner = fitted(learner), clone(learner).set_output(transform=library)
    for Z, expected in (
        (learner.fit_transform(X, y), training_samples_of(here)),
        (learner.transform(X), here.transform(X)),
    ):
        assert type(Z) is type(frame(library))
        assert list(Z.columns) == [
            f"{type(learner).__name__.lower()}{i}" for i in range(Z.shape[1])
        ]
        assert_array_equal(Z.to_numpy(), expected)


@each()
def test_fit_is_silent_and_fit_transform_is_what_was_learned(learner, capfd):
    Z = clone(learner).fit_transform(X, y)
    assert_array_equal(Z, training_samples_of(fitted(learner)))
    assert capfd.readouterr() == ("", "")


# Nothing is modified


@each()
def test_inputs_and_parameters_are_left_alone(learner):
    init = np.eye(2, 4)
    if is_linear(learner) and "init" in learner.get_params():
        learner = clone(learner).set_params(init=init, n_components=2)
    learner = clone(learner)
    before = learner.get_params()
    data = [X.copy(), y.copy(), PAIRS.copy(), INDEX.copy()]
    learner.fit(data[0], data[1])
    Z = learner.transform(data[0])
    inputs, copies = [*data, Z], [X, y, PAIRS, INDEX, Z.copy()]
    if is_linear(learner):
        learner.inverse_transform(Z)
    if has_distance(learner):
        learner.pair_distance(data[2])
        learner.pair_distance(data[3], data[0])
    if has_partial_fit(learner):
        learner.partial_fit(data[0], data[1])
    for given_, kept in zip(inputs, copies, strict=True):
        assert_array_equal(given_, kept)
    assert_array_equal(init, np.eye(2, 4))
    after = learner.get_params()
    assert before.keys() == after.keys()
    assert all(before[name] is after[name] for name in before)


@each()
def test_fitted_state_is_left_alone(learner):
    learner = copy.deepcopy(fitted(learner))
    state = pickle.dumps(learner)
    Z = learner.transform(X[:5] + 1)
    learner.get_feature_names_out()
    if has_distance(learner):
        learner.pair_distance(INDEX, X)
        learner.pair_score(PAIRS)
    if is_linear(learner):
        learner.inverse_transform(Z)
        learner.metric()[:] = 0
    Z[:] = 0
    learner.metadata().clear()
    assert pickle.dumps(learner) == state


# The same answer


@each()
def test_same_bits_twice(learner):
    again = fit(learner, X, y)
    assert_same_bits(fitted(learner), again)
    assert_same_bits(fitted(learner), again.fit(X, y))


DATA = {"small": (X, y), "iris": load_iris(return_X_y=True), "noisy": samples(200, 3)}


@each()
@pytest.mark.parametrize(
    ("data", "namespace"),
    [
        (data, namespace)
        for data in DATA
        for namespace in NAMESPACES
        if data == "small" or namespace != "torch"  # strict does what torch does
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
def test_origin_does_not_matter(learner):
    moved = fit(learner, X + 1024, y)
    expected = fitted(learner)
    assert_allclose(
        moved.components_, expected.components_, rtol=0, atol=1e-6 * largest_entry(expected)
    )
    assert_allclose(moved.pair_distance(INDEX, X), expected.pair_distance(INDEX, X), rtol=1e-5)


@each(lambda learner: not has_distance(learner))
def test_origin_of_embedded_samples_does_not_matter(learner):
    assert_same_map(fitted(learner), fit(learner, X + 1024, y))


LABELS = {
    "strings in order": (lambda y: np.array(["a", "b", "c"])[y], [0, 1, 2]),
    "strings in another order": (lambda y: np.array(["c", "a", "b"])[y], [1, 2, 0]),
    "objects": (lambda y: np.array(["c", "a", "b"], object)[y], [1, 2, 0]),
    "large integers": (lambda y: np.array([10**12, -3, 7])[y], [1, 2, 0]),
    "whole floats": (lambda y: y.astype(float), [0, 1, 2]),
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


@each(needs_labels)
@pytest.mark.parametrize("labels", [name for name in LABELS if name not in ABSENT])
def test_names_of_labels_do_not_matter(learner, labels):
    named, order = LABELS[labels]
    learner = fit(learner, X, named(y))
    assert_same_map(fitted(learner), learner)
    if order:
        assert list(learner.classes_) == list(np.asarray(named(np.array(order))))


# The distance


@each(is_linear)
def test_distance_is_that_of_mapped_samples(learner):
    learner = fitted(learner)
    Z, M = learner.transform(X), learner.metric()
    between = cdist(Z, Z)[INDEX[:, 0], INDEX[:, 1]]
    v = PAIRS[:, 0] - PAIRS[:, 1]
    by_metric = np.sqrt(np.einsum("ij,jk,ik->i", v, M, v).clip(0))
    tol = 1e-7 * between.max()  # a root of what has rounding errors
    for distance in (learner.pair_distance(PAIRS), learner.pair_distance(INDEX, X)):
        assert distance.shape == (len(INDEX),)
        assert_allclose(distance, between, rtol=1e-9, atol=1e-12 * between.max())
        assert_allclose(distance, by_metric, rtol=1e-7, atol=tol)
    assert_array_equal(learner.pair_score(PAIRS), -learner.pair_distance(PAIRS))
    assert_array_equal(learner.pair_score(INDEX, X), -learner.pair_distance(INDEX, X))


@each(is_linear)
def test_metric_and_map(learner):
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
def test_axioms_of_a_distance(learner, points):
    i, j = np.divmod(np.arange(9), 3)
    distance = fitted(learner).pair_distance(np.stack([points[i], points[j]], axis=1))
    D = distance.reshape(3, 3)
    assert (D >= 0).all()
    assert_array_equal(np.diag(D), 0)
    assert_array_equal(D, D.T)
    rounding = 1e-12 * largest_entry(fitted(learner)) * np.abs(points).max()
    assert D[0, 2] <= D[0, 1] + D[1, 2] + rounding


@each(is_linear)
def test_inverse(learner):
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


# What is said about the fit

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
    "time": float,
}


@each()
def test_metadata(learner, namespace):
    learner = fit(learner, namespace.asarray(X), namespace.asarray(y))
    facts = learner.metadata()
    assert {name: type(value) for name, value in facts.items()} == {
        name: METADATA[name] for name in facts
    }
    assert {"n_components", "time"} <= facts.keys()
    assert ("rank" in facts) == has_distance(learner)
    assert facts["time"] >= 0
    if "reg" in learner.get_params():
        assert facts["reg"] == learner.reg
    if iterates(learner):
        assert facts["n_iter"] == learner.n_iter_ >= 1
        assert facts["converged"]
        assert facts["reason"]
        assert facts["initial_objective"] != facts["final_objective"]


# Everything follows X


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


FORMS = {
    f"{container}, {dtype}": (container, dtype)
    for container in CONTAINERS
    for dtype in ["float64", "float32", "int64"]
    if container.split()[0] not in ABSENT
    if (container, dtype) != ("list of lists", "float32")  # a list has no float32
}


def keeps_ties(learner, form):
    """Tell whether ties between integers stay ties: in a kernel, torch's rounding breaks them."""
    container, dtype = FORMS[form]
    return not (is_kernel(learner) and dtype == "int64" and container.startswith("torch"))


@cache
def fitted_to_floats(learner, dtype):
    """Return a learner, regularised where it can be, fitted to values that dtype holds."""
    # With a ridge there is a finite optimum, so that rounding errors do not grow on the way.
    params = {"reg": 1.0} if iterates(learner) and "reg" in learner.get_params() else {}
    return fit(learner, values_of(dtype).astype(float), y, **params)


def values_of(dtype):
    return (2 * X if dtype == "int64" else X).astype(dtype)


@each_with("form", FORMS, where=keeps_ties)
def test_everything_follows_X(learner, form):
    container, dtype = FORMS[form]
    values = values_of(dtype)
    data = CONTAINERS[container](values)
    expected = fitted_to_floats(learner, dtype)
    learner = clone(expected).fit(data, y)
    assert_same_map(expected, learner, tol=1e-3 if dtype == "float32" else 1e-6)

    foreign = container.startswith(("torch", "strict"))
    kind = type(data) if foreign else np.ndarray
    dtype = "float32" if dtype == "float32" else "float64"
    Z = learner.transform(data)
    returned = fitted_arrays(learner) | {"fit_transform": clone(learner).fit_transform(data, y)}
    if is_linear(learner):
        returned |= {
            "metric": learner.metric(),
            "inverse_transform": learner.inverse_transform(Z),
        }
    if has_distance(learner):
        pairs = CONTAINERS[container if foreign else "C order"](values[INDEX])
        returned |= {
            "pair_distance": learner.pair_distance(pairs),
            "pair_distance of rows": learner.pair_distance(INDEX, data),
        }
    if container in ("pandas", "polars"):
        assert isinstance(returned.pop("fit_transform"), type(data))
        assert isinstance(Z, type(data))
        Z = Z.to_numpy()
    for name, array in (returned | {"transform": Z}).items():
        assert type(array) is kind, name
        assert str(array.dtype).endswith(dtype), name
        if foreign:
            assert array_api_compat.device(array) == array_api_compat.device(data), name
            assert not getattr(array, "requires_grad", False), name


@each()
def test_map_goes_where_it_is_applied(learner, namespace):
    """Fitted on one namespace, applied in another."""
    here = fitted(learner)
    there = fit(learner, namespace.asarray(X), namespace.asarray(y))
    Z = here.transform(X)
    foreign = [(here.transform(namespace.asarray(X)), Z)]
    if is_linear(learner):
        foreign += [(here.inverse_transform(namespace.asarray(Z)), here.inverse_transform(Z))]
    if has_distance(learner):
        distance = here.pair_distance(PAIRS)
        foreign += [
            (here.pair_distance(namespace.asarray(PAIRS)), distance),
            (here.pair_distance(namespace.asarray(INDEX), namespace.asarray(X)), distance),
        ]
    for array, expected in foreign:
        assert type(array) is type(namespace.asarray(X))
        assert_allclose(host(array), expected, rtol=1e-9, atol=1e-9 * np.abs(expected).max())
    back = there.transform(X)
    assert type(back) is np.ndarray
    assert_allclose(back, Z, rtol=0, atol=1e-6 * np.abs(Z).max())


FRESH = """
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
    """SciPy and scikit-learn ask for SCIPY_ARRAY_API=1; dimetric does not."""
    env = {key: value for key, value in os.environ.items() if key != "SCIPY_ARRAY_API"}
    path = os.pathsep.join([str(Path(__file__).parent), *filter(None, sys.path)])
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", FRESH.format(name=name)],
        env=env | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == f"{len(LEARNERS)} learners\n", done.stderr


# Two ways to the same


@each(accepts_sparse)
@pytest.mark.parametrize(
    "made",
    [sparse.csr_array, sparse.csc_array, sparse.csr_matrix, sparse.coo_array],
    ids=lambda made: made.__name__,
)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_sparse_is_dense(learner, made, dtype):
    dense = np.where(np.abs(X) > 1, X, 0).astype(dtype)
    data = made(dense)
    expected, learner = fit(learner, dense, y), fit(learner, data, y)
    tol = 1e-6 if dtype == "float64" else 1e-4
    assert_same_map(expected, learner, tol)
    Z = learner.transform(data)
    assert type(Z) is np.ndarray
    assert {Z.dtype, *(a.dtype for a in learned_arrays(learner).values())} == {np.dtype(dtype)}
    both = [(Z, expected.transform(dense))]
    if is_linear(learner):
        both += [(learner.pair_distance(INDEX, data), expected.pair_distance(INDEX, dense))]
    for got, wanted in both:
        assert_allclose(got, wanted, rtol=0, atol=10 * tol * np.abs(wanted).max())


@st.composite
def splits(draw):
    """Rows in any order (by class: new classes come late), cut anywhere."""
    n = len(X)
    if draw(st.booleans()):
        rows = np.argsort(y, kind="stable")
    else:
        rows = np.random.default_rng(draw(st.integers(0, 99))).permutation(n)
    if draw(st.booleans()):
        return np.split(rows, np.arange(1, n))  # single rows
    cuts = draw(st.lists(st.integers(1, n - 1), unique=True, max_size=6).map(sorted))
    return np.split(rows, cuts)


def _with_all_components(learner):
    """Most components that there can be: a first block alone does not have as many."""
    limit = 2 if needs_labels(learner) else 4
    return clone(learner).set_params(n_components=limit)


@each(
    has_partial_fit,
    learners=[*LEARNERS, *map(_with_all_components, filter(has_partial_fit, ONE_OF_EACH))],
)
@settings(max_examples=15)
@given(blocks=splits())
def test_partial_fit_is_fit(learner, blocks):
    partly = clone(learner)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a few rows may well spread in too few directions
        for rows in blocks:
            assert partly.partial_fit(X[rows], y[rows]) is partly
    whole = fit(learner, X, y)
    assert_same_map(whole, partly, tol=1e-8)
    assert partly.metadata().keys() == whole.metadata().keys()
    for name, value in fitted_arrays(whole).items():
        scale = np.abs(value).max()
        assert_allclose(getattr(partly, name), value, atol=1e-8 * scale, err_msg=name)


@each(has_partial_fit)
def test_fit_forgets_the_blocks(learner):
    partly = clone(learner).partial_fit(X + 7, y).fit(X, y)
    assert_same_map(fitted(learner), partly)
    partly.partial_fit(X, y)
    assert_same_map(fitted(learner), partly)


@st.composite
def pairwise_problems(draw):
    """Samples with ties and duplicates, labels from one class to all different, a map."""
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
def test_fast_path_is_the_engine(learner, problem, block, threads, dtype):
    X, codes, L = problem
    X, codes = X.astype(dtype), np.sort(codes)
    objective = objective_of(learner, X, codes)
    with patch.object(type(objective.rule), "fast", None):
        engine = objective_of(learner, X, codes)
    for function, A in ((on_maps, L), (on_metrics, L.T @ L)):
        at = np.concatenate([A.ravel(), objective.theta])
        with (
            patch.object(fast_paths, "BLOCK_ROWS", block),
            patch("dimetric._arrays.threads.n_threads", lambda *_: threads),
        ):
            value, grad = function(objective)(at)
        expected, expected_grad = function(engine)(at)
        tol = 1e-3 if dtype == "float32" else 1e-10
        assert_allclose(value, expected, rtol=tol, atol=tol)
        scale = max(1, np.abs(expected_grad).max())
        assert_allclose(grad, expected_grad, rtol=tol, atol=tol * scale)
