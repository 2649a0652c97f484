"""Records of the results of a comparison, from which a report is rendered."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from dimetric.quality._neighborhood import ExplainedNeighbor
from dimetric.report._confusion import Confusion
from dimetric.report._task import CLASSIFICATION, Task
from dimetric.stats._bayes import Posterior
from dimetric.stats._verdict import verdict

__all__ = [
    "BASELINE",
    "ChangedNeighbors",
    "Choice",
    "ExplainedChange",
    "Insight",
    "LearnerRow",
    "PredictedNumbers",
    "ReportRecord",
]

BASELINE = "Euclidean"  # name of the distance that all learners are compared with


class LearnerRow(NamedTuple):
    """One row of the table of learners.

    Attributes
    ----------
    learner : str
        Name of the learner.
    score, std : float
        Mean and standard deviation of its test scores.
    gain : float
        Its mean score minus that of the Euclidean distance. For errors, a negative gain is better.
    seconds : float
        Mean time of a fit.
    """

    learner: str
    score: float
    std: float
    gain: float
    seconds: float


@dataclass(frozen=True, eq=False)
class Choice:
    """The best learner, and the scores by which it was chosen.

    First, a race cross-validates all learners. Then a final round compares the best learner with
    the baseline, the Euclidean distance.

    Attributes
    ----------
    best : str
        Name of the best learner. It is never the baseline.
    learner : learner
        The best learner with its tuned parameters, not fitted.
    params : dict of str to object
        The tuned parameters. Empty if there was no time to tune.
    scores : dict of str to ndarray of shape (n_folds,)
        Test scores of each learner in the folds of the race: accuracies, or R2 or mean absolute
        errors, as `task` says.
    fit_seconds : dict of str to float
        Mean time of a fit of each learner.
    dropped : dict of str to str
        The reason why a learner or reference model has no score, by its name.
    final_scores : dict of str to ndarray of shape (n_repeats * n_folds,)
        Test scores of the baseline and the best learner in the folds of the final. These
        differ from the folds of the race. Parameters were tuned within each fold.
    n_repeats : int
        Number of times that the final split the rows into folds.
    judged_on_unseen_rows : bool
        Whether the final used rows that the race did not use.
    n_race_rows, n_final_rows : int
        Number of rows in the race and in the final.
    posterior : Posterior
        Result of the Bayesian test of the baseline (left) against the best learner (right), whose
        scores were reduced by `selection_bias`. ``right`` is at most `better_than_guess`.
    selection_bias : float
        How much too good the best learner's score is because the same rows chose it (estimate).
    better_than_guess : float
        Probability that the best learner is better than always predicting the largest class, or
        the mean of the numbers.
    task : Task
        What the target contains, and how predictions are scored.
    references : dict of str to ndarray of shape (n_folds,)
        Test scores of the reference models of regression in the folds of the race: mean
        prediction, ridge regression and a random forest. Empty for classes.
    reference_seconds : dict of str to float
        Mean time of a fit of each reference model.
    n_neighbors : int
        Number of nearest neighbours that the fitted model uses.
    scale : {"minmax", "standard", "robust"}
        How the fitted model scales features.
    chosen_in_folds : tuple of str
        Which of "n_neighbors" and "scale" were chosen anew in each fold, from its training rows.
    confusion : Confusion or None
        Recalls and confusion matrices of the baseline and the best learner on the test rows of the
        final. None for numbers.
    """

    best: str
    learner: Any
    params: dict[str, Any]
    scores: dict[str, np.ndarray]
    fit_seconds: dict[str, float]
    dropped: dict[str, str]
    final_scores: dict[str, np.ndarray]
    n_repeats: int
    judged_on_unseen_rows: bool
    n_race_rows: int
    n_final_rows: int
    posterior: Posterior = field(repr=False)
    selection_bias: float = 0.0
    better_than_guess: float = 1.0
    task: Task = CLASSIFICATION
    references: dict[str, np.ndarray] = field(default_factory=dict)
    reference_seconds: dict[str, float] = field(default_factory=dict)
    n_neighbors: int = 3
    scale: str = "minmax"
    chosen_in_folds: tuple[str, ...] = ()
    confusion: Confusion | None = field(default=None, repr=False)

    @property
    def chosen(self) -> str:
        """Name of the distance that the fitted model uses: `best`, or the baseline.

        It is `best` if that is better with a probability above 50 %.
        """
        return self.best if self.posterior.right > 0.5 else BASELINE

    @property
    def verdict(self) -> str:
        """One sentence, or two, that say whether the best learner beats the baseline."""
        sentence = verdict(BASELINE, self.best, self.posterior)
        if self.chosen == self.best:
            return sentence
        return f"{sentence} No learner beat Euclidean, so the model uses the Euclidean distance."

    @property
    def mean_scores(self) -> dict[str, float]:
        """Mean score of each learner in the race, the best first."""
        return self._means(self.scores)

    @property
    def table(self) -> list[LearnerRow]:
        """One row for each learner of the race, the best first."""
        return self._rows(self.scores, self.fit_seconds)

    @property
    def reference_table(self) -> list[LearnerRow]:
        """One row for each reference model, the best first."""
        return self._rows(self.references, self.reference_seconds)

    def _means(self, scores: dict[str, np.ndarray]) -> dict[str, float]:
        sign = -1 if self.task.greater_is_better else 1
        means = {name: float(np.mean(each)) for name, each in scores.items()}
        return dict(sorted(means.items(), key=lambda each: sign * each[1]))

    def _rows(self, scores: dict[str, np.ndarray], seconds: dict[str, float]) -> list[LearnerRow]:
        baseline = float(np.mean(self.scores[BASELINE]))
        return [
            LearnerRow(name, mean, float(scores[name].std(ddof=1)), mean - baseline, seconds[name])
            for name, mean in self._means(scores).items()
        ]


class PredictedNumbers(NamedTuple):
    """True and predicted numbers of test samples.

    Attributes
    ----------
    rows : ndarray of int
        Indices of the test samples.
    true, before, after : ndarray of shape (n_rows,)
        Their numbers, and the predictions by nearest neighbours under the Euclidean and under the
        learned distance.
    """

    rows: np.ndarray
    true: np.ndarray
    before: np.ndarray
    after: np.ndarray


class ChangedNeighbors(NamedTuple):
    """A test sample and its nearest training samples under two distances.

    Attributes
    ----------
    row : int
        Index of the test sample.
    before, after : ndarray of int
        Indices of its nearest neighbours under the Euclidean and the learned distance.
    """

    row: int
    before: np.ndarray
    after: np.ndarray


class ExplainedChange(NamedTuple):
    """A test sample, and the parts of its learned distances to two changed neighbours.

    Attributes
    ----------
    row : int
        Index of the test sample.
    removed, added : ExplainedNeighbor
        The nearest neighbour that the learned distance removes, and the nearest that it adds. Their
        indices refer to all samples.
    """

    row: int
    removed: ExplainedNeighbor
    added: ExplainedNeighbor


@dataclass(frozen=True, eq=False)
class Insight:
    """Feature importances under a learned distance, and the predictions that it changes.

    Attributes
    ----------
    n_train, n_test : int
        Number of samples that the distance was learned from, and that it was tested on.
    corrected_errors : list of ChangedNeighbors
        Test samples that the learned distance classifies correctly and the Euclidean
        distance does not. For numbers: test samples whose absolute error is smaller under the
        learned distance, the largest change first.
    new_errors : list of ChangedNeighbors
        Test samples that the Euclidean distance classifies correctly and the learned
        distance does not. For numbers: test samples whose absolute error is larger under the
        learned distance, the largest change first.
    importance : dict of str to float
        Importance of each feature, the largest first. Empty if it took too long to compute.
    from_metric : bool
        If True, the importance of a feature is the square root of its diagonal entry in M. If
        False, it is the drop in accuracy, or in R2, when the feature is shuffled.
    metric : ndarray of shape (n_features, n_features) or None
        The matrix M for features scaled to [0, 1]. None if the learner is not linear.
    rows : ndarray
        Indices of the samples to plot.
    shows_unseen_rows : bool
        Whether all plotted samples are test samples.
    before, after : ndarray of shape (n_rows, 2)
        First two principal components of the plotted samples: of their scaled features, and of
        their coordinates under the learned distance.
    predictions : PredictedNumbers or None
        Predicted and true numbers of the test samples. None for classes.
    explained_changes : list of ExplainedChange
        Explanations of changed neighbours for a few of the most changed test samples. Empty if the
        learner is not linear.
    """

    n_train: int
    n_test: int
    corrected_errors: list[ChangedNeighbors]
    new_errors: list[ChangedNeighbors]
    importance: dict[str, float]
    from_metric: bool
    metric: np.ndarray | None
    rows: np.ndarray
    shows_unseen_rows: bool
    before: np.ndarray
    after: np.ndarray
    predictions: PredictedNumbers | None = None
    explained_changes: list[ExplainedChange] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class ReportRecord:
    """The contents of a report.

    Attributes
    ----------
    name, source, target : str
        Name of the table, its origin, and the name of its target column.
    y : ndarray of shape (n_rows,)
        Classes of the rows, or the numbers to predict.
    rows : ndarray of shape (n_rows,)
        Row indices in the original table, from 0.
    feature_names : list of str
        Names of the features.
    classes : dict of str to int
        Number of rows of each class, the largest first. Empty if the target contains numbers.
    notes : list of str
        Sentences that say which rows and columns were dropped, imputed or encoded.
    n_neighbors, n_folds : int
        Number of nearest neighbours used for predictions, and number of folds.
    rope : float
        Scores that differ by at most this count as equal.
    random_state : int
        Random seed.
    choice : Choice
        The best learner and the scores.
    insight : Insight
        Feature importances and changed predictions.
    model_file : str or None
        File of the saved model. None if it was not saved.
    model_description : str
        Sentences that describe the fitted model.
    seconds : float
        Total time of the comparison.
    versions : dict of str to str
        Versions of Python and of packages, by name.
    reading : str
        A sentence that says how the target is read and how to change that, or "".
    """

    name: str
    source: str
    target: str
    y: np.ndarray
    rows: np.ndarray
    feature_names: list[str]
    classes: dict[str, int]
    notes: list[str]
    n_neighbors: int
    n_folds: int
    rope: float
    random_state: int
    choice: Choice
    insight: Insight
    model_file: str | None
    model_description: str
    seconds: float
    versions: dict[str, str]
    reading: str = ""
