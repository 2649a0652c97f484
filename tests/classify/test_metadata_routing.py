"""scikit-learn's metadata routing of sample weights and constraints."""

import numpy as np
import pytest
from estimators import samples
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from weighted import FOLDS, IGNORED_WARNINGS, MODELS_WITH_MARKS, Shift

from dimetric import (
    ITML,
    LMNN,
    NCA,
    PCA,
    Kernelized,
    KNNClassifier,
    KNNRegressor,
    NCMClassifier,
)
from dimetric.supervision.pairs import Pairs
from dimetric.supervision.triplets import Triplets

pytestmark = IGNORED_WARNINGS
X, y = samples(n=60)
NEW = samples(n=30, seed=1)[0]
W = np.random.default_rng(0).uniform(0.1, 3, size=60)


@pytest.fixture
def routing():
    with config_context(enable_metadata_routing=True):
        yield


def requests(model):
    """Return the model with requests of weights in fit and score."""
    return clone(model).set_fit_request(sample_weight=True).set_score_request(sample_weight=True)


@pytest.mark.parametrize("model", MODELS_WITH_MARKS, ids=str)
def test_pipelines_and_searches_pass_weights(model, routing):
    model = clone(model)
    if model.learner is not None:
        model.learner.set_fit_request(sample_weight=False)
    name = type(model).__name__.lower()
    pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), requests(model))
    Z, Z_new = (StandardScaler().fit(X).transform(each) for each in (X, NEW))
    expected = clone(model).fit(Z, y, sample_weight=W)
    assert_allclose(pipeline.fit(X, y, sample_weight=W).predict(NEW), expected.predict(Z_new))
    grid = {f"{name}__learner": [model.learner]}
    search = GridSearchCV(pipeline, grid, cv=FOLDS, refit=False, error_score="raise")
    search.fit(X, y, sample_weight=W)
    scores = cross_validate(pipeline, X, y, cv=FOLDS, params={"sample_weight": W})["test_score"]
    for fold, (train, test) in enumerate(FOLDS):
        scaler = StandardScaler().fit(X[train])
        fitted = clone(model).fit(scaler.transform(X[train]), y[train], sample_weight=W[train])
        score = fitted.score(scaler.transform(X[test]), y[test], sample_weight=W[test])
        assert_allclose(search.cv_results_[f"split{fold}_test_score"], score)
        assert_allclose(scores[fold], score)


def test_learners_get_the_weights_they_request(routing):
    for learner, expected in (
        (Shift().set_fit_request(sample_weight=True), W),
        (Shift().set_fit_request(sample_weight=False), None),
    ):
        model = KNNClassifier(learner=learner).fit(X, y, sample_weight=W)
        assert_array_equal(model.learner_.weights_, expected)
        pipeline = make_pipeline(StandardScaler().set_fit_request(sample_weight=True), learner)
        model = KNNRegressor(learner=pipeline).fit(X, y, sample_weight=W)
        assert_array_equal(model.learner_[-1].weights_, expected)
        assert_allclose(model.learner_[0].mean_, np.average(X, axis=0, weights=W))
    with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
        KNNClassifier(learner=Shift()).fit(X, y, sample_weight=W)
    assert KNNClassifier(learner=Shift()).fit(X, y).learner_.weights_ is None


def test_class_weights_reach_only_learners_that_request_weights(routing):
    for learner, weighted in (
        (Shift(), False),
        (Shift().set_fit_request(sample_weight=True), True),
        (make_pipeline(Shift().set_fit_request(sample_weight=True)), True),
    ):
        model = KNNClassifier(learner=learner, class_weight={0: 2}).fit(X, y)
        inner = model.learner_ if isinstance(learner, Shift) else model.learner_[0]
        assert (inner.weights_ is not None) == weighted


def test_routing_of_nested_models(routing):
    learner = make_pipeline(
        StandardScaler().set_fit_request(sample_weight=False),
        Shift().set_fit_request(sample_weight=True),
    )
    model = requests(NCMClassifier(learner))
    scores = cross_validate(
        model, X, y, cv=FOLDS, params={"sample_weight": W}, return_estimator=True
    )
    for each, (train, _) in zip(scores["estimator"], FOLDS, strict=True):
        assert_array_equal(each.learner_[-1].weights_, W[train])
    text = str(model.get_metadata_routing())
    assert "sample_weight" in text
    assert "learner" in text


@pytest.mark.parametrize("learner", [PCA(), NCA(), Kernelized(NCA())], ids=str)
def test_requests_of_learners(learner, routing):
    learner = learner.set_fit_request(pairs=True, triplets=False, sample_weight=True)
    request = learner.get_metadata_routing().fit.requests
    assert request == {"pairs": True, "triplets": False, "sample_weight": True}


@pytest.mark.parametrize("name", ["pairs", "triplets"])
def test_pipelines_pass_constraints(name, routing):
    make = {"pairs": Pairs, "triplets": Triplets}[name]
    constraints = make.from_labels(y, 50, random_state=0)
    learner = ITML(random_state=0) if name == "pairs" else LMNN()
    pipeline = make_pipeline(StandardScaler(), clone(learner).set_fit_request(**{name: True}))
    Z = StandardScaler().fit_transform(X)
    expected = clone(learner).fit(Z, **{name: constraints}).transform(Z)
    assert_allclose(pipeline.fit(X, **{name: constraints}).transform(X), expected)


def test_groups_reach_the_splitter(routing):
    groups = np.arange(60) % 6
    scores = cross_validate(
        requests(KNNClassifier()),
        X,
        y,
        cv=GroupKFold(3),
        params={"sample_weight": W, "groups": groups},
    )
    for score, (train, test) in zip(
        scores["test_score"], GroupKFold(3).split(X, y, groups), strict=True
    ):
        model = KNNClassifier().fit(X[train], y[train], sample_weight=W[train])
        assert_allclose(score, model.score(X[test], y[test], W[test]))


def test_without_routing_weights_reach_fit():
    pipeline = make_pipeline(StandardScaler(), KNNClassifier(learner=Shift()))
    pipeline.fit(X, y, knnclassifier__sample_weight=W)
    assert_array_equal(pipeline[-1].learner_.weights_, W)
    search = GridSearchCV(KNNClassifier(), {"n_neighbors": [3]}, cv=FOLDS)
    search.fit(X, y, sample_weight=W)
    expected = KNNClassifier().fit(X, y, sample_weight=W)
    assert_allclose(search.predict_proba(NEW), expected.predict_proba(NEW))
