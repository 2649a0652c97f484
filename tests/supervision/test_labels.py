"""Labels as a record: one kind of supervision beside pairs and triplets."""

import numpy as np
import pytest

from dimetric import NCA, Pairs
from dimetric.supervision.labels import Labels, checked_labels


def test_codes_are_positions_in_the_sorted_classes():
    y = np.array(["c", "a", "b", "a"])
    labels = Labels.encode(y)
    assert labels.n_classes == 3
    np.testing.assert_array_equal(labels.classes[labels.codes], y)


def test_samples_without_a_label():
    labels = Labels.encode(np.array([5, -1, 3]), unlabelled=-1)
    np.testing.assert_array_equal(labels.codes, [1, -1, 0])
    np.testing.assert_array_equal(labels.classes, [3, 5])


def test_reordered_keeps_some_in_any_order():
    labels = Labels.encode(np.array([5, -1, 3]), unlabelled=-1)
    moved = labels.reordered(np.array([2, 0]))
    np.testing.assert_array_equal(moved.codes, [0, 1])
    assert moved.classes is labels.classes


def test_other_supervision_is_no_labels():
    with pytest.raises(TypeError, match="Labels are needed, not Pairs"):
        checked_labels(Pairs([[0, 1]], [[0, 2]]))


def test_a_learner_gets_labels(monkeypatch):
    seen = []
    monkeypatch.setattr(NCA, "_check_supervision", lambda self, X, given: seen.append(given))
    NCA(max_iter=1000).fit(np.array([[0.0], [1.0], [5.0], [7.0]]), ["b", "b", "a", "a"])
    (labels,) = seen
    np.testing.assert_array_equal(labels.codes, [1, 1, 0, 0])
    assert labels.classes.tolist() == ["a", "b"]
