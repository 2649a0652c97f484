"""Validation and normalisation of the vectors of queries and documents."""

from typing import Any

import numpy as np

from dimetric._arrays.namespaces import Array, asarray_like, namespace, take_rows, to_host
from dimetric._arrays.squared_distances import squared_norms
from dimetric._arrays.validation import checked_array, ignoring_overflow
from dimetric.supervision.relevance import Relevance, checked_relevance

MAX_SHOWN_ROWS = 3


def unit_rows(Z: Array) -> tuple[Array, Array]:
    """Return the rows divided by their norms, and the norms, of shape (n, 1)."""
    xp = namespace(Z)
    norms = xp.clip(xp.sqrt(squared_norms(Z)), float(xp.finfo(Z.dtype).smallest_normal))[:, None]
    return Z / norms, norms


def checked_vectors(X: Array, name: str) -> Array:
    """Return finite vectors of norm 1. Raise if a vector is zero."""
    X = checked_array(X, name)
    xp = namespace(X)
    with ignoring_overflow():
        squares = squared_norms(X)
    low = float(xp.finfo(X.dtype).smallest_normal) / float(xp.finfo(X.dtype).eps)
    if bool(xp.all((squares > low) & xp.isfinite(squares))):
        return unit_rows(X)[0]
    # Divide by the largest entry first, because squares of tiny or huge values are not precise.
    largest = xp.max(xp.abs(X), axis=1, keepdims=True)
    zero = np.flatnonzero(to_host(largest[:, 0] == 0))
    if len(zero):
        shown = ", ".join(str(row) for row in zero[:MAX_SHOWN_ROWS])
        raise ValueError(
            f"{name} contains zero vectors, for example in row {shown} ({len(zero)} in all). A "
            "zero vector has no direction, so its cosine is not defined. Remove these rows."
        )
    return unit_rows(X / largest)[0]


def checked_sets(
    queries: Array, documents: Array, relevance: Any
) -> tuple[Array, Array, Relevance, np.ndarray]:
    """Return the unit vectors of queries and documents, and their relevance.

    Documents get the library, dtype and device of the queries. Queries without a relevant document
    are left out. The last result holds the rows of the other queries.
    """
    Q, D = unit_vectors(queries, documents)
    known = checked_relevance(relevance, Q.shape[0], D.shape[0])
    rows = np.flatnonzero(known.n_relevant)
    if len(rows) < Q.shape[0]:
        Q, known = take_rows(Q, rows), known.take(rows)
    return Q, D, known, rows


def unit_vectors(queries: Array, documents: Array) -> tuple[Array, Array]:
    """Return vectors of norm 1. Raise unless all of them have the same number of features."""
    Q = checked_vectors(queries, "queries")
    D = asarray_like(checked_vectors(documents, "documents"), Q)
    if Q.shape[1] != D.shape[1]:
        raise ValueError(
            f"queries have {Q.shape[1]} features and documents have {D.shape[1]}, but both must "
            "come from the same space. To map one space to another, use SpaceMap."
        )
    return Q, D
