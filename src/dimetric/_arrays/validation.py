"""Validation of input arrays, which keep their namespace and device.

NumPy arrays and data frames are checked by scikit-learn. This module applies the same checks to
arrays of other namespaces.
"""

from collections.abc import Iterator
from numbers import Real
from typing import Any

import array_api_compat as compat
import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils import assert_all_finite, check_consistent_length
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import check_array, column_or_1d, validate_data

from dimetric._arrays.blocks import row_blocks
from dimetric._arrays.labels import dense_y, no_order_error, several_columns_remedy
from dimetric._arrays.namespaces import Array, is_dask, is_foreign, namespace
from dimetric._arrays.plain_input import are_plain_labels, is_plain
from dimetric._arrays.threads import run_on_threads

# Values up to these limits, and at least their reciprocals, are not rescaled. Sums of many squares
# then neither overflow nor underflow.
FLOAT32_LIMIT, FLOAT64_LIMIT = 2.0**40, 2.0**200
BLOCK_VALUES = 2**18  # values squared at once, which takes longer than waking a thread
MIN_THREADED_VALUES = 10_000  # BLAS squares fewer values on one thread


def ignoring_overflow() -> np.errstate:
    """Return a context without warnings about overflow.

    Use it where infinite results are reported as errors, and for scikit-learn's validation, which
    sums all values to find NaN: the sum of finite numbers may overflow.
    """
    return np.errstate(over="ignore", invalid="ignore")


def checked_mapped(Z: Array) -> Array:
    """Return mapped samples. Raise if a value has overflowed."""
    xp = namespace(Z)
    with ignoring_overflow():
        is_finite = bool(xp.isfinite(xp.sum(Z))) or bool(xp.all(xp.isfinite(Z)))
    if not is_finite:
        raise ValueError(
            f"The mapped samples are too large for {Z.dtype}, because the values of X are large "
            "compared with those of the training samples. Check or rescale X."
        )
    return Z


def checked_array(Z: Array, name: str, *, ndim: int = 2, accept_sparse: bool = False) -> Array:
    """Return Z as a finite floating array of `ndim` dimensions, without an estimator."""
    _refuse_dask(Z)
    if is_foreign(Z):
        return _checked_foreign(Z, 1, ndim=ndim, name=name)
    with ignoring_overflow():
        Z = check_array(
            Z,
            accept_sparse="csr" if accept_sparse else False,
            dtype=_dtype_for(Z),
            allow_nd=ndim > 2,
            input_name=name,
        )
    return _canonical(Z)


def _canonical(X: Array) -> Array:
    """Return a sparse X as a csr_array with sorted 32-bit indices and without duplicates.

    Indices are of 64 bits only if X is too large for 32 bits. The array replaces the legacy
    csr_matrix. Other arrays are returned unchanged.
    """
    if not sparse.issparse(X):
        return X
    X = sparse.csr_array(X)
    if X.indices.dtype != np.int32 and max(*X.shape, X.nnz) <= np.iinfo(np.int32).max:
        indices = X.indices.astype(np.int32), X.indptr.astype(np.int32)
        X = sparse.csr_array((X.data, *indices), shape=X.shape)
    if not X.has_canonical_format:
        X = X.copy()  # the user's array must not change
        X.sum_duplicates()
    return X


def _checked_foreign(X: Array, min_samples: int, *, ndim: int = 2, name: str = "X") -> Array:
    """Check an array of another namespace as scikit-learn checks NumPy arrays, on its device."""
    if compat.is_torch_array(X) and X.requires_grad:
        X = X.detach()  # gradients do not flow through a fit
    xp = namespace(X)
    if X.ndim != ndim:
        raise ValueError(
            f"Expected {ndim}D array, got {X.ndim}D array of shape {tuple(X.shape)} instead."
        )
    n, d = X.shape[0], X.shape[-1]
    if n < min_samples or d < 1:
        raise ValueError(
            f"Found array with {n} sample(s) and {d} feature(s) (shape={(n, d)}) while a minimum "
            f"of {min_samples} sample(s) and 1 feature(s) is required."
        )
    if xp.isdtype(X.dtype, "complex floating"):
        raise ValueError(f"Complex data not supported: {name} has dtype {X.dtype}.")
    if X.dtype not in (xp.float32, xp.float64):
        X = xp.astype(X, xp.float64)
    if not bool(xp.all(xp.isfinite(X))):
        raise ValueError(f"Input {name} contains NaN or infinity.")
    return X


def _dtype_for(X: Any) -> Any:
    """Return the `dtype` argument of check_array: keep float32 and float64, convert others.

    scikit-learn reads the column dtypes of pandas data frames, but not those of other libraries.
    """
    is_frame = hasattr(X, "columns") and len(X.columns) > 0
    all_float32 = is_frame and all(str(dtype).lower() == "float32" for dtype in X.dtypes)
    return np.float32 if all_float32 else [np.float64, np.float32]


def _refuse_dask(*values: Any) -> None:
    """Raise if a value is a Dask collection, which NumPy would read as a whole."""
    if any(map(is_dask, values)):
        raise TypeError(
            "A Dask collection was passed where an array is needed. Call its method compute() if "
            "it fits into memory, or pass some of its rows."
        )


def checked_samples(
    learner: BaseEstimator, X: Array, *, reset: bool, min_samples: int = 1
) -> Array:
    """Return samples as a finite floating array.

    If `reset` is true, store the number and names of the features in the learner. Otherwise check
    that they match those stored. Samples for a fit are not searched for NaN and infinity if the
    fit of the learner searches them (``_finds_invalid_values``).
    """
    must_be_finite = not (reset and getattr(learner, "_finds_invalid_values", False))
    if is_plain(learner, X, reset=reset, min_samples=min_samples, must_be_finite=must_be_finite):
        return X
    _refuse_dask(X)
    if is_foreign(X):
        X = _checked_foreign(X, min_samples)
        validate_data(learner, X, reset=reset, skip_check_array=True)
        return X
    with ignoring_overflow():
        X = validate_data(learner, X, reset=reset, **_validation_options(learner, X, min_samples))
    return _canonical(X)


def checked_samples_with_labels(
    learner: BaseEstimator,
    X: Array,
    y: Any,
    *,
    reset: bool,
    min_samples: int,
    multi_output: bool = False,
) -> tuple[Array, np.ndarray]:
    """Return the checked samples, and their checked labels on the host.

    If `multi_output` is true, y has a column for each output.
    """
    if are_plain_labels(X, y) and is_plain(learner, X, reset=reset, min_samples=min_samples):
        return X, y
    try:
        X, y = _checked_samples_with_y(
            learner, X, y, reset=reset, min_samples=min_samples, multi_output=multi_output
        )
    except ValueError as error:
        if "be a 1d array" in str(error):
            raise ValueError(f"{error}{several_columns_remedy(y)}") from error
        raise
    try:
        check_classification_targets(y)
    except TypeError as error:
        raise no_order_error(y) from error
    except ValueError as error:
        kind, content = type_of_target(y, input_name="y"), "fractions"
        remedy = "To predict continuous targets, use KNNRegressor"
        if not is_classifier(learner):
            cost = 'such as NCA(cost="squared")'
            remedy = f"To learn from continuous targets, use MLKR or NCA with a cost, {cost}"
        if not kind.startswith("continuous"):
            content, remedy = f"values of dtype {y.dtype}", "Pass strings or integers"
        # scikit-learn's tests match the first words.
        raise ValueError(
            f"Unknown label type: {kind}. {type(learner).__name__} learns from classes, but y "
            f"contains {content}. {remedy}."
        ) from error
    return X, y


def checked_samples_with_targets(
    learner: BaseEstimator, X: Array, y: Any, *, reset: bool, min_samples: int
) -> tuple[Array, np.ndarray]:
    """Return the checked samples, and their targets as finite float64 numbers on the host.

    Targets have the shape (n_samples,) or (n_samples, n_outputs).
    """
    X, y = _checked_samples_with_y(
        learner, X, y, reset=reset, min_samples=min_samples, multi_output=True
    )
    y = column_or_1d(y) if y.ndim == 2 and y.shape[1] == 1 else y
    if y.dtype == object and all(isinstance(value, Real) for value in y.flat):
        y = y.astype(np.float64)
        assert_all_finite(y, input_name="y")
    if y.dtype.kind not in "biuf" or y.ndim > 2:
        raise ValueError(
            f"Unknown label type: {type(learner).__name__} learns from numbers, but y has dtype "
            f"{y.dtype} and shape {y.shape}. Pass numbers of shape (n_samples,) or (n_samples, "
            "n_outputs)."
        )
    return X, y.astype(np.float64)


def _checked_samples_with_y(
    learner: BaseEstimator, X: Array, y: Any, *, reset: bool, min_samples: int, multi_output: bool
) -> tuple[Array, np.ndarray]:
    _refuse_dask(X, y)
    y = dense_y(y)
    if y is None or not is_foreign(X):
        options = _validation_options(learner, X, min_samples)
        with ignoring_overflow():
            X, y = validate_data(learner, X, y, reset=reset, multi_output=multi_output, **options)
        return _canonical(X), y
    X = checked_samples(learner, X, reset=reset, min_samples=min_samples)
    y = np.asarray(y) if multi_output else column_or_1d(y, warn=True)
    assert_all_finite(y, input_name="y")
    check_consistent_length(X, y)
    return X, y


def rescale_for_squares(
    X: Array, name: str = "X", *, largest: float | None = None
) -> tuple[Array, float]:
    """Rescale X so that squares neither overflow nor underflow. Return X and the factor.

    `largest` is the largest absolute value, if it is known. The factor is a power of two, so no
    digits are lost, and it is 1 for ordinary data. Raise ValueError if the dtype cannot represent
    the squares of the original values, because then it cannot represent variances or a metric
    either.
    """
    xp = namespace(X)
    values = X.data if sparse.issparse(X) else X
    limit = _limit(X)
    if largest is None and compat.is_numpy_array(values):
        # The sum of squares decides nearly all cases in one fast pass.
        flat = values.ravel(order="K")
        if squares_are_in_range(_sum_of_squares(flat), flat):
            return X, 1.0
    if largest is None:
        largest = max(float(xp.max(values)), -float(xp.min(values))) if values.shape[0] else 0.0
    info = xp.finfo(X.dtype)
    low, high = 4 * float(info.smallest_normal) ** 0.5, float(info.max) ** 0.5 / 4
    if largest > 0 and not low <= largest <= high:
        raise ValueError(
            f"The largest absolute value of {name} is {largest:.1e}, but {X.dtype} can represent "
            f"squares only if this value is between {low:.0e} and {high:.0e}. Rescale {name}."
        )
    if largest == 0 or 1 / limit <= largest <= limit:
        return X, 1.0
    factor = float(2.0 ** -np.floor(np.log2(largest)))
    return X * factor, factor


def squares_are_in_range(total: float, values: Array) -> bool:
    """Return whether a sum of squares shows that no value needs to be rescaled.

    Its root is an upper bound on the largest absolute value, and the root mean square is a lower
    bound.

    Examples
    --------
    >>> squares_are_in_range(4.0, np.ones(4)), squares_are_in_range(np.inf, np.ones(4))
    (True, False)
    """
    limit = _limit(values)
    return values.size / limit**2 <= total <= limit**2


def _limit(X: Array) -> float:
    return FLOAT32_LIMIT if X.dtype == namespace(X).float32 else FLOAT64_LIMIT


def _sum_of_squares(flat: np.ndarray) -> float:
    """Return the sum of squares of a vector, or infinity if it overflows.

    After a product, the threads of BLAS wait for the next one in a busy loop of about 20 ms. This
    slows down threads that run after it, so BLAS uses only one thread here.
    """

    def work(blocks: Iterator[slice]) -> float:
        with np.errstate(over="ignore"):
            return sum(float(flat[b] @ flat[b]) for b in blocks)

    blocks = list(row_blocks(len(flat), BLOCK_VALUES))
    if len(flat) < MIN_THREADED_VALUES:
        return work(iter(blocks))
    return sum(run_on_threads(work, blocks))


def _validation_options(learner: Any, X: Any, min_samples: int) -> dict[str, Any]:
    return {
        "accept_sparse": "csr" if learner._accepts_sparse else False,
        "dtype": _dtype_for(X),
        "ensure_min_samples": min_samples,
    }
