"""Arrays of any container, checked as scikit-learn checks them and left where they are.

NumPy's, pandas' and polars' go through scikit-learn's own checks; those of another namespace get
the same checks here, on their device.
"""

from typing import Any

import array_api_compat as compat
import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_array

from dimetric._xp import Array, is_foreign, namespace


def checked_array(Z: Array, name: str, *, ndim: int = 2, accept_sparse: bool = False) -> Array:
    """Return a finite floating array of `ndim` dimensions that no learner is fitted to."""
    if is_foreign(Z):
        return checked_foreign(Z, 1, ndim=ndim, name=name)
    Z = check_array(
        Z,
        accept_sparse="csr" if accept_sparse else False,
        dtype=dtype_for(Z),
        allow_nd=ndim > 2,
        input_name=name,
    )
    return sparse.csr_array(Z) if sparse.issparse(Z) else Z  # not the old matrix class


def checked_foreign(X: Array, min_samples: int, *, ndim: int = 2, name: str = "X") -> Array:
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


def dtype_for(X: Any) -> Any:
    """Return the dtype to check samples with: float32 and float64 stay, others become float64.

    scikit-learn sees the dtypes of pandas' columns, but not of other data frames'.
    """
    frame = hasattr(X, "columns") and len(X.columns) > 0
    single = frame and all(str(dtype).lower() == "float32" for dtype in X.dtypes)
    return np.float32 if single else [np.float64, np.float32]
