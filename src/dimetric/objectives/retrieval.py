r"""The softmax loss of retrieval: each query picks a document at random.

With unit vectors :math:`u_i` of queries and :math:`v_j` of documents, query i picks document j with
the probability

.. math:: p_{ij} = \frac{w_j e^{s\, u_i \cdot v_j}}{\sum_l w_l e^{s\, u_i \cdot v_l}},
          \qquad s\, u_i \cdot v_j = s - \tfrac{s}{2} |u_i - v_j|^2.

The loss of a query is :math:`-\log \sum_j g_{ij} p_{ij}`, where :math:`g_{ij}` is the grade of a
relevant document, relative to the highest grade of the query. So no relevant document counts as a
negative one. A query does not pick its own document. The weight :math:`w_j` is 1, unless a document
represents others that were left out.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import array_api_compat as compat
import numpy as np

from dimetric._arrays.compiled import exp_in_place
from dimetric._arrays.namespaces import Array, asarray_like, namespace, to_host
from dimetric._arrays.threads import run_on_threads
from dimetric.objectives.engine import Rule, bipartite_product
from dimetric.objectives.side import Side
from dimetric.supervision.relevance import Relevance

BLOCK_ENTRIES = 2**22  # similarities in a block of the NumPy implementation, 16 MiB in float32
MIN_BLOCK_ROWS, MAX_BLOCK_ROWS = 16, 256


class RetrievalRule(Rule):
    """The softmax loss of retrieval as a rule between queries (rows) and documents (columns).

    Its extra parameter `theta` is the scale s. Rows are numbered from 0, and every query must have
    a relevant document.
    """

    def __init__(self, relevance: Relevance) -> None:
        self.relevance = relevance

    def block(
        self, xp: Any, D: Array, rows: Side, columns: Side, theta: Any
    ) -> tuple[Array, Array, Array]:
        """Return the loss, W and the derivative with respect to s, for a block of queries."""
        s = float(theta[0])
        known = self.relevance.take(to_host(rows.positions))
        grades, own = _pairs_of_rows(known, slice(0, len(rows)))
        logits = D * (-s / 2)
        if columns.weights is not None:
            logits = logits + xp.log(columns.weights)[None, :]
        if own is not None:
            is_own = _scattered(own[0], own[1], np.ones(len(own[0])), D) > 0
            logits = xp.where(is_own, -xp.inf, logits)
        G = _scattered(grades.rows, grades.documents, grades.values, D)
        log_all, P = _softmax(xp, logits)
        log_grades = xp.log(xp.where(G > 0, G, xp.ones_like(G)))
        log_relevant, R = _softmax(xp, xp.where(G > 0, logits + log_grades, -xp.inf))
        loss = xp.sum(log_all - log_relevant, dtype=xp.float64)
        difference = P - R
        dscale = -xp.sum(difference * D, dtype=xp.float64) / 2
        return loss, difference * (-s / 2), float(dscale)


@dataclass(frozen=True)
class Loss:
    """The sum of the losses of all queries, and its derivatives.

    Attributes
    ----------
    value : float
        The sum.
    queries : array of shape (n, k)
        Derivative with respect to the query vectors. Its parts along these vectors are arbitrary.
    documents : array of shape (m, k) or None
        Derivative with respect to the document vectors, if requested, in the same sense.
    scale : float
        Derivative with respect to the scale s.
    """

    value: float
    queries: Array
    documents: Array | None
    scale: float


def retrieval_loss(
    U: Array,
    V: Array,
    relevance: Relevance,
    scale: float,
    *,
    weights: np.ndarray | None = None,
    moves_documents: bool = True,
) -> Loss:
    """Return the loss and its derivatives.

    NumPy arrays use a fast implementation, and all others the engine.

    Parameters
    ----------
    U, V : array of shape (n, k) and (m, k)
        Unit vectors of queries and documents.
    relevance : Relevance
        The relevant documents. Every query has at least one.
    scale : float
        The scale s.
    weights : ndarray of shape (m,), optional
        Weights of the documents, on the host.
    moves_documents : bool, default=True
        Whether the derivative with respect to the documents is needed.
    """
    if compat.is_numpy_array(U):
        return _in_numpy(U, V, relevance, scale, weights, moves_documents)
    columns = Side.of(V, weights=weights, first=U.shape[0])
    value, by_row, by_column, dscale = bipartite_product(
        RetrievalRule(relevance), (U, V), (U, V), Side.of(U), columns, np.array([scale])
    )
    return Loss(value, 2 * by_row, 2 * by_column if moves_documents else None, float(dscale))


def _in_numpy(
    U: np.ndarray,
    V: np.ndarray,
    relevance: Relevance,
    scale: float,
    weights: np.ndarray | None,
    moves_documents: bool,
) -> Loss:
    n, m = len(U), len(V)
    size = min(max(BLOCK_ENTRIES // m, MIN_BLOCK_ROWS), MAX_BLOCK_ROWS)
    log_weights = None if weights is None else np.log(weights).astype(U.dtype)
    by_query = np.empty_like(U)

    def work(firsts: Iterator[int]) -> tuple[float, np.ndarray | None]:
        total, by_document = 0.0, np.zeros_like(V) if moves_documents else None
        buffer = np.empty((min(size, n), m), U.dtype)
        for first in firsts:
            rows = slice(first, min(first + size, n))
            S = np.matmul(scale * U[rows], V.T, out=buffer[: rows.stop - first])
            total += _overwrite_with_derivative(S, relevance, rows, log_weights)
            np.matmul(S, V, out=by_query[rows])
            if by_document is not None:
                by_document += S.T @ U[rows]
        return total, by_document

    parts = run_on_threads(work, range(0, n, size))
    dscale = float(np.sum(np.einsum("ij,ij->i", U, by_query, dtype=np.float64)))
    documents = None
    if moves_documents:
        documents = scale * np.sum([part[1] for part in parts if part[1] is not None], axis=0)
    by_query *= scale
    return Loss(sum(part[0] for part in parts), by_query, documents, dscale)


def _overwrite_with_derivative(
    S: np.ndarray, relevance: Relevance, rows: slice, log_weights: np.ndarray | None
) -> float:
    """Overwrite the scaled similarities S of some queries with P - R, and return their loss."""
    grades, own = _pairs_of_rows(relevance, rows)
    if log_weights is not None:
        S += log_weights
    if own is not None:
        S[own] = -np.inf
    pairs = grades.rows, grades.documents
    z = S[pairs].astype(np.float64) + np.log(grades.values)
    top = S.max(axis=1, keepdims=True)
    S -= top
    exp_in_place(S, S.shape[1])
    total = S.sum(axis=1, keepdims=True, dtype=np.float64)
    S *= (1 / total).astype(S.dtype)
    # Pairs are sorted by query, so the relevant documents of a query are a run.
    starts = np.flatnonzero(np.diff(grades.rows, prepend=-1))
    highest = np.maximum.reduceat(z, starts)
    R = np.exp(z - highest[grades.rows])
    sums = np.add.reduceat(R, starts)
    S[pairs] -= (R / sums[grades.rows]).astype(S.dtype)
    return float(np.sum(top.ravel() + np.log(total.ravel()) - highest - np.log(sums)))


@dataclass(frozen=True)
class _GradedPairs:
    """Relevant pairs of a block: rows of the block, documents, and relative grades."""

    rows: np.ndarray
    documents: np.ndarray
    values: np.ndarray


def _pairs_of_rows(
    relevance: Relevance, rows: slice
) -> tuple[_GradedPairs, tuple[np.ndarray, np.ndarray] | None]:
    """Return the relevant pairs of a block of queries, and the pairs of queries with themselves."""
    starts = relevance.starts[rows.start : rows.stop + 1]
    part = slice(starts[0], starts[-1])
    queries = np.repeat(np.arange(rows.stop - rows.start), np.diff(starts))
    grades = relevance.grades[part].astype(np.float64)
    grades = grades / np.maximum.reduceat(grades, starts[:-1] - starts[0])[queries]
    kept = grades > 0
    pairs = _GradedPairs(queries[kept], relevance.documents[part][kept], grades[kept])
    if relevance.own_documents is None:
        return pairs, None
    own = relevance.own_documents[rows]
    has_own = np.flatnonzero(own >= 0)
    return pairs, (has_own, own[has_own])


def _scattered(rows: np.ndarray, columns: np.ndarray, values: np.ndarray, D: Array) -> Array:
    """Return a matrix like D with some values, and 0 elsewhere."""
    if compat.is_torch_array(D) or compat.is_cupy_array(D):
        xp = namespace(D)
        result = xp.zeros_like(D)
        where = tuple(asarray_like(each, D, dtype=xp.int64) for each in (rows, columns))
        result[where] = asarray_like(values, D)
        return result
    result = np.zeros(tuple(D.shape))
    result[rows, columns] = values
    return asarray_like(result, D)


def _softmax(xp: Any, logits: Array) -> tuple[Array, Array]:
    """Return the logarithm of the sum of exponentials of each row, and the softmax."""
    top = xp.max(logits, axis=1, keepdims=True)
    E = xp.exp(logits - top)
    total = xp.sum(E, axis=1, keepdims=True)
    return xp.log(total) + top, E / total
