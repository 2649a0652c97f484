"""Nearest neighbours under a learned distance: classification and regression."""

from typing import Any, Self

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils import Tags, check_consistent_length
from sklearn.utils.validation import check_array

from dimetric._arrays.namespaces import Array, is_foreign, to_host
from dimetric._arrays.validation import checked_samples
from dimetric._compat import fit_method
from dimetric.classify._base import DistanceClassifier, accuracy, values_like
from dimetric.classify._neighbors import NeighborsEstimator, votes


class KNNClassifier(NeighborsEstimator, DistanceClassifier):
    r"""Classifier by a vote of the k nearest neighbours under a learned distance.

    .. math:: \hat y(x) = \arg\max_c \sum_{j \in N_k(x)} w_j\, [y_j = c], \qquad
              d(x, x_j) = |L x - L x_j|

    :math:`N_k(x)` is the set of the k training samples nearest to x, and L is the map of the
    learner.

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

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels, sorted.
    learner_ : learner or None
        The fitted learner.
    n_samples_fit_ : int
        Number of training samples.
    n_features_in_ : int
        Number of features. ``feature_names_in_`` holds their names if X has any.

    Notes
    -----
    If training samples are at equal distance, those in the first rows are chosen. If classes have
    equally many votes, the one that is first in ``classes_`` is predicted.

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

    _codes: np.ndarray

    @fit_method
    def fit(self, X: Array, y: Any) -> Self:
        """Learn the distance and store the mapped samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples, as a NumPy or sparse array, a pandas or polars data frame, or an array of any
            array-API namespace.
        y : array-like of shape (n_samples,)
            Class labels.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        samples, codes = self._checked_classes(X, y)
        self._keep_points(self._fit_learner(samples, self.classes_[codes]))
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
        labels : array of shape (n_samples,)
            Predicted classes. Numeric labels are in the array namespace of X.
        """
        return self._best_classes(self._class_scores(X), self._points if X is None else X)

    def predict_proba(self, X: Array | None = None) -> Array:
        """Return the fraction of the votes for each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or None
            Samples. If None, leave-one-out results for the training samples are returned.

        Returns
        -------
        probabilities : array of shape (n_samples, n_classes)
            Fractions of the votes, in the array namespace of X.
        """
        votes = self._class_scores(X)
        probabilities = votes / np.sum(votes, axis=1, keepdims=True)
        return values_like(probabilities, self._points if X is None else X)

    def score(self, X: Array | None = None, y: Any = None, sample_weight: Any = None) -> float:
        """Return the accuracy, the fraction of samples that are classified correctly.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or None
            Samples. If None, leave-one-out results for the training samples are returned.
        y : array-like of shape (n_samples,), or None
            True classes. If X and y are None, the classes of the training samples are used.
        sample_weight : array-like of shape (n_samples,), optional
            Sample weights.
        """
        predicted = self.predict(X)
        y = self.classes_[self._codes] if X is None and y is None else y
        return accuracy(y, predicted, sample_weight)

    def _class_scores(self, X: Array | None) -> np.ndarray:
        """Return the votes for each class."""
        indices, weights = self._neighbors_and_weights(X)
        return votes(self._codes[indices], weights, len(self.classes_))


class KNNRegressor(RegressorMixin, NeighborsEstimator):
    r"""Regressor by the average of the k nearest neighbours under a learned distance.

    .. math:: \hat y(x) = \frac{\sum_{j \in N_k(x)} w_j\, y_j}{\sum_{j \in N_k(x)} w_j}, \qquad
              d(x, x_j) = |L x - L x_j|

    :math:`N_k(x)` is the set of the k training samples nearest to x, and L is the map of the
    learner.

    Parameters
    ----------
    n_neighbors : int, default=3
        Number of neighbours k.
    learner : learner or None, default=None
        Learner of the distance, or any transformer. A copy of it is fitted to X and y, and
        neighbours are searched among the mapped samples. If None, the Euclidean distance is used.
    weights : {"uniform", "distance"}, callable or None, default="uniform"
        Weights w of the targets. With ``"uniform"`` or None, all weights are 1. With
        ``"distance"``, the weight is the inverse of the distance. If there are neighbours at
        distance 0, only these neighbours count. A callable takes an array of distances and returns
        an array of weights.

    Attributes
    ----------
    learner_ : learner or None
        The fitted learner.
    n_samples_fit_ : int
        Number of training samples.
    n_features_in_ : int
        Number of features. ``feature_names_in_`` holds their names if X has any.

    Notes
    -----
    If training samples are at equal distance, those in the first rows are chosen.

    With ``X=None``, methods return leave-one-out results for the training samples: a sample is not
    its own neighbour. This costs one search, because the distance is not learned again.

    Examples
    --------
    >>> X, y = np.arange(6.0)[:, None], np.arange(6.0) ** 2
    >>> KNNRegressor(2).fit(X, y).predict([[2.4]])
    array([6.5])
    """

    _targets: np.ndarray

    @fit_method
    def fit(self, X: Array, y: Any) -> Self:
        """Learn the distance and store the mapped samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples, as a NumPy or sparse array, a pandas or polars data frame, or an array of any
            array-API namespace.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets, one or several per sample.

        Returns
        -------
        self : object
            The fitted regressor.
        """
        samples = checked_samples(self, X, reset=True)
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y "
                "is None."
            )
        y = check_array(to_host(y) if is_foreign(y) else y, ensure_2d=False, input_name="y")
        check_consistent_length(samples, y)
        y = y.astype(np.result_type(y.dtype, np.float32), copy=False)
        self._keep_points(self._fit_learner(samples, y))
        self._targets = y
        return self

    def predict(self, X: Array | None = None) -> Array:
        """Predict the average target of the neighbours.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or None
            Samples. If None, leave-one-out results for the training samples are returned.

        Returns
        -------
        targets : array of shape (n_samples,) or (n_samples, n_outputs)
            Predicted targets, in the array namespace of X.
        """
        indices, weights = self._neighbors_and_weights(X)
        targets = self._targets[indices]
        if targets.ndim == 3:
            weights = weights[:, :, None]
        average = np.sum(targets * weights, axis=1) / np.sum(weights, axis=1)
        return values_like(average, self._points if X is None else X)

    def score(self, X: Array | None = None, y: Any = None, sample_weight: Any = None) -> float:
        """Return the coefficient of determination, R squared.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or None
            Samples. If None, leave-one-out results for the training samples are returned.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), or None
            True targets. If X and y are None, the targets of the training samples are used.
        sample_weight : array-like of shape (n_samples,), optional
            Sample weights.
        """
        from sklearn.metrics import r2_score

        predicted = to_host(self.predict(X))
        y = self._targets if X is None and y is None else y
        y = to_host(y) if is_foreign(y) else y
        return float(r2_score(y, predicted, sample_weight=sample_weight))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
