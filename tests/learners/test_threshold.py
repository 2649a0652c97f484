"""Tests of the search for LDML's threshold, with scipy.optimize and a grid as references."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import brentq

from dimetric.learners._fitting import threshold
from dimetric.learners._fitting.threshold import likeliest_threshold, loss_at_threshold
from dimetric.learners.ldml import LDMLRule
from dimetric.objectives.listed import ListedObjective
from dimetric.objectives.pairwise import PairwiseObjective

N_FEATURES = 4
L = np.eye(N_FEATURES)


def objective(rng, n=60, unit=1.0, dtype=np.float64, weighted=False):
    """Return LDML's objective for overlapping classes."""
    labels = np.sort(np.arange(n) % 3)
    X = rng.normal(size=(n, N_FEATURES))
    X[:, 0] += 2 * labels
    weights = rng.uniform(0.5, 2, size=n) if weighted else None
    X = (unit * (X - X.mean(axis=0))).astype(dtype)
    return PairwiseObjective(LDMLRule(), X, labels, [1.0], weights=weights)


def loss_and_slope(f, b):
    return loss_at_threshold(f, L, np.array([b]))


def best_threshold(f):
    """Return the root of the slope, found by scipy.optimize."""
    spread = np.ptp(f.points.astype(np.float64), axis=0)
    return brentq(lambda b: loss_and_slope(f, b)[1], -100, 100 + spread @ spread, xtol=1e-11)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("start", [-30.0, 0.0, 1.0, 50.0, 1e3, 1e6])
@pytest.mark.parametrize("unit", [1e-3, 0.3, 1.0, 3.0])
def test_threshold_is_the_root_of_the_slope(rng, unit, start, weighted):
    f = objective(rng, unit=unit, weighted=weighted)
    (b,) = likeliest_threshold(f, L, np.array([start]))
    assert_allclose(b, best_threshold(f), atol=1e-6)


def test_threshold_beats_a_dense_grid(rng):
    f = objective(rng)
    (b,) = likeliest_threshold(f, L, np.array([1.0]))
    grid = np.linspace(b - 2, b + 2, 401)
    losses = [loss_and_slope(f, at)[0] for at in grid]
    assert loss_and_slope(f, b)[0] <= min(losses)
    assert abs(grid[np.argmin(losses)] - b) <= grid[1] - grid[0]


@pytest.mark.parametrize("start", [0.0, -1e3, 1e12])
@pytest.mark.parametrize("unit", [100.0, 1e4])
def test_search_crosses_a_range_with_a_constant_slope(rng, unit, start):
    """Far from the best threshold, the secant method does not know the curvature."""
    f = objective(rng, unit=unit)
    (b,) = likeliest_threshold(f, L, np.array([start]))
    loss, slope = loss_and_slope(f, b)
    assert abs(slope) < 1e-6
    assert_allclose(loss, loss_and_slope(f, best_threshold(f))[0], rtol=1e-9)


@pytest.mark.parametrize("start", [0.0, 1e3])
def test_threshold_in_float32_is_as_good_as_in_float64(rng, start):
    f = objective(rng, dtype=np.float32)
    wide = PairwiseObjective(LDMLRule(), f.points.astype(np.float64), f.strata, [1.0])
    (b,) = likeliest_threshold(f, L, np.array([start]))
    assert_allclose(b, best_threshold(wide), atol=1e-4)


@pytest.mark.parametrize("start", [1.0, 1e3])
def test_threshold_of_a_part_is_refined_with_all_samples(rng, monkeypatch, start):
    f = objective(rng, n=120)
    monkeypatch.setattr(threshold, "MAX_SAMPLES_FOR_RESCALING", 50)
    sizes = []
    search = threshold.loss_at_threshold
    monkeypatch.setattr(
        threshold,
        "loss_at_threshold",
        lambda part, *args: sizes.append(len(part.strata)) or search(part, *args),
    )
    parts = objective(rng, n=12)  # has another best threshold
    monkeypatch.setattr(type(f), "part", lambda *_: parts)
    (b,) = likeliest_threshold(f, L, np.array([start]))
    assert set(sizes) == {12, 120}
    assert_allclose(b, best_threshold(f), atol=1e-6)


def test_an_optimal_start_is_kept():
    """The squared distances are 1 for the similar pair and 7 for the other one, so b is 4."""
    f = ListedObjective(
        LDMLRule(),
        np.array([[0.0], [1.0], [3.0], [np.sqrt(7.0) + 3]]),
        np.array([[0, 1], [2, 3]]),
        np.array([0, 1]),
        [1.0],
    )
    one = np.eye(1)
    losses = [loss_at_threshold(f, one, np.array([b])) for b in (3.0, 4.0, 5.0)]
    assert min(losses)[0] == losses[1][0]
    for start in (4.0, 0.0, 8.0, 4.0 + 1e-9):
        assert_allclose(likeliest_threshold(f, one, np.array([start])), 4.0, atol=1e-6)


def test_search_ends_at_a_slope_that_is_exactly_zero(monkeypatch, rng):
    """An upper and a lower bound are known when the slope vanishes. Bisection would leave b."""
    slopes = {1.0: -0.05, 1.5: 0.05, 1.25: 0.0}
    visited = []

    def loss(_, __, theta):
        visited.append(float(theta[0]))
        return 0.0, slopes[visited[-1]]

    monkeypatch.setattr(threshold, "loss_at_threshold", loss)
    search = threshold._ThresholdSearch(objective(rng), L, 1.0)
    search.run()
    assert visited == [1.0, 1.5, 1.25]
    assert search.b == 1.25


def test_search_ends_at_a_slope_that_is_not_a_number(monkeypatch, rng):
    visited = []
    monkeypatch.setattr(
        threshold, "loss_at_threshold", lambda *_: visited.append(1) or (np.nan, np.nan)
    )
    search = threshold._ThresholdSearch(objective(rng), L, 1.0)
    search.run()
    assert (search.b, len(visited)) == (1.0, 1)
