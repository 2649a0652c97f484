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
    r"""Vote of the nearest neighbours under a learned distance.

    .. math:: \hat y(x) = \arg\max_c \sum_{j \in N_k(x)} w_j\, [y_j = c], \qquad
              d(x, x_j) = |L x - L x_j|

    Parameters
    ----------
    n_neighbors : int, default=3
        Number of neighbours k.
    learner : learner or None, default=None
        Learner of the distance, or any transformer: neighbours are those of mapped samples. A copy
        of it is fitted. None is the Euclidean distance.
    weights : {"uniform", "distance"}, callable or None, default="uniform"
        Weights w of the votes: 1 each (None as well), or 1 over the distance (where there are
        neighbours at distance 0, these alone vote), or a function of distances.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels.
    learner_ : learner or None
        The fitted learner.
    n_samples_fit_ : int
        Number of training samples.
    n_features_in_ : int
        Number of features; ``feature_names_in_`` holds their names where X has any.

    Notes
    -----
    Of training samples at equal distance, the first are neighbours; of classes with equally many
    votes, the first of ``classes_`` is predicted. ``None`` in place of X stands for the training
    samples, each without itself: leave-one-out, at the cost of one search. The distance is not
    learned again.

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
        """Learn the distance and keep the samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples: NumPy, pandas, polars, sparse, or an array of any array-API namespace.
        y : array-like of shape (n_samples,)
            Their classes.

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
        """Return the class with the most votes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or None
            Samples. None stands for the training samples, each without itself.

        Returns
        -------
        labels : array of shape (n_samples,)
            In X's namespace if they are numbers.
        """
        return self._best_classes(self._class_scores(X), self._points if X is None else X)

    def predict_proba(self, X: Array | None = None) -> Array:
        """Return the share of the votes of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or None
            Samples. None stands for the training samples, each without itself.

        Returns
        -------
        shares : array of shape (n_samples, n_classes)
            In X's namespace.
        """
        votes = self._class_scores(X)
        shares = votes / np.sum(votes, axis=1, keepdims=True)
        return values_like(shares, self._points if X is None else X)

    def score(self, X: Array | None = None, y: Any = None, sample_weight: Any = None) -> float:
        """Return the accuracy: the share of samples whose class is predicted.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or None
            Samples. None stands for the training samples, each without itself.
        y : array-like of shape (n_samples,), or None
            Their classes; None with ``X=None`` stands for those of the training samples.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples.
        """
        predicted = self.predict(X)
        y = self.classes_[self._codes] if X is None and y is None else y
        return accuracy(y, predicted, sample_weight)

    def _class_scores(self, X: Array | None) -> np.ndarray:
        """Return the votes for each class."""
        indices, weights = self._neighbors_and_weights(X)
        return votes(self._codes[indices], weights, len(self.classes_))


class KNNRegressor(RegressorMixin, NeighborsEstimator):
    r"""Average over the nearest neighbours under a learned distance.

    .. math:: \hat y(x) = \frac{\sum_{j \in N_k(x)} w_j\, y_j}{\sum_{j \in N_k(x)} w_j}, \qquad
              d(x, x_j) = |L x - L x_j|

    Parameters
    ----------
    n_neighbors : int, default=3
        Number of neighbours k.
    learner : learner or None, default=None
        Learner of the distance, or any transformer: neighbours are those of mapped samples. A copy
        of it is fitted, to the targets if it uses any. None is the Euclidean distance.
    weights : {"uniform", "distance"}, callable or None, default="uniform"
        Weights w: 1 each (None as well), or 1 over the distance (where there are neighbours at
        distance 0, these alone count), or a function of distances.

    Attributes
    ----------
    learner_ : learner or None
        The fitted learner.
    n_samples_fit_ : int
        Number of training samples.
    n_features_in_ : int
        Number of features; ``feature_names_in_`` holds their names where X has any.

    Notes
    -----
    Of training samples at equal distance, the first are neighbours. ``None`` in place of X stands
    for the training samples, each without itself: leave-one-out, at the cost of one search.

    Examples
    --------
    >>> X, y = np.arange(6.0)[:, None], np.arange(6.0) ** 2
    >>> KNNRegressor(2).fit(X, y).predict([[2.4]])
    array([6.5])
    """

    _targets: np.ndarray

    @fit_method
    def fit(self, X: Array, y: Any) -> Self:
        """Learn the distance and keep the samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples: NumPy, pandas, polars, sparse, or an array of any array-API namespace.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Their targets, one or several.

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
        """Return the average target of the neighbours.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or None
            Samples. None stands for the training samples, each without itself.

        Returns
        -------
        targets : array of shape (n_samples,) or (n_samples, n_outputs)
            In X's namespace.
        """
        indices, weights = self._neighbors_and_weights(X)
        near = self._targets[indices]
        if near.ndim == 3:
            weights = weights[:, :, None]
        average = np.sum(near * weights, axis=1) / np.sum(weights, axis=1)
        return values_like(average, self._points if X is None else X)

    def score(self, X: Array | None = None, y: Any = None, sample_weight: Any = None) -> float:
        """Return the coefficient of determination, R squared.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), or None
            Samples. None stands for the training samples, each without itself.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs), or None
            Their targets; None with ``X=None`` stands for those of the training samples.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples.
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
