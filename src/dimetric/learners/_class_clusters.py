"""k-means clustering within each class."""

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from dimetric._arrays.blas_limit import limited_threads
from dimetric._arrays.namespaces import Array, to_host
from dimetric._arrays.random_state import random_generator
from dimetric._arrays.row_order import canonical_order
from dimetric._names import MAX_LISTED_CLASSES
from dimetric._warnings import warn

N_STARTS = 10  # k-means runs for each class; a single run often ends in a poor local optimum

ONE_THREAD_SAMPLES = 20_000  # k-means of so few samples gains little from several threads


def class_clusters(
    X: Array,
    codes: np.ndarray,
    n_centroids: Any,
    classes: np.ndarray,
    random_state: Any,
    weights: np.ndarray | None = None,
) -> np.ndarray:
    """Cluster the samples of each class by k-means, and return the cluster of each sample.

    k-means runs from several random starts. The clusters with the smallest weighted sum of squared
    distances to their means are returned.

    Parameters
    ----------
    X : array of shape (n, d)
        Samples.
    codes : ndarray of shape (n,)
        Class of each sample, as integers from 0.
    n_centroids : int or array-like of shape (n_classes,)
        Number of clusters per class: one number for all classes, or one per class. If a class has
        fewer distinct samples, a warning is issued and each distinct sample is a cluster.
    classes : ndarray of shape (n_classes,)
        Class labels.
    random_state : int, RandomState or None
        Seed of k-means.
    weights : ndarray of shape (n,), optional
        Weights of the samples. By default, all weights are 1.

    Returns
    -------
    clusters : ndarray of shape (n,)
        Cluster of each sample, numbered from 0 in order of class.

    Examples
    --------
    >>> X, codes = np.array([[0.0], [9.0], [1.0], [5.0]]), np.array([0, 0, 0, 1])
    >>> classes = np.array(["a", "b"])
    >>> np.unique(class_clusters(X, codes, [2, 1], classes, 0)[codes == 1])
    array([2])
    """
    wanted = _centroids_per_class(n_centroids, len(classes))
    # All classes use the same seed, so the clusters of a class do not depend on other classes.
    seed = random_generator(random_state).randint(np.iinfo(np.int32).max)
    A = to_host(X).astype(np.float64, copy=False)  # sparse samples stay sparse
    order = canonical_order(A, codes)
    members = np.split(order, np.cumsum(np.bincount(codes))[:-1])
    clusters, n_clusters = np.empty_like(codes), np.zeros_like(wanted)
    is_small = max(map(len, members)) <= ONE_THREAD_SAMPLES
    with limited_threads(1 if is_small else None):
        for c, rows in enumerate(members):
            w = None if weights is None else weights[rows]
            labels = _k_means(A[rows], int(wanted[c]), seed, w)
            clusters[rows] = np.sum(n_clusters) + labels
            n_clusters[c] = np.max(labels) + 1
    short = np.flatnonzero(n_clusters < wanted)
    if len(short):
        names = classes[short[:MAX_LISTED_CLASSES]].tolist()
        warn(
            f"{len(short)} of {len(wanted)} classes have fewer distinct samples than n_centroids: "
            f"{names}. Each distinct sample of these classes becomes a centroid.",
        )
    return clusters


def _centroids_per_class(n_centroids: Any, n_classes: int) -> np.ndarray:
    """Return the requested number of centroids of each class."""
    wanted = np.asarray(n_centroids)
    if wanted.shape not in ((), (n_classes,)):
        raise ValueError(
            f"n_centroids has shape {wanted.shape}, but must be a single integer, or one integer "
            f"for each of the {n_classes} classes."
        )
    if wanted.dtype.kind not in "iu" or np.any(wanted < 1):
        raise ValueError(f"n_centroids={n_centroids} must contain integers of at least 1.")
    return np.broadcast_to(wanted.astype(np.int64), n_classes)


def _k_means(X: np.ndarray, n_clusters: int, seed: int, weights: np.ndarray | None) -> np.ndarray:
    """Return the best k-means cluster of each sample, numbered from 0."""
    n_clusters = min(n_clusters, X.shape[0])
    if n_clusters == 1:
        return np.zeros(X.shape[0], dtype=np.int64)
    from sklearn.cluster import KMeans  # slow to import

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # issued for repeated samples
        model = KMeans(n_clusters, n_init=N_STARTS, random_state=seed)
        labels = model.fit(X, sample_weight=weights).labels_
    return np.unique(labels, return_inverse=True)[1]
