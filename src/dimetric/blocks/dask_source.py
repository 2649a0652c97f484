"""Dask arrays and data frames, whose blocks are processed where they are."""

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from typing import Any, Self, TypeVar

import numpy as np

from dimetric._arrays.blas_limit import one_blas_thread
from dimetric.blocks.block import checked_block
from dimetric.blocks.source import Source, float_dtype
from dimetric.linalg.reductions import Addable

T = TypeVar("T", bound=Addable)

FAN_IN = 8  # partial sums that a task adds


def is_dask(X: Any) -> bool:
    """Return whether X is a Dask array, data frame or series, without importing Dask."""
    return type(X).__module__.partition(".")[0] == "dask" and hasattr(X, "dask")


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

    uses_threads = False  # Dask already runs a task on each core

    def __init__(self, X: Any, y: Any = None, sample_weight: Any = None) -> None:
        if X.ndim != 2:
            raise ValueError(f"X has {X.ndim} dimension(s), but it must have two.")
        self.example, self.n_features = X._meta, X.shape[1]
        dtypes = {float_dtype(each) for each in (X.dtypes if hasattr(X, "columns") else [X.dtype])}
        self.dtype = dtypes.pop() if len(dtypes) == 1 else np.dtype(np.float64)
        self.has_labels = y is not None
        chunks = None
        if not hasattr(X, "columns"):
            X = X.rechunk({1: -1})
            self.example = np.empty((0, X.shape[1]), X.dtype)  # X._meta has no columns
            chunks = X.chunks[0] if not np.isnan(X.shape[0]) else None
        self._lengths: list[int] | None = None if chunks is None else list(chunks)
        self._samples = X.to_delayed().ravel() if chunks or hasattr(X, "chunks") else X.to_delayed()
        self._labels, self._weights = (
            self._aligned(name, values, chunks)
            for name, values in (("y", y), ("sample_weight", sample_weight))
        )
        self._extras = [None] * len(self._samples)

    def _aligned(self, name: str, values: Any, chunks: tuple[int, ...] | None) -> list[Any]:
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
        if hasattr(values, "rechunk") and chunks and not np.isnan(values.shape[0]):
            if sum(chunks) != values.shape[0]:
                raise ValueError(
                    f"X has {sum(chunks)} samples, but {name} has {values.shape[0]} values."
                )
            values = values.rechunk((chunks,))
        parts = list(np.ravel(values.to_delayed()))
        if len(parts) != len(self._samples):
            raise ValueError(
                f"X has {len(self._samples)} partitions, but {name} has {len(parts)}. Divide them "
                "in the same way, for example by taking both from the same data frame."
            )
        return parts

    def reduce(self, stat: Callable[..., T], *shared: Any) -> T:
        """Return the sum of a statistic. See :meth:`Source.reduce`."""
        from dask.delayed import delayed

        add, parts = delayed(_add, pure=False), self._tasks(stat, shared)
        while len(parts) > 1:
            parts = [add(parts[i : i + FAN_IN]) for i in range(0, len(parts), FAN_IN)]
        total = parts[0].compute()
        if total is None:
            raise ValueError("X is empty: it has no samples.")
        return total

    def with_extra(self, of_block: Callable[..., Any], *shared: Any) -> Self:
        """Return a source with more attributes. See :meth:`Source.with_extra`.

        Dask keeps the results on the workers, and computes them again if a worker dies.
        """
        from dask.base import persist

        other = copy(self)
        other._extras = list(persist(*self._tasks(of_block, shared)))  # type: ignore[no-untyped-call]
        return other

    def share(self, value: Any) -> Any:
        """Return a persisted task, so that the value is sent to the workers only once.

        The scheduler keeps the task, so the value survives the death of a worker.
        """
        from dask.delayed import delayed

        return delayed(value, pure=False, traverse=False).persist()

    def _tasks(self, stat: Callable[..., Any], shared: tuple[Any, ...]) -> list[Any]:
        """Return a task for each block, which computes the statistic of the block."""
        from dask.delayed import delayed

        shared = tuple(delayed(each, traverse=False) for each in shared)
        apply = delayed(_apply, pure=False)
        options = {"n_features": self.n_features, "dtype": self.dtype}
        blocks = zip(
            self._samples,
            self._labels,
            self._weights,
            self._first_rows(),
            self._extras,
            strict=True,
        )
        return [
            apply(stat, X, y, weights, first, extra, options, *shared)
            for X, y, weights, first, extra in blocks
        ]

    def _first_rows(self) -> list[int]:
        """Return the number of the first sample of each block. Count the samples if necessary."""
        if self._lengths is None:
            from dask.delayed import delayed

            counts = [delayed(len, pure=False)(X) for X in self._samples]
            self._lengths = delayed(list)(counts).compute()
        return [0, *np.cumsum(self._lengths).tolist()][:-1]


def _apply(
    stat: Callable[..., T],
    X: Any,
    y: Any,
    weights: Any,
    first: int,
    extra: Any,
    options: dict[str, Any],
    *shared: Any,
) -> T | None:
    """Return the statistic of a block, or None if the block is empty."""
    if len(X) == 0:
        return None
    # Dask already runs a task on each core.
    with one_blas_thread():
        block = checked_block(X, y, weights, first=first, **options)
        return stat(replace(block, extra=extra), *shared)


def _add(parts: list[Any]) -> Any:
    """Return the sum of all parts that are not None."""
    total = None
    for part in parts:
        total = part if total is None else total if part is None else total + part
    return total
