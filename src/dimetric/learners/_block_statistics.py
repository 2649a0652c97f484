"""Statistics of samples in blocks, from which closed-form learners are fitted."""

from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from dimetric._arrays.validation import rescale_for_squares
from dimetric.blocks.block import Block
from dimetric.blocks.distinct import DistinctRows
from dimetric.blocks.source import Source
from dimetric.learners._lda_scatter import ENOUGH_SAMPLES, ClassMoments, merged_classes
from dimetric.learners._partial_fit import labels_of_block
from dimetric.linalg.reductions import JointSum
from dimetric.linalg.scatter import Moments
from dimetric.supervision._weights import ClassWeight
from dimetric.supervision.labels import Labels

MomentsT = TypeVar("MomentsT", Moments, ClassMoments)


@dataclass(frozen=True)
class BlockStatistics(Generic[MomentsT]):
    """Facts about the samples of positive weight. Those of blocks can be added.

    Attributes
    ----------
    n_rows : int
        Number of samples.
    n_unlabelled : int
        Number of samples without a label.
    largest : ndarray of shape (d,)
        Largest absolute value of each feature.
    moments : Moments or ClassMoments
        Moments of the samples.
    """

    n_rows: int
    n_unlabelled: int
    largest: np.ndarray
    moments: MomentsT

    def __add__(self, other: "BlockStatistics[MomentsT]") -> "BlockStatistics[MomentsT]":
        """Return the statistics of both blocks together."""
        return BlockStatistics(
            self.n_rows + other.n_rows,
            self.n_unlabelled + other.n_unlabelled,
            np.maximum(self.largest, other.largest),
            self.moments + other.moments,
        )


def statistics_of(source: Source, *, root: bool, min_samples: int) -> BlockStatistics[Moments]:
    """Return the statistics of all samples. `root` is that of :class:`Moments`."""
    total = source.reduce(_statistics_of_block, root)
    if total.n_rows < min_samples:
        raise ValueError(f"X has {total.n_rows} sample(s), but {min_samples} are required.")
    return total


def _statistics_of_block(block: Block, root: bool) -> BlockStatistics[Moments] | None:
    block = block.of_positive_weight()
    if not len(block.X):
        return None
    rescale_for_squares(block.X)  # raises if squares overflow or underflow
    moments = Moments.of_all(block.X, weights=block.weights, root=root)
    return BlockStatistics(len(block.X), 0, np.max(np.abs(block.X), axis=0), moments)


@dataclass(frozen=True)
class BlockLabels:
    """How the labels of blocks are read. It is sent to all blocks.

    Attributes
    ----------
    unlabelled : object or None
        The label of samples without a class.
    class_weight : dict or None
        Weights of the classes.
    """

    unlabelled: Any
    class_weight: ClassWeight

    @classmethod
    def of(cls, learner: Any, source: Source) -> "BlockLabels":
        """Return how a learner reads labels. ``class_weight="balanced"`` needs a pass."""
        labels = cls(getattr(learner, "unlabelled", None), getattr(learner, "class_weight", None))
        if labels.class_weight != "balanced":
            return labels
        totals = class_totals(source, replace(labels, class_weight=None))
        mean = sum(totals.values()) / len(totals)
        return replace(labels, class_weight={name: mean / n for name, n in totals.items()})

    def labelled(self, block: Block) -> tuple[np.ndarray, Labels]:
        """Return the samples of a block of positive weight, and their labels."""
        block = block.of_positive_weight()
        if isinstance(self.class_weight, dict) and 0 in self.class_weight.values():
            left_out = [name for name, weight in self.class_weight.items() if weight == 0]
            block = block.take(np.flatnonzero(~np.isin(_labels(block), left_out)))
        y = _labels(block)
        if len(y):
            check_classification_targets(y)
        return block.X, labels_of_block(y, block.weights, self.unlabelled, self.class_weight)


def _labels(block: Block) -> np.ndarray:
    assert block.y is not None  # learners from labels are fitted to sources with labels only
    return block.y


@dataclass(frozen=True)
class _ClassTotals:
    """Sums of the sample weights of each class."""

    totals: dict[Any, float]

    def __add__(self, other: "_ClassTotals") -> "_ClassTotals":
        here, there = (np.array(list(each.totals)) for each in (self, other))
        names = merged_classes(here, there).tolist()
        return _ClassTotals({n: self.totals.get(n, 0) + other.totals.get(n, 0) for n in names})


def class_totals(source: Source, labels: BlockLabels) -> dict[Any, float]:
    """Return the sums of the weights of each class, in the order of the classes."""
    return source.reduce(_class_totals, labels).totals


def _class_totals(block: Block, reading: BlockLabels) -> _ClassTotals | None:
    labels = reading.labelled(block)[1]
    if not labels.n_classes:
        return None
    is_labelled = labels.codes >= 0
    weights = None if labels.weights is None else labels.weights[is_labelled]
    totals = np.bincount(labels.codes[is_labelled], weights, minlength=labels.n_classes)
    return _ClassTotals(dict(zip(labels.classes.tolist(), totals.tolist(), strict=True)))


def class_statistics_of(
    source: Source, labels: BlockLabels, *, root: bool
) -> BlockStatistics[ClassMoments]:
    """Return the statistics of all samples, by class. `root` is that of :class:`Moments`."""
    limit = ENOUGH_SAMPLES * source.n_features
    total, distinct = source.reduce(_class_statistics_of_block, labels, root, limit).parts
    total = replace(total, moments=replace(total.moments, n_distinct=len(distinct)))
    names = total.moments.classes.tolist()
    if isinstance(labels.class_weight, dict):
        unknown = [n for n, w in labels.class_weight.items() if n not in names and w > 0]
        if unknown:
            raise ValueError(
                f"class_weight contains {unknown[0]!r}, which is not a class of y. The classes are "
                f"{names[:10]}{' and others' if len(names) > 10 else ''}."
            )
    return total


def _class_statistics_of_block(
    block: Block, reading: BlockLabels, root: bool, limit: int
) -> JointSum | None:
    X, labels = reading.labelled(block)
    if not len(X):
        return None
    rescale_for_squares(X)  # raises if squares overflow or underflow
    n_unlabelled = int(np.sum(labels.codes < 0))
    moments = ClassMoments.of(X, labels, root=root)
    total = BlockStatistics(len(X), n_unlabelled, np.max(np.abs(X), axis=0), moments)
    return JointSum((total, DistinctRows.of(X[labels.codes >= 0], limit)))
