"""Fused kernels give the same results as the engine, in Triton's interpreter."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist

from dimetric import MCML, NCA
from dimetric._arrays.namespaces import take_rows
from dimetric.learners.ldml import LDMLRule
from dimetric.learners.lsi import DistanceRule
from dimetric.learners.mcml import MCMLRule
from dimetric.learners.mlkr import MLKRRule
from dimetric.learners.nca import NCARule
from dimetric.objectives import softmin
from dimetric.objectives.centroids import CentroidObjective
from dimetric.objectives.costs import (
    CostRule,
    TableCost,
    absolute_cost,
    function_cost,
    jaccard_cost,
    squared_cost,
)
from dimetric.objectives.engine import fast_implementation, laplacian_product
from dimetric.objectives.margins.bounds import MarginBounds
from dimetric.objectives.margins.objective import MarginObjective, MarginRule
from dimetric.objectives.objective import on_maps
from dimetric.objectives.pairwise import PairwiseObjective
from dimetric.objectives.side import Side
from dimetric.objectives.softmin import SoftminObjective
from dimetric.objectives.triton import support
from dimetric.objectives.triton.support import MAX_WIDTH, runs_kernels

torch = pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("triton", reason="triton is not installed")

N_SAMPLES = 150  # not a multiple of the tile
LABELS = np.repeat([0, 1, 2, 3], [60, 49, 40, 1])  # the last class has one sample
TABLE = np.random.default_rng(1).uniform(0, 2, (4, 4))  # not symmetric


@pytest.fixture(autouse=True)
def interpreter(monkeypatch):
    """Run kernels in Triton's interpreter, which needs no graphics processor."""
    monkeypatch.setattr(support, "INTERPRETED", True)


@pytest.fixture
def targets():
    """Three targets of most samples, fewer of some, none of the sample without a class."""
    rng = np.random.default_rng(2)
    rows = np.full((N_SAMPLES, 3), -1)
    for i, label in enumerate(LABELS):
        friends = np.setdiff1d(np.flatnonzero(label == LABELS), [i])
        chosen = rng.permutation(friends)[: 3 if i % 7 else 1]
        rows[i, : len(chosen)] = chosen
    return rows


def points(rng, k=5, scale=0.5):
    """Return samples of overlapping classes. Some are copies of others."""
    Z = scale * (rng.normal(size=(N_SAMPLES, k)) + 0.4 * LABELS[:, None])
    Z[7], Z[100] = Z[8], Z[9]  # of the same class, and of another one
    return torch.as_tensor(Z - Z.mean(axis=0), dtype=torch.float32)


def assert_equals_engine(rule, Z, V, theta=(), tolerance=3e-6, **side):
    """Compare the kernel of a rule with the engine in float64."""
    kernel = fast_implementation(rule, Z)
    assert kernel is not None
    loss, product, dtheta = kernel(Z, V, Side.of(Z, labels=LABELS, **side), np.asarray(theta))
    wide = Side.of(Z.double(), labels=LABELS, **side)
    expected = laplacian_product(rule, Z.double(), V.double(), wide, np.asarray(theta))
    np.testing.assert_allclose(loss, expected[0], rtol=1e-6)
    np.testing.assert_allclose(dtheta, expected[2], rtol=1e-6, atol=1e-4)  # a sum that cancels
    assert product.dtype == V.dtype
    assert product.shape == V.shape
    error = torch.linalg.norm(product.double() - expected[1]) / torch.linalg.norm(expected[1])
    assert error < tolerance


RULES = {
    "nca": (NCARule(), None, ()),
    "mcml": (MCMLRule(), None, ()),
    "ldml": (LDMLRule(), None, (2.0,)),
    "ldml, fixed threshold": (LDMLRule(1.5), None, ()),
    "lsi": (DistanceRule(), None, (0.1,)),
    "mlkr": (MLKRRule(), "numbers", ()),
    "cost by table": (CostRule(TableCost(TABLE), 1.3, 1.0), None, ()),
    "absolute cost": (CostRule(absolute_cost, 1.3, 1.0), "numbers", ()),
    "squared cost": (CostRule(squared_cost, 1.3, 1.0), "numbers", ()),
    "jaccard cost": (CostRule(jaccard_cost, 0.6, 1.0), "sets", ()),
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", RULES)
def test_kernels_equal_the_engine(name, weighted, rng):
    rule, kind, theta = RULES[name]
    values = rng.normal(size=(N_SAMPLES, 2))
    values = {"numbers": values, "sets": (values > 0) * 1.0}.get(kind)
    side = {"targets": values} if kind else {}
    if weighted:
        side["weights"] = torch.as_tensor(rng.uniform(0.2, 3, N_SAMPLES), dtype=torch.float32)
    Z = points(rng)
    assert_equals_engine(rule, Z, Z, theta, **side)
    V = torch.as_tensor(rng.normal(size=(N_SAMPLES, 3)), dtype=torch.float32)
    assert_equals_engine(rule, Z, V, theta, **side)


@pytest.mark.parametrize("width", [0.0, 0.1])
@pytest.mark.parametrize("weighted", [False, True])
def test_margins_equal_the_engine(weighted, width, targets, rng):
    weights, side = None, {}
    if weighted:
        weights = torch.as_tensor(rng.uniform(size=targets.shape))
        side = {"weights": torch.as_tensor(rng.uniform(0.2, 3, N_SAMPLES), dtype=torch.float32)}
    rule = MarginRule(torch.as_tensor(targets), N_SAMPLES, 0.4, 0.6, width, weights)
    Z = points(rng, scale=1.0)
    assert_equals_engine(rule, Z, Z, **side)
    assert_equals_engine(rule, Z, torch.flip(Z[:, :3], dims=[0]), **side)


def test_margins_of_a_batch_equal_the_engine(targets, rng):
    """Points that are targets only have no terms, and are no impostors."""
    Z = points(rng, scale=1.0)
    objective = MarginObjective(Z, LABELS, targets, mu=0.5, width=0.1)
    part = objective.batch(np.arange(0, N_SAMPLES, 2))
    assert len(part.points) > len(part.targets)
    value, product, slopes = part.evaluate(part.points, part.points, part.theta)
    wide = Side.of(part.points.double(), labels=part.strata)
    Y = part.points.double()
    expected = laplacian_product(part.rule, Y, Y, wide)
    np.testing.assert_allclose([value, slopes], [expected[0], expected[2]], rtol=1e-6)
    np.testing.assert_allclose(product, expected[1], atol=2e-6 * float(expected[1].abs().max()))


@pytest.mark.parametrize("name", ["nca", "mcml", "ldml", "cost by table"])
def test_kernels_do_not_lose_small_distances_between_points_of_large_norm(name, rng):
    rule, _, theta = RULES[name]
    Z = points(rng)
    Z[:, 0] += 300.0 * torch.as_tensor(rng.choice([-1, 1], N_SAMPLES))
    # The error of the product is relative to the norms.
    assert_equals_engine(rule, Z, Z, theta, tolerance=2e-4)


@pytest.mark.parametrize("k", [1, 33, 130])
def test_kernels_allow_any_width(k, rng):
    Z = points(rng, k, scale=0.5 * (5 / k) ** 0.5)
    assert_equals_engine(NCARule(), Z, Z, tolerance=1e-5)
    assert_equals_engine(LDMLRule(), Z, Z, (2.0,))


def test_the_engine_is_used_for_other_arrays(monkeypatch, rng):
    Z, rule = points(rng), NCARule()
    assert fast_implementation(rule, Z.double()) is None
    assert fast_implementation(rule, Z.double(), single=True) is not None
    assert fast_implementation(rule, torch.zeros(4, MAX_WIDTH + 1)) is None
    assert fast_implementation(CostRule(function_cost(np.subtract.outer), 1.0, 1.0), Z) is None
    monkeypatch.setattr(support, "INTERPRETED", False)
    assert not runs_kernels(Z)


def test_gradients_of_an_objective_are_those_of_the_engine(monkeypatch, rng):
    X = points(rng)
    flat = rng.normal(size=(2, 5)).ravel()
    value, gradient = on_maps(PairwiseObjective(NCARule(), X, LABELS))(flat)
    monkeypatch.setattr(support, "INTERPRETED", False)
    expected = on_maps(PairwiseObjective(NCARule(), X.double(), LABELS))(flat)
    np.testing.assert_allclose(value, expected[0], rtol=1e-6)
    np.testing.assert_allclose(gradient, expected[1], atol=1e-5 * np.abs(expected[1]).max())


@pytest.mark.parametrize("weighted", [False, True])
def test_softmin_equals_the_engine(weighted, monkeypatch, rng):
    monkeypatch.setattr(softmin, "MIN_SAMPLES_FOR_FLOAT32", 0)
    X = points(rng)
    weights = rng.uniform(0.5, 2, N_SAMPLES) if weighted else None
    objective = SoftminObjective(X.double(), LABELS, X, weights)
    Z = objective.points @ torch.as_tensor(rng.normal(size=(4, 5))).T
    smallest = objective.smallest_squared_distance(Z)
    results = [
        objective.evaluate(Z, V, np.array([mu]))
        for V in (Z, objective.points)
        for mu in (1.0, 1e-3 * smallest)  # large exponents need exact distances
    ]
    monkeypatch.setattr(support, "INTERPRETED", False)
    assert smallest == objective.smallest_squared_distance(Z)
    expected = [
        objective.evaluate(Z, V, np.array([mu]))
        for V in (Z, objective.points)
        for mu in (1.0, 1e-3 * smallest)
    ]
    for result, reference in zip(results, expected, strict=True):
        np.testing.assert_allclose(result[0], reference[0], rtol=1e-6)
        scale = float(reference[1].abs().max())
        np.testing.assert_allclose(result[1], reference[1], atol=1e-5 * scale)


@pytest.mark.parametrize("weighted", [False, True])
def test_centroids_equal_the_engine(weighted, monkeypatch, rng):
    X = points(rng)
    weights = rng.uniform(0.5, 2, N_SAMPLES) if weighted else None
    centroid_labels = np.repeat([0, 1, 2, 3], [9, 8, 3, 1])  # more than fit into a tile
    C = take_rows(X, rng.integers(0, N_SAMPLES, 21))
    flat = rng.normal(size=(3, 5)).ravel()
    value, gradient = on_maps(CentroidObjective(X, LABELS, C, centroid_labels, weights=weights))(
        flat
    )
    monkeypatch.setattr(support, "INTERPRETED", False)
    wide = CentroidObjective(X.double(), LABELS, C.double(), centroid_labels, weights=weights)
    expected = on_maps(wide)(flat)
    np.testing.assert_allclose(value, expected[0], rtol=1e-6)
    np.testing.assert_allclose(gradient, expected[1], atol=1e-5 * np.abs(expected[1]).max())


def test_bounds_from_sums_in_float32_hold(targets, rng):
    """Their gap is that of float64, up to rounding, and not smaller than the true one."""
    X = points(rng, scale=1.0)
    L = rng.normal(size=(5, 5)) / 2
    gaps = []
    for points_ in (X, X.double()):
        objective = MarginObjective(points_, LABELS, targets, mu=0.5)
        bounds = MarginBounds(objective, 0.0)
        bounds.add(L, 0.1)
        gaps.append(bounds.certificate(on_maps(objective)(L.ravel())[0], L).gap)
    assert gaps[0] >= gaps[1] * (1 - 1e-6)
    np.testing.assert_allclose(gaps[0], gaps[1], rtol=1e-3)


@pytest.mark.parametrize("learner", [NCA(2, tol=0.1), MCML(tol=0.1)], ids=repr)
def test_small_fits_are_those_of_numpy(learner, rng):
    keep = LABELS < 3
    X, y = points(rng, scale=1.0)[keep], LABELS[keep]
    Z = learner.fit(X, y).transform(X)
    expected = learner.fit(X.numpy(), y).transform(X.numpy())
    difference = np.abs(pdist(Z.numpy()) - pdist(expected)).max()
    assert difference < 1e-5 * pdist(expected).max()
