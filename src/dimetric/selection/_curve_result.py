"""Result of a learning curve: its uncertainty, and whether more samples would help."""

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from scipy.stats import t

from dimetric.selection._score_interval import mean_deviation, score_interval

__all__ = ["DoublingGain", "LearningCurve"]

SCORE_NAMES = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "f1_macro": "macro F1 score",
    "r2": "R2",
    "mae": "mean absolute error",
}
EXPONENTS = np.array([0.25, 0.5, 0.75, 1.0, 1.5, 2.0])  # of the decay of the missing score
GAIN_CONFIDENCE = 0.8  # what a sentence calls "probably"
TOLERANCE = 0.01  # a smaller gain is negligible; relative to the error for the score "mae"
MAX_WIDTH = 0.2  # of the interval of a score that is known well enough to call a curve flat


class DoublingGain(NamedTuple):
    """How much the score would improve with twice as many training samples.

    Attributes
    ----------
    expected, low, high : float
        The expected improvement, and an interval that contains it with a probability of 80 %. It
        is positive if the score gets better, also for errors.
    """

    expected: float
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class LearningCurve:
    """Held-out score of a model against the number of training samples.

    Attributes
    ----------
    sizes : ndarray of shape (n_sizes,)
        Numbers of training samples, in ascending order.
    scores : ndarray of shape (n_sizes, n_folds)
        Score on the test samples of each fold. The training samples of a smaller size are among
        those of each larger size.
    fit_seconds : ndarray of shape (n_sizes, n_folds)
        Time of each fit.
    n_samples : int
        Number of samples for training and testing.
    test_fraction : float
        Fraction of the samples that each fold tests.
    score : str
        "accuracy", "balanced_accuracy", "f1_macro", "r2" or "mae".
    confidence : float
        Probability that the interval of a mean score contains the value that it estimates.
    n_available : int or None
        Number of all samples, if the `n_samples` were drawn from more samples.
    """

    sizes: np.ndarray
    scores: np.ndarray
    fit_seconds: np.ndarray = field(repr=False)
    n_samples: int
    test_fraction: float
    score: str = "accuracy"
    confidence: float = 0.95
    n_available: int | None = None

    @property
    def score_name(self) -> str:
        """Name of the score in sentences."""
        return SCORE_NAMES[self.score]

    @property
    def greater_is_better(self) -> bool:
        """Whether a greater score is better."""
        return self.score != "mae"

    @property
    def mean(self) -> np.ndarray:
        """Mean score over the folds for each size."""
        return self.scores.mean(axis=1)

    @property
    def interval(self) -> np.ndarray:
        """Lower and upper limit of the mean score for each size, of shape (n_sizes, 2)."""
        n_tested = self.n_samples if self.score == "accuracy" else None
        return score_interval(
            self.scores, self.test_fraction, confidence=self.confidence, n_tested=n_tested
        )

    @property
    def gain(self) -> DoublingGain:
        r"""How much the score would improve with twice as many training samples.

        A power law is fitted to the scores of each fold,

        .. math:: s_j(n) \approx a_j - b_j n^{-c}

        where the exponent c is the same for all folds. The gain of fold j is
        :math:`b_j (n^{-c} - (2n)^{-c})` for the largest number n of training samples. The expected
        gain is its mean over the folds. Exponents from 0.25 to 2 are averaged. Their weights are
        the posterior probabilities, given the mean scores. The interval is that of Student's t
        distribution. Its variance is that of the mean gain plus that of the gains under different
        exponents. The variance of the mean gain follows from the gains of the folds
        (:func:`~dimetric.selection._score_interval.mean_deviation`), or from the residuals of the
        power law if these are larger.
        """
        sign = 1 if self.greater_is_better else -1
        fits = [_fold_gains(self.sizes, sign * self.scores, float(c)) for c in EXPONENTS]
        gains, misfits, log_weights = (np.array(each) for each in zip(*fits, strict=True))
        weights = np.exp(log_weights - log_weights.max())
        weights /= weights.sum()
        means = gains.mean(axis=1)
        deviations = np.maximum(mean_deviation(gains, self.test_fraction), misfits)
        expected = float(weights @ means)
        deviation = float(np.sqrt(weights @ (deviations**2 + (means - expected) ** 2)))
        half = deviation * float(t.ppf(0.5 + GAIN_CONFIDENCE / 2, self.scores.shape[1] - 1))
        best = np.inf if self.score == "mae" else 1 - float(self.mean[-1])
        low, expected, high = (
            min(each, best) for each in (expected - half, expected, expected + half)
        )
        return DoublingGain(expected, low, high)

    @property
    def doubled(self) -> tuple[float, float, float]:
        """Expected score with twice as many training samples, and the limits of its interval."""
        now, gain, sign = float(self.mean[-1]), self.gain, 1 if self.greater_is_better else -1
        expected, *limits = (now + sign * each for each in gain)
        low, high = sorted(limits)
        return expected, low, high

    @property
    def would_help(self) -> bool | None:
        """Whether more training samples would probably help. None if this is unclear."""
        gain = self.gain
        tolerance = TOLERANCE * (1.0 if self.greater_is_better else float(self.mean[-1]))
        if gain.high < tolerance:
            return None if self._is_rough else False
        return True if gain.low > 0 and gain.expected >= tolerance / 2 else None

    @property
    def _is_rough(self) -> bool:
        """Whether the interval of the last score is wide; relative to the error for "mae"."""
        unit = 1.0 if self.greater_is_better else float(self.mean[-1])
        return bool(np.diff(self.interval[-1])[0] > MAX_WIDTH * unit)

    @property
    def statement(self) -> str:
        """Whether more training samples would help, and how many of all samples were used."""
        if self.n_available is None:
            return self._statement
        drawn = f"{self.n_samples:,} of {self.n_available:,} rows were used"
        return f"{self._statement} For this curve, {drawn}."

    @property
    def _statement(self) -> str:
        """One sentence that says whether more training samples would help."""
        helps = self.would_help
        if helps is False:
            return "The learning curve is flat: more rows would probably not help."
        n, now = int(self.sizes[-1]), float(self.mean[-1])
        name = self.score_name if self.score == "r2" else f"the {self.score_name}"
        if helps is None and self._is_rough:
            return (
                f"It is unclear whether more rows would help: {name} with {n:,} training rows is "
                "too uncertain."
            )
        start, to, low, high = _texts(now, *self.doubled)
        rows = f"{2 * n:,} training rows instead of {n:,}"
        if helps:
            verb = "raise" if self.greater_is_better else "lower"
            return f"{rows} would probably {verb} {name} from {start} to {to} ({low} to {high})."
        return (
            f"It is unclear whether more rows would help: {rows} would change {name} from {start} "
            f"to between {low} and {high}."
        )


def _fold_gains(sizes: np.ndarray, scores: np.ndarray, c: float) -> tuple[np.ndarray, float, float]:
    """Fit a power law with the exponent c.

    Returns
    -------
    gains : ndarray of shape (n_folds,)
        Gain of each fold with twice as many samples.
    misfit : float
        Standard deviation of the mean gain, given the residuals of the mean scores.
    log_weight : float
        Logarithm of the marginal likelihood of the mean scores, under flat priors of a, of the gain
        and of the logarithm of the variance.
    """
    # In this unit of b, the gain is b itself.
    decay = (sizes / sizes[-1]) ** -c / (1 - 2**-c)
    root = (sizes / sizes[-1])[:, None] ** 0.25  # small sizes have noisier scores
    A = root * np.column_stack([np.ones(len(sizes)), -decay])
    solution = np.linalg.lstsq(A, root * scores, rcond=None)[0]
    means = root[:, 0] * scores.mean(axis=1)
    residual = means - A @ solution.mean(axis=1)
    n_free = len(sizes) - 2
    smallest = (1e-3 * max(1e-3, float(np.ptp(scores.mean(axis=1))))) ** 2  # of a perfect fit
    variance = (residual @ residual + smallest) / n_free
    misfit = np.sqrt(variance * np.linalg.inv(A.T @ A)[1, 1])
    log_weight = -0.5 * (n_free * np.log(variance) + np.linalg.slogdet(A.T @ A)[1])
    return solution[1], float(misfit), float(log_weight)


def _texts(*scores: float) -> list[str]:
    """Return scores as text: with three decimals, or four digits if one is greater than 1."""
    large = max(map(abs, scores)) > 1
    return [f"{each:,.4g}" if large else f"{each:.3f}" for each in scores]
