"""Tests of Side: labels, targets and weights of the points along a block."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from dimetric._arrays.namespaces import to_host
from dimetric.objectives.side import Side

rng = np.random.default_rng(0)
X = rng.normal(size=(17, 2))
LABELS = np.sort(rng.integers(0, 6, 17))


def sides(xp=np):
    """Return samples as rows, and three of them and five other samples as columns."""
    rows = Side.of(xp.asarray(X), labels=LABELS, targets=X, weights=X[:, 0])
    positions = np.array([3, 16, 0, 17, 18, 19, 20, 21])
    labels = np.array([LABELS[3], LABELS[16], LABELS[0], 0, 1, 2, 3, 9])
    columns = Side(xp.asarray(positions), xp.asarray(labels))
    return rows, columns, positions, labels


def test_same_label_and_different_sample(namespace):
    rows, columns, positions, labels = sides(namespace)
    assert_array_equal(to_host(rows.same_label(columns)), LABELS[:, None] == labels)
    assert_array_equal(to_host(rows.different_sample(columns)), np.arange(17)[:, None] != positions)


def test_counts_of_pairs_and_friends(namespace):
    rows, columns, positions, labels = sides(namespace)
    others = np.arange(17)[:, None] != positions
    assert rows.n_different_pairs(columns) == others.sum() == 17 * 8 - 3
    assert_array_equal(rows.n_friends(columns), (others & (LABELS[:, None] == labels)).sum(axis=1))
    assert rows.n_different_pairs(rows) == 17 * 16
    assert_array_equal(rows.n_friends(rows), np.bincount(LABELS)[LABELS] - 1)


def test_slices_and_selected_rows(namespace):
    rows = sides(namespace)[0]
    for part, chosen in ((rows[3:9], slice(3, 9)), (rows.take(np.array([8, 2])), [8, 2])):
        assert_array_equal(to_host(part.positions), np.arange(17)[chosen])
        assert_array_equal(to_host(part.labels), LABELS[chosen])
        assert_array_equal(to_host(part.targets), X[chosen])
        assert_array_equal(to_host(part.weights), X[chosen, 0])
    assert sides(namespace)[1][:4].targets is None


def test_first_makes_two_sets_different():
    rows, columns = Side.of(X), Side.of(X[:5], first=17)
    assert rows.different_sample(columns).all()
    assert rows.n_different_pairs(columns) == 17 * 5


@pytest.mark.parametrize("labels", [LABELS, np.array([0, 2, 2, 5, 5, 5]), np.zeros(1, dtype=int)])
def test_class_runs_split_rows_by_class(labels):
    side = Side.of(np.zeros((len(labels), 1)), labels=labels)
    for first in range(len(labels)):
        for last in range(first + 1, len(labels) + 1):
            runs = side.class_runs(first, last)
            assert [i for rows, _ in runs for i in range(rows.start, rows.stop)] == list(
                range(first, last)
            )
            for rows, class_rows in runs:
                members = np.flatnonzero(labels == labels[rows.start])
                assert_array_equal(np.arange(class_rows.start, class_rows.stop), members)
                assert len(set(labels[rows])) == 1


def test_error_without_labels():
    with pytest.raises(ValueError, match="compares labels, but the points have no labels"):
        Side.of(X).same_label(Side.of(X))
