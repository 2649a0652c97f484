"""Classification by nearest neighbours under a learned distance."""

from collections.abc import Sequence
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import Tags

from dimetric._arrays.namespaces import Array
from dimetric._arrays.validation import checked_samples_with_labels
from dimetric._compat import fit_method
from dimetric.classify._base import DistanceClassifier, accuracy
from dimetric.classify._neighbors import (
    NeighborsEstimator,
    has_several_outputs,
    most_voted,
    one_hot_rows,
    weight_function,
)


class KNNClassifier(NeighborsEstimator, DistanceClassifier):
    r"""Classifier by a vote of the k nearest neighbours under a learned distance.

    .. math:: \hat y(x) = \arg\max_c \sum_{j \in N_k(x)} w_j\, [y_j = c], \qquad
              d(x, x_j) = |L x - L x_j|

    :math:`N_k(x)` is the set of the k training samples nearest to x, and L is the map of the
    learner. Samples tied at the k-th distance share the remaining votes (see Notes).

    Parameters
    ----------
    n_neighbors : int, default=3
        Number of neighbours k.
    learner : learner or None, default=None
        Learner of the distance, or any transformer. A copy of it is fitted, and neighbours are
        searched among the mapped samples. If None, the Euclidean distance is used.
    weights : {"uniform", "distance"}, callable or None, default="uniform"
        Weights w of the votes. With ``"uniform"`` or None, all weights are 1. With
        ``"distance"``, the weight is the inverse of the distance. If there are neighbours at
        distance 0, only these neighbours vote. A callable takes an array of distances and returns
        an array of weights.
    metric : str or callable, default="euclidean"
        Metric of the mapped samples, or of X if there is no learner: any metric of
        :class:`sklearn.neighbors.NearestNeighbors`. With ``"precomputed"``, X holds the distances
        to the training samples, and `learner` must be None.
    metric_params : dict, optional
        Parameters of the metric, such as ``{"p": 3}`` for ``"minkowski"``.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,), or list of ndarray
        Class labels, sorted. If y has several outputs, a list with the classes of each output.
    learner_ : learner or None
        The fitted learner.
    n_samples_fit_ : int
        Number of training samples.
    n_features_in_ : int
        Number of features. ``feature_names_in_`` holds their names if X has any.

    Notes
    -----
    Suppose that a training samples are nearer than the k-th neighbour, and t are at its distance.
    Each of these t samples votes with the weight :math:`w\,(k - a)/t`, so the order of the training
    samples does not affect predictions. Distances that differ only by rounding count as equal.
    :mod:`dimetric.neighbors.ties` defines the tolerance. If classes have equally many votes, the
    one that is first in ``classes_`` is predicted.

    With ``X=None``, methods return leave-one-out results for the training samples: a sample is not
    its own neighbour. This costs one search, because the distance is not learned again.

    Examples
    --------
    >>> from dimetric import LDA
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> euclidean, learned = KNNClassifier().fit(X, y), KNNClassifier(learner=LDA()).fit(X, y)
    >>> round(euclidean.score(), 2), round(learned.score(), 2)  # leave one out
    (0.72, 0.99)
    """

    classes_: Any
    _multi_output: ClassVar[bool] = True
    _codes: np.ndarray

    @fit_method
    def fit(self, X: Array, y: Any) -> Self:
        """Learn the distance and store the mapped samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples, as a NumPy or sparse array, a pandas or polars data frame, or an array of any
            array-API namespace.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Class labels, for one or several outputs.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        self._check_metric(X)
        if self._multi_output and has_several_outputs(y):
            samples, labels = checked_samples_with_labels(
                self, X, y, reset=True, min_samples=self._min_samples, multi_output=True
            )
            encoded = [np.unique(each, return_inverse=True) for each in labels.T]
            self.classes_ = [classes for classes, _ in encoded]
            codes = np.stack([codes for _, codes in encoded], axis=1)
        else:
            samples, codes = self._checked_classes(X, y)
            labels = self.classes_[codes]
        self._keep_mapped(samples, labels)
        self._codes = codes
        return self

    def predict(self, X: Array | None = None) -> Array:
        """Predict the class with the most votes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or None
            Samples. If None, leave-one-out results for the training samples are returned.

        Returns
        -------
        labels : array of shape (n_samples,) or (n_samples, n_outputs)
            Predicted classes. Numeric labels are in the array namespace of X.
        """
        return self._most_voted(self._votes(X), X)

    def predict_proba(self, X: Array | None = None) -> Any:
        """Return the fraction of the votes for each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or None
            Samples. If None, leave-one-out results for the training samples are returned.

        Returns
        -------
        probabilities : array of shape (n_samples, n_classes), or list of arrays
            Fractions of the votes, in the array namespace of X. If y has several outputs, a list
            with an array for each output.
        """
        fractions = [
            self._like_samples(votes / np.sum(votes, axis=1, keepdims=True), X)
            for votes in self._votes(X)
        ]
        return fractions if self._codes.ndim == 2 else fractions[0]

    def score(self, X: Array | None = None, y: Any = None, sample_weight: Any = None) -> float:
        """Return the accuracy, the fraction of samples that are classified correctly.

        If y has several outputs, a sample is classified correctly if all its outputs are correct.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or None
            Samples. If None, leave-one-out results for the training samples are returned.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), or None
            True classes. If X and y are None, the classes of the training samples are used.
        sample_weight : array-like of shape (n_samples,), optional
            Sample weights.
        """
        predicted = self.predict(X)
        y = self._labels() if X is None and y is None else y
        return accuracy(y, predicted, sample_weight)

    def _labels(self) -> np.ndarray:
        """Return the classes of the training samples."""
        return self._decoded(np.atleast_2d(self._codes.T))

    def _decoded(self, codes: Sequence[np.ndarray] | np.ndarray) -> np.ndarray:
        """Return the classes of samples from the codes of each output."""
        if self._codes.ndim == 1:
            return self.classes_[codes[0]]
        pairs = zip(self.classes_, codes, strict=True)
        return np.stack([classes[output] for classes, output in pairs], axis=1)

    def _outputs(self) -> list[tuple[np.ndarray, int]]:
        """Return the codes and the number of classes of each output."""
        if self._codes.ndim == 1:
            return [(self._codes, len(self.classes_))]
        if not isinstance(self.classes_, list):  # in a damaged model file
            raise ValueError(
                "classes_ must be a list, because the class codes have two dimensions."
            )
        each = zip(self._codes.T, self.classes_, strict=True)
        return [(codes, len(classes)) for codes, classes in each]

    def _class_scores(self, X: Array | None) -> Any:
        """Return the votes for each class, of shape (n_samples, n_classes)."""
        return self._votes(X)[0]

    def _votes(self, X: Array | None) -> list[np.ndarray]:
        """Return the votes for each class, for each output."""
        near, k = self._neighborhoods(X)
        return self._votes_of(near, k)

    def _votes_of(self, near: Any, k: int) -> list[np.ndarray]:
        """Return the votes of k neighbours, for each output."""
        outputs = self._outputs()
        votes = near.sums(one_hot_rows(outputs), k, weight_function(self.weights))
        return np.split(votes, np.cumsum([n for _, n in outputs])[:-1], axis=1)

    def _most_voted(self, votes: list[np.ndarray], X: Array | None) -> Array:
        """Return the classes with the most votes. Numeric classes are in the namespace of X."""
        best = [most_voted(each, self._points) for each in votes]
        return self._like_samples(self._decoded(best), X)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = self._multi_output
        tags.classifier_tags.multi_label = self._multi_output
        return tags
