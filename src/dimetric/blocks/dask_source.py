"""Dask arrays and data frames, whose blocks are processed where they are."""

import functools
import operator
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from importlib import import_module
from typing import Any, Self, TypeVar

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
        if not hasattr(X, "ndim"):
            raise TypeError(
                f"X is a Dask collection of type {type(X).__name__}, but it must be an array or a "
                "data frame."
            )
        if X.ndim != 2:
            raise ValueError(f"X has {X.ndim} dimension(s), but it must have two.")
        if X.shape[1] == 0:
            raise ValueError("X has no features.")
        self.columns = list(X.columns) if hasattr(X, "columns") else None
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
        self._extras = [None] * len(self._samples)

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
        add, parts = delayed_function(_add), self._tasks(stat, shared, numbered=numbered)
        while len(parts) > 1:
            parts = [add(parts[i : i + FAN_IN]) for i in range(0, len(parts), FAN_IN)]
        total = _computed(parts[0]) if parts else None
        if total is None:
            raise ValueError(NO_SAMPLES)
        return total

    def with_extra(self, of_block: Callable[..., Any], *shared: Any) -> Self:
        """Return a source with more attributes. See :meth:`Source.with_extra`.

        Dask keeps the results on the workers, and computes them again if a worker dies.
        """
        persist: Any = import_module("dask.base").persist
        other = copy(self)
        other._extras = list(persist(*self._tasks(of_block, shared, numbered=True)))
        return other

    def share(self, value: Any) -> Any:
        """Return a persisted task, so that the value is sent to the workers only once.

        The scheduler keeps the task, so the value survives the death of a worker.
        """
        delayed: Any = import_module("dask.delayed").delayed
        return delayed(value, pure=False, traverse=False).persist()

    def _tasks(
        self, stat: Callable[..., Any], shared: tuple[Any, ...], *, numbered: bool
    ) -> list[Any]:
        """Return a task for each block, which computes the statistic of the block."""
        delayed: Any = import_module("dask.delayed").delayed
        shared = tuple(delayed(each) for each in shared)
        apply, options = delayed_function(_apply), self._options()
        parts = (self._samples, self._labels, self._weights, self._extras)
        blocks = zip(*parts, self._first_rows(numbered), strict=True)
        return [
            apply(stat, X, y, weights, extra, options | {"number": number, "first": first}, *shared)
            for number, (X, y, weights, extra, first) in enumerate(blocks)
        ]

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
    extra: Any,
    options: dict[str, Any],
    *shared: Any,
) -> T | None:
    """Return the statistic of a block, or None if the block is empty."""
    if X.shape[0] == 0:
        return None
    # Dask already runs a task on each core.
    with one_thread():
        block = checked_block((X, y, weights), **options)
        return stat(replace(block, extra=extra), *shared)


def _add(parts: list[Any]) -> Any:
    """Return the sum of all parts that are not None."""
    filled = [part for part in parts if part is not None]
    return functools.reduce(operator.add, filled) if filled else None
