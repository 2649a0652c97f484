"""Plain records of what a comparison found: the contents of a report."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from dimetric.stats._bayes import Posterior
from dimetric.stats._verdict import verdict

__all__ = ["BASELINE", "ChangedNeighbors", "Choice", "Insight", "LearnerRow", "ReportRecord"]

BASELINE = "Euclidean"  # every learner is compared to this distance


class LearnerRow(NamedTuple):
    """One row of the table of learners.

    Attributes
    ----------
    learner : str
        Name of the learner.
    score, spread : float
        Mean and standard deviation of its test scores.
    gain : float
        How far its mean is above that of the Euclidean distance.
    seconds : float
        Mean time of a fit.
    """

    learner: str
    score: float
    spread: float
    gain: float
    seconds: float


@dataclass(frozen=True, eq=False)
class Choice:
    """The learner that suits the samples best, and how it was found.

    Attributes
    ----------
    best : str
        Name of the best learner. The Euclidean distance is not among the candidates.
    learner : learner
        This learner with its best parameters, not fitted.
    params : dict of str to object
        The parameters that were tuned; empty if there was no time to tune.
    scores : dict of str to ndarray of shape (n_folds,)
        Test scores of all learners in the folds of the race.
    fit_seconds : dict of str to float
        Mean time of a fit, for each learner.
    dropped : dict of str to str
        Learners without a score, and why.
    final_scores : dict of str to ndarray of shape (n_repeats * n_folds,)
        Test scores of the baseline and of the best learner in other folds than those of the race.
        The parameters were tuned anew inside each fold.
    n_repeats : int
        How often the rows were split into folds for the final.
    judged_on_unseen_rows : bool
        Whether the final used other rows than the race.
    n_race, n_final : int
        Numbers of rows of the race and of the final.
    posterior : Posterior
        Result of the Bayesian test of the baseline (left) and the best learner (right).
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
    n_race: int
    n_final: int
    posterior: Posterior = field(repr=False)

    @property
    def verdict(self) -> str:
        """The verdict in a sentence."""
        return verdict(BASELINE, self.best, self.posterior)

    @property
    def mean_scores(self) -> dict[str, float]:
        """Mean scores of the race, the best first."""
        means = {name: float(np.mean(each)) for name, each in self.scores.items()}
        return dict(sorted(means.items(), key=lambda each: -each[1]))

    @property
    def table(self) -> list[LearnerRow]:
        """A row for each learner of the race, the best first."""
        means = self.mean_scores
        return [
            LearnerRow(
                name,
                mean,
                float(self.scores[name].std(ddof=1)),
                mean - means[BASELINE],
                self.fit_seconds[name],
            )
            for name, mean in means.items()
        ]


class ChangedNeighbors(NamedTuple):
    """A test sample, and its nearest neighbours among the training samples.

    Attributes
    ----------
    row : int
        Row of the sample.
    before, after : ndarray of int
        Rows of its nearest neighbours under the Euclidean and under the learned distance.
    """

    row: int
    before: np.ndarray
    after: np.ndarray


@dataclass(frozen=True, eq=False)
class Insight:
    """What a learned distance changes.

    Attributes
    ----------
    n_train, n_test : int
        Number of samples that the distance was learned from, and that it was tried on.
    gained, lost : list of ChangedNeighbors
        Test samples that are classified correctly only by the learned distance, and only by the
        Euclidean distance.
    importance : dict of str to float
        How much each feature counts, the largest first.
    from_metric : bool
        Whether the importance of a feature is the square root of its entry on the diagonal of M.
        Otherwise, it is the loss of score when the feature is shuffled.
    metric : ndarray of shape (n_features, n_features) or None
        The matrix M of features scaled to [0, 1]; None for a distance that has no matrix.
    rows : ndarray
        Rows of the samples to draw.
    shows_unseen_rows : bool
        Whether the distance was learned without the samples that are drawn.
    before, after : ndarray of shape (n_rows, 2)
        These samples in the plane of their largest variance: scaled, and under the learned map.
    """

    n_train: int
    n_test: int
    gained: list[ChangedNeighbors]
    lost: list[ChangedNeighbors]
    importance: dict[str, float]
    from_metric: bool
    metric: np.ndarray | None
    rows: np.ndarray
    shows_unseen_rows: bool
    before: np.ndarray
    after: np.ndarray


@dataclass(frozen=True, eq=False)
class ReportRecord:
    """Everything that a report shows.

    Attributes
    ----------
    name, source, target : str
        Name of the table, where it comes from, and the name of the column of classes.
    y : ndarray of shape (n_rows,)
        Classes of the rows.
    rows : ndarray of shape (n_rows,)
        The number of each row in the table that was given.
    feature_names : list of str
        Names of the features.
    classes : dict of str to int
        Sizes of the classes, the largest first.
    notes : list of str
        What was done to the table, in sentences.
    n_neighbors, n_folds : int
        Number of neighbours that vote, and of folds.
    rope : float
        Largest difference of scores that counts as none.
    random_state : int
        Seed of all random draws.
    choice : Choice
        The comparison.
    insight : Insight
        What the best learner changes.
    model_file : str or None
        File of the fitted model; None if it was not saved.
    model_description : str
        What the model is, in a sentence.
    seconds : float
        How long the comparison took.
    versions : dict of str to str
        Versions of Python and packages.
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
