"""Rankings of documents by inner product, and the nDCG of a ranking."""

import array_api_compat as compat
import numpy as np

from dimetric._arrays.blocks import row_blocks
from dimetric._arrays.namespaces import (
    Array,
    asarray_like,
    is_host,
    namespace,
    smallest_in_rows,
    to_host,
)
from dimetric._arrays.threads import map_on_threads
from dimetric.supervision.relevance import Relevance

HOST_BLOCK_ENTRIES = 2**22  # scores in a block, 16 MiB in float32
DEVICE_BLOCK_ENTRIES = 2**28


def ranked_documents(
    queries: Array, documents: Array, k: int, own_documents: np.ndarray | None = None
) -> tuple[Array, Array]:
    """Return the k highest inner products of each query, descending, and their documents.

    Among documents with equal scores, the first one is ranked first. Memory is O(block).

    Parameters
    ----------
    queries, documents : array of shape (n, d) and (m, d)
        Vectors in the same namespace and on the same device.
    k : int
        Number of documents. It is reduced to the number of documents that a query may retrieve.
    own_documents : ndarray of shape (n,), optional
        Document that each query must not retrieve, or -1.

    Returns
    -------
    scores : array of shape (n, k)
        Inner products.
    positions : array of shape (n, k)
        Positions of the documents.
    """
    xp, m = namespace(queries), documents.shape[0]
    k = max(1, min(k, m - (own_documents is not None)))
    entries = HOST_BLOCK_ENTRIES if is_host(queries) else DEVICE_BLOCK_ENTRIES
    blocks = list(row_blocks(queries.shape[0], max(1, entries // max(m, 1))))

    def ranked(rows: slice) -> tuple[Array, Array]:
        own = None if own_documents is None else own_documents[rows]
        return _largest_in_rows(_scores(queries[rows, :], documents, own), k)

    # Other libraries have threads of their own.
    in_turn = not compat.is_numpy_array(queries)
    parts = [ranked(rows) for rows in blocks] if in_turn else list(map_on_threads(ranked, blocks))
    return xp.concat([part[0] for part in parts]), xp.concat([part[1] for part in parts])


def _scores(queries: Array, documents: Array, own_documents: np.ndarray | None) -> Array:
    """Return the inner products of a block of queries and all documents, -inf for own documents."""
    S = queries @ documents.T
    if own_documents is None:
        return S
    xp = namespace(S)
    own = asarray_like(own_documents, S, dtype=xp.int64)
    columns = xp.arange(S.shape[1], dtype=xp.int64, device=compat.device(S))
    return xp.where(columns[None, :] == own[:, None], -xp.inf, S)


def _largest_in_rows(S: Array, k: int) -> tuple[Array, Array]:
    """Return the k largest entries of each row, descending, and their columns, first ones first."""
    xp = namespace(S)
    negative, columns = smallest_in_rows(-S, k)
    n_reaching = xp.sum(xp.astype(negative[:, -1:] >= -S, xp.int64), axis=1)
    values, columns = -to_host(negative), np.array(to_host(columns))
    for row in np.flatnonzero(to_host(n_reaching) > k):  # equal entries at the k-th place
        above = values[row] > values[row, -1]
        equal = np.flatnonzero(to_host(S[int(row), :]) == values[row, -1])
        columns[row, ~above] = equal[: k - int(above.sum())]
    order = np.lexsort((columns, -values))
    values, columns = (np.take_along_axis(each, order, axis=1) for each in (values, columns))
    return asarray_like(values, S), asarray_like(columns, S, dtype=xp.int64)


def ndcg_of_ranking(ranking: np.ndarray, relevance: Relevance, k: int) -> np.ndarray:
    r"""Return the normalised discounted cumulative gain of the first k documents of each query.

    It is NaN for queries without a relevant document. See :func:`dimetric.quality.retrieval.ndcg`.
    """
    k = min(k, relevance.n_documents)
    gains = relevance.grades_of(ranking[:, :k])
    best = best_grades(relevance, k)
    discounts = 1 / np.log2(np.arange(2, k + 2))
    ideal = best @ discounts
    found = gains @ discounts[: gains.shape[1]]
    return np.divide(found, ideal, out=np.full(len(ideal), np.nan), where=ideal > 0)


def best_grades(relevance: Relevance, k: int) -> np.ndarray:
    """Return the k highest grades of each query, descending, filled up with 0."""
    queries, positions = relevance.pairs[:, 0], np.arange(len(relevance))
    order = np.lexsort((-relevance.grades, queries))
    rank = positions - relevance.starts[queries]
    best = np.zeros((relevance.n_queries, k))
    kept = rank < k
    best[queries[kept], rank[kept]] = relevance.grades[order][kept]
    return best
