"""What learners for nearest centroids share: centroids, and the likelihood that they give."""

import warnings
from typing import Any

import numpy as np

from dimetric._arrays.namespaces import Array
from dimetric._arrays.threads import one_blas_thread
from dimetric._compat import Progress
from dimetric.learners._iterative import GradientMetric
from dimetric.learners._solve import Solution, Watch
from dimetric.objectives.centroids import CentroidObjective, group_means
from dimetric.objectives.objective import Objective


class CentroidMetric(GradientMetric):
    """A learner that maximises the likelihood of classes given distances to their centroids.

    A learner says by ``_clusters`` which samples share a centroid.
    """

    centroids_: Array
    n_centroids_: tuple[int, ...]

    _maximises = True

    @property
    def centroid_classes_(self) -> np.ndarray:
        """Label of every centroid."""
        return np.repeat(self.classes_, self.n_centroids_)

    def _clusters(self, X: Array, codes: np.ndarray) -> np.ndarray:
        """Return the cluster of every sample, numbered from 0 in the order of the classes."""
        return codes

    def _fit(self, X: Array, codes: Any, progress: Progress) -> dict[str, Any]:
        if len(self.classes_) == 1:
            name = type(self).__name__
            warnings.warn(f"y holds one class: {name} has nothing to learn.", stacklevel=2)
        clusters = self._clusters(X, codes)
        owner = np.empty(np.max(clusters) + 1, dtype=np.int64)
        owner[clusters] = codes
        self.n_centroids_ = tuple(np.bincount(owner).tolist())
        self.centroids_ = group_means(X, clusters, len(owner))
        # From here on samples go by cluster: they are sorted by class as well, and finer.
        return super()._fit(X, clusters, progress)

    def _start(self, X: Array, codes: np.ndarray, factor: float) -> np.ndarray:
        return super()._start(X, self._centroid_codes()[codes], factor)

    def _objective(self, X: Array, codes: np.ndarray, order: np.ndarray) -> CentroidObjective:
        classes = self._centroid_codes()
        return CentroidObjective(X, classes[codes], group_means(X, codes, len(classes)), classes)

    def _minimise(
        self, objective: Objective, L0: np.ndarray, ridge: float, codes: np.ndarray, watch: Watch
    ) -> Solution:
        # The objective brings its own threads; steps of a solver are too short for those of BLAS.
        with one_blas_thread():
            return super()._minimise(objective, L0, ridge, codes, watch)

    def _centroid_codes(self) -> np.ndarray:
        """Return the class of every centroid, as an integer."""
        return np.repeat(np.arange(len(self.n_centroids_)), self.n_centroids_)
