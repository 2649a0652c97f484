"""A block of samples, and its validation."""

from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse

from dimetric._arrays.labels import dense_y
from dimetric._arrays.validation import ignoring_overflow


@dataclass(frozen=True)
class Block:
    """Consecutive samples of a source.

    Attributes
    ----------
    X : ndarray of shape (n, d)
        The samples, finite numbers in the dtype of the source.
    y : ndarray of shape (n,) or None
        Labels or targets of the samples.
    weights : ndarray of shape (n,) or None
        Sample weights.
    first : int or None
        Number of the first sample among all samples of the source. None if it is unknown, see
        :meth:`~dimetric.blocks.source.Source.reduce`.
    extra : object, optional
        What :meth:`~dimetric.blocks.source.Source.with_extra` computed for this block.
    """

    X: np.ndarray
    y: np.ndarray | None
    weights: np.ndarray | None
    first: int | None
    extra: Any = None

    def of_positive_weight(self) -> "Block":
        """Return the samples whose weight is not 0."""
        if self.weights is None or np.all(self.weights > 0):
            return self
        return self.take(np.flatnonzero(self.weights > 0))

    def take(self, rows: np.ndarray | slice) -> "Block":
        """Return some of the samples as a block. The numbers of its samples have no meaning."""
        y, weights = (None if v is None else v[rows] for v in (self.y, self.weights))
        return Block(self.X[rows], y, weights, self.first)


def checked_block(
    parts: tuple[Any, Any, Any],
    *,
    number: int,
    first: int | None,
    n_features: int,
    dtype: Any,
    columns: list[Any] | None = None,
) -> Block:
    """Return samples, labels and weights as a block of NumPy arrays. Raise if they are invalid.

    Parameters
    ----------
    parts : tuple
        The samples, their labels or None, and their weights or None.
    number : int
        Number of the block, for messages: the caller does not see which block was wrong.
    first : int or None
        Number of the first sample, if it is known.
    n_features : int
        Number of columns of the other blocks.
    dtype : numpy dtype
        The dtype of the source. A block must not have a wider one.
    columns : list, optional
        Names of the features, if the blocks are data frames.
    """
    X, y, weights = parts
    where = f"Block {number}" + (f", which starts at sample {first}," if first else "")
    if columns is not None and list(getattr(X, "columns", columns)) != columns:
        raise ValueError(
            f"{where} has the columns {list(X.columns)}, but all blocks must have the columns "
            f"{columns}, in this order."
        )
    X = _numbers(X, f"{where} has samples that", dtype)
    if X.ndim != 2 or X.shape[1] != n_features:
        raise ValueError(
            f"{where} has the shape {X.shape}, but all blocks must have {n_features} columns."
        )
    y = None if y is None else _labels(y, where)
    if weights is not None:
        weights = _numbers(weights, f"{where} has sample weights that", np.float64)
        if np.any(weights < 0):
            raise ValueError(f"{where} has a negative sample weight.")
    for name, values in (("labels", y), ("sample weights", weights)):
        if values is not None and len(values) != len(X):
            raise ValueError(
                f"{where} has {len(X)} samples, but {len(values)} {name}. Divide them into blocks "
                "in the same way."
            )
    return Block(X, y, weights, first)


def _labels(y: Any, where: str) -> np.ndarray:
    """Return labels or targets as an array. Raise if some are missing."""
    y = np.asarray(dense_y(y))
    if y.dtype.kind == "f" and not np.all(np.isfinite(y)):
        raise ValueError(f"{where} has labels that contain NaN or infinity.")
    if y.dtype == object and any(_is_missing(value) for value in y.flat):
        raise ValueError(
            f"{where} has missing labels. Drop these rows, or give them a label of their own, and "
            "set the learner's parameter unlabelled to it."
        )
    if y.dtype == object and all(isinstance(value, Integral) for value in y.flat):
        return y.astype(np.int64)  # other blocks may have integers in another container
    return y


def _is_missing(value: Any) -> bool:
    """Return whether a label is None, NaN, or the missing value of pandas."""
    is_nan = isinstance(value, float) and value != value
    return value is None or is_nan or type(value).__name__ in ("NAType", "NaTType")


def _numbers(values: Any, subject: str, dtype: Any) -> np.ndarray:
    """Return finite numbers as an array of a dtype."""
    if sparse.issparse(values):
        raise ValueError(f"{subject} are sparse. Convert each block to a dense array.")
    given = getattr(values, "dtype", None)
    if dtype == np.float32 and given is not None and float_dtype(given) != dtype:
        raise ValueError(
            f"{subject} are of dtype {given}, but other samples are of dtype float32. Convert all "
            "of them to one dtype."
        )
    if getattr(given, "kind", "") == "c":
        raise ValueError(f"{subject} are complex numbers. Pass real numbers.")
    try:
        array = np.asarray(values, dtype=dtype)
    except (TypeError, ValueError) as error:
        columns = _columns_without_numbers(values)
        hint = f" Columns without numbers: {columns}." if columns else ""
        raise ValueError(
            f"{subject} are not numbers, or missing: {error}.{hint} Encode these columns, and fill "
            "or drop missing values first."
        ) from error
    with ignoring_overflow():
        is_finite = bool(np.isfinite(np.sum(array))) or bool(np.all(np.isfinite(array)))
    if not is_finite:
        raise ValueError(f"{subject} contain NaN or infinity.")
    return array


def float_dtype(dtype: Any) -> np.dtype:
    """Return float32 for float32, and float64 for all other dtypes."""
    is_single = str(dtype).lower() == "float32"
    return np.dtype(np.float32 if is_single else np.float64)


def _columns_without_numbers(frame: Any) -> list[str]:
    """Return the names of a data frame's columns that do not hold numbers."""
    if not hasattr(frame, "dtypes") or not hasattr(frame, "columns"):
        return []
    pairs = zip(frame.columns, frame.dtypes, strict=True)
    return [str(name) for name, dtype in pairs if getattr(dtype, "kind", "O") not in "biuf"]
