"""Coordinates of samples in blocks in the feature space of a kernel, computed from landmarks.

The steps are those of :mod:`dimetric.kernels._feature_space`. The landmarks are chosen from a
random sample of rows, and everything else is a sum over all rows.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dimetric._arrays.blocks import row_blocks
from dimetric._arrays.row_order import canonical_order
from dimetric._arrays.validation import rescale_for_squares
from dimetric.blocks.block import Block
from dimetric.blocks.mapped import MappedSource
from dimetric.blocks.sample import sample_rows
from dimetric.blocks.source import Source
from dimetric.kernels._coordinates import LANDMARKS_IDENTICAL, principal_axes
from dimetric.kernels._factor import Lift, eigenvalue_noise, factor
from dimetric.kernels._function import BLOCK_ENTRIES, KernelFunction, check_symmetric
from dimetric.kernels._landmarks import kmeans_landmarks, landmark_rows
from dimetric.kernels.kernel import Kernel
from dimetric.learners._block_statistics import BlockLabels
from dimetric.linalg.reductions import JointSum, tree_reduce
from dimetric.linalg.scatter import Moments
from dimetric.linalg.spectral import TIE_TOLERANCE

SAMPLE_ROWS = 20_000  # rows from which landmarks are chosen
SAMPLED_PER_LANDMARK = 2  # at least so many rows for each landmark


@dataclass(frozen=True)
class UsedRows:
    """Gives the weight 0 to the samples that a learner leaves out. It is sent to all blocks.

    Attributes
    ----------
    labels : BlockLabels or None
        How labels are read. None if the learner does not use classes.
    keeps_unlabelled : bool
        Whether the learner uses samples without a label.
    """

    labels: BlockLabels | None = None
    keeps_unlabelled: bool = False

    def __call__(self, block: Block) -> Block:
        """Return the block with the weights that the array of all samples would have."""
        labels = self.labels
        if labels is None or (labels.class_weight is None and labels.unlabelled is None):
            return block
        weights = np.ones(len(block.X)) if block.weights is None else block.weights.copy()
        if isinstance(labels.class_weight, dict):
            for name, weight in labels.class_weight.items():
                weights[block.y == name] *= weight
        if labels.unlabelled is not None and not self.keeps_unlabelled:
            weights[block.y == labels.unlabelled] = 0
        return replace(block, weights=weights)


@dataclass(frozen=True)
class BlockCoordinates:
    """Maps samples to their centred coordinates. It is sent to all blocks.

    Attributes
    ----------
    function : KernelFunction
        The kernel function.
    landmarks : ndarray of shape (m, d)
        The landmarks.
    mean : ndarray of shape (m,)
        A vector that is subtracted from the kernel between a sample and the landmarks.
    projection : ndarray of shape (m, rank)
        Coefficients of the coordinates.
    """

    function: KernelFunction
    landmarks: np.ndarray
    mean: np.ndarray
    projection: np.ndarray

    def __call__(self, block: Block) -> Block:
        """Return the block with coordinates instead of samples, in float64."""
        parts = [self.kernel(block.X[rows]) @ self.projection for rows in self.parts(block)]
        return replace(block, X=np.concatenate(parts))

    def parts(self, block: Block) -> list[slice]:
        """Return slices of rows whose kernel with the landmarks is small enough for memory."""
        n_rows = max(1, BLOCK_ENTRIES // len(self.landmarks))
        return list(row_blocks(len(block.X), n_rows))

    def kernel(self, X: np.ndarray) -> np.ndarray:
        """Return the kernel between samples and landmarks minus the mean."""
        return self.function(X, self.landmarks).astype(np.float64, copy=False) - self.mean


@dataclass(frozen=True)
class BlockSpace:
    """Coordinates of samples in blocks. See :class:`~dimetric.kernels._coordinates.Coordinates`.

    Attributes
    ----------
    coordinates : BlockCoordinates
        Maps samples to coordinates.
    rank, lift, eigenvalue_sum, eigenvalues
        As those of Coordinates.
    landmark_rows : ndarray of shape (m,) or None
        Numbers of the rows that are landmarks. None if the landmarks are not samples.
    """

    coordinates: BlockCoordinates
    rank: int
    lift: Lift
    eigenvalue_sum: float
    eigenvalues: np.ndarray
    landmark_rows: np.ndarray | None

    @property
    def mean(self) -> np.ndarray:
        """Weighted mean of the kernel over all samples, of shape (m,)."""
        return self.coordinates.mean

    def of(self, source: Source) -> MappedSource:
        """Return a source of the coordinates."""
        return MappedSource(source, source.share(self.coordinates), self.rank, np.dtype(np.float64))


def block_space(
    source: Source, kernel: Kernel, n_components: float | None, used: UsedRows
) -> BlockSpace:
    """Return coordinates of samples in blocks, in three passes.

    Parameters
    ----------
    source : Source
        The samples.
    kernel : Kernel
        The kernel, with landmarks. Its own `n_components` is ignored.
    n_components : int, float in (0, 1) or None
        Maximum number of coordinates, fraction of the variance, or None for all coordinates.
    used : UsedRows
        Tells which samples are used.
    """
    source = MappedSource(source, used, source.n_features, source.dtype)
    n, function = _function_of(source, kernel)
    m = int(kernel.n_landmarks or 0)
    if m >= n:
        raise ValueError(
            f"n_landmarks={m} must be less than the number of samples, which is {n}, if the "
            "samples are in blocks. Decrease n_landmarks, or pass an array."
        )
    S, rows = _landmarks_of(source, kernel, function, m)
    W = function.gram(S)
    if callable(function.name) and rows is not None:
        check_symmetric(W, rows)
    factored = factor(W, definite=function.is_definite, identical_message=LANDMARKS_IDENTICAL)
    B = factored.lift(np.eye(factored.F.shape[1])).T
    # A mean of all rows is not known yet. That of the landmarks avoids cancellation as well.
    start = BlockCoordinates(function, S, np.mean(W.astype(np.float64), axis=0), B)
    step, moments = source.reduce(_moments_of_block, source.share(start)).parts
    total = float(moments.counts[0])
    values, V = principal_axes(moments, n_components, total / len(S) * eigenvalue_noise(W))
    return BlockSpace(
        coordinates=replace(start, mean=start.mean + step / total, projection=B @ V.T),
        rank=len(V),
        lift=lambda L: factored.lift(L @ V),
        eigenvalue_sum=float(np.trace(moments.spread)),
        eigenvalues=values,
        landmark_rows=rows,
    )


def _function_of(source: Source, kernel: Kernel) -> tuple[int, KernelFunction]:
    """Return the number of samples of positive weight, and the kernel function for them."""
    n, total, moments = source.reduce(_scale_of_block).parts
    variance = float(moments.spread[0, 0] / moments.counts[0])
    return n, KernelFunction.for_scale(
        kernel, source.n_features, total / n, lambda: float(np.sqrt(variance))
    )


def _scale_of_block(block: Block) -> JointSum | None:
    """Return the number of samples, their sum, and the moments of all values together."""
    block = block.of_positive_weight()
    if not len(block.X):
        return None
    rescale_for_squares(block.X)  # raises if squares overflow or underflow
    X, weights = block.X.astype(np.float64, copy=False), block.weights
    weights = None if weights is None else np.repeat(weights, X.shape[1])
    moments = Moments.scatter_of(X.reshape(-1, 1), weights=weights)
    return JointSum((len(X), np.sum(X, axis=0), moments))


def _landmarks_of(
    source: Source, kernel: Kernel, function: KernelFunction, m: int
) -> tuple[np.ndarray, np.ndarray | None]:
    """Return landmarks chosen from a sample of rows, and their row numbers.

    If the sample contains all rows, these are the landmarks of an array.
    """
    size = max(SAMPLE_ROWS, SAMPLED_PER_LANDMARK * m)
    sample = sample_rows(source, size, seed=0, by_class=False)
    order = canonical_order(sample.X, np.zeros(len(sample.X), dtype=np.int64))
    X, random_state = sample.X[order], kernel.random_state
    if kernel.landmarks == "kmeans":
        weights = None if sample.weights is None else sample.weights[order]
        return kmeans_landmarks(X, m, random_state, weights), None
    chosen = landmark_rows(kernel.landmarks, function, X, m, random_state)
    return X[chosen], sample.rows[order[chosen]]


def _moments_of_block(block: Block, coordinates: BlockCoordinates) -> JointSum | None:
    """Return the weighted sum of the kernel with the landmarks, and the moments of coordinates."""
    block = block.of_positive_weight()
    if not len(block.X):
        return None

    def of_rows(rows: slice, _: Any) -> JointSum:
        w = None if block.weights is None else block.weights[rows]
        K = coordinates.kernel(block.X[rows])
        moments = Moments.scatter_of(K @ coordinates.projection, weights=w)
        return JointSum((np.sum(K, axis=0) if w is None else w @ K, moments))

    return tree_reduce(of_rows, ((rows, None) for rows in coordinates.parts(block)))


@dataclass(frozen=True)
class LargestValues:
    """The value of largest size in each column. Those of consecutive blocks can be added.

    As in :func:`~dimetric.linalg.spectral.fixed_signs`, the first one of almost equal sizes counts.
    """

    values: np.ndarray

    def __add__(self, other: "LargestValues") -> "LargestValues":
        """Return the largest values of both blocks."""
        is_first = np.abs(self.values) >= (1 - TIE_TOLERANCE) * np.abs(other.values)
        return LargestValues(np.where(is_first, self.values, other.values))


def with_fixed_signs(L: np.ndarray, source: Source, used: UsedRows) -> np.ndarray:
    """Return L with the sign of each row chosen from the mapped samples of a source.

    The signs of coordinates are arbitrary, so they must not decide the signs of the result.
    """
    largest = source.reduce(_largest_of_block, L, used).values
    return np.where(largest < 0, -1.0, 1.0)[:, None] * L


def _largest_of_block(block: Block, L: np.ndarray, used: UsedRows) -> LargestValues | None:
    Z = used(block).of_positive_weight().X @ L.T
    if not len(Z):
        return None
    size = np.abs(Z)
    first = np.argmax(size >= (1 - TIE_TOLERANCE) * np.max(size, axis=0), axis=0)
    return LargestValues(Z[first, np.arange(Z.shape[1])])
