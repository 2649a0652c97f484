"""Build faiss and usearch indexes that search with a learned distance."""

import errno
import os
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from dimetric._arguments import check_types
from dimetric._arrays.validation import ignoring_overflow
from dimetric._files import atomic_write
from dimetric.export._map_chain import MapChain, map_chain, require_euclidean, steps_of
from dimetric.export._retrieval.inner_product import adapter_index
from dimetric.export._retrieval.sides import is_adapter
from dimetric.learners._inner_learner import last_step

__all__ = ["to_faiss", "to_usearch"]

INDEX_KINDS = ("flat", "hnsw")
HNSW_LINKS_PER_POINT = 32  # the default of faiss


@check_types
def to_faiss(
    model: BaseEstimator,
    X: Any = None,
    path: str | os.PathLike[str] | None = None,
    *,
    ids: Any = None,
    kind: str = "flat",
) -> Any:
    """Build a faiss index that applies the learned map to its queries.

    Parameters
    ----------
    model : estimator
        A fitted linear learner, a classifier that uses one, or a Pipeline of scalers and one of
        these. Or a fitted RetrievalAdapter.
    X : array-like of shape (n, n_features), optional
        The samples to index, or the documents of an adapter. By default, the training samples of a
        nearest-neighbour classifier.
    path : path, optional
        Path of the file to write, which ``faiss.read_index`` reads.
    ids : array-like of shape (n,), optional
        Integer identifiers of the samples, which searches return. By default, row indices.
    kind : {"flat", "hnsw"}, default="flat"
        "flat" is an exact search. "hnsw" searches a graph, which is much faster but approximate.

    Returns
    -------
    index : faiss.IndexPreTransform
        Index to search with samples, which it maps itself. It returns squared learned distances in
        float32. The index of an adapter is searched with queries, and returns cosines.

    Examples
    --------
    >>> from dimetric import LDA
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> index = to_faiss(LDA().fit(X, y), X)
    >>> distances, ids = index.search(X[:2].astype("float32"), 3)
    >>> ids[:, 0].tolist()
    [0, 1]
    """
    if is_adapter(model):
        index = _adapter_faiss(model, X, ids, kind)
    else:
        index = faiss_index(map_chain(model), *_samples_and_ids(model, X, ids), kind)
    if path is not None:
        write_faiss(index, path)
    return index


def faiss_index(chain: MapChain, Z: np.ndarray, ids: np.ndarray, kind: str) -> Any:
    """Build a faiss index of mapped samples that applies the learned map to its queries."""
    _check_kind(kind)
    faiss = _import_library("faiss", "faiss")
    linear = chain.linear("A faiss index")
    W, d = linear.matrix(), len(chain.features)
    # Centre the samples before and after the map: float32 is most precise near the origin.
    origin, centre = _single(linear.o), Z.mean(axis=0)
    centering, linear_map = faiss.CenteringTransform(d), faiss.LinearTransform(d, len(W), True)
    faiss.copy_array_to_vector(origin, centering.mean)
    faiss.copy_array_to_vector(_single(W).ravel(), linear_map.A)
    shift = linear.b - centre - W @ (linear.o - origin)
    faiss.copy_array_to_vector(_single(shift), linear_map.b)
    centering.is_trained = linear_map.is_trained = True
    if kind == "flat":
        search_index = faiss.IndexFlatL2(len(W))
    else:
        search_index = faiss.IndexHNSWFlat(len(W), HNSW_LINKS_PER_POINT)
    inner = faiss.IndexIDMap2(search_index)
    inner.add_with_ids(_single(Z - centre), ids)
    index = faiss.IndexPreTransform(linear_map, inner)
    index.prepend_transform(centering)
    return index


def _adapter_faiss(adapter: Any, documents: Any, ids: Any, kind: str) -> Any:
    """Build a faiss index of the documents of an adapter."""
    _check_kind(kind)
    faiss = _import_library("faiss", "faiss")
    if documents is None:
        raise ValueError(
            "X must be the vectors of the documents, which the adapter does not store."
        )
    Z = _single(adapter.transform_documents(documents))
    if kind == "flat":
        inner = faiss.IndexFlatIP(Z.shape[1])
    else:
        inner = faiss.IndexHNSWFlat(Z.shape[1], HNSW_LINKS_PER_POINT, faiss.METRIC_INNER_PRODUCT)
    return adapter_index(faiss, adapter, Z, checked_ids(ids, len(Z)), inner)


def _check_kind(kind: str) -> None:
    if kind not in INDEX_KINDS:
        raise ValueError(f"kind must be one of {', '.join(INDEX_KINDS)}, not {kind!r}.")


def write_faiss(index: Any, path: str | os.PathLike[str]) -> None:
    """Write a faiss index to a file."""
    faiss = _import_library("faiss", "faiss")
    # Python writes the bytes, because faiss only prints a message if the disk is full.
    with atomic_write(path) as temporary, open(temporary, "wb") as file:
        faiss.write_index(index, faiss.PyCallbackIOWriter(file.write))


@check_types
def to_usearch(
    model: BaseEstimator,
    X: Any = None,
    path: str | os.PathLike[str] | None = None,
    *,
    ids: Any = None,
) -> Any:
    """Build a usearch index of mapped samples.

    Parameters
    ----------
    model : estimator
        A fitted learner of any kind, a classifier that uses one, or a Pipeline that ends in one of
        these.
    X, ids
        As in :func:`to_faiss`.
    path : path, optional
        Path of the file to write, which ``usearch.index.Index.restore`` reads.

    Returns
    -------
    index : usearch.index.Index
        Index to search with mapped samples, ``model.transform(X)``. It returns squared learned
        distances in float32.

    Examples
    --------
    >>> from dimetric import LDA
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> lda = LDA().fit(X, y)
    >>> index = to_usearch(lda, X)
    >>> index.search(lda.transform(X[:1])[0].astype("float32"), 3).keys[0].item()
    0
    """
    index = usearch_index(*_samples_and_ids(model, X, ids))
    if path is not None:
        write_usearch(index, path)
    return index


def _single(values: np.ndarray) -> np.ndarray:
    """Return values in single precision. Raise if they are too large for it."""
    with ignoring_overflow():
        single = np.ascontiguousarray(values, dtype=np.float32)
    if not np.all(np.isfinite(single)):
        raise ValueError(
            "The index stores numbers in float32, but some mapped samples or weights of the map "
            "are too large for float32. Rescale the samples and fit the model again."
        )
    return single


def usearch_index(Z: np.ndarray, ids: np.ndarray) -> Any:
    """Build a usearch index of mapped samples."""
    usearch = _import_library("usearch.index", "usearch")
    index = usearch.Index(ndim=Z.shape[1], metric="l2sq", dtype="f32")
    # With several threads, the graph depends on timing, and searches miss some points.
    index.add(ids, _single(Z), threads=1)
    return index


def write_usearch(index: Any, path: str | os.PathLike[str]) -> None:
    """Write a usearch index to a file."""
    with atomic_write(path) as temporary:
        try:
            index.save(str(temporary))
        except RuntimeError as error:  # usearch does not say why it cannot write
            raise OSError(errno.EIO, str(error), str(temporary)) from error
        # usearch does not report an error if the disk is full.
        if temporary.stat().st_size < index.serialized_length:
            raise OSError(errno.EIO, "the file is truncated", str(temporary))


def map_samples(model: BaseEstimator, X: Any) -> np.ndarray:
    """Map samples with a model that ends in a learner or a classifier.

    Examples
    --------
    >>> from dimetric import KNNClassifier, PCA
    >>> X = np.array([[0.0, 1.0], [2.0, 3.0], [4.0, 8.0]])
    >>> model = KNNClassifier(1, learner=PCA(1)).fit(X, [0, 0, 1])
    >>> map_samples(model, X).shape
    (3, 1)
    """
    check_is_fitted(model)
    *before, last = steps_of(model)
    require_euclidean(last)
    for step in before:
        X = step.transform(X)
    if hasattr(last, "_mapped") and hasattr(last, "learner_"):
        return np.asarray(last._mapped(X))
    if not hasattr(last, "transform"):
        raise ValueError(f"{type(last).__name__} has no transform method.")
    return np.asarray(last.transform(X))


def stored_points(model: BaseEstimator) -> np.ndarray:
    """Return the mapped training samples of a nearest-neighbour classifier, in float64."""
    last = last_step(model)
    points = getattr(last, "_points", None)
    if points is None or not hasattr(last, "n_samples_fit_"):
        raise ValueError(
            f"Samples to index are required, because {type(last).__name__} does not store its "
            "training samples."
        )
    return np.asarray(points.toarray() if hasattr(points, "toarray") else points, dtype=np.float64)


def checked_ids(ids: Any, n: int) -> np.ndarray:
    """Return ids as an array of unique integers >= 0. By default, they are row indices."""
    if ids is None:
        return np.arange(n, dtype=np.int64)
    ids = np.asarray(ids)
    if ids.shape != (n,) or ids.dtype.kind not in "iu":
        raise ValueError(
            f"ids must be integers, one for each of the {n} samples, but they have dtype "
            f"{ids.dtype} and shape {ids.shape}. Keep string ids in a separate list."
        )
    if len(np.unique(ids)) < len(ids) or np.min(ids, initial=0) < 0:
        raise ValueError("ids must be unique and non-negative.")
    return ids.astype(np.int64)


def _samples_and_ids(model: BaseEstimator, X: Any, ids: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the mapped samples in float64, and their ids."""
    if X is not None:
        Z = np.asarray(map_samples(model, X), dtype=np.float64)
        return Z, checked_ids(ids, len(Z))
    Z = stored_points(model)
    # Samples of weight 0 are not stored, but the ids are row indices of all samples.
    ids = last_step(model)._rows_used() if ids is None else ids
    return Z, checked_ids(ids, len(Z))


def _import_library(module: str, package: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        raise ImportError(
            f"A {package} index requires the package {package}: pip install 'dimetric[ann]'."
        ) from None
