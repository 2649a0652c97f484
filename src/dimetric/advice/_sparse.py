"""Sparse samples of a comparison."""

from typing import Any

import numpy as np

from dimetric._arrays.validation import checked_array
from dimetric.learners.pca import PCA
from dimetric.linalg.row_basis import MAX_RANK, is_made_dense

__all__ = ["reduced_samples"]


def reduced_samples(X: Any) -> tuple[np.ndarray, PCA | None, list[str]]:
    """Return sparse samples as a dense array, the map to its columns, and notes.

    If there are few features, the columns are the features, and the map is None. Otherwise the
    columns are 300 coordinates in the span of the first principal axes of all samples. The axes
    are rotated at random: all columns then have about the same range, so scaling columns to [0, 1]
    changes distances little.
    """
    X = checked_array(X, "X", accept_sparse=True)
    n, d = X.shape
    if is_made_dense(n, d):
        return X.toarray(), None, []
    k = min(n, MAX_RANK)
    learner = PCA(k, svd_solver="randomized", iterated_power=2, random_state=0).fit(X)
    rotation = np.linalg.qr(np.random.default_rng(0).standard_normal((k, k))).Q
    learner.components_ = rotation.astype(X.dtype) @ learner.components_
    kept = learner.metadata()["accumulated_eigenvalues"]
    note = (
        f"X is sparse and has {d:,} columns. They were reduced to {k} coordinates by PCA of all "
        f"samples without their targets. The coordinates keep {kept:.0%} of the variance."
    )
    return learner.transform(X), learner, [note]
