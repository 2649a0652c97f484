"""Labels as learners receive them."""

import numpy as np
import pytest

from dimetric import LDML, LMNN, NCA, Pairs
from dimetric.supervision.labels import Labels, checked_labels


def received(monkeypatch, learner, X, y):
    """Fit a learner, and return the labels that it receives."""
    calls = []
    monkeypatch.setattr(
        type(learner), "_check_supervision", lambda self, X, labels: calls.append(labels)
    )
    learner.fit(X, y)
    (labels,) = calls
    return labels


X = np.array([[0.0], [1.0], [5.0], [7.0]])


def test_codes_are_indices_of_the_sorted_classes(monkeypatch):
    labels = received(monkeypatch, NCA(max_iter=1000), X, ["b", "b", "a", "a"])
    np.testing.assert_array_equal(labels.codes, [1, 1, 0, 0])
    assert labels.classes.tolist() == ["a", "b"]
    assert labels.n_classes == 2


@pytest.mark.filterwarnings("ignore:.* friends")  # a class has one sample
@pytest.mark.parametrize(("cls", "codes"), [(LDML, [1, 0, 0]), (LMNN, [1, -1, 0, 0])])
def test_unlabelled_samples_are_left_out_or_have_code_minus_1(monkeypatch, cls, codes):
    labels = received(monkeypatch, cls(unlabelled=-1), X, [5, -1, 3, 3])
    np.testing.assert_array_equal(labels.codes, codes)
    np.testing.assert_array_equal(labels.classes, [3, 5])


def test_reordered_selects_rows_in_order():
    labels = Labels(np.array([1, -1, 0]), np.array([3, 5]))
    moved = labels.reordered(np.array([2, 0]))
    np.testing.assert_array_equal(moved.codes, [0, 1])
    assert moved.classes is labels.classes


def test_checked_labels_rejects_other_supervision():
    with pytest.raises(TypeError, match="Expected Labels, got Pairs"):
        checked_labels(Pairs([[0, 1]], [[0, 2]]))
