"""Tests of scikit-learn's callbacks: progress, early stopping and the iterates they receive."""

import subprocess
import sys
from collections import Counter

import numpy as np
import pytest
from estimators import each, fit, has_n_components, iterates, learned_arrays, samples
from sklearn.base import clone
from sklearn.callback import ProgressBar, ScoringMonitor
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, cross_validate
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

X, y = samples()
DATA = {"overlapping": (X, y), "separable": load_iris(return_X_y=True)}


class Recorder:
    """A callback that records calls and iterates, and can stop after some iterations."""

    def __init__(self, stop_after=None):
        self.stop_after = stop_after
        self.calls = []
        self.open = Counter()
        self.iterates = []

    def setup(self, estimator, context):
        self.calls.append("setup")

    def on_fit_task_begin(self, estimator, context):
        self.calls.append("begin")
        self.open[self._path(context)] += 1

    def on_fit_task_end(self, estimator, context, *, X=None, y=None, fitted_estimator=None):
        self.calls.append("end")
        self.open[self._path(context)] -= 1
        if context.task_name == "iteration" and fitted_estimator is not None:
            self.iterates.append(fitted_estimator.transform(X))
        return len(self.iterates) == self.stop_after

    def teardown(self, estimator, context):
        self.calls.append("teardown")

    def _path(self, context):
        above = () if context.parent is None else self._path(context.parent)
        return (*above, context.estimator_name, context.task_name, context.task_id)


class PropagatedRecorder(Recorder):
    """A recorder that a pipeline passes on to its steps."""

    max_propagation_depth = None


def without_own_stop(learner):
    """Return a copy of a learner that does not stop early by itself."""
    stops_early = "tol" in learner.get_params() and learner.tol is None
    return clone(learner).set_params(**{"tol": 1e-5} if stops_early else {})


@each()
def test_hooks_are_balanced(learner):
    seen = Recorder()
    learner = clone(learner).set_callbacks(seen).fit(X, y)
    assert seen.calls[0] == "setup"
    assert seen.calls[-1] == "teardown"
    assert set(seen.open.values()) == {0}
    assert seen.calls.count("begin") == seen.calls.count("end") >= 1
    if iterates(learner):
        assert len(seen.iterates) == learner.n_iter_


@each(iterates)
@pytest.mark.parametrize("data", DATA)
def test_callbacks_see_every_iterate(learner, data):
    X, y = DATA[data]
    seen = Recorder()
    learner = clone(learner).set_callbacks(seen).fit(X, y)
    assert len(seen.iterates) == learner.n_iter_ >= 2
    # On separable data, the learned map may be a multiple of the last iterate.
    first, last, Z = (
        each / np.abs(each).max()
        for each in (seen.iterates[0], seen.iterates[-1], learner.transform(X))
    )
    np.testing.assert_allclose(last, Z, rtol=0, atol=1e-9)
    assert np.abs(first - Z).max() > 1e-3


@each()
def test_callbacks_do_not_change_the_result(learner):
    seen = clone(learner).set_callbacks(Recorder()).fit(X, y)
    np.testing.assert_equal(learned_arrays(seen), learned_arrays(fit(learner, X, y)))


@each(iterates)
def test_early_stop(learner):
    """A stop by a callback does not warn."""
    learner = without_own_stop(learner).set_callbacks(Recorder(stop_after=3)).fit(X, y)
    facts = learner.metadata()
    assert learner.n_iter_ == facts["n_iter"] == 3
    assert facts["reason"] == "stopped by a callback"
    assert not facts["converged"]
    assert np.isfinite(learner.transform(X)).all()


@each(iterates)
def test_early_stop_in_a_pipeline(learner):
    seen = PropagatedRecorder(stop_after=3)
    pipe = make_pipeline(StandardScaler(), without_own_stop(learner), KNeighborsClassifier())
    with pytest.warns(UserWarning, match="KNeighborsClassifier does not support callbacks"):
        pipe.set_callbacks(seen).fit(X, y)
    assert pipe[1].n_iter_ == 3
    assert set(seen.open.values()) == {0}
    assert seen.calls.count("setup") == seen.calls.count("teardown") == 1
    assert pipe.score(X, y) > 0.5


@each(iterates)
def test_progress_bar(learner, capfd):
    pytest.importorskip("rich")
    name = type(learner).__name__
    pipe = make_pipeline(StandardScaler(), clone(learner)).set_callbacks(ProgressBar())
    Z = pipe.fit_transform(X, y)
    shown = capfd.readouterr().out
    assert f"{name} - fit" in shown
    assert "100%" in shown
    np.testing.assert_array_equal(
        Z, make_pipeline(StandardScaler(), clone(learner)).fit_transform(X, y)
    )


@each(iterates)
def test_scoring_monitor_scores_every_iteration(learner):
    def spread(learner, X, y):
        return float(np.std(learner.transform(X)))

    monitor = ScoringMonitor(scoring={"spread": spread})
    learner = clone(learner).set_callbacks(monitor).fit(X, y)
    names = [row["task_name"] for row in monitor.get_logs().data]
    assert names.count("iteration") == learner.n_iter_


@each(iterates)
def test_stop_at_max_iter(learner):
    seen = Recorder()
    learner = without_own_stop(learner).set_params(max_iter=2).set_callbacks(seen)
    with pytest.warns(ConvergenceWarning, match="max_iter=2 reached. Increase max_iter"):
        learner.fit(X, y)
    assert len(seen.iterates) == learner.n_iter_ == 2
    assert set(seen.open.values()) == {0}


class FailingCallback(Recorder):
    """A callback that fails in the second iteration."""

    def on_fit_task_end(self, estimator, context, *, X=None, y=None, fitted_estimator=None):
        super().on_fit_task_end(estimator, context, X=X, y=y, fitted_estimator=fitted_estimator)
        if len(self.iterates) == 2:
            raise RuntimeError("the callback is broken")


@each(iterates)
def test_teardown_when_a_fit_fails(learner):
    seen = FailingCallback()
    learner = clone(learner).set_callbacks(seen)
    with pytest.raises(RuntimeError, match="the callback is broken"):
        learner.fit(X, y)
    assert seen.calls.count("setup") == seen.calls.count("teardown") == 1
    learner.set_callbacks().fit(X, y)  # the learner can be fitted again
    np.testing.assert_equal(learned_arrays(learner), learned_arrays(fit(learner, X, y)))


@each(has_n_components)
def test_teardown_when_a_parameter_is_invalid(learner):
    seen = Recorder()
    learner = clone(learner).set_callbacks(seen)
    with pytest.raises(ValueError, match="n_components=99"):
        learner.set_params(n_components=99).fit(X, y)
    assert seen.calls.count("setup") == seen.calls.count("teardown")


@pytest.mark.slow
@each(iterates, has_n_components)
def test_clones_and_searches(learner):
    seen = Recorder()
    learner = clone(learner).set_callbacks(seen)
    clone(learner).fit(X, y)
    assert seen.calls[-1] == "teardown"
    pipe = make_pipeline(StandardScaler(), learner, KNeighborsClassifier())
    name = type(learner).__name__.lower()
    search = GridSearchCV(pipe, {f"{name}__n_components": [1, 2]}, cv=2).fit(X, y)
    assert search.best_score_ > 0.4
    scores = cross_validate(pipe, X, y, cv=2, error_score="raise")["test_score"]
    assert np.isfinite(scores).all()
    assert seen.calls.count("setup") == seen.calls.count("teardown") == 1 + 2 * 2 + 1 + 2


@each(iterates, has_n_components)
def test_search_with_propagated_callbacks(learner):
    seen = PropagatedRecorder()
    name = type(learner).__name__.lower()
    pipe = make_pipeline(StandardScaler(), clone(learner))

    def score(pipe, X, y):
        return -np.abs(pipe.transform(X)).mean()

    search = GridSearchCV(pipe, {f"{name}__n_components": [1, 2]}, cv=2, scoring=score)
    search.set_callbacks(seen).fit(X, y)
    assert seen.calls.count("setup") == seen.calls.count("teardown") == 1
    assert set(seen.open.values()) == {0}
    assert len(seen.iterates) > 4


FIT_WITHOUT_CALLBACKS = """
import sklearn.callback, sklearn.covariance
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
del sklearn.callback.CallbackSupportMixin, sklearn.callback.with_callbacks
from estimators import LEARNERS, samples
X, y = samples()
for learner in LEARNERS:
    assert not hasattr(learner, "set_callbacks")
    make_pipeline(StandardScaler(), learner).fit_transform(X, y)
print(len(LEARNERS), "fitted")
"""


@pytest.mark.slow
def test_fit_works_without_callbacks():
    """A version of scikit-learn may lack callbacks, which are experimental."""
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path[:0] = {sys.path!r}\n{FIT_WITHOUT_CALLBACKS}"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.endswith("fitted\n"), done.stderr
