"""Samples for a learning curve, drawn from data that may be larger than memory."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from dimetric._compat import take_samples
from dimetric.blocks.block import Block
from dimetric.blocks.open import source_of
from dimetric.blocks.sample import RowSample, _sample_of_block, random_numbers
from dimetric.learners._block_fit import MIN_BYTES_OF_BLOCKS
from dimetric.selection._splits import n_rows

__all__ = ["drawn_samples"]

MAX_SAMPLES = 20_000  # of a Dask collection, a large memory map or blocks


def drawn_samples(
    X: Any,
    y: Any,
    sample_weight: Any,
    groups: Any,
    max_samples: int | None,
    rng: np.random.RandomState,
) -> tuple[Any, Any, Any, Any, int | None]:
    """Return samples, targets, weights and groups, and how many samples they were drawn from.

    Parameters
    ----------
    X, y, sample_weight, groups, max_samples
        As in :func:`~dimetric.selection.learning_curve`.
    rng : RandomState
        Source of the seed.

    Returns
    -------
    X, y, sample_weight, groups
        The arguments, or those of the drawn samples.
    n_available : int or None
        Number of all samples. None if all are returned.
    """
    if max_samples is not None and max_samples < 1:
        raise ValueError(f"max_samples={max_samples!r} must be at least 1.")
    is_small_map = isinstance(X, np.memmap) and X.nbytes < MIN_BYTES_OF_BLOCKS
    source = None if is_small_map else source_of(X, y, sample_weight)
    if source is None:
        return _drawn_from_array(X, y, sample_weight, groups, max_samples, rng)
    if not source.has_labels:
        raise ValueError(
            "A learning curve requires labels: pass y, or yield (X, y) from an iterator of blocks."
        )
    if groups is not None:
        raise ValueError(
            "groups cannot be used with Dask collections, large memory maps and blocks. Draw the "
            "samples first, and pass them as arrays."
        )
    size, seed = MAX_SAMPLES if max_samples is None else int(max_samples), _seed(rng)
    found = source.reduce(_counted_sample, size, seed, numbered=True)
    sample = found.sample
    if sample is None:
        raise ValueError("All sample weights are 0.")
    n_available = found.n_rows if found.n_rows > len(sample.X) else None
    return sample.X, sample.y, sample.weights, None, n_available


@dataclass(frozen=True)
class _CountedSample:
    """A sample of rows, or None if all weights are 0, and the number of all rows."""

    sample: RowSample | None
    n_rows: int

    def __add__(self, other: "_CountedSample") -> "_CountedSample":
        parts = [each.sample for each in (self, other) if each.sample is not None]
        sample = parts[0] + parts[1] if len(parts) == 2 else next(iter(parts), None)
        return _CountedSample(sample, self.n_rows + other.n_rows)


def _counted_sample(block: Block, size: int, seed: int) -> _CountedSample:
    return _CountedSample(_sample_of_block(block, size, seed, False), len(block.X))


def _drawn_from_array(
    X: Any,
    y: Any,
    sample_weight: Any,
    groups: Any,
    max_samples: int | None,
    rng: np.random.RandomState,
) -> tuple[Any, Any, Any, Any, int | None]:
    """Return all samples of an array, or the same that are drawn from it in blocks."""
    if y is None:
        raise ValueError("y is None, but a learning curve requires a class or number per sample.")
    n = n_rows(X)
    if max_samples is None or n <= max_samples:
        return X, y, sample_weight, groups, None
    keys = random_numbers(np.arange(n), _seed(rng))
    rows = np.sort(np.argsort(keys)[:max_samples])
    X, y, sample_weight, groups = (
        None if each is None else take_samples(each, rows) for each in (X, y, sample_weight, groups)
    )
    return X, y, sample_weight, groups, n


def _seed(rng: np.random.RandomState) -> int:
    return int(rng.randint(2**31))
