"""Neighbours of a sample before and after a map."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dimetric import LDA, NCA, KNNClassifier
from dimetric.quality import before_and_after, neighborhood

X, y = load_wine(return_X_y=True)
X = StandardScaler().fit_transform(X)


def test_neighbours_are_the_nearest():
    Z = LDA().fit(X, y).transform(X)
    result = neighborhood(X, Z, 30, n_neighbors=7)
    for neighbours, distances, A in (
        (result.before, result.distances_before, X),
        (result.after, result.distances_after, Z),
    ):
        expected = np.linalg.norm(A - A[30], axis=1)
        assert_allclose(distances, expected, atol=1e-12)
        assert_array_equal(neighbours, np.argsort(expected, kind="stable")[1:8])
    assert set(result.kept) == set(result.before) & set(result.after)
    assert set(result.new) == set(result.after) - set(result.before)
    assert set(result.lost) == set(result.before) - set(result.after)


def test_places_keep_distances_and_plane_data_keep_angles():
    result = neighborhood(X, X[:, :1], 3, n_neighbors=5, n_others=20)
    for places, distances in (
        (result.places_before, result.distances_before),
        (result.places_after, result.distances_after),
    ):
        assert_allclose(np.linalg.norm(places, axis=1), distances[result.shown])
    plane = neighborhood(X[:, :2], X[:, :2], 3, n_neighbors=5)
    inner = (X[plane.shown, :2] - X[3, :2]) @ (X[plane.shown, :2] - X[3, :2]).T
    assert_allclose(plane.places_before @ plane.places_before.T, inner, atol=1e-9)


def test_places_after_are_rotated_to_match_places_before():
    rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(2, 2)))[0]
    result = neighborhood(X[:, :2], 3 * X[:, :2] @ rotation, 9, n_neighbors=4)
    assert_allclose(result.places_after, 3 * result.places_before, atol=1e-9)


def test_duplicates_are_in_row_order_without_the_sample():
    A = np.array([[0.0], [0.0], [0.0], [1.0]])
    result = neighborhood(A, A, 1, n_neighbors=3)
    assert_array_equal(result.before, [0, 2, 3])
    assert np.all(np.isfinite(result.places_before))
    assert neighborhood(A, A, -1, n_neighbors=1).row == 3


@pytest.mark.parametrize(
    ("row", "k", "error"),
    [
        (178, 3, "row=178 must be the index of a row"),
        ("1", 3, "row='1' must be"),
        (0, 178, "between 1 and the number of other samples, 177"),
    ],
)
def test_invalid_row_or_n_neighbors_raises(row, k, error):
    with pytest.raises(ValueError, match=error):
        neighborhood(X, X, row, n_neighbors=k)


def test_inconsistent_lengths_raise():
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        neighborhood(X, X[1:], 0)


def test_before_and_after_apply_earlier_steps():
    frame = pd.DataFrame(X).add_prefix("f")
    nca = NCA(2).fit(frame, y)
    for model, before, after in (
        (nca, X, nca.transform(frame)),
        (KNNClassifier(learner=nca).fit(frame, y), X, None),
        (make_pipeline(StandardScaler(), KNNClassifier()).fit(5 * frame, y), X, X),
    ):
        samples = 5 * frame if after is X else frame
        result = before_and_after(model, samples)
        assert_allclose(result[0], before, atol=1e-9)
        if after is not None:
            assert_allclose(result[1], after, atol=1e-9)


def test_model_without_a_map_raises():
    from sklearn.tree import DecisionTreeClassifier

    with pytest.raises(ValueError, match="DecisionTreeClassifier has no map"):
        before_and_after(DecisionTreeClassifier().fit(X, y), X)
