"""Records of the results of a comparison, from which a report is rendered."""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from dimetric.quality._neighborhood import ExplainedNeighbor
from dimetric.report._choice import BASELINE, Choice, LearnerRow
from dimetric.selection._curve_result import LearningCurve

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
        False, it is the drop in the score (R2 for numbers) when the feature is shuffled.
    metric : ndarray of shape (n_features, n_features) or None
        The matrix M for scaled features. None if the learner is not linear.
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
    advice : list of str
        Sentences that say what to use, what to expect, and what limits the answer.
    budget : float or None
        Time budget in seconds, if there was one.
    curve : LearningCurve or None
        Learning curve of the chosen distance.
    sampling : str
        From how many rows and row groups the rows were sampled, or "".
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
    advice: list[str] = field(default_factory=list)
    budget: float | None = None
    curve: LearningCurve | None = None
    sampling: str = ""
