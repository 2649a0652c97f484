"""Classifiers and regressors with learners of half-labelled data."""

import numpy as np
import pytest
from estimators import samples
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from weighted import IGNORED_WARNINGS

from dimetric import (
    LDA,
    LMNN,
    MLKR,
    NCA,
    EnergyClassifier,
    KNNClassifier,
    KNNRegressor,
    MultiMetricKNNClassifier,
    NCMCClassifier,
    NCMClassifier,
)

pytestmark = IGNORED_WARNINGS

X, y = samples(n=60)
NEW = samples(n=20, seed=1)[0]
LABELLED = np.arange(len(X)) % 4 != 0
PARTIAL = np.where(LABELLED, y, -1)
ROWS = np.flatnonzero(LABELLED)
LDA_STEPS = make_pipeline(StandardScaler(), LDA(unlabelled=-1))
CLASSIFIERS = [
    KNNClassifier(),
    KNNClassifier(class_weight="balanced"),
    MultiMetricKNNClassifier(max_iter=10),
    NCMClassifier(),
    NCMCClassifier(2, random_state=0),
    EnergyClassifier(),
]


@pytest.mark.parametrize("learner", [LDA(unlabelled=-1), LDA_STEPS], ids=["LDA", "pipeline"])
@pytest.mark.parametrize("model", CLASSIFIERS, ids=str)
def test_all_samples_teach_but_only_labelled_ones_vote(model, learner):
    half = clone(model).set_params(learner=learner).fit(X, PARTIAL)
    assert_array_equal(half.classes_, [0, 1, 2])
    if model.class_weight is None:
        taught = clone(learner).fit(X, PARTIAL)
        assert_allclose(half.learner_.transform(NEW), taught.transform(NEW))
    fixed = FunctionTransformer(half.learner_.transform)
    known = clone(model).set_params(learner=fixed).fit(X[LABELLED], y[LABELLED])
    assert_array_equal(half.predict(NEW), known.predict(NEW))
    if isinstance(model, KNNClassifier):
        assert_array_equal(half.predict_proba(), known.predict_proba())  # leave one out
        assert half.n_samples_fit_ == len(ROWS)
        assert half.score(y=PARTIAL) == half.score() == known.score()
        assert_array_equal(half.kneighbors(NEW)[1], ROWS[known.kneighbors(NEW)[1]])


@pytest.mark.parametrize("reg", [0.0, 0.5])
def test_targets_of_lmnn(reg):
    learner = LMNN(unlabelled=-1, unlabelled_reg=reg, max_iter=20)
    model = EnergyClassifier(learner).fit(X, PARTIAL)
    assert_array_equal(model.targets_, model.learner_.targets_)
    assert_array_equal(model.targets_[~LABELLED], -1)
    known = EnergyClassifier(LMNN(max_iter=20)).fit(X[LABELLED], y[LABELLED])
    if reg == 0:
        assert_allclose(model.energy(NEW), known.energy(NEW), rtol=1e-6)


@pytest.mark.parametrize("outputs", [1, 2])
def test_regressor(outputs):
    target = X[:, 0] if outputs == 1 else X[:, :2]
    partial = target.copy()
    partial[~LABELLED] = -999
    learner = MLKR(unlabelled=-999.0, max_iter=10)
    model = KNNRegressor(learner=learner).fit(X, partial)
    fixed = FunctionTransformer(learner.fit(X, partial).transform)
    known = KNNRegressor(learner=fixed).fit(X[LABELLED], target[LABELLED])
    assert_allclose(model.predict(NEW), known.predict(NEW))
    assert_allclose(model.predict(), known.predict())
    assert model.score(y=partial) == pytest.approx(known.score())


def test_several_outputs():
    J = (X[:, :2] > 0).astype(int)
    partial = np.where(LABELLED[:, None], J, -1)
    learner = NCA(cost="jaccard", unlabelled=-1, max_iter=10)
    model = KNNClassifier(learner=learner).fit(X, partial)
    assert [classes.tolist() for classes in model.classes_] == [[0, 1], [0, 1]]
    assert len(model.predict()) == len(ROWS)


def test_weights_and_string_labels():
    names = np.where(LABELLED, np.array(["a", "b", "c"])[y], "?")
    weights = np.where(np.arange(len(X)) % 5 == 0, 0.0, 1 + np.arange(len(X)) % 3)
    model = KNNClassifier(learner=LDA(unlabelled="?")).fit(X, names, sample_weight=weights)
    assert model.classes_.tolist() == ["a", "b", "c"]
    assert model.n_samples_fit_ == np.sum(LABELLED & (weights > 0))
    taught = LDA(unlabelled="?").fit(X, names, sample_weight=weights)
    assert_allclose(model.learner_.transform(NEW), taught.transform(NEW))


def test_too_few_labelled_samples():
    few = np.where(np.arange(len(X)) < 2, y, -1)
    with pytest.raises(ValueError, match="n_samples=2, the number of labelled samples"):
        KNNClassifier(learner=LDA(unlabelled=-1)).fit(X, few)
    with pytest.raises(ValueError, match="0 of 60 samples have a label and a positive weight"):
        NCMClassifier(learner=LDA(unlabelled=-1)).fit(X, np.full(len(X), -1))
