"""Validation of the data, the embedding and the options of quality scores."""

from numbers import Integral
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_consistent_length
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from dimetric._arrays.dissimilarities import check_dissimilarities
from dimetric._arrays.labels import dense_y, encode_labels
from dimetric._arrays.namespaces import Array, asarray_like, namespace
from dimetric._arrays.random_state import random_generator
from dimetric._arrays.validation import checked_array, rescale_for_squares
from dimetric._warnings import warn


def checked_embedding(
    X: Any, Z: Any, n_neighbors: Any, metric: Any
) -> tuple[Array, Array, float, int]:
    """Return data, embedding, the ratio of their scale factors, and the number of neighbours.

    X and Z are rescaled if their squares would overflow or underflow.
    """
    X = checked_array(X, "X", accept_sparse=metric != "precomputed")
    Z = checked_array(Z, "Z")
    check_consistent_length(X, Z)
    n = X.shape[0]
    if not isinstance(n_neighbors, Integral) or n_neighbors < 1:
        raise ValueError(f"n_neighbors={n_neighbors!r} must be an int of at least 1.")
    if 2 * n_neighbors >= n:
        raise ValueError(
            f"n_neighbors = {n_neighbors} should be less than n_samples / 2 = {n / 2}: the "
            "trustworthiness of larger neighbourhoods is undefined."
        )
    if metric == "precomputed":
        check_dissimilarities(X)
    if _all_equal(X, metric):
        raise ValueError("All points of X are equal, so the quality of an embedding is undefined.")
    if _all_equal(Z, "euclidean"):
        warn(
            "All points of Z are equal, so all points are equally near in the embedding.",
        )
    X, factor_x = rescale_for_squares(X)
    Z, factor_z = rescale_for_squares(asarray_like(Z, X, dtype=namespace(X).float64), "Z")
    return X, Z, factor_x / factor_z, int(n_neighbors)


def _all_equal(X: Array, metric: Any) -> bool:
    xp = namespace(X)
    if metric == "precomputed":
        return not bool(xp.any(X > 0))
    if sparse.issparse(X):
        return not (X.max(axis=0) - X.min(axis=0)).nnz
    return bool(xp.all(xp.max(X, axis=0) == xp.min(X, axis=0)))


def checked_labels(y: Any, X: Array) -> Array:
    """Return labels as integers in the array namespace and on the device of X."""
    y = column_or_1d(dense_y(y))
    check_consistent_length(X, y)
    _, codes = encode_labels(y)
    check_classification_targets(y)
    return asarray_like(codes, X, dtype=namespace(X).int64)


def sampled_points(n: int, sample_size: Any, random_state: Any) -> np.ndarray:
    """Return the row indices of the points to score."""
    if sample_size is None:
        return np.arange(n)
    if not isinstance(sample_size, Integral) or sample_size < 2:
        raise ValueError(
            f"sample_size={sample_size!r} must be an int of at least 2, or None for all points."
        )
    if int(sample_size) >= n:
        return np.arange(n)
    return np.sort(random_generator(random_state).choice(n, int(sample_size), replace=False))
