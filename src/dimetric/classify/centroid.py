"""The nearest class mean, and the nearest of several centroids per class."""

from abc import abstractmethod
from itertools import pairwise
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np

from dimetric._arrays.namespaces import Array, asarray_like, namespace
from dimetric._arrays.squared_distances import squared_distances
from dimetric._compat import Interval, fit_method
from dimetric.classify._base import DistanceClassifier
from dimetric.learners._class_clusters import class_clusters
from dimetric.objectives.centroids import group_means


class CentroidClassifier(DistanceClassifier):
    """A classifier by the nearest centroid under a learned distance."""

    centroids_: Array
    centroid_classes_: np.ndarray
    _owners: np.ndarray

    @abstractmethod
    def _clusters(self, Z: Array, codes: np.ndarray) -> np.ndarray:
        """Return the cluster of every mapped sample, numbered from 0 in the order of classes.

        The samples of a cluster are of one class, and share a centroid.
        """

    @fit_method
    def fit(self, X: Array, y: Any) -> Self:
        """Learn the distance and find the centroids.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples: NumPy, pandas, polars, or an array of any array-API namespace.
        y : array-like of shape (n_samples,)
            Their classes.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        samples, codes = self._checked_classes(X, y)
        Z = self._fit_learner(samples, self.classes_[codes])
        clusters = self._clusters(Z, codes)
        owners = np.empty(np.max(clusters) + 1, dtype=np.int64)
        owners[clusters] = codes
        self._owners = owners
        self.centroids_ = group_means(Z, clusters, len(owners))
        self.centroid_classes_ = self.classes_[owners]
        return self

    def predict_proba(self, X: Array) -> Array:
        r"""Return :math:`p(c \mid x)`, a softmax over the classes' nearest centroids.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        probabilities : array of shape (n_samples, n_classes)
            In X's namespace.
        """
        scores = self._class_scores(X)
        xp = namespace(scores)
        P = xp.exp(scores - xp.max(scores, axis=1, keepdims=True))
        return P / xp.sum(P, axis=1, keepdims=True)

    def _class_scores(self, X: Any) -> Array:
        """Return minus half the squared distance to the nearest centroid of each class."""
        Z = self._mapped(X)
        xp = namespace(Z)
        C = asarray_like(self.centroids_, Z, dtype=xp.float64)
        centre = xp.mean(C, axis=0)
        D = squared_distances(xp.astype(Z, xp.float64) - centre, C - centre)
        starts = np.searchsorted(self._owners, np.arange(len(self.classes_) + 1)).tolist()
        by_class = [xp.min(D[:, first:last], axis=1) for first, last in pairwise(starts)]
        return xp.astype(-xp.stack(by_class, axis=1) / 2, Z.dtype)


class NCMClassifier(CentroidClassifier):
    r"""Nearest class mean under a learned distance.

    .. math:: \hat y(x) = \arg\min_c |L x - \mu_c|^2, \qquad
              p(c \mid x) = \frac{e^{-|L x - \mu_c|^2 / 2}}{\sum_{c'} e^{-|L x - \mu_{c'}|^2 / 2}}

    The mean :math:`\mu_c` of a class is that of its mapped samples. The probabilities are the model
    of :class:`~dimetric.NCMML` [1]_.

    Parameters
    ----------
    learner : learner or None, default=None
        Learner of the distance, or any transformer; a copy of it is fitted. None is the Euclidean
        distance.

    Attributes
    ----------
    centroids_ : array of shape (n_classes, n_components)
        Class means, mapped.
    centroid_classes_ : ndarray of shape (n_classes,)
        ``classes_``.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    learner_ : learner or None
        The fitted learner.
    n_features_in_ : int
        Number of features; ``feature_names_in_`` holds their names where X has any.

    References
    ----------
    .. [1] T. Mensink, J. Verbeek, F. Perronnin, G. Csurka, "Distance-based image classification:
       generalizing to new classes at near-zero cost", IEEE Transactions on Pattern Analysis and
       Machine Intelligence 35, 2013.

    Examples
    --------
    >>> from dimetric import NCMML
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> [round(NCMClassifier(each).fit(X, y).score(X, y), 2) for each in (None, NCMML())]
    [0.93, 0.99]
    """

    def __init__(self, learner: Any = None) -> None:
        self.learner = learner

    def _clusters(self, Z: Array, codes: np.ndarray) -> np.ndarray:
        return codes


class NCMCClassifier(CentroidClassifier):
    r"""Nearest of several centroids per class, under a learned distance.

    .. math:: \hat y(x) = \arg\min_c \min_{m: y_m = c} |L x - \mu_m|^2

    The centroids :math:`\mu_m` of a class are found by k-means among its mapped samples. The
    probabilities are a softmax over the nearest centroid of each class, so that the predicted
    class is the most likely one.

    Parameters
    ----------
    n_centroids : int or array-like of shape (n_classes,), default=3
        Number of centroids of every class, or of each in the order of ``classes_``. A class has
        no more centroids than distinct samples.
    learner : learner or None, default=None
        Learner of the distance, or any transformer; a copy of it is fitted. None is the Euclidean
        distance.
    random_state : int, RandomState or None, default=None
        Seed of k-means.

    Attributes
    ----------
    centroids_ : array of shape (n_all_centroids, n_components)
        Centroids, mapped, sorted by class.
    centroid_classes_ : ndarray of shape (n_all_centroids,)
        Their labels.
    classes_ : ndarray of shape (n_classes,)
        Labels.
    learner_ : learner or None
        The fitted learner.
    n_features_in_ : int
        Number of features; ``feature_names_in_`` holds their names where X has any.

    Examples
    --------
    >>> from dimetric.data import make_rings
    >>> X, y, _ = make_rings(300, n_classes=2, random_state=0)
    >>> one, many = NCMClassifier().fit(X, y), NCMCClassifier(12, random_state=0).fit(X, y)
    >>> one.score(X, y) < 0.7, many.score(X, y) > 0.95
    (True, True)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **DistanceClassifier._parameter_constraints,
        "n_centroids": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "random_state": ["random_state"],
    }

    def __init__(
        self, n_centroids: Any = 3, *, learner: Any = None, random_state: Any = None
    ) -> None:
        self.n_centroids = n_centroids
        self.learner = learner
        self.random_state = random_state

    def _clusters(self, Z: Array, codes: np.ndarray) -> np.ndarray:
        return class_clusters(Z, codes, self.n_centroids, self.classes_, self.random_state)
