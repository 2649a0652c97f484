"""Tests of all learners that minimise a mean loss: solvers, mini-batches and interrupts."""

import itertools
import logging

import numpy as np
import pytest
from estimators import LEARNERS, ONE_OF_EACH, each, fit, minimises_mean_loss, samples
from numpy.testing import assert_allclose
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from dimetric.learners._base import Learner
from dimetric.learners._fitting.constrained import ConstrainedMetric
from dimetric.learners._fitting.functions import stratified_order
from dimetric.learners._fitting.iterative import IterativeMetric
from dimetric.learners._fitting.mean_loss import MeanLossMetric
from dimetric.learners._linear import LinearMetric
from dimetric.objectives.engine import Rule
from dimetric.objectives.pairwise import PairwiseObjective
from dimetric.solvers import SGD, GradientDescent

X, y = samples(n=120)


def is_convex(learner):
    return minimises_mean_loss(learner) and "sdp" in learner._named_objects["solver"]


def objective(learner):
    """Return the final objective, with the sign that makes smaller values better."""
    return (-1 if learner._maximises else 1) * learner.metadata()["final_objective"]


@each(minimises_mean_loss, learners=ONE_OF_EACH)
def test_batch_gradient_descent_matches_lbfgs(learner):
    params = {"reg": 0.1, "tol": 1e-6, "max_iter": 3000}
    best, slow = (fit(learner, X, y, solver=solver, **params) for solver in ("lbfgs", "bgd"))
    assert_allclose(objective(slow), objective(best), atol=1e-3)


@each(is_convex, learners=ONE_OF_EACH)
def test_optimum_over_metrics_matches_optimum_over_maps(learner):
    params = {"reg": 0.01, "tol": 1e-6, "max_iter": 3000}
    over_maps, over_metrics = (
        fit(learner, X, y, solver=solver, **params) for solver in ("lbfgs", "sdp")
    )
    assert_allclose(objective(over_metrics), objective(over_maps), atol=1e-3)
    assert_allclose(over_metrics.metric(), over_maps.metric(), atol=0.05)


@each(is_convex, learners=ONE_OF_EACH)
def test_sdp_requires_all_components(learner):
    with pytest.raises(ValueError, match=r"make_pipeline\(PCA\(2\), "):
        fit(learner, X, y, solver="sdp", n_components=2)


@each(minimises_mean_loss, learners=ONE_OF_EACH)
def test_adaptive_learning_rate_never_worsens_the_objective(learner, caplog):
    caplog.set_level(logging.INFO, logger="dimetric")
    with pytest.warns(ConvergenceWarning, match="max_iter=30 reached"):
        learner = fit(learner, X, y, solver="bgd", tol=0.0, max_iter=30, verbose=1)
    sign = -1 if learner._maximises else 1
    values = [sign * float(message.split()[-1]) for message in caplog.messages]
    assert len(values) == 30
    assert all(later <= earlier for earlier, later in itertools.pairwise(values))


@each(minimises_mean_loss, learners=ONE_OF_EACH)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_mini_batches_come_close_to_the_optimum(learner):
    def start(**params):
        """Return the objective over all samples at the start of a fit."""
        facts = fit(learner, X, y, reg=0.1, max_iter=1, **params).metadata()
        return (-1 if learner._maximises else 1) * facts["initial_objective"]

    params = {"reg": 0.1, "random_state": 0}
    best = fit(learner, X, y, max_iter=1000, **params)
    noisy, again = (
        fit(learner, X, y, solver=SGD(batch_size=60), max_iter=200, **params) for _ in range(2)
    )
    np.testing.assert_array_equal(noisy.components_, again.components_)
    reached, lowest = start(init=noisy.components_), objective(best)
    assert reached - lowest < 0.5 * (start() - lowest)


@each(minimises_mean_loss, learners=ONE_OF_EACH)
def test_divergence_warns_and_keeps_the_best_map(learner):
    solver = GradientDescent(learning_rate="constant", eta0=1e6)
    with pytest.warns(ConvergenceWarning, match="Lower eta0"):
        learner = fit(learner, X, y, solver=solver, reg=1.0)
    assert np.isfinite(learner.components_).all()
    start = learner.metadata()["initial_objective"] * (-1 if learner._maximises else 1)
    assert objective(learner) <= start + 1e-14 * abs(start)


@each(minimises_mean_loss, learners=ONE_OF_EACH)
@pytest.mark.parametrize("n_classes", [2, 20])
@pytest.mark.filterwarnings("ignore:.*have fewer than 3 friends:UserWarning")
def test_mini_batches_of_one_class(learner, n_classes):
    A, labels = samples(n=40, n_classes=n_classes)
    learner = clone(learner).set_params(solver=SGD(batch_size=2), random_state=0, max_iter=2)
    with pytest.warns(ConvergenceWarning, match=r"max_iter=2 reached|Increase batch_size"):
        learner.fit(A, labels)
    assert np.isfinite(learner.components_).all()


@each(minimises_mean_loss, learners=LEARNERS)
def test_an_interrupted_fit_leaves_no_map(learner, monkeypatch):
    learner = fit(learner, X, y)

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(type(learner), "_minimise", interrupted)
    with pytest.raises(KeyboardInterrupt):
        learner.fit(X[:, :3], y)
    with pytest.raises(NotFittedError):
        learner.transform(X[:, :3])


@each(is_convex, learners=ONE_OF_EACH)
def test_fewer_samples_than_features(learner, rng):
    A, labels = rng.normal(size=(12, 20)), np.repeat([0, 1, 2], 4)
    learner = fit(learner, A, labels, solver="sdp")
    assert np.isfinite(learner.components_).all()


@each(is_convex, learners=ONE_OF_EACH)
def test_a_warm_start_at_the_optimum_stays_there(learner):
    first = fit(learner, X, y, solver="sdp", reg=0.0, n_components=4, max_iter=500)
    again = clone(first).set_params(warm_start=True).fit(X, y).fit(X, y)
    assert_allclose(objective(again), objective(first), atol=1e-4)


@each(is_convex, learners=ONE_OF_EACH)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("solver", ["lbfgs", "sdp"])
@pytest.mark.parametrize("reg", [0.1, 10.0])
def test_gap_holds_if_a_feature_is_repeated_in_another_unit(learner, solver, reg, rng):
    a = rng.integers(-4, 5, size=(20, 2)).astype(float)
    labels = (a[:, 0] + rng.normal(size=20) > 0).astype(int)
    A = np.c_[a[:, 0], 16 * a[:, 0], a[:, 1]]
    best = fit(learner, A, labels, reg=reg, max_iter=5000, tol=1e-10)
    for max_iter in (1, 2, 5, 100):
        early = fit(learner, A, labels, reg=reg, solver=solver, max_iter=max_iter)
        assert objective(early) - objective(best) <= early.metadata()["gap"] + 1e-9


def test_parts_of_a_stratified_order_have_all_classes():
    codes = np.repeat([0, 1, 2], [60, 30, 10])
    order = stratified_order(codes, np.random.RandomState(0))
    assert sorted(order) == list(range(100))
    for part in np.array_split(order, 5):
        assert_allclose(np.bincount(codes[part], minlength=3), [12, 6, 2], atol=2)


class Collapse(MeanLossMetric):
    """A learner with one method, which makes squared distances within classes close to 1."""

    def _objective(self, X, supervision, order):
        return PairwiseObjective(SpreadRule(), X, supervision.codes)


class SpreadRule(Rule):
    def block(self, xp, D, rows, columns, theta):
        same = xp.astype(rows.same_label(columns), D.dtype)
        return xp.sum(same * (D - 1) ** 2), 2 * same * (D - 1), 0.0


def test_a_learner_only_needs_to_define_its_objective():
    learner = Collapse(2, solver=GradientDescent(), max_iter=500, tol=1e-6).fit(X, y)
    facts = learner.metadata()
    assert facts["converged"]
    assert facts["final_objective"] < facts["initial_objective"]
    Z = learner.transform(X)
    D = np.sum((Z[:, None] - Z[None]) ** 2, axis=2)
    same = y[:, None] == y
    assert_allclose(facts["final_objective"], np.sum(same * (D - 1) ** 2) / len(X), rtol=1e-9)


@pytest.mark.parametrize(
    ("base", "missing"),
    [
        (Learner, "_fit"),
        (IterativeMetric, "_minimise, _problem|_problem, _minimise|'_minimise', '_problem'"),
        (MeanLossMetric, "_objective"),
        (ConstrainedMetric, "_objective_and_gap"),
    ],
)
def test_missing_methods_raise_on_construction(base, missing):
    class Incomplete(base):
        pass

    with pytest.raises(TypeError, match=rf"abstract.*({missing})"):
        Incomplete()


class FakeLearner(LinearMetric):
    """A learner without parameters. A test chooses what ``_fit`` sets and returns."""

    _supervision_kinds = ()
    sets, returns = ("components_", "offset_"), {"n_components": 4}

    def _fit(self, X, supervision, progress):
        for name, value in {"components_": np.eye(4), "offset_": np.zeros(4)}.items():
            if name in self.sets:
                setattr(self, name, value)
        return self.returns


def test_a_learner_without_parameters_needs_no_parameter_constraints():
    assert_allclose(FakeLearner().fit(X).transform(X), X)


@pytest.mark.parametrize(
    ("attributes", "says"),
    [
        ({"returns": None}, "FakeLearner._fit must return the metadata, .*it returned NoneType"),
        ({"returns": {"rank": 1}}, r"the key 'n_components', but it returned \['rank'\]"),
        ({"sets": ("components_",)}, "FakeLearner._fit must set offset_"),
        ({"sets": ()}, "FakeLearner._fit must set components_ and offset_"),
    ],
)
def test_incomplete_fit_raises(attributes, says):
    learner = FakeLearner()
    vars(learner).update(attributes)
    with pytest.raises(TypeError, match=says):
        learner.fit(X)
    with pytest.raises(NotFittedError):
        learner.transform(X)
    assert not [name for name in vars(learner) if name.endswith("_")]
