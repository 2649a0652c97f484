"""Softmax votes of all training samples, compared with loops."""

import numpy as np
import pytest
from estimators import host, samples
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import log_loss

from dimetric import LDA, KNNClassifier, KNNRegressor, MultiMetricKNNClassifier, load, save
from dimetric.classify import _softmax
from dimetric.export import to_numpy
from dimetric.selection import knn_scores

X, y = samples(n=60)
NEW, NEW_Y = samples(n=30, seed=1)
W = np.random.default_rng(0).uniform(0.1, 3, size=len(X))


def naive_votes(new, values, T, weights=None, points=X, leave_out=False):
    """Return the weighted average of the values of the points, for each row of `new`."""
    weights = np.ones(len(points)) if weights is None else weights
    averages = []
    for i, x in enumerate(new):
        w = weights * np.exp(-np.sum((points - x) ** 2, axis=1) / T)
        if leave_out:
            w[i] = 0
        averages.append(w @ values / w.sum())
    return np.array(averages)


@pytest.mark.parametrize("weights", [None, W], ids=["equal", "weighted"])
@pytest.mark.parametrize("T", [0.5, 2.0, 100.0])
def test_votes_match_the_formula(T, weights):
    model = KNNClassifier(weights="softmax", temperature=T).fit(X, y, sample_weight=weights)
    assert model.temperature_ == T
    assert_allclose(model.predict_proba(NEW), naive_votes(NEW, np.eye(3)[y], T, weights))
    left_out = naive_votes(X, np.eye(3)[y], T, weights, leave_out=True)
    assert_allclose(model.predict_proba(), left_out)
    assert_array_equal(model.predict(), left_out.argmax(axis=1))
    model = KNNRegressor(weights="softmax", temperature=T).fit(X, X[:, :2], sample_weight=weights)
    assert_allclose(model.predict(NEW), naive_votes(NEW, X[:, :2], T, weights))


def test_the_learned_distance_is_used():
    model = KNNClassifier(learner=LDA(), weights="softmax", temperature=1).fit(X, y)
    Z = LDA().fit(X, y)
    expected = naive_votes(Z.transform(NEW), np.eye(3)[y], 1, points=Z.transform(X))
    assert_allclose(model.predict_proba(NEW), expected)


def test_other_metrics():
    model = KNNClassifier(metric="cityblock", weights="softmax", temperature=2).fit(X, y)
    D = np.abs(NEW[:, None] - X).sum(axis=2)
    votes = np.exp(-(D**2) / 2) @ np.eye(3)[y]
    assert_allclose(model.predict_proba(NEW), votes / votes.sum(axis=1, keepdims=True))
    within = np.abs(X[:, None] - X).sum(axis=2)
    given = KNNClassifier(metric="precomputed", weights="softmax", temperature=2).fit(within, y)
    assert_allclose(given.predict_proba(D), model.predict_proba(NEW))


def naive_log_loss(T, weights=None):
    P = naive_votes(X, np.eye(3)[y], T, weights, leave_out=True)
    return np.average(-np.log(P[np.arange(len(X)), y]), weights=weights)


@pytest.mark.parametrize("weights", [None, W], ids=["equal", "weighted"])
def test_the_temperature_is_the_largest_of_small_log_loss(weights):
    T = KNNClassifier(weights="softmax").fit(X, y, sample_weight=weights).temperature_
    best = min(naive_log_loss(each, weights) for each in np.geomspace(0.3, 1000, 300))
    assert naive_log_loss(T, weights) <= best + 2.01 / len(X)
    assert naive_log_loss(1.5 * T, weights) > best + 2 / len(X)


def test_the_temperature_of_regression_minimises_the_squared_error():
    target = X[:, 0] + X[:, 1] ** 2
    T = KNNRegressor(weights="softmax").fit(X, target).temperature_

    def loss(T):
        return np.mean((naive_votes(X, target, T, leave_out=True) - target) ** 2)

    assert loss(T) < min(loss(each) for each in np.geomspace(0.3, 1000, 300)) + 1e-2


def test_the_temperature_scales_with_squared_units():
    T = KNNClassifier(weights="softmax").fit(X, y).temperature_
    assert_allclose(KNNClassifier(weights="softmax").fit(1e3 * X, y).temperature_, 1e6 * T)


def test_many_samples_leave_some_out(monkeypatch):
    many, classes = samples(n=1000)
    every = KNNClassifier(weights="softmax").fit(many, classes).temperature_
    monkeypatch.setattr(_softmax, "MAX_LEFT_OUT_DISTANCES", 200_000)
    monkeypatch.setattr(_softmax, "MAX_DISTANCES_PER_BLOCK", 10_000)
    some = KNNClassifier(weights="softmax").fit(many, classes)
    assert some.temperature_ != every
    assert_allclose(np.log(some.temperature_), np.log(every), atol=1)
    monkeypatch.setattr(_softmax, "MAX_DISTANCES_PER_BLOCK", 2**21)
    whole = some.predict_proba(NEW)
    monkeypatch.setattr(_softmax, "MAX_DISTANCES_PER_BLOCK", 10_000)
    assert_allclose(some.predict_proba(NEW), whole)


def test_separated_classes_do_not_make_the_vote_sharp():
    """The log loss of the training samples is nearly 0 for a wide range of temperatures."""
    far = X + 100 * np.eye(4)[y]
    T = KNNClassifier(weights="softmax").fit(far, y).temperature_
    assert T > 10


def test_several_outputs():
    outputs = np.stack([y, y == 1], axis=1)
    model = KNNClassifier(weights="softmax", temperature=2).fit(X, outputs)
    for output, P in zip(outputs.T, model.predict_proba(NEW), strict=True):
        single = KNNClassifier(weights="softmax", temperature=2).fit(X, output)
        assert_allclose(P, single.predict_proba(NEW))
    assert KNNClassifier(weights="softmax").fit(X, outputs).temperature_ > 0


def test_unlabelled_samples_do_not_vote():
    some = np.where(np.arange(60) % 4 == 0, -1, y)
    model = KNNClassifier(learner=LDA(unlabelled=-1), weights="softmax").fit(X, some)
    assert model.n_samples_fit_ == 45
    assert_allclose(model.predict_proba(NEW).sum(axis=1), 1)
    assert list(model.classes_) == [0, 1, 2]


def test_n_neighbors_has_no_effect():
    models = [KNNClassifier(k, weights="softmax").fit(X, y) for k in (1, 3, 1000)]
    for model in models[1:]:
        assert_array_equal(model.predict_proba(NEW), models[0].predict_proba(NEW))


def test_refits_forget_the_temperature():
    model = KNNClassifier(weights="softmax").fit(X, y)
    assert not hasattr(model.set_params(weights="uniform").fit(X, y), "temperature_")


@pytest.mark.parametrize("cls", [KNNClassifier, KNNRegressor])
def test_degenerate_samples(cls):
    assert cls(weights="softmax").fit(X[:1], y[:1]).predict(NEW[:1]) == y[0]
    equal = cls(weights="softmax").fit(np.ones((6, 2)), [0, 1, 1, 1, 1, 1])
    assert equal.temperature_ == 1
    with pytest.raises(ValueError, match="require at least 2 training samples"):
        cls(weights="softmax").fit(X[:1], y[:1]).predict()


def test_probabilities_are_better_than_those_of_few_neighbours():
    many, classes = samples(n=300)
    losses = [
        log_loss(NEW_Y, KNNClassifier(5, weights=weights).fit(many, classes).predict_proba(NEW))
        for weights in ("distance", "softmax")
    ]
    assert losses[1] < losses[0]


def test_arrays_of_other_namespaces(namespace):
    expected = KNNClassifier(weights="softmax").fit(X, y)
    model = KNNClassifier(weights="softmax").fit(namespace.asarray(X), namespace.asarray(y))
    assert_allclose(model.temperature_, expected.temperature_)
    P = model.predict_proba(namespace.asarray(NEW))
    assert_allclose(host(P), expected.predict_proba(NEW))


def test_refusals(tmp_path):
    for T in (0, -1.0, "auto"):
        with pytest.raises(ValueError, match="'temperature' parameter"):
            KNNClassifier(weights="softmax", temperature=T).fit(X, y)
    with pytest.raises(ValueError, match="'weights' parameter"):
        MultiMetricKNNClassifier(weights="softmax").fit(X, y)
    with pytest.raises(ValueError, match="no vote of the k nearest"):
        knn_scores([None], X, y, weights="softmax")
    with pytest.raises(ValueError, match="'softmax' lets all training samples vote"):
        to_numpy(KNNClassifier(weights="softmax").fit(X, y), tmp_path / "model.py")
    model = KNNClassifier(weights="softmax").fit(X, y)
    del model.temperature_
    save(model, tmp_path / "model.dimetric")
    with pytest.raises(ValueError, match="temperature of KNNClassifier must be positive"):
        load(tmp_path / "model.dimetric")


def test_a_few_outliers_do_not_choose_the_temperature(rng):
    A = rng.normal(size=(120, 2))
    A[60:, 0] += 6
    labels = np.repeat([0, 1], 60)
    A[[0, 60]] = [[60, 0], [-60, 0]]  # far from all other samples, and nearest to the other class
    model = KNNClassifier(weights="softmax").fit(A, labels)
    assert model.temperature_ < 100
    assert model.score(A[1:60], labels[1:60]) > 0.95
