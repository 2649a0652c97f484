"""Classifiers by the nearest class mean, or by the nearest of several centroids per class."""

from abc import abstractmethod
from itertools import pairwise
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse

from dimetric._arrays.namespaces import Array, asarray_like, namespace
from dimetric._arrays.squared_distances import squared_distances
from dimetric._arrays.validation import checked_mapped, ignoring_overflow
from dimetric._compat import Interval, fit_method
from dimetric.blocks.lazy import lazy_on_dask
from dimetric.blocks.open import source_of
from dimetric.classify._base import DistanceClassifier
from dimetric.classify._block_centroids import fit_to_blocks
from dimetric.classify._weights import ClassWeights, relative_weights
from dimetric.learners._class_clusters import class_clusters
from dimetric.objectives.centroids import group_means


class CentroidClassifier(DistanceClassifier):
    """Base class of nearest-centroid classifiers under a learned distance."""

    centroids_: Array
    centroid_classes_: np.ndarray
    _owners: np.ndarray  # class code of each centroid

    @abstractmethod
    def _clusters(self, Z: Array, codes: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        """Return the cluster index of each mapped sample.

        Clusters are numbered from 0 in the order of classes. All samples of a cluster have the
        same class, and their mean is a centroid.
        """

    @fit_method
    def fit(self, X: Array, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn the distance and find the centroids.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples, as a NumPy array, a pandas or polars data frame, an array of any array-API
            namespace, a Dask array or data frame, or a function that returns an iterator over
            blocks ``(X, y)``. Samples in blocks need a learner that learns from blocks.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples, which are at least 0. A sample of weight 0 is left out. The
            weights are also passed to the learner if it uses weights.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        source = None if isinstance(X, np.memmap) else source_of(X, y, sample_weight)
        if source is not None:
            return fit_to_blocks(self, source)
        training = self._checked_training(X, y, sample_weight)
        codes, weights = training.codes, relative_weights(training.weights)
        Z = self._fit_learner(training, weights_given=sample_weight is not None)
        clusters = self._clusters(Z, codes, weights)
        owners = np.empty(np.max(clusters) + 1, dtype=np.int64)
        owners[clusters] = codes
        self._owners = owners
        self.centroids_ = group_means(Z, clusters, len(owners), weights)
        self.centroid_classes_ = self.classes_[owners]
        return self

    @lazy_on_dask
    def predict_proba(self, X: Array) -> Array:
        r"""Return :math:`p(c \mid x)`, a softmax over the nearest centroid of each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        probabilities : array of shape (n_samples, n_classes)
            Class probabilities, in the array namespace of X.
        """
        scores = self._class_scores(X)
        xp = namespace(scores)
        P = xp.exp(scores - xp.max(scores, axis=1, keepdims=True))
        return P / xp.sum(P, axis=1, keepdims=True)

    @ignoring_overflow()
    def _class_scores(self, X: Any) -> Array:
        """Return minus half the squared distance to the nearest centroid of each class."""
        Z = self._mapped(X)
        xp = namespace(Z)
        C = asarray_like(self.centroids_, Z, dtype=xp.float64)
        if sparse.issparse(Z):  # centred samples would be dense
            D = squared_distances(Z.astype(np.float64), C)
        else:
            centre = xp.mean(C, axis=0)
            D = squared_distances(xp.astype(Z, xp.float64) - centre, C - centre)
        starts = np.searchsorted(self._owners, np.arange(len(self.classes_) + 1)).tolist()
        by_class = [xp.min(D[:, first:last], axis=1) for first, last in pairwise(starts)]
        return checked_mapped(xp.astype(-xp.stack(by_class, axis=1) / 2, Z.dtype))


class NCMClassifier(CentroidClassifier):
    r"""Nearest class mean classifier under a learned distance.

    .. math:: \hat y(x) = \arg\min_c |L x - \mu_c|^2, \qquad
              p(c \mid x) = \frac{e^{-|L x - \mu_c|^2 / 2}}{\sum_{c'} e^{-|L x - \mu_{c'}|^2 / 2}}

    L is the map of the learner, and :math:`\mu_c` is the mean of the mapped samples of class c,
    weighted by the sample weights if there are any: a sample of weight 2 counts as two samples. The
    probabilities follow the model of :class:`~dimetric.NCMML` [1]_.

    Parameters
    ----------
    learner : learner or None, default=None
        Learner of the distance, or any transformer. A copy of it is fitted. If None, the Euclidean
        distance is used. Samples whose label is the learner's parameter ``unlabelled`` only teach
        the learner: they belong to no centroid.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, which multiply the sample weights. A class that is not in the dict
        has the weight 1. With ``"balanced"``, all classes have the same total weight. Centroids do
        not depend on the weight of their class, so these weights matter only to the learner.

    Attributes
    ----------
    centroids_ : array of shape (n_classes, n_components)
        Means of the mapped samples of each class.
    centroid_classes_ : ndarray of shape (n_classes,)
        Class of each centroid, equal to ``classes_``.
    classes_ : ndarray of shape (n_classes,)
        Class labels, sorted.
    learner_ : learner or None
        The fitted learner.
    n_features_in_ : int
        Number of features. ``feature_names_in_`` holds their names if X has any.

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
    [0.93, 0.98]
    """

    def __init__(self, learner: Any = None, *, class_weight: ClassWeights = None) -> None:
        self.learner = learner
        self.class_weight = class_weight

    def _clusters(self, Z: Array, codes: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        return codes


class NCMCClassifier(CentroidClassifier):
    r"""Nearest-centroid classifier with several centroids per class, under a learned distance.

    .. math:: \hat y(x) = \arg\min_c \min_{m: y_m = c} |L x - \mu_m|^2

    L is the map of the learner. The centroids :math:`\mu_m` of a class are the result of k-means on
    its mapped samples, weighted by the sample weights if there are any. The probabilities are a
    softmax over the nearest centroid of each class, so the predicted class is the most probable
    one.

    Parameters
    ----------
    n_centroids : int or array-like of shape (n_classes,), default=3
        Number of centroids per class: one number for all classes, or one for each class in the
        order of ``classes_``. A class has at most as many centroids as distinct samples.
    learner : learner or None, default=None
        Learner of the distance, or any transformer. A copy of it is fitted. If None, the Euclidean
        distance is used. Samples whose label is the learner's parameter ``unlabelled`` only teach
        the learner: they belong to no centroid.
    random_state : int, RandomState or None, default=None
        Random seed of k-means, which keeps the best of 10 starts.
    class_weight : dict, "balanced" or None, default=None
        Weights of the classes, which multiply the sample weights. A class that is not in the dict
        has the weight 1. With ``"balanced"``, all classes have the same total weight. Centroids do
        not depend on the weight of their class, so these weights matter only to the learner.

    Attributes
    ----------
    centroids_ : array of shape (n_all_centroids, n_components)
        Centroids of the mapped samples, sorted by class.
    centroid_classes_ : ndarray of shape (n_all_centroids,)
        Class of each centroid.
    classes_ : ndarray of shape (n_classes,)
        Class labels, sorted.
    learner_ : learner or None
        The fitted learner.
    n_features_in_ : int
        Number of features. ``feature_names_in_`` holds their names if X has any.

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
        self,
        n_centroids: Any = 3,
        *,
        learner: Any = None,
        random_state: Any = None,
        class_weight: ClassWeights = None,
    ) -> None:
        self.n_centroids = n_centroids
        self.learner = learner
        self.random_state = random_state
        self.class_weight = class_weight

    def _clusters(self, Z: Array, codes: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        return class_clusters(Z, codes, self.n_centroids, self.classes_, self.random_state, weights)
