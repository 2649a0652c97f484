"""Class labels as passed to the learners, and the union type of all kinds of supervision.

A learner receives X and one of the classes of :data:`Supervision`. To support continuous targets,
add a class next to :class:`Labels`. To support sample weights, add a field to each class.
"""

from dataclasses import dataclass
from typing import Self, TypeAlias

import numpy as np

from dimetric.supervision.pairs import Pairs
from dimetric.supervision.triplets import Triplets


@dataclass(frozen=True)
class Labels:
    """The class of each sample.

    Parameters
    ----------
    codes : ndarray of shape (n_samples,)
        Index of the class of each sample in `classes`, or -1 if the sample has no label.
    classes : ndarray of shape (n_classes,)
        The sorted classes.

    Examples
    --------
    >>> labels = Labels(np.array([1, -1, 0]), np.array(["a", "b"]))
    >>> labels.n_classes, labels.reordered(np.array([2, 0])).codes
    (2, array([0, 1]))
    """

    codes: np.ndarray
    classes: np.ndarray

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.classes)

    def reordered(self, rows: np.ndarray) -> Self:
        """Return the labels of the given rows, in that order."""
        return type(self)(self.codes[rows], self.classes)


Supervision: TypeAlias = Labels | Pairs | Triplets


def checked_labels(supervision: Supervision | None) -> Labels:
    """Return the supervision if it is labels, and raise TypeError otherwise."""
    if not isinstance(supervision, Labels):
        raise TypeError(f"Expected Labels, got {type(supervision).__name__}.")
    return supervision
