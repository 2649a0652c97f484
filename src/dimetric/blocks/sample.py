"""A sample of rows that does not depend on how the rows are divided into blocks."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dimetric._arrays.labels import check_label_types, encode_labels
from dimetric.blocks.block import Block
from dimetric.blocks.source import Source

ARRAYS = ("X", "y", "weights", "rows", "keys")  # attributes of RowSample with a value for each row


@dataclass(frozen=True)
class RowSample:
    """Rows with the smallest random numbers, at most `size` of each stratum. Samples can be added.

    Attributes
    ----------
    size : int or dict
        Largest number of rows of a stratum, or that of each class.
    by_class : bool
        Whether the classes are strata. Otherwise, all rows are one stratum.
    X, y, weights : ndarray
        The rows, their labels and their weights. ``y`` and ``weights`` may be None.
    rows : ndarray
        Numbers of the rows among all rows of the source, ascending.
    keys : ndarray
        Random number of each row. It depends on the row's number and the seed only.
    """

    size: int | dict[Any, int]
    by_class: bool
    X: np.ndarray
    y: np.ndarray | None
    weights: np.ndarray | None
    rows: np.ndarray
    keys: np.ndarray

    def __add__(self, other: "RowSample") -> "RowSample":
        """Return the sample of both blocks together."""
        if self.y is not None and other.y is not None:
            check_label_types(self.y, other.y)

        def both(name: str) -> Any:
            a, b = getattr(self, name), getattr(other, name)
            return None if a is None or b is None else np.concatenate([a, b])

        return replace(self, **{name: both(name) for name in ARRAYS}).smallest()

    def smallest(self) -> "RowSample":
        """Return the rows with the smallest keys of each stratum, in order of their numbers."""
        strata, names = np.zeros(len(self.keys), dtype=int), [None]
        if self.by_class:
            assert self.y is not None
            classes, strata = encode_labels(self.y)
            names = classes.tolist()
        size = self.size
        sizes = np.array([size[name] if isinstance(size, dict) else size for name in names], int)
        order = np.lexsort((self.keys, strata))
        starts = np.searchsorted(strata[order], np.unique(strata))
        rank = np.arange(len(order)) - np.repeat(starts, np.diff([*starts, len(order)]))
        kept = order[rank < sizes[strata[order]]]
        return self._take(kept[np.argsort(self.rows[kept])])

    def _take(self, places: np.ndarray) -> "RowSample":
        def taken(name: str) -> Any:
            values = getattr(self, name)
            return None if values is None else values[places]

        return replace(self, **{name: taken(name) for name in ARRAYS})


def sample_rows(source: Source, size: int, *, seed: int, by_class: bool) -> RowSample:
    """Return `size` random rows of each class, or of all rows, in one pass.

    The same rows are chosen for every division into blocks. Rows of weight 0 are not chosen.

    Parameters
    ----------
    source : Source
        The samples.
    size : int
        Largest number of rows of each class, or of all rows.
    seed : int
        Seed of the random numbers.
    by_class : bool
        Whether the classes are strata.
    """
    return source.reduce(_sample_of_block, size, seed, by_class, numbered=True)


def _sample_of_block(block: Block, size: int, seed: int, by_class: bool) -> RowSample | None:
    assert block.first is not None
    rows = block.first + np.arange(len(block.X))
    keys = random_numbers(rows, seed)
    sample = RowSample(size, by_class, block.X, block.y, block.weights, rows, keys)
    if block.weights is not None:
        sample = sample._take(np.flatnonzero(block.weights > 0))
    return sample.smallest() if len(sample.rows) else None


def random_numbers(rows: np.ndarray, seed: int) -> np.ndarray:
    """Return a random 64-bit number for each row number, the same in every process.

    These are the numbers of the generator SplitMix64 [1]_ at the given positions.

    References
    ----------
    .. [1] G. L. Steele, D. Lea, C. H. Flood, "Fast splittable pseudorandom number generators",
       OOPSLA 2014.

    Examples
    --------
    >>> all_rows = random_numbers(np.arange(5), seed=1)
    >>> bool(np.all(random_numbers(np.arange(2, 5), seed=1) == all_rows[2:]))
    True
    """
    golden = np.uint64(0x9E3779B97F4A7C15)
    with np.errstate(over="ignore"):  # arithmetic is modulo 2^64
        z = (rows.astype(np.uint64) + np.uint64(1)) * golden + np.uint64(seed) * golden
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))
