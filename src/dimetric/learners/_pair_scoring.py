"""Decisions and scores by a learned distance, about pairs and triplets."""

from abc import abstractmethod
from typing import Self

import numpy as np
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from dimetric._arrays.namespaces import Array, to_host
from dimetric.supervision._constraints import checked_n_samples
from dimetric.supervision._validation import checked_pair_rows
from dimetric.supervision.pairs import Pairs
from dimetric.supervision.triplets import Triplets

STRATEGIES = ("accuracy", "f_beta", "tpr")


class PairScoringMixin:
    """Learned distances of pairs, and judgements by them."""

    threshold_: float

    @abstractmethod
    def _distances(self, points: Array, rows: np.ndarray) -> Array:
        """Return the learned distance between points of each pair of rows, (n_pairs, 2)."""

    def pair_distance(self, pairs: Pairs | Array, X: Array | None = None) -> Array:
        """Return the learned distance between the two samples of each pair.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features), or Pairs or (n_pairs, 2) with X
            Pairs of vectors, or pairs of row numbers of X.
        X : array-like of shape (n_samples, n_features), optional
            The samples that row numbers refer to.

        Returns
        -------
        distances : array of shape (n_pairs,)
        """
        check_is_fitted(self)
        return self._distances(*checked_pair_rows(self, pairs, X))

    def pair_score(self, pairs: Pairs | Array, X: Array | None = None) -> Array:
        """Return how similar the samples of each pair are: minus their :meth:`pair_distance`."""
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
        """Choose the distance up to which a pair is taken to be similar, ``threshold_``.

        Parameters
        ----------
        pairs : Pairs
            Pairs that are known to be similar or not; best others than were learned from.
        X : array-like of shape (n_samples, n_features), optional
            The samples that they are row numbers of, unless they hold vectors of their own.
        strategy : {"accuracy", "f_beta", "tpr"}, default="accuracy"
            Whether the threshold maximises the share of pairs judged right, or the F-score of
            similar pairs, or is the least that finds similar pairs at a `rate`.
        beta : float, default=1.0
            Weight of recall in "f_beta".
        rate : float, default=0.95
            Share of similar pairs that "tpr" finds.

        Returns
        -------
        self : object
            The learner, with ``threshold_``.
        """
        distances, is_similar = self._distances_and_similarity(pairs, X)
        self.threshold_ = calibrated_threshold(
            distances, is_similar, strategy=strategy, beta=beta, rate=rate
        )
        return self

    def predict_pairs(self, pairs: Pairs | Array, X: Array | None = None) -> Array:
        """Return whether each pair is similar: no farther apart than ``threshold_``.

        Parameters
        ----------
        pairs, X
            As those of :meth:`pair_distance`.
        """
        distances = self.pair_distance(pairs, X)
        if not hasattr(self, "threshold_"):
            raise NotFittedError(
                f"This {type(self).__name__} knows no threshold: call calibrate_threshold with "
                "pairs that are known to be similar or not."
            )
        return distances <= self.threshold_

    def score_pairs(self, pairs: Pairs, X: Array | None = None) -> float:
        """Return the area under the ROC curve of telling similar pairs by their distance.

        It is the probability that a similar pair is nearer than a dissimilar one.

        Parameters
        ----------
        pairs : Pairs
            Pairs that are known to be similar or not.
        X : array-like of shape (n_samples, n_features), optional
            The samples that they are row numbers of, unless they hold vectors of their own.
        """
        distances, is_similar = self._distances_and_similarity(pairs, X)
        hits, false = _counts_by_distance(distances, is_similar)[1:]
        before = np.cumsum(hits) - hits / 2  # those at the same distance count a half
        return float(false @ before) / (hits.sum() * false.sum())

    def score_triplets(self, triplets: Triplets, X: Array | None = None) -> float:
        """Return the share of triplets whose anchor is nearer to the closer sample.

        Equal distances count a half.

        Parameters
        ----------
        triplets : Triplets
            Triplets to judge by.
        X : array-like of shape (n_samples, n_features), optional
            The samples that they are row numbers of, unless they hold vectors of their own.
        """
        if not isinstance(triplets, Triplets) or not len(triplets):
            raise TypeError("triplets must be Triplets, at least one.")
        X = triplets.points if X is None else X
        if X is None:
            raise ValueError("triplets are row numbers: give the samples X that they are of.")
        rows = triplets.rows
        n_rows = X.shape[0] if hasattr(X, "shape") else len(X)
        checked_n_samples(rows, triplets.n_samples, n_rows, "triplets")
        near, far = (to_host(self.pair_distance(rows[:, [0, side]], X)) for side in (1, 2))
        return float(np.mean((near < far) + (near == far) / 2))

    def _distances_and_similarity(
        self, pairs: Pairs, X: Array | None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the distances of pairs of both kinds, and whether they are similar."""
        distances = self.pair_distance(pairs, X)
        if not isinstance(pairs, Pairs) or not len(pairs.similar) or not len(pairs.dissimilar):
            raise ValueError("pairs must be Pairs, with similar and dissimilar ones among them.")
        return to_host(distances), pairs.is_similar


def calibrated_threshold(
    distances: np.ndarray,
    is_similar: np.ndarray,
    *,
    strategy: str = "accuracy",
    beta: float = 1.0,
    rate: float = 0.95,
) -> float:
    """Return the distance up to which pairs are best taken to be similar.

    Of equally good thresholds it is the least; it lies halfway between two distances, where there
    is anything between them.

    Parameters
    ----------
    distances : ndarray of shape (m,)
        Distances of pairs.
    is_similar : ndarray of shape (m,)
        Whether they are similar.
    strategy, beta, rate
        As those of :meth:`PairScoringMixin.calibrate_threshold`.

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
        raise ValueError(f"rate={rate} must be in (0, 1], and beta={beta} positive.")
    values, hits, false = _counts_by_distance(distances, is_similar)
    hits, false = np.cumsum(hits), np.cumsum(false)
    n_similar, n_dissimilar = hits[-1], false[-1]
    if strategy == "accuracy":
        quality = hits + n_dissimilar - false
    elif strategy == "f_beta":
        quality = hits / (hits + false + beta**2 * n_similar)
    else:
        quality = hits >= rate * n_similar * (1 - 1e-12)
    best = int(np.argmax(quality))
    if strategy == "accuracy" and quality[best] <= n_dissimilar:  # to find none is no worse
        return float(np.nextafter(values[0], -np.inf))
    beyond = values[best + 1] if best + 1 < len(values) else values[best]
    halfway = values[best] + (beyond - values[best]) / 2  # a sum of both may overflow
    return float(halfway if halfway < beyond else values[best])


def _counts_by_distance(
    distances: np.ndarray, is_similar: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the distinct distances, ascending, and how many similar and other pairs have each."""
    values, which = np.unique(distances, return_inverse=True)
    return values, np.bincount(which, is_similar), np.bincount(which, ~is_similar)
