"""The problem of nearest-centroid learners for samples in blocks."""

from dataclasses import dataclass, replace
from typing import Any
from zlib import crc32

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from dimetric._arrays.namespaces import eps
from dimetric._arrays.validation import rescale_for_squares
from dimetric._warnings import warn
from dimetric.blocks.block import Block
from dimetric.blocks.distinct import DistinctRows
from dimetric.blocks.order import rows_at
from dimetric.blocks.source import Source
from dimetric.learners._block_clusters import ClusteredRows
from dimetric.learners._block_statistics import BlockLabels, BlockStatistics
from dimetric.learners._fitting.coordinates import (
    Coordinates,
    centre_and_scale,
    subset_for_scale,
)
from dimetric.learners._fitting.mean_loss_problem import problem_in
from dimetric.learners._fitting.problem import Problem
from dimetric.learners._fitting.start import (
    MAX_SAMPLES_FOR_RESCALING,
    check_rows_of_lda,
    check_rows_of_pca,
    lda_with_all_rows,
    named_start,
)
from dimetric.learners._input import set_classes
from dimetric.learners._lda_scatter import ENOUGH_SAMPLES, ClassMoments
from dimetric.learners.lda import LDA
from dimetric.linalg.principal_axes import axes_from_moments
from dimetric.linalg.reductions import JointSum
from dimetric.linalg.scatter import ROUNDING_FACTOR, Moments
from dimetric.objectives.block_sum import BlockSum
from dimetric.objectives.centroids import CentroidObjective
from dimetric.supervision.labels import Labels


@dataclass(frozen=True)
class _Facts:
    """Statistics of all labelled samples.

    Attributes
    ----------
    total : BlockStatistics
        Statistics with the weights of the samples.
    plain : Moments
        Moments of the classes without weights.
    n_distinct, n_distinct_by_class : int
        Number of distinct samples, up to ``ENOUGH_SAMPLES`` per feature. In the second number,
        equal samples of different classes are distinct.
    reading : BlockLabels
        How labels are read.
    has_weights : bool
        Whether samples or classes have weights.
    """

    total: BlockStatistics[ClassMoments]
    plain: Moments
    n_distinct: int
    n_distinct_by_class: int
    reading: BlockLabels
    has_weights: bool

    @classmethod
    def of(cls, source: Source, reading: BlockLabels) -> "_Facts":
        """Read all samples once."""
        limit = ENOUGH_SAMPLES * source.n_features
        total, plain, distinct, by_class = source.reduce(_facts_of_block, reading, limit).parts
        moments = plain.labelled if plain else total.moments.labelled
        if moments is None:
            raise ValueError(f"All samples are unlabelled: every y is {reading.unlabelled!r}.")
        return cls(total, moments, len(distinct), len(by_class), reading, bool(plain))

    @property
    def weighted(self) -> Moments:
        """Moments of the classes with weights."""
        assert self.total.moments.labelled is not None
        return self.total.moments.labelled

    @property
    def n_samples(self) -> int:
        """Number of labelled samples."""
        return round(self.plain.n_samples)

    def rows(self) -> ClusteredRows:
        """Return the samples of each class, with weights whose mean is 1."""
        classes, given = self.total.moments.classes, self.reading.class_weight
        weights = np.full(len(classes), self.n_samples / self.weighted.n_samples)
        if isinstance(given, dict):
            weights *= [given.get(name, 1.0) for name in classes.tolist()]
        return ClusteredRows(classes, weights, self.has_weights)

    def named_start(self, name: str, k: int, random_state: Any) -> tuple[str, np.ndarray]:
        """Return the name and the map of a start. See :mod:`.start`."""
        (n_classes, d), n = self.plain.means.shape, self.n_samples
        if name == "auto":
            varies = np.any(self.plain.without_rounding_noise().spread != 0)
            name = "pca" if k < min(n, d) else "identity"
            name = "lda" if k <= min(d, n_classes - 1) and varies else name
        if name == "pca":
            check_rows_of_pca(k, n, d)
            return name, np.asarray(axes_from_moments(self.weighted.pooled(), k).V)
        if name == "lda":
            check_rows_of_lda(k, d, n_classes)
            return name, lda_with_all_rows(self._fit_lda, self._variances, k)
        return name, named_start(name, np.empty((0, d)), None, k, random_state=random_state)

    def _fit_lda(self, learner: LDA) -> LDA:
        moments = replace(self.total.moments, unlabelled=None, n_distinct=self.n_distinct)
        learner.n_features_in_, learner.classes_ = self.plain.means.shape[1], moments.classes
        learner._fit_moments(moments, lambda: moments)
        return learner

    def _variances(self, L: np.ndarray) -> np.ndarray:
        return np.sum((self.plain.pooled().spread @ L.T) ** 2, axis=0) / self.n_samples


def _facts_of_block(block: Block, reading: BlockLabels, limit: int) -> JointSum | None:
    X, labels = reading.labelled(block)
    if not len(X):
        return None
    rescale_for_squares(X)  # raises if squares overflow or underflow
    moments = ClassMoments.of(X, labels, root=True)
    is_labelled = labels.codes >= 0
    total = BlockStatistics(len(X), int(np.sum(~is_labelled)), np.max(np.abs(X), axis=0), moments)
    plain: Any = ()  # the same as with weights
    if labels.weights is not None:
        plain = ClassMoments.of(X, replace(labels, weights=None), root=True)
    names = [crc32(str(name).encode()) for name in labels.classes.tolist()]
    X, codes = X[is_labelled], labels.codes[is_labelled]
    by_class = DistinctRows.of(X, limit, np.array(names, dtype=np.uint64)[codes])
    return JointSum((total, plain, DistinctRows.of(X, limit), by_class))


@dataclass(frozen=True)
class _CentroidBlocks:
    """Returns the objective of a block. It is sent to all blocks."""

    rows: ClusteredRows
    centre: np.ndarray
    scale: float
    centroids: np.ndarray  # in the coordinates of the problem
    cluster_class: np.ndarray

    def __call__(self, block: Block) -> CentroidObjective | None:
        X, clusters, weights = self.rows.of(block)
        return self.objective(X, clusters, weights) if len(X) else None

    def objective(
        self, X: np.ndarray, clusters: np.ndarray, weights: np.ndarray | None
    ) -> CentroidObjective:
        """Return the objective of samples."""
        return CentroidObjective(
            (X - self.centre) * X.dtype.type(self.scale),
            self.cluster_class[clusters],
            self.centroids,
            self.cluster_class,
            weights=weights,
        )


def block_problem(learner: Any, source: Source) -> tuple[Problem[Any], dict[str, Any]]:
    """Return the problem of a nearest-centroid learner for samples in blocks, and metadata.

    It is the same as for an array, up to rounding: the samples that determine the centre and the
    scale are found by their positions in the canonical order.
    """
    facts = _Facts.of(source, BlockLabels.of(learner, source))
    set_classes(learner, facts.total.moments.classes)
    n, d, n_classes = facts.n_samples, source.n_features, len(learner.classes_)
    metadata = {}
    if learner.unlabelled is not None:
        metadata["n_unlabelled"] = facts.total.n_unlabelled
    if n_classes == 1:
        warn(f"y has only one class, so {learner._name} has nothing to learn.")
    clusters = learner._block_clusters(source, facts.rows(), facts.weighted)
    rows = clusters.rows
    if n <= d and not learner.diagonal:  # no more than a metric has
        X, codes, weights = _split(rows_at(source, np.arange(n), _content, rows), rows)
        labels = Labels(clusters.cluster_class[codes], learner.classes_, weights)
        return learner._labelled_problem(X, labels, None), metadata
    plain = facts.plain.pooled().without_rounding_noise()
    varies = np.any(plain.spread != 0, axis=0)
    if not np.any(varies):
        message = f"{learner._name} made no progress, because all samples are identical."
        warn(message, ConvergenceWarning)
    dtype = source.dtype
    learner.centroids_ = clusters.centroids.astype(dtype)
    learner.n_centroids_ = tuple(np.bincount(clusters.cluster_class).tolist())
    reg = learner.reg
    if reg is None:
        reg = 0.0 if n_classes in (1, n) else learner._default_reg(d, facts.n_distinct_by_class)
    keep_outside = reg == 0 and learner._solver().steps_over == "maps"
    start, is_rescaled = learner._start_from(
        d, 1.0, lambda name, k: facts.named_start(name, k, learner.random_state)
    )
    subset, part = _subsets(source, rows, n)
    pooled = facts.weighted.pooled()
    coordinates = Coordinates.of_statistics(
        subset,
        start,
        np.sum(pooled.spread**2, axis=0) / pooled.n_samples,
        ROUNDING_FACTOR * eps(subset) * facts.total.largest.astype(np.float64),
        keep_outside=keep_outside,
    )
    centre, scale = centre_and_scale(subset)
    # Means of constant features have rounding errors, which a preconditioner would amplify.
    plain = replace(plain, means=np.where(varies, plain.means, centre))
    centroids = (np.where(varies, clusters.centroids - centre, 0.0) * scale).astype(dtype)
    blocks = _CentroidBlocks(rows, centre, scale, centroids, clusters.cluster_class)
    objective = BlockSum(
        source,
        blocks,
        blocks.objective(*part),
        n_terms=float(n),
        moments=plain.moved_by(centre, scale) + Moments.root_of(centroids.astype(np.float64)),
        within_class_covariance=scale**2 / n * facts.plain.scatter,
    )
    problem = problem_in(learner, coordinates, lambda: objective, reg=reg, is_rescaled=is_rescaled)
    return problem, metadata


def _subsets(source: Source, rows: ClusteredRows, n: int) -> tuple[np.ndarray, Any]:
    """Return the samples that determine the centre, and those for the scale of the start."""
    for_centre = np.arange(0, n, subset_for_scale(n).step)
    for_scale = np.arange(0, n, 1 + n // MAX_SAMPLES_FOR_RESCALING)
    positions = np.union1d(for_centre, for_scale)
    found = rows_at(source, positions, _content, rows)
    X = _split(found[np.searchsorted(positions, for_centre)], rows)[0]
    return X, _split(found[np.searchsorted(positions, for_scale)], rows)


def _content(block: Block, rows: ClusteredRows) -> np.ndarray | None:
    """Return the cluster, the features and the weight of each sample, as they are sorted."""
    X, clusters, weights = rows.of(block)
    columns = [clusters, X] if weights is None else [clusters, X, weights]
    return np.column_stack([each.astype(X.dtype, copy=False) for each in columns])


def _split(
    content: np.ndarray, rows: ClusteredRows
) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
    """Return samples, clusters and weights of the rows that ``_content`` returns."""
    X, clusters = content[:, 1:], content[:, 0].astype(np.int64)
    if not rows.has_weights:
        return np.ascontiguousarray(X), clusters, None
    return np.ascontiguousarray(X[:, :-1]), clusters, X[:, -1].astype(np.float64)
