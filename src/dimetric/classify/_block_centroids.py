"""``fit`` of nearest-centroid classifiers for samples in blocks."""

from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import validate_data

from dimetric.blocks.mapped import MappedSource, transformed_by
from dimetric.blocks.source import Source
from dimetric.learners._base import Learner
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
    _check(classifier, source)
    validate_data(classifier, source.example, reset=True, skip_check_array=True)
    # The learner gets arrays in predictions, so it must not know the names of the features.
    source.example = np.empty((0, source.n_features), source.dtype)
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


def _check(classifier: Any, source: Source) -> None:
    """Raise if a classifier with these parameters cannot be fitted to blocks."""
    name, learner = type(classifier).__name__, classifier.learner
    if classifier.class_weight is not None:
        raise TypeError(
            f"class_weight of {name} needs all labels at once. For samples in blocks, set "
            "class_weight of the learner."
        )
    if learner is not None and not isinstance(learner, Learner):
        raise TypeError(
            f"{name} learns from samples in blocks with a learner of dimetric only, but its "
            f"learner is of type {type(learner).__name__}."
        )
    if not source.can_repeat:
        raise ValueError(
            f"{name} reads the samples several times, but an iterator can be read only once. Pass "
            "a function that returns a new iterator instead."
        )
    if not source.has_labels:
        raise ValueError(f"{name} requires labels: pass y, or yield (X, y) from a function.")
