"""Class labels as learners receive them, and the type of all supervision.

What a learner learns from beside X is one of the records of :data:`Supervision`. Continuous targets
would be a further record beside :class:`Labels`, and sample weights a field of each record that
can be weighted.
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
        Position of each sample's class in `classes`; -1 if the sample has no label.
    classes : ndarray of shape (n_classes,)
        The labels, sorted.

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
        """Return the labels of some samples, in the order of their row numbers."""
        return type(self)(self.codes[rows], self.classes)


Supervision: TypeAlias = Labels | Pairs | Triplets


def checked_labels(supervision: Supervision | None) -> Labels:
    """Return supervision that must be labels; TypeError if it is anything else."""
    if not isinstance(supervision, Labels):
        raise TypeError(f"Labels are needed, not {type(supervision).__name__}.")
    return supervision
