"""Rank documents by cosine."""

from typing import Any

import numpy as np

from dimetric._arguments import check_types
from dimetric._arrays.namespaces import Array, to_host
from dimetric.learners._retrieval.vectors import unit_vectors
from dimetric.neighbors.ranking import ranked_documents


@check_types
def rank_documents(
    queries: Array, documents: Array, n_neighbors: int = 10, *, own_documents: Any = None
) -> tuple[Array, Array]:
    """Return the documents with the highest cosine for each query.

    Among documents with equal scores, the first one is ranked first. Memory is that of a block of
    queries, not of all pairs.

    Parameters
    ----------
    queries, documents : array-like of shape (n_queries, n_features), (n_documents, n_features)
        Vectors, of any length but 0. Documents are converted to the library, dtype and device of
        the queries.
    n_neighbors : int, default=10
        Number of documents for each query, at most all of them.
    own_documents : array-like of shape (n_queries,), optional
        Position of the document that is the query itself, or -1. A query does not retrieve it. With
        a :class:`dimetric.supervision.Relevance`, pass its attribute of that name.

    Returns
    -------
    scores : array of shape (n_queries, n_neighbors)
        Cosines, descending.
    positions : array of shape (n_queries, n_neighbors)
        Positions of the documents.

    Examples
    --------
    >>> scores, positions = rank_documents([[1.0, 0.0]], [[0.0, 2.0], [3.0, 0.0], [1.0, 1.0]], 2)
    >>> positions
    array([[1, 2]])
    """
    if n_neighbors < 1:
        raise ValueError(f"n_neighbors={n_neighbors} must be at least 1.")
    Q, D = unit_vectors(queries, documents)
    if own_documents is not None:
        own_documents = np.asarray(to_host(own_documents))
        if own_documents.shape != (Q.shape[0],):
            raise ValueError(f"own_documents must have shape ({Q.shape[0]},).")
    return ranked_documents(Q, D, n_neighbors, own_documents)
