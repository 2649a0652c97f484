"""Methods of estimators on Dask collections, evaluated lazily block by block."""

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from dimetric._arrays.blas_limit import one_blas_thread
from dimetric.blocks.dask_source import is_dask


def lazy_on_dask(method: Callable[..., Any]) -> Callable[..., Any]:
    """Let a method of a fitted estimator that maps or predicts samples accept Dask collections.

    The result for a Dask array or data frame is a lazy Dask collection, and its blocks are the
    results for the blocks of X. Each task gets the fitted estimator. Other input goes to the method
    itself.
    """

    @wraps(method)
    def wrapped(self: Any, X: Any, *args: Any, **kwargs: Any) -> Any:
        if not is_dask(X):
            return method(self, X, *args, **kwargs)
        return _map_blocks(self, method.__name__, X, args, kwargs)

    return wrapped


def _map_blocks(
    estimator: Any, name: str, X: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> Any:
    """Return the lazy collection of a method's results for the blocks of X."""
    if hasattr(X, "columns"):
        example = X._meta_nonempty
    else:
        X = X.rechunk({1: -1})
        example = np.zeros((1, X.shape[1]), dtype=X.dtype)
    # The result for one sample shows the type, dtype and columns of the results. A method of an
    # estimator that is not fitted raises here.
    result = getattr(estimator, name)(example, *args, **kwargs)
    task = _Task(estimator, name, args, kwargs, result[:0])
    if hasattr(X, "columns") and hasattr(result, "columns"):
        return X.map_partitions(task, meta=result[:0])
    if hasattr(X, "columns"):
        X = X.to_dask_array()  # without the samples' names and index, as NumPy results
        task = _Task(estimator, name, args, kwargs, result[:0], columns=list(example.columns))
    more = {"drop_axis": 1} if result.ndim == 1 else {"chunks": (X.chunks[0], result.shape[1:])}
    return X.map_blocks(task, dtype=result.dtype, meta=result[:0], **more)


class _Task:
    """A method of an estimator with its arguments, which Dask sends to the workers."""

    def __init__(
        self,
        estimator: Any,
        name: str,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        empty: Any,
        columns: list[Any] | None = None,
    ) -> None:
        self._estimator, self._name, self._args, self._kwargs = estimator, name, args, kwargs
        self._empty, self._columns = empty, columns

    def __call__(self, X: Any) -> Any:
        """Return the results of a block."""
        if len(X) == 0:
            return self._empty
        if self._columns is not None:
            import pandas as pd

            X = pd.DataFrame(X, columns=self._columns)
        with one_blas_thread():
            return getattr(self._estimator, self._name)(X, *self._args, **self._kwargs)
