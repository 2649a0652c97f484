"""The rounds of a race: who goes on, who is dropped and why."""

import re
from itertools import pairwise
from time import perf_counter, sleep

import numpy as np
import pytest
from benchmark_runs import FailingLearner, LoggingLearner
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.datasets import load_iris, load_wine
from sklearn.dummy import DummyClassifier

import dimetric
from dimetric import LDA, NCA, PCA
from dimetric.advice._by_name import learner_by_name
from dimetric.advice._candidates import candidate_learners
from dimetric.advice._choose import choose
from dimetric.advice._common_folds import scores_on_common_folds
from dimetric.advice._equal_distance import keeps_distances
from dimetric.advice._final import Stage
from dimetric.advice._race import budget_for_all, run_race
from dimetric.advice._race_options import RaceOptions
from dimetric.advice._round import run_round
from dimetric.advice._round_control import RoundControl
from dimetric.advice._round_records import Round
from dimetric.advice._settings import SETTINGS
from dimetric.advice._survivors import FitTime, round_sizes, survivors
from dimetric.benchmark._cell import Cell


class Column(TransformerMixin, BaseEstimator):
    """Keep one column."""

    def __init__(self, j=0):
        self.j = j

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X[:, [self.j]]


def stage_of(X, y, n_jobs=None, cv=3, callback=None):
    return Stage(np.arange(len(y)), X, y, RaceOptions(3, cv, n_jobs, 0, callback))


def informative(n_rows, n_columns):
    """Return samples of which only the first column has to do with the class."""
    X = np.random.default_rng(0).standard_normal((n_rows, n_columns))
    return X, (X[:, 0] > 0).astype(int)


def test_slowest_learners_of_the_worse_half_are_dropped_until_the_time_is_enough():
    scores = dict(zip("ABCDEFGH", np.linspace(0.9, 0.2, 8), strict=True))
    seconds = dict.fromkeys(scores, 1.0)
    assert survivors(scores, seconds, 8.0) == list("ABCDEFGH")
    assert survivors(scores, seconds | {"G": 2.0, "A": 9.0}, 16.0) == list("ABCDEFH")
    assert survivors(scores, seconds, 4.5) == list("ABCD")
    assert set(survivors(scores, seconds, 5.0, ["H"])) == set("ABCDH")
    assert len(survivors(scores, seconds, 0.0)) == SETTINGS.min_survivors
    assert "H" in survivors(scores, seconds, 0.0, ["H"])


def test_each_round_has_three_times_the_rows():
    assert round_sizes(4 * SETTINGS.min_round_rows, 10)[-1] == 4 * SETTINGS.min_round_rows
    sizes = round_sizes(5000, 10)
    assert sizes[0] >= SETTINGS.min_round_rows
    assert all(b // 3 == a for a, b in pairwise(sizes))
    assert round_sizes(SETTINGS.min_round_rows, 10) == [SETTINGS.min_round_rows]


def test_time_of_a_fit_grows_with_the_rows():
    once = FitTime(100, 0.1)
    twice = once.then(300, 0.1 * 3**1.5)
    assert twice.growth == pytest.approx(1.5)
    assert twice.at(600) == pytest.approx(0.1 * 6**1.5)
    assert once.then(100, 0.2) == FitTime(100, 0.2)


def test_learners_that_are_worse_on_few_rows_do_not_race_on_all_rows(monkeypatch):
    X, y = informative(450, 9)
    models = {"Euclidean": None} | {f"column {j}": Column(j) for j in range(9)}
    monkeypatch.setattr(FitTime, "at", lambda self, n_rows: 3.0)  # so the time is not enough
    found = run_race(models, {}, stage_of(X, y), 60.0)
    first, last = found.rounds
    assert (first.n_rows, last.n_rows) == (150, 450)
    assert set(first.learners) == set(models)
    assert set(last.learners) == set(found.last.scores)
    assert {"Euclidean", "column 0"} < set(last.learners)
    assert len(last.learners) == SETTINGS.min_survivors
    lost = models.keys() - set(last.learners)
    for name in lost:
        assert found.dropped[name].startswith("On 150 rows, its accuracy was 0.")
        assert "(Euclidean: 0." in found.dropped[name]
        assert found.offsets[name] < 0
    assert set(found.had_no_time) == set(found.dropped) == lost
    # All learners need 6 fits of 3 seconds, for at least 5 scores.
    assert budget_for_all(found, stage_of(X, y), 450, 60.0) == pytest.approx(630, rel=0.15)


def test_race_ends_with_fewer_rows_if_all_rows_take_too_long(monkeypatch):
    X, y = informative(450, 5)
    models = {"Euclidean": None} | {f"column {j}": Column(j) for j in range(5)}
    monkeypatch.setattr(FitTime, "at", lambda self, n_rows: n_rows / 20)
    found = run_race(models, {}, stage_of(X, y), 60.0)
    assert 150 <= len(found.stage.y) < 250
    assert found.rounds[-1].n_rows == len(found.stage.y)
    assert "column 0" in found.last.scores


def count_calls_as_seconds(monkeypatch):
    """Let each look at the clock, and each fit, take one second."""
    clock = iter(np.arange(1e6))
    monkeypatch.setattr("dimetric.advice._round_control.perf_counter", lambda: next(clock))
    monkeypatch.setattr(
        RoundControl,
        "_seconds",
        lambda self: dict.fromkeys((cell.learner for cell in self._cells), 1.0),
    )


def test_learners_are_dropped_within_a_round_if_the_time_is_short(monkeypatch):
    X, y = informative(90, 9)
    models = {"Euclidean": None} | {f"column {j}": Column(j) for j in range(9)}
    stage = stage_of(X, y, cv=5)
    plan = Round({name: stage.options.pipeline(each) for name, each in models.items()})
    count_calls_as_seconds(monkeypatch)
    found = run_round(plan, stage, 45.0)
    assert {"Euclidean", "column 0"} < set(found.scores)
    assert len(found.scores) < 10
    assert {len(each) for each in found.scores.values()} == {5}
    for name in models.keys() - set(found.scores):
        where = r"In [1-4] of 5 folds of 90 rows, its accuracy was 0\.\d+ "
        assert re.match(where + r"\(Euclidean: 0\.\d+\)\.$", found.dropped[name])


def test_models_are_not_started_if_the_first_fold_takes_too_long(monkeypatch):
    X, y = informative(90, 15)
    models = {"Euclidean": None} | {f"column {j}": Column(j) for j in range(15)}
    stage = stage_of(X, y, cv=5)
    plan = Round({name: stage.options.pipeline(each) for name, each in models.items()},
                 {name: DummyClassifier() for name in ("fast", "forest", "boosting")},
                 protected=["column 14"])  # fmt: skip
    count_calls_as_seconds(monkeypatch)
    found = run_round(plan, stage, 12.0)
    skipped = {name for name, why in found.dropped.items() if why == "There was no time to fit it."}
    columns = {f"column {j}" for j in range(SETTINGS.min_started - 1, 14)}
    assert skipped == columns | {"forest", "boosting"}
    assert columns < set(found.had_no_time)
    assert {"Euclidean", "column 0", "column 14"} <= set(found.scores)


class SlowGuess(DummyClassifier):
    """Predict the largest class after a while."""

    def fit(self, X, y):
        sleep(0.1)
        return super().fit(X, y)


def test_reference_models_that_are_too_slow_are_dropped():
    X, y = informative(90, 3)
    options = RaceOptions(3, 5, None, 0)
    plan = Round(
        {"Euclidean": options.pipeline(None), "column": options.pipeline(Column())},
        {"slow": SlowGuess(), "fast": DummyClassifier()},
    )
    found = run_round(plan, stage_of(X, y, cv=5), perf_counter() + 0.2)
    assert "slow" not in found.references
    assert found.dropped["slow"].startswith("One fit on 90 rows took 0.")
    assert found.had_no_time == []  # only learners count
    plenty = run_round(plan, stage_of(X, y, cv=5), perf_counter() + 600)
    assert {len(each) for each in plenty.references.values()} == {5}


def control_of(cells, *, deadline, references=(), n_learners=6):
    """Return the control of a round that has run for as long as its fits."""
    X, y = informative(90, 3)
    plan = Round(
        dict.fromkeys(["Euclidean", *(f"L{i}" for i in range(n_learners))]),
        dict.fromkeys(references),
        protected=["Euclidean"],
    )
    control = RoundControl(plan, stage_of(X, y, cv=5), deadline)
    control._cells, control._started = cells, 0.0
    return control


def cells_of(times, scores, n_folds=1):
    return [Cell("data", name, 3, 0, fold, 0.5, scores.get(name, 0.5), seconds)
            for fold in range(n_folds) for name, seconds in times.items()]  # fmt: skip


def at(monkeypatch, seconds):
    monkeypatch.setattr("dimetric.advice._round_control.perf_counter", lambda: seconds)


def test_the_best_learners_stay_though_others_are_faster(monkeypatch):
    times = {"Euclidean": 0.1} | {f"L{i}": 1.0 for i in range(5)} | {"L5": 0.01}
    at(monkeypatch, 5.2)
    scores = {"L0": 0.9, "L1": 0.8, "L2": 0.7}
    control = control_of(cells_of(times, scores), deadline=5.6)  # hardly any time is left
    dropped = control.drop(control._cells)
    assert not dropped & {"Euclidean", "L0", "L1", "L2"}
    assert {"L3", "L4"} <= dropped


def test_learners_are_dropped_after_two_folds_if_the_time_allows(monkeypatch):
    times = {"Euclidean": 0.1} | {f"L{i}": 1.0 for i in range(6)}
    at(monkeypatch, 6.1)
    for deadline, is_patient in ((20.0, True), (14.0, False)):
        control = control_of(cells_of(times, {}), deadline=deadline)
        assert (not control.drop(control._cells)) == is_patient
    at(monkeypatch, 12.2)
    control = control_of(cells_of(times, {}, 2), deadline=20.0)
    assert control.drop(control._cells)


def test_fast_references_are_never_dropped_and_the_best_of_the_others_stay(monkeypatch):
    names = ["Ridge", "RBF SVM", "Random forest", "Gradient boosting"]
    times = {"Euclidean": 0.1, "L0": 0.1, "Ridge": 0.01, "RBF SVM": 1.0}
    times |= {"Random forest": 2.0, "Gradient boosting": 1.0}
    scores = {"Random forest": 0.9}
    at(monkeypatch, 8.42)
    for deadline, dropped in ((16.0, names[1::2]), (9.0, names[1:])):
        control = control_of(
            cells_of(times, scores, 2), deadline=deadline, references=names, n_learners=1
        )
        assert control.drop(control._cells) == set(dropped)


def test_fits_that_take_too_long_count_as_started(monkeypatch):
    times = {"Euclidean": 0.1} | {f"L{i}": 1.0 for i in range(8)}
    cells = [each if each.learner in ("Euclidean", "L0") else each._replace(status="timeout")
             for each in cells_of(times, {})]  # fmt: skip
    at(monkeypatch, 8.1)
    control = control_of(cells, deadline=10.0, n_learners=14)
    unstarted = {f"L{i}" for i in range(8, 14)}
    assert control.drop(cells) == {f"L{i}" for i in range(1, 8)} | unstarted


def test_a_round_ends_late_if_that_gives_all_scores(monkeypatch):
    times = {"Euclidean": 1.0, "L0": 1.0}
    for n_folds, is_over in ((4, False), (2, True)):
        at(monkeypatch, 11.2)
        control = control_of(cells_of(times, {}, n_folds), deadline=10.0, n_learners=1)
        assert control.stop(control._cells) == is_over


def test_references_that_were_not_started_are_fitted_with_time_left(monkeypatch):
    X, y = informative(90, 3)
    options = RaceOptions(3, 5, None, 0)
    plan = Round(
        {"Euclidean": options.pipeline(None), "column": options.pipeline(Column())},
        {"fast": DummyClassifier(), "forest": DummyClassifier(), "boosting": DummyClassifier()},
    )

    def skip(self):
        self._dropped |= dict.fromkeys(["forest", "boosting"], "There was no time to fit it.")

    monkeypatch.setattr(RoundControl, "_skip_unstarted", skip)
    found = run_round(plan, stage_of(X, y, cv=5), perf_counter() + 60)
    assert set(found.references) == set(plan.references)
    assert {len(each) for each in found.references.values()} == {5}
    assert found.dropped == {}
    assert found.slow_references == []


def test_budget_for_all_includes_scores_and_reference_models():
    X, y = informative(300, 3)
    stage = stage_of(X, y)
    found = run_race({"Euclidean": None, "LDA": LDA()}, {}, stage, 60.0)
    fit_seconds = found.last.fit_seconds["LDA"]
    assert found.last.overhead > 1
    assert found.fit_times["LDA"].seconds == pytest.approx(found.last.overhead * fit_seconds)
    times = found.fit_times | {"Random forest": FitTime(300, 10.0)}
    found = found._replace(fit_times=times, slow_references=["Random forest"])
    fraction = SETTINGS.race_fraction * SETTINGS.choice_fraction
    assert fraction * budget_for_all(found, stage, 300, 8.0) > 6 * 10.0


def test_all_learners_race_on_all_rows_with_enough_time():
    X, y = informative(450, 4)
    models = {"Euclidean": None} | {f"column {j}": Column(j) for j in (0, 1, 2, 3, 0)}
    models["again"] = Column()
    calls = []
    stage = stage_of(X, y, callback=lambda *each: calls.append(each))
    found = run_race(models, {}, stage, 300.0)
    assert set(found.last.scores) == set(models)
    assert [each.n_rows for each in found.rounds] == [150, 450]
    assert {len(each) for each in found.last.scores.values()} == {3 * SETTINGS.max_race_repeats}
    assert found.dropped == {}
    assert budget_for_all(found, stage, 450, 300.0) is None
    assert all(0 <= done <= total for _, done, total in calls)
    assert [done for _, done, _ in calls] == sorted(done for _, done, _ in calls)
    assert calls[-1][1] == calls[-1][2]


def test_spreads_have_at_least_five_values():
    X, y = informative(60, 3)
    for cv in (2, 4):
        found = choose(X, y, {"column": Column()}, cv=cv, seconds=60)
        assert all(len(each) >= 5 for each in found.scores.values())
        assert all(len(each) >= 5 for each in found.references.values())


def test_budget_for_all_grows_with_the_time_of_the_dropped_learners():
    X, y = informative(300, 3)
    stage = stage_of(X, y)
    found = run_race({"Euclidean": None, "LDA": LDA()}, {}, stage, 60.0)
    budgets = []
    for seconds in (1.0, 10.0, 100.0):
        times = found.fit_times | {"slow": FitTime(300, seconds)}
        each = found._replace(fit_times=times, had_no_time=["slow"])
        budgets.append(budget_for_all(each, stage, 300, 8.0))
    # Three fits must take less than the time of the race.
    fraction = SETTINGS.race_fraction * SETTINGS.choice_fraction
    assert all(3 * s < fraction * each for s, each in zip((1, 10, 100), budgets, strict=True))
    assert budgets[2] == pytest.approx(10 * budgets[1], rel=0.2)
    assert budgets[0] >= 10.0


@pytest.mark.slow
def test_learners_that_fail_or_take_too_long_are_dropped():
    X, y = load_wine(return_X_y=True)
    models = {"Euclidean": None, "LDA": LDA(), "wrong": FailingLearner(log="no/where")}
    models["slow"] = LoggingLearner(seconds=60)
    found = run_race(models, {}, stage_of(X, y, n_jobs=2), 4.0)
    assert set(found.last.scores) == {"Euclidean", "LDA"}
    assert found.dropped["wrong"] == "RuntimeError: no way"
    assert found.dropped["slow"].startswith("One fit on 178 rows took more than 1")
    assert found.had_no_time == ["slow"]


@pytest.mark.slow
def test_rows_are_split_again_if_there_is_time():
    X, y = load_wine(return_X_y=True)
    models = {"Euclidean": None, "LDA": LDA(), "NCA": NCA(max_iter=1)}
    options = RaceOptions(3, 3, 1, 0)
    stage = Stage(np.arange(len(y)), X, y, options)
    plan = Round({name: options.pipeline(each) for name, each in models.items()}, n_repeats=2)
    found = run_round(plan, stage, np.inf)
    assert {len(each) for each in found.scores.values()} == {6}
    assert not found.dropped


def test_learners_are_compared_in_the_same_folds():
    done = {"Euclidean": [0, 1, 2, 3], "LDA": [0, 1, 3], "PCA": [2, 3], "NCA": [0]}
    cells = [Cell("data", name, 3, 0, fold, 0.5, fold / 10, 1.0)
             for name, folds in done.items() for fold in folds]  # fmt: skip
    scores, dropped = scores_on_common_folds(cells, done, {})
    assert dropped == dict.fromkeys(["NCA", "PCA"], "The time limit was reached.")
    assert list(scores) == ["Euclidean", "LDA"]
    assert all(each.tolist() == [0.0, 0.1, 0.3] for each in scores.values())


def test_slow_learners_do_not_reduce_the_folds_of_the_others():
    done = {"Euclidean": 5, "LDA": 5, "KDA": 5, "NCA": 5, "LDML": 3, "LMNN": 2}
    cells = [Cell("data", name, 3, 0, fold, 0.5, fold / 10, 1.0)
             for name, n_folds in done.items() for fold in range(n_folds)]  # fmt: skip
    scores, dropped = scores_on_common_folds(cells, done, {})
    assert set(dropped) == {"LDML", "LMNN"}
    assert {len(each) for each in scores.values()} == {5}
    few = [cell for cell in cells if cell.learner in ("Euclidean", "LMNN")]
    scores, dropped = scores_on_common_folds(few, ["Euclidean", "LMNN"], {})
    assert {name: len(each) for name, each in scores.items()} == {"Euclidean": 2, "LMNN": 2}


@pytest.mark.parametrize(
    ("learner", "keeps"),
    [(PCA(), True), (PCA(0.9999999), True), (PCA(3), False), (LDA(), False), (Column(), False)],
)
def test_learner_that_keeps_all_distances(learner, keeps):
    X, y = load_iris(return_X_y=True)
    assert keeps_distances(learner, X, y) == keeps


def test_pca_that_keeps_everything_is_not_a_contender():
    X, y = informative(90, 3)
    found = choose(X, y, {"PCA": PCA(), "LDA": LDA()}, cv=3, seconds=60, n_neighbors=1)
    assert found.best == "LDA"
    assert set(found.scores) == {"Euclidean", "LDA"}
    assert found.dropped == {
        "PCA": "It keeps all distances up to a factor on this table, so it is the Euclidean "
        "distance."
    }
    alone = choose(X, y, {"PCA": PCA()}, cv=3, seconds=60)
    assert alone.best == "PCA"
    assert alone.posterior.rope > 0.95
    assert "No learner beat Euclidean" in alone.verdict


def test_verdict_says_that_no_learner_could_be_compared(monkeypatch):
    X, y = informative(90, 3)

    def race(*args):
        found = run_race(*args)
        return found._replace(had_no_time=["LDA"], dropped={"LDA": "The time limit was reached."})

    monkeypatch.setattr("dimetric.advice._choose.run_race", race)
    found = choose(X, y, {"PCA": PCA()}, cv=3, seconds=8)
    assert found.chosen == "Euclidean"
    assert found.verdict.startswith(
        "No learner could be compared in 10 s, so the model uses the Euclidean distance. "
        "Set a larger budget."
    )
    assert "No learner beat" not in found.verdict


def test_candidates_have_names_by_which_they_are_found():
    for n_features in (5, 5000):
        for name, learner in candidate_learners(100, n_features).items():
            assert type(learner_by_name(name)) is type(learner)
    assert isinstance(learner_by_name("ensemble"), dimetric.MetricEnsembleClassifier)
    found = learner_by_name("kernelized nca", {"learner__n_components": 3}, random_state=0)
    assert found.learner.n_components == 3
    assert found.learner.random_state == 0
