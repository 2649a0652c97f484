"""LDML's loss as logarithms of products, with the engine as reference."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from dimetric.learners.ldml import LDMLRule
from dimetric.objectives.pairwise import PairwiseObjective


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("b", [-1e4, -50.0, 0.0, 0.7, 30.0, 80.0, 600.0, 1e4])
@pytest.mark.parametrize("classes", ["several", "one", "one for each sample"])
def test_loss_of_any_threshold_matches_the_engine(rng, classes, b, weighted, dtype):
    """Large thresholds make the factors so large that few of them can be multiplied."""
    n = 300
    labels = {"several": np.sort(np.arange(n) % 4), "one": np.zeros(n, int)}.get(
        classes, np.arange(n)
    )
    X = rng.normal(size=(n, 3))
    weights = rng.uniform(size=n) * (np.arange(n) % 5 > 0) if weighted else None
    f = PairwiseObjective(LDMLRule(), X.astype(dtype), labels, [b], weights=weights)
    engine = PairwiseObjective(LDMLRule(), X, labels, [b], weights=weights)
    engine._fast = None
    Z, theta = 2 * f.points, np.array([b])
    loss, product, slope = f.evaluate(Z, Z, theta)
    expected = engine.evaluate(Z.astype(np.float64), Z.astype(np.float64), theta)
    tol = 1e-10 if dtype == np.float64 else 1e-4
    size = f.n_terms * (1 + abs(b))  # the loss of similar pairs cancels for large thresholds
    assert_allclose(loss, expected[0], rtol=tol, atol=1e-3 * tol * size)
    assert_allclose(product, expected[1], atol=tol * max(1.0, np.abs(expected[1]).max()))
    assert_allclose(slope, expected[2], rtol=tol, atol=tol)


def test_a_threshold_that_is_not_a_number_gives_no_number(rng):
    f = PairwiseObjective(LDMLRule(), rng.normal(size=(9, 2)), np.arange(9) // 3, [1.0])
    assert np.isnan(f.evaluate(f.points, f.points, np.array([np.nan]))[0])
