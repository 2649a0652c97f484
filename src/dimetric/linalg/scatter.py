"""Scatter matrices of samples by class, and of the differences between neighbours."""

from dataclasses import dataclass
from functools import partial
from typing import Self

import numpy as np
from scipy import sparse

from dimetric._arrays.blocks import row_blocks, scatter_block_rows
from dimetric._arrays.namespaces import (
    Array,
    asarray_like,
    eps,
    namespace,
    one_hot,
    triangular_factor,
)
from dimetric.linalg.reductions import tree_reduce

EXAMINED_ROWS = 128  # rows that decide whether a block is centred before or after the product
ROUNDING_FACTOR = 16  # a deviation of so many roundings of the largest value may be an error


@dataclass(frozen=True)
class Moments:
    r"""Counts, means and pooled within-class scatter of samples. Moments of blocks can be added.

    .. math:: S = \sum_c \sum_{i: y_i = c} w_i (x_i - \mu_c)(x_i - \mu_c)^T, \quad
              \mu_c = \frac{1}{n_c} \sum_{i: y_i = c} w_i x_i, \quad n_c = \sum_{i: y_i = c} w_i

    The weights :math:`w_i` are 1 by default. A sample of weight 2 counts as two equal samples. PCA
    uses S with one class, LDA with several. Moments of two blocks are added by the update of
    Chan, Golub and LeVeque [1]_, where :math:`\delta_c` is the difference between the means:
    :math:`S_{ab} = S_a + S_b + \sum_c \frac{n_a n_b}{n_a + n_b} \delta_c \delta_c^T`. The update
    is accurate for any origin, because it does not subtract large numbers.

    `spread` holds S (:meth:`scatter_of`, one matrix product) or a root R with :math:`R^T R = S`
    (:meth:`root_of`, a QR decomposition). A root takes three times as long, but does not square
    the condition number of the samples. All arrays are float64, because rounding errors of float32
    would accumulate over many samples.

    References
    ----------
    .. [1] T. F. Chan, G. H. Golub, R. J. LeVeque, "Algorithms for computing the sample variance",
       The American Statistician 37, 1983.

    Examples
    --------
    >>> X = np.array([[0.0, 1.0], [2.0, 3.0], [4.0, 8.0]])
    >>> whole, parts = Moments.scatter_of(X), Moments.scatter_of(X[:1]) + Moments.scatter_of(X[1:])
    >>> np.allclose(whole.spread, parts.spread) and np.allclose(whole.spread, 2 * np.cov(X.T))
    True
    """

    counts: Array  # (n_classes,); sums of weights
    means: Array  # (n_classes, d); 0 for a class without samples
    spread: Array  # S (d, d), or R (at most d rows)
    is_root: bool

    @classmethod
    def scatter_of(
        cls,
        X: Array,
        codes: Array | None = None,
        n_classes: int = 1,
        weights: Array | None = None,
    ) -> Self:
        """Return the moments of a block, with its scatter matrix. CSR blocks stay sparse."""
        X = _in_float64(X)
        counts, means = _counts_means(X, codes, n_classes, weights)
        if sparse.issparse(X):
            # Centre after the product: a centred block would be dense.
            S = (X.T @ _weighted(X, weights)).toarray() - (means.T * counts) @ means
        elif weights is None and means_are_small(X, codes, means):
            S = X.T @ X  # centring after the product saves a pass over memory
            S -= (means.T * counts) @ means
        else:
            residual = X - _means_by_sample(means, codes)
            S = residual.T @ _weighted(residual, weights)
        return cls(counts, means, S, is_root=False)

    @classmethod
    def root_of(
        cls,
        X: Array,
        codes: Array | None = None,
        n_classes: int = 1,
        weights: Array | None = None,
    ) -> Self:
        """Return the moments of a block, with a root of its scatter matrix."""
        X = _in_float64(X)
        counts, means = _counts_means(X, codes, n_classes, weights)
        residual = X - _means_by_sample(means, codes)
        if weights is not None:
            residual = _weighted(residual, namespace(X).sqrt(weights))
        return cls(counts, means, _compress(residual), is_root=True)

    @classmethod
    def of_all(
        cls,
        X: Array,
        codes: Array | None = None,
        n_classes: int = 1,
        weights: np.ndarray | None = None,
        *,
        root: bool,
    ) -> "Moments":
        """Return the moments of all samples, computed in blocks. The weights are on the host."""
        of_block = partial(cls.root_of if root else cls.scatter_of, n_classes=n_classes)
        if sparse.issparse(X):
            return of_block(X, codes, weights=weights)
        w = None if weights is None else asarray_like(weights, X, dtype=namespace(X).float64)

        def of_rows(rows: slice, _: None) -> Moments:
            y, v = (None if each is None else each[rows] for each in (codes, w))
            return of_block(X[rows, :], y, weights=v)

        return tree_reduce(of_rows, row_blocks(X.shape[0], scatter_block_rows(X.shape[1])))

    @property
    def n_samples(self) -> float:
        """Number of samples, or the sum of their weights."""
        return float(namespace(self.counts).sum(self.counts))

    @property
    def mean(self) -> Array:
        """Mean of all samples."""
        xp = namespace(self.counts)
        return (self.counts / xp.sum(self.counts)) @ self.means

    @property
    def scatter(self) -> Array:
        """The scatter matrix S, also if `spread` is a root of it."""
        return self.spread.T @ self.spread if self.is_root else self.spread

    def moved_by(self, centre: np.ndarray, scale: float) -> "Moments":
        """Return the moments of the samples minus a vector, times a number."""
        means = (self.means - asarray_like(centre, self.means)) * scale
        spread = self.spread * (scale if self.is_root else scale**2)
        return Moments(self.counts, means, spread, self.is_root)

    def __add__(self, other: "Moments") -> "Moments":
        """Return the moments of both blocks together."""
        xp = namespace(self.counts)
        counts = self.counts + other.counts
        fraction = other.counts / xp.where(counts > 0, counts, xp.ones_like(counts))
        delta = other.means - self.means
        means = self.means + fraction[:, None] * delta
        between = xp.sqrt(self.counts * fraction)[:, None] * delta
        if self.is_root:
            spread = _compress(xp.concat([self.spread, other.spread, between]))
        else:
            spread = self.spread + other.spread + between.T @ between
        return Moments(counts, means, spread, self.is_root)

    def pooled(self) -> "Moments":
        """Return the moments of all samples as a single class."""
        xp = namespace(self.counts)
        between = xp.sqrt(self.counts)[:, None] * (self.means - self.mean)
        if self.is_root:
            spread = _compress(xp.concat([self.spread, between]))
        else:
            spread = self.spread + between.T @ between
        n = xp.reshape(xp.sum(self.counts), (1,))
        return Moments(n, self.mean[None, :], spread, self.is_root)

    def without_rounding_noise(self) -> "Moments":
        """Return the moments, with zero spread for features that are constant up to rounding.

        Rounding errors in the mean of a constant feature leave a tiny spread. Dividing by it would
        amplify these errors.
        """
        xp = namespace(self.means)
        squares = (
            xp.sum(self.spread**2, axis=0) if self.is_root else xp.linalg.diagonal(self.spread)
        )
        varies = xp.astype(self.exceeds_rounding(squares), self.means.dtype)
        spread = self.spread * varies if self.is_root else self.spread * varies * varies[:, None]
        return Moments(self.counts, self.means, spread, self.is_root)

    def exceeds_rounding(self, squares: Array) -> Array:
        """Return which features vary, given the sums of their squared deviations from a mean."""
        xp = namespace(self.means)
        size = xp.max(xp.abs(self.means), axis=0)
        # The relative error of a mean is about sqrt(n) eps, so n squared errors sum to (n eps)^2.
        return squares > (8 * max(self.n_samples, 1.0) * eps(self.means) * size) ** 2

    def moved_to(self, other: "Moments") -> "Moments":
        """Return the moments in the namespace and on the device of `other`."""
        return Moments(
            asarray_like(self.counts, other.counts),
            asarray_like(self.means, other.means),
            asarray_like(self.spread, other.spread),
            self.is_root,
        )

    def with_classes_at(self, positions: np.ndarray, n_classes: int) -> "Moments":
        """Return the moments for `n_classes` classes, where class c becomes ``positions[c]``."""
        xp = namespace(self.counts)
        P = asarray_like(np.eye(n_classes)[:, positions], self.means)
        return Moments(P @ self.counts, xp.matmul(P, self.means), self.spread, self.is_root)


def _in_float64(X: Array) -> Array:
    xp = namespace(X)
    return X.astype(np.float64) if sparse.issparse(X) else xp.astype(X, xp.float64, copy=False)


def _counts_means(
    X: Array, codes: Array | None, n_classes: int, weights: Array | None = None
) -> tuple[Array, Array]:
    xp = namespace(X)
    if codes is None and weights is None:
        n = X.shape[0]
        if sparse.issparse(X):
            mean = np.asarray(X.mean(axis=0))
        else:
            mean = xp.ones((n,), dtype=X.dtype, device=X.device) @ X / n  # faster than a sum
        return asarray_like(np.asarray([n]), mean), xp.reshape(mean, (1, -1))
    if codes is None:
        counts = xp.reshape(xp.sum(weights), (1,))
        return counts, xp.reshape(weights @ X, (1, -1)) / counts
    member = one_hot(codes, n_classes, X.dtype)
    member = member if weights is None else weights[:, None] * member
    counts = xp.sum(member, axis=0)
    sums = member.T @ X
    return counts, sums / xp.where(counts > 0, counts, xp.ones_like(counts))[:, None]


def _weighted(rows: Array, weights: Array | None) -> Array:
    """Return the rows times their weights."""
    if weights is None:
        return rows
    if sparse.issparse(rows):
        return rows.multiply(weights[:, None]).tocsr()
    return weights[:, None] * rows


def means_are_small(X: Array, codes: Array | None, means: Array) -> bool:
    """Return whether the means are small enough to be subtracted after the product X^T X.

    Subtracting larger means would cost digits. Only the first ``EXAMINED_ROWS`` rows are examined.
    Return False if a feature is constant in these rows, because the spread of a constant feature
    must be exactly 0.
    """
    xp = namespace(X)
    n = min(EXAMINED_ROWS, X.shape[0])
    residual = X[:n, :] - _means_by_sample(means, None if codes is None else codes[:n])
    return bool(xp.all(xp.max(means**2, axis=0) < 4 * xp.mean(residual**2, axis=0)))


def _means_by_sample(means: Array, codes: Array | None) -> Array:
    return means if codes is None else namespace(means).take(means, codes, axis=0)


def _compress(rows: Array) -> Array:
    """Return at most d rows R with the same product R^T R."""
    n, d = rows.shape
    return rows if n <= d else triangular_factor(rows)


def rounding_bounds(X: Array) -> Array:
    """Return generous bounds on the deviations that rounding alone can cause in each feature."""
    xp = namespace(X)
    largest = xp.maximum(xp.max(X, axis=0), -xp.min(X, axis=0))
    return ROUNDING_FACTOR * eps(X) * xp.astype(largest, xp.float64)


def difference_scatter(
    X: Array,
    indices: Array,
    counts: np.ndarray,
    weights: np.ndarray | None = None,
    sample_weight: np.ndarray | None = None,
    *,
    root: bool,
) -> Array:
    r"""Return the scatter of the differences between samples and their neighbours, in float64.

    .. math:: S = \sum_i \frac{v_i}{|N_i|} \sum_{j \in N_i} w_{ij} (x_i - x_j)(x_i - x_j)^T

    A sample without neighbours contributes nothing. Differences are computed before squaring, so
    the result is accurate for any origin and for near-duplicates. They are computed in blocks of
    rows to bound the memory.

    Parameters
    ----------
    X : array of shape (n, d)
        Samples.
    indices : array of shape (n, k)
        Indices of the neighbours :math:`N_i`. A missing neighbour has the index of the sample.
    counts : ndarray of shape (n,)
        Number of neighbours of each sample, :math:`|N_i|`.
    weights : ndarray of shape (n, k), optional
        Weights :math:`w_{ij}` of the neighbours. By default, all weights are 1.
    sample_weight : ndarray of shape (n,), optional
        Weights :math:`v_i` of the samples. By default, all weights are 1.
    root : bool
        Return a root R with :math:`R^T R = S` instead, which does not square the condition number.

    Examples
    --------
    >>> X = np.array([[0.0, 0.0], [1.0, 2.0], [0.0, 1.0]])
    >>> difference_scatter(X, np.array([[1, 2], [1, 1], [0, 2]]), np.array([2, 0, 1]), root=False)
    array([[0.5, 1. ],
           [1. , 3.5]])
    """
    xp = namespace(X)
    d = X.shape[1]
    squares = (np.ones((1, 1)) if weights is None else weights) / np.maximum(counts, 1)[:, None]
    squares = squares if sample_weight is None else squares * sample_weight[:, None]
    roots = asarray_like(np.sqrt(squares), X, dtype=xp.float64)
    # A root starts with a row of zeros, because there may be no neighbours.
    total = xp.zeros((1 if root else d, d), dtype=xp.float64, device=X.device)
    for rows in row_blocks(X.shape[0], scatter_block_rows(d)):
        for rank in range(indices.shape[1]):
            difference = _in_float64(X[rows, :] - xp.take(X, indices[rows, rank], axis=0))
            difference = (
                roots[rows, :] if weights is None else roots[rows, rank][:, None]
            ) * difference
            if root:
                total = _compress(xp.concat([total, difference]))
            else:
                total = total + difference.T @ difference
    return total
