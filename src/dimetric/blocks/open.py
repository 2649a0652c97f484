"""Recognise samples that are read in blocks."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from dimetric._arrays.namespaces import is_dask
from dimetric.blocks.dask_source import DaskSource
from dimetric.blocks.source import ArraySource, IterableSource, Source


def source_of(X: Any, y: Any = None, sample_weight: Any = None) -> Source | None:
    """Return the samples as a source, or None if they are in memory.

    Parameters
    ----------
    X : Dask collection, numpy.memmap, iterator, callable or Source
        Samples. A callable returns an iterator of blocks, see :class:`IterableSource`.
    y, sample_weight : array-like or Dask collection, optional
        Labels or targets, and weights of the samples. None if the blocks contain them.

    Examples
    --------
    >>> source = source_of(lambda: iter([np.ones((2, 3)), np.ones((1, 3))]))
    >>> source.reduce(lambda block: block.X.sum(axis=0))
    array([3., 3., 3.])
    >>> source_of(np.ones((2, 3))) is None
    True
    """
    if isinstance(X, Source):
        return X
    if is_dask(X):
        return DaskSource(X, y, sample_weight)
    if isinstance(X, np.memmap):
        return ArraySource(X, y, sample_weight)
    if callable(X) or isinstance(X, Iterator):
        if y is not None or sample_weight is not None:
            raise TypeError(
                "X yields blocks, so they must contain the labels and weights: yield (X, y) or "
                "(X, y, sample_weight) instead of passing y and sample_weight."
            )
        return IterableSource(X)
    return None
