"""Triplets: fields, constructors and folds."""

import re

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from scipy.spatial.distance import cdist
from sklearn.datasets import load_iris

from dimetric import Triplets

X, y = load_iris(return_X_y=True)


def as_set(rows):
    """Return the rows as a set, and check that there are no duplicates."""
    found = {tuple(row) for row in np.asarray(rows).tolist()}
    assert len(found) == len(rows)
    return found


def test_fields_equality_and_immutability():
    triplets = Triplets([0, 3], [1, 2], [2, 0], 4)
    assert_array_equal(triplets.rows, [[0, 1, 2], [3, 2, 0]])
    assert len(triplets) == 2
    assert triplets == Triplets.from_rows([[0, 1, 2], [3, 2, 0]], 4)
    assert hash(triplets) == hash(Triplets.from_rows([[0, 1, 2], [3, 2, 0]], 4))
    assert triplets[1:] == Triplets([3], [2], [0], 4)
    assert triplets[:1] | triplets == triplets
    assert triplets != Triplets([0, 3], [2, 2], [1, 0], 4)
    with pytest.raises(AttributeError):
        triplets.anchor = [1]
    with pytest.raises(ValueError, match="read-only"):
        triplets.closer[0] = 7


def test_contradictory_triplets_are_allowed():
    assert len(Triplets([0, 0], [1, 2], [2, 1])) == 2


def test_from_arrays():
    triplets = Triplets.from_arrays(X[:5], X[5:10], X[10:15])
    assert_array_equal(triplets.points[triplets.farther], X[10:15])
    assert triplets.n_samples == 15


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_from_arrays_accepts_data_frames(frame):
    columns = X[:5], X[5:10], X[10:15]
    expected = Triplets.from_arrays(*columns)
    assert Triplets.from_arrays(*map(frame, columns)) == expected


WRONG = {
    "triplets[1] = [2, 1, 2] contains a sample twice": lambda: Triplets([0, 2], [1, 1], [2, 2]),
    "triplets[0] = [0, 1, 3] contains a row index outside 0 to 2": lambda: Triplets(
        [0], [1], [3], 3
    ),
    "triplets[0] = [0, -1, 3] contains a row index outside 0 to": lambda: Triplets([0], [-1], [3]),
    "must all have shape (m,), not (2,), (1,), (1,)": lambda: Triplets([0, 1], [1], [2]),
    "must all have shape (m,), not (1, 3)": lambda: Triplets(*[[[0, 1, 2]]] * 3),
    "triplets has shape (1, 3) and dtype float64": lambda: Triplets([0.5], [1.0], [2.0]),
    "triplets has shape (1, 2)": lambda: Triplets.from_rows([[0, 1]]),
    "(m, n_features), not (5, 4), (4, 4), (5, 4)": lambda: Triplets.from_arrays(
        X[:5], X[:4], X[:5]
    ),
    "margin=-1 must not be negative": lambda: Triplets.from_scores([[0, 1], [0, 2]], [1, 2], -1),
    "margin=nan must not be": lambda: Triplets.from_scores([[0, 1], [0, 2]], [1, 2], np.nan),
    "too many to list": lambda: Triplets.from_labels(np.arange(2000) % 10),
}


@pytest.mark.parametrize("says", WRONG)
def test_invalid_input_raises(says):
    with pytest.raises(ValueError, match=re.escape(says)):
        WRONG[says]()


@given(st.lists(st.integers(-1, 2), min_size=1, max_size=9))
@settings(deadline=None, max_examples=60)
def test_from_labels_returns_all_triplets(labels):
    triplets = Triplets.from_labels(labels, unlabelled=-1)
    known = [i for i, label in enumerate(labels) if label != -1]
    assert as_set(triplets.rows) == {
        (i, j, l)
        for i in known
        for j in known
        for l in known
        if i != j and labels[i] == labels[j] and labels[i] != labels[l]
    }


def test_from_labels_draws_n_distinct_triplets():
    triplets = Triplets.from_labels(y, 500, random_state=0)
    as_set(triplets.rows)
    assert len(triplets) == 500
    assert np.all(y[triplets.anchor] == y[triplets.closer])
    assert np.all(y[triplets.anchor] != y[triplets.farther])
    assert triplets == Triplets.from_labels(y, 500, random_state=0)
    assert triplets != Triplets.from_labels(y, 500, random_state=1)


def test_from_neighbors_without_labels():
    triplets = Triplets.from_neighbors(X, n_neighbors=3, random_state=0)
    D = cdist(X, X)
    anchor, closer, farther = triplets.rows.T
    assert np.all(D[anchor, closer] <= D[anchor, farther])
    assert len(triplets) > 9 * 150 * 0.9  # draws that hit neighbours are dropped


def test_from_neighbors_with_labels():
    order = np.random.default_rng(0).permutation(150)
    triplets = Triplets.from_neighbors(X[order], y[order], n_neighbors=2, n=100, random_state=0)
    labels = y[order]
    assert len(triplets) == 100
    assert np.all(labels[triplets.anchor] == labels[triplets.closer])
    assert np.all(labels[triplets.anchor] != labels[triplets.farther])


def test_from_scores():
    rows, scores = [[0, 1], [2, 0], [1, 2], [0, 3]], [3.0, 1.0, 0.0, 2.5]
    triplets = Triplets.from_scores(rows, scores, n_samples=4)
    assert as_set(triplets.rows) == {(0, 1, 2), (0, 1, 3), (0, 3, 2), (1, 0, 2), (2, 0, 1)}
    assert as_set(Triplets.from_scores(rows, scores, 1.0).rows) == {
        (0, 1, 2),
        (0, 3, 2),
        (1, 0, 2),
    }
    assert len(Triplets.from_scores(rows, scores, n=2, random_state=0)) == 2


def test_from_scores_with_large_row_indices():
    triplets = Triplets.from_scores([[0, 2**30], [2**30, 7], [2**30 + 1, 8]], [2.0, 1.0, 0.0])
    assert triplets.rows.tolist() == [[2**30, 0, 7]]


def test_from_scores_without_pairs():
    assert len(Triplets.from_scores([], [])) == 0


@pytest.mark.parametrize("share_samples", [True, False])
def test_folds_share_samples_only_if_allowed(share_samples):
    triplets = Triplets.from_labels(y, 2000, random_state=0)
    for train, test in triplets.split(3, share_samples=share_samples, random_state=0):
        overlap = set(train.rows.ravel()) & set(test.rows.ravel())
        assert bool(overlap) == share_samples
        assert len(test)
        assert len(train)


def test_triplets_of_the_same_samples_are_in_one_fold():
    rng = np.random.default_rng(0)
    samples = np.arange(30).reshape(10, 3)
    judged = [samples[i, rng.permutation(3)] for i in np.tile(np.arange(10), 4)]
    for train, test in Triplets.from_rows(judged).split(5, share_samples=True, random_state=0):
        assert len(test) == 8
        assert not {frozenset(row) for row in train.rows} & {frozenset(row) for row in test.rows}
