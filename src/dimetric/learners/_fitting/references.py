"""Fits to references: every row meets a fixed sample of rows instead of all other rows."""

from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, ClassVar

import numpy as np

from dimetric._arrays.namespaces import Array, is_foreign
from dimetric._arrays.random_state import random_generator
from dimetric._compat import Interval, Progress
from dimetric._warnings import warn
from dimetric.blocks.source import ArraySource, Source
from dimetric.learners._base import WholeSampleValues
from dimetric.learners._input import set_classes
from dimetric.objectives.references.neighbors import NeighborScatter, neighbor_scatter_of
from dimetric.objectives.references.references import (
    ClassTotals,
    Encoding,
    References,
    class_totals,
    sample_references,
)
from dimetric.supervision._weights import with_class_weight
from dimetric.supervision.labels import Labels

# Constraints of the parameter of all learners that learn from references.
REFERENCE_PARAMETER: dict[str, list[Any]] = {
    "n_references": [Interval(Integral, 2, None, closed="left"), None],
}
DEFAULT_REFERENCES = 4000  # chosen by experiment, see docs/scale.md
MIN_REFERENCES_PER_CLASS = 4  # so that rare classes have the default number of neighbours


@dataclass(frozen=True)
class ReferenceLabels(Labels):
    """The labels of references, with all rows that meet them.

    Attributes
    ----------
    source : Source
        All rows.
    references : References
        The references, in another order.
    totals : ClassTotals
        Numbers of rows.
    """

    source: Any = None
    references: Any = None
    totals: Any = None

    def reordered(self, rows: np.ndarray) -> Labels:  # type: ignore[override]
        """Return the labels of some references, without the rows that meet them."""
        return Labels(self.codes, self.classes, self.weights).reordered(rows)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(np.sum(self.totals.counts))

    def neighbor_scatter(
        self, k: int, role: str, *, root: bool = False, factor: float = 1.0
    ) -> NeighborScatter:
        """Return the scatter of the differences between rows and their nearest references.

        Parameters
        ----------
        k : int
            Number of neighbours.
        role : {"friends", "enemies"}
            Whether neighbours have the class of the row, or another class.
        root : bool, default=False
            Whether to return a root of the scatter.
        factor : float, default=1.0
            Rows are multiplied by this factor.
        """
        mean = float(np.sum(self.totals.weights)) / self.n_rows
        scatter = self.source.reduce(
            neighbor_scatter_of, self.references, k, role, root, factor, numbered=True
        )
        if scatter.n_few:
            whose = "their classes" if role == "friends" else "other classes"
            warn(
                f"{scatter.n_few} of {self.n_rows} samples have fewer than {k} {role}, because "
                f"{whose} have too few references. Fewer {role} are used for these samples "
                f"({scatter.n_none} have none)."
            )
        spread = scatter.spread * (mean**0.5 if root else mean)  # the weights were relative
        return replace(scatter, spread=spread, weight=scatter.weight * mean)

    def metadata(self) -> dict[str, int]:
        """Return the numbers of rows and references."""
        return {"n_samples": self.n_rows, "n_references": len(self.codes)}


class ReferenceMixin:
    """Mixin of learners that learn from all pairs of samples, or of samples and references."""

    _learns_from_blocks = True
    # Values of parameters that need more than references are refused by `_check_options`.
    _whole_sample_values: ClassVar[WholeSampleValues] = {}
    n_references: int | None

    def _learn_blocks(self: Any, source: Source, progress: Progress) -> dict[str, Any]:
        """Fit the learner to references that are sampled from all blocks."""
        _check_options(self)
        totals = source.reduce(class_totals, getattr(self, "unlabelled", None))
        m = DEFAULT_REFERENCES if self.n_references is None else self.n_references
        X, labels = sampled(self, source, totals, m, self.class_weight)
        set_classes(self, labels.classes)
        metadata = self._learn(X, labels, progress)
        if getattr(self, "unlabelled", None) is not None:
            metadata["n_unlabelled"] = totals.n_unlabelled
        return metadata

    def _met_references(self: Any, X: Array, supervision: Any) -> tuple[Array, Any]:
        """Return references and their labels instead of an array, if `n_references` is set."""
        if self.n_references is None or isinstance(supervision, ReferenceLabels):
            return X, supervision
        if not isinstance(supervision, Labels):
            raise ValueError(
                f"n_references={self.n_references} needs class labels, but {self._name} was given "
                "other targets, pairs or triplets. Set n_references=None."
            )
        if is_foreign(X):
            raise TypeError(
                f"n_references={self.n_references} needs a NumPy array or samples in blocks, but X "
                f"is of type {type(X).__name__}. Set n_references=None."
            )
        _check_options(self)
        codes, weights = supervision.codes, supervision.weights
        source = ArraySource(X, codes, weights)
        totals = source.reduce(class_totals, -1)
        X, labels = sampled(self, source, totals, self.n_references, None)
        return X, ReferenceLabels(**vars(labels) | {"classes": supervision.classes[labels.classes]})


def _check_options(learner: Any) -> None:
    """Raise if a parameter of the learner cannot be combined with references."""
    if getattr(learner, "unlabelled_reg", 0) > 0:
        raise ValueError(
            f"unlabelled_reg={learner.unlabelled_reg} needs the neighbours of all samples, so it "
            "cannot be used with references. Set unlabelled_reg=0."
        )
    if hasattr(learner, "_solver") and learner._solver().uses_batches:
        raise ValueError(
            f"solver={learner.solver!r} evaluates mini-batches of all pairs, so it cannot be used "
            "with references. Use solver='lbfgs', whose cost is linear in the number of samples, "
            "or call partial_fit with blocks of samples."
        )
    if getattr(learner, "search", None) is not None:
        raise ValueError(
            f"search={learner.search!r} searches all samples approximately, but references are few "
            "and are searched exactly. Set search=None."
        )
    if not learner._learns_from_classes():
        raise ValueError(
            f"References have classes, but {learner._name} learns from other targets. Fit it to an "
            "array with n_references=None."
        )


def sampled(
    learner: Any, source: Source, totals: ClassTotals, m: int, class_weight: Any
) -> tuple[np.ndarray, ReferenceLabels]:
    """Return m references and their labels, or all rows if there are fewer.

    Each class has references in proportion to its number of rows, but at least 4 if it has as many
    rows.
    """
    name = learner._name
    n = int(np.sum(totals.counts))
    if n < learner._min_samples:
        raise ValueError(
            f"{name} requires at least {learner._min_samples} samples, but only {n} have a label "
            "and a positive weight."
        )
    encoding, totals = _encoding(totals, class_weight)
    sizes = class_sizes(totals.counts, m)
    random_state = getattr(learner, "random_state", None)
    seed = 0 if random_state is None else int(random_generator(random_state).randint(2**31))
    sample = source.reduce(sample_references, encoding, sizes, seed, numbered=True)
    references = References.of(sample, encoding)
    labels = ReferenceLabels(
        np.asarray(sample.y), encoding.classes, sample.weights, source, references, totals
    )
    return sample.X, labels


def _encoding(totals: ClassTotals, class_weight: Any) -> tuple[Encoding, ClassTotals]:
    """Return the encoding of labels and weights, and the totals of classes with a weight."""
    counts, weights, classes = totals.counts, totals.weights, totals.classes
    total = with_class_weight(weights, np.arange(len(classes)), classes, class_weight)
    assert total is not None
    kept = total > 0
    totals = replace(totals, classes=classes[kept], counts=counts[kept], weights=total[kept])
    if class_weight is None and not totals.is_weighted:
        return Encoding(totals.classes, None), totals
    mean = np.sum(total[kept]) / np.sum(counts[kept])
    return Encoding(totals.classes, total[kept] / weights[kept] / mean), totals


def class_sizes(counts: np.ndarray, m: int) -> dict[int, int]:
    """Return how many of m references each class has, by its code. Raise if a class has none."""
    n_classes = len(counts)
    if n_classes > m:
        raise ValueError(
            f"y has {n_classes} classes, but n_references={m}. Every class needs a reference: "
            f"increase n_references to {MIN_REFERENCES_PER_CLASS * n_classes} or more."
        )
    return dict(enumerate(allocation(counts, m).tolist()))


def allocation(counts: np.ndarray, m: int) -> np.ndarray:
    """Return how many of m references each class has, given the numbers of rows.

    Examples
    --------
    >>> allocation(np.array([900, 90, 8, 2]), 100)
    array([86,  8,  4,  2])
    >>> allocation(np.array([3, 2]), 100)
    array([3, 2])
    """
    if np.sum(counts) <= m:
        return counts
    sizes = np.minimum(counts, min(MIN_REFERENCES_PER_CLASS, m // len(counts)))
    while (free := m - int(np.sum(sizes))) > 0:
        # The classes that are furthest below their share get the free places.
        missing = np.maximum(counts * (m / np.sum(counts)) - sizes, 0)
        whole = np.floor(missing * min(1.0, free / np.sum(missing))).astype(int)
        if not whole.any():
            sizes[np.argsort(-missing, kind="stable")[:free]] += 1
        sizes += whole
    return sizes
