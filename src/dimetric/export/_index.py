"""Put samples into a search index under a learned distance: faiss and usearch."""

import os
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from dimetric._files import atomic_write
from dimetric.export._plan import Plan, plan_of, steps_of
from dimetric.learners._inner_learner import last_step

__all__ = ["to_faiss", "to_usearch"]

KINDS = ("flat", "hnsw")
HNSW_LINKS = 32  # of each point in the graph


def to_faiss(
    model: BaseEstimator,
    X: Any = None,
    path: str | os.PathLike[str] | None = None,
    *,
    ids: Any = None,
    kind: str = "flat",
) -> Any:
    """Return a faiss index that maps its queries itself: ask it with unmapped samples.

    Parameters
    ----------
    model : estimator
        A fitted linear learner, a classifier over one, or a Pipeline of scalers and one of these.
    X : array-like of shape (n, n_features), optional
        The samples to find; None takes those that a nearest-neighbour classifier was fitted to.
    path : path, optional
        File to write, for ``faiss.read_index``.
    ids : array-like of shape (n,), optional
        Integers that the index returns for the samples; by default their row numbers.
    kind : {"flat", "hnsw"}, default="flat"
        Exact search, or search in a graph, which is much faster and misses a few neighbours.

    Returns
    -------
    index : faiss.IndexPreTransform
        It returns squares of the learned distances, in float32.

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
    """Return a faiss index of mapped samples, which maps its queries itself."""
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}, not {kind!r}.")
    faiss = _package("faiss", "faiss")
    linear = plan.linear("A faiss index")
    W, d = linear.matrix(), len(plan.features)
    # Rounding is smallest near the origin: it is moved among the samples, before and after the map.
    origin, centre = linear.o.astype(np.float32), Z.mean(axis=0)
    moving, mapping = faiss.CenteringTransform(d), faiss.LinearTransform(d, len(W), True)
    faiss.copy_array_to_vector(origin, moving.mean)
    faiss.copy_array_to_vector(W.astype(np.float32).ravel(), mapping.A)
    shift = linear.b - centre - W @ (linear.o - origin)
    faiss.copy_array_to_vector(shift.astype(np.float32), mapping.b)
    moving.is_trained = mapping.is_trained = True
    flat = faiss.IndexFlatL2(len(W)) if kind == "flat" else faiss.IndexHNSWFlat(len(W), HNSW_LINKS)
    inner = faiss.IndexIDMap2(flat)
    inner.add_with_ids(np.ascontiguousarray(Z - centre, dtype=np.float32), ids)
    index = faiss.IndexPreTransform(mapping, inner)
    index.prepend_transform(moving)
    return index


def write_faiss(index: Any, path: str | os.PathLike[str]) -> None:
    """Write an index of faiss to a file."""
    with atomic_write(path) as temporary:
        _package("faiss", "faiss").write_index(index, str(temporary))


def to_usearch(
    model: BaseEstimator,
    X: Any = None,
    path: str | os.PathLike[str] | None = None,
    *,
    ids: Any = None,
) -> Any:
    """Return a usearch index of mapped samples: ask it with ``model.transform(new)``.

    Parameters
    ----------
    model : estimator
        Any fitted learner, a classifier over one, or a Pipeline that ends in one of these.
    X, ids
        As in :func:`to_faiss`.
    path : path, optional
        File to write, for ``usearch.index.Index.restore``.

    Returns
    -------
    index : usearch.index.Index
        It returns squares of the learned distances, in float32.

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
    # With several threads the graph depends on timing, and some points are never found.
    index.add(ids, np.ascontiguousarray(Z, dtype=np.float32), threads=1)
    return index


def write_usearch(index: Any, path: str | os.PathLike[str]) -> None:
    """Write an index of usearch to a file."""
    with atomic_write(path) as temporary:
        index.save(str(temporary))


def mapped(model: BaseEstimator, X: Any) -> np.ndarray:
    """Return samples under the map of a model, which may end in a learner or a classifier.

    Examples
    --------
    >>> from dimetric import KNNClassifier, PCA
    >>> X = np.array([[0.0, 1.0], [2.0, 3.0], [4.0, 8.0]])
    >>> model = KNNClassifier(1, learner=PCA(1)).fit(X, [0, 0, 1])
    >>> mapped(model, X).shape
    (3, 1)
    """
    check_is_fitted(model)
    *before, last = steps_of(model)
    for step in before:
        X = step.transform(X)
    if hasattr(last, "_mapped") and hasattr(last, "learner_"):
        return np.asarray(last._mapped(X))
    if not hasattr(last, "transform"):
        raise ValueError(f"{type(last).__name__} maps no samples: it has no transform.")
    return np.asarray(last.transform(X))


def kept_points(model: BaseEstimator) -> np.ndarray:
    """Return the mapped samples that a nearest-neighbour classifier was fitted to, in float64."""
    last = last_step(model)
    points = getattr(last, "_points", None)
    if points is None or not hasattr(last, "n_samples_fit_"):
        raise ValueError(
            f"Give the samples to find: {type(last).__name__} has not kept any of its own."
        )
    return np.asarray(points.toarray() if hasattr(points, "toarray") else points, dtype=np.float64)


def checked_ids(ids: Any, n: int) -> np.ndarray:
    """Return ids as integers; row numbers if none are given."""
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
