"""Tests of target neighbours: search, validation and conversion of row indices."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.spatial.distance import cdist

from dimetric.objectives.margins.targets import checked_targets, in_user_order, nearest_targets


def brute_force(X, codes, k):
    D = np.where(codes[:, None] == codes, cdist(X, X), np.inf)
    np.fill_diagonal(D, np.inf)
    order = np.argsort(D, axis=1)[:, :k]
    return np.where(np.isfinite(np.take_along_axis(D, order, axis=1)), order, -1)


@pytest.mark.filterwarnings("ignore:.*fewer than 3 friends")
def test_nearest_targets_match_brute_force(rng, namespace):
    X, codes = rng.normal(size=(60, 3)), np.sort(rng.integers(0, 4, 60))
    codes[-1], codes[-4:-1] = 5, 4  # a class of one sample, and a class of three
    targets = nearest_targets(namespace.asarray(X), codes, 3)[0]
    assert type(targets) is np.ndarray
    assert_array_equal(targets, brute_force(X, codes, 3))
    assert_array_equal(targets[-1], [-1, -1, -1])
    assert (targets[-4:-1] >= 0).sum(axis=1).tolist() == [2, 2, 2]


@pytest.mark.filterwarnings("ignore:.*fewer than 2 friends")
def test_no_targets_if_every_class_has_one_sample(rng):
    assert_array_equal(nearest_targets(rng.normal(size=(3, 2)), np.arange(3), 2)[0], [[-1]] * 3)


def test_large_classes_are_split_into_groups(rng):
    X, codes = rng.normal(size=(90, 3)), np.repeat([0, 1], [70, 20])
    targets = nearest_targets(X, codes, 2, max_group_size=20, random_state=0)[0]
    exact = brute_force(X, codes, 2)
    assert_array_equal(targets[70:], exact[70:])  # this class is small enough
    large = targets[:70]
    assert (large >= 0).all()
    assert (large < 70).all()
    assert (large != np.arange(70)[:, None]).all()
    assert (large != exact[:70]).any()
    # Samples connected by targets are in the same group, so at most 20 are connected.
    groups = np.arange(70)
    for _ in range(70):
        groups = np.minimum(groups, groups[large].min(axis=1))
        np.minimum.at(groups, large.ravel(), np.repeat(groups, 2))
    assert np.bincount(groups).max() <= 20
    again = nearest_targets(X, codes, 2, max_group_size=20, random_state=0)[0]
    assert_array_equal(again, targets)


def test_user_targets_are_converted_to_sorted_samples(rng):
    X, codes = rng.normal(size=(30, 2)), np.repeat([0, 1, 2], 10)
    targets = brute_force(X, codes, 2)
    targets[4, 1] = -1
    order = rng.permutation(30)  # sorted sample i is row order[i] of the user's X
    user, _ = in_user_order(targets, order)
    assert user[order[4], 1] == -1
    assert_array_equal(user[order[7]], order[targets[7]])
    assert_array_equal(checked_targets(user.tolist(), codes, order), targets)


GOOD = np.array([[1], [0], [3], [2]])
BAD = {
    "rows": (GOOD[:3], r"of shape \(n_samples=4, k\)\. Got shape \(3, 1\)"),
    "floats": (GOOD / 1.0, r"must be an integer array of row indices of X.* dtype float64"),
    "1-D": (GOOD.ravel(), r"Got shape \(4,\)"),
    "too large": (
        np.array([[1], [0], [4], [2]]),
        r"targets\[2\] = \[4\] contains a row index that is out of range",
    ),
    "negative": (
        np.array([[1], [-2], [3], [2]]),
        r"targets\[1\] = \[-2\] contains a row index that is out of range",
    ),
    "class": (np.array([[1], [0], [1], [2]]), r"targets\[2\] = \[1\] contains a sample of another"),
    "itself": (np.array([[1], [0], [2], [2]]), r"targets\[2\] = \[2\] contains the sample itself"),
}


@pytest.mark.parametrize("case", BAD)
def test_invalid_targets_are_rejected(case):
    targets, message = BAD[case]
    with pytest.raises(ValueError, match=message):
        checked_targets(targets, np.array([0, 0, 1, 1]), np.arange(4))
