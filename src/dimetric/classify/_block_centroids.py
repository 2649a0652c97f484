"""``fit`` of nearest-centroid classifiers for samples in blocks."""

from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone

from dimetric.blocks.mapped import MappedSource, transformed_by
from dimetric.blocks.source import Source
from dimetric.classify._block_training import check_source
from dimetric.learners._block_clusters import ClusteredRows, Clusters, class_means, k_means_clusters
from dimetric.learners._block_statistics import BlockLabels, class_totals


def fit_to_blocks(classifier: Any, source: Source) -> Any:
    """Fit a learner to all blocks, and find the centroids of the mapped samples."""
    try:
        return _fit(classifier, source)
    except BaseException:
        # Attributes of two different fits must not be mixed.
        for name in [name for name in vars(classifier) if name.endswith("_")]:
            delattr(classifier, name)
        raise


def _fit(classifier: Any, source: Source) -> Any:
    check_source(classifier, source)
    learner, mapped = None, source
    if classifier.learner is not None:
        learner = clone(classifier.learner).fit(source)
        by_learner = partial(transformed_by, learner)
        mapped = MappedSource(source, by_learner, learner._n_features_out, source.dtype)
    classifier.learner_ = learner
    totals = class_totals(source, BlockLabels(getattr(learner, "unlabelled", None), None))
    classifier.classes_ = np.array(list(totals))
    if len(totals) == 0:
        raise ValueError("All samples are unlabelled.")
    rows = ClusteredRows(classifier.classes_, np.ones(len(totals)), source.has_weights)
    means, variance = class_means(mapped, rows)
    clusters = Clusters(rows, means, np.arange(len(means)))
    if hasattr(classifier, "n_centroids"):
        options = classifier.n_centroids, classifier.random_state
        clusters = k_means_clusters(mapped, rows, *options, variance)
    classifier._owners = clusters.cluster_class
    classifier.centroids_ = clusters.centroids.astype(source.dtype)
    classifier.centroid_classes_ = classifier.classes_[clusters.cluster_class]
    return classifier
