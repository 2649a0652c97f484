"""Ensembles of learned distances, compared with loops over their members."""

import logging

import numpy as np
import pytest
from estimators import samples
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist, pdist
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from weighted import Shift

from dimetric import (
    KDA,
    KPCA,
    LDA,
    NCA,
    PCA,
    KNNClassifier,
    MetricEnsembleClassifier,
    load,
    save,
)
from dimetric.advice._apply import Coordinates
from dimetric.advice._by_name import learner_by_name
from dimetric.classify import _out_of_bag, _softmax
from dimetric.classify._ensemble_members import draw_member, rows_by_class
from dimetric.data._features import FeatureBlock
from dimetric.export import to_numpy

X, y = samples(n=60)
NEW, NEW_Y = samples(n=30, seed=1)
W = np.random.default_rng(0).uniform(0.1, 3, size=len(X))
SMALL = MetricEnsembleClassifier(LDA(), n_estimators=5, max_features=3, random_state=0)


def vote(points, new, T, weights=None, leave_out=False):
    """Return the fractions of the votes of all points."""
    kernel = np.exp(-(cdist(new, points) ** 2) / (T * np.mean(pdist(points) ** 2)))
    if leave_out:
        np.fill_diagonal(kernel, 0)
    votes = (kernel if weights is None else kernel * weights) @ np.eye(3)[y]
    return votes / votes.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("weights", [None, W], ids=["equal", "weighted"])
def test_probabilities_are_the_mean_of_softmax_votes(weights):
    model = clone(SMALL).fit(X, y, sample_weight=weights)
    members = list(zip(model.estimators_, model.estimators_features_, strict=True))
    assert len(members) == 5
    expected = [
        vote(
            learner.transform(X[:, used]),
            learner.transform(NEW[:, used]),
            model.temperature_,
            weights,
        )
        for learner, used in members
    ]
    assert_allclose(model.predict_proba(NEW), np.mean(expected, axis=0))
    assert_array_equal(model.predict(NEW), np.mean(expected, axis=0).argmax(axis=1))


def test_one_member_of_everything_is_a_softmax_vote():
    model = MetricEnsembleClassifier(
        LDA(), n_estimators=1, max_features=1.0, max_samples=1.0, temperature=2, random_state=0
    )
    T = 2 * np.mean(pdist(LDA().fit_transform(X, y)) ** 2)
    single = KNNClassifier(learner=LDA(), weights="softmax", temperature=T).fit(X, y)
    assert_allclose(model.fit(X, y).predict_proba(NEW), single.predict_proba(NEW))
    assert not hasattr(model, "oob_score_")


@pytest.mark.parametrize("bootstrap", [False, True])
def test_out_of_bag_results(bootstrap):
    """Refit each member to its draw, and let it classify the other samples."""
    model = clone(SMALL).set_params(bootstrap=bootstrap, n_estimators=8).fit(X, y)
    total, counts = np.zeros((60, 3)), np.zeros(60)
    for learner, used in zip(model.estimators_, model.estimators_features_, strict=True):
        Z = learner.transform(X[:, used])
        P = vote(Z, Z, model.temperature_, leave_out=True)
        # The offset of LDA is the weighted mean of the samples that it was fitted to.
        out = left_out_of(learner, used, bootstrap, model)
        total[out] += P[out]
        counts[out] += 1
    known = counts > 0
    P = total[known] / counts[known][:, None]
    assert_allclose(model.oob_decision_function_[known], P)
    assert np.all(np.isnan(model.oob_decision_function_[~known]))
    assert model.oob_score_ == np.mean(P.argmax(axis=1) == y[known])


def left_out_of(learner, used, bootstrap, model):
    """Return the samples that a member was not fitted to, found by drawing again."""
    seeds = np.random.RandomState(0).randint(2**31 - 1, size=8)
    draws = [draw_member(rows_by_class(X, y), 3, 4, 0.8, bootstrap, int(s)) for s in seeds]
    number = [each is learner for each in model.estimators_].index(True)
    assert_array_equal(draws[number].columns, used)
    return np.setdiff1d(np.arange(60), draws[number].rows)


def test_learners_are_fitted_to_their_draw():
    rows = draw_member([np.arange(20), np.arange(20, 60)], 2, 4, 0.5, False, 3).rows
    assert len(rows) == len(set(rows)) == 30
    assert np.sum(rows < 20) == 10
    drawn = draw_member([np.arange(20), np.arange(20, 60)], 2, 4, 1.0, True, 3)
    assert drawn.counts.sum() == 60
    assert 25 < len(drawn.rows) < 50
    few = draw_member([np.arange(2), np.arange(2, 60)], 2, 4, 0.1, False, 3).rows
    assert_array_equal(few[:2], [0, 1])


def test_the_temperature_has_the_smallest_out_of_bag_log_loss():
    model = clone(SMALL).fit(X, y)

    def loss(T):
        P = clone(SMALL).set_params(temperature=T).fit(X, y).oob_decision_function_
        known = ~np.isnan(P[:, 0])
        return -np.mean(np.log(np.maximum(P[known, y[known]], 1e-3)))

    best = loss(model.temperature_)
    assert all(best <= loss(model.temperature_ * factor) for factor in (0.25, 0.5, 2, 4))


def test_a_sample_of_weight_0_is_left_out():
    weights = np.where(np.arange(60) % 3 == 0, 0, 1.0)
    model = clone(SMALL).fit(X, np.where(weights > 0, y, 7), sample_weight=weights)
    assert_array_equal(model.classes_, np.unique(y[weights > 0]))
    assert np.all(np.isnan(model.oob_decision_function_[weights == 0]))
    without = clone(SMALL).fit(X[weights > 0], y[weights > 0])
    assert_allclose(model.predict_proba(NEW), without.predict_proba(NEW))


def test_weights_reach_the_learner():
    model = MetricEnsembleClassifier(Shift(), n_estimators=2, random_state=0)
    model.fit(X, y, sample_weight=W)
    for learner in model.estimators_:
        assert set(learner.weights_) <= set(W)
    doubled = clone(model).set_params(bootstrap=True).fit(X, y)
    assert doubled.estimators_[0].weights_.max() >= 2


def test_unlabelled_samples_only_teach_the_learner():
    some = np.where(np.arange(60) % 4 == 0, -1, y)
    learner = LDA(unlabelled=-1)
    for each in (learner, [learner, PCA()]):
        model = MetricEnsembleClassifier(each, n_estimators=4, random_state=0).fit(X, some)
        assert_array_equal(model.classes_, [0, 1, 2])
        assert np.all(np.isnan(model.oob_decision_function_[some == -1]))


def test_learners_are_used_in_turn():
    model = MetricEnsembleClassifier([LDA(), PCA(2)], n_estimators=3, random_state=0).fit(X, y)
    assert [type(each) for each in model.estimators_] == [LDA, PCA, LDA]


def test_importances():
    noise = np.random.default_rng(0).normal(size=(60, 3))
    both = np.column_stack([noise, 4 * X[:, :2]])
    model = MetricEnsembleClassifier(random_state=0).fit(both / both.std(axis=0), y)
    assert_allclose(model.feature_importances_.sum(), 1)
    assert set(np.argsort(model.feature_importances_)[-2:]) == {3, 4}
    scaled = make_pipeline(StandardScaler(), NCA(init="identity", reg=0.02, max_iter=10))
    again = MetricEnsembleClassifier(scaled, random_state=0)
    with pytest.warns(ConvergenceWarning):
        again.fit(both, y)
    assert set(np.argsort(again.feature_importances_)[-2:]) == {3, 4}
    kernel = MetricEnsembleClassifier(KPCA(2), n_estimators=2, random_state=0).fit(X, y)
    assert not hasattr(kernel, "feature_importances_")
    mixed = MetricEnsembleClassifier([KPCA(2), LDA()], n_estimators=4, random_state=0).fit(X, y)
    assert_allclose(mixed.feature_importances_.sum(), 1)


def test_max_seconds_keeps_at_least_one_member():
    model = clone(SMALL).set_params(max_seconds=0).fit(X, y)
    assert len(model.estimators_) == 1
    assert (model.metadata()["n_estimators"], model.metadata()["complete"]) == (1, False)
    assert clone(SMALL).fit(X, y).metadata()["complete"]


@pytest.mark.slow
def test_processes_give_the_same_model():
    alone, several = (clone(SMALL).set_params(n_jobs=n).fit(X, y) for n in (None, 2))
    assert_array_equal(several.predict_proba(NEW), alone.predict_proba(NEW))


def test_random_state():
    models = [MetricEnsembleClassifier(LDA(), random_state=seed).fit(X, y) for seed in (0, 0, 1)]
    P = [model.predict_proba(NEW) for model in models]
    assert_array_equal(P[0], P[1])
    assert not np.array_equal(P[0], P[2])


class StopAfterTwo:
    """A callback that scores the members so far, and stops the fit after two of them."""

    def __init__(self):
        self.scores = []

    def setup(self, estimator, context): ...

    def teardown(self, estimator, context): ...

    def on_fit_task_begin(self, estimator, context): ...

    def on_fit_task_end(self, estimator, context, *, X=None, y=None, fitted_estimator=None):
        if context.task_name == "iteration":
            self.scores.append(fitted_estimator.score(X, y))
        return len(self.scores) == 2


def test_callbacks_see_each_member_and_can_stop():
    seen = StopAfterTwo()
    model = clone(SMALL).set_callbacks(seen).fit(X, y)
    assert len(model.estimators_) == len(seen.scores) == 2
    assert seen.scores[-1] == model.score(X, y)


def test_verbose(caplog):
    with caplog.at_level(logging.INFO, logger="dimetric"):
        clone(SMALL).set_params(verbose=1).fit(X, y)
    assert caplog.records[-1].getMessage().startswith("member 5 of 5")


def test_many_samples(monkeypatch):
    monkeypatch.setattr(_out_of_bag, "MAX_DISTANCES_PER_MEMBER", 60 * 20)
    monkeypatch.setattr(_softmax, "MIN_LEFT_OUT_SAMPLES", 10)
    model = clone(SMALL).fit(X, y)
    assert np.sum(~np.isnan(model.oob_decision_function_[:, 0])) <= 20


def test_better_than_a_single_distance():
    many, classes = samples(n=300, d=8)
    many = many / many.std(axis=0)
    test, test_y = samples(n=300, d=8, seed=1)
    test = test / test.std(axis=0)
    ensemble = MetricEnsembleClassifier(random_state=0).fit(many, classes).score(test, test_y)
    assert ensemble > KNNClassifier(5).fit(many, classes).score(test, test_y) + 0.01


def test_refusals(tmp_path):
    with pytest.raises(ValueError, match="max_features=5 is larger than the number available, 4"):
        clone(SMALL).set_params(max_features=5).fit(X, y)
    with pytest.raises(ValueError, match="must be a learner, or a list of learners"):
        clone(SMALL).set_params(learner=[]).fit(X, y)
    for name, value in {"n_estimators": 0, "max_samples": 1.5, "temperature": 0}.items():
        with pytest.raises(ValueError, match=f"'{name}' parameter"):
            clone(SMALL).set_params(**{name: value}).fit(X, y)
    model = clone(SMALL).fit(X, y)
    with pytest.raises(ValueError, match="several distances"):
        model.explain_pair(X[0], X[1])
    with pytest.raises(ValueError, match="MetricEnsembleClassifier cannot be exported"):
        to_numpy(model, tmp_path / "model.py")
    model.estimators_features_.pop()
    save(model, tmp_path / "model.dimetric")
    with pytest.raises(ValueError, match="learner, features and points for each member"):
        load(tmp_path / "model.dimetric")


def test_mixture_weights_increase_the_likelihood(monkeypatch):
    rng = np.random.default_rng(0)
    p, s = rng.uniform(0.05, 1, size=(3, 200)), np.full(200, 1 / 200)
    p[0] = np.sqrt(p[0])  # the best learner
    known = np.ones(p.shape, dtype=bool)

    def likelihood(w):
        return s @ np.log(w @ p)

    w = _out_of_bag.mixture_weights(p, known, s)
    assert_allclose(w.sum(), 1)
    assert likelihood(np.full(3, 1 / 3)) < likelihood(w)
    monkeypatch.setattr(_out_of_bag, "EM_ITERATIONS", 5000)
    w = _out_of_bag.mixture_weights(p, known, s)
    # At the optimum, the gradient of each positive weight is 1, and the others are smaller.
    gradient = p @ (s / (w @ p))
    assert_allclose(gradient[w > 1e-6], 1, atol=1e-4)
    assert np.all(gradient < 1 + 1e-4)


def test_the_better_learner_has_the_larger_weight():
    rng = np.random.default_rng(0)
    labels = np.arange(400) % 2
    points = rng.normal(size=(400, 6)) * np.where(labels, 3.0, 1.0)[:, None]  # equal means
    model = MetricEnsembleClassifier([LDA(), KDA()], n_estimators=10, random_state=0)
    model.fit(points, labels)
    assert_allclose(model.learner_weights_.sum(), 1)
    assert model.learner_weights_[1] > 0.8
    assert model.oob_score_ > 0.85


def test_squared_distances_after_transform_are_weighted_sums_over_the_members():
    model = MetricEnsembleClassifier(random_state=0, n_estimators=4).fit(X, y)
    Z = model.transform(X[:2])
    expected = 0.0
    for i, estimator in enumerate(model.estimators_):
        a, b = estimator.transform(X[:2][:, model.estimators_features_[i]])
        expected += model._member_weights[i] / model._temperatures[i] * np.sum((a - b) ** 2)
    assert np.sum((Z[0] - Z[1]) ** 2) == pytest.approx(expected)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("case", ["constant classes", "equal samples", "two samples"])
def test_samples_for_which_a_default_learner_is_not_defined(case):
    labels = np.arange(2 if case == "two samples" else 40) % 2
    A = np.zeros((len(labels), 3))
    if case != "equal samples":
        A[:, 0] = labels
    model = MetricEnsembleClassifier(n_estimators=4, random_state=0).fit(A, labels)
    P = model.predict_proba(A)
    assert_allclose(P.sum(axis=1), 1)
    if case == "constant classes":
        assert model.score(A, labels) == 1


def test_the_command_maps_rows_by_the_ensemble():
    model = MetricEnsembleClassifier(random_state=0, n_estimators=4).fit(X, y)
    coordinates = Coordinates(model, ["a", "b", "c", "d"])
    block = FeatureBlock(rows=np.arange(3), features=X[:3], complete=np.ones(3, bool), kept={})
    assert_allclose(np.stack(list(coordinates(block).values()), axis=1), model.transform(X[:3]))
    with pytest.raises(ValueError, match="There is no learner"):
        learner_by_name("MetricEnsembleClassifier")
