"""Random arguments for every public function, and for public classes that are not estimators."""

import importlib
import inspect

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from estimators import LEARNERS, MODELS, samples
from fuzzing import (
    Refused,
    arguments,
    assert_finite,
    containers,
    defaults_of,
    examples,
    labels,
    matrices,
    obeying_rules,
)
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from test_public_surface import PUBLIC_NAMES

import dimetric
from dimetric import (
    LDA,
    NCA,
    PCA,
    Covariance,
    Isomap,
    KNNClassifier,
    Pairs,
    Relevance,
    RetrievalAdapter,
    Triplets,
)
from dimetric.kernels import Kernel
from dimetric.selection import learning_curve
from dimetric.solvers import (
    LBFGS,
    SGD,
    BregmanProjections,
    FrankWolfe,
    GradientDescent,
    ProjectedGradient,
)

pytestmark = pytest.mark.slow

X, Y = samples(n=24)
FITTED_LDA = LDA().fit(X, Y)
FITTED_KNN = KNNClassifier(learner=PCA(2)).fit(X, Y)
SCORES = np.random.default_rng(0).uniform(size=(6, 3))

# Reasonable values of parameters. Names have the same meaning in all functions.
CHOICES = {
    "n_neighbors": [1, 3, 5, (1, 3), 23, 24],
    "weights": ["uniform", "distance", None],
    "cv": [2, 3, 5, 24],
    "n_repeats": [1, 2],
    "random_state": [0, 1, None],
    "n_samples": [1, 10, 50],
    "n_classes": [1, 2, 5],
    "n_features": [1, 2, 6],
    "noise_features": [0, 3],
    "noise": [0.0, 0.5],
    "length": [1e-3, 1e6],
    "hole": [True],
    "uniform": [True],
    "rope": [0.0, 0.01, 1.0],
    "s": [0.1, 1.0, 10.0],
    "z0": [0.0, -1.0, 1.0],
    "greater_is_better": [True, False],
    "metric": ["cityblock", "cosine", "precomputed"],
    "metric_params": [None, {"p": 3}],
    "sample_size": [2, 10, 100],
    "n_sources": [1, 10, 1000],
    "n_others": [0, 5, 1000],
    "row": [0, 5, -1, 24],
    "dimensions": [[1, 2], None, range(1, 4)],
    "features": [None, (0, 1), ("a", "b")],
    "section": ["mean", "median", np.zeros(4)],
    "resolution": [2, 10],
    "form": ["auto"],
    "dialect": ["duckdb", "postgres", "postgresql", "sqlite"],
    "table": ["samples", "drop", 'a"b', "x" * 63],
    "id": ["id", "row id"],
    "columns": [None, ["a", "b", "c", "d"], ["a"]],
    "dtype": ["float32", "float64"],
    "scoring": [None, "accuracy"],
    "share_samples": [True],
    "n_iter": [1, 3],
    "criterion": [None],
    "missing": ["drop", "raise", "impute", "mean"],
    "header": [None, True, False],
    "name": [None, "table", "iris", "wine"],
    "title": ["", "a title with $x$ and _"],
    "experiment": [1, 2, 5],
}

FRAME = pd.DataFrame(X, columns=list("abcd")).assign(target=np.array(["u", "v", "w"])[Y])
TEXT_FRAME = FRAME.assign(a=["x", "y", None] * 8)

FITTED_ADAPTER = RetrievalAdapter(reg=1.0).fit(X, X[:6], [[i, i % 6] for i in range(24)])
RELEVANT = np.stack([np.arange(24), (np.arange(24) + 3) % 24], axis=1)
# The arguments that a function needs. Other parameters are drawn from CHOICES.
CURVE = learning_curve(None, X, Y, cv=2, random_state=0)
REQUIRED = {
    "X": [X, X[:, :1], X[:4], FRAME, np.ones_like(X)],
    "y": [Y, FRAME["target"], Y * 0, None],
    "Z": [X[:, :2], X[:, :1], np.zeros((24, 2)), X[:5]],
    "estimator": [KNNClassifier(), LDA(), PCA(1), Isomap(), FITTED_LDA],
    "classifier": [FITTED_KNN, KNNClassifier(), KNNClassifier().fit(X[:, :2], Y)],
    "curve": [CURVE, None, X],
    "learner": [None, PCA(1), LDA(), NCA(max_iter=2), Covariance()],
    "learners": [[None, LDA()], {"a": PCA(1)}, [LDA(), LDA()], []],
    "model": [FITTED_LDA, FITTED_KNN, LDA(), None],
    "embedding": [PCA(2), Isomap(2), X[:, :2]],
    "threshold": [0.5, 0.95, None],
    "pairs": [Pairs([[0, 1], [2, 4], [3, 5]], [[0, 2], [1, 3], [4, 5]]), Pairs([[0, 1]], [])],
    "param_grid": [{"n_neighbors": [1, 3]}, {"reg": [0.1]}, {}, {"nonsense": [1]}, None],
    "scores": [SCORES, SCORES[:1], SCORES[:, :1], np.ones((4, 3)), [0.2, 0.9], [], [np.nan]],
    "a": [SCORES[:, 0], SCORES[:1, 0], np.ones(6)],
    "b": [SCORES[:, 1], np.ones(6), SCORES[:2, 1]],
    "baseline": ["Euclidean"],
    "posterior": [dimetric.stats.sign_test([0.1, 0.2], [0.3, 0.1], random_state=0, n_samples=50)],
    "feature_names": [list("abcd"), [], None],
    "source": [FRAME, TEXT_FRAME, FRAME[:1], FRAME[:0], "absent.csv", X],
    "path": ["absent.model", "."],
    "name": ["iris", "absent"],
    "target": [None, "target", "absent"],
    "similar": [[[0, 1]], [], [[0, 99]], X[:4].reshape(2, 2, 4)],
    "dissimilar": [[[0, 1]], [], X[:4].reshape(2, 2, 4)],
    "anchor": [[0, 1], [], X[:2]],
    "closer": [[1, 2], [], X[:2]],
    "farther": [[2, 3], [5], X[2:4]],
    "estimators": [[PCA(2), LDA()], {"a": FITTED_LDA}, [FITTED_KNN], []],
    "embeddings": [{"PCA": X[:, :2]}, {"a": X[:5]}, [X[:, :2]], {}],
    "metric": [np.eye(4), np.eye(3)[:2], -np.eye(2)],
    "result": [None],
    "row": [0, 5, -1, 24],
    "rows": [[[0, 1], [1, 2]], [[0, 1, 2]], [], [[0, 0]], np.zeros((2, 2))],
    "links": [np.eye(6, k=1), sparse.eye_array(6, k=1), np.ones((3, 2)), [[0, 1]]],
    "n_samples": [24, 5, 2],
    "order": [np.arange(24)[::-1], [0, 0], [], np.arange(3.0)],
    "function": [lambda x: (float(np.sum(x * x)), 2 * x), lambda x: (np.nan, x), None],
    "x": [X[0], X[:2], X[0, :3], FRAME.iloc[0, :4], None],
    "x2": [X[1], X[2:4], np.full(4, np.nan), [1.0], 3],
    "x0": [np.ones(3), np.zeros(0), [1.0, 2.0], np.full(2, np.nan), np.ones((2, 2))],
    "groups": [None, np.arange(24) // 4, np.array(["g", "h", "i"])[Y], [1, 2], np.arange(24.0)],
    "folder": [".", "absent"],
    "queries": [X, X[:4], X[:1], np.zeros_like(X), FRAME, "absent.parquet", None],
    "documents": [X, X[:6], X[:, :2], np.full_like(X, np.nan), "absent.parquet"],
    "relevance": [RELEVANT, Relevance(RELEVANT, 24, 24), [[0, 99]], [], "absent.csv"],
    "ranking": [RELEVANT, RELEVANT[:3], np.zeros((24, 2), dtype=int), [[0, 99]], [], None],
    "n_queries": [24, 1, 0, None],
    "n_documents": [24, 1, -1, "a"],
    "query_ids": [list("abc"), ["a", "a"], [], range(24), None],
    "document_ids": [list("xyz"), np.arange(3), [], "xyz"],
    "table": [[("a", "x")], [("a", "z", 2.0), ("b", "x", 1.0)], [("q", "x")], [], None],
    "query_labels": [Y, Y[:5], [], None],
    "document_labels": [Y, Y[:3] * 0, [np.nan], "abc"],
    "triplets": [Triplets([0], [1], [2]), [[0, 1, 2]], [[0, 1, 1]], [], None],
    "adapter": [FITTED_ADAPTER, RetrievalAdapter(), FITTED_LDA, None],
}

# Constructors that only store the results of a computation, and functions that start processes or
# read published data. Other tests cover them.
EXCLUDED = {
    "dimetric.advice.Comparison",
    "dimetric.advice.compare",
    "dimetric.benchmark.Store",
    "dimetric.benchmark.run",
    "dimetric.benchmark.summary",
    "dimetric.experiments.Reproduction",
    "dimetric.experiments.load_published_data_set",
    "dimetric.experiments.reproduce",
    "dimetric.report.render_report",
    "dimetric.report.render_retrieval_report",
    "dimetric.report.render_summary",
    "dimetric.solvers.Solver",
}
CHECKED_RECORDS = {Kernel, Pairs, Triplets}
ESTIMATORS = {type(each) for each in LEARNERS + MODELS}


def is_record(value):
    return hasattr(value, "_fields") or hasattr(value, "__dataclass_fields__")


def public_callables():
    """Return all public functions and classes with rules of their own, by full name."""
    found = {}
    for package, name in PUBLIC_NAMES:
        value = getattr(importlib.import_module(package), name)
        full_name = f"{package}.{name}"
        if package == "dimetric" or not callable(value) or full_name in EXCLUDED:
            continue
        if value in ESTIMATORS or (is_record(value) and value not in CHECKED_RECORDS):
            continue
        if package != "dimetric.plot":  # the methods "from_..." create the displays
            found[full_name] = value
        if inspect.isclass(value):
            found |= {
                f"{full_name}.{member}": getattr(value, member)
                for member in dir(value)
                if member.startswith("from_")
            }
    return found


INSTANCES = [
    Pairs([[0, 1], [2, 4], [3, 5]], [[0, 2], [1, 3], [4, 5]], n_samples=24),
    Triplets([0, 3, 6], [1, 4, 7], [2, 5, 8], n_samples=24),
    LBFGS(),
    SGD(),
    ProjectedGradient(),
    FrankWolfe(),
    BregmanProjections(),
    GradientDescent(),
]
CASES = public_callables() | {
    f"{type(each).__name__}().{name}": getattr(each, name)
    for each in INSTANCES
    for name in dir(type(each))
    if not name.startswith(("_", "from_", "get_", "set_")) and callable(getattr(type(each), name))
}


@pytest.fixture(autouse=True)
def empty_directory(tmp_path, monkeypatch):
    """Let functions write their files into an empty directory."""
    monkeypatch.chdir(tmp_path)


@st.composite
def calls(draw, function):
    """Draw the arguments of a function."""
    defaults = defaults_of(function)
    drawn = {
        name: draw(st.sampled_from(REQUIRED[name]))
        for name, default in defaults.items()
        if name in REQUIRED and (default is inspect.Parameter.empty or draw(st.booleans()))
    }
    wild = draw(st.sampled_from([None] * 3 + ["arguments", "X", "y", "groups"]))
    if "X" in defaults and draw(st.booleans()):
        matrix = draw(matrices())
        drawn["X"] = draw(containers(matrix, wild=wild == "X"))
        for name in ("y", "groups"):
            required = defaults.get(name) is inspect.Parameter.empty
            if required or (name in defaults and draw(st.booleans())):
                drawn[name] = draw(labels(len(matrix), wild=wild == name))
    drawn |= draw(arguments(defaults, CHOICES, wild == "arguments"))
    limits = {"n_samples": 50, "budget": 0.5, "openml": False, "n_jobs": 1}
    return drawn | {name: value for name, value in limits.items() if name in defaults}


@pytest.mark.parametrize("name", CASES)
@given(data=st.data())
@examples(8)
def test_function(name, data):
    """A function gives a result, or a clear error."""
    arguments = data.draw(calls(CASES[name]))
    try:
        result = obeying_rules(CASES[name], **arguments)
        if isinstance(result, np.ndarray | float):
            assert_finite(result, name)
        if hasattr(result, "plot"):
            obeying_rules(result.plot)
    except Refused:
        pass
    finally:
        plt.close("all")


def test_all_required_arguments_are_known():
    """A new public function with a new required argument must be added to REQUIRED."""
    unknown = {
        f"{full_name}({name})"
        for full_name, function in CASES.items()
        for name, default in defaults_of(function).items()
        if default is inspect.Parameter.empty and name not in REQUIRED
    }
    assert not unknown
