"""Samples under a learned distance in a search index: faiss and usearch."""

import os
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from dimetric._files import atomic
from dimetric.export._plan import Plan, plan_of

__all__ = ["to_faiss", "to_usearch"]

KINDS = ("flat", "hnsw")
LINKS = 32  # of a point in the graph of "hnsw"


def to_faiss(
    model: BaseEstimator,
    X: Any = None,
    path: str | os.PathLike[str] | None = None,
    *,
    ids: Any = None,
    kind: str = "flat",
) -> Any:
    """Return a faiss index that maps samples itself: it is asked with samples as they are.

    Parameters
    ----------
    model : estimator
        A fitted linear learner, a classifier over one, or a Pipeline of scalers and one of these.
    X : array-like of shape (n, n_features), optional
        The samples to find. None: those that a nearest-neighbour classifier was fitted to.
    path : path, optional
        File to write, for ``faiss.read_index``.
    ids : array-like of shape (n,), optional
        Integers by which samples are found; by default their row numbers.
    kind : {"flat", "hnsw"}, default="flat"
        Exact search, or one in a graph, which takes a tiny part of the time and finds nearly all.

    Returns
    -------
    index : faiss.IndexPreTransform
        Its distances are squares of the learned ones, in float32.

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
    plan = plan_of(model)
    index = faiss_index(plan, *_vectors(model, X, ids), kind)
    if path is not None:
        write_faiss(index, path)
    return index


def faiss_index(plan: Plan, Z: np.ndarray, ids: np.ndarray, kind: str) -> Any:
    """Return a faiss index of mapped samples, which maps those that it is asked with."""
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}, not {kind!r}.")
    faiss = _package("faiss", "faiss")
    linear = plan.linear("A faiss index")
    W, d = linear.matrix(), len(plan.features)
    # Distances do not depend on where the origin is, but their digits do: it is among the samples,
    # before the map and after it.
    origin, centre = linear.o.astype(np.float32), Z.mean(axis=0)
    moving, mapping = faiss.CenteringTransform(d), faiss.LinearTransform(d, len(W), True)
    faiss.copy_array_to_vector(origin, moving.mean)
    faiss.copy_array_to_vector(W.astype(np.float32).ravel(), mapping.A)
    shift = linear.b - centre - W @ (linear.o - origin)
    faiss.copy_array_to_vector(shift.astype(np.float32), mapping.b)
    moving.is_trained = mapping.is_trained = True
    flat = faiss.IndexFlatL2(len(W)) if kind == "flat" else faiss.IndexHNSWFlat(len(W), LINKS)
    inner = faiss.IndexIDMap2(flat)
    inner.add_with_ids(np.ascontiguousarray(Z - centre, dtype=np.float32), ids)
    index = faiss.IndexPreTransform(mapping, inner)
    index.prepend_transform(moving)
    return index


def write_faiss(index: Any, path: str | os.PathLike[str]) -> None:
    """Write an index, all or nothing."""
    with atomic(path) as temporary:
        _package("faiss", "faiss").write_index(index, str(temporary))


def to_usearch(
    model: BaseEstimator,
    X: Any = None,
    path: str | os.PathLike[str] | None = None,
    *,
    ids: Any = None,
) -> Any:
    """Return a usearch index of mapped samples: it is asked with ``model.transform(new)``.

    Parameters
    ----------
    model : estimator
        Any fitted learner, a classifier over one, or a Pipeline that ends in one of these.
    X : array-like of shape (n, n_features), optional
        The samples to find. None: those that a nearest-neighbour classifier was fitted to.
    path : path, optional
        File to write, for ``usearch.index.Index.restore``.
    ids : array-like of shape (n,), optional
        Integers by which samples are found; by default their row numbers.

    Returns
    -------
    index : usearch.index.Index
        Its distances are squares of the learned ones, in float32.

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
    index = usearch_index(*_vectors(model, X, ids))
    if path is not None:
        write_usearch(index, path)
    return index


def usearch_index(Z: np.ndarray, ids: np.ndarray) -> Any:
    """Return a usearch index of mapped samples."""
    usearch = _package("usearch.index", "usearch")
    index = usearch.Index(ndim=Z.shape[1], metric="l2sq", dtype="f32")
    # Several threads link points by chance, and lose some of them.
    index.add(ids, np.ascontiguousarray(Z, dtype=np.float32), threads=1)
    return index


def write_usearch(index: Any, path: str | os.PathLike[str]) -> None:
    """Write an index, all or nothing."""
    with atomic(path) as temporary:
        index.save(str(temporary))


def mapped(model: BaseEstimator, X: Any) -> np.ndarray:
    """Return samples as a model maps them, whether it ends in a map or in a classifier.

    Examples
    --------
    >>> from dimetric import KNNClassifier, PCA
    >>> X = np.array([[0.0, 1.0], [2.0, 3.0], [4.0, 8.0]])
    >>> model = KNNClassifier(1, learner=PCA(1)).fit(X, [0, 0, 1])
    >>> mapped(model, X).shape
    (3, 1)
    """
    check_is_fitted(model)
    steps = getattr(model, "steps", [("", model)])
    for _, step in steps[:-1]:
        X = X if step in (None, "passthrough") else step.transform(X)
    last = steps[-1][1]
    if hasattr(last, "_mapped") and hasattr(last, "learner_"):
        return np.asarray(last._mapped(X))
    if not hasattr(last, "transform"):
        raise ValueError(f"{type(last).__name__} maps no samples: it has no transform.")
    return np.asarray(last.transform(X))


def kept_points(model: BaseEstimator) -> np.ndarray:
    """Return the mapped samples that a nearest-neighbour classifier was fitted to, in float64."""
    last = getattr(model, "steps", [("", model)])[-1][1]
    points = getattr(last, "_points", None)
    if points is None or not hasattr(last, "n_samples_fit_"):
        raise ValueError(
            f"Give the samples to find: {type(last).__name__} has not kept any of its own."
        )
    return np.asarray(points.toarray() if hasattr(points, "toarray") else points, dtype=np.float64)


def checked_ids(ids: Any, n: int) -> np.ndarray:
    """Return ids as integers, row numbers if there are none."""
    if ids is None:
        return np.arange(n, dtype=np.int64)
    ids = np.asarray(ids)
    if ids.shape != (n,) or ids.dtype.kind not in "iu":
        raise ValueError(
            f"ids must be integers, one for each of {n} samples; they have dtype {ids.dtype} and "
            f"shape {ids.shape}. An index knows no texts: keep a list of them beside it."
        )
    if len(np.unique(ids)) < len(ids) or np.min(ids, initial=0) < 0:
        raise ValueError("ids must be all different, and not negative.")
    return ids.astype(np.int64)


def _vectors(model: BaseEstimator, X: Any, ids: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return the mapped samples, in float64, and their ids."""
    Z = kept_points(model) if X is None else np.asarray(mapped(model, X), dtype=np.float64)
    return Z, checked_ids(ids, len(Z))


def _package(name: str, wanted: str) -> Any:
    try:
        return import_module(name)
    except ImportError:
        raise ImportError(
            f"An index of {wanted} needs its package: pip install 'dimetric[ann]'."
        ) from None
