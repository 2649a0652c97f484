"""Classification by nearest neighbours under a learned distance."""

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils import Tags

from dimetric._arrays.namespaces import Array, is_dask
from dimetric._compat import fit_method
from dimetric.blocks.lazy import lazy_on_dask, mean_over_blocks
from dimetric.classify._base import DistanceClassifier, accuracy
from dimetric.classify._block_training import class_references, source_for
from dimetric.classify._neighbors import NeighborsEstimator
from dimetric.classify._softmax import LOG_LOSS_SLACK, log_losses
from dimetric.classify._votes import (
    Weights,
    decoded,
    has_several_outputs,
    indicators_of,
    most_voted,
    outputs_of,
    weight_function,
)
from dimetric.classify._weights import ClassWeights
from dimetric.neighbors.metric_search import Metric


class KNNClassifier(NeighborsEstimator, DistanceClassifier):
    r"""Classifier by a vote of the k nearest neighbours under a learned distance.

    .. math:: \hat y(x) = \arg\max_c \sum_{j \in N_k(x)} w_j\, s_j\, [y_j = c], \qquad
              d(x, x_j) = |L x - L x_j|

    :math:`N_k(x)` is the set of the k training samples nearest to x, L is the map of the learner,
    and :math:`s_j` is the sample weight (1 by default), times the weight of the class
    :math:`y_j`. Samples tied at the k-th distance share the remaining votes (see Notes).

    Parameters
    ----------
    n_neighbors : int, default=3
        Number of neighbours k.
    learner : learner or None, default=None
        Learner of the distance, or any transformer. A copy of it is fitted, and neighbours are
        searched among the mapped samples. If None, the Euclidean distance is used. Samples whose
        label is the learner's parameter ``unlabelled`` only teach the learner: they do not vote.
    weights : {"uniform", "distance", "softmax"}, callable or None, default="uniform"
        Weights w of the votes. With ``"uniform"`` or None, all weights are 1. With
        ``"distance"``, the weight is the inverse of the distance. If there are neighbours at
        distance 0, only these neighbours vote. With ``"softmax"``, all training samples vote, with
        the weight :math:`e^{-d^2 / T}`, and `n_neighbors` has no effect on predictions. A callable
        takes an array of distances and returns an array of weights.
    temperature : float or None, default=None
        The temperature T of ``"softmax"``. With a small T, only near samples count. None chooses T
        by the log loss in leave-one-out (see Notes).
    metric : str or callable, default="euclidean"
        Metric of the mapped samples, or of X if there is no learner: any metric of
        :class:`sklearn.neighbors.NearestNeighbors`. With ``"precomputed"``, X holds the distances
        to the training samples, and `learner` must be None.
    metric_params : dict, optional
        Parameters of the metric, such as ``{"p": 3}`` for ``"minkowski"``.
    search : ApproximateNeighbors, neighbour model or None, default=None
        Approximate search: an :class:`~dimetric.neighbors.ApproximateNeighbors`, or an object like
        scikit-learn's ``KNeighborsTransformer``. Tied samples share votes if they are found. None
        searches exactly.
    n_references : int or None, default=None
        Largest number of samples that are neighbours, see Notes. None keeps all samples of an
        array, and 20,000 of samples in blocks.
    class_weight : dict, "balanced", list or None, default=None
        Weights of the classes, which multiply the sample weights. A class that is not in the dict
        has the weight 1. With ``"balanced"``, all classes have the same total weight. For several
        outputs, a list with a dict for each output, or ``"balanced"``. The weights of the outputs
        are multiplied.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,), or list of ndarray
        Class labels, sorted. If y has several outputs, a list with the classes of each output.
    learner_ : learner or None
        The fitted learner.
    n_samples_fit_ : int
        Number of samples that are neighbours: all with a label and a positive weight, or the
        references among them.
    n_samples_seen_ : int
        Number of samples with a label and a positive weight.
    temperature_ : float
        The temperature T, if ``weights="softmax"``.
    search_used_ : str
        If `search` is given: its kind, or "exact" if there are too few samples.
    search_recall_ : float
        If `search` is given: the fraction of neighbours that it finds, from 400 training samples.
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

    ``weights="softmax"`` gives smoother probabilities than a vote of a few neighbours. Without a
    given temperature, T is chosen by the leave-one-out log loss of the training samples under the
    learned distance: the largest T whose total loss exceeds the smallest one by at most 2, because
    the distance was learned from the same samples. With more than 2048 samples, the loss is
    estimated from :math:`2^{22} / n` of them, but at least 64. All samples vote.

    Sample weights do not affect which samples are neighbours, only how much they vote. Samples of
    weight 0 are left out: they are not neighbours, and leave-one-out results do not include them.
    A sample of weight 2 is not the same as the sample given twice, because a copy takes the place
    of another neighbour.

    With `n_references`, the learner learns from all samples, but only a sample of them votes. Each
    class is sampled in proportion, but at least 4 times if it has so many samples. With several
    outputs, the sample is random. It depends on the row numbers alone, not on blocks.

    y may be a matrix of 0 and 1 with a column for each label (multi-label classification). Each
    column is an output. A learner must then accept several outputs, such as
    ``NCA(cost="jaccard")`` or PCA.

    Examples
    --------
    >>> from dimetric import LDA
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> euclidean, learned = KNNClassifier().fit(X, y), KNNClassifier(learner=LDA()).fit(X, y)
    >>> round(euclidean.score(), 2), round(learned.score(), 2)  # leave one out
    (0.72, 0.99)

    Probabilities of a softmax vote have a smaller log loss than those of a few neighbours:

    >>> from sklearn.metrics import log_loss
    >>> X = (X - X.mean(axis=0)) / X.std(axis=0)
    >>> for weights in ("distance", "softmax"):
    ...     model = KNNClassifier(weights=weights).fit(X[::2], y[::2])
    ...     print(weights, round(log_loss(y[1::2], model.predict_proba(X[1::2])), 2))
    distance 0.88
    softmax 0.14
    """

    classes_: Any
    _multi_output: ClassVar[bool] = True
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **NeighborsEstimator._parameter_constraints,
        **DistanceClassifier._parameter_constraints,
    }
    _codes: np.ndarray

    def __init__(
        self,
        n_neighbors: int = 3,
        *,
        learner: Any = None,
        weights: Weights = "uniform",
        temperature: float | None = None,
        metric: Metric = "euclidean",
        metric_params: dict[str, Any] | None = None,
        search: Any = None,
        n_references: int | None = None,
        class_weight: ClassWeights = None,
    ) -> None:
        super().__init__(
            n_neighbors,
            learner=learner,
            weights=weights,
            temperature=temperature,
            metric=metric,
            metric_params=metric_params,
            search=search,
            n_references=n_references,
        )
        self.class_weight = class_weight

    @fit_method
    def fit(self, X: Array, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn the distance and store the mapped samples.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples, as a NumPy or sparse array, a pandas or polars data frame, an array of any
            array-API namespace, or in blocks: a Dask array or data frame, a function that returns
            an iterator over blocks ``(X, y)``, or, if `n_references` is set, a memory map of at
            least 256 MiB. Samples in blocks need a learner that learns from blocks.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Class labels, for one or several outputs.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples, which are at least 0. A sample of weight 0 is left out. The
            weights are also passed to the learner if it uses weights.

        Returns
        -------
        self : object
            The fitted classifier.
        """
        self._check_metric(X)
        source = source_for(self, X, y, sample_weight)
        if source is None:
            several = self._multi_output and has_several_outputs(y)
            training = self._checked_training(X, y, sample_weight, multi_output=several)
            n_seen, training = training.n_labelled, training.references(self.n_references)
        else:
            self.classes_, n_seen, training = class_references(self, source)
        weights_given = sample_weight is not None
        self._keep_mapped(training, n_seen=n_seen, weights_given=weights_given, source=source)
        self._codes = training.codes
        self._keep_temperature(self._log_losses, LOG_LOSS_SLACK / self.n_samples_fit_)
        return self

    @lazy_on_dask
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

    @lazy_on_dask
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
            Sample weights. By default, all samples have the same weight in the score.
        """
        if is_dask(X):
            return mean_over_blocks(self, X, y, sample_weight)
        predicted = self.predict(X)
        if X is None:
            y = self._labels() if y is None else self._of_training_rows(y)
            sample_weight = self._of_training_rows(sample_weight)
        return accuracy(y, predicted, sample_weight)

    def _labels(self) -> np.ndarray:
        """Return the classes of the training samples."""
        return decoded(self.classes_, np.atleast_2d(self._codes.T))

    def _outputs(self) -> list[tuple[np.ndarray, int]]:
        """Return the codes and the number of classes of each output."""
        return outputs_of(self._codes, self.classes_)

    def _class_scores(self, X: Array | None) -> Any:
        """Return the votes for each class, of shape (n_samples, n_classes)."""
        return self._votes(X)[0]

    def _votes(self, X: Array | None) -> list[np.ndarray]:
        """Return the votes for each class, for each output."""
        if self.weights != "softmax":
            return self._votes_of(*self._neighborhoods(X))
        return self._by_output(self._weighted_sums(X)[0])

    def _predicted(self, near: Any, k: int, X: Array | None) -> Array:
        """Return the predictions of k neighbours. `near` belongs to X."""
        return self._most_voted(self._votes_of(near, k), X)

    def _votes_of(self, near: Any, k: int) -> list[np.ndarray]:
        """Return the votes of k neighbours, for each output."""
        return self._by_output(near.sums(self._values(), k, weight_function(self.weights)))

    def _values_of_points(self) -> Any:
        """Return the weights of the training samples, in the columns of their classes."""
        return indicators_of(self._outputs(), self._weights_of_votes())

    def _by_output(self, votes: np.ndarray) -> list[np.ndarray]:
        """Divide the columns of votes into those of each output."""
        if self._codes.ndim == 1:
            return [votes]
        return np.split(votes, np.cumsum([n for _, n in self._outputs()])[:-1], axis=1)

    def _log_losses(self, votes: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return the log loss of training samples, summed over the outputs."""
        return log_losses(self._by_output(votes), [codes[rows] for codes, _ in self._outputs()])

    def _most_voted(self, votes: list[np.ndarray], X: Array | None) -> Array:
        """Return the classes with the most votes. Numeric classes are in the namespace of X."""
        best = [most_voted(each, self._points) for each in votes]
        return self._like_samples(decoded(self.classes_, best), X)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = self._multi_output
        tags.classifier_tags.multi_label = self._multi_output
        return tags
