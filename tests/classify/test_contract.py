"""The contract of all classifiers and regressors that use a learned distance."""

import copy
import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from estimators import MODELS, each_check, host, samples
from numpy.testing import assert_allclose, assert_array_equal
from sklearn import config_context
from sklearn.base import clone, is_classifier
from sklearn.decomposition import PCA as TheirPCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from dimetric import (
    LDA,
    PCA,
    EnergyClassifier,
    Isomap,
    KNNClassifier,
    KNNRegressor,
    MetricEnsembleClassifier,
    MultiMetricKNNClassifier,
    NCMCClassifier,
    NCMClassifier,
)
from dimetric.classify._base import DistanceClassifier, DistanceEstimator
from dimetric.classify._neighbors import NeighborsEstimator
from dimetric.classify.centroid import CentroidClassifier

CLASSIFIERS = [model for model in MODELS if is_classifier(model)]
each = pytest.mark.parametrize("model", MODELS, ids=str)
each_classifier = pytest.mark.parametrize("model", CLASSIFIERS, ids=str)

pytestmark = [
    pytest.mark.filterwarnings("ignore:.* did not converge:sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:.*samples have fewer than:UserWarning"),
    pytest.mark.filterwarnings("ignore:.*classes have fewer distinct samples:UserWarning"),
    pytest.mark.filterwarnings("ignore:.*classes have a single sample:UserWarning"),
    pytest.mark.filterwarnings("ignore:y has only one class:UserWarning"),
]
X, y = samples(n=60)
NEW = samples(n=30, seed=1)[0]


def fitted(model, X=X, y=y):
    return clone(model).fit(X, y)


TWINS = "A copy of a sample takes the place of another neighbour, but a weight of 2 does not."
NO_VOTES = "A class gets no votes without samples among the neighbours, whatever its weight."
SAME_CENTROID = "The weight of a class does not move its centroids."


def expected_failures(model):
    """Return the checks of scikit-learn that a model fails, with the reasons."""
    if isinstance(model, CentroidClassifier):
        return {"check_class_weight_classifiers": SAME_CENTROID}
    failures = {
        f"check_sample_weight_equivalence_on_{kind}_data": TWINS for kind in ("dense", "sparse")
    }
    if type(model) is KNNClassifier and model.weights != "softmax":
        failures["check_class_weight_classifiers"] = NO_VOTES
    return failures


@each_check(
    [
        KNNClassifier(),
        KNNClassifier(weights="distance", learner=PCA()),
        KNNClassifier(weights="softmax"),
        KNNRegressor(),
        KNNRegressor(weights="softmax"),
        NCMClassifier(),
        NCMCClassifier(2, random_state=0),
        EnergyClassifier(PCA()),
        MetricEnsembleClassifier(n_estimators=2, random_state=0),
        MultiMetricKNNClassifier(2, max_iter=3),
    ]
)
def test_scikit_learn_checks(estimator, check, request):
    """Each check raises an error if the estimator does not pass it."""
    reason = expected_failures(estimator).get(check.func.__name__)
    if reason is not None:
        request.applymarker(pytest.mark.xfail(reason=reason, strict=True))
    check(estimator)


@each
def test_default_constructible(model):
    assert type(model)().learner is None
    assert clone(model).get_params().keys() == model.get_params().keys()


@each
def test_pickle_and_copy(model):
    model = fitted(model)
    for again in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert_array_equal(again.predict(NEW), model.predict(NEW))


@each
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_predictions_are_in_the_namespace_of_X(model, namespace, dtype):
    data = namespace.asarray(X.astype(dtype)), namespace.asarray(y)
    new = namespace.asarray(NEW.astype(dtype))
    expected = fitted(model, X.astype(dtype)).predict(NEW.astype(dtype))
    result = fitted(model, *data)
    predicted = result.predict(new)
    assert isinstance(predicted, type(new))
    assert_allclose(host(predicted), expected, rtol=1e-4)
    # A model fitted to arrays of one namespace predicts for arrays of another.
    assert_allclose(host(fitted(model, X.astype(dtype)).predict(new)), expected, rtol=1e-4)
    assert_allclose(result.predict(NEW.astype(dtype)), expected, rtol=1e-4)
    if is_classifier(model):
        assert result.score(new, namespace.asarray(y[:30])) == np.mean(expected == y[:30])
    if hasattr(model, "predict_proba"):
        probabilities = result.predict_proba(new)
        assert isinstance(probabilities, type(new))
        assert_allclose(host(probabilities), fitted(model).predict_proba(NEW), atol=1e-3)


@each
@pytest.mark.parametrize("library", [pd, pl])
def test_data_frames(model, library):
    frame = library.DataFrame(X, columns=list("abcd")) if library is pd else pl.DataFrame(X)
    new = library.DataFrame(NEW, columns=list("abcd")) if library is pd else pl.DataFrame(NEW)
    result = fitted(model, frame)
    assert_allclose(result.predict(new), fitted(model).predict(NEW))
    assert list(result.feature_names_in_) == list(frame.columns)
    with config_context(transform_output="pandas"):
        assert_allclose(fitted(model, frame).predict(new), result.predict(new))


@each_classifier
def test_labels_of_any_kind(model):
    expected = fitted(model).predict(NEW)
    for names in (np.array(["a", "b", "c"]), np.array([-5, 2, 9]), np.array([0.5, 1.5, 2.5])):
        if names.dtype.kind == "f":
            names = np.array([1.0, 2.0, 4.0])
        named = fitted(model, X, names[y])
        assert_array_equal(named.classes_, names)
        assert_array_equal(named.predict(NEW), names[expected])


@each
def test_row_order_does_not_matter(model):
    order = np.random.default_rng(0).permutation(len(X))
    result = fitted(model, X[order], y[order]).predict(NEW)
    assert_allclose(result, fitted(model).predict(NEW), rtol=1e-6)


@each
def test_fit_does_not_change_inputs_or_parameters(model):
    before = X.copy(), y.copy(), clone(model).get_params()
    result = fitted(model)
    result.predict(NEW)
    assert_array_equal(X, before[0])
    assert_array_equal(y, before[1])
    assert str(result.get_params()) == str(before[2])
    if model.learner is not None:
        assert result.learner_ is not result.learner
        assert not hasattr(result.learner, "n_features_in_")


@pytest.mark.parametrize(
    "model", [model for model in MODELS if hasattr(model, "predict_proba")], ids=str
)
def test_probabilities_sum_to_1_and_agree_with_predictions(model):
    model = fitted(model)
    probabilities = model.predict_proba(NEW)
    assert probabilities.shape == (30, 3)
    assert_allclose(probabilities.sum(axis=1), 1)
    assert_array_equal(model.classes_[probabilities.argmax(axis=1)], model.predict(NEW))


def takes_any_learner(model):
    """Return False if the model fits a default learner, or fits learners to some features."""
    if isinstance(model, MetricEnsembleClassifier):
        return False
    return model.learner is not None or not isinstance(model, EnergyClassifier)


@pytest.mark.parametrize("model", list(filter(takes_any_learner, MODELS)), ids=str)
def test_learner_can_be_any_transformer(model):
    learner = make_pipeline(StandardScaler(), TheirPCA(2))
    Z = learner.fit_transform(X)
    new = learner.transform(NEW)
    result = clone(model).set_params(learner=learner).fit(X, y).predict(NEW)
    plain = clone(model).set_params(learner=PCA(2) if isinstance(model, EnergyClassifier) else None)
    assert_allclose(result, plain.fit(Z, y).predict(new))


def test_learner_can_be_an_embedding():
    model = KNNClassifier(1, learner=Isomap(n_neighbors=20)).fit(X, y)
    assert_allclose(host(model._points), model.learner_.embedding_)
    assert model.predict(NEW).shape == (30,)


BAD = {
    "huge": (lambda: (1e300 * X, y), "float64 can represent squares only if.*Rescale X"),
    "tiny": (lambda: (1e-300 * X, y), "float64 can represent squares only if.*Rescale X"),
    "NaN": (lambda: (np.where(X > 3, np.nan, X), y), "contains NaN"),
    "lengths": (lambda: (X, y[:-1]), "inconsistent numbers of samples"),
    "no y": (lambda: (X, None), "requires y to be passed"),
    "1-D": (lambda: (X[:, 0], y), "Expected 2D array"),
    "no samples": (lambda: (X[:0], y[:0]), "0 sample"),
    "strings": (lambda: (np.full((60, 4), "long"), y), "could not convert string"),
}


@each
@pytest.mark.parametrize("row", BAD)
def test_bad_samples(model, row):
    make, sentence = BAD[row]
    with pytest.raises(ValueError, match=sentence):
        fitted(model, *make())


@each_classifier
def test_continuous_labels_raise(model):
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        fitted(model, X, X[:, 0])


@each
def test_bad_parameters(model):
    with pytest.raises(ValueError, match=r"'learner' parameter .* must be"):
        clone(model).set_params(learner="LDA").fit(X, y)
    with pytest.raises(ValueError, match=r"X has 3 features, but .* is expecting 4"):
        fitted(model).predict(NEW[:, :3])
    if "n_neighbors" in model.get_params():
        with pytest.raises(ValueError, match="'n_neighbors' parameter"):
            clone(model).set_params(n_neighbors=0).fit(X, y)


@each_classifier
def test_score_is_the_weighted_accuracy(model):
    model = fitted(model)
    correct = model.predict(NEW) == y[:30]
    weights = np.arange(30) + 1.0
    assert model.score(NEW, y[:30]) == np.mean(correct)
    assert_allclose(model.score(NEW, y[:30], weights), np.average(correct, weights=weights))
    assert model.score(NEW, y[:30].astype(object)) == np.mean(correct)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.score(NEW, y[:29])
    with pytest.raises(
        ValueError, match="y has string labels, but the predicted labels are numeric"
    ):
        model.score(NEW, y[:30].astype(str))
    with pytest.raises(ValueError, match="requires the true labels y"):
        model.score(NEW, None)


@each_classifier
def test_one_class(model):
    if isinstance(model.learner, LDA):
        with pytest.raises(ValueError, match="at least 2 classes"):
            fitted(model, X, np.zeros(60))
    elif isinstance(model, NCMCClassifier):
        assert set(clone(model).set_params(n_centroids=2).fit(X, np.ones(60)).predict(NEW)) == {1}
    else:
        assert set(fitted(model, X, np.ones(60)).predict(NEW)) == {1}


@each
def test_fit_prints_nothing(model, capfd):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted(model).predict(NEW)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    ("base", "method"),
    [
        (DistanceEstimator, "fit"),
        (NeighborsEstimator, "fit"),
        (DistanceClassifier, "_class_scores"),
        (CentroidClassifier, "_clusters"),
    ],
)
def test_base_classes_are_abstract(base, method):
    with pytest.raises(TypeError, match=f"abstract.*{method}"):
        base()
