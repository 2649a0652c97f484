"""Build faiss indexes that rank documents by the cosine of mapped vectors."""

from typing import Any

import numpy as np

from dimetric.export._retrieval.sides import side_matrix


def adapter_index(faiss: Any, adapter: Any, Z: np.ndarray, ids: np.ndarray, inner: Any) -> Any:
    """Return a faiss index of mapped documents that maps its queries and normalises them.

    Parameters
    ----------
    faiss : module
        The library.
    adapter : RetrievalAdapter
        A fitted adapter.
    Z : ndarray of shape (n, n_components)
        Mapped documents, which are unit vectors, in float32.
    ids : ndarray of shape (n,)
        Their integer identifiers.
    inner : faiss index
        An empty index that ranks by the inner product.
    """
    W = side_matrix(adapter, "query")
    linear_map = faiss.LinearTransform(W.shape[1], len(W), False)
    faiss.copy_array_to_vector(W.astype(np.float32).ravel(), linear_map.A)
    linear_map.is_trained = True
    named = faiss.IndexIDMap2(inner)
    named.add_with_ids(Z, ids)
    index = faiss.IndexPreTransform(faiss.NormalizationTransform(len(W), 2.0), named)
    index.prepend_transform(linear_map)
    return index
