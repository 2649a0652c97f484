"""What comes in: samples, labels and pairs of any container, checked once and left where they are.

NumPy's, pandas' and polars' inputs go through scikit-learn's own checks; arrays of another
namespace get the same checks here, on their device.
"""

import os
from itertools import combinations_with_replacement
from typing import Any

import array_api_compat as compat
import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import assert_all_finite, check_consistent_length
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, column_or_1d, validate_data

from dimetric._xp import Array, is_foreign, like, namespace, to_host
from dimetric.reduce.tree import row_blocks


def checked_samples(
    learner: BaseEstimator, X: Array, *, reset: bool, min_samples: int = 1
) -> Array:
    """Return samples as a finite floating array; note (`reset`) or compare features and names."""
    if is_foreign(X):
        X = _checked_foreign(X, min_samples)
        validate_data(learner, X, reset=reset, skip_check_array=True)
        return X
    X = validate_data(learner, X, reset=reset, **_options(learner, X, min_samples))
    return sparse.csr_array(X) if sparse.issparse(X) else X  # not the old matrix class


def checked_labelled(
    learner: BaseEstimator, X: Array, y: Any, *, reset: bool, min_samples: int
) -> tuple[Array, np.ndarray]:
    """Return checked samples, and their labels on the host."""
    y = to_host(y) if is_foreign(y) else y
    if y is None or not is_foreign(X):
        X, y = validate_data(learner, X, y, reset=reset, **_options(learner, X, min_samples))
    else:
        X = checked_samples(learner, X, reset=reset, min_samples=min_samples)
        y = column_or_1d(y, warn=True)
        assert_all_finite(y, input_name="y")
        check_consistent_length(X, y)
    check_classification_targets(y)
    return X, y


def checked_array(Z: Array, name: str, *, ndim: int = 2, accept_sparse: bool = False) -> Array:
    """Return a finite floating array of `ndim` dimensions that no learner is fitted to."""
    if is_foreign(Z):
        return _checked_foreign(Z, 1, ndim=ndim, name=name)
    Z = check_array(
        Z,
        accept_sparse="csr" if accept_sparse else False,
        dtype=_dtype_for(Z),
        allow_nd=ndim > 2,
        input_name=name,
    )
    return sparse.csr_array(Z) if sparse.issparse(Z) else Z  # not the old matrix class


def checked_pairs(learner: Any, pairs: Array, X: Array | None) -> tuple[Array, Array]:
    """Return the left and the right samples of pairs of vectors, or of row numbers of X."""
    if X is None:
        pairs = checked_array(pairs, "pairs", ndim=3)
        if tuple(pairs.shape[1:]) != (2, learner.n_features_in_):
            raise ValueError(
                f"pairs has shape {tuple(pairs.shape)}; without X it must hold vectors, of "
                f"shape (n_pairs, 2, {learner.n_features_in_})."
            )
        return pairs[:, 0, :], pairs[:, 1, :]
    X = checked_samples(learner, X, reset=False)
    index = check_array(to_host(pairs), dtype=None, input_name="pairs")
    if index.shape[1] != 2 or index.dtype.kind not in "iu":
        raise ValueError(
            f"pairs has shape {index.shape} and dtype {index.dtype}; with X it must hold row "
            "numbers: integers of shape (n_pairs, 2)."
        )
    outside = np.flatnonzero(((index < 0) | (index >= X.shape[0])).any(axis=1))
    if len(outside):
        raise ValueError(
            f"pairs[{outside[0]}] = {index[outside[0]].tolist()} names a row outside X, which "
            f"has {X.shape[0]} samples."
        )
    if sparse.issparse(X):
        return X[index[:, 0]].toarray(), X[index[:, 1]].toarray()
    xp = namespace(X)
    index = like(index, X, dtype=xp.int64)
    return xp.take(X, index[:, 0], axis=0), xp.take(X, index[:, 1], axis=0)


def checked_dissimilarities(D: Array) -> None:
    """Raise unless D is square, symmetric but for rounding, not negative, and 0 on the diagonal."""
    xp = namespace(D)
    n = D.shape[0]
    if D.shape[1] != n:
        raise ValueError(
            f"Dissimilarities must be a square matrix; X has shape {tuple(D.shape)}. For samples "
            "and features, choose another metric than 'precomputed'."
        )
    if bool(xp.any(D < 0)):
        raise ValueError(
            "Dissimilarities must not be negative. Similarities are no dissimilarities."
        )
    rounding = 4 * float(xp.finfo(D.dtype).eps) ** 0.5 * float(xp.max(D))
    if bool(xp.any(xp.linalg.diagonal(D) > rounding)):
        raise ValueError("Dissimilarities of samples to themselves, on the diagonal, must be 0.")
    tiles = list(row_blocks(n, 512))  # in which rows and columns alike stay in a cache
    for b, c in combinations_with_replacement(tiles, 2):
        difference = xp.abs(D[b, c] - D[c, b].T)
        if bool(xp.any(difference > rounding)):
            i, j = np.unravel_index(np.argmax(to_host(difference)), difference.shape)
            i, j = i + b.start, j + c.start
            raise ValueError(
                f"Dissimilarities must be symmetric, but that of samples {i} and {j} is "
                f"{float(D[i, j]):.6g} one way and {float(D[j, i]):.6g} the other. "
                "(D + D.T) / 2 is symmetric."
            )


def require_memory(n_bytes: int, wanted: str, remedy: str) -> None:
    """Raise if a matrix is larger than the machine's memory, before it grinds to a halt."""
    if "SC_PHYS_PAGES" not in os.sysconf_names:  # pragma: no cover - not on Windows
        return
    there = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    if n_bytes > there:
        raise MemoryError(
            f"{wanted} would take {n_bytes / 2**30:,.0f} GiB; this machine has "
            f"{there / 2**30:,.0f}. {remedy}"
        )


def in_range(X: Array, name: str = "X") -> tuple[Array, float]:
    """Return X times a power of two that keeps sums of squares at ease, and that factor.

    The factor is 1 for all ordinary data, and a power of two never costs a digit. Values whose
    squares the dtype cannot hold are refused: neither could it hold a variance, or M.
    """
    xp = namespace(X)
    values = X.data if sparse.issparse(X) else X
    limit = 2.0**40 if X.dtype == xp.float32 else 2.0**200
    if compat.is_numpy_array(values):
        # One fast pass settles nearly all cases: no value is above the root of the sum of
        # squares, and the largest is not below the root of their mean.
        flat = values.ravel(order="K")
        with np.errstate(over="ignore"):
            total = float(flat @ flat)
        if total <= limit**2 and total >= flat.size / limit**2:
            return X, 1.0
    largest = max(float(xp.max(values)), -float(xp.min(values))) if values.shape[0] else 0.0
    info = xp.finfo(X.dtype)
    low, high = 4 * float(info.smallest_normal) ** 0.5, float(info.max) ** 0.5 / 4
    if largest > 0 and not low <= largest <= high:
        raise ValueError(
            f"{name} holds values up to {largest:.1e}, whose squares {X.dtype} cannot hold: the "
            f"largest must be between {low:.0e} and {high:.0e}. Scale {name}."
        )
    if largest == 0 or 1 / limit <= largest <= limit:
        return X, 1.0
    factor = float(2.0 ** -np.floor(np.log2(largest)))
    return X * factor, factor


def _options(learner: Any, X: Any, min_samples: int) -> dict[str, Any]:
    return {
        "accept_sparse": "csr" if learner._accepts_sparse else False,
        "dtype": _dtype_for(X),
        "ensure_min_samples": min_samples,
    }


def _dtype_for(X: Any) -> Any:
    """Return the dtype to check samples with: float32 and float64 stay, others become float64.

    scikit-learn sees the dtypes of pandas' columns, but not of other data frames'.
    """
    frame = hasattr(X, "columns") and len(X.columns) > 0
    single = frame and all(str(dtype).lower() == "float32" for dtype in X.dtypes)
    return np.float32 if single else [np.float64, np.float32]


def _checked_foreign(X: Array, min_samples: int, *, ndim: int = 2, name: str = "X") -> Array:
    """Check an array of another namespace as scikit-learn checks NumPy's; it stays where it is."""
    if compat.is_torch_array(X) and X.requires_grad:
        X = X.detach()  # a fit is no part of anybody's graph
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
        raise ValueError(f"Complex data not supported: {name} must be real.")
    if X.dtype not in (xp.float32, xp.float64):
        X = xp.astype(X, xp.float64)
    if not bool(xp.all(xp.isfinite(X))):
        raise ValueError(f"Input {name} contains NaN or infinity.")
    return X
