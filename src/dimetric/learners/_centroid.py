"""Base class of metric learners for nearest-centroid classification."""

from dataclasses import replace
from typing import Any

import numpy as np

from dimetric._arrays.blas_limit import one_blas_thread
from dimetric._arrays.namespaces import Array
from dimetric._compat import Progress
from dimetric.blocks.source import Source
from dimetric.learners._block_clusters import ClusteredRows, Clusters
from dimetric.learners._centroid_blocks import block_problem
from dimetric.learners._fitting.mean_loss import MeanLossMetric
from dimetric.learners._fitting.problem import Problem
from dimetric.linalg.scatter import Moments
from dimetric.objectives.centroids import CentroidObjective, group_means
from dimetric.supervision.labels import Labels, Supervision, checked_labels


class CentroidMetric(MeanLossMetric[CentroidObjective]):
    """A learner that maximises the likelihood of the classes given distances to centroids.

    The method ``_clusters`` assigns samples to centroids. By default, each class is one cluster.
    """

    centroids_: Array
    n_centroids_: tuple[int, ...]

    _learns_from_blocks = True
    _maximises = True
    _accepts_weights = True
    # Chosen by experiment, see docs/results/defaults.md.
    _reg_factor = 0.1
    _early_decrease = 0.0005

    @property
    def centroid_classes_(self) -> np.ndarray:
        """Class label of each centroid."""
        return np.repeat(self.classes_, self.n_centroids_)

    def _clusters(self, X: Array, labels: Labels) -> np.ndarray:
        """Return the cluster of each sample. Clusters are numbered from 0 in order of class."""
        return labels.codes

    def _block_clusters(self, source: Source, rows: ClusteredRows, moments: Moments) -> Clusters:
        """Return the clusters of samples in blocks, given the moments of the classes."""
        return Clusters(rows, np.asarray(moments.means), np.arange(len(moments.means)))

    def _fit_blocks(self, source: Source, progress: Progress) -> dict[str, Any]:
        with one_blas_thread():
            problem, metadata = block_problem(self, source)
            return metadata | self._solve(lambda: problem, progress)

    def _labelled_problem(
        self, X: Array, supervision: Supervision, graph: np.ndarray | None
    ) -> Problem[CentroidObjective]:
        labels = checked_labels(supervision)
        clusters = self._clusters(X, labels)
        cluster_class = np.empty(np.max(clusters) + 1, dtype=np.int64)
        cluster_class[clusters] = labels.codes
        self.n_centroids_ = tuple(np.bincount(cluster_class).tolist())
        weights = labels.weights
        if weights is not None:  # a common factor does not matter
            weights = weights / np.mean(weights)
        self.centroids_ = group_means(X, clusters, len(cluster_class), weights)
        # The base class treats the clusters as classes. Samples sorted by cluster are also sorted
        # by class.
        by_cluster = Labels(clusters, cluster_class, weights)
        problem = super()._labelled_problem(X, by_cluster, graph)
        return replace(problem, strata=np.sort(clusters))

    def _start(self, X: Array, supervision: Supervision, factor: float) -> tuple[np.ndarray, bool]:
        clusters = checked_labels(supervision)
        labels = replace(clusters, codes=clusters.classes[clusters.codes], classes=self.classes_)
        return super()._start(X, labels, factor)

    def _objective(
        self, X: Array, supervision: Supervision, order: np.ndarray
    ) -> CentroidObjective:
        clusters = checked_labels(supervision)
        codes, cluster_class = clusters.codes, clusters.classes
        return CentroidObjective(
            X,
            cluster_class[codes],
            group_means(X, codes, len(cluster_class), clusters.weights),
            cluster_class,
            weights=clusters.weights,
        )
