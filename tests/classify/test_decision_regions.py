"""Predictions of a classifier on a grid."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError

from dimetric import KNNClassifier
from dimetric.classify import decision_regions

FRAME, y = load_iris(return_X_y=True, as_frame=True)
X, y = FRAME.to_numpy(), y.to_numpy()
MODEL = KNNClassifier().fit(X, y)


@pytest.mark.parametrize(
    ("section", "fixed_values"),
    [
        ("mean", X.mean(axis=0)),
        ("median", np.median(X, axis=0)),
        (-1, X[-1]),
        ([1, 2, 3, 4.0], [1, 2, 3, 4]),
    ],
)
def test_regions_match_predictions_on_the_section(section, fixed_values):
    result = decision_regions(MODEL, X, features=(2, 0), section=section, resolution=6)
    assert_allclose(result.section, fixed_values)
    for i in range(6):
        for j in range(6):
            point = np.array(fixed_values, dtype=float)
            point[[2, 0]] = result.grid[0][i], result.grid[1][j]
            assert result.classes[result.codes[i, j]] == MODEL.predict(point[None])[0]


def test_features_by_column_name():
    model = KNNClassifier().fit(FRAME, y)
    result = decision_regions(model, FRAME, features="petal width (cm)", resolution=4)
    assert result.features == (3,)
    low, high = X[:, 3].min(), X[:, 3].max()
    assert result.grid[0][0] < low
    assert result.grid[0][-1] > high


def test_grid_of_a_constant_feature_has_a_margin():
    model = KNNClassifier(1).fit([[1.0], [1.0]], ["a", "b"])
    result = decision_regions(model, [[1.0], [1.0]], resolution=3)
    assert_allclose(result.grid[0], [0, 1, 2])
    assert_array_equal(result.classes, ["a"])


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({}, "X has 4 features. Select one to three"),
        ({"features": (0, 9)}, "features: 9 is not a feature of X"),
        ({"features": ("height",)}, "features: 'height' is not a feature of X"),
        ({"features": (0, 0)}, "one to three different features"),
        ({"features": (0, 1, 2, 3)}, "one to three different features"),
        ({"features": (0,), "section": "mode"}, "section='mode' must be"),
        ({"features": (0,), "section": 150}, "section=150 is not a row of X"),
        ({"features": (0,), "section": [1, 2]}, "an array of 4 values"),
        ({"features": (0,), "section": [1, 2, 3, np.nan]}, "section contains NaN"),
        ({"features": (0,), "resolution": 1}, "resolution=1 must be"),
    ],
)
def test_invalid_options_raise(options, error):
    with pytest.raises(ValueError, match=error):
        decision_regions(MODEL, X, **options)


def test_unfitted_classifier_raises():
    with pytest.raises(NotFittedError):
        decision_regions(KNNClassifier(), X, features=(0, 1))
