"""The matrices of a fitted adapter."""

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from dimetric._arrays.namespaces import to_host
from dimetric.learners.retrieval_adapter import RetrievalAdapter

SIDES = ("query", "document")


def is_adapter(model: Any) -> bool:
    """Return whether a model is a RetrievalAdapter."""
    return isinstance(model, RetrievalAdapter)


def require_adapter(model: Any, exporter: str) -> RetrievalAdapter:
    """Return a model that is a fitted adapter, or raise an error that names the exporter."""
    if not isinstance(model, RetrievalAdapter):
        raise ValueError(f"{exporter} requires a RetrievalAdapter, not {type(model).__name__}.")
    check_is_fitted(model)
    return model


def side_matrix(adapter: RetrievalAdapter, side: str) -> np.ndarray:
    """Return the matrix that maps queries or documents, of shape (n_components, n_features)."""
    check_is_fitted(adapter)
    if side not in SIDES:
        raise ValueError(f"side must be 'query' or 'document', not {side!r}.")
    components = adapter.query_components_ if side == "query" else adapter.document_components_
    return np.asarray(to_host(components), dtype=np.float64)


def maps_documents(adapter: RetrievalAdapter) -> bool:
    """Return whether documents are mapped. Otherwise, their index need not change."""
    V = side_matrix(adapter, "document")
    return V.shape[0] != V.shape[1] or not np.array_equal(V, np.eye(len(V)))


def checked_side(model: Any, side: str | None) -> str:
    """Return the side of an adapter to export. Raise if another model is given a side."""
    if side is None:
        return "query"
    if not is_adapter(model):
        raise ValueError(f"side={side!r} requires a RetrievalAdapter, not {type(model).__name__}.")
    return side
