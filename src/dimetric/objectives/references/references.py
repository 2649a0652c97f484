"""Reference rows, and the classes and weights of the rows that meet them."""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from dimetric._arrays.labels import check_label_types, encode_labels
from dimetric.blocks.block import Block
from dimetric.blocks.sample import RowSample, random_numbers
from dimetric.objectives.side import Side


@dataclass(frozen=True)
class ClassTotals:
    """Number and total weight of the rows of each class. Totals of blocks can be added.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        The sorted classes of labelled rows of positive weight.
    counts, weights : ndarray of shape (n_classes,)
        Number of rows and sum of their weights.
    is_weighted : bool
        Whether the rows have weights.
    n_unlabelled : int
        Number of unlabelled rows of positive weight.
    """

    classes: np.ndarray
    counts: np.ndarray
    weights: np.ndarray
    is_weighted: bool
    n_unlabelled: int

    def __add__(self, other: "ClassTotals") -> "ClassTotals":
        """Return the totals of both blocks together."""
        if len(self.classes) and len(other.classes):
            check_label_types(self.classes, other.classes)
        classes, codes = encode_labels(np.concatenate([self.classes, other.classes]))

        def both(name: str) -> np.ndarray:
            parts = np.concatenate([getattr(self, name), getattr(other, name)])
            return np.bincount(codes, parts, minlength=len(classes))

        is_weighted = self.is_weighted or other.is_weighted
        n_unlabelled = self.n_unlabelled + other.n_unlabelled
        counts = both("counts").astype(int)
        return ClassTotals(classes, counts, both("weights"), is_weighted, n_unlabelled)


def class_totals(block: Block, unlabelled: object) -> ClassTotals:
    """Return the totals of a block. Rows whose label equals `unlabelled` have no class."""
    assert block.y is not None
    y, weights = block.y, block.weights
    if weights is not None:
        y, weights = y[weights > 0], weights[weights > 0]
    known = np.ones(len(y), dtype=bool) if unlabelled is None else y != unlabelled
    classes, codes = encode_labels(y[known])
    if classes.dtype.kind == "f" and np.any(classes != np.round(classes)):
        raise ValueError(
            f"The block that starts at sample {block.first} has labels with fractions, such as "
            f"{float(classes[classes != np.round(classes)][0])}, but classes are expected."
        )
    counts = np.bincount(codes, minlength=len(classes))
    sums = np.bincount(codes, None if weights is None else weights[known], len(classes))
    return ClassTotals(
        classes, counts, sums.astype(np.float64), weights is not None, int(np.sum(~known))
    )


@dataclass(frozen=True, eq=False)
class Encoding:
    """How the labels and weights of rows become codes and relative weights.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        The sorted classes.
    factors : ndarray of shape (n_classes,) or None
        Weight of each class, divided by the mean weight of all rows. None if all weights are equal.
    """

    classes: np.ndarray
    factors: np.ndarray | None

    def of(self, block: Block) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Return the rows of a block that are used, sorted by class, their codes and weights."""
        assert block.y is not None
        codes = np.minimum(np.searchsorted(self.classes, block.y), len(self.classes) - 1)
        used = self.classes[codes] == block.y
        if block.weights is not None:
            used &= block.weights > 0
        rows = np.flatnonzero(used)
        rows = rows[np.argsort(codes[rows], kind="stable")]
        codes = codes[rows]
        if self.factors is None:
            return rows, codes, None
        weights = self.factors[codes]
        return rows, codes, weights if block.weights is None else weights * block.weights[rows]


def sample_references(
    block: Block, encoding: Encoding, sizes: dict[int, int], seed: int
) -> RowSample:
    """Return the rows of a block that may be references. The labels of the sample are codes.

    Parameters
    ----------
    block : Block
        The block.
    encoding : Encoding
        The classes.
    sizes : dict
        Number of references of each class, by its code.
    seed : int
        Seed of the random numbers.
    """
    rows, codes, weights = encoding.of(block)
    positions = block.first + rows
    keys = random_numbers(positions, seed)
    return RowSample(sizes, True, block.X[rows], codes, weights, positions, keys).smallest()


@dataclass(frozen=True, eq=False)
class References:
    """Reference rows, sorted by class.

    Attributes
    ----------
    X : ndarray of shape (m, d)
        The references minus `centre`.
    centre : ndarray of shape (d,)
        Mean of the references. Distances do not depend on it, but rounding errors do.
    side : Side
        Classes and relative weights of the references. Positions are row numbers.
    encoding : Encoding
        Classes and weights of all rows.
    """

    X: np.ndarray
    centre: np.ndarray
    side: Side
    encoding: Encoding

    @classmethod
    def of(cls, sample: RowSample, encoding: Encoding) -> "References":
        """Return the references of a sample, whose labels are codes."""
        assert sample.y is not None
        order = np.argsort(sample.y, kind="stable")
        X = sample.X[order]
        centre = np.mean(X, axis=0, dtype=np.float64).astype(X.dtype)
        weights = None if sample.weights is None else sample.weights[order].astype(X.dtype)
        return cls(
            X - centre, centre, Side(sample.rows[order], sample.y[order], None, weights), encoding
        )

    @cached_property
    def class_starts(self) -> np.ndarray:
        """The first reference of each class, followed by the number of references."""
        return np.searchsorted(
            np.asarray(self.side.labels), np.arange(len(self.encoding.classes) + 1)
        )

    def meet(self, block: Block) -> "BlockRows":
        """Return the rows of a block as rows that meet these references."""
        kept, codes, weights = self.encoding.of(block)
        X = block.X[kept]
        X -= self.centre
        positions = block.first + kept
        order = np.argsort(self.side.positions)
        place = np.searchsorted(self.side.positions, positions, sorter=order)
        column = order[np.minimum(place, len(order) - 1)]
        itself = np.where(self.side.positions[column] == positions, column, -1)
        side = Side(positions, codes, None, None if weights is None else weights.astype(X.dtype))
        return BlockRows(X, side, itself, self, kept)


@dataclass(frozen=True, eq=False)
class BlockRows:
    """The rows of a block that are used, sorted by class.

    Attributes
    ----------
    X : ndarray of shape (n, d)
        The rows minus the centre of the references.
    side : Side
        Positions, classes and relative weights of the rows.
    itself : ndarray of shape (n,)
        The reference that is the row itself, or -1. A row must not meet itself.
    references : References
        The references.
    kept : ndarray of shape (n,)
        Indices of the rows in the block.
    """

    X: np.ndarray
    side: Side
    itself: np.ndarray
    references: References
    kept: np.ndarray

    def tile(self, first: int, last: int) -> "Tile":
        """Return the tile of the rows first:last and all references."""
        rows = slice(first, last)
        own = np.flatnonzero(self.itself[rows] >= 0)
        codes, starts = self.side.labels[rows], self.references.class_starts  # type: ignore[index]
        bounds = [0, *(1 + np.flatnonzero(np.diff(codes))), last - first]
        runs = [
            (slice(int(a), int(b)), slice(int(starts[codes[a]]), int(starts[codes[a] + 1])))
            for a, b in pairwise(bounds)
        ]
        itself = own, self.itself[first + own]
        return Tile(first, self.side[rows], self.references.side, runs, itself)


@dataclass(frozen=True, eq=False)
class Tile:
    """The pairs of some rows and all references.

    Attributes
    ----------
    first : int
        The first row.
    rows, columns : Side
        The rows and the references.
    runs : list of (slice, slice)
        For each class, its rows in this tile and its references.
    itself : pair of ndarray
        Rows of this tile that are references, and these references.
    """

    first: int
    rows: Side
    columns: Side
    runs: list[tuple[slice, slice]]
    itself: tuple[np.ndarray, np.ndarray]
