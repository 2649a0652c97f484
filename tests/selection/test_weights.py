"""Sample weights in cross-validation, searches and k-NN scores."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from estimators import samples
from numpy.testing import assert_allclose
from scipy import sparse
from sklearn import config_context
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from weighted import FOLDS, IGNORED_WARNINGS, MODELS_WITH_MARKS

from dimetric import (
    LDA,
    PCA,
    KNNClassifier,
    NCMClassifier,
)
from dimetric.selection import (
    choose_dimension,
    cross_validate,
    knn_scores,
    metadata_cross_validate,
    tune,
    tune_knn,
)

pytestmark = IGNORED_WARNINGS
X, y = samples(n=60)
W = np.random.default_rng(0).uniform(0.1, 3, size=60) * (np.arange(60) % 7 > 0)


class WeightedMean(TransformerMixin, BaseEstimator):
    """A map whose metadata tell the mean weight."""

    def __init__(self, n_components=2):
        self.n_components = n_components

    def fit(self, X, y=None, sample_weight=None):
        self.mean_weight_ = np.nan if sample_weight is None else float(np.mean(sample_weight))
        return self

    def transform(self, X):
        return np.asarray(X)[:, : self.n_components]

    def metadata(self):
        return {
            "mean_weight": self.mean_weight_,
            "n_components": self.n_components,
            "accumulated_eigenvalues": self.n_components / self.mean_weight_,
        }


def expected_scores(model):
    """Return the training and test scores of each fold by a plain loop."""
    scores = []
    for train, test in FOLDS:
        fitted = clone(model).fit(X[train], y[train], sample_weight=W[train])
        loo = hasattr(model, "kneighbors")
        of_train = (None, None) if loo else (X[train], y[train])
        scores.append(
            (
                fitted.score(*of_train, sample_weight=W[train]),
                fitted.score(X[test], y[test], sample_weight=W[test]),
            )
        )
    return np.transpose(scores)


@pytest.mark.parametrize("model", MODELS_WITH_MARKS, ids=str)
def test_cross_validate(model):
    result = cross_validate(model, X, y, sample_weight=W, cv=FOLDS)
    expected = expected_scores(model)
    assert_allclose(result.train_score, expected[0])
    assert_allclose(result.test_score, expected[1])


@pytest.mark.parametrize("routing", [False, True])
def test_cross_validate_a_pipeline(routing):
    model = make_pipeline(StandardScaler(), KNNClassifier(learner=WeightedMean()))
    if routing:
        with config_context(enable_metadata_routing=True):
            model[0].set_fit_request(sample_weight=True)
            model[-1].set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
            model[-1].learner.set_fit_request(sample_weight=True)
    with config_context(enable_metadata_routing=routing):
        found = cross_validate(model, X, y, sample_weight=W, cv=FOLDS)
    for score, (train, test) in zip(found.test_score, FOLDS, strict=True):
        scaler = StandardScaler().fit(X[train], sample_weight=W[train])
        Z, Z_test = scaler.transform(X[train])[:, :2], scaler.transform(X[test])[:, :2]
        fitted = KNNClassifier().fit(Z, y[train], sample_weight=W[train])
        assert_allclose(score, fitted.score(Z_test, y[test], W[test]))


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, sparse.csr_array, np.ndarray.tolist])
def test_kinds_of_samples(make):
    result = cross_validate(KNNClassifier(), make(X), y, sample_weight=W, cv=FOLDS)
    assert_allclose(result.test_score, expected_scores(KNNClassifier())[1])


def test_estimators_without_weights_are_fitted_without_them():
    model = KNeighborsClassifier()
    scores = cross_validate(model, X, y, sample_weight=W, cv=FOLDS).test_score
    for score, (train, test) in zip(scores, FOLDS, strict=True):
        fitted = clone(model).fit(X[train], y[train])
        assert_allclose(score, fitted.score(X[test], y[test], sample_weight=W[test]))


def test_tune():
    grid = {"n_neighbors": [1, 3, 9], "weights": ["uniform", "distance"]}
    result = tune(KNNClassifier(), X, y, grid, sample_weight=W, cv=FOLDS)
    for params, mean in zip(
        result.cv_results_["params"], result.cv_results_["mean_test_score"], strict=True
    ):
        assert_allclose(mean, expected_scores(KNNClassifier(**params))[1].mean())
    best = KNNClassifier(**result.best_params_).fit(X, y, sample_weight=W)
    assert_allclose(result.best_estimator_.predict_proba(X), best.predict_proba(X))
    found = tune(KNNClassifier(), X, y, grid, sample_weight=W, cv=FOLDS, n_iter=2, random_state=0)
    assert len(found.cv_results_["params"]) == 2


def test_tune_a_learner_and_its_metadata():
    grid = {"n_components": [1, 3]}
    result = tune(WeightedMean(), X, y, grid, sample_weight=W, cv=FOLDS)
    for k, mean in zip((1, 3), result.cv_results_["mean_test_score"], strict=True):
        expected = expected_scores(KNNClassifier(learner=WeightedMean(k)))[1].mean()
        assert_allclose(mean, expected)
    assert_allclose(result.best_estimator_.learner_.mean_weight_, W[W > 0].mean())
    result = tune(
        WeightedMean(),
        X,
        y,
        grid,
        criterion="mean_weight",
        greater_is_better=True,
        sample_weight=W,
        cv=FOLDS,
    )
    means = [W[train].mean() for train, _ in FOLDS]
    assert_allclose(result.cv_results_["mean_test_score"], np.mean(means))
    metadata = metadata_cross_validate(WeightedMean(), X, y, sample_weight=W, cv=FOLDS)
    assert_allclose(metadata["mean_weight"], means)


def test_tune_knn():
    result = tune_knn(PCA(), X, y, {"n_components": [1, 2]}, sample_weight=W, cv=FOLDS)
    for params, mean in zip(
        result.cv_results_["params"], result.cv_results_["mean_test_score"], strict=True
    ):
        model = KNNClassifier(params["n_neighbors"], learner=PCA(params["n_components"]))
        assert_allclose(mean, expected_scores(model)[1].mean())
    assert result.best_estimator_.n_samples_fit_ == np.sum(W > 0)


def test_knn_scores():
    new, labels = samples(n=30, seed=1)
    weights = np.arange(30) + 1.0
    scores = knn_scores(
        [None, LDA()],
        X,
        y,
        new,
        labels,
        n_neighbors=[1, 4],
        sample_weight=W,
        sample_weight_test=weights,
    )
    for score, (learner, k) in zip(
        scores, [(each, k) for each in (None, LDA()) for k in (1, 4)], strict=True
    ):
        model = KNNClassifier(k, learner=learner).fit(X, y, sample_weight=W)
        assert_allclose(score.train, model.score(sample_weight=W))
        assert_allclose(score.test, model.score(new, labels, weights))


def test_choose_dimension():
    k = choose_dimension(WeightedMean(), X, y, sample_weight=W, cv=FOLDS)
    grid = {"n_components": [1, 2, 3, 4]}
    assert (
        k
        == tune(WeightedMean(), X, y, grid, sample_weight=W, cv=FOLDS).best_params_["n_components"]
    )

    class FourAxes(WeightedMean):
        def metadata(self):
            k = self.n_components or 4
            return {"n_components": k, "accumulated_eigenvalues": min(1, k / 4 * self.mean_weight_)}

    assert choose_dimension(FourAxes(), X, threshold=0.9, sample_weight=np.full(60, 2.0)) == 2


@pytest.mark.parametrize(
    "call",
    [
        lambda w: cross_validate(NCMClassifier(), X, y, sample_weight=w),
        lambda w: metadata_cross_validate(PCA(), X, y, sample_weight=w),
        lambda w: tune(NCMClassifier(), X, y, {"learner": [None]}, sample_weight=w),
        lambda w: tune_knn(None, X, y, sample_weight=w),
        lambda w: knn_scores([None], X, y, sample_weight=w),
        lambda w: choose_dimension(PCA(), X, y, sample_weight=w),
        lambda w: choose_dimension(PCA(), X, threshold=0.5, sample_weight=w),
    ],
)
def test_bad_weights(call):
    for weights, sentence in (
        (-np.ones(60), "must not be negative"),
        (np.ones(59), "sample_weight has shape"),
        (np.zeros(60), "All sample weights are zero"),
    ):
        with pytest.raises(ValueError, match=sentence):
            call(weights)


@pytest.mark.slow
def test_several_processes():
    one, two = (
        tune_knn(LDA(), X, y, sample_weight=W, cv=FOLDS, n_jobs=n_jobs) for n_jobs in (None, 2)
    )
    assert_allclose(one.cv_results_["mean_test_score"], two.cv_results_["mean_test_score"])
