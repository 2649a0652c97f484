"""Bounds on the Bayes error."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.neighbors import KNeighborsClassifier

from dimetric.stats import bayes_error_bounds


@pytest.mark.parametrize("n_classes", [2, 3, 7])
def test_bounds_match_cover_and_hart(n_classes):
    rng = np.random.default_rng(n_classes)
    y = rng.integers(0, n_classes, size=400)
    X = np.where(rng.random(400) < 0.7, y, rng.integers(0, n_classes, size=400))[:, None] * 1.0
    X = X + rng.normal(scale=1e-3, size=X.shape)
    lower, upper = bayes_error_bounds(X, y)
    assert_allclose(upper, 1 - KNeighborsClassifier(1).fit(X, y).score(None, y))
    ratio = n_classes / (n_classes - 1)
    assert_allclose(lower * (2 - ratio * lower), upper)
    truth = 0.3 * (n_classes - 1) / n_classes  # the lower bound is tight if errors are uniform
    assert_allclose(lower, truth, atol=0.05)
    assert truth < upper


def test_bounds_of_extreme_errors():
    X = np.arange(10.0)[:, None]
    assert bayes_error_bounds(X, np.arange(10) % 2) == (0.5, 1.0)  # worse than guessing
    assert bayes_error_bounds(np.repeat([0.0, 5.0], 5)[:, None], np.repeat([0, 1], 5)) == (0, 0)
    with pytest.raises(ValueError, match="requires at least 2 classes, but y has only 1"):
        bayes_error_bounds(X, np.zeros(10))
