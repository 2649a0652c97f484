"""The best learner of a comparison, and the scores by which it was chosen."""

from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from dimetric.report._confusion import Confusion
from dimetric.report._task import CLASSIFICATION, Task
from dimetric.stats._bayes import Posterior
from dimetric.stats._verdict import CONFIDENT_PROBABILITY, verdict

__all__ = ["BASELINE", "Choice", "LearnerRow", "RaceRound", "in_sentence", "reference_phrase"]

BASELINE = "Euclidean"  # name of the distance that all learners are compared with

# Reference models as objects of a sentence.
REFERENCE_PHRASES = {
    "Random forest": "a random forest",
    "RBF SVM": "an RBF SVM",
    "Ridge": "ridge regression",
    "Mean prediction": "the mean",
}

ROUNDING = 1e-9  # smaller probabilities are rounding errors


def in_sentence(name: str) -> str:
    """Return the name of a reference model as it is written within a sentence.

    Examples
    --------
    >>> in_sentence("Gradient boosting"), in_sentence("RBF SVM")
    ('gradient boosting', 'RBF SVM')
    """
    return name if name[:2].isupper() else name[:1].lower() + name[1:]


def reference_phrase(name: str) -> str:
    """Return the name of a reference model as the object of a sentence.

    Examples
    --------
    >>> reference_phrase("Random forest"), reference_phrase("Gradient boosting")
    ('a random forest', 'gradient boosting')
    """
    return REFERENCE_PHRASES.get(name, in_sentence(name))


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


class RaceRound(NamedTuple):
    """One round of the race. Later rounds have more rows and fewer learners.

    Attributes
    ----------
    n_rows, n_folds : int
        Number of rows, and number of scores of each learner.
    learners : tuple of str
        Names of the learners with scores, including the baseline.
    """

    n_rows: int
    n_folds: int
    learners: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Choice:
    """The best learner, and the scores by which it was chosen.

    First, a race cross-validates all learners: on few rows at first, and the best ones on more
    rows. Then a final round compares the best learner with the baseline, the Euclidean distance,
    and with the best reference model.

    Attributes
    ----------
    best : str
        Name of the best learner. It is never the baseline.
    learner : learner
        The best learner with its tuned parameters, not fitted.
    params : dict of str to object
        The tuned parameters. Empty if there was no time to tune.
    scores : dict of str to ndarray of shape (n_scores,)
        Test scores of each learner in the folds of the last round of the race, as `task` says.
        With several repeats, there are several scores for each fold.
    fit_seconds : dict of str to float
        Mean time of a fit of each learner.
    dropped : dict of str to str
        A sentence that says why a learner or reference model has no score, by its name.
    final_scores : dict of str to ndarray of shape (n_repeats * n_folds,)
        Test scores of the baseline and the best learner in the folds of the final. These
        differ from the folds of the race. Parameters were tuned within each fold.
    n_repeats : int
        Number of times that the final split the rows into folds.
    judged_on_unseen_rows : bool
        Whether the final used rows that the race did not use.
    n_race_rows, n_final_rows : int
        Number of rows in the last round of the race, and in the final.
    posterior : Posterior
        Result of the Bayesian test of the baseline (left) against the best learner (right), whose
        scores were reduced by `selection_bias`. ``right`` is at most `better_than_guess`,
        and the probabilities sum to 1 with `only_better_than_baseline`.
    selection_bias : float
        How much too good the best learner's score is because the same rows chose it (estimate).
    better_than_guess : float
        Probability that the best learner is better than always predicting the largest class, or
        the mean of the numbers.
    task : Task
        What the target contains, and how predictions are scored.
    references : dict of str to ndarray of shape (n_folds,)
        Test scores of reference models, which use no distance, in folds of the last round of the
        race.
    reference_seconds : dict of str to float
        Mean time of a fit of each reference model.
    majority : float
        Score of always predicting the largest class, or the mean of the numbers.
    best_reference : str or None
        Name of the reference model that was evaluated in the final: the best one of the race.
    reference_scores : ndarray of shape (n_repeats * n_folds,) or None
        Its test scores in the folds of the final.
    reference_posterior : Posterior or None
        Result of the Bayesian test of the better distance of the final (left) against the best
        reference model (right).
    rounds : tuple of RaceRound
        The rounds of the race.
    budget_for_all : float or None
        Estimated budget, in seconds, with which no learner is dropped for lack of time. None if
        no learner was.
    too_short : float or None
        The budget, in seconds, if it was too short for any learner whose distance differs from
        the Euclidean one. Then nothing was compared.
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
    majority: float = 0.0
    best_reference: str | None = None
    reference_scores: np.ndarray | None = None
    reference_posterior: Posterior | None = field(default=None, repr=False)
    rounds: tuple[RaceRound, ...] = ()
    budget_for_all: float | None = None
    too_short: float | None = None
    n_neighbors: int = 3
    scale: str = "minmax"
    chosen_in_folds: tuple[str, ...] = ()
    confusion: Confusion | None = field(default=None, repr=False)

    @property
    def chosen(self) -> str:
        """Name of the distance that the fitted model uses: `best`, or the baseline.

        It is `best` if that is better with a probability above 50 %.
        """
        is_better = self.posterior.right > 0.5 and self.too_short is None
        return self.best if is_better else BASELINE

    @property
    def only_better_than_baseline(self) -> float:
        """Probability that `best` is better than the baseline, but not than the guess.

        The guess is always the largest class, or the mean.
        """
        found = self.posterior
        return max(0.0, 1 - found.left - found.rope - found.right)

    @property
    def better_reference(self) -> str | None:
        """Name of the best reference model if it is clearly better than any distance, or None.

        It is clearly better if the probability is at least 95 %.
        """
        found = self.reference_posterior
        is_better = found is not None and found.right >= CONFIDENT_PROBABILITY
        return self.best_reference if is_better else None

    @property
    def verdict(self) -> str:
        """Sentences that say whether the best learner beats the baseline, and what to use."""
        sentences = [self._test_sentence()]
        if self.too_short is not None:
            sentences = [
                f"No learner could be compared in {self.too_short:.3g} s, so the model uses the "
                "Euclidean distance. Set a larger budget."
            ]
        elif self.chosen != self.best:
            is_better = self.posterior.right + self.only_better_than_baseline > 0.5
            why = "No learner is better than both" if is_better else "No learner beat Euclidean"
            sentences.append(f"{why}, so the model uses the Euclidean distance.")
        if self.better_reference is not None:
            sentences.append(self._reference_advice(self.better_reference))
        return " ".join(sentences)

    def _test_sentence(self) -> str:
        """Return the result of the test against the baseline, and of that against the guess."""
        right = self.posterior.right + self.only_better_than_baseline
        sentence = verdict(BASELINE, self.best, replace(self.posterior, right=right))
        if right <= 0.5 or self.only_better_than_baseline < ROUNDING:
            return sentence
        of_task = "the mean" if self.task.is_regression else "the largest class"
        guess = f"better than always predicting {of_task}"
        if self.better_than_guess > 0.5:
            also = f"and probably {guess} ({100 * self.better_than_guess:.0f} %)"
        else:
            is_clear = self.better_than_guess <= 1 - CONFIDENT_PROBABILITY
            also = f"but {'' if is_clear else 'probably '}not {guess}"
        return f"{sentence.removesuffix('.')}, {also}."

    def _reference_advice(self, name: str) -> str:
        phrase = reference_phrase(name)
        learned = "learned" if self.chosen == self.best else "Euclidean"
        return (
            f"Use {phrase} for prediction; the {learned} distance is still the best one for "
            "search and pictures."
        )

    @property
    def mean_scores(self) -> dict[str, float]:
        """Mean score of each learner in the race, the best first."""
        return self._means(self.scores)

    @property
    def table(self) -> list[LearnerRow]:
        """One row for each learner of the last round of the race, the best first."""
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
