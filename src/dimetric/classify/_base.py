"""What classifiers and regressors over a learned distance share."""

from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import Tags, check_consistent_length
from sklearn.utils.validation import check_is_fitted, column_or_1d

from dimetric._arrays.namespaces import Array, is_foreign, like, namespace, to_host
from dimetric._arrays.validation import (
    checked_samples,
    checked_samples_with_labels,
    rescale_for_squares,
)
from dimetric._compat import HasMethods


class LearnedDistance(BaseEstimator):
    """An estimator over samples as a learner maps them; without a learner, as they are.

    The map follows X, and so do predictions, where they are numbers.
    """

    learner: Any
    learner_: Any

    _accepts_sparse: ClassVar[bool] = False
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "learner": [HasMethods(["fit", "transform"]), None],
    }

    def _learn(self, X: Array, y: Any, learner: Any = None) -> Array:
        """Fit a copy of the learner, or of another one; return its map of the training samples."""
        rescale_for_squares(X)  # raises where squared distances would be infinite, or all 0
        learner = self.learner if learner is None else learner
        self.learner_ = None if learner is None else clone(learner)
        if learner is None:
            return X
        if hasattr(self.learner_, "fit_transform"):  # embeddings have other places for new samples
            return _array(self.learner_.fit_transform(X, y))
        return _array(self.learner_.fit(X, y).transform(X))

    def _mapped(self, X: Array) -> Array:
        """Return new samples, checked, under the learned map."""
        check_is_fitted(self)
        samples = checked_samples(self, X, reset=False)
        return samples if self.learner_ is None else _array(self.learner_.transform(samples))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._accepts_sparse
        return tags


class DistanceClassifier(ClassifierMixin, LearnedDistance):
    """A classifier over a learned distance, which says by ``_scores`` how well each class fits."""

    classes_: np.ndarray

    _min_samples: ClassVar[int] = 1

    def _labelled(self, X: Any, y: Any) -> tuple[Array, np.ndarray]:
        """Return checked samples and their classes, as integers, of which it takes note."""
        samples, labels = checked_samples_with_labels(
            self, X, y, reset=True, min_samples=self._min_samples
        )
        self.classes_, codes = np.unique(labels, return_inverse=True)
        return samples, codes

    def _scores(self, X: Any) -> Array:
        """Return a score of each class for each sample, of shape (n_samples, n_classes)."""
        raise TypeError(f"{type(self).__name__} does not say how it scores classes.")

    def predict(self, X: Array) -> Array:
        """Return the class of each sample.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.

        Returns
        -------
        labels : array of shape (n_samples,)
            Of classes that score alike, the first of ``classes_``. Numbers are in X's namespace.
        """
        best = np.argmax(to_host(self._scores(X)), axis=1)
        return values_like(self.classes_[best], X)

    def score(self, X: Array, y: Any, sample_weight: Any = None) -> float:
        """Return the share of samples that are given their class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Samples.
        y : array-like of shape (n_samples,)
            Their classes.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the samples.
        """
        return accuracy(y, self.predict(X), sample_weight)


def accuracy(y: Any, predicted: Any, sample_weight: Any = None) -> float:
    """Return the share of equal labels, wherever they are.

    Examples
    --------
    >>> accuracy([1, 2, 2], np.array([1, 2, 3]), sample_weight=[2, 1, 1])
    0.75
    """
    if y is None:
        raise ValueError("A score of predictions for X needs the true labels y.")
    y, predicted = column_or_1d(to_host(y) if is_foreign(y) else y), to_host(predicted)
    check_consistent_length(y, predicted, sample_weight)
    if "O" not in y.dtype.kind + predicted.dtype.kind and y.dtype.kind != predicted.dtype.kind:
        texts = [labels.dtype.kind in "US" for labels in (y, predicted)]
        if texts[0] != texts[1]:
            raise ValueError(
                f"y holds {'texts' if texts[0] else 'numbers'}, but the classes that were learned "
                f"are {'texts' if texts[1] else 'numbers'}."
            )
    return float(np.average(y == predicted, weights=sample_weight))


def values_like(values: np.ndarray, X: Any) -> Array:
    """Return labels or targets where X is, if they are numbers and X is not on the host."""
    if not is_foreign(X) or values.dtype.kind not in "iufb":
        return values
    xp = namespace(X)
    dtype = {"b": xp.bool, "i": xp.int64, "u": xp.int64}.get(values.dtype.kind)
    return like(values, X, dtype=dtype)


def _array(Z: Any) -> Array:
    """Return mapped samples as an array; a learner may have been told to give a data frame."""
    return np.asarray(Z) if hasattr(Z, "columns") else Z
