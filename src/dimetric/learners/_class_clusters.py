"""Clusters within classes, by k-means; their means are centroids."""

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from dimetric._arrays.namespaces import Array, to_host
from dimetric._arrays.row_order import canonical_order


def class_clusters(
    X: Array, codes: np.ndarray, n_centroids: Any, classes: np.ndarray, random_state: Any
) -> np.ndarray:
    """Return the cluster of every sample, by k-means within its class.

    Parameters
    ----------
    X : array of shape (n, d)
        Samples.
    codes : ndarray of shape (n,)
        Their classes, as integers from 0.
    n_centroids : int or array-like of shape (n_classes,)
        Clusters of every class, or of each class. A class with fewer distinct samples gets one
        for each of them, with a warning.
    classes : ndarray of shape (n_classes,)
        Labels.
    random_state : int, RandomState or None
        Seed of k-means.

    Returns
    -------
    clusters : ndarray of shape (n,)
        Numbered from 0 in the order of the classes.

    Examples
    --------
    >>> X, codes = np.array([[0.0], [9.0], [1.0], [5.0]]), np.array([0, 0, 0, 1])
    >>> classes = np.array(["a", "b"])
    >>> np.unique(class_clusters(X, codes, [2, 1], classes, 0)[codes == 1])
    array([2])
    """
    wanted = _centroids_per_class(n_centroids, len(classes))
    # One seed for all classes, so that a class's clusters do not depend on the other classes.
    seed = check_random_state(random_state).randint(np.iinfo(np.int32).max)
    A = to_host(X).astype(np.float64, copy=False)
    order = canonical_order(A, codes)
    members = np.split(order, np.cumsum(np.bincount(codes))[:-1])
    clusters, found = np.empty_like(codes), np.zeros_like(wanted)
    for c, rows in enumerate(members):
        labels = _k_means(A[rows], int(wanted[c]), seed)
        clusters[rows] = np.sum(found) + labels
        found[c] = np.max(labels) + 1
    short = np.flatnonzero(found < wanted)
    if len(short):
        warnings.warn(
            f"{len(short)} of {len(wanted)} classes have fewer distinct samples than "
            f"n_centroids, and get one centroid for each: {classes[short[:5]].tolist()}.",
            stacklevel=4,
        )
    return clusters


def _centroids_per_class(n_centroids: Any, n_classes: int) -> np.ndarray:
    """Return the number of centroids that each class is to have."""
    wanted = np.asarray(n_centroids)
    if wanted.shape not in ((), (n_classes,)):
        raise ValueError(
            f"n_centroids has shape {wanted.shape}; it must be one number, or one for each of "
            f"the {n_classes} classes."
        )
    if wanted.dtype.kind not in "iu" or np.any(wanted < 1):
        raise ValueError(f"n_centroids={n_centroids} must be integers of at least 1.")
    return np.broadcast_to(wanted.astype(np.int64), n_classes)


def _k_means(X: np.ndarray, n_clusters: int, seed: int) -> np.ndarray:
    """Return the cluster of every sample, numbered from 0, by k-means."""
    n_clusters = min(n_clusters, len(X))
    if n_clusters == 1:
        return np.zeros(len(X), dtype=np.int64)
    from sklearn.cluster import KMeans  # takes a while to import: only where it is used

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of samples that are repeated
        labels = KMeans(n_clusters, random_state=seed).fit(X).labels_
    return np.unique(labels, return_inverse=True)[1]
