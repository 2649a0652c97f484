"""Base classes of classifiers and regressors that use a learned distance."""

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import Tags, check_consistent_length
from sklearn.utils.metadata_routing import (
    MetadataRouter,
    MethodMapping,
    get_routing_for_object,
    process_routing,
)
from sklearn.utils.validation import check_is_fitted, column_or_1d

from dimetric._arguments import ArgumentErrorMixin
from dimetric._arrays.labels import dense_y, encode_labels
from dimetric._arrays.namespaces import (
    Array,
    asarray_like,
    is_dask,
    is_foreign,
    namespace,
    to_host,
)
from dimetric._arrays.validation import (
    checked_samples,
    checked_samples_with_labels,
    rescale_for_squares,
)
from dimetric._compat import HasMethods
from dimetric.blocks.lazy import lazy_on_dask, mean_over_blocks
from dimetric.classify._training import Training
from dimetric.classify._weights import (
    CLASS_WEIGHT_CONSTRAINT,
    ClassWeights,
    labelled_rows,
    samples_used,
    training_weights,
    weight_arguments,
)
from dimetric.learners._pair_explanation import explain_pair_with
from dimetric.linalg.row_basis import is_made_dense
from dimetric.supervision._weights import checked_sample_weight


class DistanceEstimator(ArgumentErrorMixin, BaseEstimator, ABC):
    """Base class of estimators that measure distances between samples mapped by a learner.

    Without a learner, samples are not mapped. Mapped samples and numeric predictions stay in the
    array namespace of X. Subclasses:

    - :class:`DistanceClassifier`: predicts the class with the highest score.

      - ``CentroidClassifier``: NCMClassifier, NCMCClassifier
      - EnergyClassifier
      - MetricEnsembleClassifier

    - ``NeighborsEstimator``: finds the nearest training samples.

      - KNNRegressor
      - KNNClassifier (also a DistanceClassifier) and its subclass MultiMetricKNNClassifier
    """

    learner: Any
    learner_: Any

    _accepts_sparse: ClassVar[bool] = True
    _min_samples: ClassVar[int] = 1
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "learner": [HasMethods(["fit", "transform"]), None],
    }

    @abstractmethod
    def fit(self, X: Array, y: Any, sample_weight: Any = None) -> Self:
        """Fit the learner and store what predictions require."""

    def _fit_learner(
        self, training: Training, *, weights_given: bool = True, default: Any = None
    ) -> Array:
        """Fit a copy of the learner and return the mapped labelled samples.

        Parameters
        ----------
        training : Training
            Samples, labels or targets, and weights. The weights are passed to the learner if it
            uses weights.
        weights_given : bool, default=True
            Whether the user gave sample weights. Otherwise the weights are those of the classes.
        default : learner, optional
            The learner to fit if the parameter `learner` is None.
        """
        X, y, weights = training.samples, training.learner_y, training.learner_weights
        rescale_for_squares(X)  # raises if the dtype cannot hold squares of the values
        learner = default if self.learner is None else self.learner
        self.learner_ = None if learner is None else clone(learner)
        if learner is None:
            pairwise = getattr(self, "metric", None) == "precomputed"
            return samples_used(X, training.labelled, pairwise=pairwise)
        arguments = {}
        if weights is not None:
            arguments = self._learner_arguments(weights, weights_given, self.learner_)
        # An embedding maps training samples differently from new samples, so use fit_transform.
        if hasattr(self.learner_, "fit_transform"):
            mapped = self.learner_.fit_transform(X, y, **arguments)
        else:
            mapped = self.learner_.fit(X, y, **arguments).transform(X)
        return samples_used(as_array(mapped), training.labelled)

    def _learner_arguments(
        self, weights: np.ndarray, weights_given: bool, learner: BaseEstimator
    ) -> dict[str, Any]:
        """Return the arguments that pass weights to ``fit`` of a learner.

        With metadata routing, the learner must request weights, or refuse them.
        """
        if not _is_routed(self.learner) or not get_config()["enable_metadata_routing"]:
            return weight_arguments(learner, weights)
        requested = get_routing_for_object(self.learner).consumes("fit", ["sample_weight"])
        if not weights_given and not requested:
            return {}
        return process_routing(self, "fit", sample_weight=weights)["learner"]["fit"]

    def get_metadata_routing(self) -> MetadataRouter:
        """Return the metadata that ``fit`` and ``score`` use, and the metadata of the learner.

        Returns
        -------
        routing : MetadataRouter
            As described in scikit-learn's guide to metadata routing.
        """
        router = MetadataRouter(owner=self).add_self_request(self)
        if not _is_routed(self.learner):
            return router
        mapping = MethodMapping().add(caller="fit", callee="fit")
        return router.add(learner=self.learner, method_mapping=mapping)

    def explain_pair(self, x: Array, x2: Array) -> Array:
        r"""Return the part of each feature in the squared distance between two samples.

        .. math:: d^2(x, x') = \sum_k \delta_k (M \delta)_k, \qquad \delta = x - x'

        A part may be negative. Without a learner, M is the identity. If the learner is a pipeline,
        the parts refer to the features of its last step, such as scaled features.

        Parameters
        ----------
        x, x2 : array-like of shape (n_features,) or (n_samples, n_features)
            Samples. The rows of two blocks are compared one by one, and one sample is compared with
            all rows of a block.

        Returns
        -------
        parts : array of shape (n_features,) or (n_samples, n_features)
            The parts :math:`\delta_k (M \delta)_k`, which sum to the squared distance.
        """
        check_is_fitted(self)
        self._require_one_metric()
        return explain_pair_with(self, self.learner_, x, x2)

    def _check_samples(self, X: Array) -> None:
        """Raise if training samples, which are already validated, do not suit the metric."""

    def _require_one_metric(self) -> None:
        """Raise if distances are not Euclidean distances of mapped samples."""

    def _mapped(self, X: Array) -> Array:
        """Validate new samples and return them mapped by the learner."""
        check_is_fitted(self)
        samples = checked_samples(self, X, reset=False)
        return samples if self.learner_ is None else as_array(self.learner_.transform(samples))

    def _made_dense(self, Z: Array) -> Array:
        """Return mapped samples as a dense array. Raise if sparse samples are too large."""
        if not sparse.issparse(Z):
            return Z
        if not is_made_dense(*Z.shape):
            raise ValueError(
                f"{type(self).__name__} needs dense mapped samples, but sparse samples of shape "
                f"{Z.shape} are too large to be made dense. Set a learner that maps them to fewer "
                "components, for example learner=PCA(n_components=50)."
            )
        return Z.toarray()

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._accepts_sparse
        return tags


class DistanceClassifier(ClassifierMixin, DistanceEstimator):
    """Base class of classifiers that score each class by distances and predict the best one."""

    classes_: np.ndarray
    class_weight: ClassWeights

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **DistanceEstimator._parameter_constraints,
        "class_weight": CLASS_WEIGHT_CONSTRAINT,
    }

    @abstractmethod
    def _class_scores(self, X: Any) -> Array:
        """Return the score of each class for each sample, of shape (n_samples, n_classes)."""

    def _checked_training(
        self, X: Any, y: Any, sample_weight: Any, *, multi_output: bool = False
    ) -> Training:
        """Validate the arguments of ``fit``, set ``classes_`` and leave out rows of weight 0.

        Labels that the learner takes for missing are not classes.
        """
        if is_dask(X):
            raise TypeError(
                f"{type(self).__name__} keeps its training samples, so it cannot be fitted to a "
                "Dask collection. Fit a learner to the collection, and this classifier to the "
                "mapped samples of some rows: then it predicts Dask collections."
            )
        samples, labels = checked_samples_with_labels(
            self, X, y, reset=True, min_samples=self._min_samples, multi_output=multi_output
        )
        is_labelled = labelled_rows(self.learner, labels)
        weights = training_weights(sample_weight, labels, self.class_weight, is_labelled)
        training = Training.of(self, samples, labels, weights, is_labelled)
        encoded = [encode_labels(each) for each in np.atleast_2d(training.y.T)]
        classes, codes = [each for each, _ in encoded], [each for _, each in encoded]
        self.classes_ = classes if multi_output else classes[0]  # type: ignore[assignment]
        return replace(training, codes=np.stack(codes, axis=1) if multi_output else codes[0])

    @lazy_on_dask
    def predict(self, X: Array) -> Array:
        """Predict the class of each sample.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        labels : array of shape (n_samples,)
            Predicted classes. If classes have the same score, the first in ``classes_`` is
            predicted. Numeric labels are in the array namespace of X.
        """
        return self._best_classes(self._class_scores(X), X)

    def _best_classes(self, scores: Array, X: Array) -> Array:
        """Return the class with the highest score. Numeric classes are in the namespace of X."""
        best = np.argmax(to_host(scores), axis=1)
        return values_like(self.classes_[best], X)

    def score(self, X: Array, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy, the fraction of samples that are classified correctly.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            True classes.
        sample_weight : array-like of shape (n_samples,), optional
            Sample weights.
        """
        if is_dask(X):
            return mean_over_blocks(self, X, y, sample_weight)
        return accuracy(y, self.predict(X), sample_weight)


def accuracy(y: Any, predicted: Any, sample_weight: Any = None) -> float:
    """Return the weighted fraction of labels that agree, for arrays of any namespace.

    With several outputs, all labels of a sample must agree.

    Examples
    --------
    >>> accuracy([1, 2, 2], np.array([1, 2, 3]), sample_weight=[2, 1, 1])
    0.75
    """
    if y is None:
        raise ValueError("y is None, but the accuracy requires the true labels y.")
    y, predicted = dense_y(y), to_host(predicted)
    y = column_or_1d(y) if predicted.ndim == 1 else np.asarray(y)
    check_consistent_length(y, predicted)
    if "O" not in y.dtype.kind + predicted.dtype.kind and y.dtype.kind != predicted.dtype.kind:
        kinds = ["string" if labels.dtype.kind in "US" else "numeric" for labels in (y, predicted)]
        if kinds[0] != kinds[1]:
            raise ValueError(f"y has {kinds[0]} labels, but the predicted labels are {kinds[1]}.")
    if y.shape != predicted.shape:
        raise ValueError(f"y has shape {y.shape}, but the predicted labels have {predicted.shape}.")
    correct = y == predicted if y.ndim == 1 else np.all(y == predicted, axis=1)
    return float(np.average(correct, weights=checked_sample_weight(sample_weight, len(correct))))


def values_like(values: np.ndarray, X: Any) -> Array:
    """Return predictions, converted to the namespace of X if they are numeric."""
    if not is_foreign(X) or values.dtype.kind not in "iufb":
        return values
    xp = namespace(X)
    dtype = {"b": xp.bool, "i": xp.int64, "u": xp.int64}.get(values.dtype.kind)
    return asarray_like(values, X, dtype=dtype)


def _is_routed(learner: Any) -> bool:
    """Return whether metadata are routed to a learner: not to a default, and not to a list."""
    return learner is not None and not isinstance(learner, list)


def as_array(Z: Any) -> Array:
    """Return mapped samples as an array, even if the learner returns a data frame."""
    return np.asarray(Z) if hasattr(Z, "columns") else Z
