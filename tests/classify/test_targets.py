"""Several labels per sample, continuous and vector targets, and learners that use them."""

import numpy as np
import pytest
from estimators import samples
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import accuracy_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dimetric import LDA, NCA, PCA, Kernelized, KNNClassifier, KNNRegressor
from dimetric.classify._class_learner import learns_from_classes
from dimetric.learners._linear import LinearMetric
from dimetric.supervision.labels import Targets

X, y = samples(n=60)
NEW = samples(n=30, seed=1)[0]
Y = np.column_stack([y == 0, X[:, 0] > 0, X[:, 1] + X[:, 2] > 1]).astype(int)


class Correlation(LinearMetric):
    """A learner that weighs features by their covariance with the targets."""

    _accepts_weights = True

    def _learns_from_classes(self):
        return False

    def _fit(self, X, supervision, progress):
        assert isinstance(supervision, Targets)
        values, n = supervision.values.reshape(len(X), -1), len(X)
        w = np.ones(n) if supervision.weights is None else supervision.weights
        centred = values - np.average(values, axis=0, weights=w)
        self.components_ = np.diag(np.abs(X.T @ (w[:, None] * centred)).sum(axis=1) / n)
        self.offset_ = np.zeros(X.shape[1])
        return {"n_components": X.shape[1]}


def test_labels_match_scikit_learn():
    ours, theirs = KNNClassifier(5).fit(X, Y), KNeighborsClassifier(5).fit(X, Y)
    assert_array_equal(ours.predict(NEW), theirs.predict(NEW))
    for mine, expected in zip(ours.predict_proba(NEW), theirs.predict_proba(NEW), strict=True):
        assert_allclose(mine, expected)
    weights = np.arange(30) + 1.0
    truth = Y[:30]
    assert ours.score(NEW, truth) == accuracy_score(truth, theirs.predict(NEW))
    assert_allclose(
        ours.score(NEW, truth, weights),
        accuracy_score(truth, theirs.predict(NEW), sample_weight=weights),
    )


@pytest.mark.parametrize("weights", [None, np.arange(60) % 3 + 0.0], ids=["plain", "weighted"])
def test_each_label_is_an_output(weights):
    model = KNNClassifier(4).fit(X, Y, sample_weight=weights)
    for column, label in enumerate(Y.T):
        single = KNNClassifier(4).fit(X, label, sample_weight=weights)
        assert_array_equal(model.predict(NEW)[:, column], single.predict(NEW))
        assert_array_equal(model.predict()[:, column], single.predict())
        assert_allclose(model.predict_proba()[column], single.predict_proba())
    used = slice(None) if weights is None else weights > 0
    assert model.score() == np.mean(np.all(model.predict() == Y[used], axis=1))


def test_a_label_that_all_samples_have():
    model = KNNClassifier().fit(X, np.column_stack([Y[:, 0], np.ones(60, int)]))
    assert [len(each) for each in model.classes_] == [2, 1]
    assert_array_equal(model.predict(NEW)[:, 1], 1)


@pytest.mark.parametrize(
    "learner",
    [None, PCA(2), Correlation(), make_pipeline(StandardScaler(), Correlation())],
    ids=str,
)
def test_labels_with_learners(learner):
    model = KNNClassifier(learner=learner).fit(X, Y, sample_weight=np.arange(60))
    assert model.predict(NEW).shape == (30, 3)
    assert model.predict().shape == (59, 3)
    assert not learns_from_classes(learner)


@pytest.mark.parametrize("learner", [LDA(), NCA(), make_pipeline(StandardScaler(), NCA())], ids=str)
def test_class_learners_refuse_several_labels(learner):
    with pytest.raises(ValueError, match=r'y has 3 outputs. Use NCA\(cost="jaccard"\)'):
        KNNClassifier(learner=learner).fit(X, Y)
    assert learns_from_classes(learner)


def test_regression_with_a_learner_of_targets():
    target = X[:, 0] + 0.01 * X[:, 1]
    for values in (target, np.column_stack([target, -target])):
        plain, learned = (
            KNNRegressor(learner=each).fit(X, values) for each in (None, Correlation())
        )
        assert learned.score() > plain.score()
        assert learned.predict(NEW).shape == (30, *values.shape[1:])
    weighted = KNNRegressor(learner=Correlation()).fit(X, target, sample_weight=np.arange(60))
    expected = Correlation().fit(X, target, sample_weight=np.arange(60))
    assert_allclose(weighted.learner_.components_, expected.components_)
    assert (
        KNNRegressor(learner=make_pipeline(StandardScaler(), Correlation())).fit(X, target).score()
        > 0.5
    )


@pytest.mark.parametrize(
    "learner", [NCA(), Kernelized(NCA()), make_pipeline(StandardScaler(), LDA())], ids=str
)
def test_regression_with_a_class_learner_names_others(learner):
    with pytest.raises(ValueError, match=r'continuous targets. Use MLKR or NCA\(cost="squared"\)'):
        KNNRegressor(learner=learner).fit(X, X[:, 0])
    with pytest.raises(ValueError, match=r'2 outputs. Use MLKR or NCA\(cost="squared"\)'):
        KNNRegressor(learner=learner).fit(X, X[:, :2])


def test_classes_that_are_numbers_with_a_learner_of_targets():
    assert KNNClassifier(learner=Correlation()).fit(X, y).predict(NEW).shape == (30,)
    with pytest.raises(ValueError, match="Correlation learns from numbers, but y"):
        KNNClassifier(learner=Correlation()).fit(X, y.astype(str))
