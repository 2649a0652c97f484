"""Labels and targets as passed to the learners, and the union type of all kinds of supervision.

A learner receives X and one of the classes of :data:`Supervision`.
"""

from dataclasses import dataclass
from typing import Self, TypeAlias

import numpy as np

from dimetric.supervision.pairs import Pairs
from dimetric.supervision.triplets import Triplets

MAX_NUMERIC_CLASSES = 50  # up to this many distinct integers are always accepted as classes
MIN_ROWS_PER_NUMERIC_CLASS = 5  # on average, for more distinct integers, which may be counts


@dataclass(frozen=True)
class Labels:
    """The class of each sample.

    Parameters
    ----------
    codes : ndarray of shape (n_samples,)
        Index of the class of each sample in `classes`, or -1 if the sample has no label.
    classes : ndarray of shape (n_classes,)
        The sorted classes.
    weights : ndarray of shape (n_samples,), optional
        Positive weights of the samples. None if all weights are 1.

    Examples
    --------
    >>> labels = Labels(np.array([1, -1, 0]), np.array(["a", "b"]))
    >>> labels.n_classes, labels.reordered(np.array([2, 0])).codes
    (2, array([0, 1]))
    """

    codes: np.ndarray
    classes: np.ndarray
    weights: np.ndarray | None = None

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    @property
    def is_labelled(self) -> np.ndarray:
        """Whether each sample has a label."""
        return np.asarray(self.codes >= 0)

    def reordered(self, rows: np.ndarray) -> Self:
        """Return the labels of the given rows, in that order."""
        return type(self)(self.codes[rows], self.classes, _taken(self.weights, rows))


@dataclass(frozen=True)
class Targets:
    """Targets that are not classes: numbers, vectors, or whatever a cost between targets accepts.

    Parameters
    ----------
    values : ndarray of shape (n_samples,) or (n_samples, n_outputs)
        The target of each sample, or NaN if the sample has none.
    weights : ndarray of shape (n_samples,), optional
        Positive weights of the samples. None if all weights are 1.
    """

    values: np.ndarray
    weights: np.ndarray | None = None

    @property
    def is_labelled(self) -> np.ndarray:
        """Whether each sample has a target."""
        return ~np.isnan(self.values.reshape(len(self.values), -1)).any(axis=1)

    def reordered(self, rows: np.ndarray) -> Self:
        """Return the targets of the given rows, in that order."""
        return type(self)(self.values[rows], _taken(self.weights, rows))


@dataclass(frozen=True)
class SampleWeights:
    """Positive weights of samples without labels, for unsupervised learners.

    Parameters
    ----------
    weights : ndarray of shape (n_samples,)
        The weights.
    """

    weights: np.ndarray

    def reordered(self, rows: np.ndarray) -> Self:
        """Return the weights of the given rows, in that order."""
        return type(self)(self.weights[rows])


Supervision: TypeAlias = Labels | Targets | SampleWeights | Pairs | Triplets


def _taken(weights: np.ndarray | None, rows: np.ndarray) -> np.ndarray | None:
    return None if weights is None else weights[rows]


def weights_of(supervision: Supervision | None) -> np.ndarray | None:
    """Return the weights of the samples, or None if all weights are 1.

    Examples
    --------
    >>> weights_of(SampleWeights(np.array([1.0, 2.0])))
    array([1., 2.])
    """
    return getattr(supervision, "weights", None)


def relative_weights(supervision: Supervision | None) -> np.ndarray | None:
    """Return the weights of the samples divided by their mean, or None if all are equal.

    Losses over pairs multiply two weights. Relative weights make them independent of the unit of
    the weights, and equal weights have no effect.

    Examples
    --------
    >>> relative_weights(SampleWeights(np.array([1.0, 3.0])))
    array([0.5, 1.5])
    >>> relative_weights(SampleWeights(np.array([2.0, 2.0]))) is None
    True
    """
    weights = weights_of(supervision)
    if weights is None or np.all(weights == weights[0]):
        return None
    weights = weights / np.max(weights)  # so that the sum does not overflow
    return np.asarray(weights / np.mean(weights))


def sum_of_pair_weights(weights: np.ndarray) -> float:
    """Return the sum of the products of the weights of all pairs of samples.

    Examples
    --------
    >>> sum_of_pair_weights(np.array([1.0, 2.0, 3.0]))
    11.0
    """
    # Each sample is paired with all samples before it, which avoids a difference of squares.
    return float(weights[1:] @ np.cumsum(weights)[:-1])


def checked_labels(supervision: Supervision | None) -> Labels:
    """Return the supervision if it is labels, and raise TypeError otherwise."""
    if not isinstance(supervision, Labels):
        raise TypeError(f"Expected Labels, got {type(supervision).__name__}.")
    return supervision


def checked_targets(supervision: Supervision | None) -> Targets:
    """Return the supervision if it is targets, and raise TypeError otherwise."""
    if not isinstance(supervision, Targets):
        raise TypeError(f"Expected Targets, got {type(supervision).__name__}.")
    return supervision


def may_be_classes(y: np.ndarray) -> bool:
    """Return whether numbers may be class labels: integers that are few, or occur often.

    Examples
    --------
    >>> may_be_classes(np.arange(300) % 60), may_be_classes(np.arange(300) % 61)
    (True, False)
    >>> may_be_classes(np.array([0.5, 1.5, 0.5]))
    False
    """
    values = np.unique(y)
    max_classes = max(MAX_NUMERIC_CLASSES, len(y) // MIN_ROWS_PER_NUMERIC_CLASS)
    has_fractions = y.dtype.kind == "f" and np.any(values != np.round(values))
    return len(values) <= max_classes and not has_fractions
