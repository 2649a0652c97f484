"""Methods of fitted estimators on Dask collections: lazy maps and predictions, and scores."""

from collections.abc import Callable, Iterator
from copy import copy
from functools import wraps
from importlib import import_module
from inspect import signature
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from dimetric._arrays.namespaces import is_dask
from dimetric._arrays.threads import one_thread
from dimetric.blocks.block import Block
from dimetric.blocks.dask_source import DaskSource, dask_parts, delayed_function
from dimetric.linalg.reductions import JointSum
from dimetric.linalg.scatter import Moments


def lazy_on_dask(method: Callable[..., Any]) -> Callable[..., Any]:
    """Let a method of a fitted estimator that maps or predicts samples accept Dask collections.

    The result for a Dask array or data frame is a lazy Dask collection, and its blocks are the
    results for the blocks of X. The fitted estimator is a task of its own, so that it is sent to
    each worker once, not with each block. Other input goes to the method itself.
    """
    argument = list(signature(method).parameters)[1]

    @wraps(method)
    def wrapped(self: Any, *args: Any, **kwargs: Any) -> Any:
        X = args[0] if args else kwargs.get(argument)
        if callable(X) or isinstance(X, Iterator):
            raise TypeError(
                f"{method.__name__} needs an array, a data frame or a Dask collection, but X is of "
                f"type {type(X).__name__}. Call {method.__name__} for each of its blocks."
            )
        return _map_blocks(self, method, X) if is_dask(X) else method(self, *args, **kwargs)

    return wrapped


def _map_blocks(estimator: Any, method: Callable[..., Any], X: Any) -> Any:
    """Return the lazy collection of a method's results for the blocks of X."""
    is_frame = hasattr(X, "columns")
    if not is_frame:
        if X.ndim != 2:
            raise ValueError(f"X has {X.ndim} dimension(s), but it must have two.")
        X = X.rechunk({1: -1})
    example = X._meta_nonempty if is_frame else np.zeros((1, X.shape[1]), dtype=X.dtype)
    # The result for one sample shows the type, dtype and columns of the results. A method of an
    # estimator that is not fitted raises here.
    result = method(estimator, example)
    if isinstance(result, list):
        raise TypeError(
            f"{type(estimator).__name__}.{method.__name__} returns several arrays, so it does not "
            "support Dask collections. Apply it to the blocks of X."
        )
    empty = result[:0]
    task = _Task(estimator, method, empty)
    shared = import_module("dask.delayed").delayed(task, pure=False, traverse=False)
    if hasattr(result, "columns"):
        return _frame_of_blocks(shared, X, empty)
    if not is_frame:
        more = {"drop_axis": 1} if result.ndim == 1 else {"chunks": (X.chunks[0], result.shape[1:])}
        more |= {"dtype": result.dtype, "meta": empty, "token": task.name}
        return X.map_blocks(_run, task=shared, **more)
    da: Any = import_module("dask.array")
    run, shape = delayed_function(_run), (np.nan, *result.shape[1:])
    blocks = [da.from_delayed(run(part, shared), shape, meta=empty) for part in dask_parts(X)]
    return da.concatenate(blocks, allow_unknown_chunksizes=True)


def _run(X: Any, task: "_Task") -> Any:
    """Return the results of a block."""
    return task(X)


def _frame_of_blocks(shared: Any, X: Any, empty: Any) -> Any:
    """Return a lazy data frame of the results for the blocks of X. `shared` is a lazy _Task."""
    if type(empty).__module__.partition(".")[0] != "pandas":
        raise TypeError(
            "The output of a Dask collection must be an array or a pandas data frame. Call "
            "set_output(transform='default')."
        )
    if hasattr(X, "columns"):
        return X.map_partitions(_run, shared, meta=empty)
    dd: Any = import_module("dask.dataframe")
    run = delayed_function(_run)
    return dd.from_delayed([run(part, shared) for part in dask_parts(X)], meta=empty)


class _Task:
    """A method of an estimator, which Dask sends to the workers."""

    def __init__(self, estimator: Any, method: Callable[..., Any], empty: Any) -> None:
        self._estimator, self._name, self._empty = estimator, method.__name__, empty
        self.name = f"{type(estimator).__name__}.{self._name}"  # in Dask's graphs

    def __call__(self, X: Any) -> Any:
        """Return the results of a block."""
        if len(X) == 0:
            return self._empty
        with one_thread():
            return getattr(self._estimator, self._name)(X)


def mean_over_blocks(estimator: Any, X: Any, y: Any = None, sample_weight: Any = None) -> float:
    """Return the score of an estimator on Dask collections, if the score is a mean over samples.

    Parameters
    ----------
    estimator : estimator
        A fitted estimator, whose method ``score(X, y, sample_weight)`` returns a weighted mean.
    X, y, sample_weight : Dask collections
        The samples, and their labels and weights, if the score needs them.
    """
    source = DaskSource(X, y, sample_weight)
    sums = source.reduce(_weighted_score, without_names(estimator, source.example))
    return float(sums[0] / sums[1])


def r2_over_blocks(estimator: Any, X: Any, y: Any = None, sample_weight: Any = None) -> float:
    """Return the coefficient of determination of a regressor on Dask collections.

    The parameters are those of :func:`mean_over_blocks`.
    """
    source = DaskSource(X, y, sample_weight)
    if not source.has_labels:
        raise ValueError("y is None, but the score requires the true targets y.")
    total = source.reduce(_errors_and_moments, without_names(estimator, source.example))
    n, errors, moments = total.parts
    if n < 2:
        return float("nan")
    spread = float(np.sum(moments.spread**2))
    # As in scikit-learn, the score of constant targets is 1 if the predictions are exact.
    return 1 - errors / spread if spread > 0 else float(errors == 0)


def _errors_and_moments(block: Block, estimator: Any) -> JointSum | None:
    """Return the number of samples, the sum of squared errors, and the moments of the targets."""
    block = block.of_positive_weight()
    if not len(block.X):
        return None
    y = np.asarray(block.y, dtype=np.float64)
    squares = (y - estimator.predict(block.X)) ** 2
    errors = float(np.sum(squares if block.weights is None else block.weights * squares))
    moments = Moments.root_of(y[:, None], weights=block.weights)
    return JointSum((len(y), errors, moments))


def without_names(estimator: Any, example: Any) -> Any:
    """Return a copy of a fitted estimator for arrays without names of features.

    Raise if the names of `example` are not those of the fit.
    """
    validate_data(estimator, example, reset=False, skip_check_array=True)
    estimator = copy(estimator)
    vars(estimator).pop("feature_names_in_", None)
    return estimator


def _weighted_score(block: Block, estimator: Any) -> np.ndarray | None:
    """Return the score of a block times its weight, and the weight."""
    block = block.of_positive_weight()
    if not len(block.X):
        return None
    weight = float(len(block.X)) if block.weights is None else float(np.sum(block.weights))
    score = estimator.score(block.X, block.y, sample_weight=block.weights)
    return np.array([weight * score, weight])
