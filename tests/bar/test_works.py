"""The works of ``benchmarks/bar.py``: their sides, their qualities and their limits."""

import ast
import importlib.util
import json
import warnings

import numpy as np
import pytest
from _bar import qualities
from _bar.bar_rows import ROWS
from _bar.data import blobs, digit_pairs, distances, embedded, queries, roll, table
from _bar.growth import SERIES
from _bar.process import SIDES
from _bar.qualities import objective
from _bar.works import ALL, gpu
from _bar.works.learners import LDML, LMNN, MCML, NCA, NCMML
from scipy.spatial.distance import cdist

import dimetric


def functions(library):
    """Return the options of each function in the file of a side, without importing it."""
    tree = ast.parse((SIDES / f"{library}.py").read_text())
    found = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    return {
        each.name: {
            arg.arg: default is None  # whether the option is required
            for arg, default in zip(each.args.kwonlyargs, each.args.kw_defaults, strict=True)
        }
        for each in found
    }


def test_every_row_has_works():
    assert {work.row for work in ALL} == set(ROWS)


def test_names_and_data_identify_the_works():
    keys = [(work.name, work.data.func, work.data.args, str(work.data.keywords)) for work in ALL]
    assert len(set(keys)) == len(keys)


def test_sides_call_functions_that_exist():
    sides = [side for work in ALL for side in work.sides.values()]
    sides += [side for each in SERIES for side in (each.ours, each.peer) if side is not None]
    for side in sides:
        options = functions(side.library)[side.function]
        assert set(side.options) <= set(options), side
        assert {name for name, is_required in options.items() if is_required} <= set(side.options)
        assert json.loads(json.dumps(side.options)) is not None


def loaded(library):
    """Return the module of a side."""
    spec = importlib.util.spec_from_file_location("side", SIDES / f"{library}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SMALL = {
    "table": lambda *_, **__: table("iris"),
    "classes": lambda *_: table("iris"),
    "digit_pairs": lambda *_: digit_pairs(60),
    "roll": lambda *_: roll(500),
    "normal": lambda *_: embedded(400),
    "embedded": lambda *_: embedded(400),
    "distances": lambda *_: distances(300),
    "blobs": lambda *_: blobs(400),
    "queries": lambda *_: queries(300, 4, 20),
}


@pytest.mark.slow
@pytest.mark.parametrize(
    "work",
    [work for work in ALL if work.data.func.__name__ in SMALL and "cuda" not in work.needs],
    ids=lambda work: f"{work.name} {work.data.args}",
)
def test_works_run_on_small_data(work):
    _, arrays = SMALL[work.data.func.__name__](*work.data.args)
    here = {r: s for r, s in work.sides.items() if s.library not in ("pydml", "metric_learn")}
    for role, side in here.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # some works stop after a few iterations
            call = getattr(loaded(side.library), side.function)(arrays, **side.options)
            results = {name: np.asarray(each) for name, each in call().items()}
        assert all(each.dtype != object for each in results.values())
        if role != "limit" and work.quality is not None:
            assert np.isfinite(work.quality.of(arrays, results))


@pytest.fixture
def wine():
    return table("wine")[1]


def test_objective_of_nca_is_its_definition(wine):
    X, y = wine["X"], wine["y"]
    L = np.random.default_rng(0).normal(size=(3, X.shape[1])) / 3
    P = np.exp(-cdist(X @ L.T, X @ L.T, "sqeuclidean"))
    np.fill_diagonal(P, 0)
    P /= P.sum(axis=1, keepdims=True)
    expected = np.mean(np.sum(P * (y[:, None] == y), axis=1))
    assert NCA.of(wine, {"components_": L}) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("quality", [NCA, LMNN, MCML, LDML, NCMML], ids=lambda each: each.name)
def test_objective_of_our_map_is_the_final_objective(wine, quality):
    name = quality.name.split()[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        learner = getattr(dimetric, name)(reg=0.0, max_iter=3).fit(wine["X"], wine["y"])
    found = quality.of(wine, {"components_": learner.components_})
    assert found == pytest.approx(learner.metadata()["final_objective"], rel=1e-6)


def test_objective_is_nan_if_the_map_is(wine):
    L = np.full((2, wine["X"].shape[1]), np.nan)
    assert np.isnan(objective("NCA", higher_is_better=True).of(wine, {"components_": L}))


def test_objectives_of_pairs_do_not_depend_on_the_scale(wine):
    X, y = wine["X"], wine["y"]
    L = np.random.default_rng(1).normal(size=(4, X.shape[1]))
    D = cdist(X @ L.T, X @ L.T)
    upper, same = np.triu(np.ones_like(D, dtype=bool), 1), y[:, None] == y
    similar, apart = D[upper & same], D[upper & ~same]
    expected = np.sum(apart) / np.sqrt(np.sum(similar**2))
    for scale in (1, 10):
        results = {"components_": scale * L}
        assert qualities.LSI.of(wine, results) == pytest.approx(expected)
        assert qualities.DML_EIG.of(wine, results) == pytest.approx(
            np.min(apart) ** 2 / np.sum(similar**2)
        )


def test_limit_of_all_pairs_makes_the_products_of_the_objective():
    X = np.random.default_rng(0).normal(size=(1100, 5))  # several blocks
    gradient = loaded("limit").all_pairs({"X": X}, k=3)()["gradient"]
    Z = X[:, :3]
    np.testing.assert_allclose(gradient, (Z @ Z.T @ Z).T @ X)


@pytest.mark.skipif(importlib.util.find_spec("torch") is None, reason="torch is not installed")
def test_works_on_a_gpu_run_on_tensors():
    rng = np.random.default_rng(0)
    y = np.sort(rng.integers(0, 3, 300))
    arrays = {"X": rng.normal(size=(300, 6)) + y[:, None], "y": y}
    for side in [side for work in gpu.WORKS for side in work.sides.values()]:
        options = side.options | {"device": "cpu"}
        if "params" in options:
            options["params"] = {"max_iter": 3}
        if "k" in options:
            options["k"] = 2
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            results = getattr(loaded(side.library), side.function)(arrays, **options)()
        assert np.all(np.isfinite(list(results.values())))
