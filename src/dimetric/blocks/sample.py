"""A sample of rows that does not depend on how the rows are divided into blocks."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from dimetric._arrays.labels import encode_labels
from dimetric.blocks.block import Block
from dimetric.blocks.source import Source


@dataclass(frozen=True)
class RowSample:
    """Rows with the smallest random numbers, at most `size` of each stratum. Samples can be added.

    Attributes
    ----------
    size : int or dict
        Largest number of rows of a stratum, or that of each label.
    X, y, weights : ndarray
        The rows, their labels and their weights. ``y`` and ``weights`` may be None.
    rows : ndarray
        Numbers of the rows among all rows of the source, ascending.
    keys : ndarray
        Random number of each row. It depends on the row's number and the seed only.
    """

    size: int | dict[Any, int]
    X: np.ndarray
    y: np.ndarray | None
    weights: np.ndarray | None
    rows: np.ndarray
    keys: np.ndarray

    def __add__(self, other: "RowSample") -> "RowSample":
        """Return the sample of both blocks together."""

        def both(a: np.ndarray | None, b: np.ndarray | None) -> np.ndarray | None:
            return None if a is None or b is None else np.concatenate([a, b])

        X, rows, keys = (
            np.concatenate([getattr(self, name), getattr(other, name)])
            for name in ("X", "rows", "keys")
        )
        y, weights = both(self.y, other.y), both(self.weights, other.weights)
        return smallest_keys(RowSample(self.size, X, y, weights, rows, keys))


def sample_rows(source: Source, size: int, *, seed: int, by_class: bool) -> RowSample:
    """Return `size` random rows of each class, or of all rows, in one pass.

    The same rows are chosen for every division into blocks.

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
    return source.reduce(_sample_of_block, size, seed, by_class)


def _sample_of_block(block: Block, size: int, seed: int, by_class: bool) -> RowSample:
    rows = block.first + np.arange(len(block.X))
    keys = random_numbers(rows, seed)
    y = block.y if by_class else None
    sample = RowSample(size, block.X, y, block.weights, rows, keys)
    chosen = smallest_keys(sample)
    if not by_class and block.y is not None:
        kept = chosen.rows - block.first
        return RowSample(size, chosen.X, block.y[kept], chosen.weights, chosen.rows, chosen.keys)
    return chosen


def smallest_keys(sample: RowSample) -> RowSample:
    """Return the rows with the smallest keys of each stratum, in ascending order of row number."""
    codes, size = np.zeros(len(sample.keys), dtype=int), np.full(1, sample.size)
    if sample.y is not None:
        classes, codes = encode_labels(sample.y, None)
        sizes = sample.size if isinstance(sample.size, dict) else {}
        size = np.array([sizes.get(name, sample.size) for name in classes.tolist()], dtype=int)
    order = np.lexsort((sample.keys, codes))
    starts = np.searchsorted(codes[order], np.unique(codes))
    rank = np.arange(len(order)) - np.repeat(starts, np.diff([*starts, len(order)]))
    kept = np.sort(order[rank < size[codes[order]]])
    kept = kept[np.argsort(sample.rows[kept], kind="stable")]
    y, weights = (None if v is None else v[kept] for v in (sample.y, sample.weights))
    return RowSample(
        sample.size, np.array(sample.X[kept]), y, weights, sample.rows[kept], sample.keys[kept]
    )


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
