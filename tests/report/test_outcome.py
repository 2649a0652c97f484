"""The results of a comparison in words."""

from dataclasses import replace

import numpy as np
import pytest

from dimetric import LDA, NCMCClassifier
from dimetric.report._choice import Choice
from dimetric.report._outcome import outcome, reference_note
from dimetric.report._setting import setting_note
from dimetric.report._task import Task
from dimetric.stats import Posterior

NUMBERS = Task("continuous", "r2")


def choice_of(means, task=NUMBERS, majority=0.0, learner=None, **options):
    scores = dict(zip(("Euclidean", "LDA"), (np.full(5, each) for each in means), strict=True))
    seconds, posterior = dict.fromkeys(scores, 0.1), Posterior(0.0, 0.1, 0.9, np.empty(0))
    choice = Choice("LDA", learner or LDA(), {}, scores, seconds, {}, scores, 1, True, 150, 150,
                    posterior)  # fmt: skip
    return replace(choice, task=task, majority=majority, **options)


def test_numbers_have_a_baseline():
    text = outcome(choice_of((0.5, 0.6)), "price", 3, {})
    assert text == (
        "3-NN under LDA explains 0.600 of the variance of price (R2), and 0.500 under the "
        "Euclidean distance. Baseline: always predicting the mean has R2 0.000."
    )
    errors = choice_of((9.0, 7.0), Task("continuous", "mae"), majority=8.0)
    assert outcome(errors, "price", 3, {}).endswith(
        "Baseline: always predicting the mean has MAE 8. Euclidean is worse than this baseline."
    )
    below = outcome(choice_of((-0.2, 0.1)), "price", 3, {})
    assert below.endswith("has R2 0.000. Euclidean is worse than this baseline.")


def test_a_model_that_predicts_by_itself_has_no_neighbors():
    learner = NCMCClassifier()
    assert outcome(choice_of((0.5, 0.6), learner=learner), "price", 3, {}).startswith(
        "LDA explains 0.600 of the variance of price (R2), and 0.500 for 3-NN under the Euclidean"
    )
    assert "MAE" in outcome(
        choice_of((9.0, 7.0), Task("continuous", "mae"), 8.0, learner), "price", 3, {}
    )
    assert setting_note(None, "minmax", []) == "All scores use features scaled to [0, 1]."
    assert setting_note(None, "minmax", ["n_neighbors", "scale"]) == (
        "The scaling of features was chosen in each fold from its training rows. The model "
        "uses features scaled to [0, 1]."
    )


@pytest.mark.parametrize(("score", "is_worse"), [(0.877 - 1e-12, False), (0.86, True)])
def test_a_score_that_is_shown_as_the_baseline_is_not_called_worse(score, is_worse):
    choice = choice_of((0.9, score), Task(), majority=0.877)
    assert ("LDA is worse" in outcome(choice, "kind", 3, {"a": 2, "b": 1})) == is_worse


def test_the_final_score_of_the_reference():
    assert reference_note(choice_of((0.5, 0.6))) == ""
    options = {"best_reference": "Random forest", "reference_scores": np.full(5, 0.7)}
    assert reference_note(choice_of((0.5, 0.6), **options)) == (
        "In the same folds, a random forest (reference) has R2 0.700."
    )
    assert reference_note(choice_of((0.5, 0.6), Task(), **options)) == (
        "In the same folds, a random forest (reference) has accuracy 70.0 %."
    )
