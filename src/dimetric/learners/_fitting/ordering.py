"""Sorting of samples, so that results do not depend on the order of the rows."""

from typing import TypeVar

import numpy as np

from dimetric._arrays.namespaces import Array, asarray_like, is_host, namespace, to_host
from dimetric._arrays.row_order import (
    canonical_order,
    canonical_order_on_device,
    distinct_rows,
)
from dimetric.supervision.labels import Labels, Supervision, Targets, weights_of

SupervisionT = TypeVar("SupervisionT", Labels, Supervision)


def in_canonical_order(
    X: Array, supervision: SupervisionT, *, by_class: bool = True
) -> tuple[Array, SupervisionT, np.ndarray]:
    """Sort the samples into an order that does not depend on the order of the rows of X.

    Unlabelled samples are dropped.

    Parameters
    ----------
    X : array of shape (n, d)
        Samples.
    supervision : Labels, Targets, Pairs or Triplets
        Supervision for the rows of X.
    by_class : bool, default=True
        Whether to sort samples by class or target first.

    Returns
    -------
    X : array of shape (m, d)
        The labelled samples in canonical order.
    supervision : Labels, Targets, Pairs or Triplets
        Supervision for the rows of the new X.
    order : ndarray of shape (n,)
        Row indices of the sorted samples in the X that was passed, followed by the indices of the
        unlabelled samples.
    """
    xp, n = namespace(X), X.shape[0]
    codes = np.zeros(n, dtype=np.int64)
    if isinstance(supervision, Labels):
        codes = supervision.codes
    elif isinstance(supervision, Targets):
        codes = distinct_rows(supervision.values.reshape(n, -1))[1]
    classes = codes if by_class else np.zeros_like(codes)
    weights = weights_of(supervision)
    if is_host(X) or weights is not None:
        content = to_host(X)
        if weights is not None:  # identical samples may differ in weight
            content = np.column_stack([content, weights.astype(content.dtype)])
        order = canonical_order(content, classes)
    else:
        order = canonical_order_on_device(X, classes)
    has_label = codes[order] >= 0
    kept = order[has_label]
    order = np.concatenate([kept, order[~has_label]])
    X = xp.take(X, asarray_like(kept, X, dtype=xp.int64), axis=0)
    return X, supervision.reordered(kept), order


def n_distinct(X: Array) -> int:
    """Return the number of distinct samples. Samples in canonical order are expected.

    Copies of a sample count once, and so does a sample with a large weight.

    Examples
    --------
    >>> n_distinct(np.array([[0.0, 1.0], [0.0, 1.0], [2.0, 1.0]]))
    2
    """
    is_new = namespace(X).any(X[1:, :] != X[:-1, :], axis=1)
    return 1 + int(np.sum(to_host(is_new)))
