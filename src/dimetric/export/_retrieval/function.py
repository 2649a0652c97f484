"""Export adapters as Python functions on vectors."""

from collections.abc import Callable
from typing import Any

import numpy as np

import dimetric
from dimetric._arguments import check_types
from dimetric.export._retrieval.sides import require_adapter, side_matrix

__all__ = ["to_function"]

MODULE_TEMPLATE = '''\
"""Maps of embeddings for retrieval, exported by dimetric {version}: {d} features.

map_queries and map_documents take one vector or a list of vectors, and return unit vectors as
lists. Rank documents by the inner product. This module needs only NumPy.
"""

import base64

import numpy as np


def _array(text, dtype, *shape):
    return np.frombuffer(base64.b64decode(text), dtype=dtype).reshape(shape)


W = {W}
V = {V}


def map_queries(vectors):
    """Map the vector of a query, or several, with W."""
    return _unit(vectors, W)


def map_documents(vectors):
    """Map the vector of a document, or several, with V."""
    return _unit(vectors, V)


def _unit(vectors, components):
    X = np.asarray(vectors, dtype=np.float64)
    if X.shape[-1:] != components.shape[1:]:
        raise ValueError(f"A vector must have {{components.shape[1]}} numbers, not {{X.shape}}.")
    Z = X @ components.T
    norms = np.linalg.norm(Z, axis=-1, keepdims=True)
    return (Z / np.where(norms > 0, norms, 1)).tolist()
'''


@check_types
def to_function(adapter: Any, side: str = "query") -> Callable[[Any], list[Any]]:
    """Return a function that maps embeddings of queries or documents.

    The function takes one vector, as a list or array, and returns a unit vector as a list of
    floats, or a list of such lists for several vectors. So it fits between an embedding model and
    a vector database: clients of qdrant take its results as query vectors, and it can wrap
    ``embed_query`` and ``embed_documents`` of an embedding class of LangChain.

    Parameters
    ----------
    adapter : RetrievalAdapter
        A fitted adapter.
    side : {"query", "document"}, default="query"
        Which vectors to map.

    Examples
    --------
    >>> import numpy as np
    >>> from dimetric.learners import RetrievalAdapter
    >>> X = np.random.RandomState(0).randn(20, 3)
    >>> pairs = [[i, i] for i in range(20)]
    >>> adapter = RetrievalAdapter(reg=1.0).fit(X, X, pairs)
    >>> map_query = to_function(adapter)
    >>> vector = map_query([3.0, 0.0, 4.0])
    >>> len(vector), round(sum(x * x for x in vector), 6)
    (3, 1.0)
    """
    components = side_matrix(require_adapter(adapter, "A function"), side)

    def map_vectors(vectors: Any) -> list[Any]:
        """Map one vector or several vectors to unit vectors."""
        X = np.asarray(vectors, dtype=np.float64)
        if X.shape[-1:] != components.shape[1:]:
            raise ValueError(
                f"A vector must have {components.shape[1]} numbers, but the shape is {X.shape}."
            )
        Z = X @ components.T
        norms = np.linalg.norm(Z, axis=-1, keepdims=True)
        return (Z / np.where(norms > 0, norms, 1)).tolist()

    return map_vectors


def module_source(adapter: Any, array_code: Callable[[np.ndarray], str]) -> str:
    """Return the source of a module that maps queries and documents.

    Parameters
    ----------
    adapter : RetrievalAdapter
        A fitted adapter.
    array_code : callable
        Returns the code of an array.
    """
    W, V = side_matrix(adapter, "query"), side_matrix(adapter, "document")
    return MODULE_TEMPLATE.format(
        version=dimetric.__version__, d=W.shape[1], W=array_code(W), V=array_code(V)
    )
