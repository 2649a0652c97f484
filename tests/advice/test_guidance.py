"""What follows from a comparison: learning curve, fitted model, and advice in words."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine

import dimetric
from dimetric import LDA, PCA
from dimetric.advice._guidance.curve import _TimeLimit, _TimeLimitReached
from dimetric.advice._guidance.growing_fit import growing_fit
from dimetric.advice._guidance.limits import leaking_column, main_limit
from dimetric.advice._guidance.sentences import advice, expected_score
from dimetric.advice._samples import labelled_samples
from dimetric.advice._table import samples_from
from dimetric.report._confusion import Confusion
from dimetric.report._records import Choice
from dimetric.report._task import Task
from dimetric.selection import LearningCurve
from dimetric.stats import Posterior


class Machine:
    """A clock, and fits that take `cost` seconds for each row to the power of `exponent`."""

    def __init__(self, cost, exponent):
        self.now, self.cost, self.exponent, self.sizes = 0.0, cost, exponent, []

    def clock(self):
        return self.now

    def fit(self, n):
        self.sizes.append(n)
        self.now += self.seconds(n)
        return n

    def seconds(self, n):
        return self.cost * n**self.exponent

    def grow(self, n_rows, known, seconds):
        times = [self.seconds(n) for n in known]
        return growing_fit(
            self.fit,
            n_rows,
            known_sizes=known,
            known_seconds=times,
            seconds=seconds,
            clock=self.clock,
        )


def test_all_rows_are_fitted_if_there_is_time():
    machine = Machine(1e-6, 2)
    assert machine.grow(5000, [100, 1000], 300).n_rows == 5000
    assert machine.sizes == [5000]


@pytest.mark.parametrize("exponent", [1, 1.5, 2, 3])
def test_the_time_is_kept_but_used(exponent):
    machine = Machine(1 / 1000**exponent, exponent)  # 1000 rows take a second
    found = machine.grow(10**9, [250, 500, 1000], 100)
    assert machine.now <= 100
    assert found.n_rows == found.model == machine.sizes[-1]
    largest = 1000 * 100 ** (1 / exponent)
    assert found.n_rows > 0.3 * largest


def test_without_time_the_model_has_the_known_number_of_rows():
    machine = Machine(1.0, 1)
    assert machine.grow(5000, [1000], 0.1).n_rows == 1000
    assert machine.sizes == [1000]
    assert Machine(1.0, 1).grow(800, [1000], 0.1).n_rows == 800
    machine, options = Machine(1.0, 1), {"known_sizes": [100], "known_seconds": [100.0]}
    found = growing_fit(machine.fit, 5000, **options, seconds=1, min_rows=400, clock=machine.clock)
    assert found.n_rows == 400


def test_fits_that_are_slower_than_expected_stop():
    machine = Machine(1e-3, 1)
    machine.fit = lambda n: setattr(machine, "now", machine.now + 1e6) or n
    assert machine.grow(10**7, [100, 1000], 100).n_rows < 10**7


RNG = np.random.default_rng(0)
X = RNG.standard_normal((300, 3))
y = np.where(X[:, 0] + 0.5 * RNG.standard_normal(300) > 0, "yes", "no")


def samples_of(X, y, **options):
    frame = pd.DataFrame(X).rename(columns=str)
    table = samples_from(frame, y, None, drop=(), missing="drop")
    return labelled_samples(table, cv=5, missing="drop", **options)


def choice_of(means, right=0.97, **options):
    """Return a choice between the Euclidean distance and LDA, which have given mean accuracies."""
    folds = 0.01 * np.array([-1, 0, 1, 0, 0])
    scores = dict(zip(("Euclidean", "LDA"), (each + folds for each in means), strict=True))
    posterior = Posterior(0.0, 1 - right, right, np.empty(0))
    options = {"majority": 0.5} | options
    choice = Choice("LDA", LDA(), {}, scores, {"Euclidean": 0.1, "LDA": 0.1}, {}, scores, 1, True,
                    150, 150, posterior)  # fmt: skip
    return replace(choice, **options)


def curve_of(means):
    sizes = np.array([15, 30, 60, 120, 240])
    scores = np.array(means)[:, None] + 0.005 * np.array([-1, 0, 1, 0, 0])
    return LearningCurve(sizes, scores, np.ones_like(scores), 300, 0.2)


RISING, FLAT = curve_of([0.5, 0.6, 0.7, 0.78, 0.84]), curve_of([0.9] * 5)


def test_advice_has_three_sentences():
    found = advice(samples_of(X, y), choice_of((0.8, 0.9)), RISING, 3, 300)
    assert found[0] == "Use the saved model, which predicts y by 3 nearest neighbours under LDA."
    assert found[1] == "Expect about 90 % of new rows to be classified correctly (84 to 94 %)."
    assert found[2] == RISING.statement
    assert found[2].startswith("480 training rows instead of 240 would probably raise the accuracy")
    assert advice(samples_of(X, y), choice_of((0.8, 0.9)), FLAT, 3, 300)[2] == FLAT.statement
    assert len(advice(samples_of(X, y), choice_of((0.8, 0.9)), None, 3, 300)) == 2


def test_what_to_use():
    samples = samples_of(X, y)

    def first(*args, **options):
        return advice(samples, choice_of(*args, **options), FLAT, 3, 300)[0]

    assert first((0.8, 0.9), 0.8) == (
        "Use the saved model (3 nearest neighbours under LDA), which is probably better than the "
        "Euclidean distance."
    )
    assert "learning a distance does not help here" in first((0.9, 0.9), 0.03)
    assert "learning a distance is not shown to help" in first((0.9, 0.9), 0.3)
    nobody = first((0.4, 0.45), 0.2, better_than_guess=0.1)
    largest = next(iter(samples.classes))
    assert nobody == (
        "Do not use these models: none predicts y clearly better than always answering "
        f"'{largest}'."
    )
    assert first((0.8, 0.9), learner=dimetric.NCMCClassifier()).endswith("predicts y by LDA.")


@pytest.mark.parametrize(
    ("score", "means", "sentence"),
    [
        ("r2", (0.5, 0.6), "explain about 60 % of the variance of y (59 to 61 %)."),
        ("r2", (-0.2, -0.1), "Expect predictions of y that are no better than its mean."),
        ("mae", (0.9, 0.7), "Expect predictions of y that are off by about 0.7 on average (0.6"),
    ],
)
def test_what_to_expect_of_numbers(score, means, sentence):
    task = Task("continuous", score)
    majority = {"r2": 0.0, "mae": 0.8}[score]
    samples = samples_of(X, X[:, 0] + 0.5 * X[:, 1], kind="continuous", score=score)
    found = advice(samples, choice_of(means, task=task, majority=majority), None, 3, 300)
    assert sentence in found[1]
    assert found[0].startswith("Do not use" if means[0] < 0 else "Use the saved model")


@pytest.mark.parametrize(
    ("score", "sentence"),
    [
        ("balanced_accuracy", "90 % of the new rows of each class to be classified correctly, on"),
        ("f1_macro", "Expect a macro F1 score of about 0.90 on new rows (0.89 to 0.91)."),
    ],
)
def test_what_to_expect_of_other_scores(score, sentence):
    task = Task("classes", score)
    samples = replace(samples_of(X, y), task=task)
    assert sentence in advice(samples, choice_of((0.8, 0.9), task=task), None, 3, 300)[1]


@pytest.mark.parametrize("score", ["balanced_accuracy", "f1_macro"])
def test_perfect_scores_of_a_rare_class_have_an_interval(score):
    task = Task("classes", score)
    matrix = np.diag([980, 20])
    perfect = choice_of((1.0, 1.0), task=task, confusion=Confusion(("a", "b"), matrix, matrix))
    ones = {name: np.ones(5) for name in perfect.scores}
    mean, low, high = expected_score(replace(perfect, final_scores=ones), 5)
    assert (mean, high) == (1, 1)
    assert 0.9 < low < 0.97
    posterior = Posterior(0.0, 0.02, 0.98, np.empty(0))
    other = replace(
        perfect, best_reference="A", reference_scores=np.ones(5), reference_posterior=posterior
    )
    assert 0.9 < expected_score(other, 5)[1] < 0.97


def test_an_interval_of_a_single_point_is_not_shown():
    samples = samples_of(X, 3 * X[:, 1], kind="continuous")
    exact = choice_of((1.0, 1.0), task=Task("continuous", "r2"), majority=0.0)
    exact = replace(exact, final_scores={name: np.ones(5) for name in exact.scores})
    found = advice(samples, exact, None, 3, 300)[1]
    assert found == "Expect predictions that explain about 100 % of the variance of y."


def test_a_better_reference_is_advised():
    posterior = Posterior(0.0, 0.02, 0.98, np.empty(0))
    options = {"best_reference": "Random forest", "reference_posterior": posterior}
    choice = choice_of((0.8, 0.9), reference_scores=np.full(5, 0.96), **options)
    found = advice(samples_of(X, y), choice, FLAT, 3, 300)
    assert found[0] == (
        "Use a random forest to predict y, and the saved model (3 nearest neighbours under LDA) to "
        "find similar rows."
    )
    assert found[1].startswith("Expect about 96 % of new rows")


def test_advice_compares_the_chosen_model_with_the_baseline():
    samples = samples_of(X, y)
    largest = next(iter(samples.classes))

    def first(*args, **options):
        return advice(samples, choice_of(*args, **options), FLAT, 3, 300)[0]

    # LDA is no better than a guess, but Euclidean is.
    assert first((0.9, 0.4), 0.0, better_than_guess=0.1).startswith("Use the Euclidean distance")
    assert first((0.5, 0.55), 0.8, majority=0.52) == (
        "Do not rely on the saved model (3 nearest neighbours under LDA): it may be no better than "
        f"always answering '{largest}' (accuracy 0.520)."
    )
    posterior = Posterior(0.0, 0.2, 0.8, np.empty(0))
    options = {"best_reference": "Logistic regression", "reference_posterior": posterior}
    reference = {"reference_scores": np.full(5, 0.9), **options}
    assert first((0.75, 0.7), 0.1, majority=0.8, **reference) == (
        "Do not use the saved model (3 nearest neighbours under Euclidean) to predict y: it is no "
        f"better than always answering '{largest}'; logistic regression is better."
    )
    reference["reference_scores"] = np.full(5, 0.81)
    found = advice(samples, choice_of((0.75, 0.7), 0.1, majority=0.8, **reference), RISING, 3, 300)
    assert found[0].endswith("logistic regression may be better.")
    assert found[1].startswith("Expect about 81 % of new rows")
    assert RISING.statement not in found  # it is the curve of the distance
    reference["reference_scores"] = np.full(5, 0.7)
    assert first((0.75, 0.7), 0.1, majority=0.8, **reference).startswith("Do not use these models")


def test_luck_of_a_reference_is_not_expected():
    posterior = Posterior(0.0, 0.02, 0.98, np.empty(0))
    scores = {"A": np.array([0.9, 0.7, 0.8]), "B": np.array([0.6, 0.8, 0.7])}
    choice = choice_of(
        (0.6, 0.7), best_reference="A", reference_posterior=posterior, references=scores,
        reference_scores=np.full(5, 0.8), judged_on_unseen_rows=False,
    )  # fmt: skip
    assert expected_score(choice, 3)[0] == pytest.approx(0.75)
    assert expected_score(replace(choice, judged_on_unseen_rows=True), 3)[0] == pytest.approx(0.8)


def test_luck_in_the_race_is_not_expected():
    mean, low, high = expected_score(choice_of((0.8, 0.9), selection_bias=0.03), 5)
    assert mean == pytest.approx(0.87)
    assert low < mean < high
    assert expected_score(choice_of((0.8, 0.9), 0.1, selection_bias=0.03), 5)[0] == 0.8
    perfect = choice_of((1.0, 1.0))
    perfect = replace(perfect, final_scores={name: np.ones(5) for name in perfect.scores})
    assert expected_score(perfect, 5)[1] < 0.99


def limit(samples, choice=None, curve=FLAT, n_fitted=100):
    choice = choice or choice_of((0.8, 0.9))
    return main_limit(samples, choice, curve, (0.9, 0.87, 0.93), n_fitted)


def test_leak():
    leak = np.where(y == "yes", 5.0, 3.0) + 0.1 * RNG.standard_normal(300)
    samples = samples_of(np.column_stack([X, leak]), y)
    assert leaking_column(samples).name == "3"
    assert leaking_column(samples_of(X, y)) is None
    assert limit(samples, choice_of((0.98, 0.99))).startswith(
        "Check column '3': alone, it predicts y almost perfectly (100.0 %); drop it if"
    )
    assert "Check column" not in limit(samples)  # the models do not use it
    rare = np.where(np.arange(300) % 100 < 99, "often", "rare")
    assert leaking_column(samples_of(X, np.where(np.arange(300) < 4, "rare", "often"))) is None
    assert leaking_column(samples_of(np.column_stack([X, rare == "rare"]), rare)).score == 1
    numbers = samples_of(X, 3 * X[:, 1] + 1, kind="continuous")
    found = limit(numbers, choice_of((0.98, 0.99), task=Task("continuous", "r2")))
    assert "Check column '1'" in found
    assert "R2 0.99" in found


def test_perfect_scores_are_suspicious():
    perfect = choice_of((1.0, 1.0))
    perfect = replace(perfect, final_scores={name: np.ones(5) for name in perfect.scores})
    assert "which is suspicious" in limit(samples_of(X, y), perfect)


def test_missing_values_copies_and_conflicts():
    holes = X.copy()
    holes[:100, 1] = np.nan
    with pytest.warns(UserWarning, match="Dropped 100"):
        samples = samples_of(holes, y)
    assert limit(samples).startswith("Only 200 of 300 rows were used, mostly because of missing")
    copies = samples_of(np.concatenate([X, X]), np.concatenate([y, y]))
    assert "there are only 300 different rows among 600" in limit(copies)
    other = np.where(y == "yes", "no", "yes")
    conflicts = samples_of(np.concatenate([X, X[:60]]), np.concatenate([y, other[:60]]))
    assert "120 of 360 rows equal a row of another class" in limit(conflicts)


def test_rare_classes_few_rows_and_budget():
    rare = np.where(np.arange(300) < 12, "rare", y)
    assert (
        limit(samples_of(X, rare)) == "Class 'rare' has only 12 rows, so its recall is uncertain."
    )
    assert limit(samples_of(X[:60], y[:60])).startswith("With only 60 rows, this estimate is rough")
    wide = main_limit(samples_of(X, y), choice_of((0.8, 0.9)), FLAT, (0.7, 0.5, 0.9), 300)
    assert wide.startswith("With only 300 rows")
    part = choice_of((0.8, 0.9), n_race_rows=50, n_final_rows=50)
    assert limit(samples_of(X, y), part, RISING) == (
        "The time was enough for 100 of 300 rows; a model of all rows is probably better."
    )
    assert limit(samples_of(X, y), part, RISING, 300) == (
        "The estimate is based on 50 rows; the saved model was trained on 300, so it is probably "
        "better."
    )
    assert limit(samples_of(X, y), part, FLAT) == FLAT.statement
    same = replace(part, judged_on_unseen_rows=False, n_final_rows=300)
    assert limit(samples_of(X, y), same, RISING) == RISING.statement
    slow = choice_of(
        (0.8, 0.9), dropped={"LSI": "The time limit was reached.", "ITML": "It took 9 s."}
    )
    assert limit(samples_of(X, y), slow, FLAT) == (
        "2 learners were not tested for lack of time; a larger --budget may find a better one."
    )
    slow.dropped["Random forest"] = slow.dropped["LSI"]  # a reference model is not a learner
    assert limit(samples_of(X, y), slow, FLAT).startswith("2 learners were not tested")


@pytest.mark.parametrize(("seconds", "n_sizes"), [(100.0, 5), (20.0, 3), (1.0, None)])
def test_curve_has_fewer_sizes_if_the_time_is_short(monkeypatch, seconds, n_sizes):
    """Each fit takes a second on the clock of the curve."""
    clock = iter(range(1000))
    monkeypatch.setattr("dimetric.advice._guidance.curve.perf_counter", lambda: next(clock))
    limit = _TimeLimit(seconds, None)
    found = None
    for n in (5, 3):
        try:
            for i in range(5 * n):
                limit.check(i + 1, 5 * n)
        except _TimeLimitReached:
            continue
        found = n
        break
    assert found == n_sizes


@pytest.fixture(scope="module")
def comparison():
    data = load_wine()
    stages = []
    options = {"learners": {"LDA": LDA(), "PCA": PCA(2)}, "budget": 30, "random_state": 0}
    found = dimetric.compare(data.data, data.target, **options)
    found.compute(lambda *each: stages.append(each))
    return found, stages


def test_comparison_has_a_curve_advice_and_a_model_of_all_rows(comparison):
    found, stages = comparison
    assert [each for each, *_ in stages[:1] + stages[-2:]] == ["curve", "model", "model"]
    assert ("curve", 25, 25) in stages
    assert ("insight", 0, 1) in stages
    assert found.curve.sizes[-1] == 142
    assert 2 <= len(found.advice) <= 3
    assert found.advice[0].startswith("Use ")
    assert "trained on all 178 rows" in found.learner_description
    results = found.to_dict()
    assert results["advice"] == found.advice
    assert results["learning_curve"]["statement"] == found.curve.statement
    assert found.compute() is found
    assert (results["budget"], results["random_state"], results["folds"]) == (30, 0, 5)
    assert results["budget_for_all"] == found.choice.budget_for_all
    assert results["rounds"][-1]["n_rows"] == found.choice.n_race_rows
    assert results["verdict"]["majority"] == found.choice.majority
    reference = results["verdict"]["reference"]
    assert reference["name"] == found.choice.best_reference
    assert reference["better"] == found.choice.reference_posterior.right


def test_report_shows_advice_and_curve(comparison, tmp_path):
    found, _ = comparison
    found.report(tmp_path / "a.html")
    page = (tmp_path / "a.html").read_text(encoding="utf-8").replace("\N{NO-BREAK SPACE}", " ")
    assert "Would more rows help?" in page
    assert found.curve.statement in page
    assert all(each.replace("'", "&#39;") in page for each in found.advice)


def test_tiny_tables_have_no_curve():
    found = dimetric.compare(X[:24], y[:24], learners=["PCA"], budget=10, cv=3, random_state=0)
    assert found.curve is None
    assert "With only 24 rows" in found.advice[-1]
    assert found.to_dict()["learning_curve"] is None
