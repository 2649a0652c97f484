"""Dask arrays and data frames, whose blocks are processed where they are."""

import functools
import operator
from collections.abc import Callable
from importlib import import_module
from typing import Any, TypeVar

import numpy as np

from dimetric._arrays.namespaces import is_dask
from dimetric._arrays.threads import one_thread
from dimetric.blocks.block import checked_block
from dimetric.blocks.source import NO_SAMPLES, Source, common_dtype
from dimetric.linalg.reductions import Addable

T = TypeVar("T", bound=Addable)

FAN_IN = 8  # partial sums that a task adds


class DaskSource(Source):
    """A Dask array or data frame, with labels and weights that are divided in the same way.

    A pass computes one small result for each block, and adds them in a tree. Dask runs the tasks,
    on the cluster of the active ``distributed.Client``, if there is one. Neither the samples nor
    the labels are ever brought together.

    Parameters
    ----------
    X : dask.array or dask.dataframe collection
        Samples.
    y, sample_weight : dask collection, optional
        Labels or targets, and weights of the samples.
    """

    def __init__(self, X: Any, y: Any = None, sample_weight: Any = None) -> None:
        if X.ndim != 2:
            raise ValueError(f"X has {X.ndim} dimension(s), but it must have two.")
        self.n_features, self.dtype = X.shape[1], common_dtype(X)
        self.has_labels, self.has_weights = y is not None, sample_weight is not None
        self._lengths: tuple[int, ...] | None = None
        self.example = X._meta
        if hasattr(X, "rechunk"):
            self.example = np.empty((0, self.n_features), self.dtype)
            X = X.rechunk({1: -1})
            self._lengths = None if np.isnan(X.shape[0]) else X.chunks[0]
        self._samples = dask_parts(X)
        self._labels, self._weights = (
            self._aligned(name, values)
            for name, values in (("y", y), ("sample_weight", sample_weight))
        )

    def _aligned(self, name: str, values: Any) -> list[Any]:
        """Return the blocks of labels or weights, one for each block of samples."""
        if values is None:
            return [None] * len(self._samples)
        if not is_dask(values):
            raise TypeError(
                f"X is a Dask collection, so {name} must be one, too, but it is of type "
                f"{type(values).__name__}. Convert it with dask.array.from_array."
            )
        if values.ndim != 1:
            raise ValueError(f"{name} has {values.ndim} dimensions, but it must have one.")
        lengths = self._lengths
        if hasattr(values, "rechunk") and lengths and not np.isnan(values.shape[0]):
            if sum(lengths) != values.shape[0]:
                raise ValueError(
                    f"X has {sum(lengths)} samples, but {name} has {values.shape[0]} values."
                )
            values = values.rechunk((lengths,))
        parts = dask_parts(values)
        if len(parts) != len(self._samples):
            raise ValueError(
                f"X has {len(self._samples)} partitions, but {name} has {len(parts)}. Divide them "
                "in the same way, for example by taking both from the same data frame."
            )
        return parts

    def reduce(self, stat: Callable[..., T | None], *shared: Any, numbered: bool = False) -> T:
        """Return the sum of a statistic. See :meth:`Source.reduce`."""
        delayed: Any = import_module("dask.delayed").delayed
        shared = tuple(delayed(each) for each in shared)
        apply, add = delayed_function(_apply), delayed_function(_add)
        options = {"n_features": self.n_features, "dtype": self.dtype}
        blocks = zip(
            self._samples, self._labels, self._weights, self._first_rows(numbered), strict=True
        )
        parts = [
            apply(stat, X, y, weights, options | {"number": number, "first": first}, *shared)
            for number, (X, y, weights, first) in enumerate(blocks)
        ]
        while len(parts) > 1:
            parts = [add(parts[i : i + FAN_IN]) for i in range(0, len(parts), FAN_IN)]
        total = _computed(parts[0]) if parts else None
        if total is None:
            raise ValueError(NO_SAMPLES)
        return total

    def _first_rows(self, numbered: bool) -> list[int] | list[None]:
        """Return the number of the first sample of each block, or None if it may be unknown."""
        if self._lengths is None:
            if not numbered:
                return [None] * len(self._samples)
            count, together = delayed_function(len), delayed_function(tuple)
            self._lengths = _computed(together([count(X) for X in self._samples]))
        return [0, *np.cumsum(self._lengths).tolist()][:-1]


def _computed(task: Any) -> Any:
    """Return the result of a task. Raise RuntimeError if the client closes meanwhile."""
    try:
        return task.compute()
    except BaseException as error:
        # Dask has several classes for this, one of which is not an Exception.
        if "Cancelled" not in type(error).__name__:
            raise
        raise RuntimeError(
            "The Dask client closed, or its tasks were cancelled, before the result was there. "
            "Connect a client, and start again."
        ) from error


def delayed_function(function: Callable[..., Any]) -> Any:
    """Return a function as a Delayed object. Dask does not compute names from its arguments."""
    return import_module("dask.delayed").delayed(function, pure=False)


def dask_parts(collection: Any) -> list[Any]:
    """Return the blocks of a collection as Delayed objects."""
    parts = collection.to_delayed()
    return list(parts.ravel() if isinstance(parts, np.ndarray) else parts)


def _apply(
    stat: Callable[..., T | None],
    X: Any,
    y: Any,
    weights: Any,
    options: dict[str, Any],
    *shared: Any,
) -> T | None:
    """Return the statistic of a block, or None if the block is empty."""
    if len(X) == 0:
        return None
    # Dask already runs a task on each core.
    with one_thread():
        return stat(checked_block((X, y, weights), **options), *shared)


def _add(parts: list[Any]) -> Any:
    """Return the sum of all parts that are not None."""
    filled = [part for part in parts if part is not None]
    return functools.reduce(operator.add, filled) if filled else None
