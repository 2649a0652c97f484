"""Distances, predictions and scores of a learned distance on pairs and triplets."""

from abc import abstractmethod
from typing import Self

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from dimetric._arrays.namespaces import Array, to_host
from dimetric._arrays.validation import checked_mapped, ignoring_overflow
from dimetric.supervision._constraints import check_n_samples
from dimetric.supervision._validation import checked_pair_rows
from dimetric.supervision.pairs import Pairs
from dimetric.supervision.triplets import Triplets

STRATEGIES = ("accuracy", "f_beta", "tpr")
RATE_ROUNDING = 1e-12  # relative rounding error of a rate times a number of pairs


class PairScoringMixin:
    """Mixin that computes, thresholds and scores the learned distances of pairs."""

    threshold_: float

    @abstractmethod
    def _distances(self, points: Array, rows: np.ndarray) -> Array:
        """Return the learned distance of each pair.

        `rows`, of shape (n_pairs, 2), contains row indices of `points`.
        """

    def pair_distance(self, pairs: Pairs | Array, X: Array | None = None) -> Array:
        """Return the learned distance between the two samples of each pair.

        Parameters
        ----------
        pairs : Pairs, or array-like of shape (n_pairs, 2, n_features) or (n_pairs, 2)
            Pairs of samples, or pairs of row indices of X.
        X : array-like of shape (n_samples, n_features), optional
            Samples that row indices refer to. Not needed if `pairs` contains the samples.

        Returns
        -------
        distances : array of shape (n_pairs,)
            Distance of each pair.
        """
        check_is_fitted(self)
        points, rows = checked_pair_rows(self, pairs, X)
        with ignoring_overflow():
            return checked_mapped(self._distances(points, rows))

    def pair_score(self, pairs: Pairs | Array, X: Array | None = None) -> Array:
        """Return the similarity of each pair, which is minus its :meth:`pair_distance`."""
        return -self.pair_distance(pairs, X)

    def calibrate_threshold(
        self,
        pairs: Pairs,
        X: Array | None = None,
        *,
        strategy: str = "accuracy",
        beta: float = 1.0,
        rate: float = 0.95,
    ) -> Self:
        """Choose ``threshold_``, the largest distance at which a pair is predicted to be similar.

        Parameters
        ----------
        pairs : Pairs
            Similar and dissimilar pairs, preferably not the ones used for fitting.
        X : array-like of shape (n_samples, n_features), optional
            Samples that the pairs refer to. Not needed if `pairs` contains the samples.
        strategy : {"accuracy", "f_beta", "tpr"}, default="accuracy"
            "accuracy" maximises the fraction of correctly predicted pairs. "f_beta" maximises the
            F-beta score of the similar pairs. "tpr" chooses the smallest threshold with a true
            positive rate of at least `rate`.
        beta : float, default=1.0
            Weight of recall in "f_beta".
        rate : float, default=0.95
            True positive rate that "tpr" reaches.

        Returns
        -------
        self : object
            The learner, with ``threshold_`` set.
        """
        distances, is_similar = self._distances_and_similarity(pairs, X)
        self.threshold_ = calibrated_threshold(
            distances, is_similar, strategy=strategy, beta=beta, rate=rate
        )
        return self

    def predict_pairs(self, pairs: Pairs | Array, X: Array | None = None) -> Array:
        """Predict whether each pair is similar: whether its distance is at most ``threshold_``.

        Parameters
        ----------
        pairs, X
            As in :meth:`pair_distance`.
        """
        distances = self.pair_distance(pairs, X)
        if not hasattr(self, "threshold_"):
            raise NotFittedError(
                f"This {type(self).__name__} has no threshold_ yet. Call calibrate_threshold with "
                "similar and dissimilar pairs first."
            )
        return distances <= self.threshold_

    def score_pairs(self, pairs: Pairs, X: Array | None = None) -> float:
        """Return the area under the ROC curve when similar pairs are predicted by distance.

        It is the probability that a random similar pair is closer than a random dissimilar pair.

        Parameters
        ----------
        pairs : Pairs
            Similar and dissimilar pairs.
        X : array-like of shape (n_samples, n_features), optional
            Samples that the pairs refer to. Not needed if `pairs` contains the samples.
        """
        return area_under_curve(*self._distances_and_similarity(pairs, X))

    def score_triplets(self, triplets: Triplets, X: Array | None = None) -> float:
        """Return the fraction of triplets (i, j, l) in which i is closer to j than to l.

        Ties count half.

        Parameters
        ----------
        triplets : Triplets
            Triplets, in which i should be closer to j than to l.
        X : array-like of shape (n_samples, n_features), optional
            Samples that the triplets refer to. Not needed if `triplets` contains the samples.
        """
        if not isinstance(triplets, Triplets) or not len(triplets):
            raise TypeError("triplets must be a non-empty Triplets object.")
        X = triplets.points if X is None else X
        if X is None:
            raise ValueError("triplets contains row indices, so X is required.")
        rows = triplets.rows
        n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
        check_n_samples(rows, triplets.n_samples, n_rows, "triplets")
        near, far = (to_host(self.pair_distance(rows[:, [0, side]], X)) for side in (1, 2))
        return float(np.mean((near < far) + (near == far) / 2))

    def _distances_and_similarity(
        self, pairs: Pairs, X: Array | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the distance of each pair, and whether it is similar."""
        distances = self.pair_distance(pairs, X)
        if not isinstance(pairs, Pairs) or not len(pairs.similar) or not len(pairs.dissimilar):
            raise ValueError("pairs must be a Pairs object with both similar and dissimilar pairs.")
        return to_host(distances), pairs.is_similar


def area_under_curve(distances: np.ndarray, is_similar: np.ndarray) -> float:
    """Return the probability that a random similar pair is closer than a random dissimilar pair.

    Examples
    --------
    >>> area_under_curve(np.array([1.0, 2.0, 3.0]), np.array([True, False, True]))
    0.5
    """
    similar, dissimilar = _counts_by_distance(distances, is_similar)[1:]
    closer = np.cumsum(similar) - similar / 2  # ties count half
    return float(dissimilar @ closer / (similar.sum() * dissimilar.sum()))


def calibrated_threshold(
    distances: np.ndarray,
    is_similar: np.ndarray,
    *,
    strategy: str = "accuracy",
    beta: float = 1.0,
    rate: float = 0.95,
) -> float:
    """Return the best threshold: pairs at most this far apart are predicted to be similar.

    The candidates are the midpoints between consecutive distances and the largest distance, and for
    "accuracy" also a value just below all distances. The smallest of the best candidates is chosen.

    Parameters
    ----------
    distances : ndarray of shape (m,)
        Distance of each pair.
    is_similar : ndarray of shape (m,)
        Whether each pair is similar.
    strategy, beta, rate
        As in :meth:`PairScoringMixin.calibrate_threshold`.

    Examples
    --------
    >>> d, similar = np.array([1.0, 2.0, 3.0, 6.0]), np.array([True, False, True, False])
    >>> calibrated_threshold(d, similar), calibrated_threshold(d, similar, strategy="tpr", rate=1.0)
    (1.5, 4.5)
    >>> calibrated_threshold(d, similar, strategy="f_beta", beta=2.0)
    4.5
    """
    if strategy not in STRATEGIES:
        raise ValueError(f"strategy={strategy!r} must be one of {', '.join(STRATEGIES)}.")
    if not 0 < rate <= 1 or not beta > 0:
        raise ValueError(f"rate={rate} must be in (0, 1], and beta={beta} must be positive.")
    values, similar, dissimilar = _counts_by_distance(distances, is_similar)
    # With the threshold values[i], pairs at the first i + 1 distances are predicted to be similar.
    true_positives, false_positives = np.cumsum(similar), np.cumsum(dissimilar)
    n_similar, n_dissimilar = true_positives[-1], false_positives[-1]
    if strategy == "accuracy":
        quality = true_positives + n_dissimilar - false_positives
    elif strategy == "f_beta":
        quality = true_positives / (true_positives + false_positives + beta**2 * n_similar)
    else:
        quality = true_positives >= rate * n_similar * (1 - RATE_ROUNDING)
    best = int(np.argmax(quality))
    if strategy == "accuracy" and quality[best] <= n_dissimilar:
        # Predicting every pair to be dissimilar is at least as accurate.
        return float(np.nextafter(values[0], -np.inf))
    larger = values[best + 1] if best + 1 < len(values) else values[best]
    midpoint = values[best] + (larger - values[best]) / 2  # (a + b) / 2 could overflow
    return float(midpoint if midpoint < larger else values[best])


def _counts_by_distance(
    distances: np.ndarray, is_similar: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the distinct distances, and the numbers of similar and dissimilar pairs at each."""
    values, which = np.unique(distances, return_inverse=True)
    return values, np.bincount(which, is_similar), np.bincount(which, ~is_similar)
