"""The clusters of samples in blocks: their classes, or clusters of each class by k-means."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dimetric._arrays.blocks import row_blocks
from dimetric._arrays.squared_distances import squared_distances
from dimetric._arrays.validation import rescale_for_squares
from dimetric.blocks.block import Block
from dimetric.blocks.sample import sample_rows
from dimetric.blocks.source import Source
from dimetric.learners._class_clusters import class_clusters
from dimetric.linalg.reductions import JointSum
from dimetric.objectives.centroids import group_means

SAMPLE_ROWS = 20_000  # rows for the start of k-means, divided equally between the classes
MIN_CLASS_ROWS = 1000  # of each class, for the start of k-means
MAX_STEPS = 50  # passes of k-means over all samples
TOL = 1e-4  # of the mean squared step of the centroids, relative to the mean variance
MAX_ROWS = 2**15  # samples whose distances to the centroids are in memory


@dataclass(frozen=True)
class ClusteredRows:
    """Returns the labelled samples of a block, with their clusters. It is sent to all blocks.

    Attributes
    ----------
    classes : ndarray of shape (n_classes,)
        The sorted classes.
    class_weights : ndarray of shape (n_classes,)
        Factors of the sample weights of each class. The mean of all weights is 1.
    has_weights : bool
        Whether samples have different weights.
    centroids : ndarray or None
        Centroids of the clusters. A sample is in the cluster of its class with the nearest
        centroid. None if the classes are the clusters.
    cluster_class : ndarray or None
        Class code of each centroid.
    """

    classes: np.ndarray
    class_weights: np.ndarray
    has_weights: bool
    centroids: np.ndarray | None = None
    cluster_class: np.ndarray | None = None

    def of(self, block: Block) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """Return the samples, their clusters, and their weights if they have different ones."""
        assert block.y is not None
        codes = np.minimum(np.searchsorted(self.classes, block.y), len(self.classes) - 1)
        used = self.classes[codes] == block.y  # the others are unlabelled, or of weight 0
        if block.weights is not None:
            used &= block.weights > 0
        X, weights = block.X, block.weights
        if not np.all(used):
            X, codes = X[used], codes[used]
            weights = None if weights is None else weights[used]
        if self.has_weights:
            weights = self.class_weights[codes] * (1.0 if weights is None else weights)
        return X, self._clusters(X, codes), weights if self.has_weights else None

    def _clusters(self, X: np.ndarray, codes: np.ndarray) -> np.ndarray:
        if self.centroids is None or self.cluster_class is None:
            return codes
        centre = np.mean(self.centroids, axis=0)
        clusters = np.empty(len(X), dtype=np.int64)
        for rows in row_blocks(len(X), MAX_ROWS):
            D = squared_distances(X[rows].astype(np.float64) - centre, self.centroids - centre)
            D[codes[rows, None] != self.cluster_class] = np.inf
            clusters[rows] = np.argmin(D, axis=1)
        return clusters


@dataclass(frozen=True)
class Clusters:
    """Clusters of samples in blocks.

    Attributes
    ----------
    rows : ClusteredRows
        Assigns samples to clusters.
    centroids : ndarray of shape (m, d)
        Weighted means of the clusters, in float64.
    cluster_class : ndarray of shape (m,)
        Class code of each cluster, ascending.
    """

    rows: ClusteredRows
    centroids: np.ndarray
    cluster_class: np.ndarray


def k_means_clusters(
    source: Source, rows: ClusteredRows, n_centroids: Any, random_state: Any, variance: float
) -> Clusters:
    """Cluster the samples of each class by k-means.

    k-means starts from the clusters of a random sample of each class, which do not depend on the
    blocks. If the sample contains all rows, the clusters are those of
    :func:`~dimetric.learners._class_clusters.class_clusters`.

    Parameters
    ----------
    source : Source
        The samples.
    rows : ClusteredRows
        Returns the samples of a block, with their class codes as clusters.
    n_centroids, random_state
        As in :func:`~dimetric.learners._class_clusters.class_clusters`.
    variance : float
        Mean variance of the features, for the stopping criterion.
    """
    size = max(MIN_CLASS_ROWS, SAMPLE_ROWS // len(rows.classes))
    sample = sample_rows(source, size, seed=0, by_class=True)
    X, codes, weights = rows.of(Block(sample.X, sample.y, sample.weights, None))
    A = rescale_for_squares(X)[0]
    clusters = class_clusters(A, codes, n_centroids, rows.classes, random_state, weights)
    cluster_class = np.empty(np.max(clusters) + 1, dtype=np.int64)
    cluster_class[clusters] = codes
    centroids = group_means(X.astype(np.float64), clusters, len(cluster_class), weights)
    for _ in range(MAX_STEPS):
        rows = replace(rows, centroids=centroids, cluster_class=cluster_class)
        totals, sums = source.reduce(_step, rows).parts
        step = sums / np.where(totals > 0, totals, 1.0)[:, None]
        centroids = centroids + step
        if np.mean(step**2) <= TOL * variance:
            break
    return Clusters(rows, centroids, cluster_class)


def class_means(source: Source, rows: ClusteredRows) -> tuple[np.ndarray, float]:
    """Return the weighted means of the classes, and the mean variance of the features."""
    C, d = len(rows.classes), source.n_features
    zeros = replace(rows, centroids=np.zeros((C, d)), cluster_class=np.arange(C))
    totals, sums = source.reduce(_step, zeros).parts
    means = sums / totals[:, None]
    squares = source.reduce(_squares, rows, np.average(means, axis=0, weights=totals))
    return means, float(squares / np.sum(totals) / d)


def _squares(block: Block, rows: ClusteredRows, mean: np.ndarray) -> float:
    X, _, weights = rows.of(block)
    squares = np.sum((X.astype(np.float64) - mean) ** 2, axis=1)
    return float(np.sum(squares) if weights is None else weights @ squares)


def _step(block: Block, rows: ClusteredRows) -> JointSum:
    """Return the weight of each cluster, and the sum of the differences to its centroid."""
    assert rows.centroids is not None
    X, clusters, weights = rows.of(block)
    m, d = rows.centroids.shape
    totals, sums = np.zeros(m), np.zeros((m, d))
    for part in row_blocks(len(X), MAX_ROWS):
        differences = X[part].astype(np.float64) - rows.centroids[clusters[part]]
        member = (clusters[part, None] == np.arange(m)).astype(np.float64)
        member = member if weights is None else weights[part, None] * member
        totals += np.sum(member, axis=0)
        sums += member.T @ differences
    return JointSum((totals, sums))
